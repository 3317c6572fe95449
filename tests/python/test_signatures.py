# SPDX-License-Identifier: MIT
"""Every public name: its signature, its aliases, and the absence of what is not built."""
import ast
import importlib
import inspect
import pathlib

import deep_gemm
import pytest

_FP8 = "a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims='{}', " \
       "disable_ue8m0_cast=False"
_BF16 = "a, b, d, c=None, compiled_dims='{}'"
_M_FP8 = "a, b, d, grouped_layout, recipe=None, recipe_a=None, recipe_b=None, " \
         "compiled_dims='nk', disable_ue8m0_cast=False, use_psum_layout=False, " \
         "ensure_zero_padding=True"
_M_BF16 = "a, b, d, grouped_layout, compiled_dims='nk', use_psum_layout=False, " \
          "ensure_zero_padding=True"
_PSUM_HINT = ", expected_m_for_psum_layout=None"
_K_FP8 = "a, b, d, ks_cpu, grouped_layout, c=None, recipe=(1, 1, 128), compiled_dims='mn', " \
         "use_psum_layout=False"

SIGNATURES = {
    "fp8_fp4_gemm_nt": _FP8.format("nk"), "fp8_fp4_gemm_nn": _FP8.format("nk"),
    "fp8_fp4_gemm_tn": _FP8.format("mn"), "fp8_fp4_gemm_tt": _FP8.format("mn"),
    "bf16_gemm_nt": _BF16.format("nk"), "bf16_gemm_nn": _BF16.format("nk"),
    "bf16_gemm_tn": _BF16.format("mn"), "bf16_gemm_tt": _BF16.format("mn"),
    **{f"cublaslt_gemm_{form}": "a, b, d, c=None" for form in ("nt", "nn", "tn", "tt")},
    "m_grouped_fp8_fp4_gemm_nt_contiguous": _M_FP8 + _PSUM_HINT,
    "m_grouped_fp8_fp4_gemm_nn_contiguous": _M_FP8,
    "m_grouped_bf16_gemm_nt_contiguous": _M_BF16 + _PSUM_HINT,
    "m_grouped_bf16_gemm_nn_contiguous": _M_BF16,
    "m_grouped_fp8_fp4_gemm_nt_masked":
        "a, b, d, masked_m, expected_m, recipe=None, recipe_a=None, recipe_b=None, "
        "compiled_dims='nk', disable_ue8m0_cast=False",
    "m_grouped_bf16_gemm_nt_masked": "a, b, d, masked_m, expected_m, compiled_dims='nk'",
    "k_grouped_fp8_gemm_nt_contiguous": _K_FP8,
    "k_grouped_fp8_gemm_tn_contiguous": _K_FP8,
    "k_grouped_bf16_gemm_tn_contiguous":
        "a, b, d, ks_cpu, grouped_layout, c=None, compiled_dims='mn', use_psum_layout=False",
    "fp8_gemm_nt_skip_head_mid":
        "a, b, d, head_splits, recipe=None, compiled_dims='nk', disable_ue8m0_cast=False",
    "einsum": "expr, a, b, d, c=None, use_cublaslt=False",
    "fp8_einsum": "expr, a, b, d, c=None, recipe=(1, 128, 128)",
    "tf32_hc_prenorm_gemm": "a, b, d, sqr_sum, num_splits=None",
    "fp8_fp4_mqa_logits":
        "q, kv, weights, cu_seq_len_k_start, cu_seq_len_k_end, clean_logits=True, max_seqlen_k=0, "
        "logits_dtype=None",  # None: float32, which no module of ours can name
    "fp8_mqa_logits":
        "q_fp8, kv, weights, cu_seq_len_k_start, cu_seq_len_k_end, clean_logits=True, "
        "max_seqlen_k=0",
    "get_paged_mqa_logits_metadata": "context_lens, block_kv, num_sms, indices=None",
    "fp8_fp4_paged_mqa_logits":
        "q, kv_cache, weights, context_lens, block_table, schedule_meta, max_context_len, "
        "clean_logits=False, logits_dtype=None, indices=None",
    "fp8_paged_mqa_logits":
        "q_fp8, kv_cache, weights, context_lens, block_table, schedule_meta, max_context_len, "
        "clean_logits=False, indices=None",
    "transform_sf_into_required_layout":
        "sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False, "
        "psum_layout=None",
    "get_tma_aligned_size": "x, element_size",
    "get_mn_major_tma_aligned_tensor": "sf",
    "get_mn_major_tma_aligned_packed_ue8m0_tensor": "sf, psum_layout=None",
    "get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor":
        "sf, grouped_layout, ks_cpu, gran_k, k_alignment=128, use_psum_layout=False",
    "get_theoretical_mk_alignment_for_contiguous_layout": "expected_m=None",
    "get_mk_alignment_for_contiguous_layout": "",
    "get_num_sms": "", "get_tc_util": "", "get_pdl": "",
    "set_num_sms": "n", "set_tc_util": "p", "set_pdl": "b", "set_ignore_compile_dims": "b",
    "set_block_size_multiple_of": "x", "set_mk_alignment_for_contiguous_layout": "x",
    "ceil_div": "x, y", "align": "x, y", "ceil_to_ue8m0": "x", "pack_ue8m0_to_int": "x",
    "unpack_ue8m0_from_int": "packed",
    "per_token_cast_to_fp8": "x, use_ue8m0, gran_k=128, use_packed_ue8m0=False",
    "per_channel_cast_to_fp8": "x, use_ue8m0, gran_k=128",
    "per_block_cast_to_fp8": "x, use_ue8m0, gran_k=128",
    "per_custom_dims_cast_to_fp8": "x, dims, use_ue8m0",
    "per_token_cast_to_fp4": "x, use_ue8m0, gran_k=128, use_packed_ue8m0=False",
    "cast_back_from_fp4": "packed, sf, gran_k=128, use_packed_ue8m0=False",
    "transpose_packed_fp4": "a",
    "init_dist": "local_rank, num_local_ranks",
    "uneven_all_gather": "tensor, dim=0, group=None",
    "gemm_fp8_fp8_bf16_nt": "lhs, rhs, out",
    "m_grouped_gemm_fp8_fp8_bf16_nt_contiguous": "lhs, rhs, out, m_indices",
    "m_grouped_gemm_fp8_fp8_bf16_nt_masked": "lhs, rhs, out, masked_m, expected_m",
    "wgrad_gemm_fp8_fp8_fp32_nt": "lhs, rhs, out",
    "k_grouped_wgrad_gemm_fp8_fp8_fp32_nt": "lhs, rhs, out, batch_sizes",
    "get_col_major_tma_aligned_tensor": "x",
}

