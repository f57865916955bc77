# SPDX-License-Identifier: MIT
"""JIT caches: what a run finds there, what is kept of it, for whom, and what is never taken over."""
import shlex

import exec_devices
import exec_driver
from exec_driver import *

LIST = "import os\nfor top, _, names in sorted(os.walk('out/cache')):\n  for name in sorted(names):\n    path = os.path.join(top, name)\n" \
       "    print(os.path.relpath(path, 'out/cache'), open(path).read().strip() if os.path.isfile(path) else '')\n"
HEAD = "import os\nos.makedirs('out/cache/triton', exist_ok=True)\ndef put(name, text):\n  open('out/cache/' + name, 'w').write(text)\n"


def run(id, code, **more):
    """A run that lists its cache, and then does something to it."""
    return dict({"id": id, "kind": "run", "argv": ["python3", "run.py"], "jit": {"folder": "cache"},
                 "inputs": {"run.py": text(LIST + HEAD + code)}}, **more)


def seen(outcome):
    equal((outcome["state"], outcome["stderr"]["text"]), ("passed", ""))
    return outcome["stdout"]["text"].splitlines()


def flows(folder):
    """A run finds what earlier ones of its job left, and of a secret one nothing"""
    with Exec(folder) as x:
        outcomes = x.outcomes("j", [
            run("a", "put('triton/one', 'a')"),
            run("b", "put('triton/two', 'b'); put('triton/one', 'b')"),
            run("c", "put('triton/three', 'c')", secret={"POPCORN_SEED": "1"}),
            run("d", "put('triton/four', 'd')", run={"mode": "test", "secret": True}),
            run("e", "put('triton/five', 'e'); raise SystemExit(1)"),
            run("f", "os.remove('out/cache/triton/one')"),
            run("g", "")])
        equal(seen(outcomes["a"]), [])
        equal(seen(outcomes["b"]), ["triton/one a"])
        after = ["triton/one b", "triton/two b"]
        for id in "cdfg":
            equal(seen(outcomes[id]), after)
        equal(outcomes["e"]["stdout"]["text"].splitlines(), after)
        equal((outcomes["a"]["jit"]["files"], outcomes["a"]["jit"]["folders"], outcomes["a"]["jit"]["kept"]), (1, {"triton": 1}, True))
        equal([outcomes[id]["jit"]["files"] for id in "bfg"], [2, 0, 0])
        equal(["jit" in outcomes[id] for id in "cde"], [False] * 3)
        times = outcomes["a"]["jit"]
        # The clock of files goes on in steps of some milliseconds.
        assert 0 <= times["first_ns"] <= times["last_ns"] <= outcomes["a"]["wall_ns"], outcomes["a"]
        assert times["compile_ns"] <= times["last_ns"] - times["first_ns"], times
        assert "compile_ns" not in outcomes["g"]["jit"], outcomes["g"]
        # Another job has nothing of it.
        equal(seen(x.outcomes("k", [run("a", "")])["a"]), [])


def owners(folder):
    """The same owner finds it again with the same files, in another process too; no other owner does"""
    def job(x, owner, files, more=""):
        outcomes = x.outcomes("j", [run("a", "put('triton/one', 'x')", owner=owner), run("b", more, owner=owner)], files=files)
        return seen(outcomes["a"])

    files = {"submission.py": {"text": "1"}}
    with Exec(folder) as x:
        equal(job(x, "user-1", files), [])
        equal(job(x, "user-1", files), ["triton/one x"])
        equal(job(x, "user-2", files), [])
        equal(job(x, "user-1", {"submission.py": {"text": "2"}}), [])
        equal(seen(x.outcomes("j", [run("a", "put('triton/one', 'x')")], files=files)["a"]), [])
    with Exec(folder) as x:
        equal(job(x, "user-1", files, "put('triton/two', 'y')"), ["triton/one x"])
        equal(job(x, "user-1", files), ["triton/one x", "triton/two y"])
        equal(seen(x.outcomes("s", [run("a", "put('triton/one', 'x')", owner="user-1", secret={"A": "1"})], files=files)["a"]),
              ["triton/one x", "triton/two y"])


def stored(folder):
    """What a job leaves is there as soon as it is done, and with it a job that follows at once"""
    job = [run("a", "for i in range(2000):\n  put('triton/%d' % i, 'x')", owner="user-1")]
    with Exec(folder) as x:
        x.outcomes("j", job)
        equal(len(os.listdir(os.path.join(x.state, "cache"))), 1)
        equal(len(seen(x.outcomes("j", job)["a"])), 2000)


