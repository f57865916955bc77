# SPDX-License-Identifier: MIT
# class: Host: files of the machine; Service: another's private data
# tries: to read, change and list what belongs to the machine, to the user who runs this, and to other jobs.
# expect: passed
import glob
import os
import sys

from attack import escaped, honest as custom_kernel, refused, tried


def leads_to_interpreter(path):
    """Its path may lead through a user's home; then only that path exists there."""
    return any(f"{place}/".startswith(f"{path}/") for place in (sys.prefix, sys.base_prefix))


tried()
for path in ("@CANARY@", "/proc/1/root@CANARY@", "/proc/self/cwd/../..@CANARY@", "@SCRATCH@/kettle.yml", "@SCRATCH@/exec.yml",
             "/etc/shadow", "/etc/sudoers", "/root/.bashrc", "/proc/kcore", "/proc/kmsg", "/proc/sys/kernel/core_pattern.old"):
    refused(open, path, "rb")
    refused(open, path, "ab")
    refused(os.stat, path) if path.startswith("@SCRATCH@") or "@CANARY@" in path else None
for path in ("@SCRATCH@", "@SCRATCH@/state", "@SCRATCH@/locks", "@SCRATCH@/records", "/root", "/root/.ssh", "/root/.local",
             "/var/lib/kettle", "/run/kettle", "/var/log", "/home", "/srv", "/boot"):
    try:
        found = os.listdir(path)
    except OSError:
        continue
    others = [name for name in found if not leads_to_interpreter(os.path.join(path, name))]
    if others:
        escaped(f"{path} holds {others[:5]}")
for pattern in ("/tmp/kettle*", "/proc/1/cwd/*", "/dev/sd*", "/dev/nvme*", "/dev/mem", "/dev/kvm", "/dev/fuse"):
    for path in glob.glob(pattern):
        escaped(f"{path} is there")
