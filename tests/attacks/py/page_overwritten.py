# SPDX-License-Identifier: MIT
# class: Result channel: fields of the control page that are the referee's
# tries: to write, at each call and before its own answer, into each number of the control page that the referee wrote, so that
#        the referee, if it read them back, would write or read elsewhere.
# expect: passed
# mode: benchmark
# variants: FIELD=16 FIELD=0 FIELD=8 FIELD=24 FIELD=64 FIELD=72 FIELD=80 FIELD=88 FIELD=96 FIELD=160
from struct import pack_into

from attack import driver, honest, tried


def custom_kernel(data):
    tried()
    pack_into("Q", driver()._memory.map, @FIELD@, (1 << 64) - 4096)
    return honest(data)
