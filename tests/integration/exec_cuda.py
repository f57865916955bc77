# SPDX-License-Identifier: MIT
"""The harness of boards in CUDA and its supervisor, in processes that have opened the GPU before their run was known and in
others: right submissions, and hostile ones of tests/attacks/cu. There is no GPU: tests/peers/gpu stands in for the runtime."""
from exec_driver import *
import glob
import re

import exec_host
import exec_prepared

sys.path.insert(0, os.path.join(SOURCE, "tests", "attacks"))
import attacks  # noqa: E402
import sizes  # noqa: E402

TASK, HARNESS = os.path.join(SOURCE, "tests", "attacks", "task_cu"), os.path.join(SOURCE, "tasks", "harness")
FLAGS = ["-std=c++17", "-O0", "-pthread", "-fPIC", *(f"-I{folder}" for folder in (
    os.path.join(SOURCE, "tests", "peers", "gpu"), HARNESS, TASK))]
LINK = ["-shared", *(f"-Wl,{word}" for word in (
    "--defsym=kettle_harness=kettle_harness_start", "-init=kettle_harness_start", "--entry=main", "-Bsymbolic", "-zdefs"))]
SECRET = {"POPCORN_SEED": "1987654321", "KETTLE_SECRET": "0f1e2d3c4b5a69788796a5b4c3d2e1f0"}
# As numbers, in memory: what an attack prints.
SEEDS = {*SECRET.values(), str(0x0f1e2d3c4b5a6978), str(0x8796a5b4c3d2e1f0)}
PIECES = {SECRET["KETTLE_SECRET"][i:i + 8] for i in range(25)}
# What depends on the steps before the run, which set the submission's symbols apart.
LINKED = ("replaces_harness", "build_blames_machine", "includes_secret", "replaces_start")
HONEST = '#include "attack.h"\nvoid custom_kernel(Span<const float> in, Span<float> out)\n{\n%s\thonest(in, out);\n}\n'
ENDS = ("abort();", "*(volatile int *)8 = 1;", "raise(SIGKILL);", "for (;;) pause();", "out[0] = 1; return;", "")


def compiled(folder, name, text):
    path = os.path.join(folder, name)
    with open(path + ".cu", "w") as file:
        file.write(text)
    subprocess.run(["g++", *FLAGS, f"-I{folder}", "-x", "c++", "-c", path + ".cu", "-o", path + ".o"], check=True)
    return path + ".o"


class Programs:
    """Built with the harness, which is compiled once."""

    def __init__(self, folder):
        self.folder = folder
        shutil.copy(os.path.join(SOURCE, "tests", "attacks", "task", "attack.h"), folder)
        self.harness = compiled(folder, "harness", '#include "eval.cu"\n')

    def build(self, name, text):
        path = os.path.join(self.folder, name)
        subprocess.run(["g++", "-pthread", *LINK, self.harness, compiled(self.folder, name, text), "-o", path], check=True)
        with open(path, "rb") as file:
            return b64(file.read())


def step(server, program, mode="test", wall=60, **more):
    return exec_host.step(server, program, mode, "cases.txt", host="supervised", cases={"name": "cases.txt", "text": "size: 1000; seed: 4242\n"},
                          result="POPCORN_FD", secret=SECRET, limits={"wall": wall}, **{"pass": {"result": {"check": "pass"}}, **more})


def both(folder, programs):
    """Of each (name, program, mode, wall, whether it always passes) the outcome of an ordinary start, and that of one in a
    prepared process."""
    with exec_prepared.start(folder, prepare="off") as server:
        ordinary = [one(server, *program[:-1]) for program in programs]
    with exec_prepared.start(folder) as server:
        found = []
        for program in programs:
            one(server, *program[:-1])
            exec_prepared.await_prepared(server)
            found.append(one(server, *program[:-1]))
            # What ends there without a verdict is run again, and what comes of that counts; it may have one.
            assert found[-1].get("prepared") or not program[-1], (program[0], found[-1])
            exec_prepared.await_prepared(server)
        equal(exec_prepared.warned(server), [])
    return list(zip(ordinary, found))


