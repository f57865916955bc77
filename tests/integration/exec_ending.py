# SPDX-License-Identifier: MIT
"""A device passes on while the processes of its last run are still in the kernel's exit path (`gpu: lease_until: freed`)."""
import contextlib
import signal

import exec_devices
import exec_pair
from exec_driver import *
from exec_jobs import WALL, name_of, seize
from held_files import HeldFiles

UNIT = {"name": "d", "gpu": 0}
UNHELD = {"name": "e", "gpu": 1}
LISTED = (0, exec_devices.ALWAYS, "pid", 0, 4242)


@contextlib.contextmanager
def start(folder, *lines, until="freed", **more):
    """A kettle-exec, and the files that hold up processes of its runs."""
    if os.geteuid() != 0:
        raise Skip("only root may mount a file system here")
    try:
        files = HeldFiles(os.path.join(folder, "held"))
    except RuntimeError as why:
        raise Skip(str(why))
    try:
        with serve(folder, files, *lines, until=until, **more) as server:
            if any(one["name"].endswith("cgroup") and not one["present"] for one in server.hello["protections"]):
                raise Skip("no memory_cgroup, pids_cgroup and cpu_cgroup on this machine")
            yield server, files
            files.release("end")
            equal(server.close(), 0 if server.process.poll() is None else server.process.returncode)
            equal(spools(server.state), [])
    finally:
        files.close()


def serve(folder, files, *lines, until="freed", **more):
    gpu = {"nvml": os.path.join(exec_devices.PEERS, "libnvidia-ml.so"), "rocm_smi": "/nonexistent/x.so", "lease_until": until}
    config = {"gpu": gpu, "extra_paths": [files.folder], "locks": os.path.join(folder, "locks"), **EXEC_SETTINGS}
    return Exec(folder, config=config, env=exec_devices.fake(folder, (0, exec_devices.ALWAYS, "count", -1, 2), *lines), **more)


def say(folder, *lines):
    """Changes what the stand-in of the driver says."""
    path = os.path.join(folder, "nvml.state")
    with open(path + ".new", "w") as file:
        file.writelines("%d %d %s %d %d\n" % line for line in ((0, exec_devices.ALWAYS, "count", -1, 2), *lines))
    os.rename(path + ".new", path)


def readings(folder):
    """How often the GPUs were read; 0 while the count is being written."""
    with open(os.path.join(folder, "nvml.state.count")) as file:
        return int(file.read() or 0)


def slow(files, script="", end="exit 0", **more):
    """A run whose process stays in its end until `end` is released. It says that it begins to end, as programs do."""
    return exec_devices.device_step("%s exec 9<%s; echo ends; %s" % (script, files.path("end"), end), **more)


def gate(files, name):
    return "read line <%s;" % files.path(name)


def turn(server):
    """Jobs of the same kettle-exec begin and end meanwhile."""
    for _ in range(3):
        equal(server.one(shell("echo fine"))["stdout"]["text"], "fine\n")


def dones(server):
    return [event["job"] for event in server.events if event["event"] == "done"]


def outcome(done):
    equal(done["status"], "done")
    return done["outcomes"][0]


def passes_on(folder):
    """The next job has the device while processes of the last ones are still ending; another kettle-exec waits for them"""
    with start(folder) as (server, files):
        for number in range(3):
            server.run("slow%d" % number, [slow(files)], unit=UNIT)
            one = outcome(server.done("slow%d" % number))
            equal((one["state"], one["exit"], one["signal"], one["stdout"]["text"]), ("passed", 0, None, "ends\n"))
            assert one["cpu_ns"] > 0 and one["memory_peak"] > 0 and one["wall_ns"] > 0, one
            files.await_held("end", number + 1)
        equal(server.one(exec_devices.device_step(), unit=UNIT)["state"], "passed")
        with serve(folder, files, until="ended", state=os.path.join(folder, "other")) as other:
            other.run("waits", [exec_devices.device_step()], unit=UNIT)
            other.until(event="waiting", job="waits")
            equal(server.one(exec_devices.device_step(), unit=UNIT)["state"], "passed")
            assert not dones(other), other.events
            files.release("end")
            equal(outcome(other.done("waits"))["state"], "passed")


def steps(folder):
    """So do the steps of one job, and what a run has left is taken over"""
    with start(folder) as (server, files):
        server.run("j", [slow(files, "echo left >out/file;", id="a", outputs=["file"]),
                         slow(files, "cat file;", id="b", inputs={"file": {"step": "a", "output": "file"}})], unit=UNIT)
        first, second = server.done("j")["outcomes"]
        equal((first["state"], second["state"], second["stdout"]["text"]), ("passed", "passed", "left\nends\n"))
        files.await_held("end", 2)


