# SPDX-License-Identifier: MIT
"""Imports a submission once, so that later steps find what it compiles: prepare.py FILE

Keeps the compilers' files below out/cache. Exits with 1 if something did not compile. The runs report any other failure
of the import, since they have devices and cases.
"""
import os
import sys


# run.py puts this before the real one into PATH.
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


def find_header():
    """Makes compilers find torch's precompiled header (headers.py) before torch's own; they take it where it fits their
    flags."""
    place = os.path.join(os.path.dirname(os.path.realpath(__file__)), "include")
    if os.path.isdir(os.path.join(place, "torch", "extension.h.gch")):
        os.environ["CPATH"] = ":".join(filter(None, [place, os.environ.get("CPATH")]))


def keep_sources():
    """Keeps the sources beside the results, for NINJA.

    Older torch writes the source again at every import, and ninja compares times. So NINJA gives an unchanged source
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
    """An exception with its causes."""
    seen = []
    while error is not None and error not in seen:
        seen.append(error)
        error = error.__cause__ or error.__context__
    return seen


def is_compilation(error):
    """Whether a compiler failed: by torch's message, or because a child process failed."""
    return str(error).startswith("Error building extension") or type(error).__name__ == "CalledProcessError"


def output_of(error):
    """The compiler's output in an exception of subprocess; torch has it in its message."""
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
    find_header()
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
