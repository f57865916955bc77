# SPDX-License-Identifier: MIT
"""Section referee: what it costs that a referee judges in another process than the submission's, beside a harness in KernelBot's
form, which has all in one; and whether a submission that cheats scores as one that does its work honestly.

Only what a harness offers to others is driven: kettle's commands and, for the hand-over of a call, Memory, Pipes, Echo and Driver
of tasks/harness. Those run in a process of the boards' interpreter (this file as a program), which prints its samples."""
import json
import os
import pathlib
import re
import statistics
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parents[1]
LEVELS = (("identity_py", "size: 65536; reverse: false"), ("matmul_np", "m: 128; n: 128; k: 128"), ("vectoradd_py", "size: 65536"))
CALLS = 400
CASES = 100  # of the long run, from which what one costs is known
WORK_NS = 3_000_000  # of the attacks that are compared with their twin
TWIN = "from attack import tried, work\n\n\ndef custom_kernel(data):\n    tried()\n    return work(data, %d)\n" % WORK_NS
CHEATS = ("early_work", "early_process", "late_work", "echo_slowed", "lean_driver")


# ---- In the boards' interpreter ----

def harness():
    sys.dont_write_bytecode = True
    sys.path[:0] = [str(TOP / "tasks" / "harness")]
    import exchange
    import solver
    return exchange, solver


def one_core():
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})


class Empty:
    """A solver on the same core that does nothing: serve(memory, pipes) answers."""

    def __init__(self, exchange, serve, size=1 << 24):
        self.memory = exchange.Memory(-1, size)
        self.pipes = exchange.Pipes(self.memory, self.memory)
        self.packed = exchange.packed(bytearray(1))
        if os.fork() == 0:
            try:
                os.close(self.pipes.go)
                os.close(self.pipes.done)
                serve(self.memory, self.pipes.pass_on())
            finally:
                os._exit(0)
        self.pipes.close_theirs()

    def handed_over(self, go):
        """us of a call, in a state that the last one has left."""
        self.pipes.load(self.packed)
        self.pipes.fill()
        message = self.pipes.begun(go)
        start = time.perf_counter_ns()
        self.pipes.write(message)
        answer = self.pipes.read()
        took = time.perf_counter_ns() - start
        self.pipes.take(answer)
        return took / 1e3

    def called(self, cold):
        """us of a call as the harness makes it."""
        self.pipes.load(self.packed)
        return self.pipes.called(cold, id)[0] / 1e3


