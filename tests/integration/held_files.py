# SPDX-License-Identifier: MIT
"""A file system of a test, by the kernel's FUSE protocol, whose files hold up the processes that use them until the test lets them go:

- `end`: a process that has it open at its end stays in the kernel's exit path, as with a slow driver;
- any other file: a read of it waits."""
import ctypes
import os
import struct
import threading

LOOKUP, FORGET, GETATTR, OPEN, READ, STATFS, RELEASE, FLUSH, INIT, OPENDIR, RELEASEDIR, INTERRUPT, BATCH_FORGET = 1, 2, 3, 14, 15, 17, 18, 25, 26, 27, 29, 36, 42
ENOSYS = 38
ROOT = 1
MNT_DETACH = 2


def attributes(node):
    mode = 0o40755 if node == ROOT else 0o100644
    return struct.pack("<QQQQQQIIIIIIIIII", node, 4096, 8, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)


def is_exiting(pid):
    try:
        with open("/proc/%d/stat" % pid) as file:
            return int(file.read().rpartition(")")[2].split()[6]) & 4 != 0
    except OSError:
        return False


class HeldFiles:
    """Mounted at a folder. `held` is called by the thread that serves it."""

    def __init__(self, folder):
        self.folder = folder
        os.makedirs(folder)
        try:
            self.device = os.open("/dev/fuse", os.O_RDWR)
        except OSError as error:
            raise RuntimeError("no FUSE here: /dev/fuse cannot be opened: " + error.strerror) from error
        self.libc = ctypes.CDLL(None, use_errno=True)
        options = "fd=%d,rootmode=40000,user_id=0,group_id=0,allow_other" % self.device
        if self.libc.mount(b"held", folder.encode(), b"fuse.held", 6, options.encode()) != 0:
            error = ctypes.get_errno()
            os.close(self.device)
            raise RuntimeError("no FUSE here: it cannot be mounted: " + os.strerror(error))
        self.names = {}
        self.waiting = {}  # name → requests that wait
        self.open = set()  # names that hold no more
        self.count = {}  # name → how often it was held
        self.changed = threading.Condition()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def path(self, name):
        return os.path.join(self.folder, name)

    def await_held(self, name, count=1, patience=300):
        """Waits until so many processes were held by the file."""
        with self.changed:
            assert self.changed.wait_for(lambda: self.count.get(name, 0) >= count, patience), "nothing was held by %s" % name

    def release_once(self, name):
        """Lets those go that wait now."""
        with self.changed:
            for unique in self.waiting.pop(name, []):
                self.answer(unique)

    def release(self, name):
        with self.changed:
            self.open.add(name)
        self.release_once(name)

    def close(self):
        for name in list(self.names.values()):
            self.release(name)
        self.libc.umount2(self.folder.encode(), MNT_DETACH)

    def answer(self, unique, data=b"", error=0):
        try:
            os.write(self.device, struct.pack("<IiQ", 16 + len(data), -error, unique) + data)
        except OSError:
            pass  # the process was killed meanwhile

    def hold(self, name, unique):
        with self.changed:
            if name in self.open:
                self.answer(unique)
                return
            self.waiting.setdefault(name, []).append(unique)
            self.count[name] = self.count.get(name, 0) + 1
            self.changed.notify_all()

    def serve(self):
        while True:
            try:
                request = os.read(self.device, 1 << 18)
            except OSError:
                break
            _, opcode, unique, node, _, _, pid = struct.unpack_from("<IIQQIII", request)
            self.take(opcode, unique, node, pid, request[40:])
        with self.changed:
            os.close(self.device)
            self.device = -1

    def take(self, opcode, unique, node, pid, body):
        name = self.names.get(node)
        if opcode == INIT:
            self.answer(unique, struct.pack("<IIIIHHIIHHI7I", 7, 31, 4096, 0, 8, 8, 4096, 1, 1, 0, 0, *[0] * 7))
        elif opcode == LOOKUP:
            name = body.rstrip(b"\0").decode()
            node = next((known for known, other in self.names.items() if other == name), len(self.names) + 2)
            self.names[node] = name
            self.answer(unique, struct.pack("<QQQQII", node, 0, 60, 60, 0, 0) + attributes(node))
        elif opcode == GETATTR:
            self.answer(unique, struct.pack("<QII", 60, 0, 0) + attributes(node))
        elif opcode in (OPEN, OPENDIR):
            self.answer(unique, struct.pack("<QII", 0, 1, 0))  # 1: its reads come here
        elif opcode == STATFS:
            self.answer(unique, struct.pack("<QQQQQIIII6I", 1, 1, 1, 1, 1, 4096, 255, 4096, 0, *[0] * 6))
        elif (opcode == FLUSH and name == "end" and is_exiting(pid)) or (opcode == READ and name != "end"):
            self.hold(name, unique)
        elif opcode in (READ, RELEASE, RELEASEDIR, FLUSH):
            self.answer(unique)
        elif opcode not in (FORGET, BATCH_FORGET, INTERRUPT):
            self.answer(unique, error=ENOSYS)
