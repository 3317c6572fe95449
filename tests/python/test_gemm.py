# SPDX-License-Identifier: MIT
"""Dense products against float64: layouts, types, factors, accumulators, strides, any shape."""
import deep_gemm
import numpy as np
import pytest
from conftest import FRAMEWORKS
from hypothesis import given, settings, strategies as st
from reference import Operand, check, product, round_to

FORMS = {"nt": (False, False), "nn": (False, True), "tn": (True, True), "tt": (True, False)}
OUTPUTS = ("bfloat16", "float32")


def run(framework, name, form, a, b, m, n, output, c=None, **keywords):
    ta, tb = FORMS[form]
    d = framework.poisoned((m, n), output)
    function = getattr(deep_gemm, f"{name}_{form}")
    if name.startswith("bf16"):
        arguments = a.data(framework, ta), b.data(framework, tb)
    else:
        arguments = a.pair(framework, ta), b.pair(framework, tb)
    assert function(*arguments, d, c, **keywords) is None
    return d


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("form", FORMS)
def test_fp8_forms(framework, rng, form, output):
    m, n, k = 70, 200, 328
    a = Operand(rng, (m, k))
    b = Operand(rng, (n, k), gran_mn=128)
    d = run(framework, "fp8_gemm", form, a, b, m, n, output)
    check(framework, d, *product(a.values, b.values), output)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("output", OUTPUTS)
def test_bf16_forms(framework, rng, form, output):
    m, n, k = 33, 130, 257
    a, b = (Operand(rng, (mn, k), "bfloat16", None) for mn in (m, n))
    d = run(framework, "bf16_gemm", form, a, b, m, n, output)
    check(framework, d, *product(a.values, b.values), output)


@pytest.mark.parametrize("gran_k", (32, 128))
@pytest.mark.parametrize("scale", ("float32", "packed"))
@pytest.mark.parametrize("gran_n", (1, 128))
def test_recipes(framework, rng, gran_k, scale, gran_n):
    m, n, k = 17, 140, 300
    a = Operand(rng, (m, k), scale=scale, gran_k=gran_k)
    b = Operand(rng, (n, k), scale=scale, gran_mn=gran_n, gran_k=gran_k)
    for keywords in ({"recipe": (1, gran_n, gran_k)}, {"recipe": [1, gran_n, gran_k]},
                     {"recipe_a": (1, gran_k), "recipe_b": (gran_n, gran_k)}):
        d = run(framework, "fp8_fp4_gemm", "nt", a, b, m, n, "float32", **keywords)
        check(framework, d, *product(a.values, b.values), "float32")


def test_packed_factors_choose_the_per_row_recipe(framework, rng):
    a, b = (Operand(rng, (mn, 256), scale="packed") for mn in (5, 150))
    d = run(framework, "fp8_gemm", "nt", a, b, 5, 150, "float32")
    check(framework, d, *product(a.values, b.values), "float32")


def test_a_and_b_with_different_granularity(framework, rng):
    a = Operand(rng, (9, 256), gran_k=128)
    b = Operand(rng, (40, 256), scale="packed", gran_k=32)
    d = run(framework, "fp8_gemm", "nt", a, b, 9, 40, "float32", recipe_a=(1, 128),
            recipe_b=(1, 32))
    check(framework, d, *product(a.values, b.values), "float32")


def test_without_factors_every_factor_is_one(framework, rng):
    a, b = Operand(rng, (12, 64), scale=None), Operand(rng, (20, 64), gran_mn=128)
    d = run(framework, "fp8_gemm", "nt", a, b, 12, 20, "float32")
    check(framework, d, *product(a.values, b.values), "float32")


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("aliased", (True, False))
def test_accumulator(framework, rng, output, aliased):
    m, n, k = 21, 50, 96
    a, b = Operand(rng, (m, k)), Operand(rng, (n, k), gran_mn=128)
    start = round_to(rng.standard_normal((m, n)) * 32, output)
    c = framework.make(start, output)
    d = c if aliased else framework.poisoned((m, n), output)
    deep_gemm.fp8_gemm_nt(a.pair(framework), b.pair(framework), d, c=c)
    expected, magnitude = product(a.values, b.values)
    check(framework, d, expected + start, magnitude + np.abs(start), output)
    if not aliased:
        assert (framework.to_float64(c) == start).all()


