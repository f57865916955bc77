# SPDX-License-Identifier: MIT
# class: Result channel: writing the verdict, in a worker of KernelBot's pool
# tries: in a worker of a spawn pool, to write the verdict by every number and every process, and then to be wrong.
# expect: failed
# task: field
import os

from attack import escaped, pids, tried


def custom_kernel(data):
    tried()
    for fd in (int(os.environ.get("POPCORN_FD", 3)), *range(3, 64)):
        try:
            if os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                escaped("the worker has a socket")
            if fd == 3:
                os.write(fd, b"check: pass\n")
        except OSError:
            pass
    for pid in (pid for pid in pids() if pid != os.getpid()):
        for fd in range(3, 16):
            try:
                other = os.open(f"/proc/{pid}/fd/{fd}", os.O_WRONLY)
                if not os.readlink(f"/proc/self/fd/{other}").startswith("pipe:"):
                    escaped(f"descriptor {fd} of {pid} can be opened")
            except OSError:
                pass
    return [0]
