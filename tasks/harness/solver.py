# SPDX-License-Identifier: MIT
"""The solver of Python boards: the process that has the submission. eval.py, the referee, tells it what to do.

It imports task and submission, and calls custom_kernel. It knows neither the secret nor the cases, and has no result
channel: all that it can do is answer. Where there is no GPU, the referee judges by itself: it has this process serve
calls by memory and pipes (exchange.py). On GPUs this process judges, with the functions of eval.py: there it
makes the inputs, checks and times, one case at a time, and the referee believes no answer that is not plausible.

Requests and answers are lines of text, their fields apart by tabs, on the socket that KETTLE_PEER_FD names:

  token  calls              with the ends of two pipes: serve calls by them
  token  session            the same in a process of its own, which imports the submission anew and ends with the pipes; where
                            the task has started threads, that cannot be: as `calls`
  token  mode  counts  case  seed  key      judge: `test`, `profile`, or a mode with times; how often to call (of a
                                            test; to warm up, at least, at most); the case, its seed, its calls' key
  token  built          tell what compilers have built in this process, where run.py counts that
  token  ready          calls are served; with a further field `only` by this process, which serves no others
  token  gpu            they are not, as torch has found one
  token  pass  names    the outputs of a test are right; which libraries of WATCHED are loaded
  token  times  …       what `measure` returns
  token  report  text   of a profile
  token  built  text    as built.py of the language py says it
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
from select import POLLHUP, poll
from signal import SIG_DFL, SIGKILL, signal
from struct import unpack, unpack_from

import eval as judge
import exchange
import utils
from exchange import FACTS, LOAD, MAX_TABLE, PAGE, PROFILE, RAISED, REFUSED, RETURNED, SCALARS, TENSORS, Unpacker
from exchange import bounds_of, rounded, task_classes
from utils import WATCHED, BadCase, computes_by_itself, described, flush_streams, on_one_line, quiet_warnings, take_number
from utils import write_all

MAX_REPORT = 1 << 16  # characters of a profile
PR_SET_CHILD_SUBREAPER = 36
RESULTS, LARGE_RESULT = 9, 1 << 18  # for so many the heap has pages when timing begins, of an input's size and so many bytes each
MAX_PIPES = 64  # bytes of rights that come with a request
CACHE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "out", "cache")  # where compilers keep what they make


def raised(error):
    """What is said of an error of the submission; the rest is on standard error."""
    judge.print_traceback(error)
    return f"custom_kernel raised {described(error)}"


def compiled():
    """The files that compilers have left, with the time of the last change: that tells little of when, as its clock is coarse."""
    found = {}
    for folder, below, files in os.walk(CACHE):
        below[:] = [name for name in below if name != "locks"]
        for file in files:
            path = os.path.join(folder, file)
            try:
                found[path] = os.lstat(path).st_ctime_ns
            except OSError:
                pass
    return found


class Facts:
    """What `facts` tells: libraries that are loaded, and how many files compilers have left since it last told."""

    def __init__(self):
        self._compiled = compiled()

    def text(self):
        names, before = " ".join(name for name in WATCHED if name in sys.modules), self._compiled
        self._compiled = compiled()
        return f"{names}\t{len(self._compiled.items() - before.items())}"


def built():
    """What compilers have built in this process, in a line; "": nothing counts it."""
    counted = sys.modules.get("kettle_built")
    try:
        return on_one_line(counted.text()) if counted else ""
    except Exception as error:
        judge.print_traceback(error)
        return ""


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
    apart = False

    def __init__(self, kernel, clock, pid):
        self._kernel, self._clock, self._pid, self._facts = kernel, clock, pid, Facts()

    def load(self, data):
        """Returns what the output is to be checked against."""
        self._data = data
        return utils.copied(data)

    def timed(self, call, times):
        """A copy of the call's output. times: of the calibrator; 0: memory need not be cold."""
        before = 0
        if times:
            self._clock.prepare()
            before = judge.times_interrupted()
            call.beside = self._clock.calibrate(times) if self._clock.calibrator else ()
        try:
            call.ns, output = self._clock.timed(self._kernel, self._data)
            call.interrupted = times > 0 and judge.times_interrupted() != before
            return utils.copied(output, strict=True)  # at once: what is written later does not count
        finally:
            self._data = None
            only_one_process(self._pid)

    def facts(self):
        return self._facts.text().split("\t")

    def profile(self):
        self._clock.prepare()
        try:
            return report_of(self._kernel, self._data)
        except Exception as error:
            raise exchange.Raised(raised(error)) from None


# ---- Calls that the referee judges ----

