# SPDX-License-Identifier: MIT
"""Steps of a referee and a solver: what each gets, what is whose, the limits of both, how either ends, and warm starts."""
import fcntl

from exec_devices import ALWAYS, start
from exec_driver import *
import exec_warm

HEAD = "import os, socket, sys, time\npeer = socket.socket(fileno=int(os.environ['KETTLE_PEER_FD']))\n"
# Asks for one byte, and reports whether it came.
ASK = """
result = os.fdopen(int(os.environ['RESULT_FD']), 'w', buffering=1)
def ask():
    try:
        peer.sendall(b'g')
        return peer.recv(1) == b'd'
    except OSError:
        return False
def end():
    if ask():
        print('check: pass', file=result)
        sys.exit(0)
    print('solver: gone', 'check: fail', sep='\\n', file=result)
    sys.exit(112)
"""
DONE = "\npeer.recv(1)\npeer.sendall(b'd')\npeer.recv(1)\n"
ENVIRONMENT = {"PYTHONNOUSERSITE": "1", "PYTHONHASHSEED": "0"}
MIB = 1 << 20


def pair(referee="end()", solver=DONE, python="python3", **more):
    """A step whose referee and solver run these lines; more: further members of the step."""
    def process(code):
        return {"argv": [python, "run.py"], "inputs": {"run.py": text(code)}, "env": ENVIRONMENT}
    return dict({"id": "s", "kind": "run", "result": "RESULT_FD", "pass": {"result": {"check": "pass"}},
                 "referee": process(HEAD + ASK + referee), "solver": process(HEAD + solver)}, **more)


def passed(outcome):
    equal((outcome["state"], outcome["stderr"]["text"], outcome["solver"]["stderr"]["text"]), ("passed", "", ""))
    return outcome


SEEN = """
def seen():
    print(sorted(int(n) for n in os.listdir('/proc/self/fd') if os.path.exists('/proc/self/fd/' + n)),
          sorted(n for n in os.environ if n in ('SEED', 'RESULT_FD', 'SECRET_FD', 'KETTLE_SHM_FD')), sorted(os.listdir('.')), flush=True)
seen()
"""


def apart(folder):
    """Secret, result channel and cases are the referee's alone"""
    referee = SEEN + "print(os.read(int(os.environ['SECRET_FD']), 99).decode(), end='', flush=True)\nend()"
    with Exec(folder) as x:
        outcome = passed(x.one(pair(referee, SEEN + DONE, share=65536, secret={"SEED": "7"}, secret_fd="SECRET_FD",
                                    cases={"name": "cases.txt", "text": "n: 1\n"})))
        equal(outcome["stdout"]["text"].splitlines(),
              ["[0, 1, 2, 3, 4, 5, 6] ['KETTLE_SHM_FD', 'RESULT_FD', 'SECRET_FD'] ['cases.txt', 'out', 'run.py']", "SEED=7"])
        equal(outcome["solver"]["stdout"]["text"].splitlines(), ["[0, 1, 2, 4, 5] ['KETTLE_SHM_FD'] ['out', 'run.py']"])


LOAD = """
import _ctypes
library = _ctypes.dlopen(os.environ['KETTLE_SHM_LIBRARY'], 2)
print(os.environ['KETTLE_SHM_LIBRARY'], *[_ctypes.dlsym(library, name) > 0 for name in ('kettle_flush', 'kettle_share_heap')], flush=True)
try:
    open(os.environ['KETTLE_SHM_LIBRARY'], 'r+')
except OSError:
    print('read-only', flush=True)
"""


def library(folder):
    """Processes that share memory find the native library; others do not"""
    with Exec(folder) as x:
        outcome = passed(x.one(pair(LOAD + "end()", LOAD + DONE, share=65536)))
        for one in (outcome, outcome["solver"]):
            equal(one["stdout"]["text"], "/run/kettle-shm.so True True\nread-only\n")
        contains(x.one(pair(LOAD + "end()"))["stderr"]["text"], "KeyError: 'KETTLE_SHM_LIBRARY'")
    with Exec(folder, arguments=["--level", "off"]) as x:
        outcome = passed(x.one(pair(LOAD.split("try:")[0] + "end()", share=65536)))
        contains(outcome["stdout"]["text"], "/warm/shm.so True True")


