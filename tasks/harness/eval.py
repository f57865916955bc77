# SPDX-License-Identifier: MIT
# kettle-reports: complete
# kettle-judging: referee
"""The harness of Python boards: started as `python3 eval.py <mode> <cases file>` beside solver.py, which has the submission.

For authors. A task brings four things besides this file, solver.py, exchange.py and utils.py (tasks/matmul_np is an example):

  task.py       what submission and reference share: input_t, output_t, and TestSpec, which names a case's keys
  reference.py  generate_input(**case)           one input from the values of a case: from its seed and nothing else
                check_implementation(data, out)  '', True or (True, _) if out is right; a sentence for the participant,
                                                 False or (False, sentence) if not; all else is a mistake of the task
                and, if it likes, BENCHMARK_SECONDS and RANKED_SECONDS
  task.yml      config: {main: eval.py, solver: solver.py}, and the submission under the name submission.py

The submission defines custom_kernel(data). Values of a case arrive as Python (3.9 or later) has them: 7, True, [1, 2],
'word'.

What is done. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
until the time is known well enough or is over, but never before enough calls. Every call, also those that warm up, has
fresh inputs (where the case has a seed) and is checked, outside of the timed section, against inputs that it has not had
in its hands; where times are taken it starts with its inputs in no cache. A submission gains nothing from noticing the phase,
from keeping results, or from changing its input. profile: two calls per case and a report,
and torch's trace as out/trace.json.gz. Where there is a CUDA device, its events are the clock.

What the lines of a benchmark mean is said in docs/tasks.md, "What a mean is". Besides, `imported` of a test: which libraries that
take long to import were loaded at its end; what counts is the template's.

Theory of operation. This is the referee of a step with referee and solver: two sandboxes with a socket and, where there is
no GPU, memory between them. Here are result channel, secret and cases; the submission is in the other one alone, with
solver.py. The solver is believed in nothing, and one that ends, or writes more than the answer, has failed. `check` is
written last.

Where there is no GPU, this process judges: it imports the task, makes the inputs, checks and times, and the solver only
calls custom_kernel (exchange.py). One call: the input is made, and its structure sent, but for what the inputs of
a case differ in; the solver builds its views and sleeps. Its bytes are written to the shared memory and put out of the
caches; the clock is read, and the solver told to begin. At its answer the clock is read again, and the results are copied.
On a unit of one core nothing else may run meanwhile: this thread was not switched out from the first byte to the word to
begin, nor from the answer to the end of the copy. The time that others had then is added to the call's (`lost`), so work before
the call or after its end gains nothing. With several cores a helper on another one is not seen. What the hand-over takes
(Echo) is taken off.

On GPUs the solver still judges, by the same functions. A request names one case and the key of its calls, which gives no
other's. An answer counts only if it carries the token of its request and is plausible: the right number of times, each
positive, together no longer than the wait for it. That the task or the device is at fault is the solver's word until this
process, which has never had the submission, fails in the same way by itself: it then tells the solver to end, waits for
that, and calls the task with a kernel that returns its input. Where a solver has ended before its first answer, a child
imports the task, whose import may be what ends a process. There custom_kernel shares its process with generate_input, the
check and the clock: it can find the copy of the inputs and this case's seed, replace what judges and times it, answer in
its place, and slow down the calibrators (a mean below half of the best call does not pass).

How a time is made to repeat. What else a machine does slows calls down, by tens of percent and for milliseconds to
minutes, and what differs from process to process no process sees. Where this process judges, a ranked run has sessions
(Sessions), each a process that the solver forks and that imports the submission anew; probes right before and after each call tell
whether the machine was calm, and calls during which it was not do not count (Counted in utils.py). On GPUs a fixed piece of work, the
calibrator, is timed right before each call, and the mean is the median of the ratios times the calibrator's time on the
quiet device (KETTLE_CALIBRATION).
"""
import gc
import os
import sys
from _blake2 import blake2b
from time import perf_counter_ns as now_ns

