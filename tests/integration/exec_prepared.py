# SPDX-License-Identifier: MIT
"""Processes that are prepared for one run on a GPU."""
from exec_driver import *
import difflib

import exec_devices
import exec_pair
import exec_warm

DRIVER = os.path.join(BUILD, "tests", "peers", "libcuda.so")
LOOK = """
import os
print(open("/tmp/driver.log").read() if os.path.exists("/tmp/driver.log") else "not opened")
"""
THREADS = """
import os
for thread in sorted(os.listdir("/proc/self/task"), key=int):
    with open("/proc/self/task/%s/status" % thread) as file:
        status = {name: value.strip() for name, _, value in (line.partition(":") for line in file)}
    print(*(status[key].replace("\\t", " ") for key in ("Uid", "Gid", "CapEff", "CapPrm", "CapBnd", "NoNewPrivs", "Seccomp", "Groups")), sep=";")
"""
# What a script can see of where it is.
VIEW = """
import os, socket, sys
print(sys.argv, os.getcwd(), os.listdir("."), sorted(os.listdir("/")), sorted(os.listdir("/run")) if os.path.exists("/run") else "")
print(sorted(item for item in os.environ.items() if item[0] != "RESULT"))
for path in ("made", "/made", "out/made", "/tmp/made", "/dev/shm/made", "/proc/self/comm"):
    try:
        with open(path, "w") as file: file.write("x")
        print(path, "written")
    except OSError as error:
        print(path, error.errno)
print(sorted(line.split()[4] for line in open("/proc/self/mountinfo") if "kettle-warm" not in line))
print([pid for pid in sorted(os.listdir("/proc")) if pid.isdigit()], sorted(os.listdir("/dev/shm")), os.umask(0), os.nice(0))
import resource
print([(name, resource.getrlimit(getattr(resource, name))) for name in sorted(dir(resource)) if name.startswith("RLIMIT_")])
low = []
for fd in range(3, 32):
    try:
        low.append((fd, os.readlink("/proc/self/fd/%d" % fd).partition(":")[0]))
    except OSError:
        pass
print(low)
"""
SOCKETS = """
import os, socket
found = []
for name in os.listdir("/proc/self/fd"):
    try:
        if os.readlink("/proc/self/fd/" + name).startswith("socket:"): found.append(int(name))
    except OSError: pass
print(sorted(found))
"""


def need_driver(folder):
    if not os.path.exists(DRIVER):
        raise Skip("the stand-in of the drivers' libraries was not built")
    place = os.path.join(folder, "driver")
    os.makedirs(place, exist_ok=True)
    for name in ("libcuda.so.1", "libamdhip64.so.6"):
        shutil.copy(DRIVER, os.path.join(place, name))
        os.chmod(os.path.join(place, name), 0o755)
    return place


def start(folder, prepare="idle", lines=(), arguments=(), **config):
    place = need_driver(folder)
    gpu = {**QUICK_GPU, "rocm_smi": "/nonexistent/x.so", "prepare": prepare, **config.pop("gpu", {})}
    config = {"gpu": gpu, "warm": {"idle_seconds": 0, "start_seconds": PATIENCE}, "extra_paths": [place], **config}
    env = dict(exec_devices.fake(folder, (0, exec_devices.ALWAYS, "count", -1, 2), *lines), FAKE_NVML_DRIVER=place)
    server = Exec(folder, config=config, arguments=arguments, env=env)
    server.driver = place
    return server


def script(server, source, driver="", env=None, **more):
    env = {**exec_warm.ENVIRONMENT, "LD_LIBRARY_PATH": server.driver, **({"FAKE_DRIVER": driver} if driver else {}), **(env or {})}
    return exec_warm.script(source, device=1, env=env, **more)


def run(server, source, gpu=0, **more):
    outcome = server.one(script(server, source, **more), unit={"name": "d", "gpu": gpu})
    assert outcome["state"] == "passed", outcome
    return outcome


def output(outcome):
    return outcome["stdout"]["text"]


