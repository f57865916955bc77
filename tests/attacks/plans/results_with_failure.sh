# SPDX-License-Identifier: MIT
# class: Result channel: a verdict that the exit status contradicts
# tries: to report success and to fail.
# kind: run
# expect: failed
echo "check: pass" >&"$POPCORN_FD"
exit 112
