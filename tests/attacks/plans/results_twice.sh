# SPDX-License-Identifier: MIT
# class: Result channel: a second value for a key
# tries: to take an earlier verdict back.
# kind: run
# expect: failed
echo "check: fail" >&"$POPCORN_FD"
echo "check: pass" >&"$POPCORN_FD"
