# SPDX-License-Identifier: MIT
# class: Host: LD_PRELOAD; interposed symbols
# tries: to have libraries of its own loaded into whatever starts next: by the environment, by the loader's files, by its
#        home; says so if something of that already exists.
# expect: passed
# mode: benchmark
# runs: 2
import os
import subprocess

from attack import escaped, honest as custom_kernel, refused, tried

tried()
for name in ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONHOME", "PYTHONSTARTUP", "GCONV_PATH", "BASH_ENV"):
    if name in os.environ:
        escaped(f"{name} is {os.environ[name]}")
    os.environ[name] = "/tmp/poison.so"
for path in ("/etc/ld.so.preload", "/etc/ld.so.cache", "/etc/environment", "/etc/profile", "/etc/passwd", "/usr/lib/poison.so"):
    refused(open, path, "ab")
for path in (os.path.expanduser("~/.bashrc"), os.path.expanduser("~/.profile"), "/tmp/poison.so"):
    if os.path.exists(path):
        escaped(f"{path} of an earlier run is there")
    with open(path, "w") as file:
        file.write("echo ESCAPED a start file was read >&2\n")
subprocess.run(["/bin/true"], stderr=subprocess.DEVNULL)
