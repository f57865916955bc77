# SPDX-License-Identifier: MIT
# class: Host: inode floods among the collected outputs
# tries: to have a million files collected.
# kind: build
# outputs: dir
# expect: failed
# within: 30
mkdir out/dir
cd out/dir || exit
perl -e 'for (0 .. 1000000) { open(F, ">", $_) or exit 0; close F }'
