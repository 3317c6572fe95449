# SPDX-License-Identifier: MIT
"""Casts to FP8 and FP4 with fine-grained factors, and small arithmetic.

    amax   = max(|x|) over a block, at least 1e-4
    factor = amax / 448 (FP8) or amax / 6 (FP4), rounded up to a power of two with use_ue8m0
    value  = x * (1 / factor), rounded to the nearest code

All in FP32 with IEEE division. x is bfloat16 or float32 (other floats are widened first), a torch
tensor or a numpy array; results are of the same framework.
"""
from .. import _groups, _native
from .._tensor import (
    contiguous, dtype_name, empty, expect_tensor, is_torch, to_float32, traceable, view_as)

_LAST = 0  # packed factors share a word along the last axis


def ceil_div(x, y):
    """x / y rounded up."""
    return (x + y - 1) // y


def align(x, y):
    """x rounded up to a multiple of y."""
    return ceil_div(x, y) * y


def ceil_to_ue8m0(x):
    """float32 powers of two: |x| rounded up, between 2^-126 and 2^127."""
    expect_tensor(x, "x", *range(9))
    bits = view_as(contiguous(abs(to_float32(x))), "int32")
    exponents = (bits >> 23) + _has_mantissa(bits & 0x7FFFFF)
    return view_as(exponents.clip(1, 254) << 23, "float32")


def _has_mantissa(mantissa):
    """1 where the mantissa is not zero, else 0, as int32."""
    nonzero = mantissa != 0
    return nonzero.int() if is_torch(nonzero) else nonzero.astype("int32")


