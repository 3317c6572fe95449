# SPDX-License-Identifier: MIT
"""Names and keywords of earlier releases and of forks."""
import warnings

import deep_gemm
import numpy as np
import pytest
from reference import Operand, check, product, round_to
from test_k_grouped import Tokens, products


def test_first_dense_name(framework, rng):
    a, b = Operand(rng, (20, 256)), Operand(rng, (140, 256), gran_mn=128)
    d = framework.poisoned((20, 140), "bfloat16")
    deep_gemm.gemm_fp8_fp8_bf16_nt(a.pair(framework), b.pair(framework), d)
    check(framework, d, *product(a.values, b.values), "bfloat16")


def test_first_grouped_names(framework, rng):
    a, b = Operand(rng, (2, 8, 128)), Operand(rng, (2, 24, 128), gran_mn=128)
    expected, magnitude = product(a.values, b.values)
    d = framework.poisoned((2, 8, 24), "bfloat16")
    deep_gemm.m_grouped_gemm_fp8_fp8_bf16_nt_masked(
        a.pair(framework), b.pair(framework), d, framework.make([8, 8], "int32"), 8)
    check(framework, d, expected, magnitude, "bfloat16")
    rows = [x.reshape(16, *x.shape[2:]) for x in a.pair(framework)]
    d = framework.poisoned((16, 24), "bfloat16")
    index = framework.make(np.arange(2).repeat(8), "int32")
    deep_gemm.m_grouped_gemm_fp8_fp8_bf16_nt_contiguous(rows, b.pair(framework), d, index)
    check(framework, d, expected.reshape(16, 24), magnitude.reshape(16, 24), "bfloat16")


@pytest.mark.parametrize("blocks_first", (True, False))
def test_first_weight_gradient(framework, rng, blocks_first):
    a, b = Operand(rng, (20, 300)), Operand(rng, (30, 300))
    start = round_to(rng.standard_normal((20, 30)), "float32")
    d = framework.make(start, "float32")
    pairs = [(x.data(framework), x.sf(framework, blocks_first)) for x in (a, b)]
    deep_gemm.wgrad_gemm_fp8_fp8_fp32_nt(*pairs, d)
    expected, magnitude = product(a.values, b.values)
    check(framework, d, expected + start, magnitude + np.abs(start), "float32")
    empty = [(x.data(framework)[:, :0], None) for x in (a, b)]
    before = framework.to_float64(d).copy()
    deep_gemm.wgrad_gemm_fp8_fp8_fp32_nt(*empty, d)
    assert (framework.to_float64(d) == before).all()


def test_first_grouped_weight_gradient(framework, rng):
    ks = [128, 0, 256]
    a, b = Tokens(rng, ks, 16), Tokens(rng, ks, 24)
    start = round_to(rng.standard_normal((3, 16, 24)), "float32")
    d = framework.make(start, "float32")
    deep_gemm.k_grouped_wgrad_gemm_fp8_fp8_fp32_nt(
        (a.data(framework, "flat"), a.sf(framework, False)),
        (b.data(framework, "flat"), b.sf(framework, False)), d, ks)
    expected, magnitude = products(ks, a, b)
    check(framework, d, expected + start, magnitude + np.abs(start), "float32")


def test_old_keywords(framework, rng):
    ks = [9, 5]
    a, b = Tokens(rng, ks, 16), Tokens(rng, ks, 24)
    d = framework.poisoned((2, 16, 24), "float32")
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        a=(a.data(framework, "flat"), a.sf(framework, True)),
        b=(b.data(framework, "flat"), b.sf(framework, True)), d=d, ks=ks,
        ks_tensor=framework.make(ks, "int32"))
    check(framework, d, *products(ks, a, b), "float32")
    a, b = Operand(rng, (6, 128)), Operand(rng, (2, 24, 128), gran_mn=128)
    d = framework.poisoned((6, 24), "bfloat16")
    index = framework.make(np.ones(6), "int32")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a.pair(framework), b.pair(framework), d,
                                               m_indices=index)
    check(framework, d, *product(a.values, b.values[1]), "bfloat16")
    with pytest.raises(TypeError, match="one argument"):
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
            a.pair(framework), b.pair(framework), d, m_indices=index, grouped_layout=index)


def test_fork_keywords_warn_once(framework, rng):
    deep_gemm._compat._warned.clear()
    a, b = Operand(rng, (1, 4, 128)), Operand(rng, (1, 8, 128), gran_mn=128)
    d = framework.poisoned((1, 4, 8), "bfloat16")
    arguments = (a.pair(framework), b.pair(framework), d, framework.make([4], "int32"), 4)
    with pytest.warns(UserWarning, match="max_block_n is ignored"):
        deep_gemm.fp8_m_grouped_gemm_nt_masked(*arguments, max_block_n=128, enable_overlap=None)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        deep_gemm.fp8_m_grouped_gemm_nt_masked(*arguments, max_block_n=128, signal=None)
    check(framework, d, *product(a.values, b.values), "bfloat16")


@pytest.mark.casts
def test_names_of_helpers(framework):
    sf = framework.make(np.ones((5, 3)), "float32")
    assert framework.strides(deep_gemm.get_col_major_tma_aligned_tensor(sf)) == (1, 8)
    assert deep_gemm.cell_div(5, 2) == deep_gemm.ceil_div(5, 2) == 3
