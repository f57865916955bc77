# SPDX-License-Identifier: MIT
"""Processes that are prepared before their run: what making, keeping and ending them does to the kernels of another process,
and what they spare a run. Each process carries out commands (beside/program.cu, beside/forks.py) and says when."""
import contextlib
import os
import select
import socket
import statistics
import subprocess
import time
import traceback

from commands import ends, kill, read_ends
from engine import Trouble

LIMIT = 20  # seconds for a step of a process
KINDS = ("20 µs", "200 µs", "5 ms", "copy of 256 MiB")
FRESH = ("init", "context", "small", "run")
HELD, HELD_SMALL = 1024, 64  # MiB that a process holds whose end is looked at


def quantile(values, part):
    values = sorted(values)
    return values[min(len(values) - 1, int(part * len(values)))]


def ms(ns):
    return "" if ns is None else "%.2f" % (ns / 1e6)


class Child:
    """A process that carries out commands; one that is late, dies or fails in a command is Trouble."""

    def __init__(self, pid, commands, said, errors):
        self.pid, self.commands, self.said, self.errors, self.text = pid, commands, said, errors, b""
        self.made, self.seen = time.monotonic_ns(), {}
        self.fd = os.pidfd_open(pid)

    def tell(self, *lines):
        try:
            os.write(self.commands, "".join(line + "\n" for line in lines).encode())
        except OSError as error:
            raise self.trouble("it takes no command: %s" % error)

    def line(self, limit):
        end = time.monotonic() + limit
        while b"\n" not in self.text:
            if not select.select([self.said], [], [], max(0, end - time.monotonic()))[0]:
                raise self.trouble("it said nothing for %.1f s" % limit)
            data = os.read(self.said, 1 << 16)
            if not data:
                raise self.trouble("it ended")
            self.text += data
        line, self.text = self.text.split(b"\n", 1)
        return line.decode("utf-8", "replace").split(" ", 3)

    def until(self, word, limit=LIMIT):
        """(begin, end, [lines before that are no command's]) of a command, once it is done."""
        end, others = time.monotonic() + limit, []
        while True:
            words = self.line(max(0.01, end - time.monotonic()))
            if words[0] in ("sample", "free", "longest", "size"):
                others.append([words[0]] + [float(one) for one in " ".join(words[1:]).split()])
                continue
            if len(words) > 3:
                raise self.trouble("%s: %s" % (words[0], words[3]))
            self.seen[words[0]] = (int(words[1]), int(words[2]))
            if words[0] == word:
                return int(words[1]), int(words[2]), others

    def do(self, word, value="", limit=LIMIT):
        self.tell(("%s %s" % (word, value)).strip())
        return self.until(word, limit)

    def gone(self):
        return bool(select.select([self.fd], [], [], 0)[0])

    def end(self, way="exit", limit=LIMIT):
        """Has it end; (when its end began, when it was over)."""
        began = time.monotonic_ns()
        if way == "kill":
            os.kill(self.pid, 9)
        else:
            self.tell(way)
        if not select.select([self.fd], [], [], limit)[0]:
            raise self.trouble("it did not end in %.0f s" % limit)
        return began, time.monotonic_ns()

    def trouble(self, why):
        self.errors.seek(0)
        return Trouble("a process on the GPU: %s" % why, {"stderr": ends(self.errors.read().decode("utf-8", "replace")),
                                                          "done": {key: ms(b - a) for key, (a, b) in self.seen.items()}})

    def close(self):
        with contextlib.suppress(OSError):
            os.kill(self.pid, 9)
        select.select([self.fd], [], [], 5)
        for fd in (self.fd, self.commands, self.said):
            os.close(fd)
        self.errors.close()


class Maker:
    """Makes children and sees to it that none stays."""

    def __init__(self, here):
        self.here, self.children, self.popen = here, [], []

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.clear()

    def clear(self, *kept):
        for child in [one for one in self.children if one not in kept]:
            child.close()
            self.children.remove(child)
        for one in self.popen:
            one.poll()

    def start(self, commands, said, errors):
        raise NotImplementedError

    def make(self, *lines):
        inner, commands = os.pipe()
        said, outer = os.pipe()
        errors = open(os.path.join(self.here.scratch, "errors-%d" % time.monotonic_ns()), "w+b")
        began = time.monotonic_ns()
        try:
            pid = self.start(inner, outer, errors)
        finally:
            os.close(inner)
            os.close(outer)
        child = Child(pid, commands, said, errors)
        child.made = began
        self.children.append(child)
        if lines:
            child.tell(*lines)
        return child

    def prepared(self):
        """One that waits with a context."""
        child = self.make(*FRESH[:3])
        child.until("small")
        return child


