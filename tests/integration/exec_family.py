# SPDX-License-Identifier: MIT
"""What warm runs start under the interpreter's name: against fresh interpreters, confined, hostile, and what is left."""
from exec_warm import *

# Whether a process began with the memory of the warm one.
WARM = "'/kettle-warm/image' in open('/proc/self/maps').read()"

FIRST = """
import json, os, signal, subprocess, sys, time
exe = sys.executable
def show(*arguments, source=None, **more):
    words = [exe, *arguments] if source is None else [exe, "-c", source, *arguments]
    more = dict(dict(stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL), **more)
    if "input" in more:
        del more["stdin"]
    done = subprocess.run(words, **more)
    print(done.returncode, done.stdout and done.stdout.decode(), done.stderr and done.stderr.decode())
"""

SCRIPTS = {
    "state of -c": FIRST + "show('x y', source=open('state.py').read())\n",
    "state of -m": FIRST + "show('-s', '-B', '-m', 'state', 'x')\n",
    "state of a script": FIRST + "show('-u', 'state.py', '-c')\n",
    "statuses": FIRST + """
for code in ("import sys; sys.exit(7)", "1/0", "import os; os._exit(3)", "import os; os.abort()", "raise SystemExit('no')",
             "import os; os.kill(os.getpid(), 15)", "raise KeyboardInterrupt", "import ctypes; ctypes.string_at(0)", "x = = 1",
             "import atexit; atexit.register(print, 'bye'); print('x', end='')", "def f():\\n    1/0\\nf()", "print(chr(233))"):
    show(source=code)
show("-m", "nothing")
show("nothing.py")
show("-m", "timeit", "-n1", "-r1", "-h")
show("fails.py", "x", cwd="/job")
show("/job/fails.py", cwd="/tmp")
""",
    "descriptors": FIRST + """
r, w = os.pipe()
look = ("import os; print([(n, os.readlink('/proc/self/fd/' + n).partition(':')[0]) for n in sorted(os.listdir('/proc/self/fd'))"
        " if os.path.exists('/proc/self/fd/' + n)])")
show(source=look, pass_fds=(w,))
show(source=look, close_fds=False)
show(str(w), source="import os, sys; os.write(int(sys.argv[1]), b'hello')", pass_fds=(w,))
print(os.read(r, 9))
show(source="import sys; print(repr(sys.stdin.read()), sys.stdin.isatty())", input=b"abc")
with open("/tmp/in", "w+") as file:
    file.write("one\\ntwo\\n"); file.seek(0)
    show(source="import sys; print(sys.stdin.readline(), sys.stdin.seekable())", stdin=file)
    print(file.fileno() > 2, os.lseek(file.fileno(), 0, 1))
with open("/tmp/out", "w+") as file:
    show(source="import sys; print('a'); sys.stderr.write('b')", stdout=file, stderr=subprocess.STDOUT)
    file.seek(0); print(file.read())
show(source="import sys; print(sys.stdin, sys.stdout.line_buffering)", stdin=None, preexec_fn=lambda: os.close(0))
show(source="import sys; sys.stdout.write('x' * 100000)", stdout=subprocess.DEVNULL)
with open("/dev/full", "w") as file:
    show(source="print('x')", stdout=file)
show(source="import os; os.closerange(0, 99); os.write(1, b'x')")
""",
    "surroundings": FIRST + """
look = ("import os, resource, signal, sys; print(os.getcwd(), sys.path[0], os.umask(0), os.getpgrp() == os.getpid(), os.getsid(0) == os.getpid(),"
        "resource.getrlimit(resource.RLIMIT_NOFILE), resource.getrlimit(resource.RLIMIT_NPROC), os.getpriority(0, 0),"
        "sorted(signal.pthread_sigmask(0, [])), signal.getsignal(10), signal.getsignal(13), sorted(os.environ.items()), os.getppid() == int(sys.argv[1]))")
import resource
own = str(os.getpid())
show(own, source=look)
show(own, source=look, cwd="/tmp", umask=0o77) if sys.version_info >= (3, 9) else None
show(own, source=look, start_new_session=True)
show(own, source=look, preexec_fn=lambda: os.setpgid(0, 0))
show(own, source=look, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)))
show(own, source=look, preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_STACK, (8 << 20, 8 << 20)))
show(own, source=look, preexec_fn=lambda: os.nice(3))
show(own, source=look, preexec_fn=lambda: signal.pthread_sigmask(signal.SIG_BLOCK, [10]))
show(own, source=look, preexec_fn=lambda: signal.signal(10, signal.SIG_IGN))
show(own, source=look, restore_signals=False)
show(own, source=look, env=dict(os.environ, OTHER="1"))
show(own, source=look, env=dict(os.environ, KETTLE_X="1"))
show(own, source=look, env={})
show(source="print(open('/proc/self/comm').read())", env={})
show(own, source=look, env=dict(os.environ, LD_PRELOAD="/nowhere.so"))
os.mkdir("/tmp/own"); open("/tmp/own/mine.py", "w").write("x = 3"); open("/tmp/own/types.py", "w").write("mine = 1")
os.mkdir("/tmp/more"); open("/tmp/more/mine.py", "w").write("x = 4")
look = "import sys; print(sys.path); import mine, types; print(mine.x, hasattr(types, 'mine'))"
show(source=look, env=dict(os.environ, PYTHONPATH="/tmp/more"))
show(source=look, env=dict(os.environ, PYTHONPATH="/tmp/own"))
show(source=look, env=dict(os.environ, PYTHONPATH=":".join(["/tmp/more"] + sys.path)))
show(source=look, cwd="/tmp/own")
""",
    "options": FIRST + """
look = "import sys; print(sys.flags, sys.argv, sys._xoptions, sys.warnoptions, sys.path[:1])"
for options in ("-B", "-s", "-u", "-I", "-S", "-E", "-O", "-OO", "-Wignore", "-v0", "-Xdev", "-Xutf8=0", "-b", "-q", "-sBu", "-P", "-sI"):
    done = subprocess.run([exe, options, "-c", look, "-x"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    print(options, done.returncode, done.stdout.decode())
show("-V"); show("-c"); show("-"); show("-Bc", "print(1)"); show("--version"); show("-B", "-s")
show(input=b"import sys; print(sys.argv, __name__)")
show("-", "a", input=b"import sys; print(sys.argv)")
show(source="")
show(source="print('\\udce9')") if sys.version_info < (3, 12) else None
import zipfile
with zipfile.ZipFile("/tmp/app.py", "w") as app: app.writestr("__main__.py", "import sys; print('app', sys.argv)")
show("/tmp/app.py")
os.rename("/tmp/app.py", "/tmp/app.pyz")
show("/tmp/app.pyz")
os.mkdir("/tmp/folder"); open("/tmp/folder/__main__.py", "w").write("print('folder')")
show("/tmp/folder")
print(subprocess.run(["python3.99", "-c", "import sys; print(sys.executable)"], executable=exe, capture_output=True).stdout)
print(subprocess.run([exe.rpartition("/")[2], "-c", "import sys; print(sys.executable, sys.prefix)"], capture_output=True).stdout)
print(subprocess.run("exec '%s' -c 'import sys; print(sys.executable, sys.orig_argv[1:] if hasattr(sys, \\"orig_argv\\") else 0)'" % exe,
                     shell=True, capture_output=True).stdout)
import sysconfig, multiprocessing.spawn
print(exe, os.path.realpath(exe), sys.prefix, sys.base_prefix, sysconfig.get_paths()["stdlib"], multiprocessing.spawn.get_executable())
""",
    "signals": FIRST + """
def start(code): return subprocess.Popen([exe, "-c", "print('up', flush=True)\\n" + code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGINT, signal.SIGUSR1):
    child = start("import time\\ntime.sleep(60)"); child.stdout.readline()
    child.send_signal(number); out, err = child.communicate()
    print(child.returncode, out, err.splitlines()[-1:])  # where it was interrupted is chance
child = start("import signal, time\\nsignal.signal(15, lambda *a: (print('caught'), exit(4)))\\nprint('set', flush=True)\\ntime.sleep(60)")
child.stdout.readline(); child.stdout.readline(); child.terminate(); print(child.communicate(), child.returncode)
try:
    subprocess.run([exe, "-c", "import time; time.sleep(60)"], timeout=0.3)
except subprocess.TimeoutExpired: print("too long")
child = start("import time\\ntime.sleep(60)"); child.stdout.readline()
child.send_signal(signal.SIGSTOP); pid, status = os.waitpid(child.pid, os.WUNTRACED); print(pid == child.pid, os.WIFSTOPPED(status))
child.send_signal(signal.SIGCONT); child.kill(); print(child.wait())
child = start("import os\\nif os.fork() == 0: os.execv(os.sys.executable, [os.sys.executable, '-c', 'import time; time.sleep(60)'])\\nimport time; time.sleep(60)")
child.stdout.readline(); os.kill(child.pid, 9); print(child.wait())
pid = os.spawnv(os.P_NOWAIT, exe, [exe, "-c", "import os; os._exit(5)"])
print(os.waitpid(pid, 0)[1], sum(os.times()[2:4]) >= 0)
""",
    "pools": FIRST + """
import multiprocessing as mp, concurrent.futures as futures
def f(x): return x * x, __name__
def die(x): os._exit(x)
if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        with mp.get_context(method).Pool(2) as pool: print(method, pool.map(f, range(5)))
    context = mp.get_context("spawn")
    with futures.ProcessPoolExecutor(2, mp_context=context) as pool: print(list(pool.map(f, range(3))))
    with context.Manager() as manager:
        shared = manager.dict(); shared["x"] = 1; print(shared)
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=64); memory.buf[0] = 3; memory.close(); memory.unlink()
    process = context.Process(target=die, args=(9,)); process.start(); process.join(); print(process.exitcode)
    process = context.Process(target=time.sleep, args=(60,)); process.start(); process.kill(); process.join(); print(process.exitcode)
    ours, theirs = context.Pipe(); process = context.Process(target=theirs.send, args=((1, "x"),)); process.start()
    print(ours.recv()); process.join(); print(process.exitcode)
    queue = context.Queue(); process = context.Process(target=queue.put, args=(4,)); process.start(); print(queue.get()); process.join()
""",
}