def prepared(server):
    """How many wait now."""
    server.send(op="hello")
    return sum(entry["prepared"] for entry in server.until(event="hello")["warm"])


def await_prepared(server, count=1):
    def there():
        found, said = prepared(server), warned(server)
        assert found == count or not said, said
        return found == count
    poll(there, "%d prepared processes" % count)


def warned(server):
    return exec_warm.warnings(server)


def opened(folder):
    """After a run the GPU is open for the next one, which is used once and not copied"""
    with start(folder) as server:
        first = run(server, LOOK)
        equal((first.get("warm"), first.get("prepared"), output(first)), (True, None, "not opened\n"))
        for _ in range(3):
            await_prepared(server)
            outcome = run(server, LOOK)
            equal((outcome.get("warm"), outcome.get("prepared")), (True, True))
            equal(output(outcome), "cuInit\ncuDevicePrimaryCtxRetain 0\n\n")
        equal(warned(server), [])


def off(folder):
    """It is off by default, and steps without a GPU or without a warm start have none"""
    with start(folder, prepare="off") as server:
        for _ in range(2):
            equal(output(run(server, LOOK)), "not opened\n")
        equal(prepared(server), 0)
    with start(folder) as server:
        server.one(exec_warm.script(LOOK))
        equal(prepared(server), 0)
        run(server, LOOK, warm=False)
        equal(prepared(server), 0)


def rights(folder):
    """A driver's threads have no more rights than the script"""
    with start(folder) as server:
        ordinary = output(run(server, THREADS))
        await_prepared(server)
        outcome = run(server, THREADS)
        equal(outcome.get("prepared"), True)
        equal(output(outcome).splitlines(), ordinary.splitlines() * 2)
        if server.hello["level"] == "full":
            contains(ordinary, ";1;2;")  # no_new_privs, a filter


def view(folder):
    """A script sees what it sees in an ordinary run"""
    with start(folder) as server:
        for more in ({}, {"result": "RESULT"}, {"inputs": {"main.py": text(VIEW), "more": text("x")}},
                     {"jit": {"folder": "cache", "tools": []}, "limits": {"cpu": 100, "shm": 1 << 20, "disk": 1 << 22}}):
            ordinary = run(server, VIEW, **more)
            await_prepared(server)
            outcome = run(server, VIEW, **more)
            equal(outcome.get("prepared"), True)
            one, other = ([line for line in exec_warm.parts(of)] for of in (ordinary, outcome))
            different = [line for line in difflib.ndiff(one, other) if line[0] in "+-"]
            assert not different, "\n".join(different)


def closed(folder):
    """The socket by which it got its run is closed before the script begins"""
    with start(folder) as server:
        run(server, SOCKETS)
        await_prepared(server)
        outcome = run(server, SOCKETS)
        equal((outcome.get("prepared"), output(outcome)), (True, "[]\n"))


# The last one leaves a process on the other GPU.
KEYS = [{}, {"env": {"OTHER": "1"}}, {"limits": {"memory": 1 << 30}}, {"preload": ["json"]}, {"gpu": 1}]


def again(folder):
    """A run that fails where its GPU was open runs once more where it is not, and what comes of that counts"""
    with start(folder) as server:
        run(server, LOOK)
        await_prepared(server)
        refuses = LOOK + "raise SystemExit(os.path.exists('/tmp/driver.log'))\n"
        outcome = run(server, refuses)
        equal((outcome.get("prepared"), output(outcome)), (None, "not opened\n"))
        await_prepared(server)
        outcome = server.one(script(server, LOOK + "raise SystemExit(3)\n"), unit={"name": "d", "gpu": 0})
        equal((outcome["state"], outcome["exit"], outcome.get("prepared")), ("failed", 3, None))