LEAVE = "os.makedirs('out/cache/triton', exist_ok=True)\nprint(sorted(os.listdir('out/cache/triton')), flush=True)\n" \
        "open('out/cache/triton/%s', 'w').write('x')\n"


def files(folder):
    """Outputs, artifacts and the cache of compilers are the solver's, and nothing of them reaches a referee"""
    referee = LEAVE % "referee" + "open('out/kept', 'w').write('referee')\nend()"
    solver = LEAVE % "one" + "open('out/kept', 'w').write('solver')\n" + DONE
    both = {"outputs": ["kept"], "artifacts": ["kept"], "jit": {"folder": "cache"}}
    after = shell("cat kept", id="after", kind="run", inputs={"kept": {"step": "s", "output": "kept"}})
    with Exec(folder) as x:
        outcomes = x.outcomes("j", [pair(referee, solver, **both),
                                    pair(referee, LEAVE % "two" + DONE, id="t", jit={"folder": "cache"}), after])
        first, second = passed(outcomes["s"]), passed(outcomes["t"])
        equal(outcomes["after"]["stdout"]["text"], "solver")
        equal([file["name"] for file in first["artifacts"]], ["kept"])
        equal((first["stdout"]["text"], first["solver"]["stdout"]["text"]), ("[]\n", "[]\n"))
        equal((second["stdout"]["text"], second["solver"]["stdout"]["text"]), ("[]\n", "['one']\n"))
        equal((first["jit"]["files"], first["jit"]["kept"], second["jit"]["before"]), (1, True, 2))
        # A later job of the owner finds them in its solver, by the solver's inputs alone.
        own = dict(pair("end()", solver, jit={"folder": "cache"}), owner="u1")
        equal(passed(x.one(own))["solver"]["stdout"]["text"], "[]\n")
        own["referee"]["inputs"]["more"] = text("x")
        equal(passed(x.one(own))["solver"]["stdout"]["text"], "['one']\n")


def prepared(folder):
    """A referee's compilers find what a prepare step left, as a copy that is discarded"""
    prepare = shell("mkdir -p out/cache/triton; echo >out/cache/triton/made", id="p", kind="prepare", outputs=["cache"])
    step = pair(LEAVE % "referee" + "end()", LEAVE % "one" + DONE, jit={"folder": "cache"})
    step["referee"]["inputs"]["out/cache"] = {"step": "p", "output": "cache"}
    with Exec(folder) as x:
        outcomes = x.outcomes("j", [prepare, step, dict(step, id="t")])
        for id, found in (("s", "[]\n"), ("t", "['one']\n")):
            equal((passed(outcomes[id])["stdout"]["text"], outcomes[id]["solver"]["stdout"]["text"]), ("['made']\n", found))


def ends(folder):
    """How a solver ends by itself is in the outcome, also if its referee notices before kettle-exec does"""
    with Exec(folder) as x:
        for code, member, value in (("os._exit(7)", "exit", 7), ("sys.exit('no way')", "exit", 1), ("os.abort()", "signal", 6),
                                    ("os._exit(0)", "exit", 0)):
            outcome = x.one(pair(solver=code))
            solver = outcome["solver"]
            equal((outcome["state"], outcome["exit"], outcome["result"]["solver"], outcome["limit"]), ("failed", 112, "gone", None))
            equal((solver[member], solver["stopped"], solver["limit"]), (value, False, None))
        equal(x.one(pair(solver="sys.exit('no way')"))["solver"]["stderr"]["text"], "no way\n")
        # Of a solver that goes on without its socket the referee's end is the end, after a moment.
        outcome = x.one(pair(solver="peer.close()\ntime.sleep(%d)" % PATIENCE))
        equal((outcome["state"], outcome["solver"]["stopped"], outcome["solver"]["first"]), ("failed", True, False))
        # A referee that failed before, and a solver that ends because of it: at nearly the same time, in either order.
        outcome = x.one(pair("sys.exit(113)", "peer.recv(1)\nsys.exit(3)"))
        equal((outcome["exit"], outcome["solver"]["exit"], outcome["solver"]["stopped"]), (113, 3, False))
        missing = pair()
        missing["solver"]["argv"] = ["./run.py"]
        outcome = x.one(missing)
        equal((outcome["state"], outcome["solver"]["first"]), ("failed", True))
        contains(outcome["error"], "./run.py")