ALIASES = {
    **{f"fp8_gemm_{form}": f"fp8_fp4_gemm_{form}" for form in ("nt", "nn", "tn", "tt")},
    "m_grouped_fp8_gemm_nt_contiguous": "m_grouped_fp8_fp4_gemm_nt_contiguous",
    "m_grouped_fp8_gemm_nn_contiguous": "m_grouped_fp8_fp4_gemm_nn_contiguous",
    "m_grouped_fp8_gemm_nt_masked": "m_grouped_fp8_fp4_gemm_nt_masked",
    "fp8_m_grouped_gemm_nt_masked": "m_grouped_fp8_fp4_gemm_nt_masked",
    "bf16_m_grouped_gemm_nt_masked": "m_grouped_bf16_gemm_nt_masked",
    "get_m_alignment_for_contiguous_layout": "get_mk_alignment_for_contiguous_layout",
    "get_k_alignment_for_contiguous_layout": "get_mk_alignment_for_contiguous_layout",
}


def positional(function):
    """The signature as text, without what is keyword-only."""
    parameters = [p for p in inspect.signature(function).parameters.values()
                  if p.kind != inspect.Parameter.KEYWORD_ONLY]
    assert all(p.kind == inspect.Parameter.POSITIONAL_OR_KEYWORD for p in parameters)
    return ", ".join(str(p) for p in parameters)


