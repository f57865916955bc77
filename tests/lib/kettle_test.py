# SPDX-License-Identifier: MIT
"""What the integration tests share: TAP output, a scratch folder, the programs, and polling instead of sleeping."""
import atexit
import base64
import contextlib
import hashlib
import importlib.util
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import traceback

import command_server
import known_tools
import owner_client
import pythons
import sizes
from polling import BUSY, poll

# A shell that starts this in the background may have SIGINT ignored, and children would inherit that.
signal.signal(signal.SIGINT, signal.default_int_handler)

SOURCE = pathlib.Path(os.environ.get("top_srcdir", pathlib.Path(__file__).parents[2])).resolve()
BUILD = pathlib.Path(os.environ.get("top_builddir", ".")).resolve()
KETTLE = BUILD / "kettle"
EXEC = BUILD / "kettle-exec"
FAR_EXEC = os.environ.get("KETTLE_FAR_EXEC") or os.environ.get("KETTLE_EXEC") or str(EXEC)  # of machines that runners reach
TASKS = SOURCE / "tasks"


def has_failpoints():
    return "#define KETTLE_FAILPOINTS 1" in (BUILD / "config.h").read_text()


def other_exec():
    """ThreadSanitizer cannot follow a clone into namespaces: its build takes the kettle-exec of another one."""
    path = os.environ.get("KETTLE_EXEC")
    return f", exec: {path}" if path else ""


# KETTLE_TEST_WARM=0: no run of any test begins as a copy of a warm interpreter.
WARM = os.environ.get("KETTLE_TEST_WARM", "1") != "0"
# Flushing all of a large cache before each timed call would make tests slow.
# What one test has used is not made ready beside another one, and no import is given up because the machine is busy.
EXEC_SETTINGS = {"cpu_cache": 4 << 20, "warm": {"idle_seconds": 0, "start_seconds": 600} if WARM else {"processes": 0}}


def cuda_on_cpu(environment=None):
    """Options of the language py with which boards for device="cuda" and kernels in Triton run on the CPU. The sandbox must
    show the folder that PYTHONPATH names."""
    return {"interpret": True, "env": dict(environment or {}, PYTHONPATH=str(SOURCE / "tests" / "peers" / "cuda_on_cpu"))}


BOARDS = pathlib.Path(known_tools.FOLDER, "boards")  # databases with one board, by all that decides what is in it
SECTIONS = re.compile(r"^(?:languages|runners|devices|plugin_path):.*\n(?: .*\n)*", re.M)  # of a configuration, on which that depends
# The configuration of a shipped C++ task that is compiled quickly and times for a moment only.
MOMENT = "config:\n  compile_flags: [-O1]\n  defines: {RANKED_SECONDS: '0.01', BENCHMARK_SECONDS: '0.01', PROFILE_SECONDS: '0.2'}\n"
LOST = owner_client.Ended  # what a call gets whose server ends, or has ended


SEARCHED = set()  # calls of kettle at whose end LeakSanitizer has searched, by their words, options and status


def searched(args, status):
    """Environment of a call of kettle to a server. Under AddressSanitizer the search for leaks is a third of a short call: a program
    searches once for each command with the same options and status. So a client's leak is not found that only another number, file or
    state shows; servers, and calls without one, which are the engine as well, are searched at each end."""
    call = (*(arg for arg in map(str, args) if re.fullmatch("-{0,2}[a-z][a-z-]*", arg)), status)
    if call not in SEARCHED:
        SEARCHED.add(call)
        return {}
    return {"ASAN_OPTIONS": f"{os.environ.get('ASAN_OPTIONS', '')}:detect_leaks=0"}


class Skip(Exception):
    """Raised by a test that cannot run here: says why."""


def copy_tree(source, target):
    """Copies a folder so that the copy may be changed, wherever the source is read-only (as in a distribution's check)."""
    shutil.copytree(source, target, dirs_exist_ok=True)
    for folder, _, names in os.walk(target):
        os.chmod(folder, 0o755)
        for name in names:
            path = os.path.join(folder, name)
            os.chmod(path, os.stat(path).st_mode | 0o200)


