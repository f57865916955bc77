# SPDX-License-Identifier: MIT
"""The solver of Python boards: the process that has the submission. eval.py, the referee, tells it what to do.

It imports task and submission, and calls custom_kernel. It knows neither the secret nor the cases, and has no result
channel: all that it can do is answer. Where there is no GPU, the referee judges by itself: it has this process serve
calls by memory and pipes (exchange.py). On GPUs this process judges, with the functions of eval.py: there it
makes the inputs, checks and times, one case at a time, and the referee believes no answer that is not plausible.

Requests and answers are lines of text, their fields apart by tabs, on the socket that KETTLE_PEER_FD names:

  token  calls              with the ends of two pipes: serve calls by them
  token  mode  counts  case  seed  key      judge: `test`, `profile`, or a mode with times; how often to call (of a
                                            test; to warm up, at least, at most); the case, its seed, its calls' key
  token  ready          calls are served
  token  gpu            they are not, as torch has found one
  token  pass  names    the outputs of a test are right; which libraries of WATCHED are loaded
  token  times  …       what `measure` returns
  token  report  text   of a profile
  token  fail  reason   an output was wrong, or custom_kernel raised
  token  import         the submission cannot be imported; why is on standard error
  token  task  reason   the task is at fault, says the solver; the referee tries that by itself
  token  device         torch finds no device, says the solver; the same

An empty line ends it.
"""
import gc
import os
import sys
from binascii import b2a_base64
from time import time_ns

import eval as judge
import exchange
import utils
from exchange import only_one_process
from utils import WATCHED, BadCase, described, flush_streams, on_one_line, take_number, write_all

MAX_REPORT = 1 << 16  # characters of a profile
MAX_PIPES = 64  # bytes of rights that come with a request
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out", "cache")  # where compilers keep what they make


def raised(error):
    """What is said of an error of the submission; the rest is on standard error."""
    judge.print_traceback(error)
    return f"custom_kernel raised {described(error)}"


def compiled_since(then):
    """How many files compilers have left since that time, as the clock of files has it."""
    count = 0
    for folder, below, files in os.walk(CACHE):
        below[:] = [name for name in below if name != "locks"]
        for file in files:
            try:
                count += os.lstat(os.path.join(folder, file)).st_ctime_ns > then
            except OSError:
                pass
    return count


class Facts:
    """What `facts` tells: libraries that are loaded, and how many files compilers have left since it last told."""

    def __init__(self):
        self._then = time_ns()

    def text(self):
        names, count = " ".join(name for name in WATCHED if name in sys.modules), compiled_since(self._then)
        self._then = time_ns()
        return f"{names}\t{count}"


def report_of(kernel, data):
    """A profile, in letters that a line may hold."""
    torch = sys.modules.get("torch")
    if os.environ.get("KETTLE_PROFILER") or os.environ.get("POPCORN_NCU"):
        text = utils.ranged_call(torch, sys.modules.get("cupy"), kernel, data)
    else:
        text = utils.torch_profile(torch, kernel, data) if torch else utils.python_profile(kernel, data)
    return b2a_base64(text[:MAX_REPORT].encode(), newline=False).decode().replace("/", "*")


class Local:
    """custom_kernel in this process, for a Judge in it."""
    quiet, apart = True, False

    def __init__(self, kernel, clock, pid):
        self._kernel, self._clock, self._pid, self._facts = kernel, clock, pid, Facts()

    def places_of(self, _):
        return ()

    def load(self, data):
        """Returns what the output is to be checked against."""
        self._data = data
        return utils.copied(data)

    def timed(self, _):
        """ns of the call, and a copy of its output."""
        try:
            ns, output = self._clock.timed(self._kernel, self._data)
            return ns, utils.copied(output, strict=True)  # at once: what is written later does not count
        finally:
            self._data = None
            only_one_process(self._pid)

    def facts(self):
        return self._facts.text().split("\t")

    def profile(self):
        try:
            return report_of(self._kernel, self._data)
        except Exception as error:
            raise exchange.Raised(raised(error)) from None


# ---- Requests ----

class Worker:
    """Task and submission, imported by load (as judge.load_task); and what answers."""

    def __init__(self, load):
        self._pid, self._problem = os.getpid(), None
        gc.disable()  # an import makes garbage by the thousand, none of it worth looking for
        parts = load()
        try:
            task = next(parts)
            self._problem = ("import",)
            self.kernel, clock = next(parts), utils.clock()
            self._serves = isinstance(clock, utils.Cpu)
            self._judge = judge.Judge(task, clock, Local(self.kernel, clock, self._pid))
            self._problem = ("device",) if utils.lacks_device() else None
        except BaseException as error:
            judge.print_traceback(error)
            self._problem = self._problem or ("task", f"the task cannot be imported: {described(error)}")
        only_one_process(self._pid)
        gc.freeze()
        gc.enable()

    def answer(self, *request):
        """The fields of the answer to a request."""
        if self._problem:
            return self._problem
        try:
            return self._judge.answer(*request) if len(request) > 1 else ("ready" if self._serves else "gpu",)
        except BadCase as error:
            return "task", on_one_line(str(error))


def received(peer):
    """The fields of a request, and the descriptors that came with it; no fields at the end."""
    request, pipes = b"", b""
    while not request.endswith(b"\n"):
        more, extra, _, _ = peer.recvmsg(1 << 16, MAX_PIPES)
        if not more:
            return [""], ()
        request += more
        pipes += b"".join(data for _, _, data in extra)
    return request.decode()[:-1].split("\t"), memoryview(pipes).cast("i")


def serve_calls(memory, kernel, pipes):
    memory.share_heap()
    facts = Facts()
    exchange.Driver(memory, pipes, kernel, raised, report_of, facts.text).serve()


def serve(fd, load):
    """Answers requests until an empty one comes, or the referee ends."""
    import _socket
    memory = take_number("KETTLE_SHM_FD")
    worker, peer = Worker(load), _socket.socket(fileno=fd)
    while True:
        (token, *fields), pipes = received(peer)
        if not fields:
            return
        answer = worker.answer(*fields)
        flush_streams()
        write_all(fd, "\t".join((token, *answer)) + "\n")
        if answer == ("ready",) and len(pipes) == 2:
            serve_calls(exchange.Memory(memory), worker.kernel, pipes)
            return


def main(load=judge.load_task):
    """Runs the solver and ends the process. load: as of Worker."""
    judge.stderr_fd, status = os.dup(2), 0
    peer = take_number("KETTLE_PEER_FD")
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    try:
        os.set_inheritable(peer, False)
        utils.keep_memory()
        serve(peer, load)
    except BaseException as error:
        judge.print_traceback(error)
        status = 1
    flush_streams()
    os._exit(status)


if __name__ == "__main__":
    main()
