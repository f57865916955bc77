# SPDX-License-Identifier: MIT
"""What steps may do and what comes of it."""
import hashlib
import os
import pathlib
import stat
import subprocess

from exec_driver import *


def passes_and_fails(folder):
    """Exit status, signal and pass.exit decide"""
    with Exec(folder) as x:
        outcome = x.one(shell("echo hi; echo no >&2; exit 0"))
        equal((outcome["state"], outcome["exit"], outcome["signal"], outcome["limit"]), ("passed", 0, None, None))
        equal((outcome["stdout"]["text"], outcome["stderr"]["text"]), ("hi\n", "no\n"))
        assert outcome["start_ns"] > 0 and outcome["wall_ns"] > 0, outcome
        equal(x.one(shell("exit 3"))["state"], "failed")
        equal(x.one(shell("exit 3", **{"pass": {"exit": [0, 3]}}))["state"], "passed")
        outcome = x.one(shell("kill -9 $$"))
        equal((outcome["state"], outcome["exit"], outcome["signal"]), ("failed", None, 9))
        equal(x.close(), 0)


def needs_and_skips(folder):
    """What needs a failed step is skipped, the rest goes on"""
    steps = [
        dict(shell("exit 1"), id="a", kind="build"),
        dict(shell("true"), id="b", kind="run", needs=["a"]),
        dict(shell("true"), id="c", kind="run", needs=["b"]),
        dict(shell("true"), id="d", kind="run"),
        dict(shell("cat in"), id="e", kind="run", inputs={"in": {"step": "f", "output": "x"}}),
    ]
    steps.insert(0, dict(shell("exit 2"), id="f", kind="build", outputs=["x"]))
    with Exec(folder) as x:
        outcomes = x.outcomes("j", steps)
        equal({key: value["state"] for key, value in outcomes.items()},
              {"a": "failed", "b": "skipped", "c": "skipped", "d": "passed", "e": "skipped", "f": "failed"})
        contains(outcomes["b"]["error"], "`a`")


def optional(folder):
    """What comes of an optional step, the job goes on: with what it has left, if it passed, failed or reached a limit, else without"""
    ways = {"passes": ("", "passed"), "fails": ("; exit 1", "failed"), "spins": ("; while :; do :; done", "limit"),
            "nothing": ("; rm -r out/x; exit 1", "failed"), "lacks": ("", "error")}
    with Exec(folder) as x:
        for kind in ("build", "prepare"):
            steps = [dict(shell(f"mkdir out/x; echo {name} > out/x/y{more}", limits={"cpu": 0.5}), id=name, kind=kind, optional=True, outputs=["x"],
                          cache=True) for name, (more, _) in ways.items()]
            steps[-1]["argv"] = ["no-such-tool"]
            takes = dict(shell("cat in/*/y; ls in | wc -l"), id="r", kind="run", needs=["nothing"],
                         inputs={f"in/{name}": {"step": name, "output": "x"} for name in ways})
            for again in (False, True):
                x.run("j", [*steps, takes])
                done = x.done("j")
                outcomes = {one["step"]: one for one in done["outcomes"]}
                equal({name: outcomes[name]["state"] for name in ways}, {name: state for name, (_, state) in ways.items()})
                equal({name for name in ways if outcomes[name]["cached"]}, {"passes"} if again else set())
                equal((outcomes["r"]["state"], outcomes["r"]["stdout"]["text"]), ("passed", "fails\npasses\nspins\n3\n"))
        # What leaves nothing stands for what it had itself; what was skipped stops the rest, and what is missing is left out.
        first = dict(shell("mkdir out/x; echo first > out/x/y"), id="a", kind="prepare", outputs=["x"])
        empty = dict(shell("rm -r out/x; exit 1"), id="b", kind="prepare", optional=True, outputs=["x"], inputs={"out/x": {"step": "a", "output": "x"}})
        takes = dict(shell("cat in/y; [ ! -e z ]"), id="r", kind="run", inputs={"in": {"step": "b", "output": "x"}, "z": {"step": "b", "output": "x/z"}})
        equal(x.outcomes("j", [first, empty, dict(takes, inputs={"in": takes["inputs"]["in"]})])["r"]["stdout"]["text"], "first\n")
        part = dict(empty, argv=["sh", "-c", "echo more >> out/x/y; exit 1"])
        equal(x.outcomes("j", [first, part, takes])["r"]["stdout"]["text"], "first\nmore\n")
        outcomes = x.outcomes("j", [dict(first, argv=["false"]), part, takes])
        equal([outcomes[one]["state"] for one in "abr"], ["failed", "skipped", "skipped"])
        equal(x.close(), 0)
    with Exec(folder) as x:
        for step in (dict(shell("true"), id="s", kind="run"), dict(shell("true"), id="s", kind="build", cache=True, shared=True)):
            x.run("bad", [dict(step, optional=True)])
            contains(x.done("bad")["error"], "`optional`")