def models(folder):
    """GPUs of the same model share what compilers leave, and no others do"""
    job = [run("a", "put('triton/one', 'x')", owner="user-1", device=1)]
    with exec_devices.start(folder, (0, exec_devices.ALWAYS, "model", 2, 7), (0, exec_devices.ALWAYS, "count", -1, 3)) as x:
        def found(name, gpu):
            return seen(x.outcomes("j", job, unit={"name": name, "gpu": gpu})["a"])

        equal([found("A", 0), found("B", 1), found("A", 2), found("B", 2)], [[], ["triton/one x"], [], ["triton/one x"]])


def prepared(folder):
    """What a prepare step left is below, keeps its times, and no run replaces it for later ones"""
    prepare = {"id": "p", "kind": "prepare", "argv": ["sh", "-c", "mkdir -p out/cache/ext && echo ours >out/cache/ext/lib && "
               "touch -d @1000000000 out/cache/ext/lib"], "outputs": ["cache"]}
    inputs = {"out/cache": {"step": "p", "output": "cache"}}

    def step(id, code):
        made = run(id, code)
        made["inputs"].update(inputs)
        return made

    with Exec(folder) as x:
        outcomes = x.outcomes("j", [prepare, step("a", "print(os.stat('out/cache/ext/lib').st_mtime)\nput('ext/lib', 'theirs')"),
                                    step("b", "put('ext/more', 'm')"), step("c", "")])
        equal(seen(outcomes["a"]), ["ext/lib ours", "1000000000.0"])
        equal(seen(outcomes["b"]), ["ext/lib ours"])
        equal(seen(outcomes["c"]), ["ext/lib ours", "ext/more m"])


def made(folder, name):
    path = os.path.join(folder, name)
    os.makedirs(path, exist_ok=True)
    return path


# Waits as torch does (file_baton.py), but says what it would wait for.
LOCKED = "try:\n  os.close(os.open('out/cache/ext/lock', os.O_CREAT | os.O_EXCL))\n" \
         "except FileExistsError:\n  print('waits for ever')\n"
LEAVES = "import os; os.makedirs('out/cache/ext'); open('out/cache/ext/lib', 'w').write('x'); open('out/cache/ext/lock', 'w'); " \
         "os.mkdir('out/cache/empty')"


def locks(folder):
    """No lock of a run or of a prepare step that has ended reaches a later one, at any level, with a JIT cache or without, nor the cache"""
    took = "os.makedirs('out/cache/ext', exist_ok=True)\n" + LOCKED
    prepare = {"id": "p", "kind": "prepare", "argv": ["python3", "-c", LEAVES], "outputs": ["cache"], "cache": True}
    below = {"out/cache": {"step": "p", "output": "cache"}}
    for level in ("full", "off"):
        with Exec(made(folder, level), arguments=["--level", level]) as x:
            for again in (False, True):
                steps = [prepare] + [run(id, took, owner="user-1") for id in "ab"]
                del steps[2]["jit"]
                for step in steps[1:]:
                    step["inputs"].update(below)
                outcomes = x.outcomes("j", steps)
                equal((level, again, outcomes["p"]["cached"]), (level, again, again))
                for id in "ab":
                    equal((level, again, id, seen(outcomes[id])), (level, again, id, ["ext/lib x"]))
    with Exec(folder) as x:
        for again in (False, True):
            outcomes = x.outcomes("j", [run(id, took + "put('ext/lib', 'x')", owner="user-1") for id in "ab"])
            equal((again, [seen(outcomes[id]) for id in "ab"]), (again, [["ext/lib x"] if again else [], ["ext/lib x"]]))