def limits(folder):
    """A limit that the solver reaches is that of the step"""
    grow = "\nx = b'x' * (300 << 20)\ntime.sleep(%d)" % PATIENCE
    fork = "\nfor _ in range(99):\n  if os.fork() == 0: time.sleep(%d)\n" % PATIENCE
    cases = (
        (grow, {"memory": 128 * MIB}, "memory", 128 * MIB), ("time.sleep(%d)" % PATIENCE, {"wall": 1}, "wall", 1),
        ("while True: pass", {"cpu": 1}, "cpu", 1), ("while True: print('x' * 9999)", {"output": 1024}, "output", 1024),
        ("open('out/x', 'wb').write(b'x' * (2 << 20))", {"disk": MIB}, "disk", MIB),
        ("open('/dev/shm/x', 'wb').write(b'x' * (2 << 20))", {"shm": MIB}, "shm", MIB), (fork, {"processes": 30}, "processes", None))
    with Exec(folder) as x:
        for code, most, name, value in cases:
            outcome = x.one(pair(solver=code, limits=most))
            equal((outcome["state"], outcome["limit"], outcome["solver"]["limit"]), ("limit", name, name))
            for told in (outcome, outcome["solver"]) if value else ():
                equal(told["limit_value"], value)
        # What the referee reaches is that of the step too, and the solver has reached none.
        slow = pair("time.sleep(%d)" % PATIENCE)
        slow["referee"]["limits"] = {"wall": 1}
        outcome = x.one(slow)
        equal((outcome["state"], outcome["limit"], outcome["solver"]["limit"], outcome["solver"]["first"]), ("limit", "wall", None, False))
        # A solver whose limit comes after all that was wanted of it has passed.
        outcome = x.one(pair(solver="try: open('out/x', 'wb').write(b'x' * (2 << 20))\nexcept OSError: pass\n" + DONE, limits={"disk": MIB}))
        equal((outcome["state"], outcome["limit"], outcome["solver"]["limit"]), ("passed", None, None))
        # Nor does one count beside a fault that the referee has found, unless it has lost the solver.
        fill = "try: open('out/x', 'wb').write(b'x' * (2 << 20))\nexcept OSError: pass\n" + DONE
        for gone, state, limit in (("", "failed", None), ("solver: gone", "limit", "disk")):
            outcome = x.one(pair("ask()\nprint('fault: task', '%s', sep='\\n', file=result)\nsys.exit(113)" % gone, fill,
                                 limits={"disk": MIB}))
            equal((outcome["state"], outcome["limit"], outcome["result"]["fault"]), (state, limit, "task"))


def memory(folder):
    """Referee and solver have one limit of memory together, warm or not, and either may have a lower one"""
    hold = "x = b'x' * (%d << 20)\n"
    with Exec(folder) as x:
        for _ in range(2):  # the second time with sandboxes that were made ahead
            passed(x.one(pair(hold % 60 + "end()", hold % 60 + DONE, limits={"memory": 256 * MIB})))
            # Each alone has less than the limit.
            outcome = x.one(pair(hold % 160 + "end()", "peer.recv(1)\n" + hold % 160 + DONE, limits={"memory": 256 * MIB}))
            equal((outcome["state"], outcome["limit"], outcome["limit_value"]), ("limit", "memory", 256 * MIB))
        low = pair(hold % 60 + "end()", hold % 60 + DONE, limits={"memory": 256 * MIB})
        low["solver"]["limits"] = {"memory": 48 * MIB}
        outcome = x.one(low)
        equal((outcome["limit"], outcome["limit_value"], outcome["solver"]["limit"]), ("memory", 48 * MIB, "memory"))
        # A lower limit of the referee's own is for what it has itself.
        low = pair("ask()\nwhile time.process_time() < 0.3: pass\nend()", hold % 100 + "peer.recv(1)\npeer.sendall(b'd')" + DONE,
                   limits={"memory": 256 * MIB})
        low["referee"]["limits"] = {"memory": 48 * MIB}
        passed(x.one(low))
        # What is shared counts once.
        share = "import mmap\nm = mmap.mmap(int(os.environ['KETTLE_SHM_FD']), 150 << 20)\nm.write(b'x' * (150 << 20))\n"
        shared = pair("ask()\n" + share + "end()", "peer.recv(1)\n" + share + "peer.sendall(b'd')" + DONE, share=150 * MIB,
                      limits={"memory": 512 * MIB})
        passed(x.one(shared))
        x.run("over", [pair(limits={"memory": 1 << 50})])
        contains(x.done("over")["error"], "of memory")


