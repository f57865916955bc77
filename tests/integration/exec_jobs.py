# SPDX-License-Identifier: MIT
"""Jobs: bad plans and lines, cancels, leases, device locks, crashes."""
import ctypes
import glob
import hashlib
import re
import resource

from exec_driver import *


def step(**more):
    return dict({"id": "a", "kind": "run", "argv": ["true"]}, **more)


BAD_PLANS = [
    ([], "steps"),
    ([step(kind="dance")], "kind"),
    ([step(argvv=["x"])], "argv"),
    ([step(id="../x")], "id"),
    ([step(), step()], "Two steps of the plan have the id `a`"),
    ([step(needs=["b"]), step(id="b")], "needs `b`, but no earlier step has this id"),
    ([step(inputs={"x": {"file": "f"}})], "is the file `f`, which the plan's `files` do not have"),
    ([step(inputs={"x": {"step": "z", "output": "o"}})], "no earlier step has this id"),
    ([step(id="z"), step(inputs={"x": {"step": "z", "output": "o"}})], "does not declare it in its outputs"),
    ([step(inputs={"../x": {"text": ""}})], "must stay below"),
    ([step(inputs={"/x": {"text": ""}})], "must stay below"),
    ([step(inputs={"a//x": {"text": ""}})], "must stay below"),
    ([step(inputs={"out/x": {"text": ""}})], "lies in `out`"),
    ([step(inputs={"x": {"text": ""}, "x/y": {"text": ""}})], "collide"),
    ([step(inputs={"x": {"text": ""}}, cases={"name": "x", "text": ""})], "collide"),
    ([step(cases={"name": "../x", "text": ""})], "must stay below"),
    ([step(outputs=["../x"])], "must stay below"),
    ([step(outputs=["out/x"])], "must be relative to out/"),
    ([step(artifacts=["/etc/passwd"])], "must stay below"),
    ([step(argv=["bin/true"])], "must be the name of a tool"),
    ([step(argv=["/opt/../bin/true"])], "must be the name of a tool"),
    ([step(argv=["./../x"])], "must stay below"),
    ([step(referee={"argv": ["true"]})], "no solver"),
    ([step(solver={"argv": ["true"]})], "both are required"),
    ([step(referee={"argv": ["true"]}, solver={"argv": ["true"]})], "has `argv`, but its referee"),
    ([{"id": "a", "kind": "run", "referee": {"argv": ["true"]}, "solver": {"argv": ["true"]}, "warm": {"tool": "python3"}}], "has `warm`, but its referee"),
    ([{"id": "a", "kind": "run", "referee": {"argv": ["true"], "jit": {"folder": "cache"}}, "solver": {"argv": ["true"]}}], "unknown key `jit`"),
    ([{"id": "a", "kind": "run"}], "no `argv`"),
    ([step(share=4096)], "share"),
    ([step(unique=["x"])], "no `result` channel"),
    ([step(result="FD", unique=["("])], "regular expression"),
    ([step(**{"pass": {"result": {"check": "pass"}}})], "no `result` channel"),
    ([step(kind="build", secret={"S": "1"})], "a build step gets no secret"),
    ([step(kind="build", device=1)], "a build step gets no device"),
    ([step(kind="prepare", cases={"name": "x", "text": ""})], "a prepare step gets no cases"),
    ([step(cache=True)], "only build and prepare steps"),
    ([step(ended={"outcome": {"step": "a", "kind": "build", "state": "passed"}, "outputs": []})], "end on another machine"),
    ([step(kind="build", ended={"outcome": {"step": "b", "kind": "build", "state": "passed"}, "outputs": []})], "the outcome of another"),
    ([step(kind="build", ended={"outcome": {"step": "a", "kind": "build", "state": "cancelled"}, "outputs": []})], "state"),
    ([step(secret_fd="S")], "no `secret` to hand over"),
    ([step(secret={"A": "a\nb"}, secret_fd="S")], "several lines"),
    ([step(secret={"A": "a" * 5000}, secret_fd="S")], "4096 bytes"),
    ([step(kind="prepare", secret_fd="S")], "a prepare step gets no secret"),
    ([step(kind="build", cache=True, artifacts=["x"])], "a cached step keeps outputs alone"),
    ([step(env={"a=b": "c"})], "env"),
    ([step(limits={"wall": 0})], "wall"),
    ([step(limits={"wall": -1})], "wall"),
    ([step(inputs={"x": {"base64": "!!!"}})], None),
]


