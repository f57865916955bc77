# SPDX-License-Identifier: MIT
# kettle-reports: complete
"""The harness of Python boards: started as `python3 eval.py <mode> <cases file>`, it checks and times the submission.

For authors. A task brings three things besides this file and utils.py (tasks/matmul_np is an example):

  task.py       what submission and reference share: input_t, output_t, and TestSpec, which names a case's keys
  reference.py  generate_input(**case)           one input from the values of a case: from its seed and nothing else
                check_implementation(data, out)  '', True or (True, _) if out is right; a sentence for the participant,
                                                 False or (False, sentence) if not; all else is a mistake of the task
                and, if it likes, BENCHMARK_SECONDS, RANKED_SECONDS, calibrator(data) (see below)
  task.yml      config: {main: eval.py}, and the submission under the name submission.py

The submission defines custom_kernel(data). Values of a case arrive as Python (3.9 or later) has them: 7, True, [1, 2],
'word'.

What it does. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
until the time is known well enough or is over, but never before enough calls. Every call, also those that warm up, has
fresh inputs (where the case has a seed) and is checked, outside of the timed section, against a copy of the inputs that
was taken before; where times are taken it starts with a cold cache. A submission gains nothing from noticing the phase,
from keeping results, or from changing its input. profile: two calls per case and a report,
and torch's trace as out/trace.json.gz. Where there is a CUDA device, its events are the clock.

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

  ratio   the median of the ratios call/calibrator
  mean    ratio × the calibrator's time on the quiet device, which KETTLE_CALIBRATION gives (NAME=NS NAME=NS …,
          measured by `kettle device calibrate`); without it, its median in this run
  low, high   the 95 % interval of that median: the ratios 0.98·√n places to either side of it, or 2.36 standard
              errors of the medians of eight parts of the time, whichever is wider; and, added in squares, what runs
              differ by that a run cannot see of itself, where KETTLE_CALIBRATION gives it (NAME=NS:PART)
  runs, raw-mean, std, err, best, worst   of the plain times of all calls
  calibrator, calibrator-ns   the one taken, and its median in this run; calibrated: whether its quiet time is known
  calibrators   NAME=NS of all, each the time that a tenth of its times is below: about that of a quiet machine
  ratios   NAME=RATIO of all
  imported   of a test: which libraries that take long to import were loaded at its end; what counts is the template's
  compiled   how many files compilers left while calls were timed, where they did: that is part of a time

Theory of operation. The process that is started (the parent) keeps result channel and seed and never imports anything
of task or submission. While it is still bare, and has not read the seed, it forks the worker, which imports both and
does everything with them. Requests and answers are lines of text in two pipes; the worker learns the seed of a case
when that case's turn comes. An answer carries the token of its request and is accepted only if it is plausible:
the right number of times, each positive, together no longer than the parent waited. A worker that ends, or writes more
than the answer, has failed. `check` is written last, by the parent.

What stays open in one process: custom_kernel shares its process with generate_input, the check and the clock. It can
find the frames of the harness, the copy of the inputs and this case's seed, replace the functions that judge and time
it, answer in the worker's place, leave work to a thread, return before its output is complete as long as it wins the
race with the copy of the output, and slow down the calibrators (a mean below half of the best call does not pass). It
cannot reach the result channel, nor look into the parent or send it signals: Kettle starts the parent so that no process of
its user may look into it, and where the kernel has Landlock the worker has a domain of its own. Where that matters, use a
harness with a referee and a solver.
"""
import gc
import os
import select
import sys
from _blake2 import blake2b
from binascii import b2a_base64, crc32
from time import perf_counter_ns as now_ns, time_ns

from utils import MAX_MESSAGE, MORE, OWN, adopt, at_call, end_children, estimate, flush_streams, in_order, on_one_line
from utils import print_exception, reason_of, references_of, score_of

# Limits, in seconds for each benchmark line, everything but warming up included. A task's reference.py may set its own.
BENCHMARK_SECONDS, RANKED_SECONDS = 2.0, 6.0

