#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts small faults into the C sources, one after the other, and says which of them the tests find.

    mutate.py [--seed N] [--mutants N] [--longest S] [--each S] [--tree DIR] [--places FILE] FOLDER [TEST...]

FOLDER is where everything is made: a copy of the sources with all faults, each of which can be switched on (rewrite.py), a
build of it as build-asan/ is one, what each test reaches, results.json and results.txt. A second run with the same sources
builds nothing and takes what the tests reach from the first. TEST selects tests as in run_tests.py.

A fault is judged by the tests that reach its place, the shortest first, until one fails that passes without the fault. A test
that runs much longer than without the fault has found it, too. All tests of a fault have --each seconds together.

What is not seen: what a program reaches that is started where FOLDER is not, inside of a sandbox; tests that take longer than
--longest, that fail without a fault, that need the machine alone, or that look at the sources (the scripts of tests/unit).

Another --tree, such as an older commit, is judged by its own tests; --places takes the places from the results.json of an
earlier run, where the other tree has the same lines.
"""
import argparse
import collections
import ctypes
import hashlib
import itertools
import json
import mmap
import multiprocessing
import os
import pathlib
import random
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "lib")]
import rewrite  # noqa: E402
import run_tests  # noqa: E402

CONFIGURE = ["--quiet", "--enable-sanitizers=address,undefined", "--enable-failpoints", "CFLAGS=-O0 -g1"]
# It has no C library, so nothing that maps a file.
LEFT_OUT = "plugins/languages/py/python_shim.c"
# Of the time that a test takes without a fault: then it does not end.
LATE = 3
MS_BIND = 0x1000


# ---- sources and build ----

def files_of(tree):
    """The paths of a tree's files: what git has, or all of a tarball's."""
    if (tree / ".git").exists():
        listed = subprocess.run(["git", "-C", str(tree), "ls-files", "-z"], stdout=subprocess.PIPE, text=True, check=True).stdout
        return [path for path in listed.split("\0") if path and (tree / path).is_file()]
    builds = {path.parent for path in tree.rglob("config.status")}
    return sorted(str(path.relative_to(tree)) for path in tree.rglob("*") if path.is_file() and not builds & set(path.parents))


def places_of(tree, files):
    """All places of core, plugins and frontends, which are numbered from 1."""
    places = []
    for path in sorted(files):
        if path.endswith(".c") and path.startswith(("core/", "plugins/", "frontends/")) and path != LEFT_OUT:
            places += rewrite.places_in(path, (tree / path).read_text())
    for number, place in enumerate(places, 1):
        place.number = number
    return places


def key_of(places):
    """What tells a place in another version of the sources: {place's number: (path, kind, line, which of those)}."""
    seen, keys = collections.Counter(), {}
    for place in places:
        same = (place.path, place.kind, place.text)
        keys[place.number] = (*same, seen[same])
        seen[same] += 1
    return keys


def digest_of(tree, files):
    digest = hashlib.sha256()
    for folder, path in [*((tree, path) for path in files), (HERE, "rewrite.py"), (HERE, "mutant.h")]:
        digest.update(path.encode() + b"\0" + (folder / path).read_bytes() + b"\0")
    return digest.hexdigest()


def copy_tree(tree, files, places, folder):
    copy, header = folder / "tree", folder / "mutant.h"
    header.write_text(f'#define MUTANTS_FILE "{folder / "state"}"\n' + (HERE / "mutant.h").read_text())
    by_path = collections.defaultdict(list)
    for place in places:
        by_path[place.path].append(place)
    for path in files:
        (copy / path).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(tree / path, copy / path)
        if path in by_path:  # before the comment of the first line: all others keep their numbers
            (copy / path).write_text(f'#include "{header}" ' + rewrite.rewritten((tree / path).read_text(), by_path[path]))


def make_build(tree, files, places, folder, jobs):
    """A build with all faults; nothing is done if it is there."""
    digest, stamp, build = digest_of(tree, files), folder / "built", folder / "build"
    if stamp.exists() and stamp.read_text() == digest:
        return
    print(f"builds {len(places)} faults in {folder}, see make.out there", flush=True)
    for old in folder / "tree", build:
        shutil.rmtree(old, ignore_errors=True)
    for old in stamp, folder / "coverage.json":
        old.unlink(missing_ok=True)
    build.mkdir(parents=True)
    copy_tree(tree, files, places, folder)
    with open(folder / "make.out", "w") as out:
        def call(*command):
            subprocess.run(command, cwd=build, stdout=out, stderr=subprocess.STDOUT, check=True)
        if not (folder / "tree" / "configure").exists():
            call("../tree/bootstrap")
        call("../tree/configure", *CONFIGURE)
        # Trees from before run_tests.py have automake's list of tests.
        new = "check-programs:" in (build / "Makefile").read_text()
        call("make", "-s", f"-j{jobs}", *(["check-programs"] if new else ["check", "TESTS="]))
    stamp.write_text(digest)


# ---- tests ----

def listed_tests(build):
    """Those of automake's list."""
    shown = subprocess.run(["make", "-s", "-C", str(build.folder), "--eval=shown:;@echo 'shown $(TESTS)'", "shown"],
                           stdout=subprocess.PIPE, text=True, check=True).stdout
    os.environ["CMOCKA_MESSAGE_OUTPUT"] = "TAP"
    for path in shown.split("shown ")[1].split():
        script = path.endswith(".test")
        argv = run_tests.script_argv(run_tests.SOURCE / path, build) if script else [str(build.folder / path)]
        yield run_tests.Test(path.removeprefix("tests/").removesuffix(".test"), build, argv, set())


def find_tests(folder, names):
    run_tests.SOURCE = folder / "tree"
    run_tests.Test.log = property(lambda test: folder / "logs" / f"{switch.number}.log")
    build = run_tests.Build(folder / "build")
    build.kind = "plain"  # as the only build: it has all tests
    new = (run_tests.SOURCE / "tests" / "lib" / "run_tests.py").exists()
    tests = run_tests.selected(list(run_tests.tests_of([build], False, True) if new else listed_tests(build)), names)
    return [test for test in tests if "alone" not in test.words and not (test.name.startswith("unit/") and test.argv[-1].endswith(".test"))]


class Switch:
    """The file that tells this worker's tests which fault is on, and takes what they reach. As root each worker has its own."""

    def __init__(self, folder, size, number):
        self.number, path = number, folder / f"state.{number}"
        path.write_bytes(bytes(size))
        path.chmod(0o666)
        if number > 0:
            libc = run_tests.LIBC
            if libc.unshare(run_tests.CLONE_NEWNS) or libc.mount(None, b"/", None, run_tests.MS_REC | run_tests.MS_PRIVATE, None) or libc.mount(
                    bytes(path), bytes(folder / "state"), None, MS_BIND, None):
                raise OSError(ctypes.get_errno(), "a worker has no state of its own")
        with open(path if number else folder / "state", "r+b") as file:
            self.map = mmap.mmap(file.fileno(), size)

    def turn(self, number):
        self.map[:] = struct.pack("I", number) + bytes(len(self.map) - 4)

    def reached(self):
        return sum(1 << number for number, byte in enumerate(self.map[4:]) if byte)


switch = None


def start_worker(folder, size, numbers):
    global switch
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    with numbers.get_lock():
        numbers.value += 1
        switch = Switch(folder, size, numbers.value)


def run(test, limit_s, fault=0):
    """Runs a test; its results, its seconds, and whether it was ended since it was not at its end by then."""
    switch.turn(fault)
    late, end = False, time.monotonic() + limit_s
    with tempfile.TemporaryDirectory(prefix="kt-cache-") as cache:
        os.environ["KETTLE_TEST_CACHE"] = cache
        running = run_tests.Running(test)
        while True:
            pid, status, usage = os.wait4(running.pid, os.WNOHANG)
            if pid:
                return running.ended(os.waitstatus_to_exitcode(status), usage), running.seconds, late
            if not late and time.monotonic() > end:
                late = True
                running.kill()
            signal.sigtimedwait({signal.SIGCHLD}, 0.2)


# ---- what the tests reach ----

def name_of(test):
    return f"{test.name} {test.part}".strip()


def cover(task):
    test, longest = task
    results, seconds, late = run(test, longest)
    why = f"takes longer than {longest:g} s" if late else "fails without a fault" if results.failed else "" if results.passed else "is skipped"
    return name_of(test), {"seconds": seconds, "reached": hex(switch.reached()), "left out": why}


def coverage_of(pool, tests, longest, folder):
    """{test: seconds, reached places, why it judges nothing}, from a file as far as that has it."""
    path = folder / "coverage.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    # What took too long in an earlier run may have more time now.
    missing = [test for test in tests if name_of(test) not in known or known[name_of(test)]["left out"].startswith("takes") and known[name_of(test)]["seconds"] < longest]
    for done, (name, covered) in enumerate(pool.imap_unordered(cover, [(test, longest) for test in missing]), 1):
        known[name] = covered
        print(f"{done}/{len(missing)}  {covered['seconds']:6.1f} s  {name}  {covered['left out']}", flush=True)
        path.write_text(json.dumps(known, indent=0))
    return known


# ---- faults ----

def pick(places, count, seed):
    """Of each kind as many as of the others; of a kind first from the folders that have the fewest yet."""
    chance, folders, picked = random.Random(seed), collections.Counter(), []
    left = {kind: [place for place in places if place.kind == kind] for kind in rewrite.KINDS}
    for kind in itertools.cycle(rewrite.KINDS):
        if len(picked) == count or not any(left.values()):
            return picked
        if left[kind]:
            place = min(left[kind], key=lambda place: (folders[place.folder], chance.random()))
            left[kind].remove(place)
            folders[place.folder] += 1
            picked.append(place)


def judge(task):
    """What the tests that reach a fault say of it."""
    number, tests, each = task
    begin, ran = time.monotonic(), 0
    for test, seconds in tests:
        left, limit = each - (time.monotonic() - begin), max(10, LATE * seconds)
        if left <= 0:
            break
        results, _, late = run(test, min(limit, left), number)
        ran += 1
        if late and left < limit:
            break
        if late or results.failed:
            why = "does not end" if late else " ".join(line for line in results.failed[0][1][:2])
            spent = time.monotonic() - begin
            again, _, late_again = run(test, limit)
            if not late_again and not again.failed:
                return number, {"result": "found", "by": name_of(test), "why": why[:200], "seconds": round(spent, 1)}
    return number, {"result": "survived", "ran": ran, "of": len(tests), "seconds": round(time.monotonic() - begin, 1)}


def judge_all(pool, picked, tests, coverage, each, equivalent, keys):
    """Yields each place with what became of it."""
    tasks = []
    judges = [(test, coverage[name_of(test)]["seconds"], int(coverage[name_of(test)]["reached"], 16))
              for test in tests if not coverage[name_of(test)]["left out"]]
    for place in picked:
        reaching = sorted(((test, seconds) for test, seconds, reached in judges if reached >> place.number & 1), key=lambda one: one[1])
        if keys[place.number][:3] in equivalent:
            yield place, {"result": "equivalent", "why": equivalent[keys[place.number][:3]]}
        elif not reaching:
            yield place, {"result": "not reached"}
        else:
            tasks.append((place.number, reaching, each))
    by_number = {place.number: place for place in picked}
    for number, result in pool.imap_unordered(judge, tasks):
        yield by_number[number], result


def table(rows):
    """The text of the results, and the share of each kind."""
    out, counts = [], collections.defaultdict(collections.Counter)
    for row in sorted(rows, key=lambda row: (row["result"], row["path"], row["line"])):
        said = row.get("by") or row.get("why") or (f"by {row['ran']} of {row['of']} tests" if "ran" in row else "")
        out.append(f"{row['result']:<11} {row['kind']:<6} {row['path']}:{row['line']}: {row['text'][:70]}  [{said}]")
        for kind in row["kind"], "all":
            counts[kind][row["result"]] += 1
    results = ("found", "survived", "not reached", "equivalent")
    out += ["", f"{'':<8}" + "".join(f"{result:>13}" for result in results) + "   of all   of those reached"]
    for kind in *rewrite.KINDS, "all":
        count = counts[kind]
        reached = count["found"] + count["survived"]
        whole = reached + count["not reached"]
        if whole:
            out.append(f"{kind:<8}" + "".join(f"{count[result]:>13}" for result in results)
                       + f"{100 * count['found'] / whole:>8.0f} %{100 * count['found'] / max(reached, 1):>17.0f} %")
    return "\n".join(out)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--seed", type=int, default=None, help="which places are picked (default: a new one)")
    parser.add_argument("--mutants", type=int, default=100, metavar="N", help="how many of them")
    parser.add_argument("--longest", type=float, default=30, metavar="S", help="tests that take longer judge nothing")
    parser.add_argument("--each", type=float, default=60, metavar="S", help="how long the tests of a fault may take")
    parser.add_argument("--tree", type=pathlib.Path, default=HERE.parents[1], metavar="DIR", help="the sources")
    parser.add_argument("--places", type=pathlib.Path, metavar="FILE", help="take the places of these results")
    parser.add_argument("folder", type=pathlib.Path, metavar="FOLDER")
    parser.add_argument("tests", nargs="*", metavar="TEST")
    arguments = parser.parse_args()
    os.environ.pop("MAKEFLAGS", None)  # of the make that runs this
    folder, tree, jobs = arguments.folder.resolve(), arguments.tree.resolve(), os.cpu_count()
    files = files_of(tree)
    places = places_of(tree, files)
    keys = key_of(places)
    folder.mkdir(parents=True, exist_ok=True)
    make_build(tree, files, places, folder, jobs)
    seed = random.randrange(1000000) if arguments.seed is None else arguments.seed
    if arguments.places:
        wanted = {(row["path"], row["kind"], row["text"], row["which"]) for row in json.loads(arguments.places.read_text())}
        picked = [place for place in places if keys[place.number] in wanted]
        print(f"{len(picked)} of the {len(wanted)} places are here, too", flush=True)
    else:
        picked = pick(places, arguments.mutants, seed)
        print(f"--seed {seed} --mutants {len(picked)}", flush=True)
    os.environ["KETTLE_TEST_SIZE"] = "gate"
    tests = find_tests(folder, arguments.tests)
    equivalent = {(row["path"], row["kind"], row["text"]): row["why"] for row in json.loads((HERE / "equivalent.json").read_text())}
    size, root = 5 + len(places), os.geteuid() == 0
    (folder / "state").write_bytes(bytes(size))
    (folder / "state").chmod(0o666)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # ends the workers, too
    rows = []
    numbers = multiprocessing.Value("i", 0 if root else -1)
    with multiprocessing.Pool(jobs if root else 1, start_worker, (folder, size, numbers)) as pool:
        coverage = coverage_of(pool, tests, arguments.longest, folder)
        for place, result in judge_all(pool, picked, tests, coverage, arguments.each, equivalent, keys):
            path, kind, text, which = keys[place.number]
            rows.append({"path": path, "line": place.line, "kind": kind, "text": text, "which": which, **result})
            (folder / "results.json").write_text(json.dumps(rows, indent=1))
            print(f"{len(rows)}/{len(picked)}  {result['result']}: {kind} {path}:{place.line} {result.get('by', '')}", flush=True)
    (folder / "results.txt").write_text(table(rows) + "\n")
    print("\n" + table(rows))
    return 0


if __name__ == "__main__":
    sys.exit(main())