def inputs(source):
    state = STATE.replace("__file__", "globals().get('__file__')").replace("__loader__.path", "getattr(__loader__, 'path', None)")
    return {"main.py": text(source), "state.py": text(state),
            "fails.py": text("import sys\nprint(sys.argv, __file__, sys.path[0])\ndef f(x):\n    return 1 / x\nf(0)\n")}


def go(server, source, preload=(), warm=True, **more):
    return server.one(script(source, preload, warm, **dict({"inputs": inputs(source)}, **more)))


def output(server, source, preload=(), **more):
    outcome = go(server, source, preload, **more)
    equal((outcome["state"], outcome["stderr"]["text"]), ("passed", ""))
    return outcome["stdout"]["text"].splitlines()


def needs_stand_in():
    if not os.path.exists(os.path.join(BUILD, "warm", "python")):
        raise Skip("the stand-in was not built")


def same(folder):
    """A program started by the interpreter's name finds what a fresh one finds, and ends as it ends"""
    with Exec(folder) as server:
        for name, source in SCRIPTS.items():
            cold, warm = parts(go(server, source, warm=False)), parts(go(server, source))
            difference = list(difflib.unified_diff(cold, warm, "cold", "warm", n=1, lineterm=""))
            assert not difference, "%s:\n%s" % (name, "\n".join(difference))
        equal(warnings(server), [])