def bad_plans(folder):
    """Every malformed plan is answered with its sentence, and the next one is carried out"""
    with Exec(folder) as x:
        for number, (steps, wanted) in enumerate(BAD_PLANS):
            x.run("bad%d" % number, steps)
            done = x.done("bad%d" % number)
            if wanted is None:
                equal(done["outcomes"][0]["state"], "error")
                continue
            equal(done["status"], "lost")
            equal(done["outcomes"], [])
            contains(done["error"], wanted)
            assert done["error"].endswith(".") or ":" in done["error"], done["error"]
        for unit, wanted in (({"cores": "x"}, "list of cores"), ({"slots": 0}, "slots"), ({"sandbox": "iron"}, "full"), ([], "object")):
            x.run("u", [step()], unit=unit)
            done = x.done("u")
            equal(done["status"], "lost")
            contains(done["error"], wanted)
        x.send(op="run", job="noplan")
        contains(x.done("noplan")["error"], "no `plan`")
        x.send(op="run", job="v", plan={"version": 2, "steps": [step()]})
        contains(x.done("v")["error"], "version")
        big = "x" * (33 << 20)
        x.run("big", [step(inputs={"a": {"file": "a"}})], {"a": {"text": big}})
        equal(x.done("big")["status"], "done")
        equal(x.one(shell("echo fine"))["stdout"]["text"], "fine\n")


def bad_lines(folder):
    """A line that is not JSON or names no job is answered with an error, and the next one is read"""
    with Exec(folder) as x:
        for line in (b"{", b"[]", b"nonsense", b"\xff\xfe", b"{\"op\":\"run\"}", b"{\"op\":\"run\",\"job\":\"a\\u0000b\"}", b"{\"op\":\"dance\",\"job\":\"x\"}", b"{}",
                     b"{\"op\":\"run\",\"job\":7,\"plan\":{}}", b"{\"op\":\"cancel\"}", b"[" * 10000, b"{\"op\":\"run\",\"job\":\"\",\"plan\":{}}"):
            x.send_bytes(line + b"\n")
            event = x.event()
            equal(event["event"], "error")
            assert event["error"].endswith("."), event
        x.send_bytes(b"\n\n")
        x.send(op="cancel", job="nobody")
        equal(x.one(shell("echo fine"))["stdout"]["text"], "fine\n")
        try:
            x.send_bytes(b"x" * (65 << 20))
        except BrokenPipeError:
            pass
        contains(x.until(event="error")["error"], "exceeds the limit of 64 MiB")
        equal(x.process.wait(PATIENCE), 0)


def greeting(folder):
    """The greeting says what this machine is"""
    with Exec(folder) as x:
        equal((x.hello["event"], x.hello["protocol"]), ("hello", 1))
        for key in ("version", "level", "machine", "tools", "protections"):
            assert key in x.hello, key
        equal(set(x.hello["machine"]), {"cpu", "cores", "memory", "kernel", "platform", "host"})
        assert re.match(r"\d+\.\d+", x.hello["tools"].get("gcc", "0.0")), x.hello["tools"]
        for protection in x.hello["protections"]:
            equal(set(protection), {"name", "meaning", "present", "how"})
        x.run("j", [step()])
        done = x.done("j")
        assert done["stamps"]["received_ns"] <= done["stamps"]["done_ns"], done
        equal(done["system"]["host"], x.hello["machine"]["host"])


def slow_tool(folder):
    """Nothing waits for tools that no job uses: not the greeting, not a job, not the end"""
    tool, go = os.path.join(folder, "slow"), os.path.join(folder, "go")
    with open(tool, "w") as file:
        file.write(f"#!/bin/sh\nwhile [ ! -e {go} ]; do sleep 0.05; done\necho slow 7.5\n")
    os.chmod(tool, 0o755)
    config = {"tools": {"slow": tool}}
    with Exec(folder, config=config, whole=False) as x:
        assert "tools" not in x.hello and "packages" not in x.hello and x.hello["level"], x.hello
        equal(x.outcomes("j", [step()])["a"]["state"], "passed")
        assert not [e for e in x.events[1:] if e["event"] == "hello"], x.events
    with Exec(folder, config=config, whole=False) as x:
        open(go, "w").close()
        equal(x.until(event="hello")["tools"]["slow"], "7.5")
    with Exec(folder, config=config) as x:
        equal(x.hello["tools"]["slow"], "7.5")


def same_name(folder):
    """A second job of the same name is refused while the first runs"""
    with Exec(folder) as x:
        x.run("j", [dict(shell("sleep 60"), id="s", kind="run")])
        x.until(event="step")
        x.run("j", [step()])
        contains(x.until(event="error")["error"], "is already running")
        x.send(op="cancel", job="j")
        equal(x.done("j")["status"], "cancelled")
        x.run("j", [step()])
        equal(x.done("j")["status"], "done")


