# SPDX-License-Identifier: MIT
# class: Correctness: one launch that serves several timed calls
# tries: a driver of its own that computes at the first call and answers all others with the table that lies there.
# expect: failed
# mode: benchmark
import os
import sys
from struct import unpack

import exchange
from attack import honest as custom_kernel, tried


def serve(driver):
    (go, done), kept = driver._pipes, []
    while True:
        message = os.read(go, 16)
        if len(message) != 16:
            return
        what, nonce = unpack("Q8s", message)
        if what == exchange.LOAD and not kept:
            driver._load()
        elif what == exchange.GO:
            tried()
            kept = kept or [driver._answered(what)]
            driver._memory.answer(nonce, *kept[0])
        elif what != exchange.LOAD:
            driver._memory.answer(nonce, *driver._answered(what))
        os.write(done, nonce)


sys.modules["__main__"].Driver.serve = serve