def paths(folder):
    """A PYTHONPATH that the run has by itself is not passed on to who gets none, or another"""
    source = FIRST + """
for change in ({}, {"PYTHONPATH": ""}, {"PYTHONPATH": "/usr/lib"}, {"PYTHONPATH": "/usr/share:/usr/lib"}):
    show(source="import sys; print(sys.path)", env=dict(os.environ, **change))
del os.environ["PYTHONPATH"]
show(source="import sys; print(sys.path)")
"""
    with Exec(folder) as server:
        cold, warm = (parts(go(server, source, warm=warm, env=dict(ENVIRONMENT, PYTHONPATH="/usr/share"))) for warm in (False, True))
        equal(warm, cold)


def family(folder):
    """Pools, subprocesses, fork servers and what they start begin warm; what cannot be the same does not"""
    needs_stand_in()
    with Exec(folder) as server:
        lines = output(server, FIRST + """
import multiprocessing as mp, concurrent.futures as futures
def f(x): return %s
if __name__ == "__main__":
    for method in ("spawn", "forkserver"):
        with mp.get_context(method).Pool(1) as pool: print(method, pool.map(f, [1])[0])
    with futures.ProcessPoolExecutor(1, mp_context=mp.get_context("spawn")) as pool: print("executor", list(pool.map(f, [1]))[0])
    look = "print(%s)"
    open("/tmp/s.py", "w").write(look); open("/tmp/mod.py", "w").write(look)
    def said(name, *words, **more):
        print(name, subprocess.run([exe, *words], stdout=subprocess.PIPE, **more).stdout.decode().strip())
    said("-c", "-c", look); said("-m", "-sB", "-m", "mod", cwd="/tmp"); said("script", "/tmp/s.py")
    said("path", "-c", look, env=dict(os.environ, PYTHONPATH=":".join(sys.path)))
    said("nested", "-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', %%r])" %% look)
    said("isolated", "-I", "-c", look); said("other", "-c", look, env=dict(os.environ, OTHER="1"))
    said("stdin", input=look.encode()); said("ignored", "-c", look, preexec_fn=lambda: signal.signal(1, signal.SIG_IGN))
""" % (WARM, WARM))
        equal(dict(line.split() for line in lines), dict(
            dict.fromkeys(["spawn", "forkserver", "executor", "-c", "-m", "script", "path", "nested"], "True"),
            **dict.fromkeys(["isolated", "other", "stdin", "ignored"], "False")))


