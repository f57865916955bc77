# SPDX-License-Identifier: MIT
# class: Correctness: patching the checker, frames, module globals
# tries: to replace what judges an output, by every name that its own process has for it, in frames, modules and objects.
# expect: failed
import gc
import sys

from attack import tried


def right(*_, **__):
    return ""


def custom_kernel(data):
    tried()
    frame = sys._getframe()
    found = [one for one in gc.get_objects() if type(one).__module__ in ("eval", "solver", "exchange", "__main__")]
    while frame:
        found += frame.f_locals.values()
        frame = frame.f_back
    for one in (*found, *map(sys.modules.get, ("eval", "reference", "utils", "__main__"))):
        for name in ("check", "judged", "check_implementation", "verdict_of", "match_reference"):
            if hasattr(one, name):
                setattr(one, name, right)
    return []
