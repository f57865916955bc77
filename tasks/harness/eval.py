# SPDX-License-Identifier: MIT
# kettle-reports: complete
"""The harness of Python boards: started as `python3 eval.py <mode> <cases file>` beside solver.py, which has the submission.

For authors. A task brings four things besides this file, solver.py and utils.py (tasks/matmul_np is an example):

  task.py       what submission and reference share: input_t, output_t, and TestSpec, which names a case's keys
  reference.py  generate_input(**case)           one input from the values of a case: from its seed and nothing else
                check_implementation(data, out)  '', True or (True, _) if out is right; a sentence for the participant,
                                                 False or (False, sentence) if not; all else is a mistake of the task
                and, if it likes, BENCHMARK_SECONDS, RANKED_SECONDS, calibrator(data) (see solver.py)
  task.yml      config: {main: eval.py, solver: solver.py}, and the submission under the name submission.py

The submission defines custom_kernel(data). Values of a case arrive as Python (3.9 or later) has them: 7, True, [1, 2],
'word'.

What is done. test: one call per case, checked. benchmark and leaderboard: a few calls to warm up, then timed calls
until the time is known well enough or is over, but never before enough calls. Every call, also those that warm up, has
fresh inputs (where the case has a seed) and is checked, outside of the timed section, against a copy of the inputs that
was taken before; where times are taken it starts with a cold cache. A submission gains nothing from noticing the phase,
from keeping results, or from changing its input. profile: two calls per case and a report,
and torch's trace as out/trace.json.gz. Where there is a CUDA device, its events are the clock.

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

Theory of operation. This is the referee of a step with referee and solver: two sandboxes with a socket between them. Here
are result channel, secret and cases; the submission is in the other one alone, with solver.py, which does everything
with it. A request names one case and the key of its calls, which gives no other's. An answer counts only if it carries the
token of its request and is plausible: the right number of times, each positive, together no longer than the wait for
it. A solver that ends, or writes more than the answer, has failed. That the task or the device is at fault is the
solver's word until this process, which has never had the submission, fails in the same way by itself: it then tells the
solver to end, waits for that, and calls the task with a kernel that returns its input. Where a solver has ended before its
first answer, a child imports the task, whose import may be what ends a process. `check` is written last.

What stays open while the solver judges itself: custom_kernel shares its process with generate_input, the check and the
clock. It can find the frames of the solver, the copy of the inputs and this case's seed, replace the functions that
judge and time it, answer in their place, leave work to a thread, return before its output is complete as long as it wins
the race with the copy of the output, and slow down the calibrators (a mean below half of the best call does not pass).
"""
import os
import select
import sys
from _blake2 import blake2b
from time import perf_counter_ns as now_ns

from utils import MAX_MESSAGE, MORE, WATCHED, WORD, BadCase, on_one_line, parse_case, references_of, score_of
from utils import take_number, write_all

PASSED, IMPORT_FAILED, USAGE, NO_DEVICE, NO_CHANNEL, TEST_FAILED, BAD_CASE = 0, 1, 2, 110, 111, 112, 113

# With fewer calls a few equal times, by chance or forged, would end the measurement, and there would be no interval: of
# ten pairs it reaches from the second to the ninth.
BENCHMARK_MIN_CALLS, RANKED_MIN_CALLS, MAX_CALLS = 10, 30, 10000
WARMUP_CALLS = 3  # threads started, pages touched, clock frequency up
# How often the submission is called, by mode: in a test; else to warm up, and timed, at least and at most.
CALLS = {"test": (1,), "benchmark": (WARMUP_CALLS, BENCHMARK_MIN_CALLS, MAX_CALLS),
         "leaderboard": (WARMUP_CALLS, RANKED_MIN_CALLS, MAX_CALLS), "profile": (2,)}
MAX_ANSWER = 1 << 20  # bytes
MAX_CALIBRATORS, MAX_NAME = 16, 64  # of an answer; characters of a calibrator's name
MUCH_FREE = 0.8  # of a device's memory: less has been left when something else holds it
INTRUDED = "the submission wrote into the harness's own socket, or closed it"
ENDED = "the submission ended before its results were checked"
LOST_DEVICE = "torch found no usable device in the process of the submission"
MALFORMED = "the solver's answer is malformed"


class NoDevice(Exception):
    """This process finds no device that can be used."""


class SolverFailed(Exception):
    """The solver ended, or wrote what is no answer, or what is not true: a sentence for the participant."""


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


# ---- The solver ----