def modules(folder):
    """Their libraries are there already and compute the same, with random numbers of their own"""
    needs_stand_in()
    if not modules_here():
        raise Skip("no interpreter here has numpy")
    with Exec(folder) as server:
        for name, source in (("numpy", NUMPY), ("torch", TORCH)):
            if name in modules_here():
                source = FIRST + "show(source=%r)\n" % source
                equal(parts(go(server, source, modules_here())), parts(go(server, source, warm=False)))
        lines = output(server, FIRST + "show(source=%r)\nshow(source=%r)\n" % (("import sys\nprint(sorted({'numpy', 'torch'} & "
                       "set(sys.modules)), %s)\n" % WARM,) + (RANDOM,)), modules_here())
        equal(lines[0], "0 %r True" % sorted(modules_here()))
        first, second = (output(server, FIRST + "show(source=%r)\n" % RANDOM, modules_here()) for _ in range(2))
        assert not [a for a, b in zip(first, second) if a == b and a != " b''"], first


CONFINE = """
import ctypes
library = ctypes.CDLL(None, use_errno=True)
def confine():
    # No new files.
    rights = (1 << 8).to_bytes(8, sys.byteorder)
    rules = library.syscall(444, rights, 8, 0)
    assert rules >= 0 and library.prctl(38, 1, 0, 0, 0) == 0 and library.syscall(446, rules, 0) == 0
    os.close(rules)
    # getpgid of others is refused: one more filter.
    code = (ctypes.c_ulonglong * 4)(0x20, 0x0000007901000015, 0x0005000500000006, 0x7fff000000000006)
    class Program(ctypes.Structure): _fields_ = [("len", ctypes.c_ushort), ("filter", ctypes.c_void_p)]
    assert library.prctl(22, 2, ctypes.byref(Program(4, ctypes.addressof(code)))) == 0
"""


def confined(folder):
    """Who is confined more than the run starts nothing that is confined less"""
    needs_stand_in()
    look = ("import os\nprint(%s, [l for l in open('/proc/self/status') if l[:7] in ('Seccomp', 'NoNewPr', 'CapEff:', 'Uid:')])\n"
            "for name in ('/tmp/%%d', '/dev/shm/%%d'):\n  try: open(name %% os.getpid(), 'w'); print('made')\n  except OSError as e: print(e.strerror)\n"
            "try: print(os.getpgid(1))\nexcept OSError as e: print(e.strerror)\n" % WARM)
    with Exec(folder) as server:
        source = FIRST + CONFINE + "show(source=%r)\nconfine()\nshow(source=%r)\n" % (look, look)
        outcome = go(server, source)
        if outcome["state"] != "passed":
            raise Skip("this kernel has no Landlock")
        free, bound = outcome["stdout"]["text"].split("0 True ")[1:]
        contains(free, "made")
        assert "made" not in bound and bound.count("Permission denied") == 2, bound
        contains(bound, "Input/output error")


