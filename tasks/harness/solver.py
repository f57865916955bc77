# SPDX-License-Identifier: MIT
"""The solver of Python boards: the process that has the submission. eval.py, the referee, sends it one case at a time.

It imports task and submission, makes the inputs, calls custom_kernel, checks and times. It knows neither the secret nor
the other cases, and has no result channel: all that it can do is answer, and the referee believes no answer that is not
plausible. Requests and answers are lines of text, their fields apart by tabs, on the socket that KETTLE_PEER_FD names:

  token  mode  counts  case  seed  key      what to do: `test`, `profile`, or a mode with times; how often to call (of a
                                            test; to warm up, at least, at most); the case, its seed, and the key of its calls
  token  pass  names    the outputs of a test are right; which libraries of WATCHED are loaded
  token  times  …       what `measure` returns
  token  report  text   of a profile
  token  fail  reason   an output was wrong, or custom_kernel raised
  token  import         the submission cannot be imported; why is on standard error
  token  task  reason   the task is at fault, says the solver; the referee tries that by itself
  token  device         torch finds no device, says the solver; the same

An empty line ends it.

How a time is made to repeat. What else a machine does slows calls down, by tens of percent and for milliseconds to
minutes. So right before each timed call, when the cache has been flushed, fixed pieces of work are timed, the
calibrators, as often in a row as the call takes long, in random order: on a processor checksums out of the first cache
(`sums`), writing to memory that is in no cache (`sweep`) and, where numpy is loaded, products of small matrices
(`tile`); and two of them together, one that computes and `sweep`, are one more (`both`). Each call gives pairs, its
time and a calibrator's; what the scheduler took the core away from is left out as long as a fifth of all remains. `both` is
taken, always: it suffers from what the submission suffers from, and which one is taken must not depend on the submission.

Similar work is slowed down in a similar way. So a task may bring a calibrator of its own, a function of
custom_kernel's form, built like a good submission. It works on another input of the same case, before or after the call at
random, and which input is made first is random too. It is taken, always, where its time on the quiet device is known (its
name holds `-own-` and a hash of the case), and measured beside the others where it is not.
"""
import gc
import os
import sys
from _blake2 import blake2b
from binascii import b2a_base64, crc32
from time import perf_counter_ns as now_ns, time_ns

import utils
from utils import OWN, WATCHED, BadCase, at_call, estimate, flush_streams, in_order, on_one_line, parse_case
from utils import print_exception, reason_of, references_of, take_number, write_all

# Limits, in seconds for each benchmark line, everything but warming up included. A task's reference.py may set its own.
BENCHMARK_SECONDS, RANKED_SECONDS = 2.0, 6.0

NARROW = 0.001  # half of the interval, of the mean: enough
MAX_TIMES = 8  # the calibrators in a row, at most
MAX_SHIFT, PAGE = 256, 4096  # pages by which addresses differ from call to call
MAX_REPORT = 1 << 16  # characters of a profile
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out", "cache")  # where compilers keep what they make
stderr_fd = 2  # of tracebacks; in the solver a descriptor that the submission does not know


def seed_of(seed, n, key=""):
    """The seed of the n-th call of a case, of 31 bits as every generator takes them: with a key a hash under it, so that
    no input tells of another one; else the case's own, then others that follow from it."""
    if key:
        return int.from_bytes(blake2b(b"%d %d" % (seed, n), key=bytes.fromhex(key), digest_size=8).digest(), "little") >> 33
    if n == 0:
        return seed
    mask = (1 << 64) - 1
    z = (seed + n * 0x632be59bd9b4e019) & mask
    z = ((z ^ (z >> 30)) * 0xbf58476d1ce4e5b9) & mask
    z = ((z ^ (z >> 27)) * 0x94d049bb133111eb) & mask
    return (z ^ (z >> 31)) >> 33


# ---- Task and submission ----

def described(error):
    return on_one_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def print_traceback(error):
    """On standard error, without the frames of the harness; its last line names the error."""
    trace = error.__traceback__
    while trace and trace.tb_frame.f_code.co_filename in (__file__, sys.argv[0]):
        trace = trace.tb_next
    own = None if isinstance(error, (ImportError, SyntaxError)) else error.__traceback__
    print_exception(stderr_fd, error, trace or own)


class Task:
    """What everything is done with: generate(case), kernel(data), check(data, output), and calibrator(data) or
    None. seconds: of a benchmark line, by mode."""

    def __init__(self, generate, kernel, check, reference):
        self.generate, self.kernel, self.check = generate, kernel, check
        self.calibrator = getattr(reference, "calibrator", None)
        self.seconds = {"benchmark": getattr(reference, "BENCHMARK_SECONDS", BENCHMARK_SECONDS),
                        "leaderboard": getattr(reference, "RANKED_SECONDS", RANKED_SECONDS)}