class Programs(Maker):
    """Of the CUDA program."""

    def __init__(self, here, program):
        super().__init__(here)
        self.program = program

    def start(self, commands, said, errors):
        made = subprocess.Popen([self.program], stdin=commands, stdout=said, stderr=errors, cwd=self.here.scratch)
        self.popen.append(made)
        return made.pid


class Forks(Maker):
    """Of an interpreter that has torch imported."""

    def __init__(self, here, device, *modules):
        super().__init__(here)
        self.ours, theirs = socket.socketpair()
        self.errors = open(os.path.join(here.scratch, "forks-errors-%d" % time.monotonic_ns()), "w+b")
        script = os.path.join(here.root_of_tests, "beside", "forks.py")
        self.parent = subprocess.Popen([here.python, "-B", script, str(theirs.fileno()), device, *modules], pass_fds=[theirs.fileno()],
                                       stdin=subprocess.DEVNULL, stdout=self.errors, stderr=self.errors, cwd=here.scratch,
                                       start_new_session=True, env={**os.environ, "PYTORCH_NVML_BASED_CUDA_CHECK": "1"})
        theirs.close()

    def answer(self, limit):
        data = self.ours.recv(4096) if select.select([self.ours], [], [], limit)[0] else b""
        if not data:
            raise Trouble("the interpreter with torch does not answer", {"stderr": ends(read_ends(self.errors))})
        return data.decode()

    def start(self, commands, said, errors):
        socket.send_fds(self.ours, [b"f"], [commands, said, errors.fileno()])
        return int(self.answer(LIMIT))

    def __exit__(self, *_):
        self.clear()
        kill(self.parent)
        self.ours.close()
        self.errors.close()


# ---- What others do to kernels ----

class Loop:
    """Processes that begin, open the GPU and end, over and over; remembers when each step was."""

    def __init__(self, maker, count, lines):
        self.maker, self.lines, self.phases, self.now = maker, lines, [], []
        for _ in range(count):
            self.now.append(maker.make(*lines))

    def step(self):
        for number, child in enumerate(self.now):
            if child.gone():
                with contextlib.suppress(Trouble):
                    child.until(self.lines[-1], 1)
                self.phases += [(word, *span) for word, span in child.seen.items() if word in ("init", "context")]
                if "exit" in child.seen:
                    self.phases.append(("end", child.seen["exit"][0], time.monotonic_ns()))
                self.maker.children.remove(child)
                child.close()
                self.now[number] = self.maker.make(*self.lines)


class Ends:
    """Prepared processes that end, one after the other."""

    def __init__(self, maker, count, span):
        self.waiting, self.pause, self.next = [maker.make(*FRESH[:3]) for _ in range(count)], span / (count + 1), None
        for child in self.waiting:
            child.until("small")

    def step(self):
        self.next = self.next or time.monotonic() + self.pause
        if self.waiting and time.monotonic() > self.next:
            self.waiting.pop().tell("exit")
            self.next += self.pause


class Import:
    """A process that imports torch, over and over, without a GPU."""

    def __init__(self, python):
        self.python, self.now = python, None

    def step(self):
        if self.now is None or self.now.poll() is not None:
            self.now = subprocess.Popen([self.python, "-c", "import torch"], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                        stderr=subprocess.DEVNULL, start_new_session=True,
                                        env={**os.environ, "CUDA_VISIBLE_DEVICES": ""})

    def __del__(self):
        if self.now:
            kill(self.now)


def measured(measurer, span, other):
    """The samples of a measurement, while another does its steps."""
    measurer.tell("measure %.2f" % span)
    end = time.monotonic() + span + LIMIT
    while not select.select([measurer.said], [], [], 0.001)[0] and time.monotonic() < end:
        if other:
            other.step()
    return measurer.until("measure", LIMIT)[2]


def row_of(name, kind, samples):
    host, events = [one[3] for one in samples], [one[4] for one in samples]
    return (name, kind, len(samples), *("%.1f" % (quantile(host, part) / 1e3) for part in (0.05, 0.5, 0.95, 0.99, 1)),
            *("%.1f" % (quantile(events, part) / 1e3) for part in (0.5, 0.95, 0.99, 1)))