import exchange
import utils
from exchange import FACTS, INTRUDED, MALFORMED, MAX_ANSWER, PROFILE, Pipes, Raised, Solver, SolverFailed
from utils import FEW_SESSIONS, LEAST_CALM, MAX_MESSAGE, MORE, WATCHED, WORD, BadCase, Call, Counted, Floors, at_call, described
from utils import flush_streams, keys_of_calls, keys_of_sessions, on_one_line, parse_case, references_of, seed_of, take_number
from utils import verdict_of, write_all

PASSED, IMPORT_FAILED, USAGE, NO_DEVICE, NO_CHANNEL, TEST_FAILED, BAD_CASE = 0, 1, 2, 110, 111, 112, 113

# With fewer calls a few equal times, by chance or forged, would end the measurement, and there would be no interval: of
# ten pairs it reaches from the second to the ninth.
BENCHMARK_MIN_CALLS, RANKED_MIN_CALLS, MAX_CALLS = 10, 30, 10000
WARMUP_CALLS = 3  # threads started, pages touched, clock frequency up
# How often the submission is called, by mode: in a test; else to warm up, and timed, at least and at most.
CALLS = {"test": (1,), "benchmark": (WARMUP_CALLS, BENCHMARK_MIN_CALLS, MAX_CALLS),
         "leaderboard": (WARMUP_CALLS, RANKED_MIN_CALLS, MAX_CALLS), "profile": (2,)}
MAX_NAME = 64  # characters of a calibrator's name
MAX_TIMES = 8  # calibrators in a row
MUCH_FREE = 0.8  # of a device's memory: less has been left when something else holds it
LOST_DEVICE = "torch found no usable device in the process of the submission"

FRESH = ", with fresh inputs"

# Limits in seconds, everything but warming up included: on GPUs of each benchmark, else of all together. A task's
# reference.py may set them for each.
SECONDS, ALL_SECONDS = {"benchmark": 2.0, "leaderboard": 6.0}, {"benchmark": 1.0, "leaderboard": 2.0}
NARROW = 0.001  # on GPUs: half of the interval, of the mean: enough

# Where the referee judges. More sessions tell more than more calls (T. Kalibera and R. Jones, Rigorous benchmarking in
# reasonable time, ISMM 2013): what differs from process to process, such as where memory lies, no session sees by itself.
SESSIONS, MAX_SESSIONS = {"benchmark": 1, "leaderboard": 8}, 16
SESSION_SECONDS, CALM_CALLS = 0.1, 30  # where a session ends
FEW_CALLS, SINGLE_CALLS = 3, 10  # at least, of a session, and of a single one
WARM_SECONDS, LONG_FIRST, LONG_SESSION = 0.1, 0.5, 4.0  # of warming up; of a first call; of one of at least FEW_SESSIONS
WARM_CALLS, SHORT_WARM = 12, 0.02  # of warming up, where so many take no longer than so many seconds
PATIENCE, PATIENCE_SECONDS = 4, 5.0  # how many times as long a busy machine is waited for, and for how long in all
MAX_SHIFT, PAGE = 256, 4096  # pages by which addresses differ from call to call
LEAST_NS = 1000  # ns that a call takes at least
OWN_FILES = {(os.path.dirname(os.path.abspath(__file__)), name)
             for name in ("eval.py", "eval_single.py", "solver.py", "exchange.py")}
stderr_fd = 2  # of tracebacks; in the solver a descriptor that the submission does not know


class NoDevice(Exception):
    """This process finds no device that can be used."""


class ImportFailed(Exception):
    """The submission could not be imported; the solver has printed why."""


# ---- Cases ----

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
        if "\t" in line:  # fields of a request are apart by tabs
            raise BadCase(f"a case must not hold a tab: `{line}`")
        if seed is not None and type(seed) is not int:
            raise BadCase(f"`seed` must be an integer in the case `{line}`")
        cases.append((line, seed, blake2b(line.encode(), key=secret, digest_size=16).hexdigest() if secret else ""))
    if not cases:
        raise BadCase(f"there is no case in {path}")
    return cases


# ---- The result channel ----

