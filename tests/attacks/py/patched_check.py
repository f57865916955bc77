# SPDX-License-Identifier: MIT
# class: Correctness: patching the checker, module globals
# tries: to replace what judges it, by every name that it has in a module.
# expect: failed
import sys

from attack import tried


def right(*arguments, **more):
    return ""


def custom_kernel(data):
    tried()
    return []


tried()
for name in ("reference", "utils", "task"):
    module = sys.modules.get(name)
    for attribute in ("check_implementation", "verbose_allclose", "verbose_allequal", "match_reference"):
        if module:
            setattr(module, attribute, right)
sys.modules["reference"] = sys.modules["submission"]
check_implementation = right