def inputs(folder):
    """A step sees its inputs, from wherever they come, and nothing else"""
    blob = b"a blob\x00\xff"
    name = hashlib.sha256(blob).hexdigest()
    blobs = os.path.join(folder, "blobs")
    os.mkdir(blobs)
    with open(os.path.join(blobs, name), "wb") as file:
        file.write(blob)
    steps = [
        dict(shell("mkdir -p out/lib/deep; echo one >out/lib/a; echo two >out/lib/deep/b; echo '#!/bin/sh\necho ran' >out/p; chmod 700 out/p"),
             id="make", kind="build", outputs=["lib", "p"]),
        dict(shell("find . -type f | sort; cat text sub/bin shared blob tree/a other; ./p; stat -c %a p tree/a"), id="see", kind="run",
             inputs={"text": text("T\n"), "sub/bin": b64(b"B\n"), "shared": {"file": "f"}, "blob": {"blob": name},
                     "tree": {"step": "make", "output": "lib"}, "other": {"step": "make", "output": "lib/deep/b"},
                     "p": {"step": "make", "output": "p"}},
             cases={"name": "cases.txt", "text": "a: 1\n"}),
        dict(argv=["./run.sh", "x"], id="own", kind="run", inputs={"run.sh": text("#!/bin/sh\necho own $1\n")}),
        dict(shell("echo x >text || echo readonly; echo x >new || echo nonew"), id="ro", kind="run", inputs={"text": text("T")}),
    ]
    with Exec(folder) as x:
        outcomes = x.outcomes("j", steps, {"f": text("F\n")}, blobs=blobs)
        equal([outcome["state"] for outcome in outcomes.values()], ["passed"] * 4)
        out = outcomes["see"]["stdout"]["text"]
        equal(out.split("T\n")[0].split(),
              ["./blob", "./cases.txt", "./other", "./p", "./shared", "./sub/bin", "./text", "./tree/a", "./tree/deep/b"])
        contains(out, "T\nB\nF\na blob\ufffd\ufffdone\ntwo\nran\n755\n644\n")
        equal(outcomes["own"]["stdout"]["text"], "own x\n")
        equal(outcomes["ro"]["stdout"]["text"], "readonly\nnonew\n")
        outcome = x.one(shell("true", inputs={"b": {"blob": "0" * 64}}))
        equal(outcome["state"], "error")
        contains(outcome["error"], "does not have the blob")


def missing_inputs(folder):
    """An input that the step before did not make fails the step that takes it, from the cache too; the machine is not at fault"""
    make = dict(shell("mkdir -p out/d/cache; echo x >out/d/there"), id="make", kind="build", outputs=["d"], cache=True)
    for again in (False, True):
        with Exec(folder) as x:
            for path, output in (("in", "d/missing"), ("in", "d/there/below"), ("in", "d/deep/missing"), ("out/cache", "d/none")):
                taking = dict(shell("true"), id="take", inputs={path: {"step": "make", "output": output}})
                for step in (dict(taking, kind="run"), dict(taking, kind="run", jit={"folder": "cache"}), dict(taking, kind="prepare"),
                             dict(taking, kind="prepare", cache=True, outputs=[]), dict(taking, kind="build")):
                    if "jit" in step and path == "in":
                        continue
                    outcomes = x.outcomes("j", [make, step, dict(shell("true"), id="after", kind="run", needs=["take"])])
                    equal((outcomes["take"]["state"], outcomes["after"]["state"]), ("failed", "skipped"))
                    contains(outcomes["take"]["error"], "The input `%s` is `%s` of step `make`" % (path, output))


