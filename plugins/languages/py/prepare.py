# SPDX-License-Identifier: MIT
"""Imports a submission once, so that what it compiles is there for every later step.

prepare.py FILE. What the compilers leave below out/cache is kept. Ends with 1 if something did not compile; any other
failure of the import is for the runs to report, where devices and cases are at hand.
"""
import os
import sys


# run.py puts this one into PATH, before the real one.
NINJA = """#!/bin/sh
[ ! -f .kept/list ] || while read -r number source; do
    cmp -s ".kept/$number" "$source" && touch -c -r ".kept/$number" "$source" 2>/dev/null
done <.kept/list
PATH=${PATH#*:}
exec ninja "$@"
"""


def place_caches():
    for name in os.environ.pop("KETTLE_CACHES", "").split():
        folder = os.path.join(os.getcwd(), os.environ.get(name, ""))
        os.makedirs(folder, exist_ok=True)
        os.environ[name] = folder


def keep_sources():
    """Keeps what was compiled beside its results, for the ninja below.

    Older torch writes the source anew with every import, and ninja goes by times: a source that has not changed gets
    the time back that it had when it was compiled.
    """
    import re
    import shutil
    root = os.environ.get("TORCH_EXTENSIONS_DIR", "")
    for folder, _, files in os.walk(root):
        if "build.ninja" not in files:
            continue
        with open(os.path.join(folder, "build.ninja"), errors="replace") as file:
            sources = re.findall(r"^build [^:\n]+: \w*compile (/[^\n]+)$", file.read(), re.MULTILINE)
        os.mkdir(os.path.join(folder, ".kept"))
        with open(os.path.join(folder, ".kept", "list"), "w") as kept:
            for number, source in enumerate(sources):
                source = re.sub(r"\$(.)", r"\1", source)
                if os.path.isfile(source):
                    shutil.copy2(source, os.path.join(folder, ".kept", str(number)))
                    kept.write("%d %s\n" % (number, source))
    programs = os.path.join("out", "cache", "bin")
    os.makedirs(programs, exist_ok=True)
    with open(os.path.join(programs, "ninja"), "w") as file:
        file.write(NINJA)
    os.chmod(file.name, 0o755)


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


def output_of(error):
    """What the compiler said: torch has it in its sentence, an exception of subprocess beside it."""
    output = getattr(error, "output", None) or b""
    return output.decode(errors="replace") if isinstance(output, bytes) else str(output)


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
        refused = [one for one in chain(error) if is_compilation(one)]
        if refused:
            print("\n".join([str(refused[0]), output_of(refused[0])]), file=sys.stderr)
            sys.exit(1)
        report(error)
    keep_sources()


if __name__ == "__main__":
    main()
