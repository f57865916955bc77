# SPDX-License-Identifier: MIT
# class: Result channel: an object that executes when the parent reads it; Correctness: stale memory
# tries: names of types of elements at which a library that reads them ends, follows pointers, or shows what its memory
#        had.
# expect: failed
# variants: TYPE=object TYPE=hidden_object TYPE=divisor TYPE=empty TYPE=huge TYPE=attribute TYPE=quantized
import sys

import exchange
from attack import honest as custom_kernel, tried

TABLES = {
    "object": '{"array":["|O",[1],[8],%d]}',
    "hidden_object": '{"number":["<i8,O",[],[],%d]}',
    "divisor": '{"array":["<m8[s/0]",[1],[8],%d]}',
    "empty": '{"array":["<S0",[9],[0],%d]}',
    "huge": '{"array":["<U536870911",[1],[4],%d]}',
    "attribute": '{"array":["finfo",[1],[4],%d]}',
    "quantized": '{"tensor":["qint8",[1],[1],%d,false]}',
}


def table(writer, value):
    tried()
    at = writer._room(64)
    writer._memory.map[at:at + 64] = b"A" * 64
    return writer.text(TABLES["@TYPE@"] % at)


sys.modules["__main__"].Writer.table = table
