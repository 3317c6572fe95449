# SPDX-License-Identifier: MIT
"""How results are judged."""


def _flat_float64(x):
    import numpy
    if hasattr(x, "detach"):
        x = x.detach().double().cpu().numpy()
    return numpy.asarray(x).astype(numpy.float64).ravel()


def calc_diff(x, y):
    """1 - 2 sum(x y) / (sum(x^2) + sum(y^2)) in float64: 0 for equal tensors, zeros included."""
    x, y = _flat_float64(x), _flat_float64(y)
    total = float((x * x + y * y).sum())
    return 0.0 if total == 0 else 1 - 2 * float((x * y).sum()) / total


def count_bytes(*tensors):
    """Bytes of all tensors, tuples and lists looked into, None counting nothing."""
    total = 0
    for tensor in tensors:
        if isinstance(tensor, (tuple, list)):
            total += count_bytes(*tensor)
        elif tensor is not None:
            total += tensor.numel() * tensor.element_size() if hasattr(tensor, "numel") \
                else tensor.nbytes
    return total


def assert_bitwise_equal(x, y, label=""):
    """AssertionError, telling where, unless x and y have the same shape, type and bytes."""
    import numpy
    assert x.dtype == y.dtype, f"{label}: {x.dtype} and {y.dtype}"
    assert tuple(x.shape) == tuple(y.shape), f"{label}: {tuple(x.shape)} and {tuple(y.shape)}"
    if hasattr(x, "detach"):
        import torch
        x, y = (t.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy() for t in (x, y))
    else:
        x, y = (numpy.ascontiguousarray(t).reshape(-1).view(numpy.uint8) for t in (x, y))
    wrong = numpy.flatnonzero(x != y)
    assert wrong.size == 0, (f"{label}: {wrong.size} of {x.size} bytes differ, the first at "
                             f"{wrong[0]}: {x[wrong[0]]:#04x} and {y[wrong[0]]:#04x}")