def hand_over():
    """Samples of empty calls, and by how much the echo misses the solver's in the same state."""
    exchange, solver = harness()
    one_core()
    found = {}
    serves = {"hand-over": exchange.hand_over, "empty call": lambda *ends: solver.Driver(*ends, lambda data: None).serve()}
    for name, serve in serves.items():
        empty = Empty(exchange, serve)
        found[f"{name}, back to back"] = [empty.handed_over(exchange.GO) for _ in range(CALLS)][10:]
    echo = exchange.Echo(empty.memory, empty.pipes.go, empty.pipes.done)
    cold = empty.memory.flush if empty.memory.library else None
    text = list(range(2000))
    for name, work in (("warm", lambda: None), ("in the loop", lambda: sum(sorted(text, key=str)[::3]))):
        def chill(places):
            for place in places if cold else ():
                cold(*place)
        calls, echoes = [], []
        for _ in range(CALLS // 2):
            work()
            calls.append(empty.called(chill))
            work()
            echoes.append(echo.ns(empty.packed, chill) / 1e3)
        found[f"empty call, {name}"] = calls[10:]
        found[f"echo, {name}"] = echoes[10:]
    print(json.dumps(found))


def alone(task, case):
    """Samples of a kernel's calls in one process, with fresh inputs that are in no cache."""
    exchange, _ = harness()
    one_core()
    folder = TOP / "tasks" / task
    sys.path[:0] = [str(folder)]
    import reference
    from eval import parse_case
    values = parse_case(case)
    exec(compile(fastest_of(folder).read_text(), "submission.py", "exec"), submission := {})
    memory, found = exchange.Memory(-1, 1 << 20), []
    for seed in range(CALLS // 4):
        data = reference.generate_input(**values, seed=seed)
        if memory.library:
            for place in exchange.packed(data)[1]:
                memory.flush(*place)
        start = time.perf_counter_ns()
        submission["custom_kernel"](data)
        found.append((time.perf_counter_ns() - start) / 1e3)
    print(json.dumps(found[5:]))


def fastest_of(folder):
    files = sorted((folder / "solutions" / "correct").glob("*.py"))
    return next((file for file in files if file.stem in ("plain", "library", "slices")), files[0])


if __name__ == "__main__":
    hand_over() if sys.argv[1:] == ["hand_over"] else alone(*sys.argv[1:])
    sys.exit()


# ---- In the bench ----

import baseline  # noqa: E402
from measure import BUILD, Box, Cannot, interpreter, plugins, progress, rounds, start_server, stop_server  # noqa: E402
from kettle_test import TASKS, copy_tree  # noqa: E402
from submissions import shorter  # noqa: E402


def in_boards_python(*words, modules=()):
    library = BUILD / "warm" / "shm.so"
    env = {**os.environ, "OMP_NUM_THREADS": "1", **({"KETTLE_SHM_LIBRARY": str(library)} if library.exists() else {})}
    done = subprocess.run([interpreter(*modules), "-B", str(HERE / "referee.py"), *words], env=env, capture_output=True, text=True, check=False)
    if done.returncode:
        raise Cannot(f"{words[0]}: {done.stderr.strip()[-300:]}")
    return json.loads(done.stdout)


def measure_hand_over(section):
    found = in_boards_python("hand_over")
    for name, samples in found.items():
        section.add(name, *samples, unit="µs", target="6 µs" if name.startswith("hand-over") else None)
    for state in ("warm", "in the loop"):
        apart = statistics.median(found[f"empty call, {state}"]) - statistics.median(found[f"echo, {state}"])
        section.note(f"An empty call takes {apart:+.2f} µs more than the echo that is taken off it ({state}): what the driver does besides, and the "
                     "echo's error.")


class Server:
    """A board, on one core. task: its folder."""

    def __init__(self, task, *options, modules=()):
        core = min(os.sched_getaffinity(0))
        self.box = Box(devices=f'{{CPU: {{runner: local, cores: "{core}"}}}}', languages=f'{{py: {{python: "{interpreter(*modules)}", threads: 1, '
                       f'preload: [{", ".join(modules)}]}}}}')
        self.box.run("leaderboard", "create", "b", "--no-try", "--task", task(self.box), *options)
        self.server, self.number = start_server(self.box)[0], 0

    def __enter__(self):
        return self

    def __exit__(self, *unused):
        stop_server(self.server)
        self.box.__exit__()

    def submit(self, code, mode):
        self.number += 1
        file = self.box.write(f"s{self.number}.py", f"{code}\n# {self.number}\n")
        start = time.perf_counter()
        answer = self.box.json("submit", file, "--leaderboard", "b", "--mode", mode, status=None)
        took, job = time.perf_counter() - start, self.box.timing(answer["id"])
        if job["state"] != "passed":
            raise Cannot(f"it came out as {job['state']}: {job['error']}")
        return took, job

    def times(self, code):
        """Mean and best of the first benchmark, in ns."""
        _, job = self.submit(code, "benchmark")
        found = next(run["result"] for run in job["runs"] if "benchmark.0.mean" in (run["result"] or {}))
        return float(found["benchmark.0.mean"]), float(found["benchmark.0.best"])


def level(section, task, case):
    modules = ["numpy"] if task.endswith("np") else ["torch"] if task != "identity_py" else []
    line = ", ".join(case.split("; ")) + ", seed: 1"

    def board(box):
        folder = shorter(box, task, 0.3)
        yml = folder / "task.yml"
        yml.write_text(re.sub(r"benchmarks:\n(  - .*\n)+", f"benchmarks:\n  - {{{line}}}\n", yml.read_text()))
        return folder
    with Server(board, modules=modules) as server:
        code = fastest_of(TASKS / task).read_text()
        for _ in range(rounds(5)):
            section.add(f"{task}: in one process", *in_boards_python(task, case, modules=modules), unit="µs")
            section.add(f"{task}: by the referee", server.times(code)[0] / 1e3, unit="µs", beside=f"{task}: in one process")
    alone, judged = section.median(f"{task}: in one process"), section.median(f"{task}: by the referee")
    section.note(f"Level of {task} ({case}): {judged - alone:+.1f} µs ({100 * (judged / alone - 1):+.1f} %); the goal is 10 µs + 2 %.")


def trivial(count):
    """A task in KernelBot's form that computes next to nothing, with so many tests."""
    def board(box):
        task = box.root / "trivial"
        baseline.write_task(task, "bare")
        text = (task / "task.yml").read_text()
        tests = "".join(f"  - {{size: 8, seed: {seed}}}\n" for seed in range(1, count + 1))
        (task / "task.yml").write_text(re.sub(r"tests: .*\n", f"tests:\n{tests}", text))
        return task
    return board


def begun_ns(job):
    """When the only run of a job was given its processes, by the machine's clock."""
    timing = job["timing"]
    step = next(step for step in timing["steps"] if step["kind"] == "run")
    return timing["stamps"]["device_ns"] + step["at_ns"] + step["wait_ns"]


def measure_runs(section):
    """What a case costs, and a run, in a referee and in a harness that has all in one process."""
    code = "import os, time\ndef custom_kernel(data):\n    return [2 * x for x in data]\nos.write(2, b'READY %d\\n' % time.monotonic_ns())\n"
    for name, kettles in (("referee", True), ("KernelBot's form", False)):
        options = ("--harness", "kettle") if kettles else ()
        for count in (1, CASES):
            with Server(trivial(count), *options) as server:
                server.submit(code, "test")
                for _ in range(rounds(10)):
                    _, job = server.submit(code, "test")
                    run = job["runs"][0]
                    section.add(f"run of {count} test{'s' if count > 1 else ''}: {name}", job["timing"]["parts"]["run_ns"] / 1e6)
                    ready = re.search(r"READY (\d+)", run.get("stderr") or "")
                    if kettles and count == 1 and ready:
                        section.add("fresh solver: from the begin of its step to its import", (int(ready[1]) - begun_ns(job)) / 1e6, target="15 ms")
        one, many = (section.median(f"run of {text}: {name}") for text in ("1 test", f"{CASES} tests"))
        section.add(f"a test case: {name}", (many - one) / (CASES - 1), target="0.65 ms" if kettles else None)


def measure_ranked(section):
    """A ranked submission of a task in torch, whose benchmarks end at once."""
    with Server(lambda box: shorter(box, "vectoradd_py", 0.01), modules=["torch"]) as server:
        code = (TASKS / "vectoradd_py" / "solutions" / "correct" / "plain.py").read_text()
        server.submit(code, "ranked")
        for _ in range(rounds(5)):
            took, _ = server.submit(code, "ranked")
            section.add("ranked submission in torch (vectoradd_py)", took * 1e3)


def measure_cheats(section):
    """Scores of cheats that pass, beside those of a twin that does the same work honestly."""
    attacks = TOP / "tests" / "attacks"

    def board(box):
        copy_tree(attacks / "task_py", box.root / "tests" / "attacks" / "task_py")
        copy_tree(TASKS / "harness", box.root / "tasks" / "harness")
        task = box.root / "tests" / "attacks" / "task_py" / "task.yml"
        task.write_text(re.sub(r"(?m)^(\w+_timeout): \d+$", r"\1: 600", task.read_text()))
        return task.parent
    with Server(board) as server:
        for name in CHEATS:
            text = (attacks / "py" / f"{name}.py").read_text()
            variant = re.search(r"^# variants: (\w+)=(\S+)", text, re.M)
            if variant:
                text = text.replace(f"@{variant[1]}@", variant[2])
            try:
                for _ in range(rounds(5, 1)):  # by turns: a machine changes
                    honest, cheat = server.times(TWIN), server.times(text)
                    section.add(f"{name}: score by its honest twin's", cheat[0] / honest[0], unit="", target="0.98 at least")
                    section.add(f"{name}: best call by its honest twin's", cheat[1] / honest[1], unit="", target="0.98 at least")
            except (Cannot, AssertionError) as error:
                section.note(f"{name} does not pass, and so has no score: {str(error)[:160]}")


def measure(section):
    if "py" not in plugins():
        raise Cannot("the plugin py was not built")
    parts = [(measure_hand_over, ()), *((level, (task, case)) for task, case in LEVELS), (measure_runs, ()), (measure_ranked, ()),
             (measure_cheats, ())]
    for part, args in parts:
        progress(f"    {part.__name__} {' '.join(args[:1])}")
        try:
            part(section, *args)
        except (Cannot, AssertionError, OSError, KeyError, TypeError, subprocess.SubprocessError) as error:
            section.note(f"{part.__name__} {' '.join(args[:1])} was left out: {str(error).strip()[-300:]}")
    if not section.data["rows"]:
        raise Cannot("no board in Python works here")