PASSED, IMPORT_FAILED, USAGE, NO_DEVICE, NO_CHANNEL, TEST_FAILED, BAD_CASE = 0, 1, 2, 110, 111, 112, 113
MODES = ("test", "benchmark", "leaderboard", "profile")

# With fewer calls a few equal times, by chance or forged, would end the measurement, and there would be no interval: of
# ten pairs it reaches from the second to the ninth.
BENCHMARK_MIN_CALLS, RANKED_MIN_CALLS, MAX_CALLS = 10, 30, 10000
WARMUP_CALLS = 3  # threads started, pages touched, clock frequency up
# How often the submission is called: inputs of a test, calls to warm up, least and most timed calls by mode.
SETTINGS = {"inputs": 1, "warmup": WARMUP_CALLS, "benchmark": (BENCHMARK_MIN_CALLS, MAX_CALLS),
            "leaderboard": (RANKED_MIN_CALLS, MAX_CALLS)}
SCRATCH_LEFT = 0.9  # of the space for temporary files: with less no process can show that the task is at fault
NARROW = 0.001  # half of the interval, of the mean: enough
MAX_TIMES = 8  # the calibrators in a row, at most
MAX_SHIFT, PAGE = 256, 4096  # pages by which addresses differ from call to call
# Whose import takes long, and that a warm interpreter may have ready; no text here names a part of torch, which would be a use.
WATCHED = ["torch." + part for part in ("_dynamo", "_inductor.compile_fx")] + "triton jax numba cupy helion cutlass".split()
MAX_ANSWER, MAX_REPORT = 1 << 20, 1 << 16  # bytes of an answer, characters of a profile
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out", "cache")  # where compilers keep what they make
WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
SIGNALS = {4: "illegal instruction", 6: "aborted", 7: "bus error", 8: "arithmetic error", 9: "killed",
           11: "invalid memory access", 15: "terminated", 31: "a system call that is forbidden"}
INTRUDED = "the submission wrote into the harness's own pipe, or closed it"
stderr_fd = 2  # of tracebacks; in the worker a descriptor that the submission does not know


class BadCase(Exception):
    """A case that makes no sense, or another mistake of the task: the harness ends with status 113."""


class Accusation(Exception):
    """The worker says that the task is at fault; but the submission shares its process."""


class NoDevice(Exception):
    """A process without the submission finds no device that can be used."""


class WorkerFailed(Exception):
    """The worker ended, or wrote something that is no answer: a sentence for the participant."""


class ImportFailed(Exception):
    """The submission could not be imported; the worker has printed why."""


# ---- Cases ----

def is_word(text):
    return text != "" and WORD.issuperset(text)


def parse_integer(text):
    digits = text[1:] if text[:1] in ("-", "+") else text
    if not (digits.isascii() and digits.isdigit()):
        raise BadCase(f"`{text}` is not a valid value: use an integer, True, False, [1, 2] or a word")
    return int(text)


def parse_value(text):
    """One value: an integer, True, False, a list of integers, or a word."""
    if text[:1] == "[" and text[-1:] == "]":
        inner = text[1:-1].strip()
        return [parse_integer(item.strip()) for item in inner.split(",")] if inner else []
    if text in ("True", "False"):
        return text == "True"
    return text if is_word(text) and not text.isdigit() else parse_integer(text)


def parse_case(line):
    """`key: value; key: value` as a dict. Raises BadCase, with a sentence, for a line that has not this form."""
    case = {}
    for pair in line.strip().removesuffix(";").split(";"):
        key, colon, value = (part.strip() for part in pair.partition(":"))
        if not colon:
            raise BadCase(f"`{pair.strip()}` in a case is not of the form `key: value`")
        if not is_word(key):
            raise BadCase(f"`{key}` is not a valid key: use letters, digits and _")
        if key in case:
            raise BadCase(f"`{key}` occurs twice in the case `{line.strip()}`")
        case[key] = parse_value(value)
    return case