def sandboxed(folder):
    """Neither the state folder nor the home of kettle-exec are there; the environment is its own"""
    with Exec(folder, env={"KETTLE_TEST_LEAK": "leaked"}) as x:
        outcome = x.one(shell("ls %s %s; env; ls /proc/self/fd" % (x.state, folder), env={"A": "1"}))
        contains(outcome["stderr"]["text"], "No such file")
        assert "leaked" not in json.dumps(outcome), outcome
        for wanted in ("USER=kettle", "LANG=C.UTF-8", "HOME=/tmp/", "TMPDIR=/tmp", "A=1"):
            contains(outcome["stdout"]["text"], wanted)
        contains(",".join(outcome["protections"]), "user")


def result_channel(folder):
    """The result channel: values, events, duplicates, garbage, its limit"""
    with Exec(folder) as x:
        def result(script, **more):
            return x.one(shell(script, result="FD", **more))
        outcome = result("echo 'check: pass' >&$FD; printf 'junk\\n\\nother-key: a: b\\nlast.1: x' >&$FD",
                         unique=["check"], **{"pass": {"result": {"check": "pass"}}})
        equal((outcome["state"], outcome["result_error"]), ("passed", None))
        equal(outcome["result"], {"check": "pass", "other-key": "a: b", "last.1": "x"})
        events = [event for event in x.events if event["event"] == "result"]
        equal([(event["key"], event["value"]) for event in events][0], ("check", "pass"))
        outcome = result("echo 'check: fail' >&$FD", **{"pass": {"result": {"check": "pass"}}})
        equal(outcome["state"], "failed")
        outcome = result("printf 'check: pass\\ncheck: pass\\n' >&$FD", unique=["check"], **{"pass": {"result": {"check": "pass"}}})
        equal(outcome["state"], "failed")
        contains(outcome["result_error"], "second value for `check`")
        outcome = result("printf 'a: 1\\na: 2\\n' >&$FD", unique=["check"])
        equal((outcome["state"], outcome["result"]), ("passed", {"a": "2"}))
        outcome = result("printf 'a: \\377\\376\\n' >&$FD")
        equal(outcome["state"], "failed")
        contains(outcome["result_error"], "not UTF-8")
        outcome = result("while :; do echo key: 0123456789012345678901234567890; done >&$FD", limits={"result": 2048})
        equal((outcome["state"], outcome["limit"]), ("limit", "result"))
        contains(outcome["result_error"], "exceeded its limit")
        x.events.clear()
        outcome = result("i=0; while [ $i -lt 3000 ]; do echo k$i: $i; i=$((i+1)); done >&$FD")
        equal((outcome["state"], len(outcome["result"])), ("passed", 3000))
        equal(len([event for event in x.events if event["event"] == "result"]), 1000)
        outcome = x.one(shell("echo check: pass >&3"))
        equal((outcome["state"], outcome["result"]), ("failed", {}))


URGENT = """
import os, socket
channel = socket.socket(fileno=int(os.environ["FD"]))
refused = 0
for data, urgent in ((b"check: pa", 0), (b"s", 1), (b"s\\na: 1\\nb", 0), (b": 2\\n", 1), (b"c: 3\\n", 1), (b"d: 4", 0), (b"5", 1)):
    try:
        channel.send(data, socket.MSG_OOB * urgent)
    except OSError:
        refused += urgent
        channel.send(data)
print(refused)
"""


def urgent_bytes(folder):
    """Urgent bytes take nothing out of the result channel: refused in the sandbox, without one bytes like others"""
    for arguments in ([], ["--level", "off"]):
        with Exec(folder, arguments=arguments) as x:
            outcome = x.one({"argv": ["python3", "u.py"], "inputs": {"u.py": text(URGENT)}, "result": "FD"})
            equal(outcome["result"], {"check": "pass", "a": "1", "b": "2", "c": "3", "d": "45"})
            if "seccomp" in outcome["protections"]:
                equal(outcome["stdout"]["text"], "4\n")


