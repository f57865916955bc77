# SPDX-License-Identifier: MIT
"""What an attack must not touch or leave behind: bait laid out before it, and a look at the machine after it."""
import ctypes
import fcntl
import os
import pty
import shutil
import socket
import tempfile
import time

PR_SET_CHILD_SUBREAPER = 36
LEFT_BEHIND_LIMIT_S = 5.0
BUSIEST = 20.0
SECRET = "the-content-of-the-canary-4f1d"


def busy():
    """How many times longer things take since others run: processes that want to run for each core. To be asked before an
    attack, which would raise it."""
    with open("/proc/loadavg") as file:
        words = file.read().split()
    return min(BUSIEST, max(1.0, float(words[0]) / os.cpu_count(), int(words[3].split("/")[0]) / os.cpu_count()))


def adopt_orphans():
    """Whatever loses its parent becomes our child, so that nothing started by a test can get lost."""
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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


def descendants(of):
    """Living processes below one: "pid name"."""
    table = processes()
    below, found = {of}, []
    grown = True
    while grown:
        grown = False
        for pid, (parent, state, name) in table.items():
            if parent in below and pid not in below:
                below.add(pid)
                grown = True
                if state not in "ZX":
                    found.append(f"{pid} {name}")
    return found


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


def is_held(folder):
    """Whether the owner of a cgroup lives: it has a lock on the folder."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    except OSError:
        return True  # it has gone meanwhile
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return False
    except OSError:
        return True
    finally:
        os.close(descriptor)


def cgroups(owners):
    """Cgroups of Kettle that belonged to one of these processes: a group is named by its owner's pid. On a busy machine
    another program soon gets the same number, and that one lives."""
    found = set()
    for folder, folders, _ in os.walk("/sys/fs/cgroup"):
        if os.path.basename(folder) == "kettle":
            found.update(os.path.join(folder, name) for name in folders if name.split("-")[0] in owners)
    return {folder for folder in found if not is_held(folder)}


def mounts():
    with open("/proc/self/mountinfo") as file:
        return {line.split(" ", 2)[2] for line in file}


def system_v():
    """Segments, semaphores and queues of this IPC name space."""
    found = set()
    for kind in ("shm", "sem", "msg"):
        try:
            with open(f"/proc/sysvipc/{kind}") as file:
                found.update((kind, line.split()[0], line.split()[1]) for line in file.readlines()[1:])
        except OSError:
            pass
    return found


def files_below(folder):
    found = set()
    for where, folders, files in os.walk(folder):
        found.update(os.path.join(where, name) for name in folders + files)
    return found


class Bait:
    """A scratch folder with a canary, and sockets that nobody may reach."""

    def __init__(self):
        self.scratch = tempfile.mkdtemp(prefix="kettle-attacks-")
        os.chmod(self.scratch, 0o755)
        self.canary = os.path.join(self.scratch, "canary.h")
        for name in ("tmp", "home", "state", "locks"):
            os.mkdir(os.path.join(self.scratch, name), 0o700)
        self.mark = f"kettlemark{os.getpid()}"
        with open(self.canary, "w") as file:
            file.write(f'#error "{SECRET}"\n{SECRET}\n')
        self.canary_is = self.canary_state()
        self.listeners = self.listen()
        self.address = self.own_address()

    def owners(self):
        """Pids that every kettle-exec so far has had (its wrapper writes them down)."""
        try:
            with open(os.path.join(self.scratch, "pids")) as file:
                return set(file.read().split())
        except OSError:
            return set()

    def canary_state(self):
        try:
            st = os.lstat(self.canary)
            with open(self.canary) as file:
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
            "@CANARY@": self.canary,
            "@SECRET@": SECRET,
            "@SCRATCH@": self.scratch,
            "@SOCKET@": os.path.join(self.scratch, "socket"),
            "@ABSTRACT@": self.mark,
            "@MARK@": self.mark,
            "@PORT@": str(self.listeners["TCP"].getsockname()[1]),
            "@ADDRESS@": self.address,
            "@PID@": str(os.getpid()),
            "@KEY@": str(100000 + os.getpid()),
            "@HOSTKEY@": str(900000 + os.getpid()),
            "@HOSTNAME@": socket.gethostname(),
            "@LOGIN@": "^" + (os.environ.get("LOGNAME") or "nobody-of-that-name") + ":"
            if os.environ.get("LOGNAME", "root") != "root"
            else "^nobody-of-that-name:",
        }

    def reached(self):
        """Names of the sockets that somebody has reached."""
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
    """One attack under observation: made before it, asked for complaints after it."""

    def __init__(self, bait):
        self.bait, self.busy = bait, busy()
        self.before = {"mounts": mounts(), "IPC objects": system_v()}
        # Tools that are asked for their version may make a folder in their user's home: only what is new counts.
        self.files = {place: files_below(os.path.join(bait.scratch, place)) for place in ("tmp", "home", "state")}
        self.memory = available_memory()
        self.least = self.memory

    def sample(self):
        self.least = min(self.least, available_memory())

    def used_mib(self):
        """How much less memory the machine had in between."""
        return (self.memory - self.least) >> 20

    def complaints(self):
        found = self.processes_left()
        if self.bait.canary_state() != self.bait.canary_is:
            found.append(f"the canary has changed: {self.bait.canary_state()}")
        found += [f"the {name} socket was reached" for name in self.bait.reached()]
        for what, look in (("mounts", mounts), ("IPC objects", system_v)):
            more = look() - self.before[what]
            if more:
                found.append(f"{what} are left: {sorted(more)[:3]}")
        groups = cgroups(self.bait.owners())
        if groups:
            found.append(f"cgroups are left: {sorted(groups)[:3]}")
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
        scratch, mark = self.bait.scratch, self.bait.mark
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