class Channel:
    """The result channel."""

    def __init__(self, fd):
        self._fd = fd

    def report(self, key, value, most=MAX_MESSAGE):
        text = f"{value:.9g}" if isinstance(value, float) else on_one_line(str(value), most)
        write_all(self._fd, f"{key}: {text}\n")


def open_channel():
    fd = take_number("POPCORN_FD")
    try:
        os.set_inheritable(fd, False)
    except (TypeError, OSError):
        stop(NO_CHANNEL, "POPCORN_FD must name the open descriptor of the result channel")
    return Channel(fd)


# ---- The task ----

def print_traceback(error):
    """On standard error, past the streams, which a submission may have closed or replaced, without the frames of the harness; its
    last line names the error."""
    trace = error.__traceback__
    while trace and os.path.split(os.path.abspath(trace.tb_frame.f_code.co_filename)) in OWN_FILES:
        trace = trace.tb_next
    own = None if isinstance(error, (ImportError, SyntaxError)) else error.__traceback__
    try:
        import traceback
        text = "".join(traceback.format_exception(type(error), error, trace or own))
    except Exception as problem:
        text = f"{type(error).__name__}: {error} (and no traceback: {type(problem).__name__}: {problem})\n"
    flush_streams()
    try:
        write_all(stderr_fd, text)
    except OSError:
        pass


class Task:
    """What calls are judged with: generate(case) and check(data, output). seconds: by mode, of a benchmark, or None."""

    def __init__(self, generate, check, reference):
        self.generate, self.check = generate, check
        self.seconds = {"benchmark": getattr(reference, "BENCHMARK_SECONDS", None),
                        "leaderboard": getattr(reference, "RANKED_SECONDS", None)}


def load_task():
    """Imports the task, and after that the submission: what the task takes from other modules then is not the submission's,
    and what fails before the first `yield` is not its fault. Yields the Task and custom_kernel."""
    import reference
    from reference import check_implementation, generate_input
    yield Task(lambda case: generate_input(**case), check_implementation, reference)
    from submission import custom_kernel
    yield custom_kernel


# ---- Calls ----

class Case:
    """A case: its values, and what one call of it is. kernel: how custom_kernel is called: a Remote, or a Local of
    solver.py."""

    def __init__(self, task, kernel, line, seed, key):
        self.task, self.kernel, self.values = task, kernel, parse_case(line)
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

    def call(self, n, times=0):
        """The whole of the n-th call: input, calibrator (so often in a row) or probes (0: none), the call, copy, check."""
        shift = bytes(PAGE * (int.from_bytes(os.urandom(2), "little") % MAX_SHIFT))  # what comes next lies further on
        data, call = self.input(n), Call()
        kept = self.kernel.load(data)
        gc.disable()
        try:
            output = self.kernel.timed(call, times)
        except Raised as error:
            call.error = str(error)
            return call
        except (SolverFailed, BadCase):
            raise
        except BaseException as error:
            print_traceback(error)
            call.error = f"custom_kernel raised {described(error)}"
            return call
        finally:
            gc.enable()
        del shift
        call.error = self.judged(kept, output)
        return call

    def judged(self, kept, output):
        try:
            result = self.task.check(kept, output)
        except Exception as error:
            print_traceback(error)
            return f"check_implementation raised {described(error)}"
        try:
            return verdict_of(result)
        except BadCase as error:
            if not self.kernel.apart or self._is_the_tasks(kept):
                raise
            return str(error)

    def _is_the_tasks(self, kept):
        """Whether a check that returned what is no verdict does that of an output that is none of the submission's: the input."""
        try:
            verdict_of(self.task.check(kept, kept))
        except BadCase:
            return True
        except Exception:  # an input is no output
            pass
        return False


def stored_references():
    """What `kettle device calibrate` has found."""
    return references_of(os.environ.get("KETTLE_CALIBRATION", ""))


def times_interrupted():
    """How often a core was taken from the process so far."""
    from resource import RUSAGE_SELF, getrusage
    return getrusage(RUSAGE_SELF).ru_nivcsw