def off(folder):
    """By default a run ends with its last process"""
    with start(folder, until="ended") as (server, files):
        server.run("slow", [slow(files)], unit=UNIT)
        files.await_held("end")
        server.run("next", [exec_devices.device_step()], unit=UNIT)
        server.until(event="waiting", job="next")
        turn(server)
        equal([job for job in dones(server) if job != "one"], [])
        files.release("end")
        equal(outcome(server.done("slow"))["state"], "passed")
        equal(outcome(server.done("next"))["state"], "passed")


def without(folder):
    """A run without a GPU ends with its last process, too"""
    with start(folder) as (server, files):
        for device in (0, 1):
            server.run("slow", [slow(files, device=device)], unit={"name": "cores"})
            files.await_held("end", device + 1)
            turn(server)
            equal(dones(server).count("slow"), device)
            files.release_once("end")
            equal(outcome(server.done("slow"))["state"], "passed")


def held_while(folder, change):
    """A run does not end while the driver says that its GPU is in use."""
    with start(folder, LISTED) as (server, files):
        server.run("slow", [slow(files, gate(files, "go"))], unit=UNIT)
        server.until(event="step", step="s")
        files.await_held("go")
        say(folder, change)
        files.release("go")
        files.await_held("end")
        server.run("next", [exec_devices.device_step()], unit=UNIT)
        server.until(event="waiting", job="next")
        seen = readings(folder)
        poll(lambda: readings(folder) > seen + 2, "more readings of the GPU")
        server.send(op="heartbeat")
        server.until(event="heartbeat")
        equal([job for job in dones(server) if job != "one"], [])
        say(folder)
        equal(outcome(server.done("slow"))["state"], "passed")
        equal(outcome(server.done("next"))["state"], "passed")


def listed(folder):
    """Not while the driver lists a process"""
    held_while(folder, LISTED)


def occupied(folder):
    """Not while more memory is in use than before, although the driver lists no process"""
    held_while(folder, (0, exec_devices.ALWAYS, "used", 0, 530))


def unfreed(folder):
    """A GPU that is not freed loses the job, and no other gets it before the processes are gone"""
    with start(folder, LISTED) as (server, files):
        server.run("slow", [slow(files)], unit=UNIT)
        lost = server.until(job="slow", status="lost")
        contains(lost["error"], "not freed within 60 s")
        server.run("next", [exec_devices.device_step()], unit=UNIT)
        server.until(event="waiting", job="next")
        say(folder)
        turn(server)
        assert "next" not in dones(server), server.events
        files.release("end")
        equal(outcome(server.done("next"))["state"], "passed")


def beside(folder):
    """Not while a child or a thread of it still runs, even if its first thread has ended"""
    child = "(%s echo late) & " % gate(files_of(folder), "go")
    with start(folder) as (server, files):
        server.run("child", [slow(files, child)], unit=UNIT)
        files.await_held("go")
        files.await_held("end")
        turn(server)
        assert "child" not in dones(server), server.events
        files.release("go")
        one = outcome(server.done("child"))
        equal((one["state"], one["left_behind"]), ("passed", 0))
        contains(one["stdout"]["text"], "late\n")


def files_of(folder):
    class Files:
        def path(self, name):
            return os.path.join(folder, "held", name)
    return Files()


THREAD = """
import ctypes, os, threading
end = open(%r)
def late():
    with open(%r) as go: go.read()
    print("late", flush=True)
    os._exit(3)
threading.Thread(target=late).start()
print("ends", flush=True)
ctypes.CDLL(None).syscall(60, 0)
"""


def threads(folder):
    """Nor while a thread runs whose process's first thread has ended; the exit status is that of the process"""
    with start(folder) as (server, files):
        step = {"id": "s", "kind": "run", "device": 1, "argv": ["python3", "run.py"], "env": {"PYTHONNOUSERSITE": "1"},
                "inputs": {"run.py": text(THREAD % (files.path("end"), files.path("go")))}}
        server.run("threads", [step], unit=UNIT)
        files.await_held("go")
        turn(server)
        assert "threads" not in dones(server), server.events
        files.release("go")
        files.await_held("end")
        files.release("end")
        one = outcome(server.done("threads"))
        equal((one["state"], one["exit"], one["stdout"]["text"]), ("failed", 3, "ends\nlate\n"))


def ends(folder):
    """Exit status, signal and limit are those of the run"""
    full = "head -c 2000000 /dev/zero >out/x;"
    with start(folder) as (server, files):
        for number, (script, end, more, wanted) in enumerate((
                ("", "exit 3", {}, ("failed", 3, None, None)),
                ("", "kill -SEGV $$", {}, ("failed", None, signal.SIGSEGV, None)),
                (full, "exit 1", {"limits": {"disk": 1 << 20}}, ("limit", 1, None, "disk")),
                ("", "while :; do :; done", {"limits": {"cpu": 1}}, ("limit", None, signal.SIGKILL, "cpu")),
                ("", "cat /dev/zero", {"limits": {"output": 4096}}, ("limit", None, signal.SIGKILL, "output")))):
            server.run("j", [slow(files, script, end, **more)], unit=UNIT)
            files.await_held("end", number + 1)
            one = outcome(server.done("j"))
            equal((one["state"], one["exit"], one["signal"], one.get("limit")), wanted)
            files.release_once("end")
        server.run("j", [slow(files, end="sleep 3600")], unit=UNIT)
        poll(lambda: any(name_of(pid) == "sleep" for pid in processes_with("3600")), "the step's program")
        server.send(op="cancel", job="j")
        equal(server.done("j")["status"], "cancelled")
        files.await_held("end", number + 2)
        equal(server.one(exec_devices.device_step(), unit=UNIT)["state"], "passed")


