# SPDX-License-Identifier: MIT
"""What the authors of Python tasks need: seeds, comparison with a reference, a cold cache. torch and numpy are both
optional: whatever of them the task has imported is used."""
import sys

SHOWN = 5  # places that a comparison names
L2_BYTES = 256 << 20  # twice what the largest device holds


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
        import os
        import torch
        cudnn = torch.backends.cudnn
        self._before = (torch.are_deterministic_algorithms_enabled(), cudnn.deterministic, cudnn.allow_tf32,
                        torch.backends.cuda.matmul.allow_tf32, os.environ.get("CUBLAS_WORKSPACE_CONFIG"))
        os.environ["CUBLAS_WORKSPACE_CONFIG"] = ":4096:8"
        cudnn.deterministic, cudnn.allow_tf32, torch.backends.cuda.matmul.allow_tf32 = True, False, False
        torch.use_deterministic_algorithms(True)
        return self

    def __exit__(self, *_):
        import os
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


def _places(wrong, received, expected, shown):
    """Reasons for the elements marked in `wrong`: how many, and the first few."""
    positions = wrong.nonzero()
    if _is_tensor(wrong):
        positions = positions.tolist()
    else:
        positions = [list(map(int, position)) for position in zip(*positions)]
    if not positions:
        return []
    reasons = [f"{len(positions)} of {wrong.numel() if _is_tensor(wrong) else wrong.size} elements are wrong"]
    for position in positions[:shown]:
        at = tuple(position)
        reasons.append(f"at {position[0] if len(position) == 1 else at}: {received[at].item()}, expected "
                       f"{expected[at].item()}")
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
    return _places(~right, received, expected, max_print)


def verbose_allequal(received, expected, max_print=SHOWN):
    """As verbose_allclose, for elements that must be equal."""
    reasons = _form_differs(received, expected)
    if reasons:
        return reasons
    return _places(~(received == expected), received, expected, max_print)


def match_reference(data, output, reference, rtol=1e-05, atol=1e-08):
    """(True, '') if the output is close to reference(data), else (False, what differs). Outputs may be tensors, arrays,
    and tuples or lists of them."""
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
    reasons = verbose_allclose(output, expected, rtol, atol)
    return (f"{name}: " if name else "") + "; ".join(reasons) if reasons else ""


def make_match_reference(reference, **tolerances):
    """A check_implementation for a task with that reference: make_match_reference(ref_kernel, rtol=1e-3, atol=1e-3)."""
    def check_implementation(data, output):
        return match_reference(data, output, reference, **tolerances)
    return check_implementation