def beside(folder):
    """Beside a run on its GPU none waits that was prepared for others: for another set of GPUs, or for runs that begin otherwise"""
    cold = {"id": "s", "kind": "run", "device": 1, "argv": ["sh", "-c", "kill -STOP $$"]}
    for unit, step in (({"name": "d", "gpu": 0}, cold), ({"name": "d", "gpu": [0, 1]}, dict(cold, device=2))):
        with start(folder) as server:
            run(server, LOOK)
            await_prepared(server)
            [pid] = payloads(server)
            server.run("j", [step], unit=unit)
            server.until(event="step", job="j")
            poll(lambda: not os.path.exists("/proc/%d" % pid), "its end")
            equal(prepared(server), 0)
            server.send(op="cancel", job="j")
            server.done("j")


def keys(folder):
    """A run of another key, or on another GPU, gets none"""
    with start(folder) as server:
        for more in KEYS:
            run(server, LOOK)
            await_prepared(server)
            outcome = run(server, LOOK, **more)
            equal((outcome.get("prepared"), output(outcome).splitlines()[0]), (True, "cuInit") if not more else (None, "not opened"))


def failures(folder):
    """A driver that fails or ends is told once, and runs start the ordinary way"""
    for driver, why in (("fail", "cuInit gives 999"), ("end", "it ended")):
        with start(folder) as server:
            for _ in range(3):
                outcome = run(server, LOOK, driver=driver)
                equal((outcome.get("warm"), outcome.get("prepared"), output(outcome)), (True, None, "not opened\n"))
                poll(lambda: prepared(server) == 0 and len(warned(server)) == 1, "the report")
            contains(warned(server)[0], why)
            # Another key of the same GPU waits as long.
            run(server, LOOK)
            equal(run(server, LOOK).get("prepared"), None)
    os.remove(os.path.join(folder, "driver", "libcuda.so.1"))


def hangs(folder):
    """One that hangs is ended after its time; a run that comes before waits no longer than that"""
    with start(folder, warm={"idle_seconds": 0, "start_seconds": 2}) as server:
        run(server, LOOK, driver="hang")
        outcome = run(server, LOOK, driver="hang")
        equal((outcome.get("prepared"), output(outcome)), (None, "not opened\n"))
        equal(len(warned(server)), 1)
        contains(warned(server)[0], "took longer than 2 s")


def payloads(server):
    return [child for pid in exec_warm.children(server.process.pid) if exec_warm.is_init(pid) for child in exec_warm.children(pid)
            if exec_devices_threads(child) > 1]


def exec_devices_threads(pid):
    try:
        return len(os.listdir("/proc/%d/task" % pid))
    except OSError:
        return 0


