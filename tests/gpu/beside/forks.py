# SPDX-License-Identifier: MIT
"""Imports torch, opens no GPU, and forks a process for each pair of descriptors that comes by its socket; each of these
carries out commands as program.cu does, with torch.

    forks.py SOCKET DEVICE MODULE..."""
import glob
import importlib
import os
import signal
import socket
import sys
import time

SIZE = 1 << 20


class Steps:
    """The commands; each returns a line or more to say, or nothing."""

    def __init__(self, device):
        self.torch, self.device, self.held = sys.modules["torch"], device, []

    def wait(self):
        if self.device == "cuda":
            self.torch.cuda.synchronize()

    def added(self, out):
        """Whether a vectoradd's outcome is right, once it is there."""
        self.wait()
        if out[-1].item() != 2:
            raise ValueError("the sum is wrong")

    def init(self, _):
        if self.device == "cuda":
            self.torch.cuda.init()

    def context(self, _):
        self.torch.empty(1, device=self.device)

    def small(self, _):
        (self.torch.ones(8, device=self.device) + 1).sum().item()

    def run(self, _):
        ones = self.torch.ones(SIZE, device=self.device)
        self.added(ones + ones)

    def hold(self, mebibytes):
        self.held.append(self.torch.ones(int(mebibytes) << 20, dtype=self.torch.uint8, device=self.device))
        self.wait()

    def memory(self, _):
        if self.device == "cuda":
            return "free %d %d" % (time.monotonic_ns(), self.torch.cuda.mem_get_info()[0])

    def caches(self, folder):
        for name, key in (("triton", "TRITON_CACHE_DIR"), ("inductor", "TORCHINDUCTOR_CACHE_DIR")):
            os.environ[key] = os.path.join(folder, name)

    def triton(self, _):
        import triton_add
        self.added(triton_add.run(self.torch, self.device))

    def again(self, _):
        self.triton(_)

    def compile(self, _):
        def add(a, b):
            return a + b
        ones = self.torch.ones(SIZE, device=self.device)
        self.added(self.torch.compile(add)(ones, ones))

    def alone(self, _):
        """Compiles in this process, without workers."""
        import torch._inductor.config
        torch._inductor.config.compile_threads = 1

    def save(self, path):
        artifacts = self.torch.compiler.save_cache_artifacts()
        with open(path, "wb") as file:
            file.write(artifacts[0] if artifacts else b"")
        return "size %d %d" % (time.monotonic_ns(), os.path.getsize(path))

    def load(self, path):
        with open(path, "rb") as file:
            self.torch.compiler.load_cache_artifacts(file.read())


def serve(steps):
    """Commands until the end of the input. Returns whether the process is to end at once."""
    say("main %d %d" % (time.monotonic_ns(), time.monotonic_ns()))
    with open(0, "rb", buffering=0, closefd=False) as commands:
        for line in commands:
            word, _, value = line.decode().strip().partition(" ")
            began, trouble = time.monotonic_ns(), ""
            if word in ("exit", "_exit"):
                say("%s %d %d" % (word, began, began))
                return word == "_exit"
            try:
                said = getattr(steps, word)(value)
                if said:
                    say(said)
            except Exception as error:
                trouble = " %s: %s" % (type(error).__name__, " ".join(str(error).split())[:600] or "it says no more")
            say("%s %d %d%s" % (word, began, time.monotonic_ns(), trouble))
    return False


def say(line):
    os.write(1, line.encode() + b"\n")


def opened():
    """The nodes of GPUs that this process holds open."""
    links = []
    for path in glob.glob("/proc/self/fd/*"):
        try:
            links.append(os.readlink(path))
        except OSError:
            pass
    return sorted({link for link in links if link.startswith(("/dev/nvidia", "/dev/kfd", "/dev/dri"))})


def main():
    parent, device = socket.socket(fileno=int(sys.argv[1])), sys.argv[2]
    began = time.monotonic()
    for name in ["torch"] + sys.argv[3:]:
        importlib.import_module(name)
    parent.send(("%.2f %s" % (time.monotonic() - began, " ".join(opened()))).encode())
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # they go by themselves
    while True:
        word, fds, _, _ = socket.recv_fds(parent, 1, 3)
        if not word:
            return
        pid = os.fork()
        if pid == 0:
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            parent.close()
            for number, fd in enumerate(fds):
                os.dup2(fd, number)
                os.close(fd)
            if serve(Steps(device)):
                os._exit(0)
            return
        for fd in fds:
            os.close(fd)
        parent.send(b"%d" % pid)


main()