def by_phase(name, samples, phases):
    """The same samples by what the other processes did at that time."""
    for word in ("init", "context", "end"):
        spans = [(begin, end) for what, begin, end in phases if what == word]
        for number, kind in enumerate(KINDS):
            met = [one for one in samples if one[1] == number and any(one[2] < end and one[2] + one[3] > begin for begin, end in spans)]
            if met:
                yield row_of("%s: during %s" % (name, word), kind, met)


def disturbance(here, section, maker, end):
    measurer = maker.make("init", "context", "prepare")
    measurer.until("prepare")
    span, rows = min(2.2, max(0.3, (end - time.monotonic()) / 35)), []
    others = [("alone", lambda: None), ("1 idle context", lambda: maker.prepared()),
              ("2 idle contexts", lambda: [maker.prepared(), maker.prepared()]),
              ("1 process begins and ends, over and over", lambda: Loop(maker, 1, ("init", "context", "exit"))),
              ("3 processes end", lambda: Ends(maker, 3, span)),
              ("2 processes begin and end, over and over", lambda: Loop(maker, 2, ("init", "context", "exit"))),
              ("kernels of 200 µs (it must show)", lambda: maker.make("init", "context", "prepare", "spin 60").until("prepare") and None)]
    if here.modules.get("torch"):
        others.append(("1 process imports torch", lambda: Import(here.python)))
    others.append(("alone, again", lambda: None))
    try:
        for name, make in others:
            if time.monotonic() + span > end:
                section.late.append("kernels beside: " + name)
                continue
            other = make()
            samples = measured(measurer, span, other if hasattr(other, "step") else None)
            rows += [row_of(name, kind, [one for one in samples if one[1] == number]) for number, kind in enumerate(KINDS)
                     if any(one[1] == number for one in samples)]
            rows += by_phase(name, samples, getattr(other, "phases", []))
            section.test("kernels beside: " + name, len(samples) > 0, "%d samples" % len(samples))
            other = None
            maker.clear(measurer)
    finally:
        section.facts["kernels beside others"] = rows
        section.table(("beside", "kernel", "samples", "host p5", "median", "p95", "p99", "max", "events median", "p95", "p99", "max"),
                      rows, "What other processes on the GPU do to kernels, µs: by the host's clock around launch and wait, and by events")
    return measurer


# ---- The life of a process ----

def spent(child, word):
    begin, end = child.seen[word]
    return end - begin


def fresh(maker):
    child = maker.make(*FRESH)
    child.until("run")
    maker.children.remove(child)
    child.close()
    return {"start": child.seen["main"][0] - child.made, **{word: spent(child, word) for word in FRESH},
            "in all": child.seen["run"][1] - child.made}


def go(child, word="run", value="", limit=LIMIT):
    """ns from the word to the end of the first kernel."""
    began = time.monotonic_ns()
    return child.do(word, value, limit)[1] - began


def host_memory(pid):
    with open("/proc/%d/smaps_rollup" % pid) as file:
        sizes = {line.split()[0]: int(line.split()[1]) for line in file if line.startswith(("Rss", "Pss:", "Private"))}
    return sizes["Rss:"] >> 10, (sizes["Private_Clean:"] + sizes["Private_Dirty:"]) >> 10


def ended(watcher, maker, way, held):
    """What the end of a process takes that holds so many MiB: until its parent sees it, until its memory is free."""
    child = maker.prepared()
    child.do("hold", held)
    before = watcher.do("memory")[2][0][2]
    watcher.tell("watch 5")
    if way == "reset":
        began = time.monotonic_ns()
        child.do("reset")
        over = child.end()[1]
    else:
        began, over = child.end(way)
    time.sleep(0.1)  # for memory that comes back later than that
    watcher.tell("stop")
    said = watcher.until("stop")[2]
    free = [one for one in said if one[0] == "free" and one[1] > began]
    first = next((one[1] - began for one in free if one[2] - before >= held << 20), None)
    return over - began, first, free[-1][1] - began if free else None, max([one[1] for one in said if one[0] == "longest"] or [0])


