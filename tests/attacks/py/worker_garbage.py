# SPDX-License-Identifier: MIT
# class: Result channel: replacing or filtering file descriptors of the parent
# tries: to answer the harness in its own socket with what no worker says: another one each time.
# expect: failed
# variants: WHAT=0 WHAT=1 WHAT=2 WHAT=3 WHAT=4 WHAT=5 WHAT=6 WHAT=7
import os

from attack import tried

SAYS = (
    b"\0" * 1000 + b"\n",
    b"[" * 100000 + b"]" * 100000 + b"\n",
    b'{"check": "pass", "padding": "' + b"x" * 2000000 + b'"}\n',
    b"\xff\xfe\xc0\x80\tpass\n",
    b"0123456789abcdef\tpass\n",
    b"\tpass\n" * 1000,
    b"\n",
    b"0123456789abcdef\ttask\tthis task is broken\n",
)


def custom_kernel(data):
    tried()
    for name in os.listdir("/proc/self/fd"):
        fd, text = int(name), SAYS[@WHAT@]
        try:
            while fd > 2 and text:
                text = text[os.write(fd, text):]
        except OSError:
            pass
    return data
