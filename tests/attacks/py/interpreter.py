# SPDX-License-Identifier: MIT
# class: Host: overwriting files; dropping .pth (in the interpreter's own folders)
# tries: to change the interpreter that every later run starts: its program, its library, its packages.
# expect: passed
import os
import site
import sys
import sysconfig

from attack import escaped, honest as custom_kernel, refused, tried

tried()
folders = {sys.prefix, sys.base_prefix, *site.getsitepackages(), *sysconfig.get_paths().values(), os.path.dirname(sys.executable),
           os.path.dirname(os.path.realpath(sys.executable))}
for folder in sorted(folder for folder in folders if os.path.isdir(folder)):
    path = os.path.join(folder, "kettle_poison.pth")
    refused(open, path, "w")
    refused(os.mkdir, os.path.join(folder, "kettle_poison"))
    if os.access(folder, os.W_OK):
        escaped(f"{folder} can be written")
for path in (sys.executable, os.path.realpath(sys.executable), os.__file__, site.__file__):
    refused(open, path, "r+b")
    refused(os.rename, path, path + ".old")
    refused(os.unlink, path + "x")