class Writer:
    """Makes tables. What lies outside of the memory is copied to where its outputs begin."""

    def __init__(self, memory):
        import json
        self._memory, self._kept, self._json, self._form, self._kind = memory, [], json.dumps, None, None
        self._first, self._end = unpack_from("2Q", memory.map, 16)
        if memory.shared:
            self._end = memory.shared[2]
        self.clear()

    def clear(self):
        self._next = self._first
        self._kept.clear()

    def table(self, value):
        """Where a table is and how long. This is a part of the call's time, and caches are cold: of a result of the last
        one's form nothing but the place is looked up."""
        self._memory.look()
        if self._form and type(value) is self._kind and self._form == self._form_of(value):
            address = value.__array_interface__["data"][0] if self._arrays else value.data_ptr()
            at = self._memory.offset_of(address, self._size)
            if at is not None:
                self._kept.append(value)
                return self._written(self._text % at)
        return self.text(self._remembered(value, self._coded(value)))

    def _form_of(self, value):
        """What a table says of a tensor or array besides its place; False: that cannot be told so."""
        if self._arrays:
            return value.dtype, value.shape, value.strides
        return value.layout is self._strided and not (value.is_conj() or value.is_neg()) and (
            value.dtype, value.shape, value.stride(), value.requires_grad)

    def _remembered(self, value, text):
        """The text, of which all but the place is kept if the value is a tensor or array without gaps."""
        torch, numpy = (sys.modules.get(name) for name in ("torch", "numpy"))
        self._kind, self._arrays, self._form = type(value), bool(numpy) and type(value) is numpy.ndarray, None
        self._strided = getattr(torch, "strided", None)
        if self._arrays and value.flags.c_contiguous:
            self._form, self._size = self._form_of(value), value.nbytes
        elif torch and self._kind is torch.Tensor and (form := self._form_of(value)) and value.is_contiguous():
            self._form, self._size = form, value.numel() * value.element_size()
        if self._form:
            before, _, *after = text.rsplit(",", 1 if self._arrays else 2)
            self._text = (",".join((before, "%d", *after)) if after else before + ",%d]}").encode()
        return text

    def text(self, text):
        return self._written(text.encode("utf-8", "replace")[:MAX_TABLE])

    def _written(self, data):
        at = self._room(len(data))
        self._memory.map[at:at + len(data)] = data
        return at, len(data)

    def _room(self, size):
        at = self._next
        if at + size > self._end:
            raise MemoryError("the output is larger than the memory that referee and solver share")
        self._next = rounded(at + size)
        return at

    def _place(self, address, size):
        at = self._memory.offset_of(address, size)
        if at is None:
            at = self._room(size)
            self._memory.copy(self._memory.address + at, address, size)
        return at

    def _coded(self, value):
        """Its text."""
        kind, torch, numpy, jax = type(value), *(sys.modules.get(name) for name in ("torch", "numpy", "jax"))
        if torch and issubclass(kind, torch.Tensor):
            return '{"tensor":["%s",%s,%s,%d,%s]}' % self._tensor(torch, value)
        if numpy and issubclass(kind, numpy.ndarray):
            return '{"array":["%s",%s,%s,%d]}' % self._array(numpy.ndarray.view(value, numpy.ndarray))
        if kind in SCALARS or kind is list and SCALARS.issuperset(map(type, value)):
            return self._json(value)
        if kind is list:
            return self._items(value)
        if numpy and any(kind is one for one in numpy.sctypeDict.values()):
            return '{"number":["%s",%s,%s,%d]}' % self._array(numpy.array(value))
        if jax and isinstance(value, jax.Array):
            import numpy
            return '{"jax":["%s",%s,%s,%d]}' % self._array(numpy.asarray(value))
        name = f"{kind.__module__}.{kind.__name__}".replace("builtins.", "")
        return "{%s:%s}" % (self._json(name), self._other(kind, value))

    def _items(self, values):
        return f"[{','.join(map(self._coded, values))}]"

    def _other(self, kind, value):
        if kind is dict:
            return f"[{','.join(map(self._items, value.items()))}]"
        if kind is tuple or kind is set or kind is frozenset:
            return self._items(value)
        if kind is complex:
            return self._json([value.real, value.imag])
        if kind is bytes or kind is bytearray:
            return self._json(self._bytes(value))
        if "array" in sys.modules and kind is sys.modules["array"].array:
            return self._json([value.typecode, *self._bytes(value.tobytes())])
        if issubclass(kind, tuple):
            name = next((name for name, one in task_classes() if one is kind), None)
            if name:
                return f"[{self._json(name)},{self._items(tuple.__iter__(value))}]"
        raise TypeError(REFUSED.format(f"{kind.__module__}.{kind.__qualname__}"))

    def _bytes(self, value):
        at = self._room(len(value))
        self._memory.map[at:at + len(value)] = value
        return [at, len(value)]

    def _tensor(self, torch, value):
        if computes_by_itself(torch, value):
            raise TypeError(REFUSED.format(f"{type(value).__module__}.{type(value).__qualname__}"))
        with torch._C.DisableTorchFunction(), torch.no_grad():
            grad = value.requires_grad
            if type(value) is not torch.Tensor:
                value = torch.Tensor.as_subclass(value, torch.Tensor)
            if value.is_conj() or value.is_neg():
                value = value.resolve_conj().resolve_neg()
            if value.layout is not torch.strided or value.device.type != "cpu" or (
                    str(value.dtype)[6:] not in TENSORS):
                raise TypeError(f"the output holds a tensor of the layout {value.layout}, on {value.device}, of the type "
                                f"{value.dtype}; return tensors with elements in the processor's memory")
            self._kept.append(value)
            shape, strides, item = list(value.shape), list(value.stride()), value.element_size()
            size = bounds_of(shape, strides, 1)[1] * item
            if not value.is_contiguous() and self._memory.offset_of(value.data_ptr(), size) is None:
                value = value.contiguous()
                self._kept.append(value)
                strides, size = list(value.stride()), value.numel() * item
            at = self._place(value.data_ptr(), size) if size else PAGE
            return str(value.dtype)[6:], shape, strides, at, "true" if grad else "false"

    def _array(self, value):
        if value.dtype.hasobject or value.dtype.fields:
            raise TypeError(REFUSED.format(f"numpy array of the type {value.dtype}"))
        self._kept.append(value)
        first, (low, high) = value.__array_interface__["data"][0], bounds_of(value.shape, value.strides, value.itemsize)
        at = self._place(first + low, high - low) - low if high > low else PAGE
        dtype = value.dtype
        return dtype.name if dtype.kind == "V" else dtype.str, list(value.shape), list(value.strides), at


