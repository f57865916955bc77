# SPDX-License-Identifier: MIT
# class: Timer: lazy languages: hooks, modes and patched methods that are left on
# tries: to compute in what the interpreter calls when the harness reads the output: profile and trace hooks, hooks of the
#        collector and of audits, the finalizer of an object in its caller's frame.
# expect: failed
# mode: benchmark
# variants: HOOK=profile HOOK=trace HOOK=collector HOOK=audit HOOK=finalizer
import gc
import sys

from attack import honest, tried

output, wanted = [], []


def late(*_):
    """What is returned before is filled when the driver is done with it."""
    if wanted and sys._getframe(1).f_code.co_name in ("answer", "serve", "_load", "late"):
        output[:] = honest(wanted.pop())


class Finalizer:
    def __del__(self):
        late()


def custom_kernel(data):
    tried()
    output[:] = [0] * len(data)
    wanted[:] = [data]
    if "@HOOK@" == "profile":
        sys.setprofile(late)
    elif "@HOOK@" == "trace":
        sys.settrace(late)
    elif "@HOOK@" == "collector":
        gc.callbacks[:] = [late]
    elif "@HOOK@" == "audit" and not hasattr(sys, "audited"):
        sys.audited = True
        sys.addaudithook(late)
    elif "@HOOK@" == "finalizer":
        sys._getframe(1).f_locals["mine"] = Finalizer()
    return output
