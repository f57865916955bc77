# SPDX-License-Identifier: MIT
# class: Host: stopped processes; signals to the harness
# tries: to send the harness any signal at all, by every call that sends one, where the kernel's Landlock keeps them apart.
# expect: passed
import os
import signal

from attack import calls, escaped, honest, tried

SIGNALS_SCOPED = 6  # the version of Landlock that keeps signals in


def custom_kernel(data):
    tried()
    library, parent = calls(), os.getppid()
    if library.syscall(444, None, 0, 1) < SIGNALS_SCOPED:
        return honest(data)
    ways = {
        "kill": lambda: os.kill(parent, 0),
        "stop": lambda: os.kill(parent, signal.SIGCONT),
        "pidfd": lambda: signal.pidfd_send_signal(os.pidfd_open(parent), 0),
        "tgkill": lambda: os.strerror(0) if library.tgkill(parent, parent, 0) == 0 else os.kill(parent, 0),
    }
    for name, send in ways.items():
        try:
            send()
            escaped(f"the harness takes a signal by {name}")
        except OSError:
            pass
    child = os.fork()  # its own are its own
    if child == 0:
        signal.pause()
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return honest(data)
