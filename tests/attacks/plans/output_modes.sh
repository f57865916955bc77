# SPDX-License-Identifier: MIT
# class: Host: privileges among the collected outputs
# tries: to have a setuid program collected, and an unreadable file and folder.
# kind: build
# outputs: program dir
# expect: passed failed
# finds: none setuid
cp /bin/true out/program
chmod 6777 out/program
mkdir out/dir
echo x > out/dir/file
chmod 000 out/dir/file
chmod 111 out/dir
