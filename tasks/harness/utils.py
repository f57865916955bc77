# SPDX-License-Identifier: MIT
"""For authors of Python tasks: seeds, comparison with a reference, a cold cache, a closed worker; and what eval.py and
solver.py share besides exchange.py: cases, copies, clocks, calibrators, scores. torch and numpy are both optional: those
that a task has imported are used."""
import os
import sys
from _blake2 import blake2b
from time import perf_counter_ns as now_ns

WORD = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_")
SHOWN = 5  # places that a comparison names
MAX_MESSAGE = 4000  # characters of a message to the participant
MORE = "\f"  # in a reason: in front of details, which are shown only on request
L2_BYTES = 256 << 20  # twice what the largest device holds
CACHE_LINE = 64  # bytes
CUDA_SIDE = 1024  # of the matrices of the CUDA calibrator
CACHE = max(int(os.environ.get("KETTLE_CPU_CACHE", 32 << 20)), 4 << 20)  # bytes that the processor's caches hold
TRACE, MAX_TRACE = "out/trace.json.gz", 64 << 20  # what torch's profiler saw, and how many bytes of it are kept
IDLE_SYNCHRONIZE = 50000  # ns that waiting for an idle device takes at most


def set_seed(seed=42):
    """Seeds every generator of the process that is there: random, numpy's and torch's."""
    import random
    random.seed(seed)
    numpy, torch = sys.modules.get("numpy"), sys.modules.get("torch")
    if numpy:
        numpy.random.seed(seed % (1 << 32))
    if torch:
        torch.manual_seed(seed % (1 << 63))  # of all devices


def get_device(use_cuda=True):
    """The CUDA device if there is one and it is wanted, else the CPU."""
    import torch
    return torch.device("cuda" if use_cuda and torch.cuda.is_available() else "cpu")


