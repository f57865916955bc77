# SPDX-License-Identifier: MIT
"""Budgets of a job: what all of its steps may report and leave together, however little each of them is."""
import hashlib

import exec_driver
from exec_driver import *

MIB = 1 << 20
# What the reader takes (runners/common/exec_client.h, base/bounded_json.h).
LINE, VALUES = 16 * MIB, 300000
# A byte that takes three in an event.
HEAVY = "b'\\x01'"


def python(id, code, **more):
    return dict({"id": id, "kind": "run", "argv": ["python3", "-c", code]}, **more)


def channel(id, text, **more):
    return python(id, "import os\nwith open(int(os.environ['R']), 'wb') as channel:\n  channel.write(%s)" % text, result="R", **more)


def count(value):
    if isinstance(value, dict):
        return 1 + sum(map(count, value.values()))
    return 1 + sum(map(count, value)) if isinstance(value, list) else 1


def longest(lines):
    """Bytes of the longest line that was said."""
    return max(map(len, lines))


def checked(x, job, steps, **more):
    """The outcomes of a job, beside which another one goes on; no line is too much for the reader."""
    x.run("beside", [dict(shell("true"), id="s", kind="run")])
    before = len(x.lines)
    outcomes = x.outcomes(job, steps, **more)
    assert any(event.get("event") == "done" and event["job"] == "beside" for event in x.events), "the job beside it is lost"
    assert longest(x.lines) < LINE, longest(x.lines)
    done = [event for event in x.events if event["event"] == "done" and event["job"] == job][-1]
    assert count(done) < VALUES, count(done)
    equal(x.send(op="heartbeat"), None)
    x.until(event="heartbeat")
    assert len(x.lines) > before
    # It is much, and checked once.
    x.lines.clear()
    return outcomes


def results(folder):
    """Results that are too long together are void from there on, and no event is too long"""
    with Exec(folder) as x:
        outcomes = checked(x, "j", [channel("s%d" % i, "b'x: ' + %s * 1000000 + b'\\ny: 1\\n'" % HEAVY) for i in range(6)])
        states = [outcome["state"] for outcome in outcomes.values()]
        assert states[0] == "passed" and states[-1] == "failed" and states == sorted(states, reverse=True), states
        for outcome in outcomes.values():
            equal(outcome["result"].get("y"), "1" if outcome["state"] == "passed" else None)
            if outcome["state"] == "failed":
                contains(outcome["result_error"], "exceed the 12 MiB that a job may report")
        events = [event for event in x.events if event["event"] == "result" and event["job"] == "j"]
        assert sum(len(event["value"]) for event in events) <= 4 * MIB, len(events)


def keys(folder):
    """Keys that are too many together are void from there on"""
    with Exec(folder) as x:
        many = "''.join('x%d:\\n' % i for i in range(19900)).encode()"
        outcomes = checked(x, "j", [channel("s%d" % i, many) for i in range(12)])
        states = [outcome["state"] for outcome in outcomes.values()]
        equal(states, ["passed"] * states.count("passed") + ["failed"] * states.count("failed"))
        assert 8 <= states.count("passed") < 12, states
        contains(outcomes["s11"]["result_error"], "exceed the 200000 values that a job may report")


def outputs(folder):
    """Output that is too long together is cut, which the outcome says, and nothing fails for it"""
    with Exec(folder) as x:
        both = "import sys\nfor out in sys.stdout, sys.stderr: out.buffer.write(%s * 900000)" % HEAVY
        outcomes = checked(x, "j", [python("s%d" % i, both, limits={"output": MIB}) for i in range(5)])
        equal({outcome["state"] for outcome in outcomes.values()}, {"passed"})
        cuts = [outcome.get("cut") for outcome in outcomes.values()]
        equal((cuts[0], cuts[-1]), (None, ["stdout", "stderr"]))
        equal((outcomes["s4"]["stdout"]["bytes"], outcomes["s4"]["stdout"]["cut"]), (900000, 900000))


def leaving(id, mib, then="", owner="user-1"):
    code = "open('out/a', 'wb').write(b'x' * %d)\n%s" % (mib * MIB, then)
    return python(id, code, artifacts=["a"], jit={"folder": "cache"}, owner=owner)


def on_disk(*path):
    """Bytes that a folder takes on the disk."""
    return sum(os.lstat(os.path.join(top, name)).st_blocks * 512 for top, _, names in os.walk(os.path.join(*path)) for name in names)


