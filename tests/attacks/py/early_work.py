# SPDX-License-Identifier: MIT
# class: Timer: early work, by a thread that computes while the harness writes and flushes the input
# tries: to see the input in the shared memory before the clock starts, to work then, and to have the result at the call.
# expect: passed failed
# mode: ranked
# slower: 0.0015
import gc
import pickle
import threading
import time

from attack import honest, tried

WORK_NS = 3_000_000
kept = [None, None]


def work(data):
    until = time.thread_time_ns() + WORK_NS
    while time.thread_time_ns() < until:
        pass
    return honest(data)


def early():
    while True:
        drivers = [one for one in gc.get_objects() if type(one).__name__ == "Driver"]
        while drivers:
            late = drivers[0]._late
            try:
                data = late and pickle.loads(drivers[0]._memory.map[late[0]:late[0] + late[1]])
            except Exception:  # it is not there yet
                data = None
            if data and data != kept[0]:
                kept[:] = data, work(data)


threading.Thread(target=early, daemon=True).start()


def custom_kernel(data):
    tried()
    return kept[1] if kept[0] == data else work(data)
