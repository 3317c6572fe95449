# SPDX-License-Identifier: MIT
"""K-grouped products (weight gradients) against float64: forms of operands and factors, outputs."""
import deep_gemm
import numpy as np
import pytest
from conftest import FRAMEWORKS
from hypothesis import given, settings, strategies as st
from reference import check, pack_words, round_to

FUNCTIONS = ("k_grouped_fp8_gemm_nt_contiguous", "k_grouped_fp8_gemm_tn_contiguous")


class Tokens:
    """Values [tokens, mn] in FP8 or BF16 with one factor for each gran_k tokens of a group."""

    def __init__(self, rng, ks, mn, scale="float32", gran_k=128, dtype="float8_e4m3fn"):
        self.ks, self.dtype = ks, dtype
        self.codes = round_to(rng.standard_normal((sum(ks), mn)) * 4, dtype)
        blocks = [-(-k // gran_k) for k in ks]
        self.exponents = rng.integers(122, 130, (sum(blocks), mn)).astype(np.uint8)
        self.factors = 2.0**(self.exponents.astype(np.float64) - 127)
        if scale == "float32":
            self.factors = round_to(self.factors * rng.uniform(1, 2, self.factors.shape), "float32")
        if scale is None:
            self.factors = self.factors * 0 + 1
        rows = [block.repeat(gran_k, 0)[:k] for k, block in
                zip(ks, np.split(self.factors, np.cumsum(blocks)[:-1]))]
        self.values = self.codes * np.concatenate(rows)
        self.blocks, self.scale = blocks, scale

    def data(self, framework, form):
        if form == "tokens_first":
            return framework.make(self.codes, self.dtype)
        if form == "transposed_view":
            return framework.make(self.codes, self.dtype).T
        if form == "tokens_last":
            return framework.make(np.ascontiguousarray(self.codes.T), self.dtype)
        parts = np.split(self.codes, np.cumsum(self.ks)[:-1])
        return framework.make(np.concatenate([part.T.ravel() for part in parts]), self.dtype)

    def sf(self, framework, transposed):
        if self.scale is None:
            return None
        if self.scale == "packed":
            parts = np.split(self.exponents, np.cumsum(self.blocks)[:-1])
            words = np.concatenate([pack_words(part.T).T for part in parts])
            sf = framework.make(np.ascontiguousarray(words), "int32")
        else:
            sf = framework.make(self.factors, "float32")
        return sf.T if transposed else sf


def products(ks, a, b):
    """[G, m, n] of values and of magnitudes."""
    ends = np.cumsum(ks)
    pairs = [(a.values[end - k:end], b.values[end - k:end]) for k, end in zip(ks, ends)]
    return (np.stack([x.T @ y for x, y in pairs]),
            np.stack([np.abs(x).T @ np.abs(y) for x, y in pairs]))


@pytest.mark.parametrize("output", ("bfloat16", "float32"))
@pytest.mark.parametrize("ks", ([32, 45, 27], [7], [0, 130, 0, 5], [129, 0]))
def test_published_how_to(framework, rng, output, ks):
    """Operands without factors, tokens first, a sum over groups in D [M, N]."""
    a, b = (Tokens(rng, ks, mn, None) for mn in (64, 96))
    expected, magnitude = (x.sum(0) for x in products(ks, a, b))
    ks_tensor = framework.make(ks, "int32")
    d = framework.poisoned((64, 96), output)
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        (a.data(framework, "tokens_first"), None), (b.data(framework, "tokens_first"), None), d, ks,
        ks_tensor, None, recipe=(1, 1, 128))
    check(framework, d, expected, magnitude, output)


@pytest.mark.parametrize("paired", (True, False))
def test_published_how_to_bf16(framework, rng, paired):
    ks = [32, 45, 27]
    a, b = (Tokens(rng, ks, mn, None, dtype="bfloat16") for mn in (64, 96))
    expected, magnitude = (x.sum(0) for x in products(ks, a, b))
    operands = [x.data(framework, "tokens_first") for x in (a, b)]
    if paired:
        operands = [(x, None) for x in operands]
    d = framework.poisoned((64, 96), "bfloat16")
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(
        *operands, d, ks, framework.make(ks, "int32"), None, recipe=(1, 1, 128))
    check(framework, d, expected, magnitude, "bfloat16")


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("form", ("tokens_first", "tokens_last", "transposed_view", "flat"))
@pytest.mark.parametrize("scale", ("float32", "packed", None))
@pytest.mark.parametrize("transposed", (True, False))
def test_forms(framework, rng, name, form, scale, transposed):
    ks = [100, 0, 37, 260]
    a, b = Tokens(rng, ks, 48, scale), Tokens(rng, ks, 80, scale)
    d = framework.poisoned((4, 48, 80), "float32")
    getattr(deep_gemm, name)(
        (a.data(framework, form), a.sf(framework, transposed)),
        (b.data(framework, form), b.sf(framework, transposed)), d, ks, framework.make(ks, "int32"))
    check(framework, d, *products(ks, a, b), "float32")


def test_a_and_b_are_judged_separately(framework, rng):
    ks = [40, 24]
    a, b = Tokens(rng, ks, 16), Tokens(rng, ks, 24)
    d = framework.poisoned((2, 16, 24), "float32")
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        (a.data(framework, "tokens_last"), a.sf(framework, True)),
        (b.data(framework, "tokens_first"), b.sf(framework, False)), d, ks, None)
    check(framework, d, *products(ks, a, b), "float32")