class Driver:
    """Answers messages. kernel, and what PROFILE and FACTS give, which is text; failed(error) tells of an error what the
    participant may see. timed: whether the calls are those of a session."""

    def __init__(self, memory, pipes, kernel, failed=str, profile=None, facts=None, timed=False):
        self._memory, self._pipes, self._pid = memory, pipes, os.getpid()
        self._kernel, self._failed, self._profile, self._facts = kernel, failed, profile, facts
        self._unpacker, self._writer = Unpacker(memory), Writer(memory)
        self._data, self._late, self._timed = None, None, timed

    def serve(self):
        """Until the referee ends."""
        go, done = self._pipes
        answered, answer, read, write = self._answered, self._memory.answer, os.read, os.write
        while True:
            message = read(go, 16)
            if len(message) != 16:
                return
            what, nonce = unpack("Q8s", message)
            if what == LOAD:
                self._load()
            else:
                answer(nonce, *answered(what))
            write(done, nonce)

    def _load(self):
        gc.enable()
        self._data = self._late = None
        self._writer.clear()
        begin, length, places, there = self._memory.laid()
        for at, size in places:
            self._memory.map[at:at + size:PAGE]  # maps it
        if self._timed:
            self._memory.populate(RESULTS * (sum(size for _, size in places) + LARGE_RESULT))
        self._late = begin, length, places
        if there:
            self._data = self._unpacked()
        gc.disable()

    def _unpacked(self):
        begin, length, places = self._late
        self._late = None
        return self._unpacker.load(self._memory.map[begin:begin + length], places)

    def _answered(self, what):
        """Status, place and size of a table."""
        try:
            if what == FACTS:
                return RETURNED, *self._writer.text(self._facts())
            data = self._unpacked() if self._late else self._data
            if what == PROFILE:
                return RETURNED, *self._writer.text(self._profile(self._kernel, data))
            output = self._kernel(data)
            only_one_process(self._pid)
            if "jax" in sys.modules:  # it computes when it likes
                output = sys.modules["jax"].block_until_ready(output)
            return RETURNED, *self._writer.table(output)
        except BaseException as error:
            only_one_process(self._pid)
            self._writer.clear()
            return RAISED, *self._writer.text(self._failed(error))


def only_one_process(pid):
    """A submission that forks and returns in both processes would let the child answer too."""
    if os.getpid() != pid:
        os._exit(1)


# ---- Requests ----

