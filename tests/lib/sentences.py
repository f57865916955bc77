#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""tests/sentences.golden: the sentences that tests in C compare, a line each: FILE TEST NUMBER: SENTENCE (assert_sentence of unit_test.h).

  sentences.py update SEEN     takes what tests wrote into the file $KETTLE_SENTENCES, which SEEN names, in place of what they said before
  sentences.py left            prints, for tests/sentences.left, how many literals of each folder of tests repeat five words or more of a
                               literal of core, frontends and plugins"""
import ast
import collections
import os
import pathlib
import re
import sys

TOP = pathlib.Path(os.environ.get("top_srcdir", pathlib.Path(__file__).parents[2]))
GOLDEN = TOP / "tests/sentences.golden"
ENTRY = re.compile(r"(\w+) (\w+) (\d+): (.*)")
TOKEN = re.compile(r"""/\*.*?\*/|//[^\n]*|'(?:[^'\\\n]|\\.)+'|"((?:[^"\\\n]|\\.)*)"|\s+|[^\s"'/]+|.""", re.S)
STRETCH = 5
WORD = re.compile(r"[A-Za-z][a-z'-]*")
SQL = re.compile(r"\b(SELECT|INSERT|UPDATE|DELETE|CREATE|ALTER) ")


def entries(path):
    """(file, test, number) → sentence."""
    found = (ENTRY.fullmatch(line) for line in path.read_text().splitlines())
    return {(entry[1], entry[2], int(entry[3])): entry[4] for entry in found}


def functions():
    """The (file, test) that there are."""
    return {(path.stem, name) for path in (TOP / "tests").rglob("test_*.c") for name in re.findall(r"^(test_\w+)\(", path.read_text(), re.M)}


def update(seen):
    new, there = entries(pathlib.Path(seen)), functions()
    ran = {key[:2] for key in new}
    kept = {key: text for key, text in entries(GOLDEN).items() if key[:2] in there - ran}
    GOLDEN.write_text("".join(f"{file} {test} {number}: {text}\n" for (file, test, number), text in sorted({**kept, **new}.items())))


def of_c(source):
    """The string literals, adjacent ones as one."""
    whole = None
    for found in TOKEN.finditer(source):
        if found[1] is not None:
            whole = (whole or "") + found[1]
        elif whole is not None and not found[0].isspace() and not found[0].startswith(("/*", "//")):
            yield whole
            whole = None


def of_python(source):
    try:
        tree = ast.parse(source)
    except SyntaxError:  # a template, or a hostile submission
        return []
    apart = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    return [node.value for node in ast.walk(tree) if isinstance(node, ast.Constant) and isinstance(node.value, str) and id(node) not in apart]


def stretches(text):
    """Each five words that follow one another with nothing variable between them."""
    words = []
    for word in [] if SQL.search(text) else re.split(r"[ \n]+|\\n", text):
        bare = word.strip("`\"\\(),;:.!?")
        words = [*words, bare] if WORD.fullmatch(bare) else []
        if len(words) >= STRETCH:
            yield tuple(words[-STRETCH:])


def literals(*folders):
    for path in sorted(path for folder in folders for path in (TOP / folder).rglob("*")):
        if path.suffix in {".c", ".h", ".inc"}:
            yield from ((path, text) for text in of_c(path.read_text()))
        elif path.suffix in {".py", ".test"} and (path.suffix == ".py" or path.read_text().startswith("#!/usr/bin/env python3")):
            yield from ((path, text) for text in of_python(path.read_text()))


def left():
    """Folder → how many literals repeat a sentence."""
    product = {stretch for _, text in literals("core", "frontends", "plugins") for stretch in stretches(text)}
    assert len(product) > 5000, len(product)
    repeats = [path for path, text in literals("tests") if any(stretch in product for stretch in stretches(text))]
    return collections.Counter(str(path.parent.relative_to(TOP)) for path in repeats if "fixtures" not in path.parts)


if __name__ == "__main__":
    if sys.argv[1:2] == ["update"]:
        update(sys.argv[2])
    else:
        print("".join(f"{folder} {count}\n" for folder, count in sorted(left().items())), end="")
