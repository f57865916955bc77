# SPDX-License-Identifier: MIT
"""Starts a fake server of tests/peers any number of times, as copies of this process, which has imported it.

    fake_keeper.py FOLDER

`start LOG` answers with the line that the fake prints, or an empty one if it did not start; LOG: a file for its stderr, or nothing.
`end PID` ends one, and answers once it has ended. All end when the input does, since a fake ends with its parent."""
import gc
import os
import signal
import sys
import traceback

from polling import BUSY

sys.path.insert(0, sys.argv.pop(1))
import fake  # noqa: E402


def run(output, log):
    """The copy: goes on as if the fake's own program had been started."""
    status = 1
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(output, 1)
        if log:
            os.dup2(os.open(log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o666), 2)
        status = fake.main() or 0
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status)


def start(log):
    mine, its = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(mine)
        run(its, log)
    os.close(its)
    with open(mine) as output:
        line = output.readline().rstrip("\n")
    if not line:
        os.waitpid(pid, 0)
    return line


def end(pid):
    """A fake may have children to end first; one that hangs is killed."""
    signal.signal(signal.SIGALRM, lambda *_: os.kill(pid, signal.SIGKILL))
    signal.alarm(int(20 * BUSY))
    os.kill(pid, signal.SIGTERM)
    os.waitpid(pid, 0)
    signal.alarm(0)
    return ""


gc.freeze()
while words := sys.stdin.readline().rstrip("\n").split(" ", 1):
    if words[0] not in ("start", "end"):
        break
    print(start(words[1]) if words[0] == "start" else end(int(words[1])), flush=True)
