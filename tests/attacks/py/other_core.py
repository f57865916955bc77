# SPDX-License-Identifier: MIT
# class: Timer: helpers on other cores
# tries: on a unit with two cores: a process on the other one, which the referee cannot see, computes before the clock starts and
#        goes on when it has stopped. That it gains time is open; a wrong result must not pass.
# expect: passed failed
# device: two
# mode: benchmark
import mmap
import os
import pickle

from attack import driver, honest, say, tried

started = []
fd = os.open("/dev/shm/other", os.O_RDWR | os.O_CREAT)
os.ftruncate(fd, 1 << 20)
place = mmap.mmap(fd, 1 << 20)


def early(memory):
    while True:
        begin, length, _, _ = memory.laid()
        try:
            data = pickle.loads(memory.map[begin:begin + length])
            text = pickle.dumps((data, honest(data)))
        except Exception:  # it is not there yet
            continue
        place[:len(text)] = text


def custom_kernel(data):
    tried()
    if not started:
        started.append(driver()._memory)
        say(f"{len(os.sched_getaffinity(0))} cores")
        if os.fork() == 0:
            early(started[0])
    try:
        known, result = pickle.loads(place[:])
    except Exception:  # half of it
        known = None
    return result if known == data else honest(data)