def one(server, name, program, mode, wall):
    outcome = server.one(step(server, program, mode, wall), unit={"name": "d", "gpu": 0})
    printed = outcome["stderr"]["text"] + outcome["stdout"]["text"]
    assert "ESCAPED" not in printed, (name, printed)
    seen = SEEDS & set(re.findall(r"\w+", printed)) or PIECES & {printed[i:i + 8] for i in range(len(printed))}
    assert not seen, (name, seen)
    return outcome


def passes(folder):
    """A right submission passes in every mode, with the same lines of results"""
    program = Programs(folder).build("honest", HONEST % "")
    for ordinary, found in both(folder, [("honest", program, mode, 60, True) for mode in ("test", "benchmark", "leaderboard")]):
        equal((ordinary["state"], found["state"]), ("passed", "passed"))
        equal(sorted(ordinary["result"]), sorted(found["result"]))
        equal(ordinary["result"]["check"], "pass")


def ends(folder):
    """What is wrong is judged where it ran first, and what hangs ends there; what crashes or ends, too, but is then run
    again, and only that outcome is seen; nothing is left behind"""
    programs = Programs(folder)
    cases = [(f"end{i}", programs.build(f"end{i}", HONEST % f"\t{how}\n"), "test", 2 if "pause" in how else 60, not how) for i, how in enumerate(ENDS)]
    found = both(folder, cases)
    for ordinary, other in found:
        equal(*((outcome["state"], outcome["exit"], outcome["signal"], outcome["result"].get("check")) for outcome in (ordinary, other)))
    equal([other.get("prepared") for _, other in found], [None, None, None, True, True, True])
    equal([ordinary["state"] for ordinary, _ in found], ["failed", "failed", "failed", "limit", "failed", "passed"])
    equal([ordinary["signal"] for ordinary, _ in found[:3]], [signal.SIGABRT, signal.SIGSEGV, signal.SIGKILL])


def hostile(folder):
    """Hostile submissions get no further in a prepared process than in another; one without a verdict is run again after it"""
    programs = Programs(folder)
    found = [attacks.Attack(path) for path in sorted(glob.glob(os.path.join(SOURCE, "tests", "attacks", "cu", "*.cu")))]
    cases, expected = [], []
    for attack in found:
        for variant in attack.variants() if attack.name not in LINKED else ():
            name = attack.name + (variant[1] if variant else "")
            program = programs.build(name, attack.text.replace(*variant) if variant else attack.text)
            cases.append((name, program, {"ranked": "leaderboard"}.get(attack.head.get("mode"), "test"),
                          3 if "timed_out" in attack.expect else 60, attack.expect == ["passed"]))
            expected.append(attack)
    for (name, *_), attack, outcomes in zip(cases, expected, both(folder, cases)):
        for outcome in outcomes:
            state = {"limit": "timed_out"}.get(outcome["state"], outcome["state"])
            assert state in attack.expect, (name, outcome)
            assert attack.ran(outcome["stderr"]["text"]), (name, outcome)


def apart(folder):
    """The run of one user leaves nothing for the next one"""
    programs = Programs(folder)
    text = HONEST % ('\tif (!access("/tmp/mark", F_OK) || !access("/dev/shm/mark", F_OK) || getenv("MARK")) escaped("a mark is there");\n'
                     '\tfor (const char *path : {"/tmp/mark", "/dev/shm/mark"}) close(open(path, O_CREAT | O_WRONLY, 0600));\n'
                     '\tsetenv("MARK", "1", 1);\n\tif (fork() == 0) setsid(), pause();\n')
    program = programs.build("marks", text)
    with exec_prepared.start(folder) as server:
        one(server, "marks", program, "test", 60)
        for _ in range(3):
            exec_prepared.await_prepared(server)
            outcome = one(server, "marks", program, "test", 60)
            equal((outcome["state"], outcome.get("prepared")), ("passed", True))


def refused(folder):
    """A supervisor needs a channel, and no descriptor of the program may have the secret"""
    with exec_prepared.start(folder) as server:
        usual = step(server, b64(b"x"))
        for plan in ({key: value for key, value in usual.items() if key not in ("result", "pass")}, dict(usual, secret_fd="SEED_FD")):
            server.run("j", [plan])
            contains(str(server.done("j")["error"]), "supervisor")


if __name__ == "__main__":
    sys.exit(main([passes, ends, hostile, apart, refused]))
