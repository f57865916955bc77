# SPDX-License-Identifier: MIT
"""Compiles the task's own modules once for all runs: compile.py MAIN FILE...

Exits with 3 if MAIN, or a file that MAIN imports, does not compile: no submission could pass. A broken file that MAIN does
not import may be there on purpose, and only makes a line of output. The bytecode is not checked against its sources:
Kettle caches this step by their contents, no submission is among them, and no run can write there.
"""
import ast
import os
import py_compile
import sys
from importlib.util import cache_from_source

FOLDER = os.path.join("out", "__pycache__")
BROKEN = 3


def imports(body):
    """The names that code imports, also in functions, but not below `try` and `if`: code can do without those."""
    found = set()
    for node in body:
        if isinstance(node, ast.Import):
            found.update(alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.level == 0:
            found.add(node.module)
        elif isinstance(node, ast.If) and "__name__" in ast.dump(node.test):
            found |= imports(node.body)
        elif not isinstance(node, ast.If) and not getattr(node, "handlers", None):
            found |= imports(getattr(node, "body", ())) | imports(getattr(node, "finalbody", ()))
    return found


def used(main, names):
    """MAIN and the files among `names` that it imports, directly or through each other."""
    found, left = set(), [main]
    while left:
        name = left.pop()
        if name in found:
            continue
        found.add(name)
        try:
            with open(name, "rb") as source:
                body = ast.parse(source.read()).body
        except (SyntaxError, ValueError, RecursionError, OSError):
            continue  # a file of the task that does not parse counts as broken
        left.extend(module + ".py" for module in sorted(imports(body)) if module + ".py" in names)
    return found


def main(start, names):
    if sys.version_info < (3, 9):
        sys.exit("it is Python %d.%d.%d" % sys.version_info[:3])
    os.makedirs(FOLDER, exist_ok=True)
    with open(os.path.join(FOLDER, "made"), "w"):
        pass  # an empty output is an error
    broken = {}
    for name in names:
        try:
            py_compile.compile(name, os.path.join(FOLDER, os.path.basename(cache_from_source(name))),
                               dfile=os.path.abspath(name), doraise=True,
                               invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)
        except py_compile.PyCompileError as error:
            print("kettle: %s: %s" % (name, error), file=sys.stderr)
            if isinstance(error.exc_value, (SyntaxError, ValueError)):
                broken[name] = error.exc_value
        except Exception as error:
            print("kettle: %s: %s" % (name, error), file=sys.stderr)
    for name in sorted(used(start, names).intersection(broken)):
        error = broken[name]
        print("kettle: %s does not compile: %s: %s" % (name, type(error).__name__, error), file=sys.stderr)
        sys.exit(BROKEN)


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
