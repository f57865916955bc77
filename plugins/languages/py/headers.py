# SPDX-License-Identifier: MIT
"""Precompiles torch's header for inline extensions of C++: headers.py OUTPUT [FLAG...]

Writes out/OUTPUT for the compilations that load_inline starts with these flags.
"""
import os
import subprocess
import sys
import tempfile

# Takes the compiler's place: records the arguments of a compilation, and fails.
RECORDER = """#!/bin/sh
case " $* " in *" -c "*) for word; do printf '%s\\n' "$word"; done >"$KETTLE_RECORD"; exit 1;; esac
exec c++ "$@"
"""


def record_arguments(scratch, flags):
    """The arguments that torch's load_inline gives a compiler for these flags."""
    recorder, record = os.path.join(scratch, "c++"), os.path.join(scratch, "arguments")
    with open(recorder, "w") as file:
        file.write(RECORDER)
    os.chmod(recorder, 0o755)
    build = tempfile.mkdtemp(dir=scratch)
    call = ("import sys; from torch.utils.cpp_extension import load_inline\n"
            "load_inline(name='kettle', cpp_sources='', extra_cflags=sys.argv[2:], build_directory=sys.argv[1])")
    done = subprocess.run([sys.executable, "-c", call, build, *flags], env=dict(os.environ, CXX=recorder, KETTLE_RECORD=record),
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not os.path.exists(record):
        sys.exit("load_inline starts no compiler:\n" + done.stdout[-2000:])
    with open(record) as file:
        return file.read().splitlines()


def without_names(arguments):
    """The arguments without the source, the object, the list of files read, and the extension's name."""
    kept, words = [], iter(arguments)
    for word in words:
        if word in ("-MF", "-o"):
            next(words)
        elif word not in ("-MMD", "-c") and not word.endswith(".cpp") and not word.startswith("-DTORCH_EXTENSION_NAME="):
            kept.append(word)
    return kept


def main():
    output, flags = sys.argv[1], sys.argv[2:]
    with tempfile.TemporaryDirectory() as scratch:
        arguments = without_names(record_arguments(scratch, flags))
        source = os.path.join(scratch, "extension.h")
        with open(source, "w") as file:
            file.write("#include <torch/extension.h>\n")
        done = subprocess.run(["c++", "-x", "c++-header", source, "-o", os.path.join("out", output), *arguments])
    sys.exit(done.returncode)


if __name__ == "__main__":
    main()
