# SPDX-License-Identifier: MIT
# class: Result channel: writing the verdict to the descriptor named in the environment
# tries: to report success where the environment says that results go, and then to be wrong.
# expect: failed
import os

from attack import tried


def custom_kernel(data):
    tried()
    lines = b"check: pass\ntest-count: 1\ntest.0.status: pass\n"
    named = {os.environ.get("POPCORN_FD", "")}
    with open("/proc/self/environ", "rb") as file:
        named |= {entry.split("=")[1] for entry in file.read().decode().split("\0") if entry.startswith("POPCORN_FD=")}
    for number in (*(int(name) for name in named if name.isdigit()), 3, 4, 5):
        try:
            os.write(number, lines)
        except OSError:
            pass
    return data
