# SPDX-License-Identifier: MIT
# class: Status as a lever: a fault of the task by space that the harness lacks, too
# tries: to take nearly all space for temporary files, or to close their folder, so that no process makes the next input.
# expect: passed
# mode: benchmark
# variants: HOW=fill HOW=close HOW=later
import os
import time

import reference
from attack import honest, tried


def fill():
    with open("/tmp/all", "wb", buffering=0) as file:
        try:
            while file.write(bytes(1 << 20)):
                pass
        except OSError:
            file.truncate(os.fstat(file.fileno()).st_size - (1 << 14))  # a full disk would be a limit reached


def close():
    try:
        os.chmod("/tmp", 0)
    except PermissionError:  # it is another's
        fill()


def later():
    """While the harness looks whose fault it is."""
    worker = os.getpid()
    if os.fork() == 0:
        while os.getppid() == worker:
            time.sleep(0.001)
        close()
        time.sleep(60)
    reference.random = None


def custom_kernel(data):
    tried()
    if not hasattr(reference, "taken"):
        reference.taken = True
        @HOW@()
    return honest(data)
