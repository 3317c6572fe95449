# SPDX-License-Identifier: MIT
"""Every way a tensor can be read: numpy, attributes as of older torch, DLPack capsules."""
import ctypes

import deep_gemm
import ml_dtypes
import numpy as np
import pytest
from conftest import HAS_GPU, Numpy
from reference import Operand, check, product

NUMPY = Numpy()


class OldTorch:
    """A tensor with the attributes of torch before 2.10, over numpy memory."""

    def __init__(self, array, device="cpu"):
        self.array, self.shape, self.device = array, array.shape, device
        self.dtype = "torch." + array.dtype.name

    def data_ptr(self):
        return self.array.ctypes.data

    def stride(self):
        return tuple(s // self.array.itemsize for s in self.array.strides)


class Capsule:
    """A tensor with __dlpack__ alone, made by hand: what JAX, Paddle and CuPy look like."""

    CODES = {"float8_e4m3fn": (10, 8), "bfloat16": (4, 16), "float32": (2, 32), "int32": (0, 32),
             "uint8": (1, 8), "int16": (0, 16)}

    def __init__(self, array, versioned, readonly=False, device=1, dense=False):
        self.array, self.versioned, self.readonly, self.device = array, versioned, readonly, device
        self.dense = dense  # say so by leaving the strides out
        self.deleted = 0

    def __dlpack__(self, **keywords):
        if keywords and not self.versioned:
            raise TypeError("an old producer takes no max_version")
        rank = self.array.ndim
        shape = (ctypes.c_int64 * rank)(*self.array.shape)
        strides = (ctypes.c_int64 * rank)(*NUMPY.strides(self.array))
        code, bits = self.CODES[self.array.dtype.name]
        tensor = _Tensor(self.array.ctypes.data - 8, self.device, 0, rank, code, bits, 1, shape,
                         None if self.dense else strides, 8)

        def delete(_):
            self.deleted += 1
        deleter = _DELETER(delete)
        if self.versioned:
            managed = _Versioned(1, 1, None, deleter, 1 if self.readonly else 0, tensor)
        else:
            managed = _Managed(tensor, None, deleter)
        self.alive = managed, shape, strides, deleter
        return _new_capsule(ctypes.addressof(managed),
                            b"dltensor_versioned" if self.versioned else b"dltensor", None)


class _Tensor(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32),
                ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8),
                ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16),
                ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64)]


_DELETER = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


class _Managed(ctypes.Structure):
    _fields_ = [("tensor", _Tensor), ("manager", ctypes.c_void_p), ("deleter", _DELETER)]


class _Versioned(ctypes.Structure):
    _fields_ = [("major", ctypes.c_uint32), ("minor", ctypes.c_uint32),
                ("manager", ctypes.c_void_p), ("deleter", _DELETER), ("flags", ctypes.c_uint64),
                ("tensor", _Tensor)]


_new_capsule = ctypes.pythonapi.PyCapsule_New
_new_capsule.restype = ctypes.py_object
_new_capsule.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]

WAYS = {
    "numpy": lambda x: x,
    "attributes": OldTorch,
    "capsule": lambda x: Capsule(x, versioned=False),
    "versioned capsule": lambda x: Capsule(x, versioned=True),
    "dense capsule": lambda x: Capsule(x, versioned=True, dense=True),
}


@pytest.mark.parametrize("way", WAYS)
def test_operands_and_outputs(rng, way):
    wrap = WAYS[way]
    a, b = Operand(rng, (9, 256)), Operand(rng, (40, 256), gran_mn=128)
    d = NUMPY.poisoned((9, 40), "float32")
    pairs = [tuple(wrap(x) for x in operand.pair(NUMPY)) for operand in (a, b)]
    deep_gemm.fp8_gemm_nt(*pairs, wrap(d))
    check(NUMPY, d, *product(a.values, b.values), "float32")


def test_bytes_mean_fp8_and_exponents(rng):
    a, b = Operand(rng, (9, 256)), Operand(rng, (40, 256))
    b.values = b.codes * (2.0**(b.exponents.astype(float) - 127)).repeat(128, 1)
    d = NUMPY.poisoned((9, 40), "float32")
    deep_gemm.fp8_gemm_nt((a.data(NUMPY).view(np.uint8), a.sf(NUMPY)),
                          (b.data(NUMPY).view(np.uint8), b.exponents), d, recipe=(1, 1, 128))
    check(NUMPY, d, *product(a.values, b.values), "float32")
    d[:] = np.nan
    exponents = b.exponents.view(ml_dtypes.float8_e8m0fnu)
    deep_gemm.fp8_gemm_nt(a.pair(NUMPY), (b.data(NUMPY), exponents), d, recipe=(1, 1, 128))
    check(NUMPY, d, *product(a.values, b.values), "float32")


