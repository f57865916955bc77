# SPDX-License-Identifier: MIT
# class: Result channel: answers that are none; Correctness: wrong shapes and kinds that happen to compare
# tries: shapes, strides and places that are not the output's: the input in its stead, elements before the memory or behind
#        it, one element that is to be a hundred million, a shape whose product is too large for a number.
# expect: failed
# variants: LIE=input LIE=page LIE=before LIE=behind LIE=repeated LIE=backwards LIE=many LIE=overflow LIE=negative LIE=ranks LIE=float LIE=text
import sys

from attack import honest as custom_kernel, tried

LIES = {
    "input": '{"bytes":[8192,400]}',
    "page": '{"bytes":[0,4096]}',
    "before": '{"array":["<i8",[100],[8],-8]}',
    "behind": '{"array":["<i8",[100],[%d],%%d]}' % (1 << 40),
    "repeated": '{"array":["<i8",[100000000],[0],%d]}',
    "backwards": '{"array":["<i8",[100],[-%d],%%d]}' % (1 << 30),
    "many": "[" + ",".join(['{"bytes":[4096,1000000]}'] * 2000) + "]",
    "overflow": '{"array":["<i8",[4294967296,4294967296],[8,8],%d]}',
    "negative": '{"array":["<i8",[-1],[8],%d]}',
    "ranks": '{"array":["<i8",[%s],[%s],%%d]}' % (",".join(["1"] * 99), ",".join(["8"] * 99)),
    "float": '{"array":["<i8",[1e2],[8],%d]}',
    "text": '{"bytes":["4096",100]}',
}


def table(writer, value):
    tried()
    text = LIES["@LIE@"]
    return writer.text(text % writer._first if "%d" in text else text)


sys.modules["__main__"].Writer.table = table