class Worker:
    """Task and submission, imported by load (as judge.load_task); and what answers."""

    def __init__(self, load):
        gc.disable()  # an import makes garbage by the thousand, none of it worth looking for
        self._parts, self._problem, self.kernel, self.forks = load(), None, None, False
        try:
            judge.import_libraries()
            before = threads()
            self._task = next(self._parts)
            self.forks = 0 < before == threads()  # those that the task has started would be missing
        except BaseException as error:
            judge.print_traceback(error)
            self._problem = "task", f"the task cannot be imported: {described(error)}"
        gc.freeze()
        gc.enable()

    def import_submission(self):
        """Unless that has been done or cannot be."""
        if self._problem or self.kernel:
            return
        self._pid, self._problem = os.getpid(), ("import",)
        gc.disable()
        try:
            self.kernel, clock = next(self._parts), utils.clock()
            self._serves = isinstance(clock, utils.Cpu)
            self._judge = judge.Judge(self._task, clock, Local(self.kernel, clock, self._pid))
            self._problem = ("device",) if utils.lacks_device() else None
        except BaseException as error:
            judge.print_traceback(error)
        only_one_process(self._pid)
        gc.freeze()
        gc.enable()

    def answer(self, *request):
        """The fields of the answer to a request."""
        if request == ("built",):
            return "built", built()
        if self._problem:
            return self._problem
        try:
            return self._judge.answer(*request) if len(request) > 1 else ("ready" if self._serves else "gpu",)
        except BadCase as error:
            return "task", on_one_line(str(error))


def threads():
    """How many this process has; 0: there is no /proc to tell."""
    try:
        return len(os.listdir("/proc/self/task"))
    except OSError:
        return 0


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


def serve_calls(memory, kernel, pipes, timed):
    memory.share_heap()
    facts = Facts()
    Driver(memory, pipes, kernel, raised, report_of, facts.text, timed).serve()


def is_session(pipes):
    """Makes a process for a session. True in that one; in this one False, once it has ended as it was told to, by the end of
    the pipes: as it did else, so does this one."""
    flush_streams()
    adopt_orphans()
    with quiet_warnings():  # of libraries that have threads: the task has started none
        pid = os.fork()
    if pid == 0:
        return True
    go, done = pipes
    os.close(done)
    ended = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    told = poll()
    told.register(go, POLLHUP)
    if ended == 0 and told.poll(0) == [(go, POLLHUP)]:
        os.close(go)
        end_children()
        return False
    if ended < 0:
        if -ended != SIGKILL:
            signal(-ended, SIG_DFL)
        os.kill(os.getpid(), -ended)
    os._exit(ended)


def adopt_orphans():
    """What a session's processes leave behind becomes this process's children."""
    try:
        import _ctypes
        _ctypes.call_function(_ctypes.dlsym(_ctypes.dlopen(None, 0), "prctl"), (PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0))
    except (ImportError, AttributeError, OSError):
        pass


def end_children():
    """Until there are none: those of a child that has ended come here."""
    own = str(os.getpid())
    while True:
        found = 0
        for name in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{name}/stat", encoding="ascii", errors="replace") as file:
                    parent = file.read().rpartition(")")[2].split()[1]
                if parent == own:
                    os.kill(int(name), SIGKILL)
                    found += 1
            except OSError:  # it has ended
                pass
        try:
            os.waitpid(-1, 0 if found else os.WNOHANG)
        except ChildProcessError:
            return


def serve(peer, load):
    """Answers requests until an empty one comes, or the referee ends; in the process of a session, until that is over."""
    memory = take_number("KETTLE_SHM_FD")
    worker = Worker(load)
    while True:
        (token, *fields), pipes = received(peer)
        if not fields:
            return
        own = fields == ["session"] and worker.forks
        if own and not is_session(pipes):
            continue
        worker.import_submission()
        answer = worker.answer(*fields)
        serves = answer == ("ready",) and len(pipes) == 2
        if serves and not own:
            answer = "ready", "only"
        flush_streams()
        write_all(peer.fileno(), "\t".join((token, *answer)) + "\n")
        if serves or own:
            if serves:
                serve_calls(exchange.Memory(memory), worker.kernel, pipes, own)
            return


def main(load=judge.load_task):
    """Runs the solver and ends the process. load: as of Worker."""
    judge.stderr_fd, status = os.dup(2), 0
    fd = take_number("KETTLE_PEER_FD")
    os.environ.setdefault("OMP_NUM_THREADS", str(len(os.sched_getaffinity(0))))
    try:
        import _socket
        os.set_inheritable(fd, False)
        utils.keep_memory()
        peer = _socket.socket(fileno=fd)  # open until this process ends, which is what the referee waits for
        serve(peer, load)
    except BaseException as error:
        judge.print_traceback(error)
        status = 1
    flush_streams()
    os._exit(status)


if __name__ == "__main__":
    main()
