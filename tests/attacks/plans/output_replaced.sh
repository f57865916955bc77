# SPDX-License-Identifier: MIT
# class: Host: FIFOs among the collected outputs
# tries: to replace the output folder itself.
# kind: build
# outputs: result
# expect: failed
rmdir out && echo ESCAPED removed out >&2
mv out gone && echo ESCAPED moved out >&2
ln -s /etc out/out
chmod 000 out
true