def life(section, name, maker, watcher, end, library=None):
    rows, times = [], 3
    hold = HELD_SMALL if maker.here.args.small else HELD
    made = [fresh(maker) for _ in range(times)]
    for key in made[0]:
        rows.append(("fresh: " + key, *(ms(one[key]) for one in made)))
    free = watcher.do("memory")[2][0][2]
    waiting = [maker.prepared() for _ in range(times)]
    held = (free - watcher.do("memory")[2][0][2]) / times / (1 << 20)
    memory = [host_memory(child.pid) for child in waiting]
    section.facts["memory of waiting processes, %s" % name] = {"GPU, MiB": held, "host, MiB (rss, private)": memory}
    rows.append(("prepared: memory held, MiB: GPU; host, resident and private", "%.0f" % held, *("%d, %d" % one for one in memory[:2])))
    rows.append(("prepared: from go to the end of its kernel", *(ms(go(child)) for child in waiting)))
    maker.clear(watcher)
    if library:
        rows.append(("prepared: the same of a library", *(ms(go(maker.prepared(), "load", library)) for _ in range(times))))
        maker.clear(watcher)
    one = [maker.prepared() for _ in range(2 * times)]
    waits = []
    for first, second in zip(one[:times], one[times:]):
        first.do("run")
        first.tell("exit")
        waits.append(go(second))
    rows.append(("prepared: go while the one before ends", *map(ms, waits)))
    maker.clear(watcher)
    begun = maker.prepared()
    begun.do("run")
    begun.tell("exit")
    rows.append(("fresh, in all, while the one before ends", ms(fresh(maker)["in all"])))
    maker.clear(watcher)
    for way in ("exit", "_exit", "kill") + (("reset",) if library else ()):
        if time.monotonic() > end:
            section.late.append("%s: end by %s" % (name, way))
            continue
        found = [ended(watcher, maker, way, hold) for _ in range(2)]
        for number, what in enumerate(("until it is gone", "until %d MiB are free" % hold, "until nothing more comes free",
                                       "longest look at the memory meanwhile")):
            rows.append(("end by %s: %s" % (way, what), *(ms(one[number]) for one in found)))
        maker.clear(watcher)
    section.facts["life, %s" % name] = rows
    section.table((name, "first", "second", "third"), rows, "The life of a process on the GPU, %s, ms" % name)


def rates(section, name, maker, watcher, end, rows):
    for at_once, count in ((1, 3), (2, 6), (4, 8)):
        if time.monotonic() + 2 > end:
            section.late.append("%s: processes prepared %d at once" % (name, at_once))
            continue
        began, running, done, left = time.monotonic(), [], [], count
        while len(done) < count and time.monotonic() < began + LIMIT:
            while left and len(running) < at_once:
                running.append(maker.make(*FRESH[:3]))
                left -= 1
            for child in [one for one in running if select.select([one.said], [], [], 0.001)[0]]:
                child.until("small")
                running.remove(child)
                done.append((child.seen["small"][1] - child.made) / 1e6)
        took = time.monotonic() - began
        rows.append((name, at_once, len(done), "%.2f" % (len(done) / took), "%.0f" % statistics.median(done), "%.0f" % max(done)))
        maker.clear(watcher)
    section.facts["processes prepared"] = rows


# ---- Compilers ----

def compilers(here, section, maker, end, filled):
    """First kernels of Triton and torch.compile in prepared processes."""
    imported(section, maker, end, "torch and its compilers")
    rows, folder = [], os.path.join(here.scratch, "beside-caches")
    artifacts = os.path.join(folder, "artifacts")
    tries = [("Triton, no cache", "empty", ("triton", "again")), ("Triton, cache of an earlier process", "empty", ("triton",)),
             ("Triton, cache filled without a GPU", "filled", ("triton",)),
             ("torch.compile in the process, no cache", "one", ("alone", "compile", "save " + artifacts)),
             ("torch.compile in the process, cache of an earlier process", "one", ("alone", "compile")),
             ("torch.compile in the process, saved artifacts", "other", ("alone", "load " + artifacts, "compile")),
             ("torch.compile with its workers, no cache", "workers", ("compile",))]
    if not here.modules.get("triton", {}).get("works"):
        tries = [one for one in tries if not one[0].startswith("Triton")]
    if filled:
        done = filled.poll()
        section.test("Triton fills a cache without a GPU", done == 0, "it ended with %s" % done)
    os.makedirs(folder, exist_ok=True)
    for name, cache, words in tries:
        if time.monotonic() + 3 > end:
            section.late.append(name)
            continue
        limit = min(20, end - time.monotonic())
        try:
            child = maker.prepared()
            child.do("caches", os.path.join(folder, cache))
            spent_now = [(word.split()[0], go(child, *word.split(), limit=limit)) for word in words]
            rows.append((name, ", ".join("%s %s" % (word, ms(ns)) for word, ns in spent_now)))
            section.test(name, True)
        except Trouble as trouble:
            section.test(name, False, trouble, **trouble.evidence)
        maker.clear()
    section.facts["first kernels of compilers"] = rows
    section.table(("in a prepared process", "ms"), rows, "First kernels that are compiled, from go to the end of the kernel")


