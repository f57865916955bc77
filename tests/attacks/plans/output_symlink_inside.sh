# SPDX-License-Identifier: MIT
# class: Host: symlinks among the collected outputs
# tries: to hide the link in a folder that is an output as a whole.
# kind: build
# outputs: dir
# expect: failed
mkdir out/dir
echo honest > out/dir/file
ln -s / out/dir/root
