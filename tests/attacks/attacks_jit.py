# SPDX-License-Identifier: MIT
"""Runs that attack what compilers leave for later runs of their job: layers, their take-over, other owners, secrets.

Each attack is a run, after a run that has left `triton/one` and before one that looks at what there is. What happens to it is
in the table: the files that the last run sees besides, and how the attack ends where it does not pass.
"""
import os
import sys

sys.path.insert(0, os.path.join(os.environ.get("top_srcdir", "."), "tests", "integration"))
import exec_driver  # noqa: E402
from exec_driver import *  # noqa: E402,F403

HEAD = """import os, stat, sys
os.makedirs("out/cache/triton", exist_ok=True)
def put(name, text="theirs"):
    os.makedirs(os.path.dirname("out/cache/" + name), exist_ok=True)
    with open("out/cache/" + name, "w") as file:
        file.write(text)
def refused(call, *arguments):
    try:
        call(*arguments)
    except OSError:
        return
    print("ESCAPED", call, arguments)
"""
FIRST = HEAD + "put('triton/one', 'first')\nput('triton/two/three', 'first')\n"
LOOK = HEAD + """for top, folders, names in sorted(os.walk("out/cache")):
    for name in sorted(names + [name + "/" for name in folders if not os.listdir(os.path.join(top, name))]):
        path = os.path.join(top, name)
        state = os.lstat(path)
        text = open(path).read() if stat.S_ISREG(state.st_mode) else stat.filemode(state.st_mode)[0]
        print(os.path.relpath(path, "out/cache"), text[:20], oct(state.st_mode & 0o7000))
space = os.statvfs("out/cache")
print("SPACE", space.f_blocks, space.f_bfree, space.f_files, space.f_ffree, file=sys.stderr)
"""
ALWAYS = ["triton/one first 0o0", "triton/two/three first 0o0"]

