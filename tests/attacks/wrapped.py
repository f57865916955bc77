# SPDX-License-Identifier: MIT
"""What mutants.test puts behind a correct solution: its custom_kernel with one fault, or, of HONEST, by a detour.

The lines before name OPERATOR; PART, which of several outputs it changes (0 the first, -1 the last); and PUBLIC, the cases
that are public. Operators see an output as its elements in a row (`flat`), which they change, or as what it is.
"""
import copy
import os
import sys
import threading

_right = custom_kernel  # noqa: F821
OPERATOR, PART, PUBLIC = OPERATOR, PART, PUBLIC  # noqa: F821
DIFFERS = b"OUTPUT DIFFERS\n"
count, kept, told = 0, {}, []


def library(name, value):
    """A library, if the value is an array of it."""
    module = sys.modules.get(name)
    return module if module and isinstance(value, getattr(module, {"torch": "Tensor", "numpy": "ndarray"}[name])) else None


def is_leaf(value):
    return isinstance(value, bytearray) or bool(library("torch", value) or library("numpy", value))


def flat(leaf):
    """A copy of its elements in a row."""
    if library("torch", leaf):
        return leaf.detach().clone().reshape(-1)
    return leaf.reshape(-1).copy() if library("numpy", leaf) else bytearray(leaf)


def like(leaf, elements):
    """Elements in a row in the form of a leaf."""
    return elements.reshape(leaf.shape) if hasattr(leaf, "shape") else elements


def fill(elements, first, end, value):
    if isinstance(elements, bytearray):
        elements[first:end] = bytes([value & 255]) * (end - first)
    else:
        elements[first:end] = value
    return elements


def joined(*parts):
    """Elements in a row, of several."""
    module = library("torch", parts[0]) or library("numpy", parts[0])
    return (module.cat if module.__name__ == "torch" else module.concatenate)(parts) if module else b"".join(parts)


def every(elements, first, step):
    """Each step-th of them; backwards, too."""
    if step < 0 and library("torch", elements):
        return elements.flip(0)
    return elements[first::step]


def content(value):
    """All that a check could see of an output, so that two of them can be compared."""
    if isinstance(value, (list, tuple, dict)):
        items = value.items() if isinstance(value, dict) else value
        return type(value), [content(item) for item in items]
    if library("torch", value):
        return value.dtype, tuple(value.shape), value.detach().contiguous().view(-1).view(sys.modules["torch"].uint8).tolist()
    return (value.dtype, value.shape, value.tobytes()) if library("numpy", value) else (type(value), value)


def leaves(value):
    """The arrays of an input or output, in order."""
    if is_leaf(value):
        return [value]
    items = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return [leaf for item in items for leaf in leaves(item)]


def changed(value, function):
    """An output with a part of it replaced."""
    if is_leaf(value):
        return function(value)
    number = PART % len(value)
    return type(value)(changed(item, function) if i == number else item for i, item in enumerate(value))


def mapped(value, function):
    """An input with each of its arrays replaced."""
    if is_leaf(value):
        return function(value)
    if isinstance(value, dict):
        return {key: mapped(item, function) for key, item in value.items()}
    return type(value)(mapped(item, function) for item in value) if isinstance(value, (list, tuple)) else value


def is_float(leaf):
    return leaf.is_floating_point() if library("torch", leaf) else bool(library("numpy", leaf)) and leaf.dtype.kind == "f"


def same_kind(one, other):
    return type(one) is type(other) and (not hasattr(one, "shape") or one.shape == other.shape and one.dtype == other.dtype)


# ---- Mutants: of an output's elements in a row ----

def zeros(row):
    return fill(row, 0, len(row), 0)


def last_element(row):
    return fill(row, max(0, len(row) - 1), len(row), 0)


def first_element(row):
    return fill(row, 0, min(1, len(row)), 0)


