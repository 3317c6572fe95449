# SPDX-License-Identifier: MIT
"""The structs of the C API that the checks in this folder need, as ctypes."""
import ctypes
from ctypes import POINTER, Structure, c_char_p, c_int, c_int32, c_int64, c_size_t, c_void_p

E4M3, E2M1X2, E8M0, BF16, F32, I32, I64, U8 = range(1, 9)
NONE, SIZES, OFFSETS, PSUM = range(4)


class Device(Structure):
    _fields_ = [("type", c_int), ("id", c_int32)]


class Tensor(Structure):
    _fields_ = [("data", c_void_p), ("device", Device), ("dtype", c_int), ("rank", c_int32),
                ("shape", c_int64 * 4), ("stride", c_int64 * 4)]


class Quantized(Structure):
    _fields_ = [("data", Tensor), ("scale", Tensor), ("gran", c_int32 * 4),
                ("power_of_two", c_int), ("k_axis", c_int)]


class Groups(Structure):
    _fields_ = [("form", c_int), ("values", Tensor), ("alignment", c_int32),
                ("host_sizes", POINTER(c_int64)), ("host_count", c_int64)]


class QuantizeArgs(Structure):
    _fields_ = [("struct_size", c_size_t), ("x", Tensor), ("out", Quantized * 2),
                ("groups", Groups)]


class DequantizeArgs(Structure):
    _fields_ = [("struct_size", c_size_t), ("q", Quantized), ("x", Tensor), ("groups", Groups)]


def load(path):
    lib = ctypes.CDLL(path)
    lib.dg_last_error.restype = c_char_p
    return lib


def view(t, dtype):
    """A torch tensor as it lies, strides and all."""
    out = Tensor(data=t.data_ptr(), device=Device(1, 0), dtype=dtype, rank=t.dim())
    for i in range(t.dim()):
        out.shape[i], out.stride[i] = t.shape[i], t.stride(i)
    return out
