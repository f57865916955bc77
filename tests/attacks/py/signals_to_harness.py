# SPDX-License-Identifier: MIT
# class: Host: stopped processes; signals to the harness
# tries: to find the harness, which has the cases and the result channel, among its processes and files, and to send any
#        signal at all to a process that is not its own, by every call that sends one. Its parent, in a ranked run, is the one
#        that makes the processes of sessions: without it the submission has no further ones, and fails.
# expect: passed failed
# mode: ranked
import os
import signal

from attack import calls, escaped, honest, pids, read, tried

FILES_OF_HARNESS = ("cases.txt", "../cases.txt", "out/cases.txt")


def custom_kernel(data):
    tried()
    library, own = calls(), {os.getpid(), os.getppid()}
    for pid in pids():
        words = read(f"/proc/{pid}/cmdline") or b""
        if pid not in own and b"eval.py" in words:
            escaped(f"the harness is process {pid}")
    for name in FILES_OF_HARNESS:
        if os.path.exists(name):
            escaped(f"{name} is there")
    if any(name.startswith(("POPCORN_FD", "KETTLE_SECRET")) for name in os.environ):
        escaped("its environment names the harness's descriptors")
    parent = os.getppid()
    ways = {
        "kill": lambda: os.kill(parent, signal.SIGKILL),
        "stop": lambda: os.kill(parent, signal.SIGSTOP),
        "pidfd": lambda: signal.pidfd_send_signal(os.pidfd_open(parent), signal.SIGTERM),
        "tgkill": lambda: library.tgkill(parent, parent, signal.SIGTERM),
    }
    for send in ways.values():
        try:
            send()
        except OSError:
            pass
    child = os.fork()  # its own are its own
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return honest(data)
