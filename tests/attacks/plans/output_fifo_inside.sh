# SPDX-License-Identifier: MIT
# class: Host: FIFOs among the collected outputs
# tries: to make the collector wait at one of the files in a folder.
# kind: build
# outputs: dir
# expect: failed
# within: 10
mkdir out/dir
mkfifo out/dir/fifo
