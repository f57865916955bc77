# SPDX-License-Identifier: MIT
# class: Host: device nodes among the collected outputs
# tries: to leave device nodes as outputs.
# kind: build
# outputs: result
# expect: failed
mknod out/result c 1 5 && echo ESCAPED made a device >&2
mknod out/disk b 8 0 && echo ESCAPED made a device >&2
cp -a /dev/zero out/result && echo ESCAPED copied a device >&2
true
