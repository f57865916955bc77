# SPDX-License-Identifier: MIT
"""What of a test this process runs: run_tests.py says so."""
import os
import random
import sys

# ./quickstart test leaves out what only ./quickstart test --all runs; by hand, all of it runs.
EVERYTHING = os.environ.get("KETTLE_TEST_SIZE", "all") == "all"


def part(tests):
    """Of a list: what this process runs, where it is shared among several."""
    number, of = map(int, os.environ.get("KETTLE_TEST_PART", "1/1").split("/"))
    return tests[number - 1::of]


def chosen(tests, more=()):
    """The tests that the command line names; without a name this process's part of all. more: those of everything alone. A name that
    none of them has ends the process: a run of no test would pass."""
    names, every = sys.argv[1:], [*tests, *more]
    known = [test.__name__ for test in every]
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"There is no test {', '.join(unknown)}. Arguments are names of tests: {', '.join(known)}. Without arguments all run.")
    return [test for test in every if test.__name__ in names] if names else part([*tests, *(more if EVERYTHING else ())])


def seed():
    """Of what is drawn by lot: always the same, but another one each time where everything runs; KETTLE_SEED replays one."""
    return int(os.environ.get("KETTLE_SEED", random.randrange(1 << 30) if EVERYTHING else 1))


def one_of_each(items, kind):
    """The first of each kind, or all of them where everything runs."""
    return list(items) if EVERYTHING else list({kind(item): item for item in reversed(list(items))}.values())[::-1]
