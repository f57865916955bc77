# SPDX-License-Identifier: MIT
"""A machine whose sandbox reaches less than this one's: a user namespace with mounts of its own, in which other programs of the
test run as the same user. restrict() forbids network namespaces there, as some clusters do, and writing to cgroups, as containers do."""
import os
import pathlib
import shutil
import subprocess

import kettle_test as kt

CGROUPS = "while read _ _ _ _ at _; do case $at in /sys/fs/cgroup*) mount -o remount,bind,%s $at || :;; esac; done </proc/self/mountinfo"
LIMIT = "/proc/sys/user/max_net_namespaces"


def missing():
    """What this machine lacks for it; None: nothing."""
    for tool in ("unshare", "nsenter"):
        if not shutil.which(tool):
            return f"{tool} (util-linux) is not installed"
    made = subprocess.run(["unshare", "--user", "--map-root-user", "--mount", "--net", "test", "-w", LIMIT], check=False,
                          stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return None if made.returncode == 0 else "this machine has no full sandbox: no namespaces, or no limits on them"


class Machine:
    """Its programs are started with the words of `command` before their own; it ends with close(), which ends none of them."""

    def __init__(self):
        root = os.getuid() == 0
        # An ordinary user is root in a first namespace, which has the limits, and themselves in one below, for each program.
        self.holder = subprocess.Popen(["unshare", "--user", *([] if root else ["--map-root-user"]), "--mount", "cat"],
                                       stdin=subprocess.PIPE, stdout=subprocess.DEVNULL)
        here = os.readlink("/proc/self/ns/mnt")
        kt.poll(lambda: os.readlink(f"/proc/{self.holder.pid}/ns/mnt") != here, "a machine of its own")
        if root:
            for name in ("uid_map", "gid_map"):
                pathlib.Path(f"/proc/{self.holder.pid}/{name}").write_text(f"0 0 {(1 << 32) - 1}")
        self.enter = ["nsenter", "--preserve-credentials", "--user", "--mount", f"--target={self.holder.pid}"]
        self.command = self.enter if root else [*self.enter, "unshare", "--user", f"--map-user={os.getuid()}", f"--map-group={os.getgid()}"]

    def change(self, command):
        subprocess.run([*self.enter, "sh", "-ec", command], check=True, stdin=subprocess.DEVNULL)

    def restrict(self):
        """What is started from now on reaches `reduced`."""
        self.change(f"echo 0 >{LIMIT}; {CGROUPS % 'ro'}")

    def relax(self):
        """All as at the beginning, for what is started from now on."""
        self.change(f"cat {LIMIT.replace('net', 'uts')} >{LIMIT}; {CGROUPS % 'rw'}")

    def close(self):
        self.holder.stdin.close()
        self.holder.wait()
