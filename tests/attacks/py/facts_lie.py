# SPDX-License-Identifier: MIT
# class: Result channel: answers that are none
# tries: to answer the question for what is loaded and compiled with an error, or with text of another form.
# expect: failed
# mode: benchmark
# variants: LIE=raised LIE=word LIE=number
import sys

import exchange
from attack import honest as custom_kernel, tried

real = sys.modules["__main__"].Driver._answered


def answered(driver, what):
    if what != exchange.FACTS:
        return real(driver, what)
    tried()
    text = {"raised": "an error", "word": "", "number": "\t-1"}["@LIE@"]
    return exchange.RAISED if "@LIE@" == "raised" else exchange.RETURNED, *driver._writer.text(text)


sys.modules["__main__"].Driver._answered = answered