def load_task():
    """Imports task and submission, the task first: what it takes from other modules then is not the submission's, and
    what fails before the first `yield` is not the submission's fault."""
    import reference
    from reference import check_implementation, generate_input
    yield
    from submission import custom_kernel
    yield Task(lambda case: generate_input(**case), custom_kernel, check_implementation, reference)


def verdict_of(result):
    """'' if the check says that the output is right, else a sentence for the participant."""
    if isinstance(result, str):
        return reason_of(result)
    right, reason = result if type(result) is tuple and len(result) == 2 else (result, "")
    if right is True:
        return ""
    if right is False:
        return reason_of(str(reason)) or "the output is not correct"
    raise BadCase(f"check_implementation returned {on_one_line(repr(result)[:200])}; it must return '', True or "
                  "(True, _), or else a sentence, False or (False, sentence)")


# ---- Calls ----

class Call:
    """The result of a call. beats: of the calibrators; disturbed: the scheduler took the core away; own_failed: it was the
    task's own calibrator that failed."""
    ns, beats, disturbed, own_failed, error = 0, (), False, False, ""


class Case:
    """A case: its values, and what one call of it is."""

    def __init__(self, task, clock, pid, line, seed, key):
        self.task, self.clock, self.pid, self.values = task, clock, pid, parse_case(line)
        own = (f"{clock.calibrators[0].rpartition('-')[0]}{OWN}{crc32(line.encode()):08x}",) if task.calibrator else ()
        self.calibrators = (*clock.calibrators, *own)
        self.seed, self.key = int(seed) if "seed" in self.values else None, key

    def input(self, n):
        values = dict(self.values)
        if self.seed is not None:
            values["seed"] = seed_of(self.seed, n, self.key)
        try:
            return self.task.generate(values)
        except Exception as error:
            print_traceback(error)
            raise BadCase(f"generate_input raised {described(error)}") from None

    def in_any_order(self, first, second):
        """Two inputs, made in random order, so that which memory each gets is random."""
        if by_chance():
            return self.input(first), self.input(second)
        return tuple(reversed((self.input(second), self.input(first))))

    def call(self, n, times=0):
        """The whole of the n-th call: inputs, the calibrators (so often in a row; 0: not), the call, copy, check."""
        shift = bytes(PAGE * (int.from_bytes(os.urandom(2), "little") % MAX_SHIFT))  # what comes next lies further on
        others = None
        if times and self.task.calibrator:
            # Another input: its output stays in memory, and must be right for no call.
            data, others = self.in_any_order(n, -1 - n)
        else:
            data = self.input(n)
        kept = utils.copied(data)
        call = Call()
        try:
            output = self.timed(call, data, others, times)
        except BaseException as error:
            print_traceback(error)
            if call.own_failed and isinstance(error, Exception):  # a library without threads sends itself SIGINT
                raise BadCase(f"the task's calibrator raised {described(error)}") from None
            call.error = f"custom_kernel raised {described(error)}"
            return call
        del shift
        call.error = self.judged(kept, output)
        return call

    def timed(self, call, data, others, times):
        """A copy of the call's output. others: what the task's own calibrator works on; None: it does not."""
        gc.disable()
        try:
            before, own, own_first = 0, (), by_chance()
            if times:
                self.clock.prepare()
                before = times_interrupted()
                call.beats = self.clock.calibrate(times)
            if others is not None and own_first:
                own = self.own(call, others)
            call.ns, output = self.clock.timed(self.task.kernel, data)
            output = utils.copied(output, strict=True)  # at once: what is written later does not count
            if others is not None and not own_first:
                own = self.own(call, others)
            call.beats = (*call.beats, *own)
            call.disturbed = times and times_interrupted() != before
            return output
        finally:
            gc.enable()
            only_one_process(self.pid)

    def own(self, call, data):
        """What the task's own calibrator takes, in ns."""
        call.own_failed = True
        took = max(1, self.clock.timed(self.task.calibrator, data)[0])
        call.own_failed = False
        return (took,)

    def judged(self, kept, output):
        try:
            result = self.task.check(kept, output)
        except Exception as error:
            print_traceback(error)
            return f"check_implementation raised {described(error)}"
        return verdict_of(result)


def by_chance():
    return bool(os.urandom(1)[0] & 1)


def times_interrupted():
    """How often a core was taken from the process so far."""
    from resource import RUSAGE_SELF, getrusage
    return getrusage(RUSAGE_SELF).ru_nivcsw


def only_one_process(pid):
    """A submission that forks and returns in both processes would let the child answer too."""
    if os.getpid() != pid:
        os._exit(1)


