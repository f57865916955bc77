# SPDX-License-Identifier: MIT
"""What an attack must not touch or leave behind: canaries laid out before it, and a look at the machine after it."""
import ctypes
import os
import pty
import random
import shutil
import socket
import tempfile
import time

import cgroups

PR_SET_CHILD_SUBREAPER = 36
CLONE_NEWNS, CLONE_NEWIPC, MS_REC, MS_PRIVATE = 0x20000, 0x8000000, 0x4000, 0x40000
# A change of the machine's memory that is worth a look at whose it is.
STEP_BYTES = 64 << 20
LEFT_BEHIND_LIMIT_S = 5.0
BUSIEST = 20.0
OWNER = """\
#!/bin/sh
# The 20th word behind the name is the start.
owner() {{ shift 19; echo "$$ $1" >> "{scratch}/owners"; }}
read -r stat < /proc/$$/stat
owner ${{stat##*) }}"""
SECRET = "the-content-of-the-canary-4f1d"


def busy():
    """How many times longer things take since others run: processes that want to run for each core. To be asked before an
    attack, which would raise it."""
    with open("/proc/loadavg") as file:
        words = file.read().split()
    return min(BUSIEST, max(1.0, float(words[0]) / os.cpu_count(), int(words[3].split("/")[0]) / os.cpu_count()))


# Whether mounts and IPC objects that can be seen are ours alone.
APART = False


def stand_apart():
    """Whatever loses its parent becomes our child, so that nothing started by a test can get lost; and root has mounts and
    System V objects of its own, so that what others on the machine do is not seen."""
    global APART
    library = ctypes.CDLL(None, use_errno=True)
    library.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    if os.geteuid() == 0 and library.unshare(CLONE_NEWNS | CLONE_NEWIPC) == 0:
        APART = library.mount(None, b"/", None, MS_REC | MS_PRIVATE, None) == 0


def processes():
    """pid → (parent, state, name) of all processes of the machine."""
    found = {}
    for name in os.listdir("/proc"):
        if not name.isdigit():
            continue
        try:
            with open(f"/proc/{name}/stat", errors="replace") as file:
                text = file.read()
        except OSError:
            continue
        fields = text[text.rindex(")") + 2 :].split()
        found[int(name)] = (int(fields[1]), fields[0], text[text.index("(") + 1 : text.rindex(")")])
    return found


def family(of, table):
    """A process of the table and all below it."""
    found, more = set(), {of}
    while more:
        found |= more
        more = {pid for pid, (parent, _, _) in table.items() if parent in found} - found
    return found


def descendants(of):
    """Living processes below one: "pid name"."""
    table = processes()
    return [f"{pid} {table[pid][2]}" for pid in sorted(family(of, table) - {of}) if pid in table and table[pid][1] not in "ZX"]


def reap():
    """Collects the dead among the adopted."""
    try:
        while os.waitpid(-1, os.WNOHANG)[0] > 0:
            pass
    except ChildProcessError:
        pass


def available_memory():
    """Bytes that the machine could still give."""
    with open("/proc/meminfo") as file:
        for line in file:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return 0


def memory_of_others():
    """Bytes in the memory of processes that are none of ours."""
    table, pages = processes(), 0
    for pid in table.keys() - family(os.getpid(), table):
        try:
            with open(f"/proc/{pid}/statm") as file:
                pages += int(file.read().split()[1])
        except OSError:
            pass
    return pages * os.sysconf("SC_PAGE_SIZE")


def mounts():
    """Mounts by number and device, with their lines: the path in a line changes when a folder above it gets another name. Of an
    ordinary user nothing can mount anything where others see it."""
    if not APART:
        return {}
    with open("/proc/self/mountinfo") as file:
        return {(line.split(" ")[0], line.split(" ")[2]): line for line in file}


def system_v(keys):
    """Segments, semaphores and queues of this IPC name space; where others share it, those with one of our keys."""
    found = set()
    for kind in ("shm", "sem", "msg"):
        try:
            with open(f"/proc/sysvipc/{kind}") as file:
                found.update((kind, *line.split()[:2]) for line in file.readlines()[1:] if APART or line.split()[0] in keys)
        except OSError:
            pass
    return found


def files_below(folder):
    found = set()
    for where, folders, files in os.walk(folder):
        found.update(os.path.join(where, name) for name in folders + files)
    return found


