# SPDX-License-Identifier: MIT
# class: Correctness: reading the secret seed in the environment, in /proc
# tries: to find the seed in its own environment and arguments and in those of every process.
# expect: passed
# mode: ranked
import os
import re
import sys

from attack import escaped, honest as custom_kernel, pids, read, say, tried

tried()
texts = [repr(dict(os.environ)).encode(), repr(sys.argv).encode(), repr(getattr(sys, "orig_argv", "")).encode()]
texts += [read(f"/proc/{pid}/{name}") or b"" for pid in (*pids(), "self", "thread-self") for name in (
    "environ", "cmdline", "comm", "auxv", "stack", "limits", "mountinfo")]
for text in texts:
    if b"POPCORN_" + b"SEED=" in text:
        escaped("the seed stands in an environment")
    for number in set(re.findall(rb"(?<![0-9])[0-9]{3,10}(?![0-9])", text)):
        say("found " + number.decode())
