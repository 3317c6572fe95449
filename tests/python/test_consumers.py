# SPDX-License-Identifier: MIT
"""Calls as inference and training programs write them, keyword by keyword."""
import inspect
import warnings

import deep_gemm
import numpy as np
import pytest
from reference import Operand, check, product, round_to
from test_k_grouped import Tokens, products

E, N, K = 3, 128, 256


def experts(rng, **keywords):
    return Operand(rng, (E, N, K), gran_mn=128, **keywords)


# vLLM ------------------------------------------------------------------------------------------

VLLM_NAMES = ("fp8_gemm_nt", "m_grouped_fp8_gemm_nt_contiguous", "fp8_m_grouped_gemm_nt_masked",
              "m_grouped_fp8_fp4_gemm_nt_contiguous", "get_mn_major_tma_aligned_tensor",
              "get_mk_alignment_for_contiguous_layout", "set_mk_alignment_for_contiguous_layout",
              "get_theoretical_mk_alignment_for_contiguous_layout",
              "transform_sf_into_required_layout",
              "get_mn_major_tma_aligned_packed_ue8m0_tensor",
              "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor", "pack_ue8m0_to_int",
              "set_pdl", "get_num_sms", "set_num_sms", "per_block_cast_to_fp8", "fp8_einsum",
              "tf32_hc_prenorm_gemm", "fp8_gemm_nt_skip_head_mid")


@pytest.mark.parametrize("name", VLLM_NAMES)
def test_vllm_resolves_names(name):
    function = getattr(deep_gemm, name, None)
    assert function is not None and inspect.signature(function) is not None


@pytest.mark.parametrize("kind", ("float32", "powers of two", "packed", "column-major"))
def test_vllm_dense(framework, rng, kind):
    """Three formats of activation factors, and the column-major aligned one; the keyword is always
    passed."""
    a = Operand(rng, (20, K), scale="packed" if kind == "packed" else "float32")
    b = Operand(rng, (N, K), gran_mn=128)
    if kind == "powers of two":
        a.factors = 2.0**np.ceil(np.log2(a.factors))
        a.values = a.codes * a.factors.repeat(128, 1)
    sfa = a.sf(framework)
    if kind == "column-major":
        sfa = framework.make(a.factors.T.copy(), "float32").T
        assert framework.strides(sfa) == (1, 20)
    d = framework.poisoned((20, N), "bfloat16")
    deep_gemm.fp8_gemm_nt((a.data(framework), sfa), b.pair(framework), d,
                          disable_ue8m0_cast=kind != "packed")
    check(framework, d, *product(a.values, b.values), "bfloat16")


def test_vllm_prefill(framework, rng):
    """Experts' blocks padded to the alignment, ids by row, padding rows never written."""
    alignment = deep_gemm.get_mk_alignment_for_contiguous_layout()
    counts = [100, 1, 128]
    ids = np.full(E * alignment, -1)
    for e, count in enumerate(counts):
        ids[e * alignment:e * alignment + count] = e
    a, b = Operand(rng, (len(ids), K)), experts(rng)
    expected = np.concatenate([a.values[e * alignment:(e + 1) * alignment] @ b.values[e].T
                               for e in range(E)]) * (ids >= 0)[:, None]
    magnitude = np.concatenate([np.abs(a.values[e * alignment:(e + 1) * alignment])
                                @ np.abs(b.values[e]).T for e in range(E)])
    a.codes[ids < 0] = np.nan
    d = framework.poisoned((len(ids), N), "bfloat16")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        a.pair(framework), b.pair(framework), d, framework.make(ids, "int32"),
        disable_ue8m0_cast=True)
    check(framework, d, expected, magnitude, "bfloat16")


def test_vllm_decode(framework, rng):
    a, b = Operand(rng, (E, 16, K)), experts(rng)
    expected, magnitude = product(a.values, b.values)
    counts = [3, 0, 16]
    d = framework.poisoned((E, 16, N), "bfloat16")
    deep_gemm.fp8_m_grouped_gemm_nt_masked(
        a.pair(framework), b.pair(framework), d, framework.make(counts, "int32"), 8,
        disable_ue8m0_cast=True)
    for e, count in enumerate(counts):
        check(framework, d[e, :count], expected[e, :count], magnitude[e, :count], "bfloat16")