# Name of the attack: what it does, and what the last run sees besides ALWAYS.
ATTACKS = {
    "removes what it found": ("import shutil; shutil.rmtree('out/cache/triton')", []),
    "puts a file in the place of a folder": ("import shutil; shutil.rmtree('out/cache/triton/two'); put('triton/two')", None),
    "removes the cache": ("import shutil; shutil.rmtree('out/cache', ignore_errors=True); refused(os.rmdir, 'out/cache')", []),
    "moves the cache away": ("refused(os.rename, 'out/cache', 'out/away')", []),
    "a link to a file of the machine": ("os.symlink('/etc/hostname', 'out/cache/name')", []),
    "a link to a folder of the machine": ("os.symlink('/etc', 'out/cache/etc')", []),
    "a link in the place of a folder": ("import shutil; shutil.rmtree('out/cache/triton/two'); os.symlink('/etc', 'out/cache/triton/two')", []),
    "a link that leads nowhere": ("os.symlink('nowhere', 'out/cache/lost')", []),
    "a hard link": ("put('a'); os.link('out/cache/a', 'out/cache/b')", []),
    "a FIFO": ("os.mkfifo('out/cache/fifo')", []),
    "a socket": ("import socket; s = socket.socket(socket.AF_UNIX); s.bind('out/cache/socket')", []),
    "a device": ("refused(os.mknod, 'out/cache/null', stat.S_IFCHR | 0o666, os.makedev(1, 3))", []),
    "the mark of a removed file": ("try:\n    os.mknod('out/cache/triton/four', stat.S_IFCHR, 0)\nexcept OSError:\n    pass", []),
    "locks": ("put('locks/a'); put('triton/locks/b')", []),
    "a name with a line end": ("put('a\\nb')", []),
    "a name that a terminal obeys": ("put('a\\x1b[31m')", []),
    "a name that is not text": ("open(b'out/cache/\\xff\\xfe', 'w').close()", []),
    "a name that turns text around": ("put('a\\u202eb')", None),
    "a long path": ("os.chdir('out/cache')\nfor i in range(20):\n    os.mkdir('x' * 250)\n    os.chdir('x' * 250)\nopen('y', 'w').close()", []),
    "deep folders": ("os.chdir('out/cache')\nfor i in range(90):\n    os.mkdir('x')\n    os.chdir('x')\nopen('y', 'w').close()", None),
    "closed files and folders": ("put('shut/a'); os.chmod('out/cache/shut/a', 0)", ["shut/a theirs 0o0"] if os.getuid() == 0 else []),  # only root may open it
    "special modes": ("put('suid'); os.chmod('out/cache/suid', 0o6755)", ["suid theirs 0o0"]),
    "a large sparse file": ("os.truncate(os.open('out/cache/sparse', os.O_CREAT | os.O_RDWR), (1 << 30) + 1)", []),
    "many first folders": ("for i in range(300):\n    put('f%d/a' % i)", None),
    "a process that goes on writing": ("if os.fork() == 0:\n    os.setsid()\n    while True:\n        put('late', 'x' * 100)\n        os.rename('out/cache/late', 'out/cache/later')", None),
    "a mapping of what it found": ("import mmap; f = open('out/cache/triton/one', 'r+b'); m = mmap.mmap(f.fileno(), 5); m[:] = b'evils'", None),
    "attributes of overlays": ("for name in ('user.overlay.opaque', 'user.overlay.redirect', 'user.overlay.whiteout', 'trusted.overlay.opaque'):\n"
        "    try:\n        os.setxattr('out/cache/triton', name, b'y')\n    except OSError:\n        pass", []),
    "files that interpreters begin with": ("for name in ('sitecustomize.py', 'usercustomize.py', 'a.pth', 'triton/sitecustomize.py', '__pycache__/x.pyc', 'pyvenv.cfg'):\n"
        "    put(name, 'import sys; print(\"ESCAPED\")')", None),
    "the folders of the layers": ("for line in open('/proc/self/mountinfo'):\n"
        "    if '/spool/' in line or '/cache/' in line.replace('/job/out/cache', ''):\n        print('ESCAPED', line)\n"
        "refused(os.listdir, '/.layers')", []),
    "mounts": ("import ctypes; libc = ctypes.CDLL(None, use_errno=True)\n"
        "if libc.umount2(b'out/cache', 2) == 0 or libc.mount(None, b'out/cache', None, 32, None) == 0:\n    print('ESCAPED')", []),
}
# Runs of which nothing may stay, whatever they do.
TRACE = """import contextlib
put("triton/trace"), put("x" * 37), put("large", "x" * 3000000)
with open("out/cache/triton/one", "a") as file:
    file.write("more")
os.unlink("out/cache/triton/two/three")
with contextlib.suppress(PermissionError):
    os.chmod("out/cache/triton", 0o700)
with contextlib.suppress(PermissionError):
    os.utime("out/cache/triton/one", ns=(7, 7))
print("TRIED", flush=True)
"""
TRACELESS = {
    "a secret run": dict(secret={"POPCORN_SEED": "1"}),
    "a run that says that it is secret": dict(run={"mode": "test", "secret": True}),
    "a run that fails": dict(code="raise SystemExit(3)"),
    "a run that is stopped": dict(code="import time\nwhile True:\n    time.sleep(1)", limits={"wall": 2}),
    "a run that kills itself": dict(code="os.kill(os.getpid(), 9)"),
}


def run(id, code, **more):
    # All that a job has is its own: two steps alike have the same files.
    return dict({"id": id, "kind": "run", "argv": ["python3", "run.py"], "jit": {"folder": "cache"}, "limits": {"disk": 4 << 30},
                 "inputs": {"run.py": text(code)}}, **more)


def listed(outcome):
    equal(outcome["state"], "passed")
    return outcome["stdout"]["text"].splitlines()


def attacked(name, code):
    def test(folder):
        more = ATTACKS[name][1]
        with Exec(folder) as x:
            outcomes = x.outcomes("j", [run("first", FIRST), run("attack", HEAD + code), run("last", LOOK)])
            assert "ESCAPED" not in json.dumps(outcomes), outcomes
            equal((outcomes["attack"]["state"], outcomes["attack"]["stderr"]["text"]), ("passed", ""))
            assert len(outcomes["attack"]["jit"]["folders"]) <= 21, outcomes["attack"]["jit"]
            if more is not None:
                equal(listed(outcomes["last"]), sorted(ALWAYS + more))
            assert not [line for line in listed(outcomes["last"]) if line.split(" ")[1] in ("l", "p", "s", "c", "b")], outcomes
            # Another job has nothing of it, nor has the folder of the jobs.
            equal(listed(x.outcomes("k", [run("last", LOOK)])["last"]), ["triton d 0o0"])
    test.__doc__ = f"Attack: {name}"
    return test


