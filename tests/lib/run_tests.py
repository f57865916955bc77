#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the tests of one or more build folders, prints what failed and why, and ends with `N passed, N failed, N skipped`.

    run_tests.py [--all] [--repeat N] [--list] BUILD... [NAME...]

NAME selects tests: `unit/engine/test_engine`, one of its tests as `unit/engine/test_engine/test_owner`, all of a folder as
`integration/`. `make check` runs this on its own folder; `./quickstart test` on three.

A test is a script tests/FOLDER/NAME.test or a file of a C program, tests/unit/FOLDER/tests; both print TAP. Each declares how it runs:
a script by a line `# test: WORD...` near its top, a program by what it prints for --list.

  cpu        computes (the default): as many at once as there are cores; one more when none is left that waits
  waiting    waits for children, daemons or time: twice as many at once, beside those
  alone      measures, or looks at the whole machine: nothing else runs meanwhile
  long       begins before the others
  parts=N    its tests are shared among N processes (KETTLE_TEST_PART)
  plain      about the programs as they are shipped: runs in the build without sanitizers
  both       runs there and under the sanitizers
  tsan       also runs under ThreadSanitizer, a script with --all alone
  all        runs with --all alone

Theory of operation: one process, no threads. Each test has a supervisor (a fork of this process). As root this makes a PID
namespace with a /proc of its own, whose first process collects the orphans and ends with the test: then the kernel kills
what the test left. Where cgroups are of version 1 it makes some, too: so each test has a share of the processors, and not all
sandboxes of all tests one together. An ordinary user has no namespace without other ids, which daemons refuse: there the
supervisor adopts the orphans and kills them. A test's TMPDIR is its own, and is removed.
"""
import argparse
import contextlib
import ctypes
import dataclasses
import itertools
import os
import pathlib
import pwd
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SOURCE = pathlib.Path(__file__).resolve().parents[2]
# A guard against tests that hang: how long one may say nothing. No measurement.
GUARD_S = 600
FIRST_LINES = 12  # of a failed test's diagnostics
CLONE_NEWNS, CLONE_NEWPID, MS_REC, MS_PRIVATE, MNT_DETACH = 0x20000, 0x20000000, 0x4000, 0x40000, 2
MEMORY_FOR_FILES = 6 << 30  # how much must be available for them to be there
PR_SET_PDEATHSIG, PR_SET_CHILD_SUBREAPER = 1, 36
LIBC = ctypes.CDLL(None, use_errno=True)
# What ends a supervisor with all of its test: in a namespace the first process dies with it, and then all others.
KILLS = signal.SIGKILL if os.geteuid() == 0 else signal.SIGTERM
CLASSES = ("cpu", "waiting", "alone")
WORDS = {*CLASSES, "long", "plain", "both", "tsan", "all"}

# In CI a skipped test is a failure, except for these reasons, which a machine may always have.
MAY_BE_SKIPPED = re.compile(
    "no hipcc on this machine|no device here|kittens.cuh is missing|no memory_cgroup|root may write|closed to others|full sandbox|"
    "no GPU|Landlock|has no user|only root may|namespaces need root|as an ordinary user already|"
    "only a plain build has budgets|the table was made with|no promtool|no FUSE here|no source of KernelBot")
# Users of the tests' boards: who runs the tests is another one, since the login name is a user, too.
PARTICIPANTS = {"ada", "bob", "eve", "grace", "mallory"}
# What ./quickstart makes environments for, by the reasons of tests that lack them.
ENVIRONMENTS = {
    "python": r"(jax|triton|torch|torch 2) is missing|torch is not installed",
    "cuda": r"no nvcc on this machine|(cublas_v2.h|nvrtc.h|cutlass/[a-z/.]*) is missing",
    "discord": "no environment with aiohttp",
    "modal": "no environment with modal",
    "github": "no environment with PyGithub",
    "web": "no environment with schemathesis",
    "browser": "no environment with playwright",
}


@dataclasses.dataclass
class Test:
    """One process of a test in one build."""
    name: str
    build: "Build"
    argv: list
    words: set
    part: str = ""
    number: int = dataclasses.field(default_factory=itertools.count().__next__)

    @property
    def kind(self):
        return next((word for word in CLASSES if word in self.words), "cpu")

    @property
    def log(self):
        return self.build.folder / "tests" / "logs" / (self.name.replace("/", "_") + self.part.replace("/", "_of_") + ".log")

    def __str__(self):
        return f"{self.build.kind} {self.name}{' ' + self.part if self.part else ''}"


@dataclasses.dataclass
class Results:
    """Of one test or of all: passed, skipped as (test, reason), failed as (test, first lines)."""
    passed: int = 0
    skipped: list = dataclasses.field(default_factory=list)
    failed: list = dataclasses.field(default_factory=list)

    def add(self, other):
        self.passed += other.passed
        self.skipped += other.skipped
        self.failed += other.failed


class Build:
    """A build folder: what its Makefile says of it, and which programs it has."""

    def __init__(self, folder):
        self.folder = pathlib.Path(folder).resolve()
        names = ("SANITIZE_FLAGS", "PYTHON", "unit_programs", "fuzz_programs", "plain_programs", "tsan_programs")
        # make may say other things before: that it makes the Makefile anew.
        shown = subprocess.run(
            ["make", "-s", "-C", str(self.folder), "--eval=shown:;@printf '%s\\n' " + " ".join(f"'shown {name} $({name})'" for name in names),
             "shown"], stdout=subprocess.PIPE, text=True, check=True).stdout
        values = {match[1]: match[2] for match in re.finditer(r"^shown (\w+) (.*)$", shown, re.M)}
        flags = values["SANITIZE_FLAGS"]
        self.kind = "tsan" if "thread" in flags else "asan" if "address" in flags else "plain"
        self.python = values["PYTHON"]
        self.programs = {name: values[name].split() for name in names[2:]}
        # ThreadSanitizer cannot follow a clone into namespaces: its build takes the kettle-exec of the plain one. That of
        # AddressSanitizer takes it for the far sides of runners, where only the runner is on trial.
        self.kettle_exec = os.environ.get("KETTLE_EXEC")

    def environment(self):
        tsan = f"suppressions={SOURCE}/tests/tsan.supp {os.environ.get('TSAN_OPTIONS', '')}"
        names = {"tsan": "KETTLE_EXEC", "asan": "KETTLE_FAR_EXEC"}
        given = {names[self.kind]: self.kettle_exec} if self.kind in names and self.kettle_exec else {}
        if self.python:  # found first: what kettle-exec asks for python3 a hundred times is not a script that looks for one
            given["PATH"] = f"{os.path.dirname(self.python)}:{os.environ.get('PATH', os.defpath)}"
        return dict(os.environ, top_srcdir=str(SOURCE), top_builddir=str(self.folder), PYTHON=self.python, TSAN_OPTIONS=tsan, **given)


def words_of_script(path):
    """What a script declares."""
    with open(path, encoding="utf-8", errors="replace") as file:
        for _, line in zip(range(12), file):
            if line.startswith("# test:"):
                return set(line.split()[2:])
    return set()


def runs_in(words, build, kinds):
    """Whether a test runs in one build, where builds of these kinds are given."""
    if build.kind == "tsan":
        return "tsan" in words
    if "both" in words or not {"plain", "asan"} <= kinds:
        return build.kind == "plain" or "plain" not in words
    return build.kind == ("plain" if "plain" in words else "asan")


def scripts():
    for path in sorted(SOURCE.glob("tests/*/*.test")):
        yield f"{path.parent.name}/{path.stem}", path


def files_of_programs(build, kinds, whole):
    """(name, argv, words) of each file of each program; whole: all of them must be built."""
    programs = {"tsan": "tsan_programs", "plain": "plain_programs" if "asan" in kinds else "unit_programs"}.get(build.kind, "unit_programs")
    for program in build.programs[programs]:
        path = build.folder / program
        if not path.exists() and whole:
            sys.exit(f"{path} is not built: make -C {build.folder} check-programs")
        if not path.exists():
            continue
        listed = subprocess.run([str(path), "--list"], stdout=subprocess.PIPE, text=True, check=True).stdout
        for line in listed.splitlines():
            name, *words = line.split()
            yield f"{os.path.dirname(program).removeprefix('tests/')}/{name}", [str(path), name], set(words)
    if build.kind != "tsan" and (build.kind == "asan" or "asan" not in kinds):
        for program in build.programs["fuzz_programs"]:
            yield program.removeprefix("tests/"), [str(build.folder / program)], set()


NO_CMOCKA = ["sh", "-c", "echo '1..0 # SKIP cmocka was not there when this was configured: none of the tests that are built with it'"]


def script_argv(path, build):
    first = path.open(encoding="utf-8").readline()
    return [build.python, "-B", str(path)] if first.rstrip().endswith("python3") and build.python else [str(path)]


def tests_of(builds, everything, whole):
    """All tests that the builds have."""
    kinds = {build.kind for build in builds}
    for build in builds:
        found = [(name, script_argv(path, build), words_of_script(path)) for name, path in scripts()]
        if not build.programs["unit_programs"]:
            found.append(("unit/cmocka", NO_CMOCKA, set()))
        if build.kind == "tsan" and not everything:
            found = []  # whole programs under ThreadSanitizer: with --all
        for name, argv, words in [*files_of_programs(build, kinds, whole), *found]:
            parts = next((int(word[6:]) for word in words if word.startswith("parts=")), 1)
            unknown = {word for word in words if word not in WORDS and not word.startswith("parts=")}
            if unknown:
                sys.exit(f"{name} declares {', '.join(sorted(unknown))}; known are {', '.join(sorted(WORDS))} and parts=N")
            if runs_in(words, build, kinds) and (everything or "all" not in words):
                for part in range(parts):
                    yield Test(name, build, argv, words, f"{part + 1}/{parts}" if parts > 1 else "")


def selected(tests, names):
    """Those that the names select, with the arguments that follow a test's own name."""
    if not names:
        return tests
    chosen = []
    for name in names:
        matching = [test for test in tests if test.name == name or (name.endswith("/") and test.name.startswith(name))]
        if not matching:
            matching = [dataclasses.replace(test, argv=[*test.argv, name[len(test.name) + 1:]], part="")
                        for test in tests if name.startswith(test.name + "/") and test.part in ("", f"1/{test.part.split('/')[-1]}")]
        if not matching:
            sys.exit(f"No test is called {name}; --list shows them all.")
        chosen += [test for test in matching if test not in chosen]
    return chosen


