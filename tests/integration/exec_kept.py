# SPDX-License-Identifier: MIT
"""Warm interpreters that are made ready while kettle-exec has no job."""
import fcntl
import glob

from exec_warm import *


def make_gate(own):
    """A step whose interpreter imports a module that waits while the gate, a FIFO, is there; the gate's path"""
    os.mkdir(own)
    gate = os.path.join(own, "gate")
    with open(os.path.join(own, "kettle_gate.py"), "w") as file:
        file.write("import os\nif os.path.exists(%r):\n  with open(%r) as gate: gate.read()\n" % (gate, gate))
    return script("pass", ["kettle_gate"], env=dict(ENVIRONMENT, PYTHONPATH=own)), gate


def open_gate(gate):
    """Lets the one that waits there go on, once the gate is gone"""
    with open(gate, "w"):
        os.unlink(gate)


def restart(folder):
    """What was used before a restart is made ready while no job runs; a step with a device does not run beside that"""
    own, config = os.path.join(folder, "modules"), {"warm": {"idle_seconds": 1}}
    step, gate = make_gate(own)

    def is_state(state):
        server.send(op="hello")
        return state in [process["state"] for process in server.until(event="hello")["warm"]]
    with Exec(folder, config=dict(config, extra_paths=[own])) as server:
        equal(server.one(step).get("warm"), True)
    os.mkfifo(gate)
    with Exec(folder) as server:
        poll(lambda: is_state("starting"), "an interpreter that no job has asked for")
        equal(server.one(script("pass", warm=False, device=1))["state"], "passed")
        assert not is_state("starting"), "it goes on beside a run"
        poll(lambda: is_state("starting"), "another start")
        open_gate(gate)
        poll(lambda: is_state("ready"), "an interpreter that is ready")
        first, = warm_processes(server)
        equal((server.one(step).get("warm"), warm_processes(server)), (True, [first]))
        equal(warnings(server), [])


def beside(folder):
    """What is made ready for no job gives way: to a step that needs its place, and to another kettle-exec's job"""
    own, warm = os.path.join(folder, "modules"), {"idle_seconds": 1, "processes": 1}
    step, gate = make_gate(own)

    def states():
        server.send(op="hello")
        return [process["state"] for process in server.until(event="hello")["warm"]]
    with Exec(folder, config={"warm": warm, "extra_paths": [own]}) as server:
        equal(server.one(dict(step, device=1)).get("warm"), True)
    os.mkfifo(gate)
    with Exec(folder) as server:
        poll(lambda: states() == ["starting"], "an interpreter that no job has asked for")
        equal(server.one(script("pass", ["json"], device=1)).get("warm"), True)
    lock, = glob.glob(os.path.join(folder, "locks", "*"))
    with Exec(folder) as server:
        poll(lambda: states() == ["ready"], "the one that was asked for last")
    with Exec(folder, config={"warm": dict(warm, processes=2)}) as server:
        poll(lambda: sorted(states()) == ["ready", "starting"], "an interpreter that no job has asked for")
        with open(lock) as file:
            fcntl.flock(file, fcntl.LOCK_EX)  # as another kettle-exec's job does
            poll(lambda: states() == ["ready"], "the end of what disturbs it")
        poll(lambda: sorted(states()) == ["ready", "starting"], "another start after it")
        open_gate(gate)
        poll(lambda: states() == ["ready", "ready"], "an interpreter that is ready")


def state_of(pid):
    """The letter of the kernel: T, it is stopped"""
    with open("/proc/%d/stat" % pid) as file:
        return file.read().rpartition(") ")[2][0]


def hold(gate, what):
    """Waits until a process is at the gate, where it stays until this descriptor is closed"""
    def look():
        try:
            return os.open(gate, os.O_WRONLY | os.O_NONBLOCK)
        except OSError:
            return None
    return poll(look, what)


def paused(folder):
    """A recipe that is followed for no job stops while a job builds, and goes on for a step that needs it, or without a job"""
    own = os.path.join(folder, "modules")
    os.mkdir(own)
    _, gate = make_gate(os.path.join(own, "helion"))
    os.rename(os.path.join(own, "helion", "kettle_gate.py"), os.path.join(own, "helion", "__init__.py"))
    step = dict(script("pass", env=dict(ENVIRONMENT, PYTHONPATH=own)), jit={"folder": "cache"}, needs=["b"])
    step["warm"]["recipes"] = ["helion"]
    with Exec(folder, config={"warm": {"idle_seconds": 86400}, "extra_paths": [own]}) as server:
        equal(server.one(dict(step, needs=[])).get("warm"), True)
    os.mkfifo(gate)
    with Exec(folder, config={"warm": {"idle_seconds": 1}, "extra_paths": [own]}) as server:
        recipe = hold(gate, "a recipe that is followed for no job")
        first, = warm_processes(server)
        server.run("builds", [{"id": "b", "kind": "build", "argv": ["tail", "-f", "/dev/null"]}, step])
        server.until(event="step", job="builds")
        poll(lambda: state_of(first) == "T", "the recipe that stops")
        server.send(op="cancel", job="builds")
        equal(server.done("builds")["status"], "cancelled")
        poll(lambda: state_of(first) != "T", "the recipe without a job")
        server.run("runs", [{"id": "b", "kind": "build", "argv": ["true"]}, step])
        server.until(event="outcome", job="runs")
        poll(lambda: state_of(first) != "T", "the recipe for the step")
        os.close(recipe)
        outcome = server.done("runs")["outcomes"][1]
        equal((outcome["state"], outcome.get("warm"), warm_processes(server), warnings(server)), ("passed", True, [first], []))


def memory(folder):
    """An interpreter that is made ready ends no other one, also where its size is not known before"""
    first, second = script("pass", ["json"]), script("pass", ["decimal"])

    def ready():
        server.send(op="hello")
        return [(process["modules"], process["memory"]) for process in server.until(event="hello")["warm"] if process["state"] == "ready"]
    with Exec(folder, config={"warm": {"idle_seconds": 86400}}) as server:
        equal((server.one(first).get("warm"), server.one(second).get("warm")), (True, True))
        small, large = sorted(memory for _, memory in ready())
    with Exec(folder, config={"warm": {"idle_seconds": 1, "memory": large + small // 2}}) as server:
        def kept():
            with open(os.path.join(server.state, "warm.json")) as file:
                return [entry["bytes"] for entry in json.load(file)]
        poll(lambda: 0 not in kept(), "a round over both")
        equal([modules for modules, _ in ready()], [["decimal"]])
        equal(warnings(server), [])


def large(folder):
    """What one environment has too much of for the file is not lost to the others"""
    huge = dict(ENVIRONMENT, **{f"X{i}": "y" * 60000 for i in range(20)})
    with Exec(folder, config={"warm": {"idle_seconds": 86400}}) as server:
        for step in (script("pass", ["json"]), script("pass", ["json"], env=huge), script("pass", ["decimal"])):
            equal(server.one(step).get("warm"), True)
    with open(os.path.join(server.state, "warm.json")) as file:
        equal([entry["modules"] for entry in json.load(file)], [["decimal"], ["json"]])


if __name__ == "__main__":
    need_warm()
    sys.exit(main([restart, beside, paused, memory, large]))
