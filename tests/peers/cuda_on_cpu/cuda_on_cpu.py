# SPDX-License-Identifier: MIT
"""The patch of sitecustomize.py: what names a CUDA device gets the CPU.

torch.cuda.is_available() goes on saying no: torch.compile would look for a real device otherwise. torch.Generator stays a
type, since annotations such as `Generator | None` are evaluated. Random state, events and streams have stand-ins.
"""
import contextlib
import functools
import time


def patch(torch):
    def is_cuda(device):
        return getattr(device, "type", None) == "cuda" if isinstance(device, torch.device) else \
            isinstance(device, str) and device.partition(":")[0] == "cuda"

    def placed(device):
        return torch.device("cpu") if is_cuda(device) else device

    def by_keyword(function):
        """The function with the CPU for what its `device` names."""
        @functools.wraps(function)
        def called(*args, **kwargs):
            if "device" in kwargs:
                kwargs["device"] = placed(kwargs["device"])
            return function(*args, **kwargs)
        return called

    def by_place(function):
        """As by_keyword, for those that take a device among other things, or its number."""
        @functools.wraps(function)
        def called(self, *args, **kwargs):
            args = [torch.device("cpu") if type(one) is int else placed(one) for one in args]
            return by_keyword(function)(self, *args, **kwargs)
        return called

    class Generator(torch.Generator):
        def __new__(cls, device="cpu"):
            return super().__new__(cls, placed(device))

    from torch.utils._device import _device_constructors
    makers = {id(maker) for maker in _device_constructors()}
    for module in (torch, torch.fft):
        for name, value in list(vars(module).items()):
            if id(value) in makers:
                setattr(module, name, by_keyword(value))
    torch.Generator = Generator
    # Torch's own also tells its compilers, and imports them for that, which takes seconds.
    torch.use_deterministic_algorithms = functools.wraps(torch.use_deterministic_algorithms)(
        lambda mode, *, warn_only=False: torch._C._set_deterministic_algorithms(mode, warn_only=warn_only))
    torch.set_default_device = functools.wraps(torch.set_default_device)(
        lambda device, set_default_device=torch.set_default_device: set_default_device(placed(device)))
    for kind in (torch.Tensor, torch.nn.Module):
        kind.to = by_place(kind.to)
        kind.cuda = lambda self, *_args, **_kwargs: self
    for name in ("empty_like", "full_like", "ones_like", "rand_like", "randint_like", "randn_like", "zeros_like"):
        setattr(torch, name, by_keyword(getattr(torch, name)))
    for name in ("new_empty", "new_full", "new_ones", "new_tensor", "new_zeros"):
        setattr(torch.Tensor, name, by_keyword(getattr(torch.Tensor, name)))
    torch.Tensor.pin_memory = lambda self, *_: self
    torch.Tensor.record_stream = lambda self, _stream: None
    patch_cuda(torch)


class Event:
    """A moment of the CPU's clock."""

    def __init__(self, *_args, **_kwargs):
        self.at = None

    def record(self, stream=None):
        self.at = time.perf_counter_ns()

    def elapsed_time(self, end):
        return (end.at - self.at) / 1e6

    def query(self):
        return True

    def wait(self, stream=None):
        pass

    synchronize = wait


class Stream:
    """Work is done when it is called for."""

    def __init__(self, *_args, **_kwargs):
        pass

    def record_event(self, event=None):
        event = event or Event()
        event.record()
        return event

    def query(self):
        return True

    def nothing(self, *_):
        pass

    synchronize = wait_event = wait_stream = nothing


class Scope(contextlib.nullcontext):
    """torch.cuda.device(…), torch.cuda.stream(…)."""

    def __init__(self, *_):
        super().__init__()


def patch_cuda(torch):
    cuda = torch.cuda

    # One of its own for each name: torch.compile has a rule for each, by the function.
    def returning(value):
        return lambda *_args, **_kwargs: value

    def seed(value):
        torch.default_generator.manual_seed(value)

    for name in ("synchronize", "empty_cache", "ipc_collect", "set_device", "reset_peak_memory_stats", "set_stream"):
        setattr(cuda, name, returning(None))
    for name in ("memory_allocated", "max_memory_allocated", "memory_reserved", "max_memory_reserved", "current_device"):
        setattr(cuda, name, returning(0))
    cuda.manual_seed, cuda.manual_seed_all = seed, lambda value: seed(value)
    cuda.initial_seed = lambda: torch.default_generator.initial_seed()
    cuda.get_rng_state = lambda device="cuda": torch.get_rng_state()
    cuda.set_rng_state = lambda state, device="cuda": torch.set_rng_state(state)
    cuda.get_rng_state_all = lambda: [torch.get_rng_state()]
    cuda.set_rng_state_all = lambda states: torch.set_rng_state(states[0])
    cuda.Event, cuda.Stream, cuda.device, cuda.stream = Event, Stream, Scope, Scope
    cuda.current_stream, cuda.default_stream = returning(Stream()), returning(Stream())
    cuda.get_device_name, cuda.get_device_capability = returning("CPU"), returning((9, 0))
    for name in ("range_push", "range_pop", "mark"):
        setattr(cuda.nvtx, name, returning(None))
    cuda.nvtx.range = Scope