def hostile(folder):
    """Whatever a run does to the interpreter's place and to what it starts, it does to itself"""
    needs_stand_in()
    attacks = [
        FIRST + "while True: subprocess.Popen([exe, '-c', 'import time; time.sleep(60)'])\n",
        FIRST + "subprocess.run([exe, '-c', 'import os; os.kill(os.getppid(), 9)'])\n",
        FIRST + "os.closerange(0, 99)\nos.execv(exe, [exe, '-c', 'import os; os.closerange(0, 99); os.kill(-1, 9)'])\n",
        FIRST + "os.environ.clear()\nsys.modules.clear()\nos.execve(exe, [exe, '-c', 'x' * 100000], {'PATH': 'y' * 100000})\n",
        FIRST + "os.execve(exe, [''], {})\n",
        FIRST + "os.execve(exe, [exe, '-c', 'print(1)'], {b'=': b'', b'A': b'B'})\n",
        FIRST + "import resource\nresource.setrlimit(resource.RLIMIT_AS, (50 << 20, 50 << 20))\nos.execv(exe, [exe, '-c', 'print(1)'])\n",
        FIRST + "import resource\nresource.setrlimit(resource.RLIMIT_NOFILE, (4, 4))\nos.execv(exe, [exe, '-c', 'print(1)'])\n",
    ]
    change = """
for name, how in (("/run/kettle-warm/image", "r+b"), ("/run/kettle-warm/image", "wb"), (sys.executable, "wb")):
    try: open(name, how); print("open")
    except OSError as error: print("refused")
for change in (os.unlink, lambda name: os.truncate(name, 0), lambda name: os.chmod(name, 0o777), lambda name: os.rename(name, "/tmp/x"),
               lambda name: os.mkdir(os.path.dirname(name) + "/new")):
    try: change("/run/kettle-warm/image"); print("done")
    except OSError: print("refused")
"""
    with Exec(folder) as server:
        before = parts(go(server, SCRIPTS["state of -c"]))
        [pid] = warm_processes(server)
        for source in attacks:
            go(server, source, limits={"wall": 1, "processes": 64})
        equal(set(output(server, FIRST + change)), {"refused"})
        equal(parts(go(server, SCRIPTS["state of -c"])), before)
        equal(warm_processes(server), [pid])


def no_secrets(folder):
    """The memory that all begin with holds nothing of any run"""
    needs_stand_in()
    marker = "marker%d" % random.getrandbits(64)
    with Exec(folder) as server:
        for secret in ({"secret": {"POPCORN_SEED": marker}}, {"secret": {"POPCORN_SEED": marker}, "secret_fd": "FD"}):
            source = FIRST + "show(source='print(1)')\n" + ("os.read(int(os.environ['FD']), 99)\n" if "secret_fd" in secret else "")
            equal(go(server, source, **secret)["state"], "passed")
        look = "data = open('/run/kettle-warm/image', 'rb').read()\nprint(len(data) > 1 << 20, b'%s' + b'%s' in data)\n" % (marker[:6], marker[6:])
        equal(output(server, look), ["True False"])


def images(server):
    """Files of a kettle-exec that hold memory."""
    return sorted({link for link in descriptors(server.process.pid) if os.path.basename(link).startswith("kettle-warm-")})


def leftovers(folder):
    """Files with memory go with their process, also where that was killed"""
    needs_stand_in()
    with Exec(folder) as server:
        go(server, "pass")
        [path] = images(server)
        assert os.path.exists(path)
        equal(server.close(), 0)
        assert not os.path.exists(path)
    server = Exec(folder)
    go(server, "pass")
    [path] = images(server)
    server.process.kill()
    server.process.wait()
    server.close()
    with Exec(folder) as server:
        go(server, "pass")
        poll(lambda: not os.path.exists(path), "the removal of what the dead one left")


def without(folder):
    """Without warm processes all of it works the same"""
    with Exec(folder) as server:
        wanted = {name: parts(go(server, SCRIPTS[name])) for name in ("state of -c", "state of a script")}
    with Exec(folder, config={"warm": {"processes": 0}}) as server:
        for name, lines in wanted.items():
            outcome = go(server, SCRIPTS[name])
            equal((outcome.get("warm"), parts(outcome)), (None, lines))


if __name__ == "__main__":
    sys.exit(main([same, paths, family, modules, confined, hostile, no_secrets, leftovers, without]))
