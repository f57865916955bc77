# SPDX-License-Identifier: MIT
# class: Host: overwriting the harness's files before it starts
# tries: to write, replace, rename, remove and remount what lies in the job's folder: harness, reference, cases.
# expect: passed
import os
import shutil

from attack import calls, escaped, honest as custom_kernel, refused, tried

tried()
before = {}
for folder, _, files in os.walk("."):
    if not folder.startswith("./out"):
        for name in files:
            path = os.path.join(folder, name)
            with open(path, "rb") as file:
                before[path] = file.read()
libc = calls()
for path in before:
    refused(open, path, "ab")
    refused(open, path, "r+b")
    refused(os.unlink, path)
    refused(os.rename, path, path + ".old")
    refused(os.rename, path, "out/taken")
    refused(os.chmod, path, 0o777)
    refused(os.utime, path, (0, 0))
    refused(os.truncate, path, 0)
    refused(os.link, path, path + ".link")
    refused(os.symlink, "/tmp/other", path + ".symlink")
    if libc.mount(b"/dev/null", path.encode(), None, 4096, None) == 0:
        escaped(f"something can be mounted on {path}")
for flags in (32, 32 | 4096, 2):
    if libc.mount(None, b"/job", None, flags, None) == 0 or libc.mount(None, os.getcwd().encode(), None, flags, None) == 0:
        escaped("the job's folder can be remounted")
refused(os.rename, os.getcwd(), "/tmp/job")
refused(open, "random.py", "w")
shutil.rmtree(".", ignore_errors=True)
for path, text in before.items():
    try:
        with open(path, "rb") as file:
            if file.read() != text:
                escaped(f"{path} has changed")
    except OSError as error:
        escaped(f"{path} has gone: {error}")
os.makedirs("out", exist_ok=True)
