# SPDX-License-Identifier: MIT
# class: Host: FIFOs among the collected outputs
# tries: to make the collector wait at a FIFO that no process opens.
# kind: build
# outputs: result
# expect: failed
# within: 10
mkfifo out/result