class Canary:
    """A scratch folder with a canary, and sockets that no submission may reach."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="kettle-attacks-")
        os.chmod(self.scratch, 0o755)
        self.path = os.path.join(self.scratch, "canary.h")
        for name in ("tmp", "home", "state", "locks"):
            os.mkdir(os.path.join(self.scratch, name), 0o700)
        self.mark = f"kettlemark{random.getrandbits(60):x}"
        self.keys = [str(random.randrange(1 << 20, 1 << 31)) for _ in range(2)]
        with open(self.path, "w") as file:
            file.write(f'#error "{SECRET}"\n{SECRET}\n')
        self.canary_is = self.canary_state()
        self.listeners = self.listen()
        self.address = self.own_address()

    def tells_owner(self):
        """The begin of a shell script that writes down what tells its process, and what it becomes, from others."""
        return OWNER.format(scratch=self.scratch)

    def owners(self):
        """Every kettle-exec so far (its wrapper writes it down), as cgroups.owner has it."""
        try:
            with open(os.path.join(self.scratch, "owners")) as file:
                return [tuple(map(int, line.split())) for line in file]
        except OSError:
            return []

    def canary_state(self):
        try:
            st = os.lstat(self.path)
            with open(self.path) as file:
                return (st.st_mode, st.st_size, st.st_mtime_ns, st.st_nlink, st.st_ino, file.read())
        except OSError as error:
            return str(error)

    def listen(self):
        tcp = socket.socket()
        tcp.bind(("0.0.0.0", 0))
        udp = socket.socket(type=socket.SOCK_DGRAM)
        udp.bind(("0.0.0.0", tcp.getsockname()[1]))
        abstract = socket.socket(socket.AF_UNIX)
        abstract.bind("\0" + self.mark)
        path = socket.socket(socket.AF_UNIX)
        path.bind(os.path.join(self.scratch, "socket"))
        os.chmod(os.path.join(self.scratch, "socket"), 0o777)
        for listener in (tcp, abstract, path):
            listener.listen(16)
        listeners = {"TCP": tcp, "UDP": udp, "abstract": abstract, "path": path}
        for listener in listeners.values():
            listener.setblocking(False)
        return listeners

    @staticmethod
    def own_address():
        """The address by which this machine talks to others; nothing is sent."""
        probe = socket.socket(type=socket.SOCK_DGRAM)
        try:
            probe.connect(("192.0.2.1", 9))
            return probe.getsockname()[0]
        except OSError:
            return "127.0.0.2"
        finally:
            probe.close()

    def words(self):
        """What the placeholders of an attack stand for."""
        return {
            "@CANARY@": self.path,
            "@SECRET@": SECRET,
            "@SCRATCH@": self.scratch,
            "@SOCKET@": os.path.join(self.scratch, "socket"),
            "@ABSTRACT@": self.mark,
            "@MARK@": self.mark,
            "@PORT@": str(self.listeners["TCP"].getsockname()[1]),
            "@ADDRESS@": self.address,
            "@PID@": str(os.getpid()),
            "@KEY@": self.keys[0],
            "@HOSTKEY@": self.keys[1],
            "@HOSTNAME@": socket.gethostname(),
            "@LOGIN@": "^" + (os.environ.get("LOGNAME") or "nobody-of-that-name") + ":"
            if os.environ.get("LOGNAME", "root") != "root"
            else "^nobody-of-that-name:",
        }

    def reached(self):
        """Names of the sockets that were reached."""
        found = []
        for name, listener in self.listeners.items():
            try:
                if name == "UDP":
                    listener.recv(100)
                else:
                    listener.accept()[0].close()
                found.append(name)
            except BlockingIOError:
                pass
        return found

    def remove(self):
        for listener in self.listeners.values():
            listener.close()
        shutil.rmtree(self.scratch, ignore_errors=True)


class Watch:
    """One attack under observation: made before it; lists complaints after it."""

    def __init__(self, canary):
        self.canary, self.busy = canary, busy()
        self.before = {"mounts": mounts(), "IPC objects": system_v(canary.keys)}
        # Tools that print their version may make a folder in their user's home: only what is new counts.
        self.files = {place: files_below(os.path.join(canary.scratch, place)) for place in ("tmp", "home", "state")}
        self.memory, self.others = available_memory(), memory_of_others()
        self.least, self.short = self.memory, 0

    def sample(self):
        available = available_memory()
        if available < self.least - STEP_BYTES:
            self.least = available
            self.short = max(self.short, self.memory - available - max(0, memory_of_others() - self.others))

    def used_mib(self):
        """How much less memory the machine had in between, but for what others took."""
        return self.short >> 20

    def complaints(self):
        found = self.processes_left()
        if self.canary.canary_state() != self.canary.canary_is:
            found.append(f"the canary has changed: {self.canary.canary_state()}")
        found += [f"the {name} socket was reached" for name in self.canary.reached()]
        new_mounts = [line for key, line in mounts().items() if key not in self.before["mounts"]]
        new_objects = sorted(system_v(self.canary.keys) - self.before["IPC objects"])
        for what, more in (("mounts", new_mounts), ("IPC objects", new_objects)):
            if more:
                found.append(f"{what} are left: {more[:3]}")
        groups = cgroups.left(self.canary.owners())
        if groups:
            found.append(f"cgroups are left: {groups[:3]}")
        return found + self.files_left()

    def processes_left(self):
        deadline = time.monotonic() + LEFT_BEHIND_LIMIT_S * self.busy
        while True:
            reap()
            left = descendants(os.getpid())
            if not left:
                return []
            if time.monotonic() > deadline:
                return [f"processes are left: {left[:5]}"]
            time.sleep(0.02)

    def files_left(self):
        scratch, mark = self.canary.scratch, self.canary.mark
        found = []
        for place in ("/tmp", "/dev/shm", "/var/tmp"):
            if os.path.exists(os.path.join(place, mark)):
                found.append(f"{place}/{mark} is left")
        for place, before in self.files.items():
            folder = os.path.join(scratch, place)
            new = {path for path in files_below(folder) - before if "/cache" not in path[len(folder) :]}
            if new:
                found.append(f"files are left in {place}: {sorted(new)[:5]}")
        return found


def open_terminal():
    """A terminal of its own: (master, slave)."""
    return pty.openpty()
