# SPDX-License-Identifier: MIT
"""For tests of the harness of Python boards by itself, without sandbox or engine: it can be imported, and tests are functions."""
import atexit
import functools
import importlib.util
import os
import pathlib
import py_compile
import shutil
import sys
import tempfile
import traceback

import pythons
import sizes

HARNESS = pathlib.Path(os.environ.get("top_srcdir", pathlib.Path(__file__).parents[2])).resolve() / "tasks" / "harness"
sys.dont_write_bytecode = True
sys.path.insert(0, str(HARNESS))


@functools.cache
def compiled():
    """The harness's modules as interpreters keep them, by the names of their sources."""
    folder = pathlib.Path(tempfile.mkdtemp(prefix="kettle-compiled-"))
    atexit.register(shutil.rmtree, folder)
    mode = py_compile.PycInvalidationMode.UNCHECKED_HASH
    return {file.name: py_compile.compile(file, folder / f"{file.stem}.pyc", doraise=True, invalidation_mode=mode) for file in HARNESS.glob("*.py")}


def copy_harness(folder, other):
    """Puts the harness into a folder, with what interpreters would compile anew of it in each; other: texts of files that are different."""
    (folder / "__pycache__").mkdir()
    for file in HARNESS.glob("*.py"):
        if file.name in other:
            (folder / file.name).write_text(other[file.name])
        else:
            shutil.copy(file, folder)
            shutil.copy(compiled()[file.name], importlib.util.cache_from_source(folder / file.name))


def raises(kind, function, *args):
    """What it says as it raises an exception of this kind."""
    try:
        function(*args)
    except kind as error:
        return str(error)
    raise AssertionError(f"{function.__name__}{args} did not raise {kind.__name__}")


def main(names):
    """Runs the functions test_* of a module's names, or those that the arguments name, in the interpreter of the boards."""
    if sys.executable != pythons.boards() and "KETTLE_SAME_PYTHON" not in os.environ:
        os.environ["KETTLE_SAME_PYTHON"] = "1"
        os.execv(pythons.boards(), [pythons.boards(), "-B", *sys.argv])
    tests = sizes.chosen([value for name, value in names.items() if name.startswith("test_")])
    print(f"1..{len(tests)}", flush=True)
    for number, test in enumerate(tests, 1):
        try:
            skip = test()
            print(f"ok {number} - {test.__doc__}" + (f" # SKIP {skip}" if skip else ""), flush=True)
        except Exception as error:
            lines = [*f"{type(error).__name__}: {error}"[:2000].splitlines(), *traceback.format_exc().splitlines()]
            print(f"not ok {number} - {test.__doc__}\n" + "".join(f"# {line}\n" for line in lines), end="", flush=True)
