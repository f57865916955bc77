# SPDX-License-Identifier: MIT
# class: Correctness: reading the secret seed in /proc; Timer: patching natively by /proc/self/mem, ptrace
# tries: to look into the harness, whose process is not the one of the submission: its memory, environment, maps,
#        descriptors, by files and by system calls. The parent is the solver's own, which makes the processes of sessions.
# expect: passed
# mode: ranked
import os

from attack import calls, escaped, honest as custom_kernel, pids, refused, tried

PTRACE_ATTACH, PTRACE_SEIZE = 16, 0x4206
PROCESS_VM_READV, PROCESS_VM_WRITEV, PIDFD_OPEN, PIDFD_GETFD, KCMP, PERF_EVENT_OPEN = 310, 311, 434, 438, 312, 298

tried()
others = {1, *pids()} - {os.getpid(), os.getppid() if os.getppid() > 1 else 0}
for name in ("environ", "mem", "maps", "smaps", "map_files", "auxv", "pagemap", "io", "syscall", "stack", "personality",
             "fd", "fdinfo", "cwd", "root", "exe", "ns", "timers", "task/1/mem", "task/1/fd/3"):
    for pid in others:
        path = f"/proc/{pid}/{name}"
        try:
            found = os.listdir(path) if os.path.isdir(path) else open(path, "rb", buffering=0).read(1)
            if found:
                escaped(f"{name} of the harness can be read")
        except OSError:
            pass
for name in ("mem", "clear_refs", "coredump_filter", "attr/current", "oom_score_adj", "setgroups", "uid_map", "timerslack_ns"):
    for pid in others:
        refused(open, f"/proc/{pid}/{name}", "wb")
libc = calls()
for pid in others:
    for what in (PTRACE_ATTACH, PTRACE_SEIZE):
        if libc.ptrace(what, pid, 0, 0) == 0:
            escaped("the harness can be traced")
import ctypes  # noqa: E402
place = ctypes.create_string_buffer(64)
vector = (ctypes.c_void_p * 2)(ctypes.addressof(place), 64)
for pid in others:
    for number in (PROCESS_VM_READV, PROCESS_VM_WRITEV) if os.uname().machine == "x86_64" else ():
        if libc.syscall(number, pid, vector, 1, vector, 1, 0) >= 0:
            escaped(f"system call {number} reaches the memory of {pid}")
    pidfd = libc.syscall(PIDFD_OPEN, pid, 0)
    for fd in range(8):
        if pidfd >= 0 and libc.syscall(PIDFD_GETFD, pidfd, fd, 0) >= 0:
            escaped(f"descriptor {fd} of {pid} can be taken")
    if os.uname().machine != "x86_64":
        continue
    if libc.syscall(KCMP, os.getpid(), pid, 0, 1, 1) >= 0:
        escaped(f"kcmp compares with {pid}")
    if libc.syscall(PERF_EVENT_OPEN, ctypes.create_string_buffer(128), pid, -1, -1, 0) >= 0:
        escaped(f"{pid} can be watched by perf")
