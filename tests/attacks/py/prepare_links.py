# SPDX-License-Identifier: MIT
# class: Host: symlinks, hard links and FIFOs among the collected outputs
# tries: in the step that compiles (this mentions cpp_extension), to leave in its cache what is no file of its own.
# expect: failed compile
# hides: @SECRET@
# variants: WHAT=0 WHAT=1 WHAT=2 WHAT=3 WHAT=4
import os
import socket

from attack import honest as custom_kernel, tried

tried()
path = "out/cache/torch_extensions/left"
os.makedirs(os.path.dirname(path), exist_ok=True)
if not os.path.exists("cases.txt"):
    if @WHAT@ == 0:
        os.symlink("@CANARY@", path)
    elif @WHAT@ == 1:
        os.symlink("/proc/self/environ", path)
    elif @WHAT@ == 2:
        os.mkfifo(path)
    elif @WHAT@ == 3:
        socket.socket(socket.AF_UNIX).bind(path)
    else:
        with open("out/first", "w") as file:
            file.write("x")
        os.link("out/first", path)
