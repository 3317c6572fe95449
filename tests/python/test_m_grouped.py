# SPDX-License-Identifier: MIT
"""M-grouped products against float64: every way to give the groups, padding that holds NaN."""
import deep_gemm
import numpy as np
import pytest
from conftest import FRAMEWORKS
from hypothesis import given, settings, strategies as st
from reference import Operand, check, product

N, K, G = 72, 160, 4


def operands(rng, m, dtype="float8_e4m3fn"):
    if dtype == "bfloat16":
        return Operand(rng, (m, K), dtype, None), Operand(rng, (G, N, K), dtype, None)
    return Operand(rng, (m, K)), Operand(rng, (G, N, K), gran_mn=128)


def expected_rows(a, b, groups):
    """Product and magnitude for rows with a group, zeros for the others."""
    picked = b.values[np.maximum(groups, 0)]
    d = np.einsum("mk,mnk->mn", a.values, picked)
    magnitude = np.einsum("mk,mnk->mn", np.abs(a.values), np.abs(picked))
    return np.where(groups[:, None] < 0, 0, d), np.where(groups[:, None] < 0, 0, magnitude)


def poison_rows(a, rows):
    a.codes[rows] = np.nan
    if a.scale is not None:
        a.factors[rows] = np.nan


@pytest.mark.parametrize("dtype", ("float8_e4m3fn", "bfloat16"))
@pytest.mark.parametrize("form", ("nt", "nn"))
@pytest.mark.parametrize("output", ("bfloat16", "float32"))
def test_index_form(framework, rng, dtype, form, output):
    m = 150
    a, b = operands(rng, m, dtype)
    groups = rng.integers(-1, G, m)
    a.values = np.nan_to_num(a.values)
    poison_rows(a, groups < 0)
    index = framework.make(groups, "int32")
    d = framework.poisoned((m, N), output)
    kind = "fp8" if dtype == "float8_e4m3fn" else "bf16"
    pairs = [x.pair(framework, t) for x, t in ((a, False), (b, form == "nn"))]
    arguments = pairs if kind == "fp8" else [data for data, _ in pairs]
    getattr(deep_gemm, f"m_grouped_{kind}_gemm_{form}_contiguous")(*arguments, d, index)
    a.values = np.where(groups[:, None] < 0, 0, a.values)
    check(framework, d, *expected_rows(a, b, groups), output)


def test_block_index_form(framework, rng):
    m = 300
    a, b = operands(rng, m)
    blocks = np.array([2, -1, 0])
    groups = blocks.repeat(128)[:m]
    index = np.full(m, 77)  # only the first row of each block is looked at
    index[::128] = blocks
    d = framework.poisoned((m, N), "float32")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        a.pair(framework), b.pair(framework), d, framework.make(index, "int32"),
        layout="block_index")
    check(framework, d, *expected_rows(a, b, groups), "float32")


@pytest.mark.parametrize("padding", (True, False))
def test_psum_form(framework, rng, padding):
    ends, begins = np.array([100, 128, 256 + 5, 384]), np.array([0, 128, 128, 384])
    m = 400
    groups = np.full(m, -1)
    for g in range(G):
        groups[begins[g]:ends[g]] = g
    a, b = operands(rng, m)
    expected, magnitude = expected_rows(a, b, groups)
    poison_rows(a, groups < 0)
    d = framework.poisoned((m, N), "float32")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        a.pair(framework), b.pair(framework), d, framework.make(ends, "int32"),
        use_psum_layout=True, ensure_zero_padding=padding, expected_m_for_psum_layout=64)
    actual = framework.to_float64(d)
    check(framework, d[groups >= 0], expected[groups >= 0], magnitude[groups >= 0], "float32")
    gap = groups < 0
    if padding:
        assert (actual[gap & (np.arange(m) < 384)] == 0).all()
    else:
        assert np.isnan(actual[gap]).all()
    assert np.isnan(actual[384:]).all()


@pytest.mark.parametrize("layout", ("sizes", "offsets"))
def test_groups_back_to_back(framework, rng, layout):
    sizes = np.array([13, 0, 41, 6])
    m = sizes.sum() + 4
    groups = np.concatenate([np.arange(G).repeat(sizes), np.full(4, -1)])
    a, b = operands(rng, m)
    expected, magnitude = expected_rows(a, b, groups)
    d = framework.poisoned((m, N), "bfloat16")
    values = sizes if layout == "sizes" else sizes.cumsum()
    deep_gemm.m_grouped_fp8_gemm_nn_contiguous(
        a.pair(framework), b.pair(framework, True), d, framework.make(values, "int64"),
        layout=layout)
    check(framework, d[:60], expected[:60], magnitude[:60], "bfloat16")
    assert np.isnan(framework.to_float64(d)[60:]).all()


@pytest.mark.parametrize("dtype", ("float8_e4m3fn", "bfloat16"))
def test_masked_form(framework, rng, dtype):
    m_max, masked = 50, np.array([50, 0, 7, 33])
    a = Operand(rng, (G, m_max, K), dtype, "float32" if dtype != "bfloat16" else None)
    b = operands(rng, 1, dtype)[1]
    expected, magnitude = product(a.values, b.values)
    valid = np.arange(m_max) < masked[:, None]
    a.codes[~valid] = np.nan
    d = framework.poisoned((G, m_max, N), "bfloat16")
    counts = framework.make(masked, "int32")
    if dtype == "bfloat16":
        deep_gemm.bf16_m_grouped_gemm_nt_masked(a.data(framework), b.data(framework), d, counts, 20)
    else:
        deep_gemm.fp8_m_grouped_gemm_nt_masked(a.pair(framework), b.pair(framework), d, counts, 20)
    actual = framework.to_float64(d)
    for g in range(G):
        check(framework, d[g, :masked[g]], expected[g, :masked[g]], magnitude[g, :masked[g]],
              "bfloat16")
    assert np.isnan(actual[~valid]).all()


def test_index_vector_need_not_be_contiguous(framework, rng):
    a, b = operands(rng, 64)
    groups = rng.integers(0, G, 64)
    column = framework.make(np.stack([groups, groups * 0 - 9], 1), "int32")[:, 0]
    d = framework.poisoned((64, N), "float32")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a.pair(framework), b.pair(framework), d, column)
    check(framework, d, *expected_rows(a, b, groups), "float32")


def test_hint_without_psum_is_refused(framework, rng):
    a, b = operands(rng, 8)
    with pytest.raises(ValueError, match="expected_m_for_psum_layout"):
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
            a.pair(framework), b.pair(framework), framework.poisoned((8, N), "bfloat16"),
            framework.make(np.zeros(8), "int32"), expected_m_for_psum_layout=8)


@settings(max_examples=40, deadline=None)
@given(sizes=st.lists(st.integers(0, 60), min_size=G, max_size=G), shuffled=st.booleans(),
       seed=st.integers(0, 2**32 - 1), framework=st.sampled_from(FRAMEWORKS))
def test_any_sizes(sizes, shuffled, seed, framework):
    rng = np.random.default_rng(seed)
    groups = np.arange(G).repeat(sizes)
    if shuffled:
        rng.shuffle(groups)
    a, b = operands(rng, len(groups))
    d = framework.poisoned((len(groups), N), "bfloat16")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        a.pair(framework), b.pair(framework), d, framework.make(groups, "int32"))
    check(framework, d, *expected_rows(a, b, groups), "bfloat16")
