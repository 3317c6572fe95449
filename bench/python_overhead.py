#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What a dense FP8 call costs in Python beyond the same call through the C API.

A small product on one thread, factors ready, best of many rounds. The C call is timed through
ctypes with its arguments made beforehand, less what ctypes needs for a function that does nothing.

Usage: PYTHONPATH=build/release/python bench/python_overhead.py build/release/src/libdeep_gemm.so
Prints microseconds for each framework that is installed.
"""
import ctypes
import os
import sys
import timeit

os.environ["DG_NUM_THREADS"] = "1"
import deep_gemm  # noqa: E402
import ml_dtypes  # noqa: E402
import numpy as np  # noqa: E402

M, N, K = 1, 16, 128
E4M3, F32 = 1, 5


class Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device", ctypes.c_int32 * 2),
                ("dtype", ctypes.c_int32), ("rank", ctypes.c_int32), ("shape", ctypes.c_int64 * 4),
                ("stride", ctypes.c_int64 * 4)]


class Operand(ctypes.Structure):
    _fields_ = [("data", Tensor), ("scale", Tensor), ("gran_mn", ctypes.c_int32),
                ("gran_k", ctypes.c_int32)]


class GemmArgs(ctypes.Structure):
    _fields_ = [("struct_size", ctypes.c_size_t), ("a", Operand), ("b", Operand), ("c", Tensor),
                ("d", Tensor)]


def tensor(array, dtype):
    strides = [s // array.itemsize for s in array.strides]
    return Tensor(array.ctypes.data, (1, 0), dtype, 2, (*array.shape, 0, 0), (*strides, 0, 0))


def best(calls, repeats=1000, rounds=150):
    """Microseconds of each call: the fastest of many rounds, in which the calls take turns, so that
    what else the machine does falls on all of them alike."""
    fastest = [float("inf")] * len(calls)
    for _ in range(rounds):
        for i, call in enumerate(calls):
            fastest[i] = min(fastest[i], timeit.timeit(call, number=repeats))
    return [seconds / repeats * 1e6 for seconds in fastest]


def main():
    rng = np.random.default_rng(0)
    a, b = (rng.standard_normal((mn, K)).astype(ml_dtypes.float8_e4m3fn) for mn in (M, N))
    sa, sb = np.ones((M, 1), np.float32), np.ones((1, 1), np.float32)
    d = np.empty((M, N), np.float32)
    library = ctypes.CDLL(sys.argv[1])
    args = GemmArgs(ctypes.sizeof(GemmArgs), Operand(tensor(a, E4M3), tensor(sa, F32), 1, 128),
                    Operand(tensor(b, E4M3), tensor(sb, F32), 128, 128), Tensor(), tensor(d, F32))
    address, gemm, nothing = ctypes.byref(args), library.dg_gemm, library.dg_dtype_string
    assert gemm(None, address, None) == 0
    calls = {"C API": lambda: gemm(None, address, None),
             "nothing": lambda: nothing(0, None, None),
             "numpy": lambda: deep_gemm.fp8_gemm_nt((a, sa), (b, sb), d)}
    try:
        import torch
        x, w = (torch.from_numpy(v.view(np.uint8)).view(torch.float8_e4m3fn) for v in (a, b))
        sx, sw, y = (torch.from_numpy(v) for v in (sa, sb, d))
        calls["torch"] = lambda: deep_gemm.fp8_gemm_nt((x, sx), (w, sw), y)
    except ImportError:
        pass
    times = dict(zip(calls, best(list(calls.values()))))
    in_c = times.pop("C API") - times.pop("nothing")
    print(f"C API    {in_c:6.2f} us")
    for name, time in times.items():
        print(f"{name:8} {time:6.2f} us, {time - in_c:5.2f} us more than the C API")


if __name__ == "__main__":
    main()
