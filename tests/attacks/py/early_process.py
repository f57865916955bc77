# SPDX-License-Identifier: MIT
# class: Timer: early work, by another process
# tries: to see the input in the shared memory before the clock starts, in a process of its own that shares it, which works
#        then; the call only takes the result.
# expect: passed failed
# mode: ranked
# slower: 0.0015
import gc
import mmap
import os
import pickle

from attack import driver, honest, tried, work

WORK_NS = 3_000_000


def shared(size):
    """Memory that is the same in a child, by way of a file: sandboxes need not allow any other."""
    fd = os.open("/dev/shm/early", os.O_RDWR | os.O_CREAT)
    os.ftruncate(fd, size)
    return mmap.mmap(fd, size)


place, started = shared(1 << 20), []


def early(memory):
    """Of the child: the result of each input, as soon as it is there, behind what the input is."""
    kept = None
    while True:
        begin, length, _, _ = memory.laid()
        try:
            data = pickle.loads(memory.map[begin:begin + length])
        except Exception:  # it is not there yet
            continue
        if data and data != kept:
            kept = data
            text = pickle.dumps((data, work(data, WORK_NS)))
            place.seek(0)
            place.write(text)


def custom_kernel(data):
    tried()
    if not started:
        started.append(driver()._memory)
        gc.disable()
        if os.fork() == 0:
            early(started[0])
    try:
        known, result = pickle.loads(place[:])
    except Exception:  # half of it
        known = None
    return result if known == data else work(data, WORK_NS)
