# SPDX-License-Identifier: MIT
"""kill -9 of the engine at the named points of its sources (core/base/failpoint.h), each with a job in flight."""
import re

import kettle_test as kt


def points(*places):
    """The names in the failpoint() of these files, or of all files below these folders, of the sources."""
    names = set()
    for place in (kt.SOURCE / one for one in places):
        for path in sorted(place.rglob("*.c")) if place.is_dir() else [place]:
            names |= set(re.findall(r'failpoint\("([a-z._]+)"\)', path.read_text()))
    assert names, f"no named point in {places}"
    return sorted(names)


def die_at_each(scratch, names, serve, act, settle, after=None):
    """At each point: an engine that dies there, then the same one again, which lives.

    serve(env) starts an engine with these variables and returns it; act(name) gives it what passes the point; settle(name)
    waits for the end of that and checks it, while the second engine runs, which is killed afterwards.
    after: {name: the point at which an earlier engine dies, for what only a recovered job passes}."""
    flag = scratch.root / "named-point"

    def die(name, first):
        flag.touch()
        engine = serve({"KETTLE_FAIL": name, "KETTLE_FAIL_ONCE": str(flag)})
        if first:
            act(name)
        kt.poll(lambda: engine.poll() is not None, 30, f"the end of the engine at {name}")
        assert not flag.exists(), f"the engine ended, but not at {name}: {engine.log.read_text()[-1000:]}"

    for name in names:
        earlier = (after or {}).get(name)
        if earlier:
            die(earlier, True)
        die(name, not earlier)
        engine = serve({})
        settle(name)
        engine.kill()
        engine.wait()