def cancels(folder):
    """A cancel ends a job in each of its states, once, and leaves the rest alone"""
    with Exec(folder, config={"build": {"jobs": 1}}) as x:
        def cancelled(job):
            x.send(op="cancel", job=job)
            done = x.done(job)
            equal(done["status"], "cancelled")
            equal({outcome["state"] for outcome in done["outcomes"]} - {"passed"}, {"cancelled"})
            return done
        long = "sleep 4%d" % os.getpid()
        x.run("run", [dict(shell("true"), id="ok", kind="run"), dict(shell(long), id="s", kind="run"), step(needs=["s"])])
        x.until(event="step", step="s")
        done = cancelled("run")
        equal([outcome["state"] for outcome in done["outcomes"]], ["passed", "cancelled", "cancelled"])
        x.run("build", [dict(shell(long), id="s", kind="build")])
        x.until(event="step", job="build")
        x.run("queued", [dict(shell("true"), id="s", kind="build")])
        x.until(event="started", job="queued")
        cancelled("queued")
        cancelled("build")
        x.run("holder", [dict(shell(long), id="s", kind="run", device=1)], unit={"name": "d"})
        x.until(event="device", job="holder")
        x.run("waits", [dict(shell("true"), id="s", kind="run", device=1)], unit={"name": "d"})
        x.until(event="waiting", job="waits")
        cancelled("waits")
        cancelled("holder")
        # At once, before anything can have begun.
        for number in range(10):
            x.run("now%d" % number, [dict(shell("sleep 60"), id="s", kind="build"), dict(shell("sleep 60"), id="t", kind="run", device=1)])
            x.send(op="cancel", job="now%d" % number)
            equal(x.done("now%d" % number)["status"], "cancelled")
        equal(processes_with(long), [])
        equal(x.one(shell("echo fine"), unit={"name": "d"})["stdout"]["text"], "fine\n")
        equal(x.close(), 0)
        equal(len([e for e in x.events if e["event"] == "done"]), 16)


def busy(x, marker):
    """Several jobs in several states."""
    long = "sleep %s & sleep %s" % (marker, marker)
    for number in range(2):
        x.run("b%d" % number, [dict(shell(long), id="s", kind="build")])
        x.run("r%d" % number, [dict(shell(long), id="s", kind="run", device=1)], unit={"name": "d"})
    x.until(event="step", state="running")
    poll(lambda: len(processes_with(marker)) >= 2, "the jobs run")


def lease(folder):
    """The end of the input, SIGTERM and a closed output end all jobs and leave nothing"""
    for how in ("input", "term", "output"):
        marker = "8%d.%s" % (os.getpid(), how.encode().hex()[:4].translate(str.maketrans("abcdef", "123456")))
        x = Exec(folder)
        busy(x, marker)
        if how == "input":
            equal(x.close(), 0)
            equal(sorted({e["status"] for e in x.events if e["event"] == "done"}), [])
        elif how == "term":
            x.process.send_signal(signal.SIGTERM)
            while x.event():
                pass
            equal(sorted(e["status"] for e in x.events if e["event"] == "done"), ["cancelled"] * 4)
            equal(x.process.wait(PATIENCE), 0)
        else:
            x.process.stdout.close()
            x.run("more", [step()])
            equal(x.process.wait(PATIENCE), 0)
        equal(processes_with(marker), [])
        equal(spools(x.state), [])
        x.close()


