# SPDX-License-Identifier: MIT
"""What the package needs of a tensor's framework: results to allocate, bytes to reinterpret.

torch and numpy (with ml_dtypes for FP8 and BF16) are served; nothing is imported before a tensor of
that framework turns up. All memory comes from the framework's own allocator.
"""
import functools
import sys

from ._native import ArgumentError


def tracing():
    """Whether torch is recording a graph now, so that calls have to appear in it as operators."""
    torch = sys.modules.get("torch")
    return torch is not None and torch.compiler.is_compiling()


def is_torch(x):
    """Whether `x` is a torch tensor. Does not import torch."""
    torch = sys.modules.get("torch")
    return torch is not None and isinstance(x, torch.Tensor)


def expect_tensor(x, name, *ranks):
    """Refuses what is no tensor of torch or numpy, or has a number of axes not among `ranks`."""
    shape = getattr(x, "shape", None)
    if shape is None or not hasattr(x, "dtype"):
        raise TypeError(f"{name}: a {type(x)}, expected a tensor of torch or numpy")
    if len(shape) not in ranks:
        raise ArgumentError(f"{name}: shape {list(shape)}, expected "
                            f"{' or '.join(str(rank) for rank in ranks)} axes")


def _numpy_dtype(name):
    import numpy
    if name in ("float8_e4m3fn", "bfloat16", "float8_e8m0fnu"):
        import ml_dtypes
        return numpy.dtype(getattr(ml_dtypes, name))
    return numpy.dtype(name)


def _require_numpy(x):
    numpy = sys.modules.get("numpy")
    if numpy is None or not isinstance(x, numpy.ndarray):
        raise TypeError(f"cannot make a result like a {type(x)}: pass a tensor of torch or numpy")
    return numpy


def empty(like, shape, dtype):
    """An uninitialised tensor of `like`'s framework and device; `dtype` is a name, "float32"."""
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        return torch.empty(shape, dtype=getattr(torch, dtype), device=like.device)
    return _require_numpy(like).empty(shape, _numpy_dtype(dtype))


def zeros_strided(like, shape, strides, dtype):
    """Zeros with the given strides, counted in elements; the memory between them is zero too."""
    extent = 1 + sum((n - 1) * s for n, s in zip(shape, strides)) if all(shape) else 0
    # MN-major rows end at an aligned size: own the padding behind the last one as well
    extent = max(extent, max((n * s for n, s in zip(shape, strides)), default=0))
    torch = sys.modules.get("torch")
    if torch is not None and isinstance(like, torch.Tensor):
        base = torch.zeros(extent, dtype=getattr(torch, dtype), device=like.device)
        return base.as_strided(shape, strides)
    numpy = _require_numpy(like)
    base = numpy.zeros(extent, _numpy_dtype(dtype))
    byte_strides = [s * base.itemsize for s in strides]
    return numpy.lib.stride_tricks.as_strided(base, shape, byte_strides)


def view_as(x, dtype):
    """The same bytes as another element type of the same size (or along the last axis another)."""
    if is_torch(x):
        return x.view(getattr(sys.modules["torch"], dtype))
    return x.view(_numpy_dtype(dtype))


def to_float32(x):
    """`x` in float32, without a copy if it is."""
    return x.float() if is_torch(x) else x.astype(_numpy_dtype("float32"), copy=False)


def contiguous(x):
    """`x` with its last axis fastest, without a copy if it is."""
    return x.contiguous() if is_torch(x) else _require_numpy(x).ascontiguousarray(x)


def dtype_name(x):
    """"float32" for a tensor of torch or numpy."""
    return str(x.dtype).removeprefix("torch.")


def type_name(dtype):
    """"float32" for a dtype of torch or numpy, or for that name."""
    return str(getattr(dtype, "__name__", dtype)).removeprefix("torch.")


def current_stream(like, device):
    """Address of the stream on which `like`'s framework queues its work on that GPU, as an integer.

    Called by the extension for frameworks whose tensors offer no C function for it.
    """
    if is_torch(like):
        return sys.modules["torch"].cuda.current_stream(device).cuda_stream
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(like, cupy.ndarray):
        with cupy.cuda.Device(device):
            return cupy.cuda.get_current_stream().ptr
    return 0


def workspace(like, size):
    """(owner, address) of so many bytes on `like`'s GPU, from its framework. See current_stream."""
    if is_torch(like):
        owner = empty(like, size, "uint8")
        return owner, owner.data_ptr()
    cupy = sys.modules.get("cupy")
    if cupy is not None and isinstance(like, cupy.ndarray):
        with like.device:
            owner = cupy.empty(size, "uint8")
        return owner, owner.data.ptr
    raise TypeError(f"no workspace for a {type(like)}: pass an output of torch or cupy")


def traceable(function):
    """Decorator for functions that return tensors: under tracing the operator of that name runs."""
    @functools.wraps(function)
    def wrapper(*args, **kwargs):
        if tracing():
            from . import _ops  # registers the operators
            return getattr(sys.modules["torch"].ops.deep_gemm, function.__name__)(*args, **kwargs)
        return function(*args, **kwargs)
    return wrapper
