# SPDX-License-Identifier: MIT
# class: Host: hard links among the collected outputs
# tries: to keep a second name of what is collected, and to give an input out as an output.
# kind: build
# outputs: result
# expect: failed
ln attack.sh out/input && echo ESCAPED linked an input >&2
echo one > out/kept
ln out/kept out/result
