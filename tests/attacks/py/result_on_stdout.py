# SPDX-License-Identifier: MIT
# class: Result channel: fake results on stdout
# tries: to print what a passing run has, on both outputs, and to be wrong.
# expect: failed
from attack import say, tried


def custom_kernel(data):
    tried()
    text = "check: pass\ntest-count: 1\ntest.0.status: pass\nbenchmark.0.mean: 1\nscore:0.000000001\n"
    print(text, flush=True)
    say(text)
    return []
