# SPDX-License-Identifier: MIT
# class: Host: privileges
# tries: to become another user: by ids, groups, capabilities, programs of the system that have more, and one of its own.
# expect: passed
import os
import shutil
import subprocess

from attack import calls, escaped, honest as custom_kernel, in_child, tried


def become():
    for change in (lambda: os.setuid(0), lambda: os.setresuid(0, 0, 0), lambda: os.setgid(0), lambda: os.setgroups([0])):
        try:
            change()
        except OSError:
            continue
        if os.access("/etc/shadow", os.R_OK) or os.access("/usr/bin", os.W_OK):
            escaped("it has become another user")
    if libc.prctl(24, 0, 0, 0, 0) == 0 and libc.prctl(38, 0, 0, 0, 0) == 0:  # PR_CAPBSET_DROP; NO_NEW_PRIVS was lifted
        escaped("capabilities can be dropped, so there are some")


tried()
libc = calls()
in_child(become)
with open("/proc/self/status") as file:
    status = dict(line.rstrip("\n").split(":\t", 1) for line in file if ":\t" in line)
for name in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd"):
    if int(status.get(name, "0"), 16):
        escaped(f"{name} is {status[name]}")
if status.get("NoNewPrivs") != "1":
    escaped("it may gain privileges")
shutil.copy("/bin/sh", "/tmp/sh")
try:
    os.chmod("/tmp/sh", 0o6755)
except OSError:
    pass
for command in (["/tmp/sh", "-p", "-c", "cat /etc/shadow"], ["sudo", "-n", "true"], ["su", "-c", "true"], ["unshare", "-r", "true"],
                ["mount", "-t", "tmpfs", "x", "/tmp"], ["newuidmap", str(os.getpid()), "0", "0", "1"]):
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=3)
    except (OSError, subprocess.TimeoutExpired):
        continue
    if done.returncode == 0:
        escaped(f"{command} worked")