def artifacts(folder):
    """Artifacts are bounded for a job and for the jobs of a user, and the outcome says why there are none"""
    config = {"artifacts": {"max_bytes": 5 * MIB, "max_user_bytes": 7 * MIB}}
    held = os.path.join(folder, "held")
    with Exec(folder, config=config) as x:
        outcomes = x.outcomes("j", [leaving("s%d" % i, 2) for i in range(4)], spool=os.path.join(folder, "j"))
        equal([len(outcome["artifacts"]) for outcome in outcomes.values()], [1, 1, 0, 0])
        equal([outcome["state"] for outcome in outcomes.values()], ["passed"] * 4)
        contains(outcomes["s2"]["artifacts_cut"], "their job they exceed 5 MiB.")
        equal(sorted(os.listdir(os.path.join(folder, "j"))), ["s0", "s1"])
        # A job that has left 4 MiB and goes on.
        x.run("held", [leaving("a", 4), python("b", "import signal\nsignal.pause()")], spool=held)
        x.until(event="step", job="held", step="b")
        for owner, wanted in (("user-1", 0), ("user-2", 1)):
            outcome = x.outcomes("k", [leaving("a", 4, owner=owner)], spool=os.path.join(folder, owner))["a"]
            equal((owner, len(outcome["artifacts"])), (owner, wanted))
            if not wanted:
                contains(outcome["artifacts_cut"], "their owner they exceed 7 MiB.")
        # What a step may leave alone is its own affair.
        outcome = x.outcomes("k", [dict(leaving("a", 2), limits={"disk": MIB + MIB // 2})])["a"]
        equal(outcome["state"], "limit")
        assert os.listdir(held) == ["a"]
        x.send(op="cancel", job="held")
        equal(x.done("held")["status"], "cancelled")
        poll(lambda: not os.path.exists(held), "the cancelled job's files go")
        equal(len(x.outcomes("k", [leaving("a", 4)], spool=os.path.join(folder, "again"))["a"]["artifacts"]), 1)


def owners(folder):
    """A job is its plan's owner's, whatever its steps have, and of an older plan a step's owner's"""
    plain = python("a", "open('out/a', 'wb').write(b'x' * %d)" % (4 * MIB), artifacts=["a"])
    cases = [(plain, "user-1", 0), (plain, "user-2", 1), (leaving("a", 4), None, 0), (leaving("a", 4), "user-2", 1), (plain, None, 1)]
    with Exec(folder, config={"artifacts": {"max_bytes": 5 * MIB, "max_user_bytes": 7 * MIB}}) as x:
        x.run("held", [plain, python("b", "import signal\nsignal.pause()")], owner="user-1")
        x.until(event="step", job="held", step="b")
        for step, owner, wanted in cases:
            outcome = x.outcomes("k", [step], owner=owner)["a"]
            equal((owner, len(outcome["artifacts"])), (owner, wanted))


def many_files(folder):
    """The number of files of a job is bounded, too"""
    code = "import os\nos.mkdir('out/d')\nfor i in range(900): open('out/d/%d' % i, 'w').close()"
    with Exec(folder) as x:
        outcomes = x.outcomes("j", [python("s%d" % i, code, artifacts=["d"]) for i in range(4)], spool=os.path.join(folder, "j"))
        equal([len(outcome["artifacts"]) for outcome in outcomes.values()], [900, 900, 0, 0])
        contains(outcomes["s2"]["artifacts_cut"], "2000 files")


def holes(folder):
    """A file of holes takes no room, keeps its size, and counts as large as it says that it is"""
    code = "import os\nwith open('out/a', 'wb') as file:\n  file.write(b'begin')\n  file.truncate(50 << 20)\n"
    with Exec(folder, config={"artifacts": {"max_bytes": 75 * MIB}}) as x:
        steps = [python(id, code + more, artifacts=["a"]) for id, more in (("a", ""), ("b", "  file.seek(0, 2)\n  file.write(b'end')\n"))]
        outcomes = x.outcomes("j", steps, spool=os.path.join(folder, "j"))
        equal([outcome["artifacts"][0]["size"] if outcome["artifacts"] else None for outcome in outcomes.values()], [50 * MIB, None])
        path = os.path.join(folder, "j", "a", "a")
        equal(os.stat(path).st_size, 50 * MIB)
        assert on_disk(folder, "j") < 2 * MIB, on_disk(folder, "j")
        with open(path, "rb") as file:
            equal(outcomes["a"]["artifacts"][0]["sha256"], hashlib.sha256(file.read()).hexdigest())
        outcome = x.outcomes("k", [steps[1]], spool=os.path.join(folder, "k"))["b"]
        with open(os.path.join(folder, "k", "b", "a"), "rb") as file:
            equal(outcome["artifacts"][0]["sha256"], hashlib.sha256(file.read()).hexdigest())
        assert on_disk(folder, "k") < 2 * MIB


if __name__ == "__main__":
    exec_driver.main([results, keys, outputs, artifacts, owners, many_files, holes])