def read_cases(path, secret):
    """The cases of a file as (line, seed, key); seed is None where the case has none, key "" where there is no secret:
    what the seeds of the case's calls are made with, of which no other case's can be made."""
    try:
        with open(path, encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip()]
    except (OSError, ValueError) as error:
        raise BadCase(f"cannot read the cases file {path}: {error}") from None
    cases = []
    for line in lines:
        seed = parse_case(line).get("seed")
        if seed is not None and type(seed) is not int:
            raise BadCase(f"`seed` must be an integer in the case `{line}`")
        cases.append((line, seed, blake2b(line.encode(), key=secret, digest_size=16).hexdigest() if secret else ""))
    if not cases:
        raise BadCase(f"there is no case in {path}")
    return cases


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


# ---- The parent: results ----

def write_all(fd, text):
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(fd, data):]


class Channel:
    """The result channel."""

    def __init__(self, fd):
        self.fd = fd

    def report(self, key, value, most=MAX_MESSAGE):
        text = f"{value:.9g}" if isinstance(value, float) else on_one_line(str(value), most)
        write_all(self.fd, f"{key}: {text}\n")


def scratch():
    """How many bytes and files the folders for temporary files take; nothing where one takes no file."""
    room = []
    for folder in (os.environ.get("TMPDIR", "/tmp"), os.environ.get("HOME", "/tmp"), "/dev/shm"):
        name = f"{folder}/.{os.urandom(8).hex()}"
        try:
            os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
            os.unlink(name)
            space = os.statvfs(folder)
        except OSError:
            room += (0, 0)
        else:
            room += (space.f_bavail, space.f_favail)
    return room


class Worker:
    """The process that has the submission, as the parent sees it. serve: what it does as long as it lives, with a
    descriptor for requests and one for answers; hidden: descriptors that it must not have."""

    def __init__(self, serve, hidden):
        self._scratch, self.signal = scratch(), 0  # signal: that ended it; 0: none
        adopt()
        requests, self._requests = os.pipe()
        self._answers, answers = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for fd in (*hidden, self._requests, self._answers):
                os.close(fd)
            try:
                serve(moved(requests), moved(answers))
            except BaseException as error:
                print_traceback(error)
            os._exit(TEST_FAILED)
        os.close(requests)
        os.close(answers)
        self._poll, self._gone = select.poll(), select.poll()
        self._poll.register(self._answers, select.POLLIN)
        try:  # the end of the pipe is not enough: a process that the submission leaves behind may keep it open
            self._end = os.pidfd_open(self.pid)
            self._poll.register(self._end, select.POLLIN)
            self._gone.register(self._end, select.POLLIN)
        except (AttributeError, OSError):  # this Python, or this kernel, has none
            self._end = -1

    def expect_task(self):
        """Waits until the task is imported: until then nothing of the submission runs, so this is the worker's own word."""
        word = b""
        while not word.startswith(b"+") and not word.endswith(b"\n"):
            more = os.read(self._answers, 1)
            if not more:
                raise BadCase("the process that imports the task ended before it was done")
            word += more
        if word != b"+":
            raise BadCase(word.decode("utf-8", "replace").strip())

    def ask(self, *fields):
        """The fields of the answer to one request."""
        self.expect_silence()
        token = os.urandom(8).hex()
        try:
            write_all(self._requests, "\t".join((token, *map(str, fields))) + "\n")
        except BrokenPipeError:
            raise WorkerFailed(self._how_it_ended()) from None
        answer = self._receive().decode("utf-8", "replace").split("\t")
        if answer[0] != token:
            raise WorkerFailed(INTRUDED)
        if answer[1:2] == ["import"]:
            raise ImportFailed
        if answer[1:2] == ["device"]:
            import utils
            self.end()  # the worker's word alone is the submission's, too, and what that left behind may hold the device
            if end_children() and utils.device_fails():
                raise NoDevice("torch finds no usable device, although the run was given one")
            raise WorkerFailed(INTRUDED)
        if answer[1:2] == ["task"]:
            raise Accusation(answer[-1])
        return answer[1:] or [""]

    def expect_silence(self):
        """Fails if the worker has ended, or has written something without a request."""
        ready = dict(self._poll.poll(0))
        if ready:
            wrote = ready.get(self._answers, 0) & select.POLLIN
            raise WorkerFailed(INTRUDED if wrote or self._end < 0 else self._how_it_ended())

    def end(self):
        """Waits for nothing that the submission still does."""
        if self.pid:
            os.kill(self.pid, 9)
            os.waitpid(self.pid, 0)
            self.pid = 0

    def took_scratch(self):
        """Whether a tenth of what there was for temporary files is missing."""
        return any(now < then * SCRATCH_LEFT for now, then in zip(scratch(), self._scratch))

    def _receive(self):
        line = bytearray()
        while not line.endswith(b"\n"):
            ready = dict(self._poll.poll())  # what it wrote counts before its end, so that chance does not choose between them
            more = os.read(self._answers, 1 << 16) if self._answers in ready else b""
            if not more:
                raise WorkerFailed(self._how_it_ended())
            line += more
            if len(line) > MAX_ANSWER or b"\n" in line[:-1]:
                raise WorkerFailed(INTRUDED)
        return line[:-1]

    def _how_it_ended(self):
        if self._end >= 0 and not self._gone.poll(1000):  # ms; a process closes its pipes a little before it is gone
            return INTRUDED
        _, status = os.waitpid(self.pid, 0)
        self.pid = 0
        if os.WIFSIGNALED(status):
            number = self.signal = os.WTERMSIG(status)
            return f"the submission was terminated by signal {number} ({SIGNALS.get(number, 'see signal(7)')})"
        return f"the submission exited with status {os.WEXITSTATUS(status)} before its results were checked"