@pytest.mark.parametrize("name,form,transposed", (
    ("k_grouped_fp8_gemm_nt_contiguous", "tokens_first", True),
    ("k_grouped_fp8_gemm_nt_contiguous", "transposed_view", True),
    ("k_grouped_fp8_gemm_tn_contiguous", "tokens_first", False),
))
def test_square_operands_follow_the_name(framework, rng, name, form, transposed):
    """m = n = tokens, and one row of factors for each of 64 channels: shapes say nothing."""
    ks = [1] * 64
    a, b = Tokens(rng, ks, 64), Tokens(rng, ks, 64)
    d = framework.poisoned((64, 64, 64), "float32")
    getattr(deep_gemm, name)(
        (a.data(framework, form), a.sf(framework, transposed)),
        (b.data(framework, form), b.sf(framework, transposed)), d, ks, None)
    check(framework, d, *products(ks, a, b), "float32")


@pytest.mark.parametrize("output", ("bfloat16", "float32"))
@pytest.mark.parametrize("aliased", (True, False))
def test_accumulates_and_keeps_empty_groups(framework, rng, output, aliased):
    ks = [50, 0, 14]
    a, b = Tokens(rng, ks, 32), Tokens(rng, ks, 40)
    start = round_to(rng.standard_normal((3, 32, 40)) * 16, output)
    c = framework.make(start, output)
    d = c if aliased else framework.poisoned((3, 32, 40), output)
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(
        (a.data(framework, "tokens_first"), a.sf(framework, False)),
        (b.data(framework, "tokens_first"), b.sf(framework, False)), d, ks, None, c)
    expected, magnitude = products(ks, a, b)
    check(framework, d, expected + start, magnitude + np.abs(start), output)
    assert (framework.to_float64(d)[1] == start[1]).all()


def test_list_of_outputs(framework, rng):
    ks = [50, 0, 14]
    a, b = Tokens(rng, ks, 32), Tokens(rng, ks, 40)
    expected, magnitude = products(ks, a, b)
    pairs = [(x.data(framework, "tokens_first"), x.sf(framework, False)) for x in (a, b)]
    grads = [framework.poisoned((32, 40), "float32") for _ in ks]
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, grads, ks, None)
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, grads, ks, None, grads)
    for g in range(3):
        check(framework, grads[g], 2 * expected[g], 3 * magnitude[g], "float32")


