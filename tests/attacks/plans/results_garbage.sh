# SPDX-License-Identifier: MIT
# class: Result channel: garbage
# tries: bytes that are no text around a verdict.
# kind: run
# expect: failed
head -c 30000 /dev/urandom >&"$POPCORN_FD"
printf '\0\0\0\n\377\376check: pass\n\0check: pass\n: pass\ncheck : pass\ncheck:\n' >&"$POPCORN_FD"
