#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a call costs in Python beyond the same call through the C API.

One small product of each family, factors ready, best of many rounds. The C call is timed through
ctypes with its arguments made beforehand, less what ctypes needs for a function that does nothing.
On a GPU it gets its workspace beforehand too, which Python takes from the framework in each call.

Usage: PYTHONPATH=build/release/python bench/python_overhead.py build/release/src/libdeep_gemm.so
Prints microseconds for numpy, and for torch on each device it has.
"""
import ctypes
import os
import sys
import timeit
from ctypes import Structure, c_int32, c_int64, c_size_t, c_void_p

os.environ["DG_NUM_THREADS"] = "1"
import deep_gemm  # noqa: E402
import numpy as np  # noqa: E402

E4M3, F32, I32 = 1, 5, 6
G, M, N, K = 2, 8, 16, 128  # small for the CPU's sake; a GPU is not waited for


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", c_int32 * 2), ("dtype", c_int32),
                ("rank", c_int32), ("shape", c_int64 * 4), ("stride", c_int64 * 4)]


class Operand(Structure):
    _fields_ = [("data", Tensor), ("scale", Tensor), ("gran_mn", c_int32), ("gran_k", c_int32)]


class KOperand(Structure):
    _fields_ = [("form", c_int32), ("data", Tensor), ("scale", Tensor), ("gran_k", c_int32),
                ("rows", Tensor)]


class Groups(Structure):
    _fields_ = [("form", c_int32), ("values", Tensor), ("alignment", c_int32),
                ("host_sizes", c_void_p), ("host_count", c_int64)]


class GemmArgs(Structure):
    _fields_ = [("struct_size", c_size_t), ("a", Operand), ("b", Operand), ("c", Tensor),
                ("d", Tensor)]


class MGroupedArgs(Structure):
    _fields_ = [*GemmArgs._fields_, ("groups", Groups), ("a_rows", Tensor),
                ("zero_padding", c_int32), ("expected_m", c_int32)]


class KGroupedArgs(Structure):
    _fields_ = [("struct_size", c_size_t), ("a", KOperand), ("b", KOperand), ("c", Tensor),
                ("d", Tensor), ("output", c_int32), ("d_list", c_void_p), ("c_list", c_void_p),
                ("groups", Groups), ("num_tokens", c_int64)]


class Launch(Structure):
    _fields_ = [("struct_size", c_size_t), ("stream", c_void_p), ("workspace", c_void_p),
                ("workspace_size", c_size_t), ("allocate", c_void_p), ("user", c_void_p),
                ("prepare", c_int32)]


class Numpy:
    name, on_gpu = "numpy", False

    def make(self, values, dtype):
        import ml_dtypes
        return np.asarray(values).astype(getattr(ml_dtypes, dtype, dtype))

    def describe(self, x, dtype):
        strides = [s // x.itemsize for s in x.strides] + [0] * (4 - x.ndim)
        return Tensor(x.ctypes.data, (1, 0), dtype, x.ndim, (*x.shape, *[0] * (4 - x.ndim)),
                      tuple(strides))

    def wait(self):
        pass


class Torch:
    def __init__(self, device):
        self.name, self.on_gpu, self.device = f"torch {device}", device == "cuda", device

    def make(self, values, dtype):
        import torch
        return torch.tensor(np.asarray(values)).to(getattr(torch, dtype)).to(self.device)

    def describe(self, x, dtype):
        pad = (0,) * (4 - x.dim())
        return Tensor(x.data_ptr(), (2 if self.on_gpu else 1, 0), dtype, x.dim(),
                      (*x.shape, *pad), (*x.stride(), *pad))

    def wait(self):
        if self.on_gpu:
            import torch
            torch.cuda.synchronize()


def frameworks():
    yield Numpy()
    try:
        import torch
    except ImportError:
        return
    yield Torch("cpu")
    if torch.cuda.is_available():
        yield Torch("cuda")


def families(f):
    """(name, Python call, C function, its arguments) of each family, on a framework's tensors."""
    rng = np.random.default_rng(0)

    def values(*shape):
        return f.make(rng.standard_normal(shape).astype(np.float32), "float8_e4m3fn")

    def ones(*shape):
        return f.make(np.ones(shape, np.float32), "float32")
    a, sa, b, sb = values(M, K), ones(M, 1), values(N, K), ones(1, 1)
    w, sw = values(G, N, K), ones(G, 1, 1)
    x, sx, y, sy = values(G * 32, M), ones(G, M), values(G * 32, N), ones(G, N)
    d, grad = ones(M, N), ones(G, M, N)
    index, sizes = f.make([0] * M, "int32"), f.make([32] * G, "int32")
    ks = [32] * G
    t = f.describe
    operand = Operand(t(a, E4M3), t(sa, F32), 1, 128)
    gemm = GemmArgs(ctypes.sizeof(GemmArgs), operand, Operand(t(b, E4M3), t(sb, F32), 128, 128),
                    Tensor(), t(d, F32))
    rows = MGroupedArgs(ctypes.sizeof(MGroupedArgs), operand,
                        Operand(t(w, E4M3), t(sw, F32), 128, 128), Tensor(), t(d, F32),
                        Groups(form=4, values=t(index, I32)))
    host = (c_int64 * G)(*ks)
    tokens = KGroupedArgs(ctypes.sizeof(KGroupedArgs), KOperand(1, t(x, E4M3), t(sx, F32), 128),
                          KOperand(1, t(y, E4M3), t(sy, F32), 128), t(grad, F32), t(grad, F32), 0,
                          None, None, Groups(1, t(sizes, I32), 0, ctypes.addressof(host), G), 0)
    tokens.keep = host
    return (
        ("gemm", lambda: deep_gemm.fp8_gemm_nt((a, sa), (b, sb), d), "dg_gemm", gemm),
        ("m_grouped", lambda: deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
            (a, sa), (w, sw), d, index), "dg_m_grouped_gemm", rows),
        ("k_grouped", lambda: deep_gemm.k_grouped_fp8_gemm_tn_contiguous(
            (x, sx), (y, sy), grad, ks, sizes, grad), "dg_k_grouped_gemm", tokens),
    )


