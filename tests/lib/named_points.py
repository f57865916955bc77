# SPDX-License-Identifier: MIT
"""kill -9 of the engine at the named points of its sources (core/base/failpoint.h), with jobs in flight."""
import re
import socket

import kettle_test as kt

TOGETHER = 5  # kills that the same job may meet: ten times the engine's end makes an error of it


def points(*places):
    """The names in the failpoint() of these files of the sources, or of all below these folders."""
    names = set()
    for place in (kt.SOURCE / one for one in places):
        for path in place.rglob("*.c") if place.is_dir() else [place]:
            names |= set(re.findall(r'failpoint\("([a-z._]+)"\)', path.read_text()))
    assert names, f"no named point in {places}"
    return sorted(names)


def start(scratch, env):
    """An engine that listens, or has ended already. A command line that is faster would be the engine itself for a moment."""
    engine = scratch.start("serve", env=env)

    def up():
        with socket.socket(socket.AF_UNIX) as there:
            return engine.poll() is not None or there.connect_ex(f"{scratch.database}.sock") == 0
    kt.poll(up, "the server's socket")
    return engine


def die_at_each(scratch, names, env, act, settle):
    """Engines that die, one at each point in this order; what an earlier one had in flight is there for the next one.

    act(name, engine) gives an engine what passes the point, if it still lives; settle() waits, while an engine lives that does
    not die, for the end of all that and checks it."""
    flag = scratch.root / "named-point"
    for number, name in enumerate(names, 1):
        flag.touch()
        engine = start(scratch, {**env, "KETTLE_FAIL": name, "KETTLE_FAIL_ONCE": str(flag)})
        act(name, engine)
        kt.poll(lambda: engine.poll() is not None, f"the end of the engine at {name}")
        assert not flag.exists(), f"the engine ended, but not at {name}: {engine.log.read_text()[-1000:]}"
        if number % TOGETHER == 0 or number == len(names):
            engine = start(scratch, env)
            settle()
            engine.kill()
            engine.wait()
