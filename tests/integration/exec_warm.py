# SPDX-License-Identifier: MIT
"""Warm interpreters: copies against fresh ones, hostile scripts, warm processes that fail, change and die."""
import difflib
import random
import re

from exec_driver import *

ENVIRONMENT = {"PYTHONDONTWRITEBYTECODE": "1", "PYTHONNOUSERSITE": "1", "PYTHONUNBUFFERED": "1",
               "PYTHONFAULTHANDLER": "1", "PYTHONHASHSEED": "0"}


PYTHON = pythons.boards()


def libraries_here():
    """One that has libraries in C is enough for a sanitizer, which sees nothing of them."""
    return [module for module in (("numpy",) if sanitizer() else ("numpy", "torch", "triton", "jax")) if pythons.has(module)]


def modules_here():
    return [module for module in libraries_here() if module in ("numpy", "torch")]


# What a process can find out about itself.
STATE = """
import gc, glob, json, locale, os, re, resource, signal, socket, sys, threading, time
own = sorted((name, str(type(value))) for name, value in globals().items())
# The C library keeps two signals to itself, and whatever state they came with.
status = [re.sub("^(SigIgn:.)(.*)", lambda m: m[1] + hex(int(m[2], 16) & ~(3 << 31)), line)
          for line in open("/proc/self/status").read().splitlines()]
kept = ("Name", "Umask", "CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb", "NoNewPrivs", "Seccomp", "Seccomp_filters",
        "SigBlk", "SigIgn", "SigCgt", "SigPnd", "ShdPnd", "Threads", "NSpid", "NSpgid", "NSsid", "Groups")
print(json.dumps({
    "argv": [sys.argv, sys.orig_argv[1:] if hasattr(sys, "orig_argv") else None, sys.path],
    "interpreter": [sys.executable, sys.prefix, sys.base_prefix, str(sys.flags), sys.warnoptions, sys._xoptions],
    "environment": sorted(os.environ.items()),
    "folder": os.getcwd(),
    "main": [own, __name__, __file__, __doc__, __package__, str(type(__loader__)), __loader__.path],
    "modules": sorted(sys.modules),
    "handlers": [(n, str(signal.getsignal(n))) for n in range(1, signal.NSIG) if n not in (32, 33)],
    "mask": sorted(map(str, signal.pthread_sigmask(signal.SIG_BLOCK, []))),
    "streams": [(s.name, s.mode, s.encoding, s.errors, s.line_buffering, s.write_through, s.isatty(), s.fileno(),
                 type(s.buffer).__name__) for s in (sys.stdin, sys.stdout, sys.stderr)],
    "limits": [(n, resource.getrlimit(getattr(resource, n))) for n in dir(resource) if n.startswith("RLIMIT")],
    "ids": [os.getuid(), os.geteuid(), os.getgid(), os.getgroups(), os.getpid(), os.getppid(), os.getsid(0), os.getpgrp()],
    "cores": sorted(os.sched_getaffinity(0)), "nice": os.getpriority(os.PRIO_PROCESS, 0), "umask": os.umask(0o22),
    "descriptors": [(n, os.readlink("/proc/self/fd/" + n).partition(":")[0]) for n in sorted(os.listdir("/proc/self/fd"))
                    if os.path.exists("/proc/self/fd/" + n)],
    "status": [line for line in status if line.split(":")[0] in kept],
    # The stand-in for the interpreter and its files are the only difference.
    "mounts": [line.partition("uid=")[0].split() for line in open("/proc/self/mounts")
               if "/kettle-warm/" not in line and line.split()[1] != os.path.realpath(sys.executable)],
    "program": open("/proc/self/exe", "rb").read(4).hex(),
    "oom": open("/proc/self/oom_score_adj").read(),
    "machine": [socket.if_nameindex(), os.listdir("/dev/shm"), os.uname().nodename, len(list(filter(str.isdigit, os.listdir("/proc")))),
                [open(path).read() for path in sorted(glob.glob("/proc/sysvipc/*"))]],
    "hooks": [str(sys.excepthook), str(sys.displayhook), hasattr(sys, "last_type"), str(sys.exc_info())],
    "frames": [str(sys._getframe().f_back), sys.getrecursionlimit()],
    "threads": [threading.current_thread().name, threading.main_thread() is threading.current_thread(),
                threading.active_count(), threading.stack_size()],
    "collector": [gc.isenabled(), gc.get_threshold()],
    "locale": [locale.setlocale(locale.LC_ALL), sys.getfilesystemencoding(), time.tzname],
    "hash": hash("abc"),
}, indent=1, default=str))
"""