def moved(fd):
    """The descriptor under a random number."""
    from fcntl import F_DUPFD_CLOEXEC, fcntl
    for floor in (512, 128, 32):  # as the limit of open files allows
        try:
            hidden = fcntl(fd, F_DUPFD_CLOEXEC, floor + int.from_bytes(os.urandom(2), "little") % floor)
        except OSError:
            continue
        os.close(fd)
        return hidden
    return fd


# ---- The parent: modes ----

def checked_times(text, least, most, elapsed):
    """The times that the worker reports, if they are plausible."""
    times = [int(item) for item in text.split(",") if item.isascii() and item.isdigit() and len(item) <= 15]
    if len(times) != text.count(",") + 1 or not all(times):
        raise WorkerFailed("the worker reports an invalid time")
    if not least <= len(times) <= most:
        raise WorkerFailed(f"the worker reports {len(times)} times instead of {least} to {most}")
    if sum(times) > elapsed:
        raise WorkerFailed("the worker reports more time than has elapsed")
    return times


def run_case(worker, mode, case, settings):
    """What was wrong with one case ('': nothing), and its keys."""
    start = now_ns()
    kind, *fields = worker.ask(*case)
    elapsed = now_ns() - start
    if kind == "fail" and len(fields) == 1:
        return fields[0] or "no reason was given", {}
    if (mode, kind, len(fields)) == ("test", "pass", 1) and set(WATCHED).issuperset(fields[0].split()):
        return "", {"imported": fields[0]} if fields[0] else {}
    if (mode, kind, len(fields)) == ("profile", "report", 1) and WORD.union("+*=").issuperset(fields[0]):
        return "", {"report": fields[0]}
    if mode not in settings or kind != "times" or len(fields) < 5 or len(fields) != 4 + len(fields[0].split(" ")):
        raise WorkerFailed("the worker's answer is malformed")
    names, samples, disturbed, *beats, compiled = fields
    samples = checked_times(samples, *settings[mode], elapsed)
    count = len(samples)
    beats = {name: checked_times(times, count, count, elapsed) for name, times in zip(names.split(" "), beats)}
    if len(disturbed) != count or not (compiled.isascii() and compiled.isdigit() and len(compiled) < 10):
        raise WorkerFailed("the worker's answer is malformed")
    references = references_of(os.environ.get("KETTLE_CALIBRATION", ""))
    keys = score_of(samples, beats, [flag != "0" for flag in disturbed], references)
    return "", {**keys, "compiled": compiled} if int(compiled) else keys