def half(row):
    return fill(row, len(row) // 2, len(row), 0)


def second_half_again(row):
    return joined(row[:len(row) // 2], row[:len(row) - len(row) // 2])


def off_by_one(row):
    return joined(row[1:], row[:1])


def backwards(row):
    return every(row, -1, -1)


def odd_and_even(row):
    return joined(every(row, 0, 2), every(row, 1, 2))


def one_off(row):
    """One more in a single place, which is what an atomic operation that is none leaves."""
    at = len(row) // 3
    return fill(row, at, at + 1, row[at] + 1) if len(row) else row


def doubled(row):
    return bytearray(2 * item & 255 for item in row) if isinstance(row, bytearray) else row * 2


def one_nan(row):
    return fill(row, len(row) // 2, len(row) // 2 + 1, float("nan")) if is_float(row) else row


def all_nan(row):
    return fill(row, 0, len(row), float("nan")) if is_float(row) else row


def one_infinity(row):
    return fill(row, len(row) // 2, len(row) // 2 + 1, float("inf")) if is_float(row) else row


ROWS = {function.__name__: function for function in (
    zeros, last_element, first_element, half, second_half_again, off_by_one, backwards, odd_and_even, one_off, doubled, one_nan,
    all_nan, one_infinity)}


# ---- Mutants: of an output as it is ----

def other_dtype(leaf):
    """The same numbers, of another type."""
    if library("torch", leaf):
        torch = sys.modules["torch"]
        return leaf.to(torch.float64 if leaf.is_floating_point() else torch.int32)
    return leaf.astype("f8") if library("numpy", leaf) else bytes(leaf)


def transposed(leaf):
    """As if rows were columns, in the shape that is right."""
    if getattr(leaf, "ndim", 0) < 2:
        return leaf
    numbers = leaf.swapaxes(-1, -2)
    return (numbers.contiguous() if library("torch", leaf) else numbers.copy()).reshape(leaf.shape)


def wrong_strides(leaf):
    """The right elements in memory, seen by strides that are not theirs."""
    if getattr(leaf, "ndim", 0) < 2:
        return leaf
    steps = [1] * leaf.ndim
    for i in range(1, leaf.ndim):
        steps[i] = steps[i - 1] * leaf.shape[i - 1]
    if library("torch", leaf):
        return leaf.contiguous().as_strided(tuple(leaf.shape), steps)
    numpy = sys.modules["numpy"]
    return numpy.lib.stride_tricks.as_strided(numpy.ascontiguousarray(leaf), leaf.shape, [step * leaf.itemsize for step in steps])


def smaller(leaf):
    """Of a case that is smaller by one."""
    return leaf[:-1]


def one_row(leaf):
    """A part that is as large as all if a check broadcasts it."""
    return leaf[:1] if len(leaf) else leaf


def extra_dimension(leaf):
    return leaf[None] if hasattr(leaf, "shape") else leaf + b"\0"


def in_a_list(leaf):
    return [leaf]


WHOLE = {function.__name__: function for function in (
    other_dtype, transposed, wrong_strides, smaller, one_row, extra_dimension, in_a_list)}


# ---- Mutants: of a call ----

def fewer_bits(data):
    """Computed from numbers of half as many bits."""
    def rounded(leaf):
        if not is_float(leaf):
            return leaf
        if library("numpy", leaf):
            return leaf.astype("f2").astype(leaf.dtype)
        torch = sys.modules["torch"]
        fewer = {torch.float32: torch.float16, torch.float16: torch.bfloat16}
        return leaf.to(fewer[leaf.dtype]).to(leaf.dtype) if leaf.dtype in fewer else leaf
    return _right(mapped(data, rounded))


def returns_input(data):
    """Nothing is computed."""
    right = _right(data)
    return changed(right, lambda leaf: next((one for one in leaves(data) if same_kind(one, leaf)), leaves(data)[0]))


def easy_input(data):
    """The input is made one whose result is known, and that is returned."""
    for leaf in leaves(data):
        fill(leaf if isinstance(leaf, bytearray) else leaf.reshape(-1), 0, len(leaf) if isinstance(leaf, bytearray) else None, 0)
    return _right(data)


def of_before(key):
    """A result that was right for an earlier call of that key, or the right one, and then kept."""
    def function(data):
        right = _right(data)
        return kept.setdefault(key(data, right), right)
    return function


def previous(data):
    """The result of the call before, if it has the right form."""
    right = _right(data)
    before, kept["last"] = kept.get("last"), mapped(right, lambda leaf: like(leaf, flat(leaf)))
    fits = before is not None and all(same_kind(*pair) for pair in zip(leaves(before), leaves(right)))
    return before if fits else right


def then_wrong(data):
    """The first call is right, later ones are not."""
    right = _right(data)
    return right if count == 1 else changed(right, lambda leaf: like(leaf, zeros(flat(leaf))))


def at_times(data):
    """Each third call is wrong."""
    right = _right(data)
    return right if count % 3 else changed(right, lambda leaf: like(leaf, zeros(flat(leaf))))


def only_public(data):
    """Right for inputs that are known beforehand."""
    if not kept:
        from reference import generate_input
        kept.update((repr(content(generate_input(**case))), True) for case in PUBLIC)
    known = repr(content(data)) in kept
    right = _right(data)
    return right if known else changed(right, lambda leaf: like(leaf, zeros(flat(leaf))))


def later(data):
    """The result is written by a thread, after the return: at the next call."""
    for event in kept.values():
        event.set()
    right, event = _right(data), threading.Event()
    output = mapped(right, lambda leaf: like(leaf, zeros(flat(leaf))))

    def write():
        event.wait()
        for to, leaf in zip(leaves(output), leaves(right)):
            to[:] = leaf
    kept[count] = event
    threading.Thread(target=write, daemon=True).start()
    return output


def shape_of(data, right):
    return str([(type(leaf), getattr(leaf, "shape", None) or len(leaf)) for leaf in leaves(data) + leaves(right)])


def place_of(data, right):
    return [leaf.data_ptr() if library("torch", leaf) else id(leaf) for leaf in leaves(data)][0], shape_of(data, right)


CALLS = {"by_shape": of_before(shape_of), "by_place": of_before(place_of), **{function.__name__: function for function in (
    fewer_bits, returns_input, easy_input, previous, then_wrong, at_times, only_public, later)}}


# ---- Honest ones ----

def same(data):
    return _right(data)


def copied(data):
    return mapped(_right(data), lambda leaf: like(leaf, flat(leaf)))


def strided(data):
    """Elements with gaps between them."""
    def apart(leaf):
        if isinstance(leaf, bytearray) or not leaf.ndim:
            return leaf
        module = library("torch", leaf) or library("numpy", leaf)
        room = module.zeros((*leaf.shape, 2), dtype=leaf.dtype)[..., 0]
        room[...] = leaf
        return room
    return mapped(_right(data), apart)


def columns_first(data):
    """Elements in the order of columns."""
    def turned(leaf):
        if getattr(leaf, "ndim", 0) < 2:
            return leaf
        numbers = leaf.swapaxes(-1, -2)
        return (numbers.contiguous() if library("torch", leaf) else numbers.copy()).swapaxes(-1, -2)
    return mapped(_right(data), turned)


def amid(data):
    """A part of a larger memory."""
    def inside(leaf):
        row = flat(leaf)
        return leaf if isinstance(leaf, bytearray) else like(leaf, joined(row, row, row)[len(row):2 * len(row)])
    return mapped(_right(data), inside)


def into_input(data):
    """Written over an input of its form, if there is one."""
    def written(leaf):
        for place in leaves(data):
            if same_kind(place, leaf) and place is not leaf:
                place[...] = leaf
                return place
        return leaf
    right = _right(data)
    if not is_leaf(right) or isinstance(right, bytearray):
        return right
    return written(right)


def in_thread(data):
    """Computed by a thread that has ended at the return."""
    found = []
    thread = threading.Thread(target=lambda: found.append(_right(data)))
    thread.start()
    thread.join()
    return found[0]


def all_kept(data):
    """No result's memory is ever given back."""
    kept[count] = _right(data)
    return kept[count]


HONEST = {function.__name__: function for function in (
    same, copied, strided, columns_first, amid, into_input, in_thread, all_kept)}


def wrong(data):
    if OPERATOR in CALLS:
        return CALLS[OPERATOR](data)
    function = WHOLE.get(OPERATOR) or (lambda leaf: like(leaf, ROWS[OPERATOR](flat(leaf))))
    return changed(_right(data), function)


def custom_kernel(data):
    global count
    count += 1
    if OPERATOR in HONEST:
        return HONEST[OPERATOR](data)
    private = copy.deepcopy(data)  # what is computed of it is right whatever a mutant does
    try:
        output = wrong(data)
    except Exception:
        os.write(2, DIFFERS)
        raise
    if not told and content(output) != content(_right(private)):
        told.append(True)
        os.write(2, DIFFERS)
    return output