SCRIPTS = {
    "state": STATE,
    "exit 7": "import atexit, sys\natexit.register(print, 'bye')\nclass A:\n  def __del__(self): print('gone')\na = A()\n"
              "sys.exit(7)\n",
    "exit with a sentence": "import sys\nsys.exit('no way')\n",
    "exit 300": "import sys\nsys.exit(300)\n",
    "an exception": "class A:\n  def __del__(self): print('gone')\na = A()\ndef f(x):\n  return 1 / x\nprint('a')\nf(0)\n",
    "a syntax error": "print(1\nx = = 3\n",
    "an interrupt": "raise KeyboardInterrupt\n",
    "a crash": "import ctypes\nctypes.string_at(0)\n",
    "abort": "import os\nos.abort()\n",
    "_exit": "import os\nprint('x')\nos._exit(3)\n",
    "a signal": "import os, signal\nos.kill(os.getpid(), signal.SIGTERM)\n",
    "a broken pipe": "import os\nr, w = os.pipe()\nos.close(r)\nos.write(w, b'x')\n",
    "a thread": "import threading\nt = threading.Thread(target=lambda: print('t'))\nprint('m')\nt.start()\n",
    "a daemon thread": "import threading, time\ndef f():\n  while True: time.sleep(0.01)\n"
                       "threading.Thread(target=f, daemon=True).start()\nprint('m')\n",
    "a closed output": "import os, sys\nprint('x')\nos.close(1)\nsys.stdout.write('y')\n",
    "a fork": "import os\np = os.fork()\nif p == 0:\n  print('child')\nelse:\n  os.waitpid(p, 0)\n  print('parent')\n",
    "pools": "import multiprocessing as mp\ndef f(x): return x * x\nif __name__ == '__main__':\n"
             "  for method in ('fork', 'spawn', 'forkserver'):\n"
             "    with mp.get_context(method).Pool(2) as pool: print(method, pool.map(f, range(5)))\n",
    "a process": "import subprocess, sys\nprint(subprocess.run([sys.executable, '-c', 'import sys; print(sys.argv)'], "
                 "capture_output=True))\n",
    "a hook": "import sys\nsys.excepthook = lambda *a: print('hook', a[0])\n1 / 0\n",
    "warnings": "import logging, warnings\nwarnings.warn('w')\nlogging.warning('l')\n",
    "input": "import sys\nprint(repr(sys.stdin.read()))\n",
    "the stack": "import inspect, traceback\nprint(len(inspect.stack()))\ntraceback.print_stack()\n",
    "no modules": "import sys\nsys.modules = None\nprint('x')\n",
    "modules cleared": "import sys\nsys.modules.clear()\nprint('x')\n",
    "annotations": "from __future__ import annotations\nx: int = 3\nprint(__annotations__)\n",
    "an encoding": "# -*- coding: latin-1 -*-\nprint('\u00e9')\n",
    "finalizers": "import weakref\nclass A: pass\na = A()\nweakref.finalize(a, print, 'final')\nprint('z')\n",
}

NUMPY = """
import hashlib, numpy
a = numpy.random.RandomState(3).rand(200, 200)
print(hashlib.sha256((a @ a).tobytes()).hexdigest(), numpy.linalg.svd(a)[1][:3], numpy.geterr())
"""
TORCH = """
import numpy, torch
torch.manual_seed(4)
a = torch.randn(300, 300)
x = torch.nn.Linear(5, 5)
x(torch.ones(2, 5)).sum().backward()
print(float((a @ a).sum()), x.weight.grad.sum(), torch.get_num_threads(), torch.get_num_interop_threads())
print(torch.__config__.parallel_info())
"""
JAX = """
import jax
print(jax.jit(lambda x: (x * 2 + 1).sum())(jax.numpy.arange(1000.0)), jax.devices())
"""
TRITON = """
import torch, triton, triton.language as tl
@triton.jit
def twice(source, target, BLOCK: tl.constexpr):
    places = tl.arange(0, BLOCK)
    tl.store(target + places, 2 * tl.load(source + places))
source, target = torch.arange(16.0), torch.empty(16)
twice[(1,)](source, target, BLOCK=16)
print(target)
"""
# Of libraries those that were imported before.
RANDOM = """
import random, sys
print(random.random())
if "numpy" in sys.modules:
    import numpy
    print(numpy.random.rand(), numpy.random.default_rng().random())
if "torch" in sys.modules:
    import torch
    print(torch.rand(1), torch.initial_seed())
import tempfile, multiprocessing
print(tempfile.mktemp())
print(bytes(multiprocessing.current_process().authkey).hex())
"""


# As a bomb, but it ends where no limit ends it.
FORKS = "import os, signal\ntry:\n  for _ in range(200):\n    if not os.fork(): signal.pause()\nexcept OSError: print('refused')\n"

