# SPDX-License-Identifier: MIT
"""The memory that referee and solver of a board share, and the calls that are made by it (docs/protocol.md, "The control page").

The memory (KETTLE_SHM_FD) begins with a control page, whose numbers are unsigned, of 64 bits, in the machine's order:

     0  8 bytes  MAGIC                                      written once, by the referee
     8  number   where the inputs begin
    16  number   where the outputs begin: the inputs end there
    24  number   where the outputs end
    64  number   where the structure of the input is         written by the referee before LOAD
    72  number   how many bytes it has
    80  number   where the list of the input's buffers is: for each where it is and how many bytes it has
    88  number   how many buffers there are
    96  number   1 if the structure is there only from GO on, else 0
   128  8 bytes  the nonce of the message that is answered    written by the solver before it answers GO, PROFILE, FACTS
   136  number   RETURNED or RAISED
   144  number   where the table is: what was returned, or as text what was raised
   152  number   how many bytes it has, at most MAX_TABLE

Two pipes, which the referee passes by the socket, hand over: a message of the referee is a number, what to do, and a nonce
of 8 bytes; the solver's answer is that nonce. LOAD: builds the views of the input and sleeps; only then the referee writes
the buffers' bytes. GO: calls custom_kernel. PROFILE: the same under a profiler. FACTS: tells what is loaded.

A structure is a pickle in which tensors and arrays are numbers of buffers, with types and shapes: the solver trusts the
referee. A table is JSON that the referee reads from a copy of its own and of which it believes nothing: None, numbers, text
and lists are themselves, all else an object of one name (READERS); elements of tensors and arrays are places in
the memory, each checked, that are copied before anything is computed.
"""
import os
import select
import sys
from resource import RUSAGE_THREAD, getrusage
from struct import pack_into, unpack_from
from time import perf_counter_ns as now_ns, thread_time_ns

from utils import BadCase, on_one_line, quiet_warnings, write_all

MAGIC = b"KETTLE\0\1"
HEAD, INPUT, ANSWER = 0, 64, 128  # parts of the control page, of at most 64 bytes
PAGE = 4096
LOAD, GO, PROFILE, FACTS = range(1, 5)
RETURNED, RAISED = 1, 2
MAX_TABLE = 64 << 20
MAX_ANSWER = 1 << 20  # bytes
END_MS = 200  # from the end of one descriptor of a process that ends to that of another
MAX_HEAP = 1 << 30  # bytes: what no machine refuses
MADV_POPULATE_WRITE, MAX_AHEAD = 23, 32 << 20  # as in Linux 5.14 and later; bytes
MAX_DEPTH = 100  # of lists in lists
ALIGNED, APART = 64, 192  # bytes: where buffers begin, and what is between them
ECHO_EVERY, FIRST_ECHOES, ECHOES = 4, 8, 32  # calls for each echo; echoes at first, and those that count
MAX_WAIT = 50_000  # ns that the referee may wait for its core after an answer
MAX_ECHO = 25_000  # ns that an echo takes off at most, as the submission may slow it down
SHIFTS = 256  # by how many pages addresses differ from call to call
ENDED = "the submission ended before its results were checked"
INTRUDED = "the submission wrote into the harness's own socket, or closed it"
MALFORMED = "the solver's answer is malformed"
REFUSED = ("the output holds a {} that may compute late; return tensors, arrays, numbers, text, and lists, tuples and dicts "
           "of them")
SCALARS = frozenset((type(None), bool, int, float, str))
# Types of torch; others, such as quantized ones, are not those of elements in plain memory.
TENSORS = frozenset(("bool uint8 uint16 uint32 uint64 int8 int16 int32 int64 float16 bfloat16 float32 float64 complex32 complex64 "
                     "complex128 float8_e4m3fn float8_e5m2 float8_e4m3fnuz float8_e5m2fnuz float8_e8m0fnu float4_e2m1fn_x2").split())
# Types of numpy, as it writes them.
ARRAYS = (r"[<>|](b1|[iu][1248]|f(2|4|8|12|16)|c(8|16|24|32)|[SU][1-9][0-9]{0,8}|"
          r"[mM]8(\[([1-9][0-9]{0,5})?(Y|M|W|D|h|m|s|ms|us|ns|ps|fs|as)\])?)")
