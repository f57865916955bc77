# SPDX-License-Identifier: MIT
# class: Result channel: reopening the harness's descriptor through /proc/PPID/fd
# tries: to report success by every descriptor of every process, and by those that it was given itself, of which one is a
#        socket, whatever their number, and then to be wrong.
# expect: failed
import os

from attack import escaped, pids, tried

LINES = b"check: pass\ntest-count: 1\ntest.0.status: pass\n"


def write_to(path):
    try:
        fd = os.open(path, os.O_WRONLY | os.O_APPEND)
    except OSError:
        return
    if not os.readlink(path).startswith(("/dev/null", "pipe:")):
        escaped(f"{path} can be opened: {os.readlink(path)}")
    os.write(fd, LINES)
    os.close(fd)


def custom_kernel(data):
    tried()
    for pid in (pid for pid in pids() if pid != os.getpid()):
        try:
            for fd in os.listdir(f"/proc/{pid}/fd"):
                write_to(f"/proc/{pid}/fd/{fd}")
            escaped(f"the descriptors of {pid} can be listed")
        except OSError:
            pass
        for fd in range(3, 32):
            write_to(f"/proc/{pid}/fd/{fd}")
    for fd in map(int, os.listdir("/proc/self/fd")):
        try:
            if fd > 2 and os.readlink(f"/proc/self/fd/{fd}").startswith("socket:"):
                os.write(fd, LINES)
        except OSError:
            pass
    return data