def best(calls, wait, repeats=200, rounds=150):
    """Microseconds of each call: the fastest of many rounds, in which the calls take turns, so that
    what else the machine does falls on all of them alike. Rounds are shorter than a GPU's queue."""
    fastest = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            fastest[i] = min(fastest[i], timeit.timeit(call, number=repeats))
            wait()
    return [seconds / repeats * 1e6 for seconds in fastest]


def make_launch(library, f, name, args):
    """A launch with the workspace that the call asks for."""
    size = c_size_t(0)
    if getattr(library, name + "_workspace")(None, ctypes.byref(args), ctypes.byref(size)) != 0:
        sys.exit(f"{name}: {library.dg_last_error().decode()}")
    memory = f.make(np.zeros(size.value + 256, np.uint8), "uint8")
    begin = f.describe(memory, I32).data + 255
    return Launch(ctypes.sizeof(Launch), None, begin - begin % 256, size.value), memory


def main():
    library = ctypes.CDLL(sys.argv[1])
    library.dg_last_error.restype = ctypes.c_char_p
    for f in frameworks():
        for name, call, c_name, args in families(f):
            launch, memory = make_launch(library, f, c_name, args)
            function, nothing = getattr(library, c_name), library.dg_dtype_string
            at, how = ctypes.byref(args), ctypes.byref(launch)
            if function(None, at, how) != 0:
                sys.exit(f"{c_name}: {library.dg_last_error().decode()}")
            call()
            in_c, empty, in_python = best((lambda: function(None, at, how),
                                           lambda: nothing(0, None, None), call), f.wait)
            in_c -= empty
            print(f"{f.name:10} {name:9}  C API {in_c:6.2f} us, Python {in_python:6.2f} us, "
                  f"{in_python - in_c:5.2f} us more")


if __name__ == "__main__":
    main()
