# SPDX-License-Identifier: MIT
# class: Result channel: a solver that ends, in each state of a call
# tries: to be killed, or to end with status 0, where the referee waits for something else than its end.
# expect: failed
# mode: benchmark
# variants: WHEN=load-kill WHEN=load-exit WHEN=ready-kill WHEN=running-kill WHEN=running-exit WHEN=answered-kill WHEN=later-kill WHEN=facts-kill
import os
import signal
import sys
import threading

import exchange
from attack import driver, honest, tried

STATE, _, HOW = "@WHEN@".partition("-")
Driver = sys.modules["__main__"].Driver
load, answered, answer = Driver._load, Driver._answered, exchange.Memory.answer
calls = [0]


def end():
    tried()
    if HOW == "exit":
        os._exit(0)
    os.kill(os.getpid(), signal.SIGKILL)


def loaded(self):
    calls[0] += 1
    if STATE == "load" and calls[0] == 3:
        end()
    if STATE in ("ready", "later") and calls[0] > 3:
        threading.Event().wait()  # for the timer: the run must not end before it
    load(self)
    if STATE == "ready" and calls[0] == 3:  # it has answered, and sleeps
        threading.Timer(0.05, end).start()


def answers(self, what):
    if STATE == "facts" and what == exchange.FACTS:
        end()
    return answered(self, what)


def written(memory, *what):
    answer(memory, *what)
    if STATE == "answered" and calls[0] == 3:
        os.write(driver()._pipes[1], what[0])
        end()


Driver._load, Driver._answered, exchange.Memory.answer = loaded, answers, written


def custom_kernel(data):
    if STATE == "running" and calls[0] == 3:
        end()
    if STATE == "later" and calls[0] == 3:
        threading.Timer(0.001, end).start()
    return honest(data)