def kinds(folder):
    """A file, a folder or a link in the place of another one in the cache is the run's own affair, with overlays and without"""
    def check(state):
        with Exec(folder, state=state) as x:
            outcomes = x.outcomes("j", [
                run("a", "import shutil\nos.makedirs('out/cache/k/deep'); put('k/deep/file', 'a'); put('f', 'a'); put('l', 'a')"),
                run("b", "import shutil\nshutil.rmtree('out/cache/k'); put('k', 'b'); os.remove('out/cache/f'); os.mkdir('out/cache/f'); put('f/in', 'b')"
                         "\nos.remove('out/cache/l'); os.symlink('k', 'out/cache/l')"),
                run("c", "os.remove('out/cache/k'); os.makedirs('out/cache/k/deep/file'); put('k/deep/file/in', 'c')"),
                run("d", "")])
            equal(seen(outcomes["b"]), ["f a", "l a", "k/deep/file a"])
            for id in "cd":
                equal([line for line in seen(outcomes[id]) if line[0] == "f"], ["f/in b"])
            assert "k b" in seen(outcomes["c"]) and "k/deep/file/in c" in seen(outcomes["d"]), outcomes

    check(made(folder, "plain"))
    # No kernel mounts an overlay of an overlay of an overlay.
    for name in ("one", "two", "empty", "stacked"):
        made(folder, name)
    stack = "mount -t tmpfs tmpfs {0}/one && mkdir {0}/one/u {0}/one/w {0}/one/m && mount -t tmpfs tmpfs {0}/two && mkdir {0}/two/u {0}/two/w && " \
            "mount -t overlay overlay -o lowerdir={0}/empty,upperdir={0}/one/u,workdir={0}/one/w {0}/one/m && " \
            "mount -t overlay overlay -o lowerdir={0}/one/m,upperdir={0}/two/u,workdir={0}/two/w {0}/stacked && mkdir {0}/stacked/state"
    with On(folder, stack.format(folder)):
        check(os.path.join(folder, "stacked", "state"))


def prepared_file(folder):
    """A prepare step that leaves a file where compilers have a folder costs the machine nothing"""
    prepare = {"id": "p", "kind": "prepare", "argv": ["sh", "-c", "echo x >out/cache"], "outputs": ["cache"]}
    step = run("a", "")
    step["inputs"]["out/cache"] = {"step": "p", "output": "cache"}
    step["argv"] = ["sh", "-c", "ls -ld out/cache"]
    for level in ("full", "off"):
        with Exec(made(folder, level), arguments=["--level", level]) as x:
            equal(x.outcomes("j", [prepare, step])["a"]["state"], "passed")


HOSTILE = {
    "a link": "os.symlink('/etc/passwd', 'out/cache/passwd')",
    "a link for a folder": "os.symlink('/etc', 'out/cache/etc')",
    "a hard link": "put('one', 'x'); os.link('out/cache/one', 'out/cache/two')",
    "a FIFO": "os.mkfifo('out/cache/fifo')",
    "a socket": "import socket; socket.socket(socket.AF_UNIX).bind('out/cache/socket')",
    "locks": "os.mkdir('out/cache/triton/locks'); put('triton/locks/a', 'x'); put('locks', 'x'); put('triton/lock', ''); put('.lockfile', '')",
    "a name with a line end": "put('a\\nb', 'x')",
    "a name with an escape": "put('a\\x1b[31m', 'x')",
    "a name that is not text": "open(b'out/cache/\\xff', 'w').write('x')",
    "a long name": "os.chdir('out/cache')\nfor i in range(30):\n  os.mkdir('x' * 200)\n  os.chdir('x' * 200)\nopen('y', 'w').write('x')",
    "deep folders": "os.chdir('out/cache')\nfor i in range(60):\n  os.mkdir('x')\n  os.chdir('x')\nopen('y', 'w').write('x')",
    "a link for the cache": "os.rename('out/cache', 'out/away'); os.symlink('/etc', 'out/cache')",
}
TOO_MUCH = {
    "many files": "for i in range(51000):\n  put('triton/%d' % i, '')",
    "a sparse file": "os.truncate(os.open('out/cache/large', os.O_CREAT | os.O_RDWR), (1 << 30) + 1)",
}


def hostile(folder):
    """Nothing but plain files with plain names is taken over"""
    with Exec(folder) as x:
        for name, code in HOSTILE.items():
            outcomes = x.outcomes("j", [run("a", code), run("b", "")])
            equal((name, outcomes["a"]["stderr"]["text"], seen(outcomes["b"])), (name, "", []))
            equal((name, outcomes["a"]["jit"]["files"]), (name, 0))


def bounded(folder):
    """A cache over its limits is dropped with a sentence, and the runs go on"""
    with Exec(folder) as x:
        for name, code in TOO_MUCH.items():
            outcomes = x.outcomes("j", [run("a", code, limits={"disk": 4 << 30}), run("b", "")])
            equal((name, outcomes["a"]["state"], outcomes["a"]["jit"]["kept"], seen(outcomes["b"])), (name, "passed", False, []))
            contains(outcomes["a"]["jit"]["dropped"], "50000 files or 1024 MiB")