def test_readonly_inputs_are_fine_and_outputs_are_not(rng):
    a, b = Operand(rng, (4, 64), "bfloat16", None), Operand(rng, (6, 64), "bfloat16", None)
    inputs = [x.data(NUMPY) for x in (a, b)]
    for x in inputs:
        x.setflags(write=False)
    d = NUMPY.poisoned((4, 6), "float32")
    deep_gemm.bf16_gemm_nt(*inputs, d)
    check(NUMPY, d, *product(a.values, b.values), "float32")
    d.setflags(write=False)
    with pytest.raises(ValueError, match="read-only"):
        deep_gemm.bf16_gemm_nt(*inputs, d)
    with pytest.raises(ValueError, match="read-only"):
        deep_gemm.bf16_gemm_nt(*inputs, Capsule(d, versioned=True, readonly=True))


@pytest.mark.skipif(HAS_GPU, reason="a GPU would go to these addresses")
@pytest.mark.parametrize("wrap", (lambda x: OldTorch(x, "cuda:0"),
                                  lambda x: Capsule(x, versioned=True, device=2)))
def test_cuda_tensors_are_refused_by_name(wrap):
    a, b = (np.zeros((4, 64), ml_dtypes.bfloat16) for _ in range(2))
    d = np.full((4, 4), 7, np.float32)
    with pytest.raises(RuntimeError, match="(?i)cuda|gpu|device"):
        deep_gemm.bf16_gemm_nt(wrap(a), wrap(b), wrap(d))
    with pytest.raises(RuntimeError, match="(?i)cuda|gpu|device"):
        deep_gemm.bf16_gemm_nt(a, wrap(b), d)
    assert (d == 7).all()


def test_other_devices_are_refused():
    x = np.zeros((4, 64), ml_dtypes.bfloat16)
    with pytest.raises(RuntimeError, match="xpu"):
        deep_gemm.bf16_gemm_nt(OldTorch(x, "xpu:0"), x, np.zeros((4, 4), np.float32))


@pytest.mark.parametrize("wrap", WAYS.values(), ids=WAYS)
def test_element_types_without_meaning(wrap):
    good, bad = np.zeros((4, 64), ml_dtypes.bfloat16), np.zeros((4, 64), np.int16)
    with pytest.raises(TypeError, match="a: element type"):
        deep_gemm.bf16_gemm_nt(wrap(bad), wrap(good), wrap(np.zeros((4, 4), np.float32)))


def test_other_byte_order_is_refused():
    a = np.zeros((4, 64), ml_dtypes.bfloat16)
    with pytest.raises(TypeError, match="byte order"):
        deep_gemm.bf16_gemm_nt(a, a, np.zeros((4, 4), ">f4"))


def test_strides_between_elements_are_refused():
    base = np.zeros(4 * 4 * 4 + 8, np.uint8)
    crooked = np.ndarray((4, 4), np.float32, base, strides=(17, 4))
    a = np.zeros((4, 64), ml_dtypes.bfloat16)
    with pytest.raises(ValueError, match="17 bytes"):
        deep_gemm.bf16_gemm_nt(a, a, crooked)


def test_no_references_are_kept(rng):
    import sys
    a, b = Operand(rng, (4, 64)), Operand(rng, (6, 64), gran_mn=128)
    tensors = [*a.pair(NUMPY), *b.pair(NUMPY), NUMPY.poisoned((4, 6), "float32")]
    before = [sys.getrefcount(x) for x in tensors]
    for _ in range(3):
        deep_gemm.fp8_gemm_nt((tensors[0], tensors[1]), (tensors[2], tensors[3]), tensors[4])
        with pytest.raises(ValueError):
            deep_gemm.fp8_gemm_nt((tensors[0], tensors[3]), (tensors[2], tensors[1]), tensors[4])
    assert [sys.getrefcount(x) for x in tensors] == before


def broken(name, value):
    """A tensor as of older torch whose attribute `name` is wrong."""
    tensor = OldTorch(np.zeros((4, 64), ml_dtypes.bfloat16))
    setattr(tensor, name, value)
    return tensor


class Liar:
    """Says it has DLPack and hands out something else."""

    def __init__(self, answer):
        self.answer = answer

    def __dlpack__(self, **keywords):
        return self.answer()


def fail():
    raise KeyError("an exception of the producer's own")


HOSTILE = {
    "address is text": lambda: broken("data_ptr", lambda: "here"),
    "address missing": lambda: broken("data_ptr", None),
    "stride of another rank": lambda: broken("stride", lambda: (64,)),
    "stride is None": lambda: broken("stride", lambda: None),
    "shape is a number": lambda: broken("shape", 4),
    "shape is text": lambda: broken("shape", ("4", "64")),
    "extent beyond 64 bits": lambda: broken("shape", (2**70, 64)),
    "extent negative": lambda: broken("shape", (-4, 64)),
    "type unknown": lambda: broken("dtype", "torch.quint4x2"),
    "no address": lambda: broken("data_ptr", lambda: 0),
    "capsule is None": lambda: Liar(lambda: None),
    "capsule of another kind": lambda: Liar(lambda: _new_capsule(1, b"something", None)),
    "producer fails": lambda: Liar(fail),
}


@pytest.mark.parametrize("kind", HOSTILE)
def test_broken_producers_raise(kind):
    good, d = np.zeros((4, 64), ml_dtypes.bfloat16), np.full((4, 4), 7, np.float32)
    with pytest.raises(Exception):
        deep_gemm.bf16_gemm_nt(HOSTILE[kind](), good, d)
    assert (d == 7).all()
