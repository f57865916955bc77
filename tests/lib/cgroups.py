# SPDX-License-Identifier: MIT
"""Cgroups of one kettle-exec, and of no other on the machine: they are named PID-START, and no second process of a machine
has had both that number and that start."""
import contextlib
import os
import re

TRIES = 1000  # of core/sandbox/cgroup.c: the start may be counted up


def owner(pid):
    """What tells a living (or not yet reaped) process from all others: (pid, start in ticks)."""
    with open(f"/proc/{pid}/stat") as file:
        return int(pid), int(file.read().rpartition(")")[2].split()[19])


def left(owners):
    """The folders of these processes that are there."""
    starts, found = dict(owners), []
    for folder, folders, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(folder) != "kettle":
            continue
        for name in folders:
            match = re.fullmatch(r"(\d+)-(\d+)", name)
            start = starts.get(int(match[1])) if match else None
            if start is not None and start <= int(match[2]) < start + TRIES:
                found.append(os.path.join(folder, name))
    return sorted(found)


def members(owners):
    """The processes in these folders and below."""
    found = []
    for folder in (folder for top in left(owners) for folder, _, _ in os.walk(top)):
        with contextlib.suppress(OSError), open(os.path.join(folder, "cgroup.procs")) as file:  # another kettle-exec may have removed it
            found += file
    return found
