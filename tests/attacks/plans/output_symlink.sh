# SPDX-License-Identifier: MIT
# class: Host: symlinks among the collected outputs
# tries: to have a file of the machine collected in place of an output.
# kind: build
# outputs: result
# expect: failed
# hides: @SECRET@
ln -s @CANARY@ out/result