def killed(folder):
    """One that is killed while it waits is gone, also where that shows only when its run comes, and the run starts without"""
    with start(folder) as server:
        run(server, LOOK)
        await_prepared(server)
        [pid] = payloads(server)
        [init] = [parent for parent in exec_warm.children(server.process.pid) if pid in exec_warm.children(parent)]
        os.kill(init, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        server.run("j", [script(server, LOOK)], unit={"name": "d", "gpu": 0})
        server.until(event="step", job="j")
        os.kill(init, signal.SIGCONT)
        outcome = server.done("j")["outcomes"][0]
        equal((outcome["state"], outcome.get("prepared"), output(outcome)), ("passed", None, "not opened\n"))
        await_prepared(server)
        [pid] = payloads(server)
        os.kill(pid, signal.SIGKILL)
        poll(lambda: prepared(server) == 0 and len(warned(server)) == 1, "the report")
        outcome = run(server, LOOK)
        equal((outcome.get("prepared"), output(outcome)), (None, "not opened\n"))


def ends(folder):
    """Others' configuration, another kettle-exec with a device, and the end of kettle-exec end them"""
    with start(folder) as server:
        run(server, LOOK)
        await_prepared(server)
        [pid] = payloads(server)
        server.send(op="tools", report=[])
        poll(lambda: not os.path.exists("/proc/%d" % pid), "its end")
        equal(prepared(server), 0)
        run(server, LOOK)
        await_prepared(server)
        [pid] = payloads(server)
        with Exec(folder, state=os.path.join(folder, "other")) as other:
            other.run("j", [exec_devices.device_step("sleep 600")], unit={"name": "e", "gpu": 0})
            other.until(event="step")
            poll(lambda: not os.path.exists("/proc/%d" % pid), "its end")
            other.send(op="cancel", job="j")
            other.done("j")
        run(server, LOOK)
        await_prepared(server)
        [pid] = payloads(server)
    poll(lambda: not os.path.exists("/proc/%d" % pid), "its end")


def accounted(folder):
    """What it holds is no residue, and it is no other's process"""
    with start(folder, lines=[(0, exec_devices.ALWAYS, "drivers", 0, 700)]) as server:
        run(server, LOOK)
        await_prepared(server)
        with open(os.path.join(folder, "nvml.state"), "a") as file:
            file.write("0 %d used 0 1200\n" % exec_devices.ALWAYS)
        server.run("j", [script(server, LOOK)], unit={"name": "d", "gpu": 0, "score": True})
        done = server.done("j")
        equal((done["outcomes"][0]["state"], done["outcomes"][0].get("prepared")), ("passed", True))
        # The next one waits already, when the GPU is looked at after the job, or is being prepared.
        equal(done["device"], {"checked": ["0"], "faults": {}, "unfit": {}})
        await_prepared(server)

        def seen():
            server.send(op="hello")
            one = server.until(event="hello")["gpus"][0]
            return one if one.get("prepared") == 700 << 20 else None  # else a reading from before
        one = poll(seen, "a reading with the process")
        equal((one["occupied"], one["unfit"]), (False, []))


def bounded(folder):
    """One that holds too much of the GPU or of the machine, or whose GPU is gone, is ended"""
    with start(folder, lines=[(0, exec_devices.ALWAYS, "drivers", 0, 2)], gpu={"prepared_bytes": 1 << 20}) as server:
        run(server, LOOK)
        poll(lambda: prepared(server) == 0 and warned(server), "the report")
        contains(warned(server)[0], "more than `gpu: prepared_bytes`")
    os.remove(os.path.join(folder, "nvml.state.count"))
    # 1: greeting, 2: before the step, 3: of a process that is ready.
    with start(folder, prepare="always", lines=[(3, 3, "count", -1, 1)]) as server:
        server.run("j", [script(server, "import signal; signal.pause()")], unit={"name": "d", "gpu": 1})
        contains(server.until(event="error")["error"], "not there any more")
        server.send(op="cancel", job="j")
        server.done("j")
    with start(folder) as server:
        run(server, LOOK)
        server.send(op="hello")
        [entry] = server.until(event="hello")["warm"]
    with start(folder, warm={"idle_seconds": 0, "start_seconds": PATIENCE, "memory": entry["memory"] + (1 << 20)}) as server:
        run(server, LOOK)
        poll(lambda: prepared(server) == 0 and warned(server), "the report")
        contains(warned(server)[0], "would exceed `warm: memory`")


def both(folder):
    """With two of them the next two runs find one each; always: also beside a run"""
    with start(folder, gpu={"prepared": 2}) as server:
        run(server, LOOK)
        run(server, LOOK)
        await_prepared(server, 2)
        equal([run(server, LOOK).get("prepared") for _ in range(2)], [True, True])
    with start(folder, prepare="always") as server:
        run(server, LOOK)
        server.run("j", [script(server, "import signal; signal.pause()")], unit={"name": "d", "gpu": 0})
        server.until(event="step", job="j")
        await_prepared(server)
        server.send(op="cancel", job="j")
        server.done("j")
        equal(run(server, LOOK).get("prepared"), True)


def given_up(folder):
    """A run that may need more memory than the machine has left ends one of them, and the other stays"""
    with start(folder, gpu={"prepared": 2}) as server:
        run(server, LOOK)
        run(server, LOOK)
        await_prepared(server, 2)
        waiting = set(payloads(server))
        run(server, LOOK, gpu=1, limits={"memory": os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGESIZE")})
        poll(lambda: len(waiting & set(payloads(server))) < 2, "its end")
        equal(run(server, LOOK).get("prepared"), True)


def hip(folder):
    """AMD's driver is opened in the same way"""
    with start(folder) as server:
        env = {"CUDA_VISIBLE_DEVICES": "", "HIP_VISIBLE_DEVICES": "0"}
        run(server, LOOK, env=env)
        await_prepared(server)
        equal(output(run(server, LOOK, env=env)), "hipInit\nhipFree NULL\n\n")


# What of torch the preparation uses; it says where the compiler's caches are meanwhile.
TORCH = {"torch/__init__.py": """
import os
class Value:
    def __add__(self, other): return self
    def sum(self): return self
    def item(self): return 1
class Generator:
    def seed(self): note("seed")
def note(word):
    if os.path.isdir("/tmp/home"):
        with open("/tmp/driver.log", "a") as file: file.write(word + "\\n")
def zeros(count, device):
    assert device == "cuda"
    return Value()
def relu(value): return value
def compile(function):
    folder = os.environ["TRITON_CACHE_DIR"]
    os.makedirs(folder)
    note("compile " + str(folder.startswith("/tmp/")))
    from torch import late
    late.folder = folder
    return function
default_generator = Generator()
from torch import cuda
""", "torch/cuda.py": """
import torch
def is_available(): return True
def __getattr__(name): return lambda: torch.note(name)
""", "torch/late.py": "", "torch/_dynamo/__init__.py": "from torch._dynamo import utils\ndef reset(): pass\n", "torch/_dynamo/utils.py": "counters = {}\n",
         "torch/_inductor/__init__.py": "from torch._inductor import utils\n", "torch/_inductor/utils.py": "def clear_caches(): pass\n",
         "torch/_inductor/config.py": "import contextlib\n\n\ndef patch(**_): return contextlib.nullcontext()\n"}
TORCH_SEEN = """
import os, sys
print(open("/tmp/driver.log").read().split("\\n")[:-1] if os.path.exists("/tmp/driver.log") else [])
print("torch.late" in sys.modules, getattr(sys.modules.get("torch.late"), "folder", None), [name for name in sorted(os.listdir("/tmp")) if name in ("driver.log", "home") or name[:3] == "tmp"],
      os.environ["TRITON_CACHE_DIR"])
"""


def torch(folder):
    """torch is at its first use what it is later, holds no memory, and its compiler leaves nothing behind"""
    with start(folder) as server:
        for name, content in TORCH.items():
            path = os.path.join(folder, "modules", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            with open(path, "w") as file:
                file.write(content)
        env = {"PYTHONPATH": os.path.join(folder, "modules"), "TRITON_CACHE_DIR": "out/cache/triton"}
        more = {"env": env, "preload": ["torch"], "folders": [env["PYTHONPATH"]], "jit": {"folder": "cache", "tools": []}}

        def once():
            step = script(server, TORCH_SEEN, **more)
            step["warm"]["recipes"] = ["torch.compile.gpu"]
            outcome = server.one(step, unit={"name": "d", "gpu": 0})
            assert outcome["state"] == "passed", outcome
            return outcome
        assert output(once()).splitlines()[1].startswith("False None "), "the compiler was loaded"
        await_prepared(server)
        outcome = once()
        equal(outcome.get("prepared"), True)
        said = output(outcome).splitlines()
        # Its copy drew new random numbers when it was made, maybe before there was a /tmp.
        equal(said[0].replace("['seed', ", "["), str(["cuInit", "cuDevicePrimaryCtxRetain 0", "init", "compile True", "synchronize", "empty_cache",
                            "reset_peak_memory_stats", "reset_accumulated_memory_stats", "seed"]))
        equal(said[1], "True /job/out/cache/triton ['driver.log', 'home'] out/cache/triton")
        equal(warned(server), [])


POISON = """
import glob, os, signal, socket
for name in ("/dev/shm/x", "/tmp/driver.log", "/tmp/home/x", "out/x"):
    open(name, "w").write("poison")
for name in filter(str.isdigit, os.listdir("/proc")):
    if int(name) != os.getpid():
        try: os.kill(int(name), signal.SIGKILL)
        except OSError: pass
for number in range(3, 1024):
    try: os.write(number, b"r")
    except OSError: pass
if os.fork() == 0:
    os.setsid()
    signal.pause()
print(len([name for name in os.listdir("/proc") if name.isdigit()]))
"""
CLEAN = """
import os
print(os.listdir("/dev/shm"), os.listdir("/tmp/home"), os.listdir("out"), open("/tmp/driver.log").read())
"""


def poison(folder):
    """A submission neither finds, keeps nor changes those of others"""
    with start(folder, gpu={"prepared": 2}) as server:
        run(server, CLEAN.replace("open(", "print or open("))
        run(server, CLEAN.replace("open(", "print or open("))
        await_prepared(server, 2)
        waiting = set(payloads(server))
        outcome = server.one(script(server, POISON), unit={"name": "d", "gpu": 0})
        equal(outcome.get("prepared"), True)
        equal(len(waiting & set(payloads(server))), 1)
        outcome = run(server, CLEAN)
        equal((outcome.get("prepared"), output(outcome)), (True, "[] [] [] cuInit\ncuDevicePrimaryCtxRetain 0\n\n"))


def pair(server, hold=0, **more):
    """A step whose solver says whether its GPU was open; both hold so many MiB."""
    step = exec_pair.warm_pair(exec_warm.PYTHON, ["json"], ["json"], device=1, **more)
    held = "x = b'x' * (%d << 20)\n" % hold
    for name, code in (("referee", exec_pair.ASK + "ask()\n" + held + "end()"), ("solver", LOOK + "sys.stdout.flush()\npeer.recv(1)\n" + held + "peer.sendall(b'd')" + exec_pair.DONE)):
        step[name]["inputs"]["run.py"] = text(exec_pair.HEAD + code)
        step[name]["env"] = dict(exec_pair.ENVIRONMENT, LD_LIBRARY_PATH=server.driver)
    return step


def both_judged(folder):
    """A solver finds its GPU open and has one limit of memory with its referee, which does not"""
    limits = {"memory": 256 << 20}
    with start(folder) as server:
        for hold, state in ((0, "passed"), (0, "passed"), (160, "limit"), (60, "passed"), (0, "passed")):
            outcome = server.one(pair(server, hold, limits=limits), unit={"name": "d", "gpu": 0})
            equal((outcome["state"], outcome.get("limit")), (state, "memory" if state == "limit" else None))
            equal(exec_pair.warm_of(outcome), (True, True))
            await_prepared(server)
        equal((outcome.get("prepared"), outcome["solver"].get("prepared")), (None, True))
        equal(outcome["solver"]["stdout"]["text"], "cuInit\ncuDevicePrimaryCtxRetain 0\n\n")
        # One that is gone when its run comes: the pair begins again, without.
        [pid] = payloads(server)
        [init] = [parent for parent in exec_warm.children(server.process.pid) if pid in exec_warm.children(parent)]
        os.kill(init, signal.SIGSTOP)
        os.kill(pid, signal.SIGKILL)
        server.run("j", [pair(server, limits=limits)], unit={"name": "d", "gpu": 0})
        server.until(event="step", job="j")
        os.kill(init, signal.SIGCONT)
        outcome = server.done("j")["outcomes"][0]
        equal((outcome["state"], outcome["solver"].get("prepared"), outcome["solver"]["stdout"]["text"]), ("passed", None, "not opened\n"))
        # A run without a referee is of another kind.
        await_prepared(server)
        equal(run(server, LOOK).get("prepared"), None)


if __name__ == "__main__":
    exec_warm.need_warm()
    sys.exit(main([opened, off, both_judged, rights, view, closed, again, beside, keys, failures, hangs, killed, ends, accounted, bounded, hip, torch, both, given_up, poison]))
