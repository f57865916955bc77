# SPDX-License-Identifier: MIT
# class: Timer: lazily evaluated outputs; Correctness: output written after the return
# tries: to return what is not computed yet: iterators, and lists that another thread fills after the clock has stopped.
# expect: failed
# variants: HOW=0 HOW=1 HOW=2 HOW=3
import os
import threading
import time

from attack import honest, tried


def later(output, data):
    time.sleep(0.5)
    output[:] = honest(data)


def custom_kernel(data):
    tried()
    if @HOW@ == 0:
        return (2 * value for value in data)
    if @HOW@ == 1:
        return map(int, honest(data))
    output = [0] * len(data)
    if @HOW@ == 2:
        threading.Thread(target=later, args=(output, list(data))).start()
    elif os.fork() == 0:
        later(output, data)
        os._exit(0)
    return output