@pytest.mark.casts
def test_vllm_packed_factors(framework, rng):
    """int32 words with strides (1, align4(m)), as its own kernel writes; recipe (1, 1, 128)."""
    a, b = (Operand(rng, (mn, 640), scale="packed") for mn in (18, N))
    words = a.sf(framework)
    column_major = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(
        framework.make(a.factors, "float32"))
    assert (framework.host(words) == framework.host(column_major)).all()
    assert framework.strides(column_major) == (1, 20)
    d = framework.poisoned((18, N), "bfloat16")
    deep_gemm.fp8_gemm_nt((a.data(framework), column_major), b.pair(framework), d,
                          disable_ue8m0_cast=False)
    check(framework, d, *product(a.values, b.values), "bfloat16")


def test_vllm_asks_for_the_alignment():
    """First with two arguments, then with one after a TypeError; a scope sets and restores it."""
    with pytest.raises(TypeError):
        deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(64, 8)
    wanted = deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(64)
    before = deep_gemm.get_mk_alignment_for_contiguous_layout()
    deep_gemm.set_mk_alignment_for_contiguous_layout(wanted)
    deep_gemm.set_mk_alignment_for_contiguous_layout(before)
    deep_gemm.set_pdl(True)
    deep_gemm.set_pdl(False)


@pytest.mark.casts
def test_vllm_k_grouped_helper_with_four_arguments(framework):
    sf = framework.make(np.ones((3, 8)), "float32")
    out = deep_gemm.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor(
        sf, framework.make([256, 100], "int32"), [256, 100], 128)
    assert framework.host(out)[:, 0].tolist() == [127 | 127 << 8, 127]


@pytest.mark.casts
def test_vllm_fp4_weights(framework, rng):
    """Bytes of FP4 pairs, UE8M0 bytes widened to float32 by a shift, factors in the final layout."""
    levels = np.array([0, .5, 1, 1.5, 2, 3, 4, 6])
    codes, exponents = rng.integers(0, 16, (N, K)), rng.integers(120, 130, (N, K // 32))
    values = np.where(codes >= 8, -1, 1) * levels[codes % 8]
    weight = framework.make(
        (codes[:, 0::2] | codes[:, 1::2] << 4).astype(np.uint8).view(np.int8), "int8")
    widened = framework.make((exponents << 23).astype(np.int32).view(np.float32), "float32")
    ready = deep_gemm.transform_sf_into_required_layout(widened, N, K, (1, 32))
    a = Operand(rng, (20, K))
    d = framework.poisoned((20, N), "bfloat16")
    deep_gemm.fp8_fp4_gemm_nt(a.pair(framework), (weight, ready), d, recipe_a=(1, 128),
                              recipe_b=(1, 32))
    b = values * (2.0**(exponents - 127)).repeat(32, 1)
    check(framework, d, *product(a.values, b), "bfloat16")


# SGLang ----------------------------------------------------------------------------------------

def test_sglang_masked_with_fork_keywords(framework, rng):
    a, b = Operand(rng, (E, 4, K)), experts(rng)
    d = framework.poisoned((E, 4, N), "bfloat16")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        deep_gemm.fp8_m_grouped_gemm_nt_masked(
            a.pair(framework), b.pair(framework), d, framework.make([4] * E, "int32"), 4,
            recipe_a=(1, 128), recipe_b=(128, 128), enable_overlap=False, max_block_n=256,
            signal=None)
    check(framework, d, *product(a.values, b.values), "bfloat16")


def test_sglang_warm_up_keyword(framework, rng):
    a, b = Operand(rng, (5, K)), experts(rng)
    d = framework.poisoned((5, N), "bfloat16")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        a.pair(framework), b.pair(framework), d, m_indices=framework.make([1] * 5, "int32"))
    check(framework, d, *product(a.values, b.values[1]), "bfloat16")


def test_sglang_router(framework, rng):
    a, b = Operand(rng, (7, K), "bfloat16", None), Operand(rng, (E, K), "bfloat16", None)
    d = framework.poisoned((7, E), "float32")
    deep_gemm.bf16_gemm_nt(a.data(framework), b.data(framework), d, compiled_dims="")
    check(framework, d, *product(a.values, b.values), "float32")


def test_sglang_bf16_experts(framework, rng):
    a, b = Operand(rng, (40, K), "bfloat16", None), Operand(rng, (E, N, K), "bfloat16", None)
    ids = rng.integers(0, E, 40)
    d = framework.poisoned((40, N), "bfloat16")
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a.data(framework), b.data(framework), d,
                                                framework.make(ids, "int32"))
    picked = b.values[ids]
    check(framework, d, np.einsum("mk,mnk->mn", a.values, picked),
          np.einsum("mk,mnk->mn", np.abs(a.values), np.abs(picked)), "bfloat16")
    slots = Operand(rng, (E, 8, K), "bfloat16", None)
    expected, magnitude = product(slots.values, b.values)
    d = framework.poisoned((E, 8, N), "bfloat16")
    deep_gemm.m_grouped_bf16_gemm_nt_masked(slots.data(framework), b.data(framework), d,
                                            framework.make([8, 0, 3], "int32"), 8)
    for e, count in enumerate((8, 0, 3)):
        check(framework, d[e, :count], expected[e, :count], magnitude[e, :count], "bfloat16")


