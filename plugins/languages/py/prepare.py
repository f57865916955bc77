# SPDX-License-Identifier: MIT
"""Imports a submission once, so that what it compiles is there for every later step.

prepare.py FILE. What the compilers leave below out/cache is kept. Ends with 1 if something did not compile; any other
failure of the import is for the runs to report, where devices and cases are at hand.
"""
import os
import sys


def place_caches():
    for name in os.environ.pop("KETTLE_CACHES", "").split():
        folder = os.path.join(os.getcwd(), os.environ.get(name, ""))
        os.makedirs(folder, exist_ok=True)
        os.environ[name] = folder


def chain(error):
    """An exception with all that it came from."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def is_compilation(error):
    """Whether a compiler said no: by torch's own sentence, or because a program that was run failed."""
    return str(error).startswith("Error building extension") or type(error).__name__ == "CalledProcessError"


def report(error):
    """The exception as the interpreter shows it, from the submission's own frame on."""
    import traceback
    trace = error.__traceback__
    while trace is not None and ("importlib" in trace.tb_frame.f_code.co_filename or
                                 trace.tb_frame.f_code.co_filename == __file__):
        trace = trace.tb_next
    traceback.print_exception(type(error), error, trace)


def main():
    place_caches()
    sys.path[0] = os.getcwd()
    del sys.argv[0]
    name = sys.argv[0][:-len(".py")].replace("/", ".")
    try:
        __import__(name)
    except SystemExit as error:
        print("kettle: the import of %s ended the process: %s" % (name, error), file=sys.stderr)
    except BaseException as error:
        report(error)
        if any(is_compilation(one) for one in chain(error)):
            sys.exit(1)


if __name__ == "__main__":
    main()
