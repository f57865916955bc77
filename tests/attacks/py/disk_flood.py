# SPDX-License-Identifier: MIT
# class: Host: disk floods; memory of files (/dev/shm, memfd)
# tries: to fill every place where it may write, and files that have no place.
# expect: passed failed timed_out
# alone: yes
import errno
import os

from attack import escaped, honest, tried

PIECE, MOST = b"x" * (1 << 20), 700


def fill(fd, where):
    for _ in range(MOST):
        try:
            if os.write(fd, PIECE) < len(PIECE):
                return
        except OSError as error:
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.ENOMEM, errno.EINTR):
                raise
            return
    escaped(f"{where} takes {MOST} MiB")


def custom_kernel(data):
    tried()
    for folder in ("out", "/tmp", os.environ["HOME"], "/dev/shm", "/var/tmp", "/run", "/dev", "/job"):
        try:
            fd = os.open(f"{folder}/flood", os.O_WRONLY | os.O_CREAT, 0o600)
        except OSError:
            continue
        fill(fd, folder)
    for number in range(20):
        fill(os.memfd_create(f"flood{number}"), "a file in memory")
    return honest(data)