def collect_orphans(child):
    """Waits for all children until that one has ended; its exit status."""
    while True:
        pid, status = os.wait()
        if pid == child:
            return os.waitstatus_to_exitcode(status)


def kill_orphans():
    """Kills what the test left, and what that leaves, until nothing is there."""
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as file:
            children = [int(pid) for pid in file.read().split()]
        if not children:
            return
        for pid in children:
            os.kill(pid, signal.SIGKILL)
        for pid in children:
            os.waitpid(pid, 0)


def run_test(test, environment):
    """The test as a child of this process, in a session of its own; its exit status."""
    child = os.fork()
    if child == 0:
        try:
            os.setsid()
            signal.pthread_sigmask(signal.SIG_SETMASK, ())
            os.execvpe(test.argv[0], test.argv, environment)
        finally:
            os._exit(127)
    return collect_orphans(child)


def begin_pids_at(number):
    """Each test has process numbers of its own. Those of sandboxes begin at 1, too: who looks for a process outside by its number
    must not find one inside; and kettle-exec names cgroups by its number."""
    with contextlib.suppress(OSError), open("/proc/sys/kernel/pid_max") as most, open("/proc/sys/kernel/ns_last_pid", "w") as last:
        last.write(str(int(most.read()) // 64 * (1 + number % 48)))


def in_namespace(test, environment):
    """The test in a PID namespace; its exit status. The first process there ends with the test."""
    first = os.fork()
    if first == 0:
        try:
            LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
            if LIBC.mount(b"proc", b"/proc", b"proc", 0, None) != 0:
                os._exit(126)
            begin_pids_at(test.number)
            os._exit(run_test(test, environment) & 0xFF)
        finally:
            os._exit(125)
    return collect_orphans(first)


class Cgroups:
    """Those of one test, below this process's own, where root may make them."""

    def __init__(self, number):
        self.folders = []
        with open("/proc/self/cgroup") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
        for _, names, path in lines:
            if os.geteuid() == 0 and set(names.split(",")) & {"cpu", "cpuacct", "memory", "pids"}:
                folder = f"/sys/fs/cgroup/{names}{path.rstrip('/')}/kettle-tests-{os.getpid()}-{number}"
                with contextlib.suppress(OSError):
                    os.mkdir(folder)
                    self.folders.append(folder)
                    if "cpu" in names.split(","):  # its processes together, beside single ones of other programs
                        pathlib.Path(folder, "cpu.shares").write_text("4096")

    def enter(self):
        for folder in self.folders:
            pathlib.Path(folder, "cgroup.procs").write_text(str(os.getpid()))

    def remove(self):
        for folder in self.folders:
            for below, _, _ in os.walk(folder, topdown=False):
                with contextlib.suppress(OSError):
                    os.rmdir(below)


def supervise(test, temporary, cgroups):
    """In the supervisor: runs the test with its output in its log, until nothing of it is left."""
    os.setpgid(0, 0)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    LIBC.prctl(PR_SET_PDEATHSIG, KILLS, 0, 0, 0)
    log = os.open(test.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o644)
    null = os.open(os.devnull, os.O_RDONLY)
    os.dup2(null, 0)
    os.dup2(log, 1)
    os.dup2(log, 2)
    environment = dict(test.build.environment(), TMPDIR=temporary)
    if test.part:
        environment["KETTLE_TEST_PART"] = test.part
    os.chdir(test.build.folder)
    cgroups.enter()
    if os.geteuid() == 0 and LIBC.unshare(CLONE_NEWPID | CLONE_NEWNS) == 0:
        LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
        return in_namespace(test, environment)
    LIBC.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    # A guard that fires ends the test, not its supervisor.
    signal.signal(signal.SIGTERM, lambda *_: (kill_orphans(), os._exit(124)))
    status = run_test(test, environment)
    kill_orphans()
    return status


class Running:
    """A test that runs: its supervisor."""

    def __init__(self, test):
        self.test, self.begin, self.wall_begin = test, time.monotonic(), time.time()
        self.late = False
        test.log.parent.mkdir(parents=True, exist_ok=True)
        self.temporary = tempfile.mkdtemp(prefix="kt-")
        os.chmod(self.temporary, 0o1777)
        self.cgroups = Cgroups(test.number)
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os._exit(supervise(test, self.temporary, self.cgroups) & 0xFF)
            finally:
                os._exit(125)

    def check_guard(self):
        said = max(self.test.log.stat().st_mtime, self.wall_begin) if self.test.log.exists() else self.wall_begin
        if not self.late and time.time() - said > GUARD_S:
            self.late = True
            self.kill()

    def kill(self):
        os.kill(self.pid, KILLS)

    def ended(self, status, usage):
        self.seconds, self.cpu_s = time.monotonic() - self.begin, usage.ru_utime + usage.ru_stime
        shutil.rmtree(self.temporary, ignore_errors=True)
        self.cgroups.remove()
        return results_of(self.test, status, "" if not self.late else f"said nothing for {GUARD_S} s")


def results_of(test, status, late):
    """Reads a log: TAP, with what sanitizers add."""
    results, planned, failing = Results(), None, None
    seen = 0
    for line in test.log.read_text(errors="replace").splitlines():
        match = re.match(r"(not )?ok\b *\d* *-? *(.*?)(?: *# SKIP\b *(.*))?$", line)
        plan = re.match(r"1\.\.(\d+)(?: *# SKIP *(.*))?$", line)
        if plan:
            planned = int(plan[1])
            if plan[2] is not None:
                results.skipped.append((test, plan[2]))
        elif match:
            seen += 1
            failing = None
            if match[3] is not None:
                results.skipped.append((test, match[3]))
            elif match[1]:
                failing = [match[2]]
                results.failed.append((test, failing))
            else:
                results.passed += 1
        elif re.match(r"Bail out|.*(runtime error:|(ERROR|WARNING): \w+Sanitizer)", line):
            failing = None
            results.failed.append((test, [line[:300]]))
        elif line.startswith("#") and failing and len(failing) < FIRST_LINES:
            failing.append(line[1:300].strip())
    if late:
        results.failed.append((test, [late]))
    elif planned is None or planned != seen:
        results.failed.append((test, [f"printed {seen} results of {'no plan' if planned is None else planned}, status {status}",
                                      *last_lines(test.log)]))
    elif status != 0 and not results.failed:
        results.failed.append((test, [f"ended with status {status}", *last_lines(test.log)]))
    return results


def last_lines(log):
    return [line[:300] for line in log.read_text(errors="replace").splitlines()[-FIRST_LINES:]]


class Schedule:
    """Which test begins next, by the room that its class has."""

    def __init__(self, tests, cores):
        self.room = {"cpu": cores, "waiting": 2 * cores}
        # Those of one class in their order, the long ones first.
        self.waiting = sorted(tests, key=lambda test: "long" not in test.words)
        self.running = {}

    def startable(self):
        """The next test that there is room for, or None."""
        used = {kind: sum(run.test.kind == kind for run in self.running.values()) for kind in CLASSES}
        if used["alone"]:
            return None
        # A test that computes also waits for the disk, and for its own ends.
        spare = {"cpu": not used["waiting"] and not any(test.kind == "waiting" for test in self.waiting)}
        for test in self.waiting:
            if test.kind != "alone" and used[test.kind] < self.room[test.kind] + spare.get(test.kind, 0):
                return test
        alone = [test for test in self.waiting if test.kind == "alone"]
        return alone[0] if len(alone) == len(self.waiting) and alone and not self.running else None

    def fill(self):
        while (test := self.startable()) is not None:
            self.waiting.remove(test)
            run = Running(test)
            self.running[run.pid] = run

    def wait(self):
        """The next test that ends, with its results."""
        while True:
            pid, status, usage = os.wait4(-1, os.WNOHANG)
            if pid in self.running:
                run = self.running.pop(pid)
                return run, run.ended(os.waitstatus_to_exitcode(status), usage)
            for run in self.running.values():
                run.check_guard()
            signal.sigtimedwait({signal.SIGCHLD}, 1.0)


@contextlib.contextmanager
def files_in_memory():
    """As root: what tests write is on a tmpfs, in a mount namespace of this process. Most of it is small and lives for moments, and on a
    disk the kernel takes longer to find a free inode than to write such a file. Where memory is short it is on the disk as ever."""
    with open("/proc/meminfo") as file:
        available = int(re.search(r"MemAvailable: *([0-9]+)", file.read())[1]) * 1024
    if os.geteuid() != 0 or available < MEMORY_FOR_FILES or LIBC.unshare(CLONE_NEWNS) != 0:
        yield
        return
    LIBC.mount(None, b"/", None, MS_REC | MS_PRIVATE, None)
    folder = tempfile.mkdtemp(prefix="kt-")
    if LIBC.mount(b"tmpfs", folder.encode(), b"tmpfs", 0, b"mode=1777") == 0:
        tempfile.tempdir = folder
    try:
        yield
    finally:
        tempfile.tempdir = None
        LIBC.umount2(folder.encode(), MNT_DETACH)
        os.rmdir(folder)


def run_once(tests, cores):
    """Runs them all; their results and the runs."""
    schedule, total, runs = Schedule(tests, cores), Results(), []
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGCHLD})
    try:
        schedule.fill()
        while schedule.running:
            run, results = schedule.wait()
            total.add(results)
            runs.append(run)
            print(f"{'FAIL' if results.failed else 'ok':>4} {run.seconds:6.1f} s  {run.test}: {results.passed} passed"
                  + (f", {len(results.failed)} failed" if results.failed else "")
                  + (f", {len(results.skipped)} skipped" if results.skipped else ""), flush=True)
            schedule.fill()
    finally:
        for run in schedule.running.values():
            run.kill()
    return total, runs


