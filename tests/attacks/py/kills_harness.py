# SPDX-License-Identifier: MIT
# class: Result channel: killing the harness after writing for it; Host: signals to -1; killing init or the parent
# tries: to end the harness, and whatever else it can name, before it can say that the output is wrong.
# expect: failed
import os
import signal

from attack import pids, tried


def custom_kernel(data):
    tried()
    print("check: pass", flush=True)
    for pid in (os.getppid(), -os.getpgid(0), 1, *pids(), -1):
        for number in (signal.SIGTERM, signal.SIGKILL):
            try:
                if pid != os.getpid():
                    os.kill(pid, number)
            except OSError:
                pass
    return data
