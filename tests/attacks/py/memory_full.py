# SPDX-License-Identifier: MIT
# class: Service: status as a lever; Host: memory floods
# tries: to fill the memory that it shares with the referee and to end before its first answer, so that the referee,
#        which then imports the task by itself, has no memory for that, and blames the task.
# expect: failed
# variants: LEFT=64 LEFT=24 LEFT=0
import mmap
import os

from attack import honest as custom_kernel, tried

tried()
MIB = 1 << 20
for name in os.listdir("/proc/self/fd"):
    try:
        shared = "memfd" in os.readlink(f"/proc/self/fd/{name}")
    except OSError:
        continue
    if shared:
        size = os.fstat(int(name)).st_size
        with mmap.mmap(int(name), size) as memory:
            for at in range(0, min(size, (512 - @LEFT@) * MIB), mmap.PAGESIZE):
                memory[at] = 1
os._exit(0)