def clear_l2_cache():
    """Writes more than the CUDA device's cache holds. The memory comes from torch's own pool: it costs once."""
    import torch
    torch.empty(L2_BYTES // 4, dtype=torch.int32, device="cuda").zero_()


class DeterministicContext:
    """Within it, torch computes the same every time. For `with`, and before a function as `@deterministic`."""

    def __enter__(self):
        import torch
        cudnn = torch.backends.cudnn
        self._before = (torch.are_deterministic_algorithms_enabled(), cudnn.deterministic, cudnn.allow_tf32,
                        torch.backends.cuda.matmul.allow_tf32, os.environ.get("CUBLAS_WORKSPACE_CONFIG"))
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        cudnn.deterministic, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = True, False, False
        torch.use_deterministic_algorithms(True)
        return self

    def __exit__(self, *_):
        import torch
        cudnn = torch.backends.cudnn
        algorithms, cudnn.deterministic, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32, space = self._before
        torch.use_deterministic_algorithms(algorithms)
        if space is None:
            os.environ.pop("CUBLAS_WORKSPACE_CONFIG", None)
        else:
            os.environ["CUBLAS_WORKSPACE_CONFIG"] = space


def deterministic(function):
    def called(*args, **kwargs):
        with DeterministicContext():
            return function(*args, **kwargs)
    called.__name__, called.__doc__ = function.__name__, function.__doc__
    return called


# ---- Comparison ----

def _is_tensor(value):
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(value, torch.Tensor)


def _kind(value):
    if _is_tensor(value):
        return "torch tensor"
    numpy = sys.modules.get("numpy")
    if numpy is not None and isinstance(value, numpy.ndarray):
        return "numpy array"
    return type(value).__name__


def _form_differs(received, expected):
    """Reasons why the two cannot even be compared: kind, shape, type of the elements, device."""
    if _kind(received) != _kind(expected):
        return [f"WRONG TYPE: the output is a {_kind(received)}, expected a {_kind(expected)}"]
    reasons = []
    if tuple(received.shape) != tuple(expected.shape):
        reasons.append(f"SIZE MISMATCH: the output has the shape {tuple(received.shape)}, expected "
                       f"{tuple(expected.shape)}")
    if received.dtype != expected.dtype:
        reasons.append(f"WRONG DTYPE: the output has the dtype {received.dtype}, expected {expected.dtype}")
    if _is_tensor(received) and received.device != expected.device:
        reasons.append(f"WRONG DEVICE: the output is on {received.device}, expected {expected.device}")
    return reasons


def _digits(value, other):
    """A number, short, but with the digits by which it differs from the other one."""
    if not isinstance(value, float):
        return str(value)
    texts = (f"{value:.{digits}g}" for digits in range(4, 17) if f"{value:.{digits}g}" != f"{other:.{digits}g}")
    return next(texts, f"{value:.17g}")


def _place(position, got, want, tolerance):
    """What is wrong with an element. tolerance: how far it may be off, or None."""
    text = f"at {position[0] if len(position) == 1 else position}: got {_digits(got, want)}, expected {_digits(want, got)}"
    try:
        off = abs(got - want)
    except OverflowError:
        return text
    if isinstance(got, bool) or not off < float("inf"):
        return text
    return f"{text}, off by {off:.3g}" + ("" if tolerance is None else f" (tolerance {tolerance:.3g})")


def _places(wrong, received, expected, shown, tolerances=None):
    """Reasons for the elements marked in `wrong`: how many, and the first few. tolerances: absolute and relative."""
    positions = wrong.nonzero()
    if _is_tensor(wrong):
        positions = positions.tolist()
    else:
        positions = [list(map(int, position)) for position in zip(*positions)]
    if not positions:
        return []
    reasons = [f"{len(positions)} of {wrong.numel() if _is_tensor(wrong) else wrong.size} elements {'is' if len(positions) == 1 else 'are'} wrong"]
    for position in positions[:shown]:
        at = tuple(position)
        want = expected[at].item()
        tolerance = tolerances and tolerances[0] + tolerances[1] * abs(want)
        reasons.append(_place(at, received[at].item(), want, tolerance))
    if len(positions) > shown:
        reasons.append("and more")
    return reasons


def verbose_allclose(received, expected, rtol=1e-05, atol=1e-08, max_print=SHOWN):
    """Where the output differs from what was expected by more than atol + rtol * |expected|: a list of reasons, empty
    where it does not. NaN equals nothing; an infinity is right only where the same one is expected. For torch tensors
    and numpy arrays."""
    reasons = _form_differs(received, expected)
    if reasons or bool((received == expected).all()):  # as is most often so
        return reasons
    if _is_tensor(received):
        import torch as library
        got, want = received.detach(), expected.detach()
        if not got.is_complex():
            got, want = got.to(library.float64), want.to(library.float64)
        scope = library.no_grad()
    else:
        import numpy as library
        got, want = received, expected
        if not library.issubdtype(got.dtype, library.complexfloating):
            got, want = got.astype(library.float64), want.astype(library.float64)
        scope = library.errstate(all="ignore")
    with scope:
        finite = library.isfinite(got) & library.isfinite(want)
        close = abs(got - want) <= atol + rtol * abs(want)
        right = (finite & close) | (~finite & (got == want))
    return _places(~right, received, expected, max_print, (atol, rtol))


def verbose_allequal(received, expected, max_print=SHOWN):
    """As verbose_allclose, for elements that must be equal."""
    reasons = _form_differs(received, expected)
    if reasons:
        return reasons
    return _places(~(received == expected), received, expected, max_print)


def match_reference(data, output, reference, rtol=1e-05, atol=1e-08):
    """(True, '') if the output is close to reference(data), else (False, what differs): the first place, and behind MORE
    further ones. Outputs may be tensors, arrays, and tuples or lists of them."""
    text = _differences(output, reference(data), rtol, atol, "")
    return text == "", text


def _differences(output, expected, rtol, atol, name):
    if isinstance(expected, (list, tuple)):
        if not isinstance(output, (list, tuple)) or len(output) != len(expected):
            return (f"{name or 'the output'} must be a {type(expected).__name__} of {len(expected)}, not "
                    f"{_kind(output)}" + (f" of {len(output)}" if isinstance(output, (list, tuple)) else ""))
        found = (_differences(one, wanted, rtol, atol, f"output {i}")
                 for i, (one, wanted) in enumerate(zip(output, expected)))
        return next((text for text in found if text), "")
    reasons = _form_differs(output, expected)
    if reasons:
        text = "; ".join(reasons)
    else:
        text, *places = verbose_allclose(output, expected, rtol, atol) or [""]
        text += f"; the first {places[0]}" if places else ""
        text += MORE + "; ".join(places[1:]) if places[1:] else ""
    return f"{name}: {text}" if name and text else text


def make_match_reference(reference, **tolerances):
    """A check_implementation for a task with that reference: make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)."""
    def check_implementation(data, output):
        return match_reference(data, output, reference, **tolerances)
    return check_implementation


# ---- Cases ----

class BadCase(Exception):
    """A case that makes no sense, or another mistake of the task."""


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


# ---- Reasons ----

def on_one_line(text, most=MAX_MESSAGE):
    """Printable, and no tab: text of a submission must not look like a result, or like fields of an answer."""
    cut = " … (cut)" if len(text) > most else ""
    text = text[:most].strip().replace("\n", " | ")
    return "".join(c if c.isprintable() else " " for c in text) + cut


def described(error):
    return on_one_line(f"{type(error).__name__}: {error}" if str(error) else type(error).__name__)


def reason_of(text):
    """What a check says is wrong, and behind MORE the details, which are shown only on request, each on a line."""
    return MORE.join(map(on_one_line, text.split(MORE, 1)))


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


def at_call(error, n, addition=""):
    """The reason with the call's number, from the second one on."""
    sentence, more, rest = error.partition(MORE)
    return f"{sentence} (call {n + 1}{addition}){more}{rest}" if n else error


# ---- What the harness needs of the machine ----

# By their identity: a class can define what it equals.
PLAIN = frozenset(map(id, (bool, int, float, complex, str, bytes)))
HOLDING = frozenset(map(id, (list, tuple, set, frozenset)))


def copied(value, strict=False):
    """A copy that shares nothing that can change. strict, for outputs: of types that cannot put off their work until
    they are copied, and that do not answer by code of their own when they are compared. It uses
    no code of the value or of its class."""
    kind = type(value)
    if value is None or id(kind) in PLAIN:
        return value
    if id(kind) in HOLDING:
        return kind([copied(item, strict) for item in value])
    if kind is dict:
        return {copied(key, strict): copied(item, strict) for key, item in value.items()}
    if kind is bytearray or ("array" in sys.modules and kind is sys.modules["array"].array):
        return value[:]
    if issubclass(kind, tuple) and hasattr(kind, "_fields") and (not strict or is_of_task(kind)):
        return tuple.__new__(kind, [copied(item, strict) for item in tuple.__iter__(value)])
    torch, numpy, jax = (sys.modules.get(name) for name in ("torch", "numpy", "jax"))
    if torch and issubclass(kind, torch.Tensor) and not (strict and computes_by_itself(torch, value)):
        return copied_tensor(torch, value)
    if numpy and issubclass(kind, numpy.ndarray):
        plain = numpy.array(value, copy=True, subok=False)
        if not plain.dtype.hasobject:
            return plain
    if numpy and any(kind is one for one in numpy.sctypeDict.values()):
        return value  # they do not change
    if jax and kind is type(jax.numpy.zeros(())):
        return value
    if strict:
        raise TypeError(f"the output holds a {kind.__module__}.{kind.__qualname__} that may compute late; return "
                        "tensors, arrays, numbers, text, and lists, tuples and dicts of them")
    import copy
    return copy.deepcopy(value)


def is_of_task(kind):
    """Whether a class with names is the task's own; one of the submission may compare equal to everything."""
    modules = [sys.modules[name] for name in ("task", "reference") if name in sys.modules]
    return any(kind is one for module in modules for one in vars(module).values())


def computes_by_itself(torch, value):
    """Whether operations on a tensor are its own, in Python, instead of those of a device."""
    try:
        return torch._C._dispatch_keys(value).has(torch._C.DispatchKey.Python)
    except AttributeError:  # torch before 1.13
        return False


def copied_tensor(torch, value):
    with torch._C.DisableTorchFunction(), torch.no_grad():
        if type(value) is not torch.Tensor:
            value = torch.Tensor.as_subclass(value, torch.Tensor)
        return value.detach().clone().requires_grad_(value.requires_grad)


class Cpu:
    """Where the processor works: its clock, its caches, and probes of how calm the machine is. Other probes get other names."""
    calibrator = ""

    def __init__(self, shared=None):
        """shared: an exchange.Memory, whose library may have the probes, and may be able to put lines out of the caches."""
        self._memory, self._shared = None, shared

    def _map(self):
        """Memory of the size of the cache."""
        import mmap
        self._memory = mmap.mmap(-1, CACHE, mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        try:  # else the first time costs a fault a page, and so does the first after a fork
            self._memory.madvise(mmap.MADV_DONTFORK)
            self._memory.madvise(mmap.MADV_HUGEPAGE)
        except (AttributeError, OSError):
            pass
        self._marks = bytes(CACHE // CACHE_LINE)

    def chill(self, places=()):
        """Puts the lines of those places, (address, size), out of the cache, or all that is in it, by writing a byte into every
        line of memory of its size."""
        if places and self._shared and self._shared.library and all(self._shared.flush(*place) for place in places):
            return
        if self._memory is None:
            self._map()
        self._memory[::CACHE_LINE] = self._marks

    prepare = chill  # a cold cache

    def probe(self):
        """What the probes take now, in ns; nothing without a library that has them."""
        return self._shared.probe() if self._shared and self._shared.library else ()

    def timed(self, kernel, data):
        """What the call took, in ns, and its output."""
        clock, modules = now_ns, sys.modules
        start = clock()
        output = kernel(data)
        if "jax" in modules:  # it computes when it likes
            output = modules["jax"].block_until_ready(output)
        return clock() - start, output


class Cuda:
    """Where a CUDA device works, as Cpu; its events are the clock, and a fixed piece of work, the calibrator, is timed beside
    each call."""
    calibrator = "cuda-torch-1"

    def __init__(self, torch):
        self._cuda, self._torch = torch.cuda, torch
        self._events = [torch.cuda.Event(enable_timing=True) for _ in range(2)]
        self._factor = None

    def prepare(self):
        """An idle device with a cold cache."""
        clear_l2_cache()
        self._cuda.synchronize()

    def timed(self, kernel, data):
        """As Cpu.timed. Work on other streams than the current one, which no event sees, is waited for and added."""
        start, end = self._events
        start.record()
        output = kernel(data)
        end.record()
        end.synchronize()
        seen = now_ns()
        self._cuda.synchronize()
        more = now_ns() - seen
        return round(start.elapsed_time(end) * 1e6) + (more if more > IDLE_SYNCHRONIZE else 0), output

    def calibrate(self, times):
        """What a product of two fixed matrices takes now, in ns; so often in a row."""
        if self._factor is None:
            self._factor = self._torch.full((CUDA_SIDE, CUDA_SIDE), 0.5, device="cuda")
            self._product = self._torch.empty_like(self._factor)
            self._multiply(1)
        return [max(1, self.timed(self._multiply, times)[0] // times)]

    def _multiply(self, times):
        for _ in range(times):
            self._torch.mm(self._factor, self._factor, out=self._product)


def ranged_call(torch, cupy, kernel, data):
    """Under a profiler, which looks at the range alone; one in here would be in its way. There is nothing to report."""
    cuda = torch is not None and torch.cuda.is_available()
    if cuda:
        push, pop, wait = torch.cuda.nvtx.range_push, torch.cuda.nvtx.range_pop, torch.cuda.synchronize
    elif cupy is not None:
        push, pop, wait = cupy.cuda.nvtx.RangePush, cupy.cuda.nvtx.RangePop, cupy.cuda.Device().synchronize
    else:
        push, pop, wait = id, str, str
    wait()
    push("custom_kernel")
    try:
        kernel(data)
        wait()
    finally:
        pop()
    return ""


def keep_trace(found):
    """Leaves what torch's profiler saw, for a browser; a trace that is not there is no failure of the run."""
    try:
        if os.path.isdir("out"):
            found.export_chrome_trace(TRACE)
        if os.path.exists(TRACE) and os.path.getsize(TRACE) > MAX_TRACE:
            os.unlink(TRACE)
    except Exception as failure:
        print(f"eval: the trace of the profile was lost: {type(failure).__name__}: {failure}", file=sys.stderr)


def torch_profile(torch, kernel, data):
    from torch.profiler import ProfilerActivity as Activity, profile as profiler
    cuda = torch.cuda.is_available()
    with profiler(activities=[Activity.CPU, Activity.CUDA][:1 + cuda]) as found:
        kernel(data)
        if cuda:
            torch.cuda.synchronize()
    keep_trace(found)
    return found.key_averages().table(sort_by="self_cuda_time_total" if cuda else "self_cpu_time_total", row_limit=40)


def python_profile(kernel, data):
    import cProfile
    import io
    import pstats
    profiler, text = cProfile.Profile(), io.StringIO()
    profiler.runcall(kernel, data)
    pstats.Stats(profiler, stream=text).sort_stats("tottime").print_stats(40)
    return text.getvalue()


def clock(memory=None):
    """What the calls of a task are timed with; once its modules are imported. memory: as of Cpu."""
    torch = sys.modules.get("torch")
    return Cuda(torch) if torch and torch.cuda.is_available() else Cpu(memory)


def lacks_device():
    """Whether the run was given a GPU that torch, built for it, cannot use: all would be computed on the CPU instead."""
    torch = sys.modules.get("torch")
    given = os.environ.get("CUDA_VISIBLE_DEVICES") or os.environ.get("ROCR_VISIBLE_DEVICES")
    built = torch and given and (torch.version.cuda or torch.version.hip)
    return bool(built) and not torch.cuda.is_available()


def confine():
    """
    Puts this process, and all that it starts from here on, into a Landlock domain of its own: it may do what it could do
    before, but not look into processes outside (/proc/PID/mem, environ, fd, maps; ptrace), nor, from ABI 6 on, send them
    signals or connect to their abstract sockets. For a worker, before it imports a submission; also as `initializer` of a
    spawn pool. False: the kernel has no Landlock, or refuses.
    """
    create, add, restrict = 444, 445, 446  # system calls, the same everywhere
    no_new_privs, dumpable = 38, 4  # codes of prctl
    make_block, refer, signals_and_sockets = 1 << 11, 1 << 13, 3
    try:
        import _ctypes  # all of ctypes takes some ms to import
        library = _ctypes.dlopen(None, 0)
        syscall, prctl = (_ctypes.dlsym(library, name) for name in ("syscall", "prctl"))
        abi = _ctypes.call_function(syscall, (create, None, 0, 1))
        if abi < 1:
            return False
        # A domain must refuse something: here to make a block device, which no process may. Every domain refuses to move
        # files between folders unless it allows that.
        rights = (make_block | (refer if abi >= 2 else 0), 0, signals_and_sockets)
        attributes = b"".join(right.to_bytes(8, sys.byteorder) for right in rights[:3 if abi >= 6 else 1])
        ruleset = _ctypes.call_function(syscall, (create, attributes, len(attributes), 0))
        if ruleset < 0:
            return False
        try:
            if abi >= 2:
                top = os.open("/", os.O_PATH)
                rule = refer.to_bytes(8, sys.byteorder) + top.to_bytes(4, sys.byteorder)
                allowed = _ctypes.call_function(syscall, (add, ruleset, 1, rule, 0))
                os.close(top)
                if allowed:
                    return False
            _ctypes.call_function(prctl, (no_new_privs, 1, 0, 0, 0))
            if _ctypes.call_function(syscall, (restrict, ruleset, 0)) != 0:
                return False
            # What it was forked from may be closed to its user, and so far so was this process: the sandbox could then
            # not see which memory its children share, and would count that for each of them.
            _ctypes.call_function(prctl, (dumpable, 1, 0, 0, 0))
            return True
        finally:
            os.close(ruleset)
    except (ImportError, AttributeError, OSError):
        return False


def keep_memory():
    """Memory once touched is used again, with glibc: without that every call pays for fresh pages."""
    try:
        import _ctypes  # a tenth of what ctypes costs
        mallopt = _ctypes.dlsym(_ctypes.dlopen(None, 0), "mallopt")
        for option in (-3, -1):  # M_MMAP_THRESHOLD, M_TRIM_THRESHOLD
            _ctypes.call_function(mallopt, (option, 1 << 30))
    except (ImportError, AttributeError, OSError):
        pass


# ---- What referee and solver share ----

# Whose import takes long, and that a warm interpreter may have ready; no text here names a part of torch, which would be a use.
WATCHED = ["torch." + part for part in ("_dynamo", "_inductor.compile_fx")] + "triton jax numba cupy helion cutlass".split()


def take_number(name):
    """A number out of the environment, where it is not left; None where there is none."""
    text = os.environ.pop(name, "")
    return int(text) if text.isascii() and text.isdigit() else None


class quiet_warnings:
    """Within it, nothing that warns is printed."""

    def __enter__(self):
        import warnings
        self._caught = warnings.catch_warnings()
        self._caught.__enter__()
        warnings.simplefilter("ignore")

    def __exit__(self, *error):
        self._caught.__exit__(*error)


def write_all(fd, text):
    data = text.encode("utf-8", "replace")
    while data:
        data = data[os.write(fd, data):]


# ---- Times and what they tell ----

PARTS, STUDENT = 8, 2.36  # parts of the time that show a drift; 95 % with seven degrees of freedom
MAX_TIME = 10**15  # ns of one call: eleven days
MAX_SPREAD = 0.5  # of runs, as part of a mean
# Two pieces of arithmetic of the referee's own, one that waits for each result and one that does not, and a read of memory
# that is in no cache. What else runs on the machine slows the second one more than the first, and the third.
PROBES = ("cpu-probe-1-chain", "cpu-probe-1-tile", "cpu-probe-1-read")
MAX_CHAIN, MAX_TILE, MAX_READ = 1.3, 1.05, 1.3  # of their floors, while the machine is calm; of the first by the second
FLOOR = 10  # one in so many probes is below the floor
FEW_SESSIONS, LEAST_BEGUN = 3, 3  # sessions of which an interval can be told; calls of one
LEAST_CALM = 5  # one call in so many must have been calm; as many may be dropped for what ran beside or after them
# Student's factors of 95 % for 2 to 15 degrees of freedom, and by how much the error of a median exceeds that of a mean.
STUDENTS, MEDIAN = (4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26, 2.23, 2.20, 2.18, 2.16, 2.14, 2.13), 1.25


def flush_streams():
    """What was printed, whatever the submission has made of the streams of Python."""
    for name in ("stdout", "__stdout__", "stderr", "__stderr__"):
        try:
            getattr(sys, name).flush()
        except BaseException:  # none, a closed one, or one that has no flush of its own
            pass


def median(values):
    ordered = sorted(values)
    middle = len(ordered) // 2
    return ordered[middle] if len(ordered) % 2 else (ordered[middle - 1] + ordered[middle]) / 2


def statistics_of(samples):
    """runs, mean, std, err, best and worst of at least one sample, as KernelBot reports them."""
    n = len(samples)
    mean = sum(samples) / n
    std = (sum((sample - mean) ** 2 for sample in samples) / (n - 1)) ** 0.5 if n > 1 else 0.0
    return {"runs": n, "mean": mean, "std": std, "err": std / n ** 0.5, "best": min(samples), "worst": max(samples)}


def middle_of(values):
    """The median of the values and its 95 % interval. The first and the last value of the interval by rank hold whatever
    the distribution; where the values drift, the medians of parts of the time tell more."""
    n, drift = len(values), 0.0
    if n >= 3 * PARTS:
        parts = [median(values[n * part // PARTS:n * (part + 1) // PARTS]) for part in range(PARTS)]
        drift = STUDENT * statistics_of(parts)["err"]
    ordered, middle, reach = sorted(values), median(values), 0.98 * n ** 0.5  # 1.96 standard deviations of a rank
    low = max(min(ordered[max(0, int(n / 2 - reach))], middle - drift), ordered[0] / 2)
    high = max(ordered[min(n - 1, int(n / 2 + reach) + 1)], middle + drift)
    return middle, low, high


def widened(middle, low, high, spread):
    """An interval with what runs differ by that a run cannot see of itself, as a part of the middle, added in squares."""
    unseen = spread * middle if 0 < spread <= MAX_SPREAD else 0
    return (max(middle - ((middle - low) ** 2 + unseen ** 2) ** 0.5, low / 2),
            middle + ((high - middle) ** 2 + unseen ** 2) ** 0.5)


def keys_of_calls(calls, name, references):
    """The keys of a benchmark in one process, of calls that are compared with the calibrator of that name, if there is one.
    references: as references_of has them."""
    if not name:
        return keys_of_sessions([calls], Floors(references))
    samples, times = [call.ns for call in calls], [call.beside[0] for call in calls]
    calm = [i for i, call in enumerate(calls) if not call.interrupted]
    calm = calm if len(calm) * LEAST_CALM >= len(calls) else range(len(calls))
    keys, ours, (unit, spread) = statistics_of(samples), median([times[i] for i in calm]), references.get(name, (0, 0))
    ratio, low, high = middle_of([samples[i] / times[i] for i in calm])
    known = 0 < unit < MAX_TIME
    unit, (low, high) = unit if known else ours, widened(ratio, low, high, spread)
    keys.update({
        "raw-mean": keys["mean"], "mean": ratio * unit, "low": low * unit, "high": high * unit, "ratio": ratio,
        "calibrator": name, "calibrator-ns": ours, "calibrated": "yes" if known else "no",
        # A tenth of the times is below, however much the machine was disturbed: about those of the quiet device.
        "calibrators": f"{name}={sorted(times)[len(times) // FLOOR]:.1f}", "ratios": f"{name}={ratio:.9g}"})
    keys["worst"] = keys.pop("worst")  # last: who follows a run shows a benchmark once that is there
    return keys


class Floors:
    """What the probes take while nothing else runs: as `kettle device calibrate` has found it, or else what a tenth of this
    run's are below. The second one counts as a part of the first, so that the core's frequency does not matter."""

    def __init__(self, references):
        """references: as references_of has them."""
        found = [references.get(name, (0, 0)) for name in PROBES]
        self.known, self.spread = all(0 < ns < MAX_TIME for ns, _ in found), found[0][1]
        self._given, self._seen = [ns for ns, _ in found], ([], [], [])

    def add(self, probes):
        from bisect import insort
        if probes:
            chain, tile, read = probes
            for seen, value in zip(self._seen, (chain, tile / chain, read)):
                insort(seen, value)

    def measured(self):
        """In ns; nothing where there are no probes."""
        if not self._seen[0]:
            return []
        chain, tile, read = (seen[len(seen) // FLOOR] for seen in self._seen)
        return [chain, tile * chain, read]

    def disturbance(self, probes):
        """By how much a probe is slower than it may be on a calm machine: at most 1 on one."""
        floors = self._given if self.known else self.measured()
        if not probes or not floors:
            return 0
        (chain, tile, read), (least_chain, least_tile, least_read) = probes, floors
        ratio = tile / chain / (least_tile / least_chain)  # also too low: something has run in the time of the first one
        return max(ratio / MAX_TILE, 1 / ratio / MAX_CHAIN, read / least_read / MAX_READ)

    def is_calm(self, call):
        return max(self.disturbance(call.beside), self.disturbance(call.after)) <= 1


class Call:
    """A timed call. ns; beside: what calibrators or probes took right before it; interrupted: the referee was, between these
    and the call; lost: for how many ns others ran while nothing but the referee was to run, which is a part of ns; after: what
    probes took right after it; error: what was wrong."""

    def __init__(self, ns=0, beside=(), interrupted=False, lost=0, after=()):
        self.ns, self.beside, self.interrupted, self.lost, self.after, self.error = ns, beside, interrupted, lost, after, ""


class Counted:
    """The calls of a session that count, and why others do not. Before it begins no submission knows a call's input: so it has
    no hand in what is dropped for what probes tell before it. Calls with something beside them are dropped too, but where they are
    more than a fifth they count with what that took, or a submission could choose among its calls. So it could by what it
    leaves for the probes after a call: where they drop more than a fifth of what is left, the session is not calm.
    calm: whether the session counts; begun: whether there are some that began while the machine was calm, which then count."""

    def __init__(self, calls, floors):
        kept = [call for call in calls if not call.lost]
        kept = kept if (len(calls) - len(kept)) * LEAST_CALM <= len(calls) else calls
        whole = [call for call in kept if not call.interrupted]
        begun = [call for call in whole if floors.disturbance(call.beside) <= 1]
        self.calls = [call for call in begun if floors.disturbance(call.after) <= 1]
        self.dropped = {"beside": len(calls) - len(kept), "interrupted": len(kept) - len(whole),
                        "busy": len(whole) - len(self.calls)}
        steady = (len(begun) - len(self.calls)) * LEAST_CALM <= len(begun)
        self.calm = steady and len(self.calls) * LEAST_CALM >= len(calls)
        self.begun = len(begun) >= LEAST_BEGUN
        if not self.calm and self.begun:
            self.calls = begun
        elif not self.calm:  # the calmest ones
            ordered = sorted(kept, key=lambda call: (call.interrupted, floors.disturbance(call.beside)))
            self.calls = ordered[:max(1, len(calls) // LEAST_CALM)]


def keys_of_sessions(sessions, floors, strict=False):
    """The keys of a benchmark with those calls in each session, which is a process of its own. strict: where the floors are known,
    most sessions must have been calm, or there is no time: a submission must not choose among its processes. Else, where but a
    few were, or half of them, those count in which calls began while it was calm, if these are most, or all."""
    strict, counted = strict and floors.known, [Counted(calls, floors) for calls in sessions]
    calm = [some for some in counted if some.calm]
    if strict and 2 * len(calm) <= len(sessions):
        calm = []
    elif not strict and len(calm) < max(FEW_SESSIONS, len(sessions) // 2 + 1):
        begun = [some for some in counted if some.begun]
        calm = begun if 2 * len(begun) > len(sessions) else counted
    valid = [[call.ns for call in some.calls] for some in calm]
    keys = statistics_of([call.ns for calls in sessions for call in calls])
    medians = [median(some) for some in valid] or [keys["mean"]]
    middle, low, high = middle_of([ns for some in valid for ns in some] or medians)
    if len(medians) >= FEW_SESSIONS:
        off = STUDENTS[min(len(medians) - 3, len(STUDENTS) - 1)] * MEDIAN * statistics_of(medians)["err"]
        middle = median(medians)
        low, high = max(middle - off, middle / 2), middle + off
    low, high = widened(middle, low, high, floors.spread)
    dropped = {why: sum(some.dropped[why] for some in counted) for why in ("beside", "interrupted", "busy")}
    keys.update({"raw-mean": keys["mean"], "mean": middle, "low": low, "high": high, "sessions": len(valid),
                 "calibrated": "yes" if floors.known else "no"})
    if any(dropped.values()):
        keys["dropped"] = " ".join(f"{why}={count}" for why, count in dropped.items() if count)
    if not valid:
        keys["busy"] = "yes"
    if measured := floors.measured():
        keys["calibrators"] = " ".join(f"{name}={ns:.1f}" for name, ns in zip(PROBES, measured))
        keys["ratios"] = f"{PROBES[0]}={middle:.9g}"  # what runs of the same differ by is stored with the first probe
    keys["worst"] = keys.pop("worst")  # last: who follows a run shows a benchmark once that is there
    return keys


def references_of(text):
    """KETTLE_CALIBRATION, `NAME=NS:PART NAME=NS`, as a dict of (ns, part); what is not of that form counts as not there."""
    found = {}
    for entry in text.split():
        name, _, value = entry.partition("=")
        ns, _, spread = value.partition(":")
        try:
            found[name] = float(ns), float(spread or 0)
        except ValueError:
            pass
    return found