@pytest.mark.parametrize("how", ("sizes", "only_sizes", "only_list", "sum_in_list", "offsets",
                                 "psum", "psum_and_list"))
def test_ways_to_give_the_groups(framework, rng, how):
    ks = [128, 60, 0, 256]
    a, b = Tokens(rng, ks, 16), Tokens(rng, ks, 24)
    a_data, b_data = a.codes, b.codes
    keywords, host, values = {}, ks, ks
    if how in ("only_sizes", "offsets", "psum"):
        host = None
    if how == "only_list":
        values = None
    if how == "sum_in_list":
        host = [sum(ks), 0, 0, 0]
    if how == "offsets":
        values, keywords = np.cumsum(ks), {"layout": "offsets"}
    if how.startswith("psum"):
        values, keywords = [128, 188, 256, 512], {"use_psum_layout": True}
        spread_rows = [*range(188), *range(256, 512)]
        a_data, b_data = (np.full((512, x.shape[1]), np.nan) for x in (a_data, b_data))
        a_data[spread_rows], b_data[spread_rows] = a.codes, b.codes
    d = framework.poisoned((4, 16, 24), "float32")
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(
        (framework.make(a_data, "float8_e4m3fn"), a.sf(framework, False)),
        (framework.make(b_data, "float8_e4m3fn"), b.sf(framework, False)), d, host,
        None if values is None else framework.make(values, "int32"), **keywords)
    check(framework, d, *products(ks, a, b), "float32")


def test_one_group_of_rank_three(framework, rng):
    a, b = Tokens(rng, [77], 8), Tokens(rng, [77], 16)
    d = framework.poisoned((1, 8, 16), "bfloat16")
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        (a.data(framework, "flat"), a.sf(framework, True)),
        (b.data(framework, "flat"), b.sf(framework, True)), d, [77], None)
    check(framework, d, *products([77], a, b), "bfloat16")


def test_wrong_calls(framework, rng):
    a, b = Tokens(rng, [8, 8], 16), Tokens(rng, [8, 8], 24)
    pairs = [(x.data(framework, "tokens_first"), x.sf(framework, False)) for x in (a, b)]
    d = framework.poisoned((2, 16, 24), "float32")
    with pytest.raises(ValueError, match="ks_cpu"):
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, d, [], None)
    with pytest.raises(ValueError, match="layout"):
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, d, [8, 8], None, layout="index")
    with pytest.raises(ValueError, match="recipe"):
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, d, [8, 8], None, recipe=(1, 128, 128))
    with pytest.raises(ValueError, match="m = 15"):
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, d[:, :15], [8, 8], None)
    assert np.isnan(framework.to_float64(d)).all()


@settings(max_examples=40, deadline=None)
@given(ks=st.lists(st.integers(0, 150), min_size=1, max_size=5), m=st.integers(1, 50),
       n=st.integers(1, 50), gran_k=st.sampled_from((32, 128)),
       scale=st.sampled_from(("float32", "packed")), seed=st.integers(0, 2**32 - 1),
       framework=st.sampled_from(FRAMEWORKS))
def test_any_sizes(ks, m, n, gran_k, scale, seed, framework):
    rng = np.random.default_rng(seed)
    a, b = (Tokens(rng, ks, mn, scale, gran_k) for mn in (m, n))
    if sum(ks) == m or sum(ks) == n or len(a.exponents) in (m, n):
        return  # ambiguous shapes: test_square_operands_follow_the_name
    d = framework.poisoned((len(ks), m, n), "float32")
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(
        (a.data(framework, "tokens_first"), a.sf(framework, False)),
        (b.data(framework, "tokens_first"), b.sf(framework, False)), d, ks,
        framework.make(ks, "int32"), recipe=(1, 1, gran_k))
    check(framework, d, *products(ks, a, b), "float32")
