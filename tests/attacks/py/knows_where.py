# SPDX-License-Identifier: MIT
# class: Host: reading files of the machine; another's private data (who else is there)
# tries: to learn who else is there: processes, users, host name, commands of the machine.
# expect: passed
import os
import re
import socket

from attack import escaped, honest as custom_kernel, pids, read, tried

tried()
if socket.gethostname() == "@HOSTNAME@" or os.uname().nodename == "@HOSTNAME@":
    escaped("it knows the host's name")
if len(pids()) > 8:
    escaped(f"there are {len(pids())} processes")
for pid in pids():
    text = read(f"/proc/{pid}/cmdline") or b""
    if "@SCRATCH@".encode() in text or b"kettle.yml" in text:
        escaped(f"a command of the machine can be seen: {text}")
mounts = read("/proc/self/mountinfo") or b""
if re.search(rb" /job .* - overlay ", mounts) and "@SCRATCH@".encode() in mounts:
    escaped("it knows where the machine has its folder")
if re.search(rb"@LOGIN@", read("/etc/passwd") or b"", re.MULTILINE):
    escaped("it knows a user of the machine")
if "SECRET_OF_THE_MACHINE" in os.environ or b"@SECRET@" in (read("/proc/self/environ") or b""):
    escaped("it has the environment of the user who started it")