def report(total, runs, elapsed):
    """What took longest, what was skipped for which reason, what failed and why."""
    used = sum(run.cpu_s for run in runs)
    print(f"\nThe test phase took {elapsed:.0f} s and {used:.0f} s of processor time on {os.cpu_count()} processors. The longest:")
    for run in sorted(runs, key=lambda run: -run.seconds)[:12]:
        print(f"  {run.seconds:6.1f} s, {run.cpu_s:6.1f} s of processor time  {run.test}")
    reasons = {}
    for _, reason in total.skipped:
        reasons[reason] = reasons.get(reason, 0) + 1
    if reasons:
        print("\nSkipped, and why:")
        for reason, count in sorted(reasons.items(), key=lambda item: -item[1]):
            print(f"  {count:4d}  {reason}")
    if total.failed:
        print("\nFailed:")
        for test, lines in total.failed:
            print(f"  {test}: {lines[0]}")
            for line in lines[1:]:
                print(f"      {line}")
            print(f"      the whole: {test.log}")


def fail_skipped(total):
    """In CI: what is skipped without need has failed."""
    excused = [MAY_BE_SKIPPED, *(re.compile(reason) for name, reason in ENVIRONMENTS.items() if name in os.environ.get("KETTLE_TEST_WITHOUT", "").split())]
    for test, reason in list(total.skipped):
        if not any(pattern.search(reason) for pattern in excused):
            total.skipped.remove((test, reason))
            total.failed.append((test, [f"skipped, which in CI is a failure: {reason}"]))