def traceless(name):
    def test(folder):
        kind = dict(TRACELESS[name])
        code = HEAD + TRACE + kind.pop("code", "")
        with Exec(folder) as x:
            quiet = x.outcomes("q", [run("first", FIRST), run("last", LOOK)])
            outcomes = x.outcomes("j", [run("first", FIRST), run("attack", code, **kind), run("last", LOOK)])
            equal(("jit" in outcomes["attack"], outcomes["attack"]["stdout"]["text"]), (False, "TRIED\n"))
            equal(listed(outcomes["last"]), ALWAYS)
            for key in ("stdout", "stderr"):
                equal(outcomes["last"][key]["text"], quiet["last"][key]["text"])
            equal(outcomes["last"]["jit"], quiet["last"]["jit"])
    test.__doc__ = f"Of {name} nothing stays: no file, size, time, mode or space"
    return test


def shadows(folder):
    """What a prepare step left stays below, whatever a run puts in its place"""
    prepare = {"id": "p", "kind": "prepare", "argv": ["sh", "-c", "mkdir -p out/cache/ext/sub && echo ours >out/cache/ext/lib && echo ours >out/cache/ext/sub/lib"],
               "outputs": ["cache"]}
    given = {"out/cache": {"step": "p", "output": "cache"}}

    def step(id, code):
        made = run(id, code)
        made["inputs"] = dict(made["inputs"], **given)
        return made

    for code in ("put('ext/lib')", "os.unlink('out/cache/ext/lib'); put('ext/lib/a')", "import shutil; shutil.rmtree('out/cache/ext/sub'); put('ext/sub')",
                 "import shutil; shutil.rmtree('out/cache/ext')", "os.unlink('out/cache/ext/lib'); os.symlink('/etc/hostname', 'out/cache/ext/lib')"):
        with Exec(folder) as x:
            outcomes = x.outcomes("j", [prepare, step("attack", HEAD + code), step("last", LOOK)])
            equal(outcomes["attack"]["stderr"]["text"], "")
            assert "theirs" not in outcomes["last"]["stdout"]["text"], outcomes
            equal([line for line in listed(outcomes["last"]) if line.startswith("ext")], ["ext/lib ours", "ext/sub/lib ours"])


def together(folder):
    """The runs of a job together leave no more than one may"""
    large = HEAD + "os.truncate(os.open('out/cache/%s', os.O_CREAT | os.O_RDWR), 600 << 20)"
    with Exec(folder) as x:
        outcomes = x.outcomes("j", [run("a", large % "a"), run("b", large % "b"), run("c", HEAD + "print(sorted(os.listdir('out/cache')))")])
        equal([outcomes[id]["jit"]["kept"] for id in "ab"], [True, False])
        contains(outcomes["b"]["jit"]["dropped"], "1024 MiB")
        equal(outcomes["c"]["stdout"]["text"], "['a', 'triton']\n")


def others(folder):
    """Another owner, another submission, environment or job gets nothing, at the same time or later"""
    files = {"submission.py": {"text": "1"}}
    leaves = run("a", FIRST, owner="user-1")
    with Exec(folder) as x:
        x.outcomes("j", [leaves], files=files)
        poll(lambda: os.listdir(os.path.join(x.state, "cache")), "an entry")
        tries = [(run("a", FIRST, owner="user-2"), files), (run("a", FIRST), files), (run("a", FIRST, owner="user-1"), {"submission.py": {"text": "2"}}),
                 (run("a", FIRST + "\n", owner="user-1"), files), (run("a", FIRST, owner="user-1", env={"A": "1"}), files)]
        for step, given in tries:
            outcomes = x.outcomes("k", [step], files=given)
            equal(outcomes["a"]["jit"]["before"], 0)
        assert x.outcomes("l", [leaves], files=files)["a"]["jit"]["before"] > 0


def alone(folder):
    """A kettle-exec for a single plan keeps what compilers leave for that job alone"""
    plan = os.path.join(folder, "plan.json")
    with open(plan, "w") as file:
        json.dump({"version": 1, "steps": [run("a", FIRST, owner="user-1"), run("b", LOOK, owner="user-1")]}, file)
    with open(os.path.join(folder, "exec.yml"), "w") as file:
        json.dump({"locks": os.path.join(folder, "locks")}, file)
    for _ in range(2):
        done = subprocess.run([exec_driver.PROGRAM, "--state", os.path.join(folder, "state"), "--config", os.path.join(folder, "exec.yml"), plan],
                              stdout=subprocess.PIPE, check=True)
        outcomes = {o["step"]: o for o in json.loads(done.stdout.splitlines()[-1])["outcomes"]}
        equal((outcomes["a"]["jit"]["before"], listed(outcomes["b"])), (0, ALWAYS))


sys.exit(exec_driver.main([attacked(name, code) for name, (code, _) in ATTACKS.items()] + [traceless(name) for name in TRACELESS] +
                          [shadows, together, others, alone]))