def run_calls(case, count):
    """The fields of an answer: whether that many calls were right, or what was wrong."""
    for n in range(count):
        error = case.call(n).error
        if error:
            return "fail", at_call(error, n)
    return "pass", case.kernel.facts()[0]


def measure(case, name, warmup, least, most, seconds):
    """The fields of an answer: the times of the calls and of the calibrator, with this name, beside them, and how much was
    compiled meanwhile, or what was wrong."""
    calls, times, start, look = [], 1, 0, least
    references = stored_references()
    for n in range(warmup + most):
        call = case.call(n, times)
        if call.error:
            return "fail", at_call(call.error, n, FRESH)
        if n < warmup:
            times = max(1, min(MAX_TIMES, call.ns // sum(call.beside))) if call.beside else 1
            case.kernel.facts()
            start = now_ns()
            continue
        calls.append(call)
        if len(calls) < least or (now_ns() - start < seconds * 1e9 and len(calls) < look):
            continue
        keys = keys_of_calls(calls, name, references)
        if now_ns() - start >= seconds * 1e9 or keys["high"] - keys["low"] < 2 * NARROW * keys["mean"]:
            break
        look = len(calls) * 9 // 8 + 1  # looking costs the more, the more there are
    samples = ",".join(str(call.ns) for call in calls)
    beats = ",".join(str(call.beside[0]) for call in calls if name)
    return "times", name, samples, "".join(str(int(call.interrupted)) for call in calls), beats, case.kernel.facts()[1]


def profile(case):
    """The fields of an answer: a report on a warm call, in letters that a line may hold, or what was wrong."""
    error = case.call(0).error
    if error:
        return "fail", error
    case.kernel.load(case.input(0))
    try:
        return "report", case.kernel.profile()
    except Raised as failure:
        return "fail", str(failure)


class Judge:
    """Answers requests, wherever that is done: in this process, or, on GPUs, in the solver."""

    def __init__(self, task, clock, kernel):
        self.task, self.clock, self.kernel = task, clock, kernel

    def case(self, line, seed, key):
        return Case(self.task, self.kernel, line, seed, key)

    def answer(self, mode, counts, *case):
        """The fields of the answer."""
        counts, case = list(map(int, counts.split(","))), self.case(*case)
        if mode == "test":
            return run_calls(case, *counts)
        if mode == "profile":
            return profile(case)
        return measure(case, self.clock.calibrator, *counts, self.task.seconds[mode] or SECONDS[mode])


class Sessions:
    """The benchmarks of a run where this process judges: each is timed in the same sessions, of a fresh solver each."""

    def __init__(self, judge, mode, warmup, cases):
        self._kernel, self._warmup, self._cases = judge.kernel, warmup, [judge.case(*case) for case in cases]
        self._floors = Floors(stored_references())
        self._seconds = judge.task.seconds[mode] or ALL_SECONDS[mode] / len(cases)  # of each benchmark
        self._wanted, self._single, self._calm = SESSIONS[mode], judge.kernel.only or SESSIONS[mode] == 1, 0
        self._calls, self._compiled = [[] for _ in cases], [0 for _ in cases]  # of each benchmark
        self._errors, self._at, self._strict = ["" for _ in cases], 0, mode == "leaderboard"
        self._patience = PATIENCE_SECONDS

    def run(self):
        """Until the times are known well enough, something is wrong, or time is over."""
        start, longest, number = self._kernel.began, 0, 0
        try:
            while number == 0 or self._goes_on(number, longest, (now_ns() - start) / 1e9):
                if number:
                    self._kernel.begin_again()
                for self._at in range(len(self._cases)):
                    self._session(number)
                longest, number = max(longest, (now_ns() - self._kernel.began) / 1e9), number + 1
        except SolverFailed as failure:
            self._errors[self._at] = str(failure)
            return
        self._at = len(self._cases)

    def _goes_on(self, number, longest, elapsed):
        """Whether there is another session, after so many."""
        if self._single or any(self._errors):
            return False
        valid = sum(all(Counted(calls[i], self._floors).calm for calls in self._calls) for i in range(number))
        allowed = self._seconds * len(self._cases)
        if valid == self._wanted or number == MAX_SESSIONS:
            return False
        few = valid < FEW_SESSIONS or (self._strict and 2 * valid <= number)
        return elapsed + longest <= allowed or (few and longest <= LONG_SESSION and (
            number < FEW_SESSIONS or elapsed + longest <= allowed + PATIENCE_SECONDS))

    def _session(self, number):
        """The calls of one benchmark in one session."""
        case, calls = self._cases[self._at], []
        self._calls[self._at].append(calls)
        self._kernel.begin_case()
        warmed = self._warm(case, number)
        if not warmed:
            return
        self._kernel.facts()
        self._calm, start = 0, now_ns()
        while not self._is_enough(len(calls), (now_ns() - start) / 1e9):
            call = self._right(case, number, warmed + len(calls))
            if not call:
                return
            calls.append(call)
            if not call.interrupted:
                self._floors.add(call.beside)
            self._calm += not (call.lost or call.interrupted) and self._floors.is_calm(call)
        self._compiled[self._at] += int(self._kernel.facts()[1])
        self._patience -= max(0, (now_ns() - start) / 1e9 - self._share())

    def _warm(self, case, number):
        """Calls that do not count. Returns how many there were, or 0 where one was wrong. An interpreter adapts its code to the
        first ten or so."""
        began, elapsed, count = now_ns(), 0, 0
        while count == 0 or (count < self._warmup and elapsed <= WARM_SECONDS) or (count < WARM_CALLS and elapsed <= SHORT_WARM):
            if not self._right(case, number, count):
                return 0
            elapsed, count = (now_ns() - began) / 1e9, count + 1
            if number == 0 and count == 1 and elapsed > LONG_FIRST:
                self._single = True  # what a first call compiles, others would compile again
        return count

    def _right(self, case, number, n):
        """The n-th call of a session; None where it was wrong."""
        call = case.call((number << 32) + n, 1)
        self._errors[self._at] = call.error and at_call(call.error, n, FRESH)
        return None if call.error else call

    def _share(self):
        """Seconds of a benchmark in a session, on a calm machine."""
        return self._seconds if self._single else min(SESSION_SECONDS, self._seconds / self._wanted)

    def _is_enough(self, count, elapsed):
        """Whether a session has called a benchmark often enough, of which so many calls were calm."""
        share = self._share()
        out_of_patience = elapsed >= min(share * PATIENCE, share + self._patience)
        if count < FEW_CALLS or (self._single and count < SINGLE_CALLS and not out_of_patience):
            return False
        if elapsed >= share:
            return self._calm * LEAST_CALM >= count or out_of_patience
        return self._calm >= (MAX_CALLS if self._single else CALM_CALLS)

    def result(self, i):
        """What was wrong with a benchmark ('': nothing), its keys, and whether the solver has failed in it."""
        if self._errors[i]:
            return self._errors[i], {}, self._at == i
        keys = keys_of_sessions([calls for calls in self._calls[i] if calls], self._floors, self._strict)
        return "", {**({"compiled": self._compiled[i]} if self._compiled[i] else {}), **keys}, False


# ---- The submission at the other end ----

class Remote:
    """custom_kernel in the solver. apart: this process has no submission; only: there is one session."""
    apart, clock = True, None

    def __init__(self, solver, memory):
        self._solver, self._memory, self._echo, self.only = solver, memory, None, False

    def begin(self, apart):
        """Has the solver serve calls; returns without waiting for that. apart: in a process for this session."""
        self._pipes, self._places, self.began = Pipes(self._memory, self._memory), [], now_ns()
        self._solver.begin(self._pipes.pass_on(), "session" if apart else "calls")
        self._pipes.close_theirs()

    def begin_again(self):
        """The next session."""
        self._pipes.close()
        self.begin(True)
        answer = self._solver.answer()
        if answer != ["ready"]:
            raise ImportFailed if answer == ["import"] else SolverFailed(MALFORMED)

    def begin_case(self):
        self._pipes.begin_case()
        if self._echo:
            self._echo.begin_case()

    def load(self, data):
        """Returns what the output is to be checked against."""
        try:
            self._packed = exchange.packed(data)
        except Exception as error:
            print_traceback(error)
            raise BadCase(f"an input cannot be sent to the submission: {described(error)}") from None
        return data

    def timed(self, call, times):
        """A copy of the call's output. times: 0: neither is it timed, nor memory cold."""
        cold = times and (lambda places: self.clock.chill(places + self._places))
        reader = exchange.Reader(self._memory)
        self._solver.watched(self._pipes.load, self._packed)
        if times:
            before = times_interrupted()
            call.beside = self.clock.probe()
            call.interrupted = times_interrupted() != before
        ns, output, lost = self._solver.watched(self._pipes.called, cold, reader.read)
        if times:
            call.after = self.clock.probe()
        if self._memory.library:  # nothing is quiet for as long as a sweep takes: that tells nothing
            call.lost = lost
        self._solver.expect_silence()
        self._places = [(self._memory.address + at, size) for at, size in reader.places]
        call.ns = max(LEAST_NS, ns + call.lost - self._echoed(cold)) if cold else ns
        return output

    def _echoed(self, cold):
        """ns of a call of nothing; 0 where no such process can be made."""
        try:
            if self._echo is None:
                self._echo = exchange.Echo(self._memory, self._pipes.go, self._pipes.done, self._solver.fd)
        except OSError:
            self._echo = False
        return self._echo.ns(self._packed, cold) if self._echo else 0

    def facts(self):
        """Names of libraries that the solver has loaded, and how many files compilers have left since this was called."""
        try:
            self._solver.watched(self._pipes.ask, FACTS)
        except Raised:
            raise SolverFailed(MALFORMED) from None
        names, tab, count = self._text().partition("\t")
        if not tab or not is_count(count):
            raise SolverFailed(MALFORMED)
        return names, count

    def _text(self):
        _, (_, at, size) = self._pipes.state
        return self._memory.map[at:at + min(size, MAX_ANSWER)].decode("utf-8", "replace")

    def profile(self):
        self._solver.watched(self._pipes.load, self._packed)
        self._pipes.fill()
        self._solver.watched(self._pipes.ask, PROFILE)
        return self._text()


# ---- What the solver answers ----

def is_count(text):
    return text.isascii() and text.isdigit() and len(text) < 10


def checked_times(text, least, most, elapsed):
    """The times that the solver reports, if they are plausible."""
    times = [int(item) for item in text.split(",") if item.isascii() and item.isdigit() and len(item) <= 15]
    if len(times) != text.count(",") + 1 or not all(times):
        raise SolverFailed("the solver reports an invalid time")
    if not least <= len(times) <= most:
        raise SolverFailed(f"the solver reports {len(times)} times instead of {least} to {most}")
    if sum(times) > elapsed:
        raise SolverFailed("the solver reports more time than has elapsed")
    return times


def ends_alone(load):
    """Whether the import of the task ends the process, in one of its own without a submission."""
    try:
        pid = os.fork()
    except OSError:
        return False
    if pid == 0:
        try:
            make_worker(load)
        except (ImportError, SyntaxError):  # solver.py, or a module of it: those of the task are caught in there
            os._exit(1)
        finally:
            os._exit(0)
    return os.waitpid(pid, 0)[1] != 0


def make_worker(load):
    """The task with a kernel that returns its input, in this process."""
    import solver
    for name in ("submission", "train"):
        sys.modules[name] = type(sys)(name)
        sys.modules[name].custom_kernel = lambda data: data
    worker = solver.Worker(load)
    worker.import_submission()
    return worker


def try_alone(kind, request, load):
    """Does what the solver was to do, without a submission. Raises BadCase or NoDevice where task or device fail here,
    too. Only once the solver has ended; returns if something still holds the device's memory."""
    answer = []
    try:
        if kind == "device":
            __import__("torch")  # the task may not; a line that imports it would have every board's interpreter do so
        worker, torch = make_worker(load), sys.modules.get("torch")
        if torch and torch.cuda.is_available():
            free, total = torch.cuda.mem_get_info()
            if free < total * MUCH_FREE:
                return
        answer = worker.answer(*request)
    except BaseException as error:
        print(f"eval: {type(error).__name__}: {error}", file=sys.stderr)
    if answer[:1] == ("task",):
        raise BadCase(answer[1])
    if answer[:1] == ("device",):
        raise NoDevice("torch finds no usable device, although the run was given one")


def run_case(solver, judge, calls, request, load):
    """What was wrong with one case ('': nothing), and its keys. request: its fields, the mode first."""
    start, mode = now_ns(), request[0]
    kind, *fields = judge.answer(*request) if judge else solver.request(*request)
    elapsed = now_ns() - start
    if kind == "import" and not fields:
        raise ImportFailed
    if kind in ("task", "device"):
        solver.end()
        try_alone(kind, request, load)
        if kind == "device" and not fields:
            raise SolverFailed(LOST_DEVICE)
        raise SolverFailed(f"{fields[0]}; without the submission it does not" if fields and fields[0] else INTRUDED)
    if kind == "fail" and len(fields) == 1:
        return fields[0] or "no reason was given", {}
    if (mode, kind, len(fields)) == ("test", "pass", 1) and set(WATCHED).issuperset(fields[0].split()):
        return "", {"imported": " ".join(dict.fromkeys(fields[0].split()))} if fields[0] else {}
    if (mode, kind, len(fields)) == ("profile", "report", 1) and WORD.union("+*=").issuperset(fields[0]):
        return "", {"report": fields[0]}
    if len(calls) == 1 or kind != "times":
        raise SolverFailed(MALFORMED)
    return "", keys_of_times(fields, calls, elapsed)


def keys_of_times(fields, calls, elapsed):
    """The keys of an answer with times, if it is plausible."""
    if len(fields) != 5:
        raise SolverFailed(MALFORMED)
    name, samples, flags, beats, compiled = fields
    if len(name) > MAX_NAME or not WORD.union(".-").issuperset(name) or bool(name) != bool(beats) or not is_count(compiled):
        raise SolverFailed(MALFORMED)
    samples = checked_times(samples, *calls[1:], elapsed)
    count = len(samples)
    beats = checked_times(beats, count, count, elapsed) if name else samples
    if len(flags) != count:
        raise SolverFailed(MALFORMED)
    found = [Call(ns, (beat,) if name else (), flag != "0") for ns, beat, flag in zip(samples, beats, flags)]
    keys = keys_of_calls(found, name, stored_references())
    return {**keys, "compiled": compiled} if int(compiled) else keys


def import_libraries():
    """Imports what the task names, while the solver does the same: no module of the task's own, which might end the process."""
    try:
        with open("reference.py", encoding="utf-8") as file:
            text = file.read()
        for name in ("numpy", "torch"):
            if f"import {name}" in text and name not in sys.modules:
                __import__(name)
    except (OSError, ValueError, ImportError):  # the import of the task will tell
        pass


def make_judge(solver, memory, mode, load):
    """A Judge in this process, for which the solver serves calls; None: the solver judges, as there is a GPU. The task is
    imported once that has been seen to end no process."""
    remote = Remote(solver, memory)
    remote.begin(SESSIONS.get(mode, 1) > 1)
    import_libraries()
    kind, *fields = solver.answer()
    if kind == "import" and not fields:
        raise ImportFailed
    try:
        task, clock = next(load()), utils.clock(memory)
    except BaseException as error:
        print_traceback(error)
        raise BadCase(f"the task cannot be imported: {described(error)}") from None
    if kind == "gpu" and not isinstance(clock, utils.Cpu):
        return None
    if kind != "ready" or fields not in ([], ["only"]):
        raise SolverFailed(f"{fields[0]}; without the submission it does not" if kind == "task" and fields else MALFORMED)
    remote.clock, remote.only = clock, bool(fields)
    return Judge(task, clock, remote)


def run_mode(solver, memory, channel, mode, calls, cases, load, prints_score):
    """All cases with their lines. Returns whether everything was right."""
    noun, passed = "test" if mode == "test" else "benchmark", True
    channel.report(f"{noun}-count", len(cases))
    judge = timed = None
    for i, case in enumerate(cases):
        ended, request = False, (mode, ",".join(map(str, calls)), *map(str, case))
        try:
            if memory and i == 0:
                judge = make_judge(solver, memory, mode, load)
                if judge and mode in SESSIONS:
                    timed = Sessions(judge, mode, calls[0], cases)
                    timed.run()
            if timed:
                error, keys, ended = timed.result(i)
            else:
                error, keys = run_case(solver, judge, calls, request, load)
        except SolverFailed as failure:
            if not judge and solver.gone and i == 0 and ends_alone(load):
                raise BadCase("the process that imports the task ended before it was done") from None
            error, keys, ended = str(failure), {}, True
        channel.report(f"{noun}.{i}.spec", case[0])
        channel.report(f"{noun}.{i}.status", "fail" if error else "pass")
        if error:
            error, _, more = error.partition(MORE)
            channel.report(f"{noun}.{i}.error", error)
            if more:
                channel.report(f"{noun}.{i}.message", more)
        for key, value in keys.items():
            channel.report(f"{noun}.{i}.{key}", value, MAX_ANSWER)
        if "mean" in keys and prints_score:
            print(f"score:{keys['mean'] / 1e9:.9g}")
        passed = passed and not error
        if ended:
            break
    if passed and not judge:
        report_built(channel, *solver.request("built"))
    return passed


def report_built(channel, kind, built="", *rest):
    """What compilers built in a solver that judges, as it says."""
    if kind != "built" or rest:
        raise SolverFailed(MALFORMED)
    if built:
        channel.report("built", built)


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


def take_secret():
    """The secret, of 16 bytes, out of the environment. An evaluator that has none of its own gives a seed."""
    seed, secret = take_number("POPCORN_SEED"), os.environ.pop("KETTLE_SECRET", "")
    if secret:
        return bytes.fromhex(secret)
    return None if seed is None else seed.to_bytes(16, "little")


def open_memory():
    """The memory that is shared with the solver, where it is for this process to judge: not where there is a GPU."""
    fd = take_number("KETTLE_SHM_FD")
    if fd is None or os.environ.get("CUDA_VISIBLE_DEVICES") or os.environ.get("ROCR_VISIBLE_DEVICES"):
        return None
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    utils.keep_memory()
    return exchange.Memory(fd)


def main(argv, load=load_task, calls=CALLS, prints_score=False):
    """Runs the referee and ends the process. load: as load_task; calls: as CALLS."""
    global stderr_fd
    stderr_fd = os.dup(2)
    channel, peer = open_channel(), take_number("KETTLE_PEER_FD")
    if len(argv) != 3 or argv[1] not in calls:
        blame(channel, "task", USAGE, "usage: POPCORN_FD=N python3 eval.py test|benchmark|leaderboard|profile CASES")
    if peer is None:
        blame(channel, "task", USAGE, "there is no solver: the task's config must be {main: eval.py, solver: solver.py}")
    mode, passed, status, solver = argv[1], False, TEST_FAILED, Solver(peer)
    try:
        cases = read_cases(argv[2], take_secret())
        passed = run_mode(solver, open_memory(), channel, mode, calls[mode], cases, load, prints_score)
        if passed:
            solver.expect_silence()
    except SolverFailed as failure:
        passed = False
        print(f"eval: {failure}", file=sys.stderr)
    except ImportFailed:
        status = IMPORT_FAILED
    except BadCase as error:
        blame(channel, "task", BAD_CASE, error)
    except NoDevice as error:
        blame(channel, "machine", NO_DEVICE, error)
    if solver.gone:
        channel.report("solver", "gone")  # how it ended kettle-exec knows
    channel.report("check", "pass" if passed else "fail")
    leave(PASSED if passed else status)


if __name__ == "__main__":
    main(sys.argv)
