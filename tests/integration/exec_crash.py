# SPDX-License-Identifier: MIT
"""SIGKILL of kettle-exec at each of its named points: nothing runs on, and the next one finds a clean house."""
import fcntl
import glob
import re
import threading

from exec_driver import *


def points():
    """The table in job.h is the list; a point that is missing there or in the code is a mistake."""
    with open(os.path.join(SOURCE, "core/exec/job/job.h")) as file:
        listed = set(re.findall(r"^ \*   (exec\.[a-z]+) ", file.read(), re.M))
    used = set()
    for path in glob.glob(os.path.join(SOURCE, "core/exec/**/*.c"), recursive=True):
        with open(path) as file:
            used |= set(re.findall(r'failpoint\("([^"]+)"\)', file.read()))
    equal(sorted(used), sorted(listed))
    return sorted(listed)


def jobs(x, marker):
    """Jobs that go through every point; ends when kettle-exec does."""
    build = dict(shell("echo >out/p"), id="b", kind="build", cache=True, outputs=["p"])
    run = dict(shell("sleep 0.1", limits={"wall": 20}), id="r", kind="run", device=1)
    long = dict(shell("sleep %s & sleep %s" % (marker, marker)), id="l", kind="run", device=1)
    x.run("a", [build, run], unit={"name": "d"})
    x.until(event="step", job="a", state="running")
    x.run("b", [build, run], unit={"name": "d"})
    x.done("b")
    x.run("c", [long], unit={"name": "d"})
    x.until(event="step", job="c")
    poll(lambda: processes_with(marker) or x.process.poll() is not None, "the long one runs")
    x.send(op="cancel", job="c")
    x.done("c")


def at_every_point(folder):
    """At every named point"""
    for number, point in enumerate(points()):
        marker = "5%d.%d" % (os.getpid(), number)
        state = os.path.join(folder, point)
        x = None
        try:
            x = Exec(folder, state=state, env={"KETTLE_FAIL": point})
            if x.hello:
                jobs(x, marker)
        except (AssertionError, BrokenPipeError):
            pass
        equal((point, x.process.wait(PATIENCE)), (point, -signal.SIGKILL))
        poll(lambda: not processes_with(marker), "the processes of %s end" % point)
        with Exec(folder, state=state) as y:
            equal(len(spools(state)), 1)
            jobs(y, marker)
            equal([e["status"] for e in y.events if e["event"] == "done"], ["done", "done", "cancelled"])
            equal(y.close(), 0)
        equal((point, spools(state), processes_with(marker)), (point, [], []))
        for name in os.listdir(os.path.join(state, "cache")):
            equal((point, len(name)), (point, 64))
        equal(cgroups.left([x.owner]), [])


def at_any_moment(folder):
    """At fifty moments one after the other"""
    build = dict(shell("echo >out/p; echo >out/q"), id="b", kind="build", cache=True, outputs=["p", "q"])
    run = dict(shell("sleep 0.01"), id="r", kind="run", device=1, inputs={"p": {"step": "b", "output": "p"}})
    for number in range(50):
        x = Exec(folder)
        for job in range(3):
            x.run("j%d" % job, [dict(build, env={"N": str(number * 3 + job)}), run], unit={"name": "d"})
        end = time.monotonic() + 0.002 * number
        while time.monotonic() < end:
            pass
        x.process.kill()
        x.process.wait()
    with Exec(folder) as x:
        equal(len(spools(x.state)), 1)
        outcomes = x.outcomes("j", [build, run], unit={"name": "d"})
        equal([o["state"] for o in outcomes.values()], ["passed", "passed"])
        equal(x.close(), 0)
        equal(spools(x.state), [])


def lock_that_goes(folder):
    """What the dead left is removed though a process that was just cloned still has the lock"""
    x = Exec(folder)
    x.process.kill()
    x.process.wait()
    left, = (os.path.join(x.state, "spool", name) for name in spools(x.state))
    with open(os.path.join(left, "lock")) as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        release = threading.Timer(0.1, fcntl.flock, (lock, fcntl.LOCK_UN))
        release.start()
        with Exec(folder, state=x.state) as y:
            release.join()
            equal((len(spools(y.state)), os.path.exists(left)), (1, False))
            equal(y.close(), 0)


def cgroup_that_is_held(folder):
    """The cgroups of the dead are removed though a process of theirs ends only after the next one has begun"""
    x = Exec(folder)
    x.process.kill()
    x.process.wait()
    left = cgroups.left([x.owner])
    held = [os.open(name, os.O_RDONLY) for name in left]
    for descriptor in held:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
    with Exec(folder, state=x.state) as y:
        equal(cgroups.left([x.owner]), left)
        for descriptor in held:
            os.close(descriptor)
        equal(y.close(), 0)
    equal(cgroups.left([x.owner]), [])


if __name__ == "__main__":
    with open(os.path.join(BUILD, "config.h")) as config:
        named = re.search(r"^#define KETTLE_FAILPOINTS 1", config.read(), re.M)
    sys.exit(main(([at_every_point] if named else []) + [at_any_moment, lock_that_goes, cgroup_that_is_held]))
