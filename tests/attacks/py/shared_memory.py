# SPDX-License-Identifier: MIT
# class: Host: shared memory left behind
# tries: to leave segments, named and System V, and looks whether an earlier run has, or whether the machine's are there.
# expect: passed
# mode: benchmark
# runs: 2
import os
from multiprocessing import resource_tracker, shared_memory

from attack import calls, escaped, honest as custom_kernel, tried

tried()
resource_tracker.register = lambda *_: None
for name in os.listdir("/dev/shm"):
    escaped(f"/dev/shm/{name} is there")
left = shared_memory.SharedMemory(name="@MARK@", create=True, size=4096)
left.buf[:4] = b"left"
libc = calls()
if libc.shmget(@KEY@, 4096, 0) >= 0 or libc.semget(@KEY@, 1, 0) >= 0 or libc.msgget(@KEY@, 0) >= 0:
    escaped("System V objects of an earlier run are there")
libc.shmget(@KEY@, 4096, 0o1666), libc.semget(@KEY@, 1, 0o1666), libc.msgget(@KEY@, 0o1666)
with open("/tmp/@MARK@", "w") as file:
    file.write("left")
