# SPDX-License-Identifier: MIT
# class: Host: memory floods
# tries: to have the referee read a table that takes up much more memory than its text has, so that it is the referee
#        that reaches the limit of memory.
# expect: failed
# variants: UNIT={} UNIT=[] UNIT=[0]
import sys

import exchange
from attack import honest as custom_kernel, tried


def table(writer, value):
    tried()
    unit = b"@UNIT@,"
    text = b"[" + unit * ((exchange.MAX_TABLE - 3) // len(unit)) + b"0]"
    at = writer._room(len(text))
    writer._memory.map[at:at + len(text)] = text
    return at, len(text)


sys.modules["__main__"].Writer.table = table
