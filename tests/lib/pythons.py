# SPDX-License-Identifier: MIT
"""Which Python is which: the tests run with the one that configure found, boards with the one named here."""
import functools
import os
import platform
import subprocess
import sys

# What boards, harnesses and submissions of the tests import.
MODULES = ("numpy", "torch", "triton", "jax")
SYSTEM = "/usr/bin/python3"


def boards():
    """The interpreter of the boards: the one that KETTLE_TEST_PYTHON names, else the system's, else this one. Never the
    file behind a link: that is no longer the interpreter of its virtual environment."""
    given = os.environ.get("KETTLE_TEST_PYTHON")
    if given:
        if not os.path.isabs(given) or not os.access(given, os.X_OK):
            sys.exit(f"Bail out! KETTLE_TEST_PYTHON is {given}, which is not an absolute path of a program")
        return given
    return SYSTEM if os.access(SYSTEM, os.X_OK) else sys.executable


@functools.cache
def has(module, python=None):
    """Whether the boards' interpreter, or another one, imports a module."""
    return subprocess.run([python or boards(), "-c", f"import {module}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                          check=False).returncode == 0


def version(python):
    """Its version, "3.11.2"."""
    return subprocess.run([python, "-c", "import platform; print(platform.python_version())"], stdout=subprocess.PIPE,
                          text=True, check=True).stdout.strip()


def version_of(module):
    """A module's, as the boards' interpreter has it: "2.13.0+cpu"."""
    return subprocess.run([boards(), "-c", f"import importlib.metadata as m; print(m.version('{module}'))"],
                          stdout=subprocess.PIPE, text=True, check=True).stdout.strip()


def boards_has():
    """The modules of MODULES that the boards' interpreter finds, without importing them."""
    look = f"import importlib.util as u; print(*[m for m in {MODULES} if u.find_spec(m)])"
    return subprocess.run([boards(), "-c", look], stdout=subprocess.PIPE, text=True, check=True).stdout.split()


def named():
    """Which is which, in words."""
    has_ = ", ".join(boards_has()) or "nothing"
    return (f"Python of the tests: {sys.executable} {platform.python_version()}; "
            f"of the boards: {boards()} {version(boards())} (with {has_} of {', '.join(MODULES)})")


if __name__ == "__main__":  # for shell scripts: which is which; or the boards' path and what it has, a line each
    print(*([named()] if sys.argv[1:] == ["named"] else [boards(), *boards_has()]), sep="\n")
