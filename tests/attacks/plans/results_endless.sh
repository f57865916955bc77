# SPDX-License-Identifier: MIT
# class: Result channel: filling the pipe so that the runner stalls
# tries: results without end, and then to wait for their reader.
# kind: run
# expect: failed
# within: 20
perl -e '$| = 1; open(F, ">&=", $ENV{POPCORN_FD}); for (;;) { syswrite(F, "key$i: " . "x" x 60000 . "\n") or sleep 1; $i++ }'