def outputs(folder):
    """Declared outputs: missing ones, links, FIFOs and sockets make the step fail"""
    with Exec(folder) as x:
        for script, wanted in (
                ("true", "does not exist"),
                ("ln -s /etc/passwd out/x", "symbolic link"),
                ("mkdir out/x; ln -s /etc out/x/etc", "symbolic link"),
                ("mkfifo out/x", "FIFO"),
                ("echo a >out/y; ln out/y out/x", "hard link"),
                ("mkdir -p out/x/d; mkfifo out/x/d/f", "FIFO")):
            outcome = x.one(shell(script, outputs=["x"]))
            equal(outcome["state"], "failed")
            contains(outcome["error"], wanted)
        outcome = x.one(shell("mkdir out/d; echo >out/d/x; ln -s d out/l", outputs=["l/x"]))
        contains(outcome["error"], "not a folder")
        outcome = x.one(shell("d=out/x; for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21 22 23 24 25 26 27 28 29 30 31 32 33 34; "
                              "do mkdir $d; d=$d/a; done", outputs=["x"]))
        contains(outcome["error"], "nested deeper")
        equal(x.one(shell("mkdir -p out/x/y; echo >out/x/y/z", outputs=["x"]))["state"], "passed")
        equal(x.one(shell("ln -s /etc/passwd out/x", artifacts=["x"]))["state"], "failed")


def artifacts(folder):
    """Artifacts come back with size and digest in the spool, also of a step that failed"""
    spool = os.path.join(folder, "kept")
    with Exec(folder) as x:
        x.run("j", [dict(shell("printf profile >out/p.txt; mkdir out/d; printf x >out/d/q; exit 1"), id="s", kind="run",
                         artifacts=["p.txt", "d", "absent"])], spool=spool)
        outcome = x.done("j")["outcomes"][0]
        equal(outcome["state"], "failed")
        equal(sorted(a["name"] for a in outcome["artifacts"]), ["d/q", "p.txt"])
        for artifact in outcome["artifacts"]:
            with open(os.path.join(spool, "s", artifact["name"]), "rb") as file:
                data = file.read()
            equal((artifact["size"], artifact["sha256"]), (len(data), hashlib.sha256(data).hexdigest()))
        x.close()
        equal(spools(x.state), [])


def limits(folder):
    """Every limit ends the step and is named"""
    with Exec(folder) as x:
        equal([x.one(shell("sleep 60", limits={"wall": 0.2}))[key] for key in ("state", "limit", "exit")], ["limit", "wall", None])
        equal(x.one(shell("while :; do :; done", limits={"cpu": 0.3, "wall": 200}))["limit"], "cpu")
        hog = "a=x; while :; do a=$a$a; done"
        equal(x.one(shell(hog, limits={"memory": 64 << 20, "wall": 200}))["limit"], "memory")
        outcome = x.one(shell("head -c 30000000 /dev/zero >out/x || exit 1", limits={"disk": 1 << 20}))
        equal((outcome["state"], outcome["limit"], outcome["limit_value"]), ("limit", "disk", 1 << 20))
        outcome = x.one(shell("for i in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16; do sleep 100 & done; exit 0", limits={"processes": 6, "wall": 200}))
        assert (outcome["limit"], outcome["limit_value"]) == ("processes", 6) and outcome["wall_ns"] < 100e9, outcome
        # dash ends where it cannot fork; this one computes until its time is over.
        forks = "import os, signal\nfor _ in range(9):\n try: os.fork() or signal.pause()\n except OSError:\n  while True: pass"
        outcome = x.one(shell(f"exec {sys.executable} -c '{forks}'", limits={"processes": 4, "cpu": 1, "wall": 250}))
        equal((outcome["limit"], outcome.get("also")), ("cpu", {"limit": "processes", "value": 4.0}))
        outcome = x.one(shell("yes", limits={"output": 4096, "wall": 200}))
        equal((outcome["state"], outcome["limit"]), ("limit", "output"))
        outcome = x.one(shell("echo first; head -c 30000 /dev/zero | tr '\\0' x; echo last", limits={"output": 4096}))
        equal(outcome["state"], "passed")
        equal(outcome["stdout"]["bytes"], 30011)
        equal(outcome["stdout"]["cut"], 30011 - 4096)
        assert outcome["stdout"]["text"].startswith("first\nxxx") and outcome["stdout"]["text"].endswith("xxxlast\n"), outcome
        outcome = x.one(shell("printf 'a\\033[31m\\377b\\n'"))
        equal((outcome["stdout"]["text"], outcome["stdout"]["replaced"]), ("a\ufffd[31m\ufffdb\n", 2))


