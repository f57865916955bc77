# SPDX-License-Identifier: MIT
"""Compiles the task's own modules once for all runs: compile.py FILE...

The runs report what does not compile. The bytecode is not checked against its sources: Kettle caches this step by their
contents, no submission is among them, and no run can write there. So this fails only if the interpreter is too old or
broken; Kettle shows its message.
"""
import os
import py_compile
import sys
from importlib.util import cache_from_source

FOLDER = os.path.join("out", "__pycache__")


def main(names):
    if sys.version_info < (3, 9):
        sys.exit("it is Python %d.%d.%d" % sys.version_info[:3])
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "made"), "w"):
        pass  # an empty output is an error
    for name in names:
        try:
            py_compile.compile(name, os.path.join(FOLDER, os.path.basename(cache_from_source(name))),
                               dfile=os.path.abspath(name), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        except Exception as error:
            print("kettle: %s: %s" % (name, error), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