HOLDING = {"tuple": tuple, "set": set, "frozenset": frozenset}


class SolverFailed(Exception):
    """The solver ended, or wrote what is no answer, or what is not true: a sentence for the participant."""


class Raised(Exception):
    """The submission raised: a sentence for the participant."""


# ---- The state of one call ----

IDLE, LOADING, READY, RUNNING, DONE, FAILED = "idle", "loading", "ready", "running", "done", "failed"
SENDS = {(IDLE, LOAD): LOADING, (READY, GO): RUNNING, (READY, PROFILE): RUNNING, (IDLE, FACTS): RUNNING,
         (DONE, LOAD): LOADING, (DONE, FACTS): RUNNING}


def advance(state, event, page=b"", size=0):
    """The state after an event, as (name, what belongs to it): of LOADING and RUNNING the nonce, of DONE status, place and
    size of the table, of FAILED the sentence. event: ("send", what, nonce) or ("read", bytes: none at the end). page: the
    line of the control page that the solver writes, as it was copied after that; size: of the memory."""
    name, nonce = state
    if name == FAILED:
        return state
    if event[0] == "send":
        return SENDS[name, event[1]], event[2]
    if not event[1]:
        return FAILED, ENDED
    if name not in (LOADING, RUNNING) or event[1] != nonce:
        return FAILED, INTRUDED
    if name == LOADING:
        return READY, None
    status, at, length = unpack_from("3Q", page, 8)
    if page[:8] != nonce or status not in (RETURNED, RAISED) or length > MAX_TABLE or not PAGE <= at <= size - length:
        return FAILED, MALFORMED
    return DONE, (status, at, length)


# ---- Memory ----

