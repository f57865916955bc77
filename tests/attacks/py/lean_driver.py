# SPDX-License-Identifier: MIT
# class: Timer: a driver that is replaced by a leaner one
# tries: to save what the driver takes besides the call: a loop of its own that reads, computes and writes the table. It may; but
#        its work counts, and so do its results.
# expect: passed
# mode: ranked
# slower: 0.0015
import os
import sys
from struct import unpack

import exchange
from attack import honest as custom_kernel, input_of, tried, work

WORK_NS = 3_000_000


def serve(driver):
    go, done = driver._pipes
    memory, at = driver._memory, driver._writer._first
    while True:
        message = os.read(go, 16)
        if len(message) != 16:
            return
        what, nonce = unpack("Q8s", message)
        if what == exchange.LOAD:
            driver._load()
        elif what == exchange.GO:
            tried()
            text = str(work(input_of(driver), WORK_NS)).encode()
            memory.map[at:at + len(text)] = text
            memory.answer(nonce, exchange.RETURNED, at, len(text))
        else:
            memory.answer(nonce, *driver._answered(what))
        os.write(done, nonce)


sys.modules["__main__"].Driver.serve = serve
