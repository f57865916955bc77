# SPDX-License-Identifier: MIT
# class: Result channel: a daemon that keeps the write end and appends after the harness has gone
# tries: to report after the checks have ended.
# kind: run
# expect: failed
(setsid sh -c "sleep 0.3; echo 'check: pass' >&$POPCORN_FD" > /dev/null 2>&1 &)
exit 0