def is_tasks_fault(mode, case, load, settings):
    """Whether the task is at fault in a process without the submission, too: a kernel that returns its input takes its
    place."""
    def bare():
        for name in ("submission", "train"):
            sys.modules[name] = type(sys)(name)
            sys.modules[name].custom_kernel = lambda data: data
        return load()
    witness = Worker(lambda requests, answers: serve(requests, answers, mode, bare, settings), ())
    try:
        witness.expect_task()
        witness.ask(*case)
    except Accusation:
        return True
    except (BadCase, WorkerFailed, ImportFailed, NoDevice):  # the worker could import the task: what is missing now was taken
        return False
    finally:
        witness.end()
    return False


def run_mode(worker, channel, mode, cases, load, settings):
    """All cases with their lines. Returns whether everything was right."""
    noun, passed = "test" if mode == "test" else "benchmark", True
    channel.report(f"{noun}-count", len(cases))
    for i, case in enumerate(cases):
        ended = False
        try:
            error, keys = run_case(worker, mode, case, settings)
        except WorkerFailed as failure:
            error, keys, ended = str(failure), {"signal": worker.signal} if worker.signal else {}, True
        except Accusation as accusation:
            worker.end()  # it, or what it has left behind, may hold what a process of the task needs
            alone, taken = end_children(), worker.took_scratch()
            if alone and not taken and is_tasks_fault(mode, case, load, settings):
                raise BadCase(str(accusation)) from None
            why = "without the submission it does not"
            if taken or not alone:
                why = f"the submission {'took the space for temporary files' if taken else 'left processes behind'}"
            error, keys, ended = f"{accusation}; {why}", {}, True
        channel.report(f"{noun}.{i}.spec", case[0])
        channel.report(f"{noun}.{i}.status", "fail" if error else "pass")
        if error:
            error, _, more = error.partition(MORE)
            channel.report(f"{noun}.{i}.error", error)
            if more:
                channel.report(f"{noun}.{i}.message", more)
        for key, value in keys.items():
            channel.report(f"{noun}.{i}.{key}", value, MAX_ANSWER)
        if "mean" in keys and settings.get("prints_score"):
            print(f"score:{keys['mean'] / 1e9:.9g}")
        passed = passed and not error
        if ended:
            break
    return passed


# ---- The worker: task and submission ----

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
    """What the worker does everything with: generate(case), kernel(data), check(data, output), and calibrator(data) or
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


# ---- The worker: calls ----

class Call:
    """The result of a call. beats: of the calibrators; disturbed: the scheduler took the core away; own_failed: it was the
    task's own calibrator that failed."""
    ns, beats, disturbed, own_failed, error = 0, (), False, False, ""


class Case:
    """A case in the worker: its values, and what one call of it is."""

    def __init__(self, task, utils, clock, pid, line, seed, key):
        self.task, self.utils, self.clock, self.pid, self.values = task, utils, clock, pid, parse_case(line)
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
        kept = self.utils.copied(data)
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
            output = self.utils.copied(output, strict=True)  # at once: what is written later does not count
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
        os._exit(TEST_FAILED)


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
            text = case.utils.ranged_call(torch, sys.modules.get("cupy"), kernel, data)
        else:
            text = case.utils.torch_profile(torch, kernel, data) if torch else case.utils.python_profile(kernel, data)
    except Exception as failure:
        print_traceback(failure)
        return "fail", f"custom_kernel raised {described(failure)}"
    return "report", b2a_base64(text[:MAX_REPORT].encode(), newline=False).decode().replace("/", "*")