@pytest.mark.parametrize("name", SIGNATURES)
def test_signature(name):
    function = getattr(deep_gemm, name)
    assert positional(function) == SIGNATURES[name]
    assert function.__doc__


@pytest.mark.parametrize("name", ALIASES)
def test_alias_is_the_same_object(name):
    assert getattr(deep_gemm, name) is getattr(deep_gemm, ALIASES[name])


@pytest.mark.parametrize("name", (
    "fp8_fp4_mega_moe", "get_symm_buffer_for_mega_moe", "SymmBuffer"))
def test_what_is_not_built_is_absent(name):
    assert not hasattr(deep_gemm, name)


@pytest.mark.parametrize("name", [*SIGNATURES, *ALIASES])
def test_extension_module_has_the_same_objects(name):
    is_python_upstream = any(part in name for part in (
        "cast", "fp8_fp8", "ue8m0_to", "to_ue8m0", "ue8m0_from", "transpose", "col_major", "dist",
        "ceil_div", "align", "gather")) and "alignment" not in name and "aligned_p" not in name
    if hasattr(deep_gemm._C, name):
        assert getattr(deep_gemm._C, name) is getattr(deep_gemm, name)
    else:
        assert is_python_upstream


def test_modules_that_callers_import():
    for name in ("utils", "utils.math", "utils.layout", "utils.dist", "testing", "legacy", "_C"):
        importlib.import_module("deep_gemm." + name)
    from deep_gemm.utils.dist import dist_print, init_dist, uneven_all_gather
    from deep_gemm.utils.layout import get_mn_major_tma_aligned_tensor
    assert get_mn_major_tma_aligned_tensor is deep_gemm.get_mn_major_tma_aligned_tensor
    assert deep_gemm.math is deep_gemm.utils.math and deep_gemm.dist is deep_gemm.utils.dist
    assert deep_gemm.__path__
    deep_gemm._C.init("/nowhere", "/nowhere")


def test_version_passes_gates():
    release, ours = deep_gemm.__version__.split("+c.")
    assert tuple(int(part) for part in release.split(".")) >= (2, 6, 1)
    assert len(ours.split(".")) == 3


def test_unknown_keywords_are_type_errors():
    for name in (*SIGNATURES, *ALIASES):
        with pytest.raises(TypeError):
            getattr(deep_gemm, name)(no_such_keyword=1)


def test_stub_says_what_the_package_has():
    """__init__.pyi, read as text: names, parameters and defaults of every function."""
    folder = pathlib.Path(deep_gemm.__path__[0])
    assert (folder / "py.typed").exists()
    tree = ast.parse((folder / "__init__.pyi").read_text())
    described = {}
    for node in tree.body:
        if isinstance(node, ast.FunctionDef):
            described[node.name] = node
        elif isinstance(node, ast.Assign):
            described[node.targets[0].id] = node.value
    functions = [name for name in dir(deep_gemm) if inspect.isfunction(getattr(deep_gemm, name))
                 and not name.startswith("_")]
    for name in functions:
        node = described[name]
        while isinstance(node, ast.Name):
            node = described[node.id]
        parameters = inspect.signature(getattr(deep_gemm, name)).parameters.values()
        arguments = node.args
        defaults = [None] * (len(arguments.args) - len(arguments.defaults)) + arguments.defaults
        told = [(a.arg, ast.unparse(d) if d is not None else None) for a, d in
                zip(arguments.args + arguments.kwonlyargs, defaults + arguments.kw_defaults)]
        assert told == [(p.name, None if p.default is p.empty else repr(p.default))
                        for p in parameters], name
