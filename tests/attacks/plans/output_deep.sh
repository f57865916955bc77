# SPDX-License-Identifier: MIT
# class: Host: inode floods among the collected outputs
# tries: folders nested deeper than any path is long.
# kind: build
# outputs: dir
# expect: failed
perl -e 'mkdir "out/dir"; chdir "out/dir"; for (1 .. 3000) { mkdir "d" or last; chdir "d" }'
