# SPDX-License-Identifier: MIT
# class: Endless: a solver that never answers, in each state of a call
# tries: to keep the referee waiting for ever: for its views, its answer, what it knows, and its end.
# expect: timed_out
# mode: benchmark
# variants: WHEN=running WHEN=load WHEN=facts WHEN=answered WHEN=nonce
import signal
import sys

import exchange
from attack import honest, tried

Driver = sys.modules["__main__"].Driver
load, answered, answer = Driver._load, Driver._answered, exchange.Memory.answer


def wait():
    tried()
    while True:
        signal.pause()


def loaded(self):
    if "@WHEN@" == "load":
        wait()
    load(self)


def answers(self, what):
    if "@WHEN@" == "facts" and what == exchange.FACTS:
        wait()
    return answered(self, what)


def written(memory, *what):
    if "@WHEN@" == "nonce":
        wait()
    answer(memory, *what)
    if "@WHEN@" == "answered":
        wait()


Driver._load, Driver._answered, exchange.Memory.answer = loaded, answers, written


def custom_kernel(data):
    if "@WHEN@" == "running":
        wait()
    return honest(data)