def profiled(folder):
    """A profile is of the solver, whose profiler reports by a channel of its own"""
    step = pair("end()", "print(os.environ.get('RESULT_FD'), flush=True)\n" + DONE, profile="perf", artifacts=["stacks.txt"],
                run={"mode": "profile", "secret": False, "index": 0})
    forged = pair("end()", "os.write(3, b'check: fail\\nprofile.forged: yes\\n')\n" + DONE, profile="perf",
                  run={"mode": "profile", "secret": False, "index": 0})
    with Exec(folder) as x:
        outcome = x.one(step)
        equal((outcome["state"], outcome["solver"]["stdout"]["text"]), ("passed", "None\n"))
        assert outcome["result"].get("profile.tool") == "perf" or outcome["result"].get("profile.trouble"), outcome["result"]
        # Only its profiler's keys are taken; that these can be forged is documented.
        equal(x.one(forged)["result"]["check"], "pass")
        # Without a referee there is nothing to profile, whatever the solver does.
        lone = pair("", "time.sleep(%d)" % PATIENCE, profile="perf", run={"mode": "profile", "secret": False, "index": 0})
        lone["referee"]["argv"] = ["./run.py"]
        outcome = x.one(lone)
        equal((outcome["state"], outcome["solver"]["stopped"]), ("failed", True))
        contains(outcome["error"], "./run.py")


# ---- warm ----

def warm_pair(python, referee=(), solver=(), **more):
    step = pair("end()", DONE, python=python, **more)
    for name, modules in (("referee", referee), ("solver", solver)):
        step[name]["warm"] = {"tool": python, "preload": list(modules)}
    return step


def module(folder, name, source):
    """Writes a module that interpreters may import; the settings and the environment for that."""
    own = os.path.join(folder, "modules")
    os.makedirs(own, exist_ok=True)
    with open(os.path.join(own, name + ".py"), "w") as file:
        file.write(source)
    return {"extra_paths": [own]}, dict(ENVIRONMENT, PYTHONPATH=own)


def warm_of(outcome):
    return outcome.get("warm", False), outcome["solver"].get("warm", False)


def need_warm():
    if not os.path.exists(os.path.join(BUILD, "warm", "python.so")) or os.environ.get("KETTLE_TEST_WARM") == "0":
        raise Skip("warm processes were not built, or are not wanted")
    return pythons.boards()


def warm(folder):
    """Both begin as copies: of one interpreter, or of two, which are started together"""
    python = need_warm()
    with Exec(folder) as x:
        for referee, solver, count in ((["json"], ["json"], 1), (["json"], ["csv"], 2)):
            for _ in range(2):
                equal(warm_of(passed(x.one(warm_pair(python, referee, solver)))), (True, True))
            x.send(op="hello")
            equal(len(x.until(event="hello")["warm"]), count)
        # One of them alone.
        step = warm_pair(python, ["json"], ["csv"])
        del step["referee"]["warm"]
        equal(warm_of(passed(x.one(step))), (False, True))
        # What each alone has imported.
        step = warm_pair(python, ["json"], ["csv"])
        for name in ("referee", "solver"):
            code = step[name]["inputs"]["run.py"]["text"]
            step[name]["inputs"]["run.py"] = text("import sys\nprint([n for n in ('json', 'csv') if n in sys.modules], flush=True)\n" + code)
        outcome = passed(x.one(step))
        equal((warm_of(outcome), outcome["stdout"]["text"], outcome["solver"]["stdout"]["text"]), ((True, True), "['json']\n", "['csv']\n"))