def serve(requests, answers, mode, load, settings):
    """The worker: imports, then serves requests until the parent closes the pipe."""
    global stderr_fd
    stderr_fd = moved(os.dup(2))
    for name in ("POPCORN_SEED", "KETTLE_SECRET"):
        os.environ.pop(name, None)
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    pid, problem = os.getpid(), None
    gc.disable()  # an import makes garbage by the thousand, none of it worth looking for
    try:
        import utils
        utils.confine()  # before anything of task and submission is there
        utils.keep_memory()
        parts = load()
        next(parts)
    except BaseException as error:
        print_traceback(error)
        write_all(answers, on_one_line(f"the task cannot be imported: {described(error)}") + "\n")
        return
    write_all(answers, "+")
    try:
        task, clock = next(parts), utils.clock()
        problem = ("device",) if utils.lacks_device() else None
    except BaseException as error:
        print_traceback(error)
        problem = ("import",)
    only_one_process(pid)
    gc.freeze()
    gc.enable()
    what = {"test": lambda case: run_calls(case, settings["inputs"]), "profile": profile}.get(
        mode, lambda case: measure(case, settings["warmup"], *settings[mode], case.task.seconds[mode]))
    while True:
        request = b""
        while not request.endswith(b"\n"):
            more = os.read(requests, 1 << 16)
            if not more:
                return
            request += more
        token, line, seed, key = request.decode()[:-1].split("\t")
        try:
            answer = problem or what(Case(task, utils, clock, pid, line, seed, key))
        except BadCase as error:
            answer = ("task", on_one_line(str(error)))
        flush_streams()
        write_all(answers, "\t".join((token, *answer)) + "\n")


# ---- Start ----

def leave(status):
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(status)


def stop(status, why):
    print(f"eval: {on_one_line(why)}", file=sys.stderr)
    leave(status)


def blame(channel, whom, status, why):
    """Ends the run for a fault that is not the submission's. The status alone counts for nothing."""
    channel.report("fault", whom)
    stop(status, str(why))


def take_number(name):
    """A number out of the environment, where it is not left; None where there is none."""
    text = os.environ.pop(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


def take_secret(fd):
    """The secret, of 16 bytes, out of the environment, or from the descriptor into which run.py has put it for a
    harness that reads it only after it has started its worker. An evaluator that has none of its own gives a seed."""
    if fd is not None:
        with open(fd, "rb") as pipe:
            for line in pipe.read().decode().splitlines():
                name, _, os.environ[name] = line.partition("=")
    seed, secret = take_number("POPCORN_SEED"), os.environ.pop("KETTLE_SECRET", "")
    if secret:
        return bytes.fromhex(secret)
    return None if seed is None else seed.to_bytes(16, "little")


def open_channel():
    fd = take_number("POPCORN_FD")
    try:
        os.set_inheritable(fd, False)
    except (TypeError, OSError):
        stop(NO_CHANNEL, "POPCORN_FD must name the open descriptor of the result channel")
    return Channel(fd)


def main(argv, load=load_task, settings=SETTINGS):
    """Runs the harness and ends the process. load: imports, in the worker, the task, then the submission, and yields
    after each; the second time the Task."""
    channel = open_channel()
    if len(argv) != 3 or argv[1] not in MODES:
        blame(channel, "task", USAGE, "usage: POPCORN_FD=N python3 eval.py test|benchmark|leaderboard|profile CASES")
    mode, secret_fd = argv[1], take_number("KETTLE_SECRET_FD")
    hidden = [fd for fd in (channel.fd, secret_fd) if fd is not None]
    worker = Worker(lambda requests, answers: serve(requests, answers, mode, load, settings), hidden)
    passed, status = False, TEST_FAILED
    try:
        cases = read_cases(argv[2], take_secret(secret_fd))
        worker.expect_task()
        passed = run_mode(worker, channel, mode, cases, load, settings)
        if passed:
            worker.expect_silence()
    except WorkerFailed as failure:
        passed = False
        print(f"eval: {failure}", file=sys.stderr)
    except ImportFailed:
        status = IMPORT_FAILED
    except BadCase as error:
        worker.end()
        blame(channel, "task", BAD_CASE, error)
    except NoDevice as error:
        worker.end()
        blame(channel, "machine", NO_DEVICE, error)
    worker.end()
    channel.report("check", "pass" if passed else "fail")
    leave(PASSED if passed else status)


if __name__ == "__main__":
    main(sys.argv)