# Takes a lock on all that a run sees but device nodes and what lies deep, and says which of it another run has.
LOCKS = """
import fcntl, os, signal, stat
held, seen = [], set()
def visit(path, depth):
    kind = os.lstat(path).st_mode
    try:
        if stat.S_ISLNK(kind) and not path.startswith("/proc/self/"): return
        fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK)
    except OSError:
        return
    status = os.fstat(fd)
    held.append(fd)
    if (status.st_dev, status.st_ino) in seen or stat.S_ISCHR(status.st_mode): return
    seen.add((status.st_dev, status.st_ino))
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        print(path)
    except OSError:
        pass
    if len(held) > 500:
        if os.fork() == 0: signal.pause()
        while held: os.close(held.pop())
    for name in os.listdir(path) if stat.S_ISDIR(kind) and depth else ():
        visit(os.path.join(path, name), depth - 1)
for name in os.listdir("/"):
    visit("/" + name, {"proc": 0, "usr": 1}.get(name, 4))
for name in ("exe", "fd", "ns"):
    visit("/proc/self/" + name, 1)
os.write(int(os.environ["RESULT"]), b"looked: 1\\n")
if "HOLD" in os.environ: signal.pause()
"""


def script(source, preload=(), warm=True, python=PYTHON, **more):
    step = {"id": "s", "kind": "run", "argv": [python, "main.py", "a b"], "env": ENVIRONMENT, "inputs": {"main.py": text(source)}}
    if warm:
        step["warm"] = {"tool": python, "preload": list(preload)}
    return dict(step, **more)


def run(server, source, *args, **more):
    return server.one(script(source, *args, **more))


def parts(outcome):
    """What must be the same, as lines; addresses and times are the process's own."""
    kept = ("state", "exit", "signal", "limit", "error", "result", "result_error", "protections", "stdout", "stderr")
    lines = json.dumps({key: outcome.get(key) for key in kept}, indent=1).replace("\\n", "\n")
    return re.sub(r"0x[0-9a-f]+", "0x", lines).splitlines()


def compare(server, name, source, preload=(), **more):
    cold, warm = run(server, source, preload, False, **more), run(server, source, preload, **more)
    assert warm.get("warm") and not cold.get("warm"), (name, warm)
    difference = list(difflib.unified_diff(parts(cold), parts(warm), "cold", "warm", n=1, lineterm=""))
    assert not difference, "%s:\n%s" % (name, "\n".join(difference))


def warnings(server):
    return [event["error"] for event in server.events if event["event"] == "error"]


def children(pid):
    """Living children of a process."""
    found = []
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open("/proc/%s/stat" % name) as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[1]) == pid and fields[0] != "Z":
            found.append(int(name))
    return found


def is_init(pid):
    """Whether it is the first process of a sandbox: it has a number in there as well, from its first moment on."""
    try:
        with open("/proc/%d/status" % pid) as file:
            return any(line.startswith("NSpid:") and len(line.split()) > 2 for line in file)
    except OSError:
        return False


def warm_processes(server):
    """Interpreters that kettle-exec owns: its children that are no inits."""
    found = []
    for pid in children(server.process.pid):
        try:
            with open("/proc/%d/cmdline" % pid) as file:
                line = file.read()
        except OSError:
            continue
        if "kettle_warm" in line and not is_init(pid):
            found.append(pid)
    return found


def spares(server):
    """What is ready for runs to come, by what is below each init: nothing yet, or a copy that waits."""
    return sorted(len(children(pid)) for pid in children(server.process.pid) if is_init(pid))


def descriptors(pid):
    """What its descriptors lead to; those that go meanwhile are left out."""
    folder, found = "/proc/%d/fd/" % pid, []
    for name in os.listdir(folder):
        try:
            found.append(os.readlink(folder + name))
        except OSError:
            pass
    return found


def equality(folder):
    """A copy finds what a fresh interpreter finds, and ends as it ends"""
    with Exec(folder) as server:
        for name, source in SCRIPTS.items():
            compare(server, name, source)
        with open(os.path.join(SOURCE, "plugins", "languages", "py", "run.py")) as file:  # of which it has the code ready
            compare(server, "run.py", file.read())
        equal(warnings(server), [])


def libraries(folder):
    """Libraries that were imported before compute the same, with as many threads"""
    if not modules_here():
        raise Skip("no interpreter here has numpy")
    with Exec(folder) as server:
        compare(server, "numpy", NUMPY, ["numpy"])
        if "torch" in modules_here():
            compare(server, "torch", TORCH, ["numpy", "torch"])
        if "jax" in libraries_here():
            compare(server, "jax", JAX, ["numpy", "jax"])
        if "torch" in modules_here() and "triton" in libraries_here():
            compare(server, "triton", TRITON, ["numpy", "torch", "triton"], env=dict(ENVIRONMENT, TRITON_INTERPRET="1"))


def randomness(folder):
    """Two copies draw different random numbers wherever two fresh interpreters do"""
    with Exec(folder) as server:
        first, second = (run(server, RANDOM, modules_here())["stdout"]["text"].splitlines() for _ in range(2))
        equal(len(first), len(second))
        same = [a for a, b in zip(first, second) if a == b]
        assert not same, same


