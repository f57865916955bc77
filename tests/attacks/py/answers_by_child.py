# SPDX-License-Identifier: MIT
# class: Result channel: descriptors passed on
# tries: to have a child answer in its place, which has the pipes and the memory: the child's answer is the only one, comes before
#        its own, or after it..
# expect: failed
# mode: benchmark
# variants: WHICH=only WHICH=before WHICH=after
import os

import exchange
from attack import driver, honest, tried

answer = exchange.Memory.answer


def answered(memory, nonce, *what):
    tried()
    pipe = driver()._pipes[1]
    pid = os.fork()
    if pid == 0:
        answer(memory, nonce, *what)
        os.write(pipe, nonce)
        os._exit(0)
    if "@WHICH@" == "only":
        os.waitpid(pid, 0)
        os.read(driver()._pipes[0], 16)  # the next message is lost: so is the run, as it should be
        os._exit(0)
    if "@WHICH@" == "before":
        os.waitpid(pid, 0)
    answer(memory, nonce, *what)


exchange.Memory.answer = answered


def custom_kernel(data):
    return honest(data)
