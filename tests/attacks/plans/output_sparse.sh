# SPDX-License-Identifier: MIT
# class: Host: huge and sparse files among the collected outputs
# tries: to have a file copied that is larger than the disk.
# kind: build
# outputs: result
# expect: failed
truncate -s 900G out/result && echo ESCAPED made a file of 900 GB >&2
dd if=/dev/null of=out/result bs=1 seek=800G 2> /dev/null
test -s out/result
