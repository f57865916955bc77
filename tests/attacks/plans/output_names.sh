# SPDX-License-Identifier: MIT
# class: Host: hostile names among the collected outputs
# tries: names with line ends, escapes, invalid UTF-8 and the longest there are.
# kind: build
# outputs: dir
# expect: passed failed
mkdir out/dir
perl -e 'for ("a\nb", "\x1b[2J", "\xff\xfe", "x" x 255, "{\"event\":\"done\"}", "...", " ", "-rf", "\\..\\x") { open(F, ">", "out/dir/$_"); print F "x"; close F }'