def lease_of_time(folder):
    """With --lease all is killed when nothing came for so long, although the input is open; any input renews it"""
    with open(os.path.join(folder, "log"), "w+") as log, Exec(folder, arguments=["--lease", "3"], stderr=log) as x:
        began = time.monotonic()
        while time.monotonic() < began + 4:
            x.send(op="heartbeat")
            x.until(event="heartbeat")
            time.sleep(0.1)
        marker = "7%d.25" % os.getpid()
        x.run("long", [dict(shell("sleep " + marker), id="s", kind="run")])
        equal(x.done("long")["status"], "cancelled")
        equal(x.process.wait(PATIENCE), 0)
        poll(lambda: not processes_with(marker), "the end of what ran")
        log.seek(0)
        contains(log.read(), "no input for 3 s")
    for wrong in (["--lease", "0", "--serve"], ["--lease", "x", "--serve"], ["--lease", "86401", "--serve"], ["--lease", "5", "--doctor"]):
        ended = subprocess.run([PROGRAM] + wrong, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        equal(ended.returncode, 2)
        contains(ended.stderr.decode(), "--lease requires")


def taken(x, job):
    """What came of a job that sends: its files by step and name, and its completion"""
    files = {}
    while True:
        event = x.event()
        if event.get("job") == job and event["event"] == "file":
            files.setdefault((event["step"], event["name"]), []).append(event)
        if event.get("job") == job and event["event"] == "done":
            break
    for pieces in files.values():
        equal([piece.get("last") for piece in pieces], [None] * (len(pieces) - 1) + [True])
        data = b"".join(base64.b64decode(piece["data"], validate=True) for piece in pieces)
        for piece in pieces:
            equal((piece["size"], piece["sha256"]), (len(data), hashlib.sha256(data).hexdigest()))
        pieces[:] = [data]
    return {key: pieces[0] for key, pieces in files.items()}, event


def sends(folder):
    """With `send` the artifacts come as events before `done`, whatever the outcome"""
    big = "head -c 1000001 /dev/zero | tr '\\0' x >out/big; "
    steps = [dict(shell(big + ": >out/empty; mkdir out/d; echo deep >out/d/f"), id="a", kind="run", artifacts=["big", "empty", "d", "none"]),
             dict(shell("echo why >out/why; exit 3"), id="b", kind="run", artifacts=["why"])]
    with Exec(folder) as x:
        x.run("sent", steps, send=True)
        files, done = taken(x, "sent")
        equal(files, {("a", "big"): b"x" * 1000001, ("a", "empty"): b"", ("a", "d/f"): b"deep\n", ("b", "why"): b"why\n"})
        equal([(outcome["step"], artifact["name"]) for outcome in done["outcomes"] for artifact in outcome["artifacts"]], list(files))
        names = [event["event"] for event in x.events if event.get("job") == "sent"]
        equal((names.count("sending"), names.index("sending") + 1), (1, names.index("file")))
        said = next(event["bytes"] for event in x.events if event["event"] == "sending")
        sent = sum(len(json.dumps(event, separators=(",", ":"))) for event in x.events if event["event"] in ("file", "done"))
        assert 0.9 * sent < said < 1.2 * sent, (said, sent)
        poll(lambda: not glob.glob(os.path.join(x.state, "spool", "*", "job-*")), "the removal of the job's folder")
        x.run("kept", steps, send=False)
        equal(taken(x, "kept")[0], {})
        for wrong in ({"send": 1}, {"send": True, "spool": folder}):
            x.run("wrong", steps, **wrong)
            done = x.done("wrong")
            equal(done["status"], "lost")
            contains(done["error"], "`send` of a run line")


def sends_slowly(folder):
    """A reader that does not read makes it wait with its files, not grow; a cancel and the end of the input end that"""
    def memory():
        with open("/proc/%d/status" % x.process.pid) as file:
            return int(re.search(r"VmRSS:\s+(\d+)", file.read()).group(1)) << 10

    step = dict(shell("head -c 150000000 /dev/zero >out/big; echo $$ >out/end"), id="a", kind="run", artifacts=["big", "end"])
    with Exec(folder) as x:
        x.one({"argv": ["true"]})
        before = memory()
        x.run("slow", [step], send=True)
        x.until(event="outcome", job="slow")
        x.until(event="file", job="slow")
        # Another job runs meanwhile, and its events come in between.
        x.run("other", [dict(shell("true"), id="s", kind="run")])
        files = [x.until(event="done", job="other")]
        assert memory() - before < 40000000 or sanitizer(), "grew by %d" % (memory() - before)
        x.send(op="cancel", job="slow")
        equal(x.done("slow")["status"], "cancelled")
        assert sum(len(event["data"]) for event in x.events if event["event"] == "file") < 100000000, files
        x.run("again", [step], send=True)
        x.until(event="file", job="again")
        x.process.stdin.close()
        equal(x.done("again")["status"], "cancelled")
        equal(x.process.wait(PATIENCE), 0)


def mixture(x):
    """Jobs that wait for all that a job can wait for; their names."""
    build = dict(shell("sleep 0.1; echo >out/p"), id="b", kind="build", cache=True, outputs=["p"])
    warm = {"id": "w", "kind": "run", "argv": [pythons.boards(), "a.py"], "inputs": {"a.py": text("pass")},
            "env": {"PYTHONHASHSEED": "1", "PYTHONNOUSERSITE": "1"}, "warm": {"tool": pythons.boards(), "preload": ["json"]}}
    device = dict(shell("sleep 0.1"), id="d", kind="run", device=1, needs=["b"])
    pair = {"id": "p", "kind": "run", "referee": shell("sleep 0.1"), "solver": shell("sleep 9"), "needs": ["b"]}
    for job in ("a", "b"):
        x.run(job, [build, device], unit={"name": "d"})
    x.send(op="hello")
    x.run("c", [dict(build, inputs={"c": text("c")}), pair])
    for job in ("w", "v"):
        x.run(job, [dict(build, cache=False), dict(warm, needs=["b"])])
    x.send(op="cancel", job="v")
    return {"a", "b", "c", "w", "v"}


def ends_anywhere(folder):
    """Whatever is under way when the lease ends, or SIGTERM comes, is ended in order and freed after its last callback"""
    with Exec(folder) as x:
        left = mixture(x)
        while left:
            left -= {x.until(event="done")["job"]}
        count = len(x.events)
    # Without the greeting with tools: they are looked for meanwhile. An odd step: both ends in turn.
    for number in range(0, count, 1 if sizes.EVERYTHING else 3):
        state, said = os.path.join(folder, "state%d" % number), os.path.join(folder, "stderr")
        with open(said, "w+b") as stderr:
            x = Exec(folder, state=state, config={"build": {"jobs": 1}}, whole=False, stderr=stderr)
            left = mixture(x)
            for _ in range(number):
                event = x.event() if left else None
                left -= {event["job"]} if event and event["event"] == "done" else set()
            if number % 2:
                x.process.send_signal(signal.SIGTERM)
            equal((number, x.close()), (number, 0))
            stderr.seek(0)
            equal((number, stderr.read()), (number, b""))
        equal((number, spools(state)), (number, []))
        shutil.rmtree(state, ignore_errors=True)


def killed(folder):
    """After SIGKILL nothing runs, and the next one clears the rest away"""
    marker = "9%d" % os.getpid()
    x = Exec(folder)
    busy(x, marker)
    x.process.kill()
    x.process.wait()
    poll(lambda: not processes_with(marker), "its processes end")
    poll(lambda: not cgroups.members([x.owner]), "they leave its cgroups")
    equal(len(spools(x.state)), 1)
    other = Exec(folder)
    equal(len(spools(x.state)), 1)
    equal(other.one(shell("true", device=1), unit={"name": "d"})["state"], "passed")
    equal(cgroups.left([x.owner]), [])
    equal(other.close(), 0)
    equal(spools(x.state), [])


def intervals(done):
    return [(o["start_ns"], o["start_ns"] + o["wall_ns"]) for o in done["outcomes"] if o["step"].startswith("d")]


def init_killed(folder):
    """A sandbox whose init something outside kills is the machine's fault; what a program does to itself is its own"""
    marker = "6%d" % os.getpid()
    with Exec(folder) as x:
        x.run("j", [shell("sleep %s; true" % marker, id="s", kind="run")])
        poll(lambda: any(name_of(pid) == "sleep" for pid in processes_with(marker)), "the step's program")
        [sleeper] = [pid for pid in processes_with(marker) if name_of(pid) == "sleep"]
        init = sleeper
        while parent_of(init) != x.process.pid:
            init = parent_of(init)
        os.kill(init, signal.SIGKILL)
        [outcome] = x.until(event="done", job="j")["outcomes"]
        equal(outcome["state"], "error")
        contains(outcome["error"], "init ended before its report, with signal 9")
        equal(x.one(shell("kill -6 $$"))["state"], "failed")


def parent_of(pid):
    with open("/proc/%d/stat" % pid) as file:
        return int(file.read().rpartition(")")[2].split()[1])


def device_lock(folder):
    """Run steps of two kettle-execs on one device never overlap, and waiting counts against no limit"""
    one, two = Exec(folder), Exec(folder, state=os.path.join(folder, "other"))
    steps = [dict(shell("sleep 0.3", limits={"wall": 2}), id="d%d" % i, kind="run", device=1) for i in range(2)]
    for number in range(4):
        for x in (one, two):
            x.run("j%d" % number, steps, unit={"name": "d", "lock": "shared/.. lock"})
    used = []
    for x in (one, two):
        for done in [x.until(event="done") for _ in range(4)]:
            equal([o["state"] for o in done["outcomes"]], ["passed", "passed"])
            used += intervals(done)
        assert any(e["event"] == "waiting" for e in x.events)
    used.sort()
    equal(len(used), 16)
    for before, after in zip(used, used[1:]):
        assert before[1] <= after[0], (before, after)
    waits = [e["device"]["waited_ns"] for x in (one, two) for e in x.events if e["event"] == "device"]
    assert max(waits) > 2e9, waits
    for x in (one, two):
        # Within one process the oldest goes first; without waiting jobs any may be next.
        order = [e["job"] for e in x.events if e["event"] == "device"]
        equal(order[1:], sorted(order[1:]))
        equal(x.close(), 0)
    equal(os.listdir(os.path.join(folder, "locks"))[0][:14], "shared_.._lock")


def slots(folder):
    """A unit with two slots runs two jobs at once"""
    with Exec(folder) as x:
        for job in "abc":
            x.run(job, [dict(shell("sleep 2"), id="d", kind="run", device=1)], unit={"name": "d", "slots": 2})
        used = sorted(intervals(x.until(event="done"))[0] for _ in range(3))
        assert used[1][0] < used[0][1], used
        assert used[2][0] >= min(used[0][1], used[1][1]), used


def side_by_side(folder):
    """Builds run side by side, at most build.jobs; runs of one job do not"""
    with Exec(folder, config={"build": {"jobs": 2}}) as x:
        steps = [dict(shell("sleep 2"), id="d%d" % i, kind="build") for i in range(3)]
        x.run("j", steps)
        used = sorted(intervals(x.done("j")))
        assert used[1][0] < used[0][1], used
        assert used[2][0] >= min(used[0][1], used[1][1]), used
        x.run("k", [dict(shell("sleep 0.1"), id="d%d" % i, kind="run") for i in range(3)])
        used = sorted(intervals(x.done("k")))
        assert used[0][1] <= used[1][0] and used[1][1] <= used[2][0], used


def one_plan(folder):
    """One plan from a file or from standard input, and its exit status"""
    def plan(value, *arguments):
        path = os.path.join(folder, "plan.json")
        with open(path, "w") as file:
            file.write(value if isinstance(value, str) else json.dumps(value))
        return subprocess.run([PROGRAM, "--state", os.path.join(folder, "state"), path] + list(arguments), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, stdin=subprocess.DEVNULL, text=True, timeout=PATIENCE)
    good = {"version": 1, "steps": [step()]}
    equal(plan(good).returncode, 0)
    equal(plan({"version": 1, "steps": [step(argv=["false"]), step(id="b", needs=["a"])]}).returncode, 1)
    equal(plan({"version": 1, "steps": [step(argv=["no-such-tool-here"])]}).returncode, 3)
    answer = plan({"version": 1})
    equal(answer.returncode, 2)
    contains(answer.stdout, "steps")
    answer = plan("{")
    equal(answer.returncode, 2)
    contains(answer.stderr, "not a JSON object")
    equal(plan(good, "--level", "iron").returncode, 2)
    equal(plan(good, "extra").returncode, 2)
    spool = os.path.join(folder, "kept")
    equal(plan({"plan": {"version": 1, "steps": [step(argv=["sh", "-c", "echo >out/x"], artifacts=["x"])]}, "spool": spool}).returncode, 0)
    assert os.path.exists(os.path.join(spool, "a", "x"))
    answer = subprocess.run([PROGRAM, "--state", os.path.join(folder, "state"), "-"], input=json.dumps(good), stdout=subprocess.PIPE,
                            text=True, timeout=PATIENCE)
    equal(answer.returncode, 0)
    events = [json.loads(line)["event"] for line in answer.stdout.splitlines()]
    equal(events, ["hello", "started", "step", "outcome", "done"])
    answer = subprocess.run([PROGRAM, "--serve", "--state", os.path.join(folder, "state")], stdin=subprocess.DEVNULL,
                            stdout=subprocess.PIPE, timeout=PATIENCE)
    equal(answer.returncode, 0)
    equal(subprocess.run([PROGRAM], stderr=subprocess.DEVNULL).returncode, 2)
    contains(subprocess.run([PROGRAM, "--help"], stdout=subprocess.PIPE, text=True).stdout, "--doctor")
    contains(subprocess.run([PROGRAM, "--version"], stdout=subprocess.PIPE, text=True).stdout, "kettle-exec ")


def kept(folder):
    """A job's folder is kept where the run line asks for it, and only there"""
    with Exec(folder) as x:
        places = []
        for keep in (False, True, True):
            x.run("j", [dict(shell("echo made >out/m"), id="s", kind="run", inputs={"in": text("seen\n")}, outputs=["m"])], keep=keep)
            done = x.done("j")
            equal("kept" in done, keep)
            if keep:
                places.append(done["kept"])
        assert places[0] != places[1], places
        for place in places:
            equal(sorted(name for _, _, files in os.walk(place) for name in files), ["in", "m"])


def doctor(folder):
    """--doctor says what is there and how to get what is not"""
    command = [PROGRAM, "--doctor", "--state", os.path.join(folder, "state")]
    answer = subprocess.run(command + ["--json"], stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    report = json.loads(answer.stdout)
    equal(answer.returncode, 0 if report["level"] == "full" else 1)
    for protection in report["protections"]:
        assert protection["present"] or protection["how"], protection
    equal(report["state"]["writable"], True)
    assert report["state"]["free"] > 0
    people = subprocess.run(command, stdout=subprocess.PIPE, text=True, timeout=PATIENCE)
    equal(people.returncode, answer.returncode)
    equal([one["name"] for one in report["profilers"]], ["perf", "ncu", "rocprofv3"])
    for profiler in report["profilers"]:
        assert bool(profiler["how"]) != profiler["permitted"] and (profiler["path"] or not profiler["permitted"]), profiler
    equal(report["text"].split("\n\n")[1], people.stdout.split("\n\n")[1])
    for wanted in ("Sandbox: level " + report["level"], "Tools", "Folders", "hipcc", "Profilers", "rocprofv3"):
        contains(people.stdout, wanted)
    contains(report["host"], "/kettle-host")
    alone = shutil.copy(PROGRAM, folder)
    lacking = [alone, *command[1:]]
    env = dict(os.environ, PATH="/usr/bin:/bin")
    equal(json.loads(subprocess.run(lacking + ["--json"], stdout=subprocess.PIPE, text=True, env=env, timeout=PATIENCE).stdout)["host"], None)
    contains(subprocess.run(lacking, stdout=subprocess.PIPE, text=True, env=env, timeout=PATIENCE).stdout, "CUDA and HIP runs need it")
    for mode in (["--doctor", "--json"], ["--doctor"], ["--serve"]):
        other = subprocess.run([PROGRAM, *mode, "--state", os.fsencode(folder) + b"/\xff"], stdin=subprocess.DEVNULL, capture_output=True, text=True)
        equal(other.stdout, "")
        equal(other.returncode, 2)
        contains(other.stderr, "is not UTF-8 text: set another one with --state")
    with open(os.path.join(folder, "bad.yml"), "w") as file:
        file.write("level: full\nstat: /x\n")
    answer = subprocess.run(command + ["--config", os.path.join(folder, "bad.yml")], stderr=subprocess.PIPE, text=True)
    equal(answer.returncode, 2)
    contains(answer.stderr, "bad.yml:2")
    contains(answer.stderr, "state")


def without_sandbox(folder):
    """Level off runs steps without a sandbox, and says so"""
    with Exec(folder, arguments=["--level", "off"]) as x:
        outcome = x.outcomes("j", [dict(shell("cat i; echo x >out/x"), id="b", kind="build", inputs={"i": text("in\n")}, outputs=["x"]),
                                   dict(shell("cat y"), id="r", kind="run", inputs={"y": {"step": "b", "output": "x"}})])
        equal([o["state"] for o in outcome.values()], ["passed", "passed"])
        assert "mount" not in outcome["r"]["protections"], outcome
        equal(x.one(shell("sleep 60", limits={"wall": 0.2}))["limit"], "wall")
        # TMPDIR and HOME are the step's own there, too, and go with it.
        said = x.one(shell("echo $TMPDIR; ls -A $HOME; touch $TMPDIR/x; ls -A $TMPDIR"))["stdout"]["text"].splitlines()
        equal(said[1:], ["home", "x"])
        assert said[0].startswith(folder) and not os.path.exists(said[0]), said


LINGERS = """
import array, os, socket, struct, time
listener = socket.create_server(("127.0.0.1", 0))
full = socket.create_connection(listener.getsockname())
peer = listener.accept()[0]
channel = socket.socket(fileno=3)
try:
    full.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 900))
    channel.sendall(b"linger: set\\n")
except PermissionError:
    channel.sendall(b"linger: refused\\n")
full.setblocking(False)
try:
    while True:
        full.send(bytes(65536))
except BlockingIOError:
    pass
try:
    channel.sendmsg([b"passed: 1\\n"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [full.fileno()]))])
except PermissionError:  # SO_PASSRIGHTS
    pass
full.close()
time.sleep(600)
"""


def lingers(folder, arguments, wanted):
    with Exec(folder, arguments=arguments) as x:
        x.run("hostile", [dict(argv=["python3", "-c", LINGERS], id="s", kind="run", result="FD", limits={"wall": 600})])
        seen = x.until(event="result", job="hostile", key="linger")
        equal(seen["value"], wanted)
        for _ in range(20):
            equal(x.one(shell("echo fine"))["stdout"]["text"], "fine\n")
        assert not [e for e in x.events if e["event"] == "done" and e["job"] == "hostile"], x.events
        x.send(op="cancel", job="hostile")
        equal(x.done("hostile")["status"], "cancelled")
        equal(x.close(), 0)


def passed_socket(folder):
    """A socket that sleeps when it is closed, passed through the result channel, holds up no other job"""
    # Without a sandbox nothing refuses the option: what remains is who reads.
    lingers(folder, ["--level", "off"], "set")
    lingers(folder, [], "refused")


PTRACE_SEIZE = 0x4206
WALL = 0x40000000


def seize(pid):
    """Traces a process: killed, it stays until its tracer has waited for it, as if it hung in a driver."""
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
    if libc.ptrace(PTRACE_SEIZE, pid, None, None) != 0:
        raise Skip("a process of a sandbox cannot be traced here: " + os.strerror(ctypes.get_errno()))


def undying(folder):
    """A process that cannot be killed loses the job, which says so, and nothing is reported twice when it ends at last"""
    marker = "76%d" % os.getpid()
    with Exec(folder) as x:
        x.run("stuck", [dict(shell("exec sleep " + marker), id="s", kind="run", device=1)], unit={"name": "d"})
        x.until(event="device", job="stuck")
        poll(lambda: any(name_of(pid) == "sleep" for pid in processes_with(marker)), "the step's program")
        stuck = next(pid for pid in processes_with(marker) if name_of(pid) == "sleep")
        seize(stuck)
        try:
            x.send(op="cancel", job="stuck")
            lost = x.until(job="stuck", status="lost")
            contains(json.dumps(lost), "were killed but still exist after 10 s: the device must be disabled")
            # What needs nothing of that device goes on meanwhile.
            equal(x.one(shell("echo fine"))["stdout"]["text"], "fine\n")
        finally:
            os.waitpid(stuck, WALL)
        poll(lambda: not processes_with(marker), "the end of the killed process")
        equal(x.one(shell("echo fine"), unit={"name": "d"})["stdout"]["text"], "fine\n")
        equal(x.close(), 0)
        assert len([e for e in x.events if e["event"] == "done" and e["job"] == "stuck"]) <= 1, x.events
    equal(spools(x.state), [])


def name_of(pid):
    try:
        with open("/proc/%d/comm" % pid) as file:
            return file.read().strip()
    except OSError:
        return ""


def heartbeat(folder):
    """Heartbeats are answered whatever runs do, one for each, and no job is needed"""
    with Exec(folder) as x:
        x.send(op="heartbeat")
        x.until(event="heartbeat")
        x.run("long", [dict(shell("sleep 3600"), id="s", kind="run")])
        x.until(event="step", step="s")
        for _ in range(3):
            x.send(op="heartbeat")
        for _ in range(3):
            x.until(event="heartbeat")
        x.send(op="cancel", job="long")
        equal(x.done("long")["status"], "cancelled")


def other_tools(folder):
    """Other tools are reported without a restart; what is not a list of them changes nothing"""
    with Exec(folder) as x:
        tool = os.path.join(folder, "a-tool")
        with open(tool, "w") as file:
            file.write("#!/bin/sh\necho 'a-tool 7.8'\n")
        os.chmod(tool, 0o755)
        for wrong in [None, "a-tool", [7], [""], ["a"] * 51]:
            x.send(op="tools", report=wrong)
            assert "report" in x.until(event="error")["error"]
        x.run("long", [dict(shell("sleep 3600"), id="s", kind="run")])
        x.until(event="step", step="s")
        x.send(op="tools", report=[tool])
        while tool not in x.until(event="hello").get("tools", {}):
            pass
        x.send(op="cancel", job="long")
        equal(x.done("long")["status"], "cancelled")


def large_folder(folder):
    """A heartbeat is answered while the folder of a job that left many files is removed"""
    script = "mkdir out/d; i=0; while [ $i -lt 3000 ]; do : >out/d/$i; i=$((i + 1)); done"
    with Exec(folder) as x:
        for attempt in range(20):
            x.run("many", [dict(shell(script), id="s", kind="build", outputs=["d"])])
            x.until(event="step", step="s")
            own = glob.glob(os.path.join(x.state, "spool", "*", "job-*"))
            equal(len(own), 1)
            done = x.done("many")
            equal(done["outcomes"][0]["state"], "passed")
            x.send(op="heartbeat")
            x.until(event="heartbeat")
            # Where the folder is removed by what answers, it is always gone by now.
            seen = os.path.exists(own[0])
            poll(lambda: not os.path.exists(own[0]), "the removal of the job's folder")
            if seen:
                return
    raise AssertionError("the folder was gone before each answer")


def hung_tool(folder):
    """A heartbeat is answered, and another job ends, while a tool does not say its version"""
    started = os.path.join(folder, "started")

    def hangs():
        with open(started) as file:
            return name_of(int(file.read())) == "sleep"

    with Exec(folder) as x:
        # After 10 s it is ended; a machine that is too busy for that gets another try.
        for attempt in range(5):
            tool = os.path.join(folder, "slow%d" % attempt)
            with open(tool, "w") as file:
                file.write("#!/bin/sh\n[ \"$1\" = --version ] || exit 0\necho $$ >%s.new\nmv %s.new %s\nexec sleep 3600\n" % ((started,) * 3))
            os.chmod(tool, 0o755)
            x.run("slow", [dict(step(), argv=[tool])])
            poll(lambda: os.path.exists(started), "the question for the version")
            x.send(op="heartbeat")
            x.until(event="heartbeat")
            x.run("other", [dict(shell("echo fine"), id="s", kind="run")])
            equal(x.done("other")["outcomes"][0]["state"], "passed")
            hung = hangs()
            os.unlink(started)
            if len([event for event in x.events if event["event"] == "done" and event["job"] == "slow"]) == attempt:
                x.done("slow")
            if hung:
                return
    raise AssertionError("each answer came after the tool was ended")


def files_open(folder):
    """it may open as many files as its user, whose descriptors on their way in sockets count against that; a run may not"""
    before = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (512, before[1]))
    try:
        with Exec(folder) as x:
            equal(resource.prlimit(x.process.pid, resource.RLIMIT_NOFILE), (before[1], before[1]))
            equal(x.one({"argv": ["sh", "-c", "ulimit -Sn; ulimit -Hn"]})["stdout"]["text"].split(), ["1024", "1024"])
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, before)


if __name__ == "__main__":
    sys.exit(main([files_open, bad_plans, bad_lines, greeting, heartbeat, other_tools, large_folder, hung_tool, slow_tool, same_name, cancels,
                   undying, lease, lease_of_time, sends, sends_slowly, ends_anywhere, killed, init_killed, device_lock, slots,
                   side_by_side, one_plan, kept, doctor, without_sandbox, passed_socket]))