def cpu_cache(folder):
    """A run knows how much of the processor's cache to flush, at most a quarter of its memory"""
    sizes = [int(path.read_text().rstrip("K\n")) << 10 for path in pathlib.Path("/sys/devices/system/cpu/cpu0/cache").glob("index*/size")]
    for config, limits, flushed in (({"cpu_cache": 16 << 20}, {}, 16 << 20), ({"cpu_cache": 1 << 30}, {"memory": 96 << 20}, 24 << 20),
                                    ({}, {"memory": 2 << 30}, min(max(sizes, default=32 << 20), 512 << 20))):
        with Exec(folder, config=config) as x:
            equal(int(x.one(shell("echo $KETTLE_CPU_CACHE", limits=limits))["stdout"]["text"]), flushed)


def memory(folder):
    """A run has what its plan says, else its unit's, else its share of the machine; more than there is is refused"""
    over = "exec %s -c 'import sys, time; x = b\"x\" * int(sys.argv[1]); time.sleep(%d)' %%d" % (sys.executable, PATIENCE)
    with Exec(folder, config={"limits": {"memory": 256 << 20}}) as x:
        for unit, limits, most in (({}, {}, 256), ({"memory": 64 << 20}, {}, 64), ({"memory": 64 << 20}, {"memory": 96 << 20}, 96)):
            outcome = x.one(shell(over % (300 << 20), limits=limits), unit=dict(unit, name="u"))
            equal((outcome["state"], outcome["limit"], outcome["limit_value"]), ("limit", "memory", most << 20))
        for unit, limits, words in (({"memory": 512 << 20}, {}, "has `memory: 536870912`, but a run on this machine has 268435456"),
                                    ({}, {"memory": 512 << 20}, "The task requires 512 MiB of memory, but a run on this machine has 256"),
                                    ({"memory": "x"}, {}, "must be positive integers"),
                                    ({"runner_slots": 0}, {}, "must be positive integers")):
            x.run("one", [dict(shell("true", limits=limits), id="s", kind="run")], unit=dict(unit, name="u"))
            done = x.done("one")
            equal(done["status"], "lost")
            contains(done["error"], words)
    # A share of 10,000 is less than any interpreter needs.
    with Exec(folder, config={}) as x:
        outcome = x.one(shell(over % 1), unit={"name": "u", "runner_slots": 10000})
        equal((outcome["state"], outcome["limit"]), ("limit", "memory"))
        assert outcome["limit_value"] < x.hello["machine"]["memory"] / 10000, outcome


def starved(folder):
    """A build that the machine leaves no time has its wall time once more, five times altogether; a run, or an optional step, has not"""
    busy = "import os, sys\nos.sched_setaffinity(0, {int(sys.argv[1])})\nprint(flush=True)\nwhile True: pass\n"
    children = [subprocess.Popen([sys.executable, "-c", busy, str(core)], stdout=subprocess.PIPE)
                for core in sorted(os.sched_getaffinity(0))]
    try:
        for child in children:
            child.stdout.readline()
        with Exec(folder) as x:
            equal(x.one(shell("sleep 1.5", kind="build", limits={"wall": 1}))["state"], "passed")
            outcome = x.one(shell("sleep 60", kind="build", limits={"wall": 0.3}))
            equal(outcome["limit"], "wall")
            # Its processes begin some time after its limit does.
            assert outcome["wall_ns"] > 1e9, outcome
            equal(x.one(shell("sleep 60", kind="run", device=1, limits={"wall": 0.3}))["limit"], "wall")
            equal(x.one(shell("sleep 1.5", kind="prepare", optional=True, limits={"wall": 1}))["limit"], "wall")
    finally:
        for child in children:
            child.kill()
            child.wait()
            child.stdout.close()


def machine_limits(folder):
    """exec.yml's limits are the most that a plan gets"""
    with Exec(folder, config={"limits": {"wall": 0.3}}) as x:
        equal(x.one(shell("sleep 60", limits={"wall": 1000}))["limit"], "wall")


def missing_tool(folder):
    """A missing tool is the machine's trouble, and named"""
    with Exec(folder) as x:
        outcome = x.one({"argv": ["no-such-tool-here", "x"]})
        equal((outcome["state"], outcome["missing"]), ("error", "no-such-tool-here"))
        contains(outcome["error"], "This machine has no `no-such-tool-here`")
        outcome = x.one({"argv": ["./nothing"]})
        equal(outcome["state"], "failed")
        outcome = x.one({"argv": ["./text"], "inputs": {"text": text("\x01no program")}})
        equal(outcome["state"], "failed")