def solver(folder):
    """The end of a solver is not waited for once its referee has ended"""
    with start(folder) as (server, files):
        busy = "os.open(%r, os.O_RDONLY)\n" % files.path("end") + exec_pair.DONE + "__import__('signal').pause()\n"
        for number in (1, 2):
            server.run("pair", [exec_pair.pair(solver=busy, device=1)], unit=UNIT)
            one = outcome(server.done("pair"))
            equal((one["state"], one["exit"], one["solver"]["stopped"]), ("passed", 0, True))
            assert one["solver"]["cpu_ns"] > 0 and one["solver"]["memory_peak"] > 0, one
            files.await_held("end", number)


def killed(folder):
    """A killed process that the kernel keeps is none that runs"""
    marker = "77%d" % os.getpid()
    with start(folder) as (server, files):
        server.run("stuck", [exec_devices.device_step("exec sleep " + marker)], unit=UNIT)
        poll(lambda: any(name_of(pid) == "sleep" for pid in processes_with(marker)), "the step's program")
        stuck = next(pid for pid in processes_with(marker) if name_of(pid) == "sleep")
        seize(stuck)
        try:
            server.send(op="cancel", job="stuck")
            equal(server.done("stuck")["status"], "cancelled")
            equal(server.one(exec_devices.device_step(), unit=UNIT)["state"], "passed")
        finally:
            os.waitpid(stuck, WALL)


def endless(folder):
    """A process that never ends loses the jobs that have its device then or wait for it, and later ones fail until it is gone"""
    with start(folder) as (server, files):
        for unit in (UNIT, UNHELD):
            server.run("slow", [slow(files)], unit=unit)
            equal(outcome(server.done("slow"))["state"], "passed")
        server.run("holder", [exec_devices.device_step("sleep 3600")], unit=UNIT)
        server.until(event="device", job="holder")
        server.run("waits", [exec_devices.device_step()], unit=UNIT)
        server.until(event="waiting", job="waits")
        for _ in (UNIT, UNHELD):
            contains(server.until(event="error")["error"], "still exist after 60 s")
        lost = {event["job"]: event["error"] for event in server.events if event["event"] == "done" and event["status"] == "lost"}
        equal(sorted(lost), ["holder", "waits"])
        contains(lost["holder"], "must be disabled")
        for unit in (UNIT, UNHELD):
            one = server.one(exec_devices.device_step(), unit=unit)
            equal(one["state"], "error")
            contains(one["error"], "must be disabled")
        with serve(folder, files, state=os.path.join(folder, "other")) as other:
            files.release("end")
            for unit in (UNIT, UNHELD):
                equal(other.one(exec_devices.device_step(), unit=unit)["state"], "passed")
                equal(server.one(exec_devices.device_step(), unit=unit)["state"], "passed")


def closed(folder):
    """A kettle-exec whose input ends waits for what is still ending"""
    with start(folder) as (server, files):
        server.run("slow", [slow(files)], unit=UNIT)
        equal(outcome(server.done("slow"))["state"], "passed")
        server.run("held", [exec_devices.device_step("sleep 3600")], unit=UNIT)
        server.until(event="step", job="held")
        server.process.stdin.close()
        equal(server.done("held")["status"], "cancelled")
        # Others start, work and end meanwhile: longer than this one would try to remove its cgroups.
        for _ in range(4):
            with serve(folder, files, state=os.path.join(folder, "other")) as other:
                turn(other)
        equal(server.process.poll(), None)
        files.release("end")
        equal(server.process.wait(PATIENCE), 0)


def orphans(folder):
    """A kettle-exec that dies leaves nothing behind, and the next one has the device"""
    with start(folder) as (server, files):
        server.run("slow", [slow(files)], unit=UNIT)
        equal(outcome(server.done("slow"))["state"], "passed")
        files.await_held("end")
        server.process.kill()
        server.process.wait()
        with serve(folder, files) as other:
            other.run("next", [exec_devices.device_step()], unit=UNIT)
            files.release("end")
            equal(outcome(other.done("next"))["state"], "passed")
            equal(other.one(exec_devices.device_step(), unit=UNIT)["state"], "passed")


if __name__ == "__main__":
    sys.exit(main([passes_on, steps, off, without, listed, occupied, beside, threads, ends, solver, killed, closed, orphans],
                  more=[unfreed, endless]))