def run_calls(case, count):
    """The fields of an answer: whether that many calls were right, or what was wrong."""
    for n in range(count):
        error = case.call(n).error
        if error:
            return "fail", at_call(error, n)
    return "pass", " ".join(name for name in WATCHED if name in sys.modules)


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


def measure(case, warmup, least, most, seconds):
    """The fields of an answer: the times of the calls and of the calibrators beside them, and how much was compiled
    meanwhile, or what was wrong."""
    calls, names, times, start, look, then = [], case.calibrators, 1, 0, least, time_ns()
    references = references_of(os.environ.get("KETTLE_CALIBRATION", ""))
    for n in range(warmup + most):
        call = case.call(n, times)
        if call.error:
            return "fail", at_call(call.error, n, ", with fresh inputs")
        if n < warmup:
            if not case.task.calibrator:
                times = max(1, min(MAX_TIMES, call.ns // sum(call.beats)))
            start, then = now_ns(), time_ns()
            continue
        calls.append(call)
        if len(calls) < least or (now_ns() - start < seconds * 1e9 and len(calls) < look):
            continue
        fields = [[call.ns for call in calls], *map(list, zip(*(call.beats for call in calls)))]
        beats = in_order(dict(zip(names, fields[1:])), references)
        keys = estimate(fields[0], beats, [call.disturbed for call in calls], {})
        if now_ns() - start >= seconds * 1e9 or keys["high"] - keys["low"] < 2 * NARROW * keys["mean"]:
            break
        look = len(calls) * 9 // 8 + 1  # looking costs the more, the more there are
    samples, *beats = [",".join(map(str, field)) for field in fields]
    compiled = str(compiled_since(then))
    return "times", " ".join(names), samples, "".join(str(int(bool(call.disturbed))) for call in calls), *beats, compiled


def profile(case):
    """The fields of an answer: a report on a warm call, in letters that a line may hold, or what was wrong."""
    error = case.call(0).error
    if error:
        return "fail", error
    data = case.input(0)
    case.clock.prepare()
    kernel, torch = case.task.kernel, sys.modules.get("torch")
    try:
        if os.environ.get("KETTLE_PROFILER") or os.environ.get("POPCORN_NCU"):
            text = utils.ranged_call(torch, sys.modules.get("cupy"), kernel, data)
        else:
            text = utils.torch_profile(torch, kernel, data) if torch else utils.python_profile(kernel, data)
    except Exception as failure:
        print_traceback(failure)
        return "fail", f"custom_kernel raised {described(failure)}"
    return "report", b2a_base64(text[:MAX_REPORT].encode(), newline=False).decode().replace("/", "*")


# ---- Requests ----

class Worker:
    """Task and submission, imported by load, which yields after each, the second time the Task; and what answers."""

    def __init__(self, load):
        self._pid, self._problem = os.getpid(), None
        gc.disable()  # an import makes garbage by the thousand, none of it worth looking for
        parts = load()
        try:
            next(parts)
            self._problem = ("import",)
            self._task, self._clock = next(parts), utils.clock()
            self._problem = ("device",) if utils.lacks_device() else None
        except BaseException as error:
            print_traceback(error)
            self._problem = self._problem or ("task", f"the task cannot be imported: {described(error)}")
        only_one_process(self._pid)
        gc.freeze()
        gc.enable()

    def answer(self, mode, counts, line, seed, key):
        """The fields of the answer to a request."""
        if self._problem:
            return self._problem
        counts = list(map(int, counts.split(",")))
        try:
            case = Case(self._task, self._clock, self._pid, line, seed, key)
            if mode == "test":
                return run_calls(case, *counts)
            return profile(case) if mode == "profile" else measure(case, *counts, self._task.seconds[mode])
        except BadCase as error:
            return "task", on_one_line(str(error))


def serve(peer, load):
    """Answers requests until an empty one comes, or the referee ends."""
    worker = Worker(load)
    while True:
        request = b""
        while not request.endswith(b"\n"):
            more = os.read(peer, 1 << 16)
            if not more:
                return
            request += more
        token, *fields = request.decode()[:-1].split("\t")
        if not fields:
            return
        answer = worker.answer(*fields)
        flush_streams()
        write_all(peer, "\t".join((token, *answer)) + "\n")


def main(load=load_task):
    """Runs the solver and ends the process. load: as of Worker."""
    global stderr_fd
    stderr_fd, status = os.dup(2), 0
    peer = take_number("KETTLE_PEER_FD")
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    try:
        os.set_inheritable(peer, False)
        utils.keep_memory()
        serve(peer, load)
    except BaseException as error:
        print_traceback(error)
        status = 1
    flush_streams()
    os._exit(status)


if __name__ == "__main__":
    main()
