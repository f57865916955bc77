# SPDX-License-Identifier: MIT
# class: Result channel: a second value for a key
# tries: to say the same twice: one of the two is not the harness's.
# kind: run
# expect: failed
echo "check: pass" >&"$POPCORN_FD"
echo "check: pass" >&"$POPCORN_FD"