class Memory:
    """The memory and, where kettle-exec gives one, the library for it. library: None, or its handle."""

    def __init__(self, fd, size=0):
        """Of a descriptor, or (-1) new memory of a size for a process and its children, of which untouched pages cost
        nothing."""
        import _ctypes  # a tenth of what ctypes costs
        import mmap
        flags = mmap.MAP_SHARED | (0x4000 | mmap.MAP_ANONYMOUS if fd < 0 else 0)  # MAP_NORESERVE
        self.fd, self.map, self._native = fd, mmap.mmap(fd, size or os.fstat(fd).st_size, flags), _ctypes
        self.size = len(self.map)
        self.types = [type(name, (_ctypes._SimpleCData,), {"_type_": name}) for name in "PLBi"]
        self._pointer, self._number, self._byte, _ = self.types
        self.address, self.shared, self._there = self.address_of(self.map), (), 0
        self._copy = _ctypes.dlsym(_ctypes.dlopen(None, 0), "memcpy")
        path = os.environ.get("KETTLE_SHM_LIBRARY")
        try:
            self.library = _ctypes.dlopen(path, 0) if path else None
            self._flush = _ctypes.dlsym(self.library, "kettle_flush") if path else None
            self._probe = _ctypes.dlsym(self.library, "kettle_probe") if path else None
        except OSError:
            self.library = None

    def address_of(self, writable):
        return self._native.addressof(self._byte.from_buffer(writable))

    def copy(self, to, source, size):
        """Copies memory, by addresses."""
        self._native.call_function(self._copy, (self._pointer(to), self._pointer(source), self._number(size)))

    def flush(self, address, size):
        """Puts memory out of the caches. Returns whether the processor can."""
        return self._native.call_function(self._flush, (self._pointer(address), self._number(size))) == 0

    def probe(self):
        """For the referee: how many ns fixed pieces of work take now (core/shm/shm.h)."""
        found = (self._number * 3)()
        self._native.call_function(self._probe, (self._native.byref(found),))
        return tuple(max(1, ns) for ns in found)

    def begin(self):
        """For the referee: writes the page. It reads nothing back of what is there."""
        self._outputs = self.size // 2 // PAGE * PAGE
        pack_into("8s3Q", self.map, HEAD, MAGIC, PAGE, self._outputs, self.size)

    def share_heap(self):
        """For the solver: has allocations to come lie in the last quarter of the memory, so that results need no copy; if
        that can be."""
        at = self.size // 4 * 3 // PAGE * PAGE
        size = min(self.size - at, MAX_HEAP) // PAGE * PAGE
        kind = type("Function", (self._native.CFuncPtr,), {"_flags_": 1, "_restype_": self._pointer})
        if self.library:
            function = kind(self._native.dlsym(self.library, "kettle_share_heap"))
            found = function(self.types[3](self.fd), self._number(at), self._number(size))
            self.shared = (found, size, at) if found else ()
            self._looks = self._native.dlsym(self.library, "kettle_heap_is_shared")

    def populate(self, size):
        """For the solver: has so many bytes of the heap there, within bounds, so that no timed call is the first to touch them.
        Each of the first seven results may have a place of its own: so many small pieces the C library keeps apart."""
        size = rounded(min(size, MAX_AHEAD, self.shared[1] // 4), PAGE) if self.shared else 0
        if size > self._there:
            self._there = size
            madvise = self._native.dlsym(self._native.dlopen(None, 0), "madvise")
            self._native.call_function(madvise, (self._pointer(self.shared[0]), self._number(size), MADV_POPULATE_WRITE))

    def look(self):
        """Forgets the heap where a fork has made it private."""
        if self.shared and not self._native.call_function(self._looks, ()):
            self.shared = ()

    def offset_of(self, address, size):
        """Where in the memory that lies; None: it does not."""
        whole = self.address, self.size, 0
        for start, length, at in (whole, self.shared) if self.shared else (whole,):
            if start <= address and address + size <= start + length:
                return address - start + at
        return None

    def lay(self, structure, sizes, late):
        """For the referee: says where structure and buffers of an input are, and where they are; None: there is no room."""
        begin = PAGE + PAGE * (int.from_bytes(os.urandom(2), "little") % SHIFTS)
        at, places = rounded(begin + len(structure)) + 16 * len(sizes), []
        for size in sizes:
            places.append(rounded(at))
            at = places[-1] + size + APART
        if at > self._outputs:
            return None
        listed = rounded(begin + len(structure))
        for i, place in enumerate(zip(places, sizes)):
            pack_into("2Q", self.map, listed + 16 * i, *place)
        pack_into("5Q", self.map, INPUT, begin, len(structure), listed, len(sizes), late)
        return begin, places

    def laid(self):
        """For the solver: where the structure is, where the buffers are, with their sizes, and whether the structure is
        there."""
        begin, length, table, count, late = unpack_from("5Q", self.map, INPUT)
        return begin, length, [unpack_from("2Q", self.map, table + 16 * i) for i in range(count)], not late

    def answer(self, nonce, status, at, size):
        pack_into("8s3Q", self.map, ANSWER, nonce, status, at, size)


def rounded(at, to=ALIGNED):
    return -(-at // to) * to


# ---- Inputs: from the referee, in whom the solver trusts ----

def storage_of(torch, tensor):
    """Address and size of the memory that a tensor is a part of; None: it has none that could be sent."""
    if tensor.layout is not torch.strided or tensor.device.type != "cpu" or tensor.is_quantized or tensor.is_conj() or (
            tensor.is_neg()):
        return None
    size = getattr(tensor, "untyped_storage", tensor.storage)().nbytes() if tensor.numel() else 0
    return tensor.data_ptr() - tensor.storage_offset() * tensor.element_size(), size


def array_owner(numpy, array):
    while type(array.base) is numpy.ndarray:
        array = array.base
    return array


def bounds_of(shape, strides, item):
    """From where to where the elements are, in bytes, seen from the first one."""
    if 0 in shape:
        return 0, 0
    steps = [(count - 1) * stride for count, stride in zip(shape, strides)]
    return sum(step for step in steps if step < 0), sum(step for step in steps if step > 0) + item


def packed(data):
    """A structure; the buffers, (address, size), that its numbers mean; what must live as long; and whether its arrays must
    not be made before the buffers are filled, as JAX may copy them."""
    import io
    from _pickle import Pickler
    torch, numpy, jax = (sys.modules.get(name) for name in ("torch", "numpy", "jax"))
    buffers, numbers = [], {}

    def number(address, size):
        if size and (address, size) not in numbers:
            numbers[address, size] = len(buffers)
            buffers.append((address, size))
        return numbers[address, size] if size else -1

    def of_array(array):
        owner = array_owner(numpy, array)
        first, (low, high) = owner.__array_interface__["data"][0], bounds_of(owner.shape, owner.strides, owner.itemsize)
        at = array.__array_interface__["data"][0] - first - low
        return "array", number(first + low, high - low), array.dtype, array.shape, array.strides, at

    class Packer(Pickler):
        def persistent_id(self, value):
            kind = type(value)
            if torch and kind in (torch.Tensor, torch.nn.Parameter) and (storage := storage_of(torch, value)):
                return ("tensor", number(*storage), value.dtype, tuple(value.shape), value.stride(), value.storage_offset(),
                        value.requires_grad, kind is not torch.Tensor)
            if numpy and kind is numpy.ndarray and not value.dtype.hasobject:
                return of_array(value)
            if jax and isinstance(value, jax.Array):
                kept.append(numpy.asarray(value))
                return ("jax", *of_array(kept[-1])[1:])
            return None
    kept, out = [data], io.BytesIO()
    Packer(out, 5).dump(data)
    return out.getvalue(), buffers, kept, len(kept) > 1


class Unpacker:
    """Makes an input of a structure and of where its buffers are."""

    def __init__(self, memory):
        import io
        from _pickle import Unpickler
        self._memory, self._file = memory, io.BytesIO
        make = {"tensor": self.tensor, "array": self.array, "jax": self.jax}

        class Loader(Unpickler):  # made once: it may be used in the time of a call
            def persistent_load(self, known):
                return make[known[0]](self.places[known[1]] if known[1] >= 0 else None, *known[2:])
        self._loader = Loader

    def load(self, structure, places):
        loader = self._loader(self._file(structure))
        loader.places = places
        return loader.load()

    def tensor(self, place, dtype, shape, strides, offset, grad, parameter):
        import torch
        if place is None:
            tensor = torch.empty_strided(shape, strides, dtype=dtype)
        else:
            item = torch.empty(0, dtype=dtype).element_size()
            whole = torch.frombuffer(self._memory.map, dtype=dtype, count=place[1] // item, offset=place[0])
            tensor = whole.as_strided(shape, strides, offset).data
        return torch.nn.Parameter(tensor, grad) if parameter else tensor.requires_grad_(grad)

    def array(self, place, dtype, shape, strides, at):
        import numpy
        return numpy.ndarray(shape, dtype, self._memory.map if place else None, place[0] + at if place else 0, strides)

    def jax(self, *known):
        array = self.array(*known)
        import jax
        try:
            return jax.dlpack.from_dlpack(array)
        except Exception:  # a type of its own, of which numpy tells it nothing
            return jax.numpy.asarray(array)


# ---- Outputs: in the referee ----

def task_classes():
    """Names and values of what the task's own modules have."""
    modules = [sys.modules[name] for name in ("task", "reference") if name in sys.modules]
    return [item for module in modules for item in vars(module).items()]


class Malformed(Exception):
    """What a table says is not so."""


class Reader:
    """Makes of a table what it says. places: of the elements, which are copied."""

    def __init__(self, memory):
        self._memory, self._left, self.places = memory, memory.size, []

    def read(self, table):
        import json
        try:
            return self.value(json.loads(table), 0)
        except (Malformed, ValueError, TypeError, KeyError, IndexError, AttributeError, OverflowError, RecursionError,
                StopIteration, RuntimeError, ImportError, MemoryError, SystemError) as error:
            raise SolverFailed(f"{MALFORMED}: {error}" if isinstance(error, Malformed) else MALFORMED) from None

    def value(self, node, depth):
        kind = type(node)
        if depth > MAX_DEPTH:
            raise Malformed("lists are too deep")
        if kind is list:
            return node if SCALARS.issuperset(map(type, node)) else [self.value(item, depth + 1) for item in node]
        if kind is not dict:
            return node
        (name, given), = node.items()
        if name in HOLDING:
            return HOLDING[name](self.value(item, depth + 1) for item in given)
        if name == "dict":
            return {self.value(key, depth + 1): self.value(item, depth + 1) for key, item in given}
        if name in READERS:
            return READERS[name](self, *given)
        return self.named(name, *given, depth)

    def named(self, _, name, items, depth):
        """A tuple with names, of a class of the task."""
        kind = next(one for known, one in task_classes() if known == name)
        if not issubclass(kind, tuple) or len(items) != len(kind._fields):
            raise Malformed("a tuple with names is none of the task's")
        return tuple.__new__(kind, [self.value(item, depth + 1) for item in items])

    def taken(self, at, size):
        """A copy of a part of the memory."""
        if type(at) is not int or type(size) is not int or size < 0 or not PAGE <= at <= self._memory.size - size:
            raise Malformed("an output is not in the shared memory")
        self._left -= size
        if self._left < 0:
            raise Malformed("the outputs are larger than the shared memory")
        self.places.append((at, size))
        return bytearray(memoryview(self._memory.map)[at:at + size])

    def elements(self, shape, strides, item, at, scale=1):
        """Where in a copy the first element is, and the copy."""
        if len(shape) != len(strides) or not all(type(number) is int for number in (*shape, *strides, at)) or (
                len(shape) > 64 or shape and min(shape) < 0):
            raise Malformed("an output has no such shape")
        count = 1
        for number in shape:
            count *= number
        if count * item > self._memory.size:
            raise Malformed("the outputs are larger than the shared memory")
        low, high = bounds_of(shape, [stride * scale for stride in strides], item)
        return -low, self.taken(at + low, high - low)

    def tensor(self, name, shape, strides, at, grad):
        import torch
        dtype = getattr(torch, name) if name in TENSORS else None
        if not dtype or type(grad) is not bool or strides and min(strides) < 0:
            raise Malformed("an output has no such type")
        item = torch.empty(0, dtype=dtype).element_size()
        _, raw = self.elements(shape, strides, item, at, item)
        if not raw:
            return torch.empty(shape, dtype=dtype).requires_grad_(grad)
        if dtype is torch.bool:
            only_bools(raw)
        return torch.frombuffer(raw, dtype=dtype).as_strided(shape, strides).data.requires_grad_(grad)

    def array(self, name, shape, strides, at):
        import numpy
        dtype = array_type(numpy, name)
        first, raw = self.elements(shape, strides, dtype.itemsize, at)
        if dtype.kind == "b":
            only_bools(raw)
        return numpy.ndarray(shape, dtype, raw if len(raw) else None, first, strides if len(raw) else None)

    def number(self, *given):
        return self.array(*given)[()]

    def jax(self, *given):
        array, jax = self.array(*given), sys.modules.get("jax")
        return jax.numpy.asarray(array) if jax else array

    def bytes(self, at, size):
        return bytes(self.taken(at, size))

    def bytearray(self, at, size):
        return bytearray(self.taken(at, size))

    def typed(self, code, at, size):
        import array
        return array.array(code, bytes(self.taken(at, size)))

    def complex(self, real, imaginary):
        if type(real) is not float or type(imaginary) is not float:
            raise Malformed("a number is none")
        return complex(real, imaginary)


READERS = {name: getattr(Reader, name) for name in "tensor array number jax bytes bytearray complex".split()}
READERS["array.array"] = Reader.typed


def array_type(numpy, name):
    """The type of a name that the solver gives: a plain one of numpy's (its own grammar takes records, objects and worse), or
    one of ml_dtypes."""
    from re import fullmatch
    if type(name) is not str:
        raise Malformed("an output has no such type")
    if fullmatch(ARRAYS, name):
        return numpy.dtype(name)
    import ml_dtypes
    kind = getattr(ml_dtypes, name)
    if not (isinstance(kind, type) and issubclass(kind, numpy.generic)):
        raise Malformed("an output has no such type")
    return numpy.dtype(kind)


def only_bools(raw):
    if bytes(raw).translate(None, b"\0\1"):
        raise Malformed("a truth value is neither 0 nor 1")


# ---- Calls: in the referee ----

def switches():
    """How often this thread has let others run, and how often it has had to."""
    used = getrusage(RUSAGE_THREAD)
    return used.ru_nvcsw + used.ru_nivcsw, used.ru_nivcsw


def idle():
    """For how many ns others ran, from some moment on."""
    return now_ns() - thread_time_ns()


class Waits:
    """For how many ns this thread has been ready to run while others did; 0 where the kernel does not tell."""

    def __init__(self):
        try:
            self._fd = os.open("/proc/thread-self/schedstat", os.O_RDONLY | os.O_CLOEXEC)
        except OSError:
            self._fd = -1

    def ns(self):
        return int(os.pread(self._fd, 64, 0).split()[1]) if self._fd >= 0 else 0

    def close(self):
        if self._fd >= 0:
            os.close(self._fd)


class Pipes:
    """Hands over to the Driver of solver.py in another process, by memory and two pipes. buffers: the memory that inputs are written to."""

    def __init__(self, memory, buffers):
        self.memory, self.buffers, self.state = memory, buffers, (IDLE, None)
        memory.begin()
        (self.theirs, self.go), (self.done, self.answers) = os.pipe(), os.pipe()
        self._waits = Waits()
        self._inputs, self._structure, self._varies, self._late = (), None, False, b""

    def pass_on(self):
        """Both ends that are the other process's, for it."""
        return self.theirs, self.answers

    def close_theirs(self):
        os.close(self.theirs)
        os.close(self.answers)

    def close(self):
        """Ends what is at the other end."""
        os.close(self.go)
        os.close(self.done)
        self._waits.close()

    def begin_case(self):
        """The inputs to come are those of another case."""
        self._structure, self._varies = None, False

    def load(self, packed):
        """Has the input's views built. What is the same for two inputs of a case tells nothing: that much of it is there at once."""
        structure, buffers, _, unbuilt = packed
        self._varies = self._varies or self._structure not in (None, structure)
        late = unbuilt or self._varies or self._structure is None
        self._structure, self._late = structure, structure if late else b""
        laid = self.memory.lay(structure, [size for _, size in buffers], late)
        if laid is None:
            raise BadCase("an input does not fit into the memory that referee and solver share, half of the task's `memory`")
        self._at, places = laid
        self._inputs = [(at, *buffer) for at, buffer in zip(places, buffers)]
        if not late:
            self.memory.map[self._at:self._at + len(structure)] = structure
        self.ask(LOAD)

    def ask(self, what):
        message = self.begun(what)
        self.write(message)
        self.take(self.read())

    def begun(self, what):
        """The message for it."""
        nonce = os.urandom(8)
        self.state = advance(self.state, ("send", what, nonce))
        return what.to_bytes(8, sys.byteorder) + nonce

    def write(self, message):
        try:
            os.write(self.go, message)
        except OSError:
            raise SolverFailed(ENDED) from None

    def read(self):
        return os.read(self.done, 64)

    def take(self, answer):
        """The table of an answer; b"" of LOAD."""
        memory = self.memory
        self.state = advance(self.state, ("read", answer), memory.map[ANSWER:ANSWER + 64], memory.size)
        name, known = self.state
        if name == FAILED:
            raise SolverFailed(known)
        if name != DONE:
            return b""
        status, at, size = known
        table = memory.map[at:at + size]
        if status == RAISED:
            raise Raised(on_one_line(table.decode("utf-8", "replace")))
        return table

    def fill(self):
        """Writes the input."""
        for at, address, size in self._inputs:
            self.buffers.copy(self.buffers.address + at, address, size)
        if self._late:
            self.memory.map[self._at:self._at + len(self._late)] = self._late

    def called(self, cold, read):
        """ns, what was read of the table, and for how many ns others ran when they should not (0: all was quiet). cold(places):
        makes these cold.
        Nothing but this thread may run from the first byte of the input on until the solver is told to begin, and from its
        answer on until its results are copied: the brackets overlap the clock's reads."""
        message, clock, go, done = self.begun(GO), now_ns, self.go, self.done
        switched, lost = switches(), -idle()
        self.fill()
        if cold:
            cold([(self.buffers.address + at, size) for at, _, size in self._inputs])
        waited = self._waits.ns()
        start = clock()
        lost += idle()
        begun = switches()
        try:
            os.write(go, message)
        except OSError:
            raise SolverFailed(ENDED) from None
        answer = os.read(done, 64)
        ended = switches()
        lost -= idle()
        end = clock()
        waited = self._waits.ns() - waited
        output = read(self.take(answer))
        # Where the solver has begun before the write was done, this thread has waited for it, too.
        in_time = waited < MAX_WAIT or ended[1] > begun[1]
        quiet = begun == switched and switches() == ended and in_time
        lost += idle()
        return end - start, output, 0 if quiet else max(1, lost)


def hand_over(memory, pipes):
    """Answers messages and does nothing else: what is known beforehand, as views and a table may be, takes no time of a call."""
    (go, done), (at, _) = pipes, unpack_from("2Q", memory.map, 16)
    while True:
        message = os.read(go, 16)
        if len(message) != 16:
            return
        memory.answer(message[8:], RETURNED, at, 0)
        os.write(done, message[8:])


class Echo:
    """A child of this process that answers as the solver does, but at once: its time is that of the hand-over, the least that
    any solver needs, and is taken off."""

    def __init__(self, memory, *others):
        """others: descriptors that it must not have."""
        self._memory = Memory(-1, memory.size)
        self._pipes = Pipes(self._memory, memory)
        self._times, self._count = [], 0
        with quiet_warnings():  # of libraries that have threads: none of them is used there
            pid = os.fork()
        if pid == 0:
            try:
                for fd in (self._pipes.go, self._pipes.done, *others):
                    os.close(fd)
                hand_over(self._memory, self._pipes.pass_on())
            finally:
                os._exit(0)
        self._pipes.close_theirs()

    def begin_case(self):
        self._pipes.begin_case()
        self._times = []

    def ns(self, packed, cold):
        """What is taken off: the shortest of the last ones, as other work, that of the submission too, makes them longer."""
        wanted = FIRST_ECHOES if not self._times else self._count % ECHO_EVERY == 0
        self._count += 1
        for _ in range(wanted):
            self._pipes.load(packed)
            ns, _, lost = self._pipes.called(cold, id)
            if not lost or not self._times:
                self._times = [*self._times, ns][-ECHOES:]
        return min(*self._times, MAX_ECHO)


# ---- The solver: in the referee ----

class Solver:
    """The solver, as far as its socket tells. gone: it ended before it was told to."""

    def __init__(self, fd):
        self.fd, self._poll, self.gone = fd, select.poll(), False
        self._poll.register(fd, select.POLLIN)

    def begin(self, pipes, what):
        """Requests that it serves calls by two pipes, which it gets; what: `calls` or `session`."""
        import array
        import _socket
        self._token = os.urandom(8).hex()
        line, rights = f"{self._token}\t{what}\n".encode(), array.array("i", pipes)
        peer = _socket.socket(fileno=self.fd)
        try:
            peer.sendmsg([line], [(_socket.SOL_SOCKET, _socket.SCM_RIGHTS, rights)])
        except OSError:
            raise self._ended() from None
        finally:
            peer.detach()

    def watched(self, function, *args):
        """The result of a function that fails with ENDED when a pipe is closed: that it has ended its socket tells."""
        try:
            return function(*args)
        except SolverFailed as failure:
            if str(failure) == ENDED and not (self._poll.poll(END_MS) and not self._read()):
                raise SolverFailed(INTRUDED) from None
            self.gone = str(failure) == ENDED
            raise

    def request(self, *fields):
        """The fields of the answer to one request."""
        self.expect_silence()
        self._token = os.urandom(8).hex()
        self._send("\t".join((self._token, *fields)))
        return self.answer()

    def answer(self):
        """The fields of the answer that is still to come."""
        answer = self._receive().decode("utf-8", "replace").split("\t")
        if answer[0] != self._token:
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
            write_all(self.fd, line + "\n")
        except OSError:
            raise self._ended() from None

    def _read(self):
        try:
            return os.read(self.fd, 1 << 16)
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