def secrets(folder):
    """A secret reaches the copy that it is for, and neither the next one nor the warm process"""
    marker = "marker" + str(random.getrandbits(64))
    look = "import os, sys\nprint(os.environ.get('POPCORN_SEED'))\nprint(os.read(int(os.environ['FD']), 99))\n"
    with Exec(folder) as server:
        run(server, "pass")
        outcome = run(server, "import os\nprint(os.environ['POPCORN_SEED'])\n", secret={"POPCORN_SEED": marker})
        equal(outcome["stdout"]["text"].strip(), marker)
        outcome = run(server, look, secret={"POPCORN_SEED": marker}, secret_fd="FD")
        contains(outcome["stdout"]["text"], "POPCORN_SEED=" + marker)
        [pid] = warm_processes(server)
        os.kill(pid, signal.SIGSTOP)  # while it makes the next copy ready, its mappings come and go
        poll(lambda: open("/proc/%d/stat" % pid).read().rsplit(")", 1)[1].split()[0] == "T", "the warm process to stop")
        with open("/proc/%d/maps" % pid) as maps, open("/proc/%d/mem" % pid, "rb") as memory:
            for line in maps:
                start, end = (int(word, 16) for word in line.split()[0].split("-"))
                if "r" in line.split()[1] and not line.rstrip().endswith(("[vvar]", "[vsyscall]", "[vvar_vclock]")):
                    memory.seek(start)
                    assert marker.encode() not in memory.read(end - start), line
        os.kill(pid, signal.SIGCONT)


def apart(folder):
    """No lock of a run is visible to another run, except for device nodes and the files that docs/operating.md names"""
    with Exec(folder) as server:
        for warm in (False, True):
            step = script(LOCKS, [], warm, result="RESULT")
            server.run("held", [dict(step, env=dict(ENVIRONMENT, HOLD="1"))])
            server.until(event="result", job="held")
            outcome = server.one(step)
            if "locks" not in outcome["protections"]:
                raise Skip("overlays cannot be mounted here")
            known = ["/proc/self/exe"] * warm + ["/proc/self/ns/time"] * os.path.exists("/proc/self/ns/time")
            equal((outcome["state"], outcome.get("warm", False), outcome["stdout"]["text"].splitlines()), ("passed", warm, known))
            server.send(op="cancel", job="held")
            server.done("held")


def shadows(folder):
    """A file beside the script that has the name of a loaded module is found as in a fresh interpreter"""
    with Exec(folder) as server:
        for name in ("types.py", "numpy.py"):
            source = "import %s\nprint(%s.own)\n" % (name[:-3], name[:-3])
            if name == "types.py":
                source = "import sys\nsys.modules.pop('types', None)\n" + source
            elif "numpy" not in modules_here():
                continue
            inputs = {"main.py": text(source), name: text("own = 'mine'\n")}
            outcome = run(server, source, ["numpy"] if name == "numpy.py" else [], inputs=inputs)
            equal((outcome["stdout"]["text"], outcome["state"]), ("mine\n", "passed"))


def failures(folder):
    """A module that fails, prints or does not end leads to cold starts and one warning, one that is not installed to neither"""
    broken = os.path.join(folder, "broken")
    os.mkdir(broken)
    for name, source in (("kettle_fails", "raise ValueError('not today')\n"), ("kettle_prints", "print('hello')\n"),
                         ("kettle_threads", "import threading, time\nthreading.Thread(target=time.sleep, args=(99,), "
                          "daemon=True).start()\n"), ("kettle_dies", "import os\nos._exit(1)\n"),
                         ("kettle_later", "import threading\ndef use():\n  thread = threading.Thread(target=print, args=('used',))\n"
                          "  thread.start()\n  thread.join()\n"),
                         ("kettle_shares", "import mmap\nkept = mmap.mmap(-1, 4096)\n")):
        with open(os.path.join(broken, name + ".py"), "w") as file:
            file.write(source)
    with open(os.path.join(broken, "kettle_needs.py"), "w") as file:
        file.write("import kettle_missing\n")
    wanted = {"kettle_needs": "No module named 'kettle_missing'", "kettle_fails": "ValueError: not today",
              "kettle_prints": "an import prints text", "kettle_threads": "importing `kettle_threads` leaves 1 thread behind", "kettle_dies": "it printed nothing",
              "kettle_shares": "importing `kettle_shares` makes memory that all copies would share",
              "numpy kettle_threads": "importing `kettle_threads` leaves 1 thread behind"}
    with Exec(folder, config={"extra_paths": [broken]}) as server:
        for module, sentence in wanted.items():
            before = len(warnings(server))
            for _ in range(2):
                outcome = run(server, "print('fine')\n", module.split(), env=dict(ENVIRONMENT, PYTHONPATH=broken))
                equal((outcome["stdout"]["text"], outcome["state"], outcome.get("warm")), ("fine\n", "passed", None))
            equal(len(warnings(server)), before + 1)
            contains(warnings(server)[-1], sentence)
        # By what it does, not by its name: threads that come with its first use are the run's own.
        outcome = run(server, "import kettle_later\nkettle_later.use()\n", ["kettle_later"], env=dict(ENVIRONMENT, PYTHONPATH=broken))
        equal((outcome["stdout"]["text"], outcome["state"], outcome.get("warm")), ("used\n", "passed", True))
        before = len(warnings(server))
        outcome = run(server, "try:\n    import kettle_missing\nexcept ImportError as error:\n    print(error)\n",
                      ["kettle_missing"])
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("No module named 'kettle_missing'\n", True))
        equal(len(warnings(server)), before)
    with open(os.path.join(broken, "kettle_waits.py"), "w") as file:
        file.write("import time\ntime.sleep(%d)\n" % PATIENCE)
    with Exec(folder, config={"extra_paths": [broken], "warm": {"idle_seconds": 0, "start_seconds": 1}}) as server:
        outcome = run(server, "print('fine')\n", ["kettle_waits"], env=dict(ENVIRONMENT, PYTHONPATH=broken))
        equal((outcome["state"], outcome.get("warm")), ("passed", None))
        contains(warnings(server)[-1], "start_seconds")


