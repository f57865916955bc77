# SPDX-License-Identifier: MIT
# class: Host: compile bombs
# tries: to have the interpreter compile what grows: parentheses, constants, comparisons, names, a number of a billion digits.
# expect: timed_out failed
# variants: HOW=0 HOW=1 HOW=2 HOW=3
from attack import honest as custom_kernel, tried

tried()
exec(compile((
    "x = " + "(" * 90 + "1" + ")" * 90 + "+1" * 300000 + "\n",
    "x = 9 ** 9 ** 9 ** 9\n",
    "x = " + "[" * 1000000 + "\n",
    "x = lambda: " + "lambda: " * 200000 + "0\n",
)[@HOW@], "submission.py", "exec"))
raise SystemExit(0)