def warm_copies(folder):
    """As many copies of an interpreter are ready as the last step took: one, or both of a referee and its solver"""
    python = need_warm()
    with Exec(folder) as x:
        def copies():
            """Children of inits that wait."""
            return {child for pid in exec_warm.children(x.process.pid) if exec_warm.is_init(pid) for child in exec_warm.children(pid)}
        both, one = (warm_pair(python, ["json"], ["json"]) for _ in range(2))
        del one["solver"]["warm"]
        for step, count in ((one, 1), (both, 2)):
            passed(x.one(step))
            poll(lambda: len(copies()) == count, "%d copies" % count)
        ready = copies()
        equal(warm_of(passed(x.one(both))), (True, True))
        assert not ready & copies(), "a copy was not used"


def warm_limits(folder):
    """Warm ones share their limit of memory, and are judged by their ends as others are"""
    python = need_warm()
    hold = "x = b'x' * (160 << 20)\n"
    with Exec(folder) as x:
        for _ in range(2):
            step = warm_pair(python, ["json"], ["csv"], limits={"memory": 256 * MIB})
            for name, code in (("referee", ASK + hold + "end()"), ("solver", "peer.recv(1)\n" + hold + DONE)):
                step[name]["inputs"]["run.py"] = text(HEAD + code)
            outcome = x.one(step)
            equal((outcome["state"], outcome["limit"], warm_of(outcome)), ("limit", "memory", (True, True)))
        step = warm_pair(python, ["json"], ["csv"])
        step["solver"]["inputs"]["run.py"] = text(HEAD + "os._exit(5)")
        outcome = x.one(step)
        equal((outcome["result"]["solver"], outcome["solver"]["exit"], warm_of(outcome)), ("gone", 5, (True, True)))


def warm_room(folder):
    """Where there is room for one warm interpreter, the solver has it, run after run"""
    python = need_warm()
    with Exec(folder, config={"warm": {"processes": 1, "idle_seconds": 0}}) as x:
        for _ in range(3):
            equal(warm_of(passed(x.one(warm_pair(python, ["json"], ["csv"])))), (False, True))
    # One that fails leaves the other warm.
    config, env = module(folder, "kettle_fails", "raise ValueError('not today')\n")
    with Exec(folder, config=config) as x:
        step = warm_pair(python, ["kettle_fails"], ["csv"])
        step["referee"]["env"] = env
        for _ in range(2):
            equal(warm_of(passed(x.one(step))), (False, True))


def cancelled(folder):
    """A job that is cancelled while one of its interpreters starts ends, and the next one has both"""
    python = need_warm()
    # Its import waits for the lock of its own file, which this process has until the job has ended.
    config, env = module(folder, "kettle_slow", "import fcntl\nopen('/proc/self/comm', 'w').write('kettle-slow')\n"
                         "fcntl.flock(open(__file__), fcntl.LOCK_SH)\n")
    gate = open(os.path.join(folder, "modules", "kettle_slow.py"))
    fcntl.flock(gate, fcntl.LOCK_EX)
    step = warm_pair(python, ["json"], ["kettle_slow"])
    step["solver"]["env"] = env

    def starts():
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open("/proc/%s/comm" % pid) as file:
                    if file.read() == "kettle-slow\n":
                        return True
            except OSError:
                pass
        return False
    with Exec(folder, config=config) as x:
        x.run("c", [step])
        poll(starts, "an interpreter that imports")
        x.send(op="cancel", job="c")
        equal(x.done("c")["status"], "cancelled")
        gate.close()
        equal(warm_of(passed(x.outcomes("d", [step])["s"])), (True, True))


def repeated(folder):
    """A step that is run once more, since its GPU was throttled, starts from warm processes again"""
    python = need_warm()
    step = warm_pair(python, ["json"], ["csv"], device=1)
    # 1: greeting, 2: before, 3: after the first time, 4: it recovered.
    with start(folder, (3, 3, "reasons", 0, 0x60), (3, ALWAYS, "thermal_ns", 0, 9 * 10**9)) as x:
        outcome = passed(x.one(step, unit={"gpu": 0}))
        equal((outcome["device"]["repeated"], warm_of(outcome)), (True, (True, True)))


if __name__ == "__main__":
    # A sanitizer's kettle-profile does not work in a sandbox.
    sys.exit(main([apart, library, files, prepared, ends, limits, memory, warm, warm_copies, warm_limits, warm_room, cancelled, repeated] + [profiled] * (not sanitizer())))