def hostile(folder):
    """Whatever a script does, the next copy is as the one before it"""
    scripts = [
        "import os\nos._exit(1)\n",
        "import os\nos.closerange(0, 1000)\nos.kill(os.getppid(), 9)\n",
        "import sys\nfor name in list(sys.modules): sys.modules[name] = None\n",
        "import os, signal\nfor n in range(1, 65):\n  try: signal.signal(n, signal.SIG_IGN)\n  except (OSError, ValueError): pass\n"
        "signal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nos.kill(-1, 9)\n",
        "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass\n",
        "import ctypes\nctypes.memset(0, 0, 1)\n",
        "import os\nos.kill(1, 9)\nos.kill(1, 15)\nos.abort()\n",
        "import builtins, gc\nbuiltins.print = builtins.open = None\ngc.disable()\nimport os\nos.environ.clear()\n",
    ]
    with Exec(folder) as server:
        before = parts(run(server, STATE))
        [pid] = warm_processes(server)
        for source in scripts:
            run(server, source, limits={"wall": 1, "processes": 64})
        outcome = run(server, FORKS, limits={"processes": 64})
        if "pids_cgroup" in outcome["protections"]:
            equal((outcome["stdout"]["text"], outcome.get("warm")), ("refused\n", True))
        equal(parts(run(server, STATE)), before)
        equal(warm_processes(server), [pid])


def soak(folder):
    """After many copies, some of them killed, memory, descriptors and children are where they were"""
    jobs = int(os.environ.get("KETTLE_SOAK", "60"))
    modules = modules_here()[:1]  # what leaks is kettle-exec's and the warm process's own, whatever it has loaded

    def measure():
        """Once both spares are there: a bare sandbox, and one with a copy that waits."""
        poll(lambda: spares(server) == [0, 1], "spares for the next run")
        [warm] = warm_processes(server)
        with open("/proc/%d/statm" % warm) as file:
            pages = int(file.read().split()[1])
        return warm, len(descriptors(warm)), len(descriptors(server.process.pid)), len(children(server.process.pid)), pages

    def back():
        """Whether nothing is more than before. What is still on its way into or out of a spare goes; what leaks stays."""
        after = measure()
        equal(after[0], before[0])
        return all(now <= then for now, then in zip(after[1:], (*before[1:4], before[4] * 1.05 + 256)))

    def one(number):
        if number % 10:
            equal(run(server, "print('x')\n", modules)["state"], "passed")
            return
        server.run("killed", [script("import time\ntime.sleep(60)\n", modules)])
        server.until(event="step", job="killed")
        deadline = time.monotonic() + random.random() * 0.03
        poll(lambda: time.monotonic() > deadline, "a random moment")
        server.send(op="cancel", job="killed")
        server.done("killed")

    with Exec(folder, config={"warm": {"copies": 1000000}}) as server:
        for number in range(1, 12):
            one(number)
        before = measure()
        for number in range(1, jobs + 2):
            one(number)
        poll(back, "as much as before, %r" % (before,))


def renewal(folder):
    """A warm process that died, was copied often enough, or whose modules changed is started anew"""
    own = os.path.join(folder, "modules")
    os.mkdir(own)

    def write(value):
        with open(os.path.join(own, "kettle_own.py.new"), "w") as file:
            file.write("value = %r\n" % value)
        os.rename(os.path.join(own, "kettle_own.py.new"), os.path.join(own, "kettle_own.py"))

    def value():
        outcome = run(server, "import kettle_own\nprint(kettle_own.value)\n", ["kettle_own"], env=dict(ENVIRONMENT, PYTHONPATH=own))
        equal(outcome.get("warm"), True)
        return outcome["stdout"]["text"].strip()

    write("first")
    # What a script imports it must also see: the folder is shown.
    with Exec(folder, config={"warm": {"copies": 3}, "extra_paths": [own]}) as server:
        equal(value(), "first")
        [first] = warm_processes(server)
        os.kill(first, signal.SIGKILL)
        # A copy that was made ahead outlives it.
        poll(lambda: value() == "first" and first not in warm_processes(server) and warm_processes(server), "another one")
        [second] = warm_processes(server)
        equal([value(), value(), value()], ["first"] * 3)
        assert warm_processes(server) != [second]
        write("second")
        poll(lambda: value() == "second", "the changed module")
        equal(warnings(server), [])