def prepare(folder):
    """A prepare step writes to a discarded copy, what others see stays"""
    steps = [
        dict(shell("echo made >out/m"), id="build", kind="build", outputs=["m"]),
        dict(shell("cat in m; echo changed >in; echo changed >m; echo new >new; cat in; echo kept >out/k; env"), id="prep", kind="prepare",
             inputs={"in": {"file": "f"}, "m": {"step": "build", "output": "m"}}, outputs=["k"]),
        dict(shell("cat in m k; ls"), id="run", kind="run", needs=["prep"],
             inputs={"in": {"file": "f"}, "m": {"step": "build", "output": "m"}, "k": {"step": "prep", "output": "k"}}),
    ]
    with Exec(folder) as x:
        outcomes = x.outcomes("j", steps, {"f": text("original\n")})
        equal([outcome["state"] for outcome in outcomes.values()], ["passed"] * 3)
        contains(outcomes["prep"]["stdout"]["text"], "original\nmade\nchanged\n")
        equal(outcomes["run"]["stdout"]["text"], "original\nmade\nkept\nin\nk\nm\nout\n")


def prepared_folder(folder):
    """What a prepare step left below out/ is there for every later step as it was, to be changed and thrown away"""
    look = "stat -c '%Y %n' out/c/f out/c/d/g; cat out/c/f; touch -r out/c/f ref 2>&1; echo changed >out/c/f; echo new >out/c/new; ls out/c"
    steps = [
        dict(shell("mkdir -p out/c/d; echo kept >out/c/f; echo >out/c/d/g; touch -d @1000000000.123456789 out/c/f; touch -d @1000000001 out/c/d/g"),
             id="prep", kind="prepare", outputs=["c"], cache=True),
        dict(shell(look), id="one", kind="run", inputs={"out/c": {"step": "prep", "output": "c"}}, outputs=["c/new"]),
        dict(shell(look), id="two", kind="run", inputs={"out/c": {"step": "prep", "output": "c"}}),
        dict(shell(look), id="three", kind="prepare", inputs={"out/c": {"step": "prep", "output": "c"}}),
        dict(shell("find out/c/f -newermt @1000000000.123456788 ! -newermt @1000000000.123456789"), id="exact", kind="run",
             inputs={"out/c": {"step": "prep", "output": "c"}}),
    ]
    wanted = "1000000000 out/c/f\n1000000001 out/c/d/g\nkept\n"
    for again in (False, True):
        with Exec(folder) as x:
            outcomes = x.outcomes("j", steps)
            equal([outcome["state"] for outcome in outcomes.values()], ["passed"] * 5)
            equal(outcomes["prep"]["cached"], again)
            for name in ("one", "two", "three"):
                contains(outcomes[name]["stdout"]["text"], wanted)
                assert outcomes[name]["stdout"]["text"].endswith("d\nf\nnew\n"), outcomes[name]
            equal(outcomes["exact"]["stdout"]["text"], "out/c/f\n")


def prepare_keys(folder):
    """A prepare step is looked up by all that it depends on; a tool it may not need is no reason to fail"""
    def step(**more):
        return dict(dict(shell("cat in >out/k"), id="p", kind="prepare", inputs={"in": text("one")}, outputs=["k"], cache=True,
                         toolchain=["sh", "no-such-tool-here"]), **more)
    with Exec(folder) as x:
        def cached(**more):
            outcome = x.outcomes("j", [step(**more)])["p"]
            equal(outcome["state"], "passed")
            return outcome["cached"]
        equal([cached(), cached()], [False, True])
        equal([cached(inputs={"in": text("two")}), cached(env={"A": "1"}), cached(inputs={"in": text("one"), "more": text("")})], [False] * 3)
        equal([cached(kind="build", toolchain=["sh"]), cached()], [False, True])
        failing = dict(shell("exit 1"), id="p", kind="prepare", outputs=[], cache=True)
        equal([x.outcomes("j", [failing])["p"]["state"] for _ in range(2)], ["failed"] * 2)


