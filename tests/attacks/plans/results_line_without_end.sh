# SPDX-License-Identifier: MIT
# class: Result channel: filling the pipe so that the runner stalls
# tries: one line without end.
# kind: run
# expect: failed
# within: 20
perl -e 'open(F, ">&=", $ENV{POPCORN_FD}); syswrite(F, "check: "); for (;;) { syswrite(F, "x" x 60000) or sleep 1 }'
