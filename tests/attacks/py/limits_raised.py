# SPDX-License-Identifier: MIT
# class: Host: raising its limits; changes of affinity off its core
# tries: to raise what bounds it, for itself, the harness and init, and to leave its core.
# expect: passed
import os
import resource

from attack import escaped, honest as custom_kernel, tried

tried()
cores = os.sched_getaffinity(0)
for name in (name for name in dir(resource) if name.startswith("RLIMIT_")):
    kind = getattr(resource, name)
    for pid in (0, 1):
        try:
            hard = resource.prlimit(pid, kind)[1]
            if hard != resource.RLIM_INFINITY:
                resource.prlimit(pid, kind, (hard, hard + 1))
                escaped(f"{name} of {pid} can be raised")
        except (OSError, ValueError):
            pass
for pid in (0, os.getppid(), 1):
    for change in (lambda: os.setpriority(os.PRIO_PROCESS, pid, os.getpriority(os.PRIO_PROCESS, pid) - 5),
                   lambda: os.sched_setscheduler(pid, os.SCHED_FIFO, os.sched_param(50))):
        try:
            change()
            escaped(f"{pid} has made itself more important")
        except OSError:
            pass
try:
    os.sched_setaffinity(0, range(os.cpu_count()))
except OSError:
    pass
if os.sched_getaffinity(0) - cores:
    escaped(f"it may run on {os.sched_getaffinity(0)}, not only on {cores}")
for path in ("/proc/self/oom_score_adj", "/proc/1/oom_score_adj"):
    try:
        with open(path, "w") as file:
            file.write("-1000")
        escaped(f"{path} can be lowered")
    except OSError:
        pass
for folder, _, files in os.walk("/sys/fs/cgroup"):
    for name in files:
        if os.access(os.path.join(folder, name), os.W_OK):
            escaped(f"{folder}/{name} can be written")