# kettle-exec's, of all tests of a program, one after the other: what one has compiled no other one compiles again.
STATE = pathlib.Path(tempfile.mkdtemp(prefix="kettle-test-state-"))
atexit.register(shutil.rmtree, STATE, ignore_errors=True)
known_tools.give(STATE / "exec")
atexit.register(known_tools.take, STATE / "exec")
if "KETTLE_TEST_CACHE" in os.environ:  # nor any other program
    builds = pathlib.Path(os.environ["KETTLE_TEST_CACHE"], "builds")
    builds.mkdir(exist_ok=True)
    (STATE / "exec" / "cache").symlink_to(builds)


def peer_client(peer):
    """The module tests/peers/PEER/client.py, for programs that need those of several peers."""
    spec = importlib.util.spec_from_file_location(f"{peer}_client", SOURCE / "tests" / "peers" / peer / "client.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def listens(path, pid):
    """Whether this process listens there. What another one had forked when it was killed may hold its socket for a while."""
    with socket.socket(socket.AF_UNIX) as there:
        return there.connect_ex(str(path)) == 0 and struct.unpack("3i", there.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[0] == pid


class Scratch:
    """A folder of its own with a configuration and a database; everything below it is removed at the end."""

    def __init__(self, devices="{CPU: {runner: local}}", extra=""):
        self.root = pathlib.Path(tempfile.mkdtemp(prefix="kettle-test-"))
        os.chmod(self.root, 0o755)
        self.database = self.root / "data" / "kettle.db"
        self.state = STATE / "exec"
        self.config = self.root / "kettle.yml"
        self.config.write_text(
            f"languages: {{cpp: {{}}}}\nrunners: {{local: {{state: {self.state}{other_exec()}}}}}\n"
            f"devices: {devices}\n{extra}")
        # Where kettle-exec looks, unless a test gives it a file of its own. Root's locks are the whole machine's: a test would
        # wait for the devices of all others.
        self.write(".config/kettle/exec.yml", json.dumps({"locks": str(self.root / "kettle" / "locks"), **EXEC_SETTINGS}))
        self.children = []
        self.before, self.as_made = "", None  # the name of the database that boards alone have made, and its state then
        self.remote = command_server.CommandServer(self) if command_server.WANTED else None

    def own_state(self):
        """From now on kettle-exec has a folder of its own: nothing is compiled yet."""
        before, self.state = self.state, self.root / "exec"
        known_tools.give(self.state)
        self.config.write_text(self.config.read_text().replace(str(before), str(self.state)))

    def environment(self, **more):
        env = {k: v for k, v in os.environ.items() if not k.startswith(("KETTLE_", "XDG_"))}
        env.update(KETTLE_LOADAVG=os.devnull, KETTLE_CONFIG=str(self.config), KETTLE_DB=str(self.database), HOME=str(self.root),
                   XDG_RUNTIME_DIR=str(self.root), NO_COLOR="1")
        env.update({k: str(v) for k, v in more.items()})
        return env

    def run(self, *args, status=0, env=None, timeout=600, input=None, cwd=None, local=False):
        """Runs kettle; checks its exit status (None: any). Returns the completed process. local: at the database, whatever KETTLE_TEST_SERVER
        says."""
        if self.remote and not local:
            env = {**self.remote.environment(args, env), **(env or {})}
        options = searched(args, status) if self.served() else {}
        result = subprocess.run([str(KETTLE), *map(str, args)], env=self.environment(**{**options, **(env or {})}), input=input,
                                capture_output=True, text=True, timeout=timeout, cwd=cwd or self.root)
        if status is not None and result.returncode != status:
            raise AssertionError(f"kettle {' '.join(map(str, args))}: status {result.returncode}, not {status}\n"
                                 f"{result.stdout}\n{result.stderr}")
        return result

    def rows(self, query, *values):
        """What a query of the database gives."""
        with contextlib.closing(sqlite3.connect(f"file:{self.database}?mode=ro", uri=True, timeout=60)) as database:
            return database.execute(query, values).fetchall()

    def json(self, *args, status=0, **kwargs):
        return json.loads(self.run(*args, "--json", status=status, **kwargs).stdout)

    def served(self):
        """Whether a server of this test takes calls."""
        return any(child.poll() is None and listens(f"{self.database}.sock", child.pid) for child in self.children)

    def call(self, command, args=None, user=None):
        """What a command line would print with --json, by the socket of the server that runs: for what a test needs and is not about."""
        return owner_client.call(self.database, command, args or {}, user)

    def submit(self, path, board, mode="ranked", user=None, **more):
        """The number of a new submission of a file, by the socket."""
        file = {"name": path.name, "base64": base64.b64encode(path.read_bytes()).decode()}
        return self.call("submit", {"leaderboard": board, "mode": mode, "file": file, **more}, user)["id"]

    def ended(self, submission):
        """The submission once it has its verdict, as an admin sees it; by the socket."""
        last = 0
        while True:  # it may run again, and have had one before
            last = owner_client.until(self.database, {"submission": submission}, "submission.done", last)["seq"]
            found = self.call("submission.show", {"id": submission})
            if found["done"]:
                return found

    def start(self, *args, env=None, before=None, local=False):
        """Starts kettle in the background with its output in files; before: called in its process before it is executed; local: as run."""
        if self.remote and not local:
            env = {**self.remote.environment(args, env), **(env or {})}
        log = open(self.root / f"child{len(self.children)}.log", "w+")
        child = subprocess.Popen([str(KETTLE), *map(str, args)], env=self.environment(**(env or {})), stdout=log,
                                 stderr=subprocess.STDOUT, cwd=self.root, start_new_session=True, preexec_fn=before)
        child.log = pathlib.Path(log.name)
        log.close()
        self.children.append(child)
        return child

    def serve(self, env=None):
        """A server that answers."""
        child = self.start(*(self.remote.arguments() if self.remote else ["serve"]), env=env, local=True)

        def up():
            assert child.poll() is None, f"kettle serve ended:\n{child.log.read_text()}"
            return listens(f"{self.database}.sock", child.pid)
        poll(up, "the server's socket")
        return self.remote.started(child) if self.remote else child

    def paused(self, name):
        """A device as it is listed, once its first unit takes no jobs, and jobs wait for it."""
        def find():
            device = next(device for device in self.call("device.list", {"known": True}) if device["name"] == name)
            return device["units"][0]["state"] == "paused" and "waits" in device and device
        return poll(find, "a unit that pauses")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return path

    def task(self, name="vectoradd_cpp", small=True):
        """A copy of a shipped C++ task that is compiled quickly and times for a moment only, so that its scores mean nothing, and whose time
        limits are guards, which no machine is too busy for. small: so are its benchmarks; else the kernel is most of what a profiler sees."""
        folder = self.root / ("quick" if small else "short") / name
        if not folder.exists():
            copy_tree(TASKS / "harness", folder.parent / "harness")
            copy_tree(TASKS / name, folder)
            text = (folder / "task.yml").read_text()
            text = text.replace("size: 1048576", "size: 1024") if small else text
            assert "config:\n" in text, f"tasks/{name} has no config"
            text = re.sub(r"^(\w+_timeout): \d+$", r"\1: 600", text, flags=re.M)
            (folder / "task.yml").write_text(text.replace("config:\n", MOMENT))
        return folder

    def solution(self, name="naive", task="vectoradd_cpp", kind="correct"):
        return TASKS / task / "solutions" / kind / f"{name}.cpp"

    def endless(self):
        """A file for vectoradd_cpp that never returns, and takes no processor time meanwhile."""
        return self.write("endless.cpp", '#include "task.h"\n#include <unistd.h>\n\nvoid\ncustom_kernel(const input_t &, output_t &)\n'
                          "{\n\tfor (;;)\n\t\tpause();\n}\n")

    def board(self, name="arena", task="vectoradd_cpp", *options, env=None):
        """A board without submissions, of a shipped task or of one in a folder. A database with nothing but such boards is a copy of one
        that an earlier test made in the same way."""
        folder = self.task(task)
        used = pathlib.Path(f"{self.database}-wal").exists() or any(child.poll() is None for child in self.children)
        alone = not self.remote and not used and self.as_made == self.database_state()
        made = self.made(name, folder, options, env)
        if alone and made.exists():
            self.database.parent.mkdir(0o700, exist_ok=True)
            shutil.copyfile(made, self.database)
            self.database.chmod(0o600)
            with contextlib.closing(sqlite3.connect(self.database)) as copy, copy:
                copy.execute("DELETE FROM settings WHERE key IN ('remote_place', 'remote_prefix')")
        else:
            self.run("leaderboard", "create", name, "--no-try", "--task", folder, *options, env=env)
        if alone and not made.exists():
            made.parent.mkdir(exist_ok=True)
            part = shutil.copyfile(self.database, made.with_name(self.root.name))
            part.rename(made)
        if alone:
            self.before, self.as_made = made.name, self.database_state()
        return name

    def database_state(self):
        """Another one after each change; None: there is no database."""
        return hashlib.sha256(self.database.read_bytes()).hexdigest() if self.database.exists() else None

    def made(self, name, folder, options, env):
        """Where a database with this board, and those before it, is, if one was made."""
        text = re.sub(r"127\.0\.0\.1:\d+", "", "".join(SECTIONS.findall(self.config.read_text())) + json.dumps(env, default=str))
        for own in (str(self.root), self.root.name, str(STATE)):
            text = text.replace(own, "")
        parts = [str(BUILD), self.before, name, folder.name, *options, text]
        for path in sorted(path for top in (folder, folder.parent / "harness") for path in top.rglob("*") if path.is_file()):
            parts += [str(path.relative_to(folder.parent)), hashlib.sha256(path.read_bytes()).hexdigest()]
        return BOARDS / hashlib.sha256(json.dumps(parts).encode()).hexdigest()

    def remains(self):
        """Processes that still work below this folder (by their arguments or working folder)."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            if not entry.name.isdigit() or int(entry.name) == os.getpid():
                continue
            try:
                line = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                state = (entry / "stat").read_text().rsplit(")", 1)[1].split()[0]
                where = os.readlink(entry / "cwd")
            except OSError:
                continue
            if state != "Z" and (str(self.root) in line or str(STATE) in line or where.startswith(str(self.root))):
                found.append(f"{entry.name}: {line or where}")
        return found

    def close(self):
        for child in self.children:
            if child.poll() is None:
                child.kill()
            child.wait()
        try:
            poll(lambda: not self.remains(), "the end of all processes")
        finally:
            shutil.rmtree(self.root, ignore_errors=True)


def exec_of(server):
    """The number of a server's kettle-exec."""
    def found():
        children = pathlib.Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
        return [int(pid) for pid in children if pathlib.Path(f"/proc/{pid}/comm").read_text() == "kettle-exec\n"]
    return poll(found, "kettle-exec")[0]


def needs(*plugins):
    """Skips the whole test, and says why, where one of the plugins was not built."""
    for plugin in plugins:
        if not (BUILD / "plugins" / f"{plugin}.so").exists():
            print(f"1..0 # SKIP the plugin {plugin} was not built")
            sys.exit(0)


def processor_s():
    """The processor time of this process and of its children that have ended."""
    return sum(os.times()[:4])


def main(tests, more=()):
    """Runs the functions in order (or those that the command line names), each with a scratch folder of its own, and
    prints TAP. more: those that only ./quickstart test --all runs. What they run needs all plugins of a plain board."""
    needs("cpp", "local", "cli")
    text = pathlib.Path(sys.argv[0]).read_text()
    lost = [name for name in re.findall(r"^def (test_\w+)", text, re.M) if len(re.findall(rf"\b{name}\b", text)) < 2]
    assert not lost or "globals()" in text, f"no list has {', '.join(lost)}"
    tests = sizes.chosen(tests, more)
    print(f"1..{len(tests)}\n# {pythons.named()}", flush=True)
    for number, test in enumerate(tests, 1):
        name = (test.__doc__ or test.__name__).strip().splitlines()[0]
        scratch, begin, used = Scratch(), time.monotonic(), processor_s()
        try:
            test(scratch)
            scratch.close()
            print(f"ok {number} - {name}", flush=True)
        except Skip as skip:
            scratch.close()
            print(f"ok {number} - {name} # SKIP {skip}", flush=True)
        except Exception as error:
            # The reason first: who reads many logs at once sees the first lines of each.
            print(f"not ok {number} - {name}", flush=True)
            where = [frame for frame in traceback.extract_tb(error.__traceback__) if frame.filename == sys.argv[0]]
            for line in [*"".join(traceback.format_exception_only(type(error), error))[:2000].splitlines(),
                         *(f"  line {frame.lineno}: {frame.line}" for frame in where), *traceback.format_exc().splitlines()]:
                print(f"# {line}")
            for child in scratch.children:
                if child.log.exists():
                    for line in child.log.read_text(errors="replace").splitlines()[-30:]:
                        print(f"#   log: {line}")
            try:
                scratch.close()
            except AssertionError as error:
                print(f"# {error}")
        print(f"# {time.monotonic() - begin:.1f} s, {processor_s() - used:.1f} s of processor time", flush=True)
    sys.exit(0)