def run_times(tests, arguments):
    """Runs them as often as is wanted; how many failed."""
    failures = 0
    for _ in range(arguments.repeat):
        begin = time.monotonic()
        # What kettle-exec learns of tools and builds is kept for the others: it looks itself whether it still holds.
        cache = tempfile.mkdtemp(prefix="kt-cache-")
        os.environ["KETTLE_TEST_CACHE"] = cache
        try:
            total, runs = run_once(tests, os.cpu_count())
        finally:
            shutil.rmtree(cache, ignore_errors=True)
        if os.environ.get("CI") == "true":
            fail_skipped(total)
        report(total, runs, time.monotonic() - begin)
        if arguments.durations:
            with open(arguments.durations, "w") as file:
                for run in sorted(runs, key=lambda run: -run.cpu_s):
                    print(f"{run.cpu_s:.1f} {run.seconds:.1f} {run.test}", file=file)
        print(f"\n{total.passed} passed, {len(total.failed)} failed, {len(total.skipped)} skipped", flush=True)
        failures += len(total.failed)
    return failures


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--all", action="store_true", help="also those that declare `all`, and in the others everything")
    parser.add_argument("--repeat", type=int, default=1, metavar="N", help="N times in a row")
    parser.add_argument("--list", action="store_true", help="print the tests and their words, run nothing")
    parser.add_argument("--durations", metavar="FILE", help="also write the duration of each test to FILE")
    parser.add_argument("names", nargs="+", metavar="BUILD|NAME", help="build folders, then names of tests")
    arguments = parser.parse_args()
    builds = [Build(name) for name in arguments.names if os.path.exists(os.path.join(name, "config.status"))]
    names = [name for name in arguments.names if not os.path.exists(os.path.join(name, "config.status"))]
    for build in builds:
        build.kettle_exec = next((str(one.folder / "kettle-exec") for one in builds if one.kind == "plain"), build.kettle_exec)
    if not builds:
        parser.error("the first argument is a build folder, one with a config.status")
    taken = sorted(entry.pw_name for entry in pwd.getpwall() if entry.pw_uid == os.geteuid() and entry.pw_name in PARTICIPANTS)
    if taken:
        sys.exit(f"The tests' boards have a user {taken[0]}: run them as one with another name than {', '.join(sorted(PARTICIPANTS))}.")
    tests = selected(list(tests_of(builds, arguments.all, not names)), names)
    if arguments.list:
        for test in tests:
            print(test, *sorted(test.words))
        return 0
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    os.environ["KETTLE_TEST_SIZE"] = "all" if arguments.all else "gate"
    with files_in_memory():
        return 1 if run_times(tests, arguments) else 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
