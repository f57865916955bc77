# SPDX-License-Identifier: MIT
"""Precompiles torch's header for inline extensions of C++: PYTHON headers.py FOLDER

For the flags of load_inline alone and with -O3. Run it with the interpreter of the boards, on the machine of the devices, by
a user whom submissions cannot become, and again after an upgrade of torch or the compiler. prepare.py uses a header
while all that it was made of is as it was.
"""
import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile

FLAGS = {"plain": [], "O3": ["-O3"]}
MAX_BYTES = 1 << 30   # of one precompiled header
KEEP_FREE = 4 << 30   # of the disk, beside what is made
STAMPS = "stamps.json"

# In the compiler's place: keeps the arguments of a compilation, and fails.
RECORDER = """#!/bin/sh
case " $* " in *" -c "*) for word; do printf '%s\\n' "$word"; done >"$KETTLE_RECORD"; exit 1;; esac
exec c++ "$@"
"""


def place(folder):
    """Where the headers of this interpreter are; prepare.py says the same."""
    return os.path.join(folder, hashlib.sha256(sys.prefix.encode()).hexdigest()[:16])


def stamp(path):
    state = os.stat(path)
    return [state.st_size, state.st_mtime_ns]


def record_arguments(scratch, flags):
    """What torch's own load_inline gives a compiler for these flags."""
    recorder, record = os.path.join(scratch, "c++"), os.path.join(scratch, "arguments")
    with open(recorder, "w") as file:
        file.write(RECORDER)
    os.chmod(recorder, 0o755)
    build = tempfile.mkdtemp(dir=scratch)
    call = ("import sys; from torch.utils.cpp_extension import load_inline\n"
            "load_inline(name='kettle', cpp_sources='', extra_cflags=sys.argv[2:], build_directory=sys.argv[1])")
    env = dict(os.environ, CXX=recorder, KETTLE_RECORD=record, CCACHE_DISABLE="1")
    done = subprocess.run([sys.executable, "-c", call, build] + flags, env=env, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True)
    if not os.path.exists(record):
        raise RuntimeError("load_inline starts no compiler:\n" + done.stdout[-2000:])
    with open(record) as file:
        arguments = file.read().splitlines()
    os.remove(record)
    return arguments


def without_names(arguments):
    """Without the source, the object, the list of what was read, and the extension's name."""
    kept, words = [], iter(arguments)
    for word in words:
        if word in ("-MF", "-o"):
            next(words)
        elif word not in ("-MMD", "-c") and not word.endswith(".cpp") and not word.startswith("-DTORCH_EXTENSION_NAME="):
            kept.append(word)
    return kept


def read_files(path):
    """The files that a list of -MD names."""
    with open(path) as file:
        words = file.read().replace("\\\n", " ").split(": ", 1)[1]
    return [word.replace("\0", " ") for word in words.replace("\\ ", "\0").split()]


def check_room(folder):
    needed = KEEP_FREE + len(FLAGS) * MAX_BYTES
    free = shutil.disk_usage(folder).free
    if free < needed:
        raise RuntimeError("`%s` has %d MiB free, and precompiled headers need %d; use another disk, or go without them."
                           % (folder, free >> 20, needed >> 20))


def precompile(compiler, header, arguments, dest):
    """Returns the files that the header was made of."""
    deps = dest + ".d"
    subprocess.run([compiler, "-x", "c++-header", header, "-o", dest, "-MD", "-MF", deps] + arguments, check=True,
                   stderr=subprocess.DEVNULL)
    if os.path.getsize(dest) > MAX_BYTES:
        raise RuntimeError("The precompiled header for `%s` is larger than %d bytes." % (os.path.basename(dest), MAX_BYTES))
    files = read_files(deps)
    os.remove(deps)
    return files


def make(new, compiler, header):
    kept = os.path.join(new, "torch", "extension.h.gch")
    os.makedirs(kept)
    files = {compiler, os.path.realpath(compiler), header}
    with tempfile.TemporaryDirectory() as scratch:
        for name, flags in FLAGS.items():
            arguments = without_names(record_arguments(scratch, flags))
            files.update(precompile(compiler, header, arguments, os.path.join(kept, name)))
    with open(os.path.join(new, STAMPS), "w") as file:
        json.dump({path: stamp(path) for path in sorted(files)}, file)


def is_current(dest):
    try:
        with open(os.path.join(dest, STAMPS)) as file:
            return all(stamp(path) == was for path, was in json.load(file).items())
    except (OSError, ValueError, AttributeError):
        return False


def main():
    folder = os.path.abspath(sys.argv[1])
    os.makedirs(folder, exist_ok=True)
    dest = place(folder)
    if is_current(dest):
        print("%s is up to date." % dest)
        return
    compiler = shutil.which("c++")
    if not compiler:
        raise RuntimeError("This machine has no compiler `c++`; install one.")
    check_room(folder)
    import torch
    header = os.path.join(os.path.dirname(torch.__file__), "include", "torch", "extension.h")
    os.nice(19)
    os.umask(0o022)
    new = tempfile.mkdtemp(prefix=".new-", dir=folder)
    try:
        make(new, compiler, header)
        os.chmod(new, 0o755)
        shutil.rmtree(dest, ignore_errors=True)
        os.rename(new, dest)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    print("%s is made." % dest)


if __name__ == "__main__":
    try:
        main()
    except (RuntimeError, OSError, ImportError, subprocess.SubprocessError) as error:
        sys.exit("kettle: %s Inline extensions compile without precompiled headers." % error)
