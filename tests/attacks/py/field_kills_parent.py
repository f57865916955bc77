# SPDX-License-Identifier: MIT
# class: Result channel: killing the harness after writing for it (a KernelBot-compatible harness)
# tries: to end the harness from a worker, and the pool's helpers with it, before it can say that the output is wrong.
# expect: failed
# task: field
import os
import signal

from attack import tried


def custom_kernel(data):
    tried()
    print("check: pass", flush=True)
    os.kill(os.getppid(), signal.SIGKILL)
    os.kill(0, signal.SIGKILL)