def absolute_tools(folder):
    """argv[0] may be the path of a tool; its prefix is shown, and where it is not the outcome names it"""
    prefix = os.path.join(folder, "opt")
    os.makedirs(os.path.join(prefix, "bin"))
    os.makedirs(os.path.join(folder, "far", "bin"))
    os.chmod(folder, 0o755)
    with open(os.path.join(folder, "far", "bin", "real"), "w") as file:
        file.write("#!/bin/sh\necho ran; ls %s/far/bin\n" % folder)
    os.chmod(os.path.join(folder, "far", "bin", "real"), 0o755)
    os.symlink("../../far/bin/real", os.path.join(prefix, "bin", "mytool"))
    with Exec(folder) as x:
        outcome = x.one({"argv": [os.path.join(prefix, "bin", "mytool")]})
        equal((outcome["state"], outcome["stdout"]["text"]), ("passed", "ran\nreal\n"))
        outcome = x.one({"argv": ["/no/such/tool", "x"]})
        equal((outcome["state"], outcome["missing"]), ("error", "/no/such/tool"))
        contains(outcome["error"], "This machine has no `/no/such/tool`")


def secrets(folder):
    """A secret reaches the harness and nothing else"""
    secret = "sesame-74520"
    steps = [
        dict(shell("env"), id="build", kind="build", outputs=[]),
        dict(shell("[ \"$SEED\" = %s ] && echo \"check: pass\" >&$FD" % secret.replace("sesame", "ses''ame")), id="run", kind="run",
             result="FD", secret={"SEED": secret}, run={"mode": "leaderboard", "secret": True},
             **{"pass": {"result": {"check": "pass"}}}),
    ]
    with Exec(folder) as x:
        outcomes = x.outcomes("j", steps)
        equal([outcome["state"] for outcome in outcomes.values()], ["passed", "passed"])
        equal(outcomes["run"]["run"], {"mode": "leaderboard", "secret": True})
        assert secret not in json.dumps(x.events), "the secret is in an event"


def secrets_by_descriptor(folder):
    """A secret that comes by descriptor is in no environment, can be read once, and must be read"""
    secret = {"SEED": "sesame-74520", "OTHER": "a=b c"}
    read = shell("tr '\\0' '\\n' </proc/$$/environ | grep -c -e sesame -e OTHER; env | grep -c sesame; cat <&$S; echo :; cat <&$S",
                 secret=secret, secret_fd="S")
    with Exec(folder) as x:
        outcome = x.one(read)
        equal((outcome["state"], outcome["stdout"]["text"]), ("passed", "0\n0\nSEED=sesame-74520\nOTHER=a=b c\n:\n"))
        outcome = x.one(shell("exit 0", secret=secret, secret_fd="S"))
        equal(outcome["state"], "failed")
        contains(outcome["error"], "without having read its secret")
        equal(x.one(shell("exit 3", secret=secret, secret_fd="S"))["state"], "failed")
        equal(x.one(shell("[ -z \"$(cat <&$S)\" ]", secret={}, secret_fd="S"))["state"], "passed")
        big = {"A%d" % i: "x" * 90 for i in range(40)}
        equal(x.one(shell("cat <&$S | wc -l", secret=big, secret_fd="S"))["stdout"]["text"].strip(), "40")


def left_behind(folder):
    """What a step leaves running is counted and dead"""
    marker = "4711.%d" % os.getpid()
    with Exec(folder) as x:
        outcome = x.one(shell("sleep %s & setsid sleep %s & exit 0" % (marker, marker)))
        equal((outcome["state"], outcome["left_behind"]), ("passed", 2))
        equal(processes_with(marker), [])


