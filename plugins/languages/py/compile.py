# SPDX-License-Identifier: MIT
"""Compiles the task's own modules once, so that not every run has to: compile.py FILE...

What does not compile is for the runs to report. Nobody compares the results with their sources: Kettle keeps this step by
the contents of both, a submission is not among them, and no run may write where they lie. So this fails only where the
interpreter is none that boards can run with; what it says then is shown.
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
        pass  # an output that is empty is none
    for name in names:
        try:
            py_compile.compile(name, os.path.join(FOLDER, os.path.basename(cache_from_source(name))),
                               dfile=os.path.abspath(name), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        except Exception as error:
            print("kettle: %s: %s" % (name, error), file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
