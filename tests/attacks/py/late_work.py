# SPDX-License-Identifier: MIT
# class: Timer: work left to after the answer
# tries: to answer first and to compute then, so that the result is there when the referee copies it, but the clock has stopped;
#        by itself, by a thread, or by another process.
# expect: passed failed
# mode: ranked
# slower: 0.0015
# variants: WHO=itself WHO=thread WHO=process
import os
import sys
import threading
from struct import unpack

import exchange
from attack import honest as custom_kernel, input_of, tried, work

WORK_NS = 3_000_000


def finish(driver):
    """The result, into the table that was already told."""
    text = str(work(input_of(driver), WORK_NS)).encode()
    driver._memory.map[driver._writer._first:driver._writer._first + len(text)] = text


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0]:
            pass
    except ChildProcessError:
        pass


def serve(driver):
    go, done = driver._pipes
    wanted = threading.Semaphore(0)

    def helper():
        while True:
            wanted.acquire()
            finish(driver)
    if "@WHO@" == "thread":
        threading.Thread(target=helper, daemon=True).start()
    while True:
        message = os.read(go, 16)
        if len(message) != 16:
            return
        what, nonce = unpack("Q8s", message)
        if what == exchange.LOAD:
            reap()
            driver._load()
        elif what == exchange.GO:
            tried()
            # What a table of that input will have: as long as numbers of so many digits are.
            length = len(str(custom_kernel(input_of(driver))))
            driver._memory.answer(nonce, exchange.RETURNED, driver._writer._first, length)
        else:
            driver._memory.answer(nonce, *driver._answered(what))
        if what == exchange.GO and "@WHO@" == "process" and os.fork() == 0:
            finish(driver)
            os._exit(0)
        os.write(done, nonce)
        if what == exchange.GO and "@WHO@" == "thread":
            wanted.release()
        elif what == exchange.GO and "@WHO@" == "itself":
            finish(driver)


sys.modules["__main__"].Driver.serve = serve