class On:
    """While it lasts, kettle-exec starts with this done to its folders, where it alone sees it (only for root)."""

    def __init__(self, folder, script):
        if os.geteuid() != 0:
            raise Skip("only root may mount a small disk")
        self.program = os.path.join(folder, "program")
        with open(self.program, "w") as file:
            file.write("#!/bin/sh\nexec unshare -m sh -c %s program %s \"$@\"\n"
                       % (shlex.quote("mount --make-rprivate / && " + script + ' && exec "$@"'), shlex.quote(exec_driver.PROGRAM)))
        os.chmod(self.program, 0o755)
        if subprocess.run(["unshare", "-m", "mount", "--make-rprivate", "/"], stderr=subprocess.DEVNULL).returncode:
            raise Skip("this container forbids mounts, which only root may make elsewhere")

    def __enter__(self):
        self.before, exec_driver.PROGRAM = exec_driver.PROGRAM, self.program

    def __exit__(self, *_):
        exec_driver.PROGRAM = self.before


def told(x):
    return [event["error"] for event in x.events if event["event"] == "error"]


def full_disk(folder):
    """Where the disk is full the runs go on without, and one event says why"""
    state = os.path.join(folder, "state")
    os.mkdir(state)
    many = run("a", "for i in range(40):\n  put('triton/%d' % i, 'x' * 1000000)", owner="user-1")
    with On(folder, "mount -t tmpfs -o size=24m tmpfs " + state), Exec(folder) as x:
        for _ in range(2):
            outcomes = x.outcomes("j", [many, run("b", "put('small', 'x')", owner="user-1"), run("c", "", owner="user-1")])
            equal((outcomes["a"]["state"], outcomes["a"]["jit"]["kept"]), ("passed", False))
            equal(seen(outcomes["c"])[-1], "small x")
        equal(len(told(x)), 1)
        contains(told(x)[0], "What compilers write during a run cannot be cached for later runs: A file could not be written: No space left")


def read_only(folder):
    """Where the cache cannot be written the runs go on without, and one event says why"""
    cache = os.path.join(folder, "state", "cache")
    os.makedirs(cache)
    os.chmod(cache, 0o500)
    jobs = [run("a", "put('triton/one', 'x')", owner="user-1"), run("b", "", owner="user-1")]

    def works():
        with Exec(folder) as x:
            for _ in range(2):
                outcomes = x.outcomes("j", jobs)
                equal((seen(outcomes["a"]), seen(outcomes["b"])), ([], ["triton/one x"]))
            equal(len(told(x)), 1)
            contains(told(x)[0], "could not be created")

    if os.geteuid() != 0:
        works()
        os.chmod(cache, 0o700)
    else:
        with On(folder, "mount --bind %s %s && mount -o remount,ro,bind %s" % (cache, cache, cache)):
            works()


def another_version(folder):
    """What another version left, or what is damaged, is not used, and another takes its place"""
    job = [run("a", "put('triton/one', 'x')", owner="user-1")]

    def entry(*name):
        [key] = os.listdir(os.path.join(folder, "state", "cache"))
        return os.path.join(folder, "state", "cache", key, *name)

    def rewrite(name, change):
        with open(entry(*name), "r+") as file:
            text_ = change(file.read())
            file.seek(0)
            file.truncate()
            file.write(text_)

    harm = [lambda: rewrite(["manifest.json"], lambda text_: text_.replace('"version":1', '"version":99')),
            lambda: rewrite(["manifest.json"], lambda text_: text_[:20]), lambda: os.remove(entry("manifest.json")),
            lambda: rewrite(["files", "triton", "one"], lambda text_: "y"), lambda: shutil.rmtree(entry("files"))]
    with Exec(folder) as x:
        equal(seen(x.outcomes("j", job)["a"]), [])
        for number, change in enumerate(harm):
            equal((number, seen(x.outcomes("j", job)["a"])), (number, ["triton/one x"]))
            change()
            equal((number, seen(x.outcomes("j", job)["a"])), (number, []))
        equal(told(x), [])


def refused(folder):
    """A cache belongs to runs, and its folder has a plain name"""
    with Exec(folder) as x:
        for step in (run("a", "", kind="build", cache=True), run("a", "", kind="prepare"), run("a", "", jit={"folder": "../x"}),
                     run("a", "", jit={"folder": ".x"}), run("a", "", jit={})):
            x.run("j", [step])
            done = x.done("j")
            equal(done["status"], "lost")
            contains(done["error"], "jit")


exec_driver.main([flows, owners, stored, models, prepared, hostile, locks, kinds, prepared_file, bounded, full_disk, read_only, another_version, refused])