def parked(folder):
    """A copy that waits for its run may die, and then the run finds another"""
    with Exec(folder) as server:
        before = parts(run(server, STATE))
        warm = warm_processes(server)

        def waiting():
            return [child for pid in children(server.process.pid) if pid not in warm for child in children(pid)]
        for _ in range(3):
            poll(waiting, "a copy that waits")
            [pid] = waiting()
            os.kill(pid, signal.SIGKILL)
            poll(lambda: not waiting(), "its end")
            outcome = run(server, STATE)
            # Its number is not that of the first process any more.
            different = [line for line in difflib.ndiff(before, parts(outcome)) if line[0] in "+-" and "NSpid" not in line]
            different = [line for line in different if not re.match(r"[-+] +[23],?$|[-+].*NSpgid|[-+].*NSsid", line)]
            equal((different, outcome.get("warm"), warm_processes(server)), ([], True, warm))


def images(server):
    """Files with the memory of warm processes that kettle-exec has, and that are still there."""
    return [path for path in descriptors(server.process.pid) if "/kettle-warm-" in path and os.path.exists(path)]


def cleaned(folder):
    """Memory that others clean away, as happens when a user logs out, is written anew"""
    with Exec(folder) as server:
        for _ in range(3):
            outcome = run(server, SCRIPTS["a process"])
            equal((outcome["state"], outcome.get("warm"), outcome["stderr"]["text"]), ("passed", True, ""))
            contains(outcome["stdout"]["text"], "returncode=0")
            if not images(server):
                raise Skip("no memory is written here")
            for path in images(server):
                os.unlink(path)
        equal(warnings(server), [])


def waiting(folder):
    """What a copy uses while it waits for its run counts against no limit"""
    own = os.path.join(folder, "modules")
    os.mkdir(own)
    with open(os.path.join(own, "kettle_spins.py"), "w") as file:
        file.write("import os, time\ndef spin():\n  end = time.process_time() + 0.6\n  while time.process_time() < end: pass\n"
                   "os.register_at_fork(after_in_child=spin)\n")

    def rests():
        """A copy that has used its time and sleeps."""
        warm = warm_processes(server)
        for init in children(server.process.pid):
            for pid in children(init) if init not in warm else ():
                try:
                    with open("/proc/%d/stat" % pid) as file:
                        fields = file.read().rpartition(")")[2].split()
                except OSError:
                    continue
                if fields[0] == "S" and int(fields[11]) + int(fields[12]) >= 0.5 * os.sysconf("SC_CLK_TCK"):
                    return True
        return False
    with Exec(folder, config={"extra_paths": [own]}) as server:
        for _ in range(2):
            outcome = run(server, "pass", ["kettle_spins"], env=dict(ENVIRONMENT, PYTHONPATH=own))
            equal((outcome["state"], outcome.get("warm")), ("passed", True))
            poll(rests, "a copy that waits")
        outcome = run(server, "pass", ["kettle_spins"], env=dict(ENVIRONMENT, PYTHONPATH=own), limits={"cpu": 0.5})
        equal((outcome["state"], outcome.get("warm")), ("passed", True))


def upgrade(folder):
    """An interpreter that is replaced under a running kettle-exec is noticed"""
    python = os.path.join(folder, "bin", os.path.basename(PYTHON))
    os.mkdir(os.path.dirname(python))
    prefix = subprocess.run([PYTHON, "-c", "import sys; print(sys.base_prefix)"], stdout=subprocess.PIPE, text=True).stdout.strip()
    environment = dict(ENVIRONMENT, PYTHONHOME=prefix)

    def install():
        shutil.copy(PYTHON, python + ".new")
        os.rename(python + ".new", python)

    def go():
        outcome = run(server, "import sys\nprint(sys.executable)\n", python=python, env=environment)
        equal((outcome["state"], outcome.get("warm")), ("passed", True))
        equal(outcome["stdout"]["text"].strip(), python)
        return warm_processes(server)
    install()
    with Exec(folder, config={"extra_paths": [prefix, os.path.dirname(python)]}) as server:
        first = go()
        equal(go(), first)
        install()
        poll(lambda: go() != first, "a new warm process")
        equal((warnings(server), len(warm_processes(server))), ([], 1))


def off(folder):
    """exec.yml can do without"""
    with Exec(folder, config={"warm": {"processes": 0}}) as server:
        outcome = run(server, "print('x')\n")
        equal((outcome["stdout"]["text"], outcome.get("warm")), ("x\n", None))
        equal(warm_processes(server), [])