def test_strided_rows_and_outputs(framework, rng):
    m, n, k = 24, 40, 160
    a, b = Operand(rng, (m, k + 16)), Operand(rng, (n, k + 16), gran_mn=128)
    a.codes[:, k:] = b.codes[:, k:] = np.nan  # never to be looked at
    wide = framework.poisoned((m, 3 * n), "bfloat16")
    d = wide[:, n:2 * n]
    deep_gemm.fp8_gemm_nt((a.data(framework)[:, :k], a.sf(framework)),
                          (b.data(framework)[:, :k], b.sf(framework)), d)
    check(framework, d, *product(a.values[:, :k], b.values[:, :k]), "bfloat16")
    outside = framework.to_float64(wide)
    assert np.isnan(outside[:, :n]).all() and np.isnan(outside[:, 2 * n:]).all()


def test_axes_of_extent_one_may_have_any_stride(framework, rng):
    a, b = Operand(rng, (1, 64)), Operand(rng, (8, 64), gran_mn=128)
    odd = framework.as_strided(a.data(framework), (1, 64), (1000003, 1))
    sf = framework.as_strided(a.sf(framework), (1, 1), (77, 99))
    d = framework.poisoned((1, 8), "float32")
    deep_gemm.fp8_gemm_nt((odd, sf), b.pair(framework), framework.as_strided(d, (1, 8), (5, 1)))
    check(framework, d, *product(a.values, b.values), "float32")


def test_fp4_operand(framework, rng):
    m, n, k = 10, 36, 128
    levels = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
    codes = rng.integers(0, 16, (n, k))
    values = np.where(codes >= 8, -1, 1) * levels[codes % 8]
    packed = framework.make((codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8).view(np.int8),
                            "int8")
    a, b = Operand(rng, (m, k)), Operand(rng, (n, k), gran_k=32)
    b.values = values * b.factors.repeat(32, 1)
    d = framework.poisoned((m, n), "float32")
    deep_gemm.fp8_fp4_gemm_nt(a.pair(framework), (packed, b.sf(framework)), d, recipe_a=(1, 128),
                              recipe_b=(1, 32))
    check(framework, d, *product(a.values, b.values), "float32")


@pytest.mark.parametrize("m,n", ((0, 16), (16, 0), (0, 0)))
def test_nothing_to_do(framework, m, n):
    a, b = framework.poisoned((m, 64), "bfloat16"), framework.poisoned((n, 64), "bfloat16")
    deep_gemm.bf16_gemm_nt(a, b, framework.poisoned((m, n), "float32"))


def test_empty_sum(framework, rng):
    a, b = framework.poisoned((3, 0), "bfloat16"), framework.poisoned((5, 0), "bfloat16")
    d = framework.poisoned((3, 5), "float32")
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert (framework.to_float64(d) == 0).all()
    start = round_to(rng.standard_normal((3, 5)), "float32")
    deep_gemm.bf16_gemm_nt(a, b, d, framework.make(start, "float32"))
    assert (framework.to_float64(d) == start).all()


@settings(max_examples=60, deadline=None)
@given(m=st.integers(1, 140), n=st.integers(1, 140), k=st.integers(1, 300),
       form=st.sampled_from(sorted(FORMS)), output=st.sampled_from(OUTPUTS),
       scale=st.sampled_from(("float32", "packed", None)), gran_k=st.sampled_from((32, 128)),
       seed=st.integers(0, 2**32 - 1), framework=st.sampled_from(FRAMEWORKS))
def test_any_shape(m, n, k, form, output, scale, gran_k, seed, framework):
    rng = np.random.default_rng(seed)
    a = Operand(rng, (m, k), scale=scale, gran_k=gran_k)
    b = Operand(rng, (n, k), scale=scale, gran_k=gran_k)
    d = run(framework, "fp8_gemm", form, a, b, m, n, output, recipe=(1, 1, gran_k))
    check(framework, d, *product(a.values, b.values), output)
