# SPDX-License-Identifier: MIT
"""Casts against the same arithmetic in numpy, bit for bit, and against torch where it is there."""
import deep_gemm
import numpy as np
import pytest
from conftest import CASTING
from hypothesis import given, settings, strategies as st

F32 = np.float32
pytestmark = pytest.mark.casts


def to_fp8(x, gran, use_ue8m0):
    """(codes as float32, factors) of x [m, n] float32, all in IEEE float32."""
    import ml_dtypes
    m, n = x.shape
    gm, gn = gran
    rows, cols = -(-m // gm), -(-n // gn)
    padded = np.zeros((rows * gm, cols * gn), F32)
    padded[:m, :n] = x
    blocks = padded.reshape(rows, gm, cols, gn)
    factors = np.maximum(np.abs(blocks).max((1, 3)), F32(1e-4)) / F32(448)
    if use_ue8m0:
        factors = round_up(factors)
    scaled = blocks * (F32(1) / factors)[:, None, :, None]
    codes = scaled.astype(ml_dtypes.float8_e4m3fn).astype(F32)
    return codes.reshape(rows * gm, cols * gn)[:m, :n], factors


def round_up(x):
    bits = np.abs(x).view(np.int32)
    exponents = np.clip((bits >> 23) + ((bits & 0x7FFFFF) != 0), 1, 254)
    return (exponents << 23).astype(np.int32).view(F32)


def as_float32(framework, x):
    return framework.to_float64(x).astype(F32)


def assert_same(framework, actual, expected):
    for x, y in zip(actual, expected):
        assert tuple(x.shape) == y.shape
        assert (as_float32(framework, x) == y).all()


def values(framework, rng, shape, dtype="float32"):
    x = framework.make(rng.standard_normal(shape) * np.exp2(rng.integers(-20, 20, shape)), dtype)
    return x, as_float32(framework, x)


@pytest.mark.parametrize("dtype", ("float32", "bfloat16"))
@pytest.mark.parametrize("use_ue8m0", (False, True))
@pytest.mark.parametrize("gran_k", (32, 128))
def test_fp8_casts(framework, rng, dtype, use_ue8m0, gran_k):
    x, x32 = values(framework, rng, (130, 300), dtype)
    for function, gran in ((deep_gemm.per_token_cast_to_fp8, (1, gran_k)),
                           (deep_gemm.per_channel_cast_to_fp8, (gran_k, 1)),
                           (deep_gemm.per_block_cast_to_fp8, (gran_k, gran_k))):
        assert_same(framework, function(x, use_ue8m0, gran_k), to_fp8(x32, gran, use_ue8m0))


def test_other_floats_are_widened(framework, rng):
    x = framework.make(rng.standard_normal((3, 64)), "float16")
    assert_same(framework, deep_gemm.per_token_cast_to_fp8(x, False),
                to_fp8(as_float32(framework, x), (1, 128), False))


def test_views_are_read_in_place(framework, rng):
    x, x32 = values(framework, rng, (40, 260))
    assert_same(framework, deep_gemm.per_token_cast_to_fp8(x.T[::2], True),
                to_fp8(np.ascontiguousarray(x32.T[::2]), (1, 128), True))


@pytest.mark.parametrize("dims", ((0,), (1,), (0, 1), (-1,), (0, 2)))
def test_custom_dims(framework, rng, dims):
    x, x32 = values(framework, rng, (5, 6, 7))
    data, sf = deep_gemm.per_custom_dims_cast_to_fp8(x, dims, False)
    reduced = tuple(i for i in range(3) if i not in [d % 3 for d in dims])
    factors = np.maximum(np.abs(x32).max(reduced, keepdims=True), F32(1e-4)) / F32(448)
    assert (as_float32(framework, sf) == factors.squeeze()).all()
    back = as_float32(framework, data) * factors
    assert (np.abs(back - x32) <= np.abs(x32) / 16 + factors / 512).all()


def test_packed_factors(framework, rng):
    x, x32 = values(framework, rng, (9, 640))
    data, packed = deep_gemm.per_token_cast_to_fp8(x, True, 128, use_packed_ue8m0=True)
    codes, factors = to_fp8(x32, (1, 128), True)
    exponents = np.zeros((9, 8), np.uint8)
    exponents[:, :5] = factors.view(np.int32) >> 23
    assert (as_float32(framework, data) == codes).all()
    assert (framework.host(packed) == exponents.view(np.int32)).all()


def fp4_values(x, factors, gran_k):
    """What FP4 stores for x: ties go to the smaller magnitude."""
    levels = np.array([0, .5, 1, 1.5, 2, 3, 4, 6], F32)
    thresholds = np.array([.25, .75, 1.25, 1.75, 2.5, 3.5, 5], F32)
    scaled = x * (F32(1) / factors).repeat(gran_k, 1)[:, :x.shape[1]]
    codes = (np.abs(scaled)[..., None] > thresholds).sum(-1)
    return np.sign(scaled) * levels[codes]


@pytest.mark.parametrize("packed", (False, True))
@pytest.mark.parametrize("gran_k", (32, 128))
def test_fp4_round_trip(framework, rng, packed, gran_k):
    x, x32 = values(framework, rng, (8, 136))
    data, sf = deep_gemm.per_token_cast_to_fp4(x, True, gran_k, use_packed_ue8m0=packed)
    rows = -(-136 // gran_k)
    padded = np.zeros((8, rows * gran_k), F32)
    padded[:, :136] = x32
    amax = np.abs(padded.reshape(8, rows, gran_k)).max(2)
    factors = round_up(np.maximum(amax, F32(1e-4)) / F32(6))
    expected = fp4_values(x32, factors, gran_k) * factors.repeat(gran_k, 1)[:, :136]
    back = deep_gemm.cast_back_from_fp4(data, sf, gran_k, use_packed_ue8m0=packed)
    assert (as_float32(framework, back) == expected).all()
    if packed:
        last = framework.host(sf).view(np.uint8).reshape(8, -1)[:, rows:]
        assert (last == 127).all()
    twice = deep_gemm.transpose_packed_fp4(deep_gemm.transpose_packed_fp4(data))
    assert (framework.host(twice) == framework.host(data)).all()


def test_transpose_of_packed_fp4(framework, rng):
    codes = rng.integers(0, 16, (6, 10)).astype(np.uint8)

    def packed(c):
        return framework.make((c[:, 0::2] | c[:, 1::2] << 4).view(np.int8), "int8")
    transposed = deep_gemm.transpose_packed_fp4(packed(codes))
    assert (framework.host(transposed) == framework.host(packed(np.ascontiguousarray(codes.T)))).all()


def test_ue8m0_arithmetic(framework, rng):
    x, x32 = values(framework, rng, (64,))
    assert (as_float32(framework, deep_gemm.ceil_to_ue8m0(x)) == round_up(x32)).all()
    exact = framework.make(2.0**rng.integers(-126, 128, (3, 5, 8)), "float32")
    words = deep_gemm.pack_ue8m0_to_int(exact)
    assert tuple(words.shape) == (3, 5, 2)
    back = deep_gemm.unpack_ue8m0_from_int(words)
    assert (as_float32(framework, back) == as_float32(framework, exact)).all()


def test_refusals(framework, rng):
    x, _ = values(framework, rng, (4, 7))
    with pytest.raises(ValueError, match="even"):
        deep_gemm.per_token_cast_to_fp4(x, True)
    with pytest.raises(ValueError, match="use_ue8m0"):
        deep_gemm.per_token_cast_to_fp8(x, False, use_packed_ue8m0=True)
    with pytest.raises(ValueError, match="2 axes"):
        deep_gemm.per_block_cast_to_fp8(x[0], False)
    with pytest.raises(ValueError, match="multiple of 4"):
        deep_gemm.pack_ue8m0_to_int(x)
    if getattr(framework, "device", "cpu") == "cpu":  # a GPU's factors are rounded up instead
        with pytest.raises(ValueError):
            deep_gemm.pack_ue8m0_to_int(framework.make([[1, 2, 3, 4]], "float32"))
    assert deep_gemm.ceil_div(7, 3) == 3 and deep_gemm.align(7, 4) == 8


@settings(max_examples=50, deadline=None)
@given(m=st.integers(1, 140), n=st.integers(1, 280), use_ue8m0=st.booleans(),
       kind=st.sampled_from(("token", "channel", "block")), seed=st.integers(0, 2**32 - 1),
       framework=st.sampled_from(CASTING))
def test_any_shape(m, n, use_ue8m0, kind, seed, framework):
    x, x32 = values(framework, np.random.default_rng(seed), (m, n))
    gran = {"token": (1, 128), "channel": (128, 1), "block": (128, 128)}[kind]
    actual = getattr(deep_gemm, f"per_{kind}_cast_to_fp8")(x, use_ue8m0)
    assert_same(framework, actual, to_fp8(x32, gran, use_ue8m0))


@pytest.mark.parametrize("sizes", ([70, 0, 130, 55], [0, 255, 0], [1, 127, 1, 126], []))
@pytest.mark.parametrize("gran_k", (32, 128))
def test_channel_cast_of_groups(framework, rng, sizes, gran_k):
    """The cast of each group by itself, rows of factors without gaps; NaN behind the last group."""
    x, x32 = values(framework, rng, (260, 40), "bfloat16")
    x32 = x32[:sum(sizes)]
    padded = framework.make(np.concatenate([x32, np.full((260 - len(x32), 40), np.nan)]), "bfloat16")
    data, scale = deep_gemm.per_channel_cast_to_fp8(
        padded, False, gran_k, sizes=framework.make(np.array(sizes, np.int32), "int32"))
    assert tuple(scale.shape) == ((260 + len(sizes) * (gran_k - 1)) // gran_k, 40)
    row = block = 0
    for size in sizes:
        if size == 0:
            continue
        wanted = to_fp8(x32[row:row + size], (gran_k, 1), False)
        blocks = len(wanted[1])
        assert_same(framework, (data[row:row + size], scale[block:block + blocks]), wanted)
        row, block = row + size, block + blocks