def several(folder):
    """Only so many warm processes stay; the ones that were not used for longest go"""
    with Exec(folder, config={"warm": {"processes": 2}}) as server:
        for number in range(4):
            outcome = run(server, "print('x')\n", env=dict(ENVIRONMENT, OWN=str(number)))
            equal((outcome["state"], outcome.get("warm")), ("passed", True))
            poll(lambda: len(warm_processes(server)) <= 2, "the end of others")
        poll(lambda: len(warm_processes(server)) == 2, "two processes")


def lease(folder):
    """The end of the lease, or of kettle-exec, is the end of warm processes"""
    with Exec(folder) as server:
        run(server, "pass")
        [pid] = warm_processes(server)
        equal(server.close(), 0)
        poll(lambda: not os.path.exists("/proc/%d" % pid), "the end of the warm process")
    server = Exec(folder)
    run(server, "pass")
    [pid] = warm_processes(server)
    server.process.kill()
    server.process.wait()
    poll(lambda: not os.path.exists("/proc/%d" % pid), "the end of the warm process")
    server.close()


def home(folder):
    """Imports find an empty HOME of their own, and nothing of it is left"""
    place = os.path.join(folder, "modules")
    os.mkdir(place)
    with open(os.path.join(place, "looks.py"), "w", encoding="utf-8") as file:
        file.write("import os, sys\nhome = os.environ['HOME']\nkept = os.path.join(home, 'x')\n"
                   "found = (home, os.stat(home).st_mode & 0o777, os.listdir(home), sys.flags.no_user_site)\n"
                   "os.mkdir(kept)\n")
    source = "import json, os, site, looks\nprint(json.dumps([looks.found, looks.home, looks.kept, " \
             "os.environ['HOME'], site.getuserbase(), sorted(os.environ)]))\n"
    with Exec(folder, config={"extra_paths": [place]}) as server:
        outcome = run(server, source, ["looks"], env=dict(ENVIRONMENT, PYTHONPATH=place))
        equal((outcome["state"], outcome.get("warm")), ("passed", True))
        (path, *found), own, kept, *now, names = json.loads(outcome["stdout"]["text"])
        equal((found, own, kept, now), ([0o700, [], 1], "/tmp/home", "/tmp/home/x", ["/tmp/home", "/tmp/home/.local"]))
        assert path != "/tmp/home" and not os.path.exists(path), path
        assert not [name for name in names if name.startswith("KETTLE_WARM")], names


def confined(folder):
    """Imports of a kettle-exec of root have none of its rights: no user, no network, no file, no process of the machine's"""
    if os.getuid() != 0:
        raise Skip("only root may give up rights")
    place, secret = os.path.join(folder, "modules"), os.path.join(folder, "secret")
    os.mkdir(place)
    with open(secret, "w", encoding="utf-8") as file:
        file.write("x")
    os.chmod(secret, 0o600)
    os.mkdir(os.path.join(folder, "open"))
    os.chmod(os.path.join(folder, "open"), 0o777)
    with open(os.path.join(place, "tries.py"), "w", encoding="utf-8") as file:
        file.write("import os, socket\n"
                   "def fails(what):\n    try:\n        what()\n    except OSError as error:\n        return error.strerror\n"
                   "    return None\n"
                   "found = {'uid': os.getresuid(), 'groups': os.getgroups(), 'network': [name for _, name in socket.if_nameindex()],\n"
                   "    'read': fails(lambda: open(%r)), 'write': fails(lambda: open(%r, 'w')), 'tmp': fails(lambda: open('/tmp/no-such', 'w')),\n"
                   "    'shm': fails(lambda: open('/dev/shm/x', 'w')), 'kill': fails(lambda: os.kill(%d, 0)),\n"
                   "    'status': [line.split()[1] for line in open('/proc/self/status') if line[:6] in ('CapEff', 'CapPrm', 'NoNewP')],\n"
                   "    'kept': open(os.path.join(os.environ['TMPDIR'], 'x'), 'w').close()}\n"
                   "where = os.environ['TMPDIR']\n" % (secret, os.path.join(folder, "open", "x"), os.getpid()))
    source = "import json, os, tries\nprint(json.dumps([tries.found, tries.where, os.environ['TMPDIR']]))\n"
    with Exec(folder, config={"extra_paths": [place]}) as server:
        outcome = run(server, source, ["tries"], env=dict(ENVIRONMENT, PYTHONPATH=place))
        equal((outcome["state"], outcome.get("warm"), warnings(server)), ("passed", True, []))
        found, *temporary = json.loads(outcome["stdout"]["text"])
        equal(temporary, ["/tmp", "/tmp"])
        assert len(set(found["uid"])) == 1 and found["uid"][0] > 700000000, found
        equal((found["groups"], found["network"], found["read"], found["kill"]), ([], ["lo"], "Permission denied", "Operation not permitted"))
        equal([found[name] for name in ("write", "tmp", "shm")], ["Read-only file system"] * 3)
        equal([set(word) for word in found["status"]], [{"0"}, {"0"}, {"1"}])


