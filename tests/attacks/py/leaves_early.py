# SPDX-License-Identifier: MIT
# class: Result channel: leaving early with status 0 or from an exit handler
# tries: to end the process, or the harness, in a way of its own, another one each time.
# expect: failed
# variants: WAY=0 WAY=1 WAY=2 WAY=3 WAY=4 WAY=5 WAY=6 WAY=7 WAY=8
import atexit
import os
import signal
import sys

from attack import tried


def custom_kernel(data):
    tried()
    way = @WAY@
    if way == 0:
        os._exit(0)
    if way == 1:
        sys.exit(0)
    if way == 2:
        raise KeyboardInterrupt
    if way == 3:
        raise GeneratorExit("check: pass")
    if way == 4:
        atexit.register(os._exit, 0)
        signal.raise_signal(signal.SIGTERM)
    if way == 5:
        os.execv("/bin/true", ["true"])
    if way == 6:
        sys.excepthook = lambda *_: os._exit(0)
        raise BaseException("check: pass")
    if way == 7:
        os.execv(sys.executable, [sys.executable, "eval.py", "test", "cases.txt"])
    atexit.register(os._exit, 0)
    sys.exit()
