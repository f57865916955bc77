# SPDX-License-Identifier: MIT
# class: Correctness: reading the secret seed in the environment, in /proc (a KernelBot-compatible harness)
# tries: in a worker of a spawn pool, to find seed and channel in everything that it inherits or can look into.
# expect: passed
# mode: ranked
# task: field
import gc
import os
import re

from attack import calls, escaped, honest, pids, read, say, tried


def look():
    parent = os.getppid()
    for name in ("environ", "mem", "maps", "fd", "auxv", "pagemap"):
        path = f"/proc/{parent}/{name}"
        try:
            if os.listdir(path) if name == "fd" else open(path, "rb", buffering=0).read(1) or name == "mem":
                escaped(f"{name} of the harness can be read")
        except OSError:
            pass
    texts = [read(f"/proc/{pid}/{name}") or b"" for pid in pids() for name in ("environ", "cmdline")]
    texts += [repr(dict(os.environ)).encode()]
    texts += [f"{key}={value}".encode() for one in gc.get_objects() if type(one) is dict for key, value in list(one.items())
              if type(key) is str and type(value) in (str, int, bytes)]
    text = b"\n".join(texts)
    if b"POPCORN_" + b"SEED=" in text:
        escaped("the seed stands in an environment")
    say("found " + repr(sorted(set(re.findall(rb"(?<![0-9])[1-9][0-9]{5,9}(?![0-9])", text)))[:3000]))
    libc = calls()
    pidfd = libc.syscall(434, parent, 0)
    for fd in range(16):
        if libc.syscall(438, pidfd, fd, 0) >= 0:
            escaped(f"descriptor {fd} of the harness can be taken")


def custom_kernel(data):
    tried()
    look()
    return honest(data[0])