def referee_and_solver(folder):
    """Referee and solver talk over their socket and share memory; only the referee has the rest"""
    def source(name):
        with open(os.path.join(SOURCE, "tests/integration", name)) as file:
            return text(file.read())
    build = [dict(argv=["gcc", "-O1", name + ".c", "-o", "out/" + name], id=name, kind="build", cache=True,
                  inputs={name + ".c": source("exec_%s.c" % name)}, outputs=[name]) for name in ("referee", "solver")]
    def duel(solver_args, **more):
        return dict({
            "id": "duel", "kind": "run", "result": "RESULT_FD", "unique": ["check"], "share": 65536,
            "secret": {"SEED": "12345"}, "cases": {"name": "cases.txt", "text": "n: 7\n"},
            "pass": {"result": {"check": "pass"}},
            "referee": {"argv": ["./referee", "cases.txt"], "inputs": {"referee": {"step": "referee", "output": "referee"}}},
            "solver": {"argv": ["./solver"] + solver_args, "inputs": {"solver": {"step": "solver", "output": "solver"}}}}, **more)
    with Exec(folder) as x:
        outcomes = x.outcomes("j", build + [duel([])])
        outcome = outcomes["duel"]
        equal((outcome["state"], outcome["exit"]), ("passed", 0))
        equal(outcome["result"], {"check": "pass", "sum": "28"})
        # What the solver found of cases, secret and result channel when it looked: nothing.
        equal(outcome["solver"]["stdout"]["text"], "cases no\nsecret no\nresult no\n")
        assert outcome["solver"]["stopped"], outcome["solver"]
        outcome = x.outcomes("early", build + [duel(["early"])])["duel"]
        equal((outcome["state"], outcome["result"]), ("failed", {"check": "fail"}))
        # The referee sees the socket close before the solver's end is reported.
        equal((outcome["solver"]["exit"], outcome["solver"]["stopped"]), (7, False))
        outcome = x.outcomes("wrong", build + [duel(["wrong"])])["duel"]
        equal((outcome["state"], outcome["result"]["check"]), ("failed", "fail"))
        slow = duel(["hang"])
        slow["solver"]["limits"] = {"wall": 0.3}
        outcome = x.outcomes("hang", build + [slow])["duel"]
        equal((outcome["state"], outcome["limit"], outcome["solver"]["limit"]), ("limit", "wall", "wall"))
        missing = duel([])
        missing["solver"]["argv"] = ["no-such-tool-here"]
        outcome = x.outcomes("missing", build + [missing])["duel"]
        equal((outcome["state"], outcome["missing"]), ("error", "no-such-tool-here"))


def pinned(folder):
    """Run steps have the cores of their unit, builds others and a lower priority"""
    cores = sorted(os.sched_getaffinity(0))
    script = "grep Cpus_allowed_list /proc/self/status; nice"
    steps = [dict(shell(script), id="b", kind="build"), dict(shell(script), id="r", kind="run")]
    with Exec(folder) as x:
        outcomes = x.outcomes("j", steps, unit={"name": "c", "cores": str(cores[-1])})
        equal(outcomes["r"]["stdout"]["text"].split()[1:], [str(cores[-1]), str(os.nice(0))])
        equal(outcomes["b"]["stdout"]["text"].split()[-1], str(min(os.nice(0) + 10, 19)))
        if len(cores) > 1:
            assert outcomes["b"]["stdout"]["text"].split()[1] != str(cores[-1]), outcomes
            equal(os.sched_getaffinity(x.process.pid), set(cores[:-1]))
        equal(x.one(shell("nproc"), unit={"name": "d"})["stdout"]["text"], "%d\n" % len(cores))
        x.run("far", steps, unit={"cores": "1000"})
        done = x.done("far")
        equal(done["status"], "lost")
        contains(done["error"], "core 1000 is not available")


def tools(folder):
    """exec.yml names tools, what they need, and what may be read besides"""
    prefix = os.path.join(folder, "opt")
    os.makedirs(os.path.join(prefix, "bin"))
    os.makedirs(os.path.join(prefix, "data"))
    os.mkdir(os.path.join(folder, "more"))
    os.chmod(folder, 0o755)
    tool = os.path.join(prefix, "bin", "mytool")
    with open(tool, "w") as file:
        file.write("#!/bin/sh\necho $WHERE; ls %s/data %s/more 2>&1; mytool2\n" % (prefix, folder))
    with open(tool + "2", "w") as file:
        file.write("#!/bin/sh\necho second\n")
    os.chmod(tool, 0o755)
    os.chmod(tool + "2", 0o755)
    config = {"tools": {"mytool": tool}, "env": {"mytool": {"WHERE": "here"}}, "extra_paths": [os.path.join(folder, "more"), "/no/such"]}
    with Exec(folder, config=config) as x:
        outcome = x.one({"argv": ["mytool"]})
        equal(outcome["state"], "passed")
        contains(outcome["stdout"]["text"], "here\n")
        assert "No such" not in outcome["stdout"]["text"], outcome
        contains(outcome["stdout"]["text"], "second\n")
        contains(json.dumps(x.hello["tools"]), "mytool")


if __name__ == "__main__":
    sys.exit(main([passes_and_fails, needs_and_skips, optional, inputs, missing_inputs, sandboxed, result_channel, urgent_bytes, outputs, artifacts, limits, memory, cpu_cache, starved,
                   machine_limits, missing_tool, prepare, prepared_folder, prepare_keys, secrets, secrets_by_descriptor, absolute_tools, left_behind, referee_and_solver, pinned, tools]))