class Solver:
    """The solver, as far as its socket tells. gone: it ended before it was told to."""

    def __init__(self, fd):
        self._fd, self._poll, self.gone = fd, select.poll(), False
        self._poll.register(fd, select.POLLIN)

    def request(self, *fields):
        """The fields of the answer to one request."""
        self.expect_silence()
        token = os.urandom(8).hex()
        self._send("\t".join((token, *fields)))
        answer = self._receive().decode("utf-8", "replace").split("\t")
        if answer[0] != token:
            raise SolverFailed(INTRUDED)
        return answer[1:] or [""]

    def expect_silence(self):
        """Fails if the solver has ended, or has written something without a request."""
        if self._poll.poll(0):
            raise SolverFailed(INTRUDED) if self._read() else self._ended()

    def end(self):
        """Tells the solver to end and waits until it has, or has closed its socket: kettle-exec ends what one that has ended
        left behind. One that does neither keeps the run until its time is over."""
        self._send("")
        if self._read():
            raise SolverFailed(INTRUDED)

    def _ended(self):
        self.gone = True
        return SolverFailed(ENDED)

    def _send(self, line):
        try:
            write_all(self._fd, line + "\n")
        except OSError:
            raise self._ended() from None

    def _read(self):
        try:
            return os.read(self._fd, 1 << 16)
        except OSError:  # it has ended with a request unread
            return b""

    def _receive(self):
        line, end = bytearray(), -1
        while end < 0:
            more = self._read()
            if not more:
                raise self._ended()
            line += more
            end = more.find(b"\n")
            if len(line) > MAX_ANSWER or 0 <= end < len(more) - 1:
                raise SolverFailed(INTRUDED)
        return line[:-1]


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
    return solver.Worker(load or solver.load_task)


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


def run_case(solver, calls, request, load):
    """What was wrong with one case ('': nothing), and its keys. request: its fields, the mode first."""
    start, mode = now_ns(), request[0]
    kind, *fields = solver.request(*request)
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


def checked_names(text):
    """The names of calibrators, if they are short, distinct words."""
    names = text.split(" ")
    if len(names) > MAX_CALIBRATORS or len(set(names)) != len(names) or not all(
            0 < len(name) <= MAX_NAME and WORD.union(".-").issuperset(name) for name in names):
        raise SolverFailed(MALFORMED)
    return names


def keys_of_times(fields, calls, elapsed):
    """The keys of an answer with times, if it is plausible."""
    names = checked_names(fields[0] if fields else "")
    if len(fields) != 4 + len(names):
        raise SolverFailed(MALFORMED)
    _, samples, disturbed, *beats, compiled = fields
    samples = checked_times(samples, *calls[1:], elapsed)
    count = len(samples)
    beats = {name: checked_times(times, count, count, elapsed) for name, times in zip(names, beats)}
    if len(disturbed) != count or not (compiled.isascii() and compiled.isdigit() and len(compiled) < 10):
        raise SolverFailed(MALFORMED)
    references = references_of(os.environ.get("KETTLE_CALIBRATION", ""))
    keys = score_of(samples, beats, [flag != "0" for flag in disturbed], references)
    return {**keys, "compiled": compiled} if int(compiled) else keys


def run_mode(solver, channel, mode, calls, cases, load, prints_score):
    """All cases with their lines. Returns whether everything was right."""
    noun, passed = "test" if mode == "test" else "benchmark", True
    channel.report(f"{noun}-count", len(cases))
    for i, case in enumerate(cases):
        ended, request = False, (mode, ",".join(map(str, calls)), *map(str, case))
        try:
            error, keys = run_case(solver, calls, request, load)
        except SolverFailed as failure:
            if solver.gone and i == 0 and ends_alone(load):
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
    return passed


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


def main(argv, load=None, calls=CALLS, prints_score=False):
    """Runs the referee and ends the process. load: as of solver.Worker; calls: as CALLS."""
    channel, peer = open_channel(), take_number("KETTLE_PEER_FD")
    if len(argv) != 3 or argv[1] not in calls:
        blame(channel, "task", USAGE, "usage: POPCORN_FD=N python3 eval.py test|benchmark|leaderboard|profile CASES")
    if peer is None:
        blame(channel, "task", USAGE, "there is no solver: the task's config must be {main: eval.py, solver: solver.py}")
    mode, passed, status, solver = argv[1], False, TEST_FAILED, Solver(peer)
    try:
        passed = run_mode(solver, channel, mode, calls[mode], read_cases(argv[2], take_secret()), load, prints_score)
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