@traceable
def pack_ue8m0_to_int(x):
    """int32 [.., n / 4] with the exponents of four float32 powers of two a word, lowest first.

    Raises ValueError if a factor is no power of two or n is not a multiple of 4.
    """
    expect_tensor(x, "x", *range(1, 9))
    if x.shape[-1] % 4 != 0:
        raise _native.ArgumentError(f"x: last extent {x.shape[-1]}, expected a multiple of 4")
    flat = x.reshape(-1, x.shape[-1])
    out = empty(x, [flat.shape[0], x.shape[-1] // 4], "int32")
    _native.scale_convert(flat, out, 1, x.shape[-1], None)
    return out.reshape(*x.shape[:-1], x.shape[-1] // 4)


@traceable
def unpack_ue8m0_from_int(packed):
    """float32 [.., 4 n] of the exponents in int32 [.., n]; the inverse of pack_ue8m0_to_int."""
    expect_tensor(packed, "packed", *range(1, 9))
    flat = packed.reshape(-1, packed.shape[-1])
    out = empty(packed, [flat.shape[0], 4 * packed.shape[-1]], "float32")
    _native.scale_convert(flat, out, 1, 4 * packed.shape[-1], None)
    return out.reshape(*packed.shape[:-1], 4 * packed.shape[-1])


def _readable(x):
    return x if dtype_name(x) in ("float32", "bfloat16") else to_float32(x)


def _cast_to_fp8(x, gran, use_ue8m0, packed=False):
    """(float8_e4m3fn of x's shape, factors) for blocks of `gran`, 0 meaning the whole axis."""
    if packed and not use_ue8m0:
        raise _native.ArgumentError("use_packed_ue8m0: packed factors need use_ue8m0=True")
    blocks = [1 if g == 0 else ceil_div(n, g) for n, g in zip(x.shape, gran)]
    if packed:
        blocks[-1] = ceil_div(blocks[-1], 4)
    data = empty(x, list(x.shape), "float8_e4m3fn")
    scale = empty(x, blocks, "int32" if packed else "float32")
    _native.quantize(_readable(x), (data, scale, gran, use_ue8m0, _LAST), None, None)
    return data, scale


def _expect_matrix(x, gran_k):
    expect_tensor(x, "x", 2)
    if gran_k < 1:
        raise _native.ArgumentError(f"gran_k: {gran_k}, expected at least 1")


@traceable
def per_token_cast_to_fp8(x, use_ue8m0, gran_k=128, use_packed_ue8m0=False):
    """x [m, n] -> (float8_e4m3fn [m, n], float32 [m, ceil(n / gran_k)]): one for each row and
    gran_k columns. use_packed_ue8m0: int32 [m, ceil(n / (4 gran_k))].

    >>> x_fp8 = deep_gemm.per_token_cast_to_fp8(x, use_ue8m0=False)
    """
    _expect_matrix(x, gran_k)
    return _cast_to_fp8(x, (1, gran_k), use_ue8m0, use_packed_ue8m0)


@traceable
def per_channel_cast_to_fp8(x, use_ue8m0, gran_k=128, *, sizes=None):
    """x [m, n] -> (float8_e4m3fn [m, n], float32 [ceil(m / gran_k), n]): one for gran_k rows of
    each column.

    sizes   int32 or int64 [G], rows of each group, on x's device: blocks of rows end with their
            group, and group g has ceil(sizes[g] / gran_k) rows of factors behind those of the groups
            before, as K-grouped products read them. There are (m + G (gran_k - 1)) // gran_k rows of
            factors, the most that any sizes need; what lies behind the last group is undefined

    >>> dy_fp8 = deep_gemm.per_channel_cast_to_fp8(dy, False, sizes=tokens_of_expert)
    """
    _expect_matrix(x, gran_k)
    if sizes is None:
        return _cast_to_fp8(x, (gran_k, 1), use_ue8m0)
    expect_tensor(sizes, "sizes", 1)
    m, n = x.shape
    data = empty(x, [m, n], "float8_e4m3fn")
    scale = empty(x, [(m + sizes.shape[0] * (gran_k - 1)) // gran_k, n], "float32")
    _native.quantize(_readable(x), (data, scale, (gran_k, 1), use_ue8m0, _LAST), None,
                     (_groups.SIZES, sizes, 0, None))
    return data, scale


@traceable
def per_block_cast_to_fp8(x, use_ue8m0, gran_k=128):
    """x [m, n] -> (float8_e4m3fn [m, n], float32 [ceil(m / gran_k), ceil(n / gran_k)])."""
    _expect_matrix(x, gran_k)
    return _cast_to_fp8(x, (gran_k, gran_k), use_ue8m0)


@traceable
def per_custom_dims_cast_to_fp8(x, dims, use_ue8m0):
    """x of 1 to 4 axes -> (float8_e4m3fn of the same shape, float32 factors): one for each index
    along the axes `dims`, the other axes being reduced and left out of the result's shape."""
    expect_tensor(x, "x", 1, 2, 3, 4)
    rank = len(x.shape)
    if not all(-rank <= d < rank for d in dims):
        raise _native.ArgumentError(f"dims: {dims}, expected axes of x, {-rank} to {rank - 1}")
    kept = {d % rank for d in dims}
    data, scale = _cast_to_fp8(x, [1 if i in kept else 0 for i in range(rank)], use_ue8m0)
    return data, scale.squeeze()


@traceable
def per_token_cast_to_fp4(x, use_ue8m0, gran_k=128, use_packed_ue8m0=False):
    """x [m, n] -> (int8 [m, n / 2], factors as per_token_cast_to_fp8): two FP4 codes a byte, even
    index low. Packed factors are filled up with 1.0 to whole words."""
    _expect_matrix(x, gran_k)
    m, n = x.shape
    if n % 2 != 0:
        raise _native.ArgumentError(f"x: {n} columns, expected an even number: a byte holds two")
    if use_packed_ue8m0 and not use_ue8m0:
        raise _native.ArgumentError("use_packed_ue8m0: packed factors need use_ue8m0=True")
    blocks = ceil_div(n, gran_k)
    data = empty(x, [m, n // 2], "int8")
    scale = empty(x, [m, align(blocks, 4) if use_packed_ue8m0 else blocks], "float32")
    scale[:, blocks:] = 1.0
    _native.quantize(_readable(x), (data, scale[:, :blocks], (1, gran_k), use_ue8m0, _LAST), None,
                     None)
    return data, pack_ue8m0_to_int(scale) if use_packed_ue8m0 else scale


def transpose_packed_fp4(a):
    """int8 [m, n / 2] -> int8 [n, m / 2]: the transpose of a packed FP4 matrix, m even."""
    expect_tensor(a, "a", 2)
    m, half = a.shape
    if m % 2 != 0:
        raise _native.ArgumentError(f"a: {m} rows, expected an even number: two FP4 codes a byte")
    codes = empty(a, [2 * half, m], "int8")
    codes[0::2] = (a & 0x0F).T
    codes[1::2] = ((a >> 4) & 0x0F).T
    return contiguous(codes[:, 0::2] | (codes[:, 1::2] << 4))


@traceable
def cast_back_from_fp4(packed, sf, gran_k=128, use_packed_ue8m0=False):
    """float32 [m, n] of int8 [m, n / 2] and its factors, as per_token_cast_to_fp4 gave them."""
    expect_tensor(packed, "packed", 2)
    expect_tensor(sf, "sf", 2)
    m, half = packed.shape
    blocks = ceil_div(2 * half, gran_k)
    factors = unpack_ue8m0_from_int(sf) if use_packed_ue8m0 else sf
    x = empty(packed, [m, 2 * half], "float32")
    _native.dequantize((packed, factors[:, :blocks], (1, gran_k), False, _LAST), x, None)
    return x