def test_sglang_borrows_sms(framework, rng):
    """A scope gives some SMs to communication and restores what was there, to the bit."""
    a, b = Operand(rng, (200, K)), Operand(rng, (N, K), gran_mn=128)
    results = []
    before = deep_gemm.get_num_sms()
    for sms in (before, max(before // 3, 1), before):
        deep_gemm.set_num_sms(sms)
        d = framework.poisoned((200, N), "bfloat16")
        deep_gemm.fp8_gemm_nt(a.pair(framework), b.pair(framework), d)
        check(framework, d, *product(a.values, b.values), "bfloat16")
        results.append(framework.to_float64(d))
    assert deep_gemm.get_num_sms() == before
    assert (results[0] == results[2]).all()
    deep_gemm.set_num_sms(0)
    assert deep_gemm.get_num_sms() == before


def test_sglang_settings_and_compile_mode():
    assert deep_gemm.utils.layout.get_mn_major_tma_aligned_tensor
    before = deep_gemm.get_num_sms()
    deep_gemm.set_num_sms(before)
    deep_gemm.set_compile_mode(1)
    deep_gemm.set_compile_mode(0)
    assert deep_gemm.get_compile_mode() == 0 and deep_gemm.__version__


def test_sglang_drops_shapes_that_share_a_kernel():
    keys = {tuple(deep_gemm.get_best_gemm_config_key("MGroupedMasked", "fp8", m, 4096, 7168, 8))
            for m in range(1, 300)}
    assert len(keys) == 1
    with pytest.raises(ValueError, match="gemm_type"):
        deep_gemm.get_best_gemm_config_key("Batched", "fp8", 1, 1, 1, 1)


# TensorRT-LLM ----------------------------------------------------------------------------------

def test_tensorrt_llm_masked(framework, rng):
    a, b = Operand(rng, (E, 4, K)), experts(rng)
    d = framework.poisoned((E, 4, N), "bfloat16")
    deep_gemm.fp8_m_grouped_gemm_nt_masked(
        list(a.pair(framework)), list(b.pair(framework)), d, framework.make([4] * E, "int32"), 4,
        disable_ue8m0_cast=True)
    check(framework, d, *product(a.values, b.values), "bfloat16")


# Hugging Face ----------------------------------------------------------------------------------

@pytest.mark.parametrize("gran_k", (32, 128))
def test_hugging_face_packed_recipe(framework, rng, gran_k):
    """e8m0 bytes viewed as int32, recipe (1, 1, gran_k)."""
    a, b = (Operand(rng, (mn, 512), scale="packed", gran_k=gran_k) for mn in (6, 40))
    d = framework.poisoned((6, 40), "bfloat16")
    deep_gemm.fp8_fp4_gemm_nt(a.pair(framework), b.pair(framework), d, recipe=(1, 1, gran_k))
    check(framework, d, *product(a.values, b.values), "bfloat16")


def test_hugging_face_running_sum(framework, rng):
    """psum of aligned counts, then the same rows by id with -1 for padding."""
    alignment = deep_gemm.get_mk_alignment_for_contiguous_layout()
    counts = np.array([5, 130, 0])
    aligned = -(-counts // alignment) * alignment
    begins = aligned.cumsum() - aligned
    ids = np.full(aligned.sum(), -1)
    for e in range(E):
        ids[begins[e]:begins[e] + counts[e]] = e
    a = Operand(rng, (len(ids), K), "bfloat16", None)
    b = Operand(rng, (E, N, K), "bfloat16", None)
    by_id, by_sum = (framework.poisoned((len(ids), N), "bfloat16") for _ in range(2))
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(
        a.data(framework), b.data(framework), by_id, framework.make(ids, "int32"))
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(
        a.data(framework), b.data(framework), by_sum, framework.make(begins + counts, "int32"),
        use_psum_layout=True, ensure_zero_padding=True)
    assert (framework.to_float64(by_id) == framework.to_float64(by_sum)).all()


@pytest.mark.casts
def test_hugging_face_cast(framework, rng):
    x = Operand(rng, (37, K), "bfloat16", None).data(framework)
    q, sf = deep_gemm.utils.per_token_cast_to_fp8(x, use_ue8m0=True, gran_k=128)
    assert tuple(q.shape) == tuple(x.shape) and tuple(sf.shape) == (37, 2)


# prime-rl, torchao -----------------------------------------------------------------------------

def test_prime_rl_weight_gradient(framework, rng):
    """Flat operands, factors [tokens / 128, mn] passed as .T views, [total, 0, ..] for the host."""
    ks = [128, 256, 0, 128]
    a, b = Tokens(rng, ks, 64), Tokens(rng, ks, 96)
    start = rng.standard_normal((4, 64, 96)).astype(np.float32)
    d = framework.make(start, "float32")
    deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
        (a.data(framework, "flat"), a.sf(framework, False).T),
        (b.data(framework, "flat"), b.sf(framework, False).T), d, [sum(ks)] + [0] * 3,
        framework.make(ks, "int32"), d)
    expected, magnitude = products(ks, a, b)
    check(framework, d, expected + start, magnitude + np.abs(start), "float32")


def test_prime_rl_ids_by_block(framework, rng):
    ids = np.repeat([2, 0], 128)
    first_rows = np.where(np.arange(256) % 128 == 0, ids, -1)
    a, b = Operand(rng, (256, K)), experts(rng)
    d = framework.poisoned((256, N), "bfloat16")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
        a.pair(framework), b.pair(framework), d, framework.make(first_rows, "int32"),
        layout="block_index")
    picked = b.values[ids]
    check(framework, d, np.einsum("mk,mnk->mn", a.values, picked),
          np.einsum("mk,mnk->mn", np.abs(a.values), np.abs(picked)), "bfloat16")


def test_torchao_input_gradient(framework, rng):
    """dx = dy W with W [E, n, k] as it is: the `nn` form reads it without a transpose."""
    ids = rng.integers(0, E, 30)
    dy = Operand(rng, (30, N))
    w = Operand(rng, (E, K, N), gran_mn=128)  # logically [E, k, n]: the product sums over n
    d = framework.poisoned((30, K), "bfloat16")
    deep_gemm.m_grouped_fp8_gemm_nn_contiguous(
        dy.pair(framework), w.pair(framework, transposed=True), d, framework.make(ids, "int32"))
    picked = w.values[ids]
    check(framework, d, np.einsum("mk,mnk->mn", dy.values, picked),
          np.einsum("mk,mnk->mn", np.abs(dy.values), np.abs(picked)), "bfloat16")


def test_torchao_forward(framework, rng):
    """Weights (E, n, k), rows padded by id, the output a column slice of something wider."""
    ids = np.where(np.arange(256) % 128 < 100, np.arange(256) // 128, -1)
    a, b = Operand(rng, (256, K)), experts(rng)
    wide = framework.poisoned((256, 2 * N), "bfloat16")
    deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a.pair(framework), b.pair(framework), wide[:, N:],
                                               framework.make(ids, "int32"))
    picked = b.values[np.maximum(ids, 0)] * (ids >= 0)[:, None, None]
    check(framework, wide[:, N:], np.einsum("mk,mnk->mn", a.values, picked),
          np.einsum("mk,mnk->mn", np.abs(a.values), np.abs(picked)), "bfloat16")
    assert np.isnan(framework.to_float64(wide)[:, :N]).all()


# Megatron ----------------------------------------------------------------------------------------

@pytest.mark.parametrize("kind", ("fp8", "bf16"))
def test_megatron_main_grads(framework, rng, kind):
    """One FP32 main_grad an expert: the first microbatch overwrites, the second adds; sizes are on
    the device alone. An expert without tokens gets zeros first and is left alone then."""
    ks = [100, 0, 61]
    dtype, scale = ("bfloat16", None) if kind == "bf16" else ("float8_e4m3fn", "float32")
    a, b = (Tokens(rng, ks, mn, scale, dtype=dtype) for mn in (64, 96))
    operands = [(x.data(framework, "tokens_first"), x.sf(framework, False)) for x in (a, b)]
    function = deep_gemm.k_grouped_bf16_gemm_tn_contiguous if kind == "bf16" \
        else deep_gemm.k_grouped_fp8_gemm_tn_contiguous
    grads = [framework.poisoned((64, 96), "float32") for _ in ks]
    sizes = framework.make(ks, "int32")
    expected, magnitude = products(ks, a, b)
    function(*operands, grads, None, sizes)
    for g, grad in enumerate(grads):
        check(framework, grad, expected[g], magnitude[g], "float32")
    assert (framework.to_float64(grads[1]) == 0).all()
    start = framework.make(np.full((64, 96), 3), "float32")
    grads[1] = start
    function(*operands, grads, None, sizes, grads)
    for g in (0, 2):
        check(framework, grads[g], 2 * expected[g], 3 * magnitude[g], "float32")
    assert (framework.to_float64(start) == 3).all()


def test_megatron_stacked_grad_in_bfloat16(framework, rng):
    ks = [130, 7]
    a, b = Tokens(rng, ks, 64), Tokens(rng, ks, 96)
    start = round_to(rng.standard_normal((2, 64, 96)), "bfloat16")
    grad = framework.make(start, "bfloat16")
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(
        (a.data(framework, "tokens_first"), a.sf(framework, False)),
        (b.data(framework, "tokens_first"), b.sf(framework, False)), grad, ks,
        framework.make(ks, "int32"), grad)
    expected, magnitude = products(ks, a, b)
    check(framework, grad, expected + start, magnitude + np.abs(start), "bfloat16")


# Views and odd strides -------------------------------------------------------------------------

def test_transposed_views_are_operands(framework, rng):
    a, b = Operand(rng, (30, K)), Operand(rng, (N, K), gran_mn=128)
    d = framework.poisoned((30, N), "float32")
    deep_gemm.fp8_gemm_tn((a.data(framework).T, a.sf(framework).T),
                          (b.data(framework).T, b.sf(framework).T), d)
    check(framework, d, *product(a.values, b.values), "float32")


def test_slices_are_operands(framework, rng):
    a, b = Operand(rng, (40, K)), experts(rng)
    d = framework.poisoned((60, N), "float32")
    deep_gemm.fp8_gemm_nt((a.data(framework)[10:30], a.sf(framework)[10:30]),
                          (b.data(framework)[1], b.sf(framework)[1]), d[5:25])
    check(framework, d[5:25], *product(a.values[10:30], b.values[1]), "float32")
    rest = np.delete(framework.to_float64(d), np.s_[5:25], 0)
    assert np.isnan(rest).all()