def entitled(folder):
    """Where others may not look at a folder of modules, imports keep the rights of kettle-exec, and the log says so"""
    place = os.path.join(folder, "closed", "modules")
    os.makedirs(place)
    os.chmod(os.path.dirname(place), 0o700)
    with open(os.path.join(place, "own.py"), "w", encoding="utf-8") as file:
        file.write("value = 5\n")
    with Exec(folder, config={"extra_paths": [place]}) as server:
        for _ in range(2):
            outcome = run(server, "import own\nprint(own.value)\n", ["own"], env=dict(ENVIRONMENT, PYTHONPATH=place))
            equal((outcome["stdout"]["text"], outcome.get("warm")), ("5\n", True))
        equal([line.startswith("`/") and "` imports with the rights of kettle-exec: " in line for line in warnings(server)],
              [True] if os.getuid() == 0 else [])


def doctor_warns(folder, python, place, env=None):
    """Whether the doctor says that others may write to a place of this interpreter."""
    config = os.path.join(folder, "doctor.yml")
    with open(config, "w", encoding="utf-8") as file:
        json.dump({"report": [python], "env": {python: env or {}}}, file)
    answer = subprocess.run([PROGRAM, "--doctor", "--state", os.path.join(folder, "state"), "--config", config],
                            stdout=subprocess.PIPE, text=True, check=False)
    return "Others may write to `%s`" % place in answer.stdout


def writable(folder):
    """A virtual environment that others may write to is not imported with"""
    place = os.path.join(folder, "venv")
    python = os.path.join(place, "bin", "python3")
    os.makedirs(os.path.dirname(python))
    os.symlink(PYTHON, python)
    with open(os.path.join(place, "pyvenv.cfg"), "w", encoding="utf-8") as file:
        file.write("home = %s\n" % os.path.dirname(PYTHON))
    # A user's own group has the user's number.
    own = os.getgid()
    cases = [(0o777, own, None), (0o775, own, True if own == os.getuid() else None), (0o755, own, True)]
    for mode, group, warm in cases + ([(0o775, 12345, None)] if os.getuid() == 0 else []):
        os.chown(place, -1, group)
        os.chmod(place, mode)
        with Exec(folder) as server:
            outcome = run(server, "print('x')\n", python=python)
            equal((outcome["state"], outcome.get("warm")), ("passed", warm))
            equal(["chmod go-w" in line for line in warnings(server)], [] if warm else [True])
        if mode in (0o777, 0o755):
            equal(doctor_warns(folder, python, place), not warm)


def writable_path(folder):
    """Nor is one whose PYTHONPATH, or a folder that a .pth file names, others may write to, or that could be made by others"""
    place, packages = os.path.join(folder, "environment"), os.path.join(folder, "more")
    python = os.path.join(place, "bin", "python3")
    version = subprocess.run([PYTHON, "-c", "import sys; print('python%d.%d' % sys.version_info[:2])"], stdout=subprocess.PIPE, text=True,
                             check=True).stdout.strip()
    site = os.path.join(place, "lib", version, "site-packages")
    os.makedirs(os.path.dirname(python))
    os.makedirs(site)
    os.mkdir(packages)
    os.symlink(PYTHON, python)
    with open(os.path.join(place, "pyvenv.cfg"), "w", encoding="utf-8") as file:
        file.write("home = %s\n" % os.path.dirname(PYTHON))
    for variable, missing in ((True, False), (True, True), (False, False)):
        path = os.path.join(packages, "none") if missing else packages
        if not variable:
            with open(os.path.join(site, "x.pth"), "w", encoding="utf-8") as file:
                file.write(path + "\n")
        env = {"PYTHONPATH": path} if variable else {}
        for mode, warm in ((0o757, None), (0o755, True)):
            os.chmod(packages, mode)
            with Exec(folder, config={"extra_paths": [packages]}) as server:
                outcome = run(server, "print('x')\n", python=python, env=dict(ENVIRONMENT, **env))
                equal((outcome["state"], outcome.get("warm")), ("passed", warm))
                equal(["chmod go-w" in line for line in warnings(server)], [] if warm else [True])
            if not missing and (variable or not warm):
                equal(doctor_warns(folder, python, packages, env), not warm)


def need_warm():
    """Ends here where no interpreter stays warm: each test would wait for one as long as it may."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        with Exec(folder) as server:
            server.run("j", [script("print()\n")])
            done = server.done("j")
            if any(outcome.get("warm") for outcome in done["outcomes"]):
                return
            level, said = server.hello["level"], [*warnings(server), done.get("error")]
    why = "%s is not kept warm at sandbox level %s; %s" % (PYTHON, level, " ".join(filter(None, said)) or "no warning says why")
    print("1..1\nnot ok 1 - %s" % why if level == "full" else "1..0 # SKIP " + why)
    sys.exit(level == "full")


if __name__ == "__main__":
    need_warm()
    sys.exit(main([home, confined, entitled, writable, writable_path, equality, libraries, randomness, secrets, apart, shadows, failures, hostile, soak, renewal, parked, waiting, cleaned, upgrade, off, several, lease]))
