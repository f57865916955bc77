# SPDX-License-Identifier: MIT
# class: Host: symlinks among the collected outputs
# tries: to lead the way to an output out of the folder.
# kind: build
# outputs: dir/passwd
# expect: failed
ln -s /etc out/dir