def fill(here):
    """Begins to fill Triton's cache in a process that sees no GPU."""
    said = str(here.gpus[0].get("compute_cap", "")).replace(".", "")
    if not said.isdigit() or not here.modules.get("triton", {}).get("works"):
        return None
    env = {**os.environ, "CUDA_VISIBLE_DEVICES": "", "TRITON_CACHE_DIR": os.path.join(here.scratch, "beside-caches", "filled", "triton")}
    return subprocess.Popen([here.python, "-B", "-c", "import triton_add; triton_add.fill(%s)" % said],
                            stdin=subprocess.DEVNULL, cwd=os.path.join(here.root_of_tests, "beside"), env=env, start_new_session=True)


# ---- The section ----

def compiled(here, section):
    """The program and its library, or nothing."""
    folder = os.path.join(here.root_of_tests, "beside")
    said = str(here.gpus[0].get("compute_cap", "")).replace(".", "")
    flags = ["-O1", "-std=c++17"] + (["-gencode=arch=compute_%s,code=sm_%s" % (said, said)] if said.isdigit() else [])
    program, library = os.path.join(here.scratch, "beside-program"), os.path.join(here.scratch, "beside-vectoradd.so")
    kernel = os.path.join(folder, "vectoradd.cu")
    for name, words in (("program", ["-o", program, os.path.join(folder, "program.cu"), kernel]),
                        ("library", ["-shared", "-Xcompiler=-fPIC", "-o", library, kernel])):
        done = here.commands.run(here.nvcc, *flags, *words, limit=60)
        if not section.test("nvcc compiles the %s" % name, done.ok(), "" if done.ok() else done.why(), command=done.evidence()):
            return None, None
    return program, library


def attempt(here, section, name, end, work, *arguments):
    """A part, whatever comes of it. What it returns."""
    if time.monotonic() + 2 > end:
        section.late.append(name)
        return None
    try:
        made = work(*arguments)
        section.test(name, True)
        return made
    except Trouble as trouble:
        section.test(name, False, trouble, **trouble.evidence, smi=here.smi())
    except Exception as error:
        section.test(name, False, "%s: %s" % (type(error).__name__, error), traceback=traceback.format_exc())
    return None


def imported(section, forks, end, name):
    """Waits for an interpreter that imports, and tells whether that opened a GPU."""
    said = forks.answer(max(1, min(60, end - time.monotonic()))).split()
    section.note("An interpreter imported %s in %s s; nodes that it opened: %s." % (name, said[0], ", ".join(said[1:]) or "none"))


def with_torch(here, section, forks, programs, end, rows):
    imported(section, forks, end, "torch")
    watcher = programs.make("init", "context")
    watcher.until("context")
    attempt(here, section, "the life of a process, torch", end, life, section, "torch", forks, watcher, end)
    forks.clear()
    attempt(here, section, "processes prepared a second, torch", end, rates, section, "torch", forks, None, end, rows)
    forks.clear()


def look(here, section, share):
    end = time.monotonic() + share
    if here.vendor != "nvidia" or not here.nvcc:
        section.skip("prepared processes", "there is no nvcc")
        return
    torch = here.modules.get("torch", {}).get("available")
    rows, filled = [], fill(here) if torch else None
    with contextlib.ExitStack() as stack:
        forks = stack.enter_context(Forks(here, "cuda")) if torch else None
        compiling = stack.enter_context(Forks(here, "cuda", *(["triton"] if here.modules.get("triton", {}).get("works") else []),
                                              "torch._dynamo", "torch._inductor.compile_fx")) if torch else None
        program, library = compiled(here, section)
        if not program:
            return
        with Programs(here, program) as maker:
            attempt(here, section, "kernels beside other processes", end, disturbance, here, section, maker, end)
            maker.clear()
            attempt(here, section, "the life of a process, C", end, c_life, section, maker, end, library)
            maker.clear()
            if forks:
                attempt(here, section, "torch", end, with_torch, here, section, forks, maker, end, rows)
                maker.clear()
            attempt(here, section, "processes prepared a second, C", end, rates, section, "C", maker, None, end, rows)
        if forks:
            attempt(here, section, "compilers", end, compilers, here, section, compiling, end, filled)
        else:
            section.skip("processes with torch", "torch sees no GPU")
    if filled:
        kill(filled)
    section.table(("", "at once", "made", "a second", "median ms", "max ms"), rows, "Processes that are prepared while nothing else runs")


def c_life(section, maker, end, library):
    watcher = maker.make("init", "context")
    watcher.until("context")
    life(section, "C", maker, watcher, end, library)
