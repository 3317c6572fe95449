# SPDX-License-Identifier: MIT
"""Every function as an operator, torch.ops.deep_gemm.NAME, for torch.compile and torch.export.

Imported when torch is there as deep_gemm is imported, or when a graph is traced first. In eager
code the Python functions do not come through here: the dispatcher costs more than the call.
Operators take operands in pieces (values, factors); the schemas say what is written: d, never c.
Whether c and d are one tensor changes no result, so functionalisation may copy either.
"""
import torch

from . import (
    contractions, cublaslt, gemm, grouped, hyper_connection, k_grouped, legacy, moe, mqa_logits,
    scale_layout)
from ._tensor import zeros_strided
from .utils import math

_FP8_OPERANDS = "Tensor a, Tensor? sfa, Tensor b, Tensor? sfb"
_BF16_OPERANDS = "Tensor a, Tensor b"  # and all others without factors
_FP8 = f"{_FP8_OPERANDS}, Tensor(d!) d"
_BF16 = f"{_BF16_OPERANDS}, Tensor(d!) d"
_RECIPES = "int[]? recipe=None, int[]? recipe_a=None, int[]? recipe_b=None"
_DENSE = "Tensor? c=None"
_CONTIGUOUS = "bool use_psum_layout=False, bool ensure_zero_padding=True, *, str? layout=None"
_MASKED = "Tensor masked_m, int expected_m"
_K_GROUPS = "int[]? ks_cpu, Tensor? grouped_layout, Tensor? c=None"
_K_LAYOUT = "bool use_psum_layout=False, *, str? layout=None"


def _product_schemas():
    schemas = {}
    for form in ("nt", "nn", "tn", "tt"):
        for name in (f"fp8_fp4_gemm_{form}", f"fp8_gemm_{form}"):
            schemas[name] = f"{_FP8}, {_DENSE}, {_RECIPES}"
        for name in (f"bf16_gemm_{form}", f"cublaslt_gemm_{form}"):
            schemas[name] = f"{_BF16}, {_DENSE}"
    for form in ("nt", "nn"):
        for name in (f"m_grouped_fp8_fp4_gemm_{form}_contiguous",
                     f"m_grouped_fp8_gemm_{form}_contiguous"):
            schemas[name] = f"{_FP8}, Tensor grouped_layout, {_RECIPES}, {_CONTIGUOUS}"
        schemas[f"m_grouped_bf16_gemm_{form}_contiguous"] = \
            f"{_BF16}, Tensor grouped_layout, {_CONTIGUOUS}"
        schemas[f"k_grouped_fp8_gemm_{'nt' if form == 'nt' else 'tn'}_contiguous"] = \
            f"{_FP8}, {_K_GROUPS}, int[]? recipe=None, {_K_LAYOUT}"
    for name in ("m_grouped_fp8_fp4_gemm_nt_masked", "m_grouped_fp8_gemm_nt_masked",
                 "fp8_m_grouped_gemm_nt_masked"):
        schemas[name] = f"{_FP8}, {_MASKED}, {_RECIPES}"
    for name in ("m_grouped_bf16_gemm_nt_masked", "bf16_m_grouped_gemm_nt_masked"):
        schemas[name] = f"{_BF16}, {_MASKED}"
    schemas["k_grouped_bf16_gemm_tn_contiguous"] = f"{_BF16}, {_K_GROUPS}, {_K_LAYOUT}"
    schemas["fp8_gemm_nt_skip_head_mid"] = f"{_FP8}, int[] head_splits, int[]? recipe=None"
    for name in [name for name in schemas if name.startswith("k_grouped")]:  # a matrix a group
        schemas[f"{name}.list"] = schemas[name].replace("Tensor(d!) d", "Tensor(d!)[] d") \
            .replace("Tensor? c=None", "Tensor[]? c=None")
    return schemas


def _legacy_schemas():
    """Of deep_gemm.legacy, whose last arguments may be tuples: (schema, length of the tuple)."""
    schemas = {}
    for form in ("nt", "nn"):
        name = f"m_grouped_bf16_gemm_{form}_contiguous_tl"
        schemas[name] = (f"{_BF16}, Tensor m_indices", 0)
        schemas[f"a_fused_{name}"] = (f"{_BF16}, Tensor m_indices, Tensor m_row_indices", 2)
    for side in "ab":
        schemas[f"{side}_fused_k_grouped_bf16_gemm_tn_contiguous_tl"] = (
            f"{_BF16}, Tensor k_indices, Tensor k_start, Tensor k_end, bool acc", 3)
    return schemas


# Products whose operators take what the functions take, fp8_einsum's pairs apart.
_OTHERS = {
    contractions.einsum: f"str expr, {_BF16}, {_DENSE}, bool use_cublaslt=False",
    contractions.fp8_einsum: f"str expr, {_FP8}, {_DENSE}, int[] recipe=[1, 128, 128]",
    hyper_connection.tf32_hc_prenorm_gemm:
        f"{_BF16}, Tensor(e!) sqr_sum, int? num_splits=None",
}

_CAST = "Tensor x, bool use_ue8m0, int gran_k=128"
_PACKED = "bool use_packed_ue8m0=False"

# Functions that return new tensors. Their own code serves fake tensors too: it allocates the
# results, and the extension leaves tensors without memory alone.
_FUNCTIONS = {
    math.per_token_cast_to_fp8: f"{_CAST}, {_PACKED} -> (Tensor, Tensor)",
    math.per_channel_cast_to_fp8: f"{_CAST}, *, Tensor? sizes=None -> (Tensor, Tensor)",
    math.per_block_cast_to_fp8: f"{_CAST} -> (Tensor, Tensor)",
    math.per_custom_dims_cast_to_fp8: "Tensor x, int[] dims, bool use_ue8m0 -> (Tensor, Tensor)",
    math.per_token_cast_to_fp4: f"{_CAST}, {_PACKED} -> (Tensor, Tensor)",
    math.cast_back_from_fp4:
        f"Tensor packed, Tensor sf, int gran_k=128, {_PACKED} -> Tensor",
    math.pack_ue8m0_to_int: "Tensor x -> Tensor",
    math.unpack_ue8m0_from_int: "Tensor packed -> Tensor",
    scale_layout.get_mn_major_tma_aligned_packed_ue8m0_tensor:
        "Tensor sf, Tensor? psum_layout=None -> Tensor",
    scale_layout.get_k_grouped_mn_major_tma_aligned_packed_ue8m0_tensor:
        "Tensor sf, Tensor grouped_layout, int[]? ks_cpu, int gran_k, int k_alignment=128, "
        "bool use_psum_layout=False -> Tensor",
}

_MOE = {
    moe._route_tokens: "Tensor ids, SymInt num_groups, str layout, SymInt? alignment, "
                       "SymInt? num_rows -> (Tensor, Tensor, Tensor, Tensor, Tensor)",
    moe._permute: "Tensor x, Tensor rows, Tensor sources, Tensor? weights=None, bool factors=False"
                  " -> Tensor",
    moe._unpermute: "Tensor x, Tensor rows, Tensor? weights=None, str? dtype=None -> Tensor",
    moe._dot_rows: "Tensor a, Tensor b, Tensor rows -> Tensor",
}


_LOGITS = "Tensor q, Tensor? q_sf, Tensor kv, Tensor? kv_sf, Tensor weights, " \
          "Tensor cu_seq_len_k_start, Tensor cu_seq_len_k_end, bool clean_logits=True, " \
          "SymInt max_seqlen_k=0, ScalarType? logits_dtype=None -> Tensor"
_PAGED_LOGITS = "Tensor q, Tensor? q_sf, Tensor kv_cache, Tensor weights, Tensor context_lens, " \
                "Tensor block_table, Tensor? schedule_meta, SymInt max_context_len, " \
                "bool clean_logits=False, ScalarType? logits_dtype=None, Tensor? indices=None " \
                "-> Tensor"

# Likewise. fp8_mqa_logits and fp8_paged_mqa_logits are these in a graph too.
_LOGITS_FUNCTIONS = {
    "fp8_fp4_mqa_logits": (mqa_logits._mqa_logits, _LOGITS),
    "fp8_fp4_paged_mqa_logits": (mqa_logits._paged_mqa_logits, _PAGED_LOGITS),
    "get_paged_mqa_logits_metadata": (
        mqa_logits._metadata,
        "Tensor context_lens, int block_kv, int num_sms, Tensor? indices=None -> Tensor"),
}


def _module_of(name):
    for module in (gemm, cublaslt, grouped, k_grouped):
        if hasattr(module, name):
            return module
    raise AttributeError(name)


def _unpack(function, paired):
    """`function` with its operands in pieces."""
    if not paired:
        return function

    def run(a, sfa, b, sfb, *rest, **keywords):
        function((a, sfa), (b, sfb), *rest, **keywords)
    return run


def _unpack_named(function):
    """`function` of an expression and pairs with its operands in pieces."""
    def run(expr, a, sfa, b, sfb, *rest, **keywords):
        function(expr, (a, sfa), (b, sfb), *rest, **keywords)
    return run


def _by_keyword(function, schema_names):
    """`function` with all but the operands by keyword: schemas leave out what does nothing."""
    def run(a, b, d, *rest, **keywords):
        keywords.update(zip(schema_names, rest))
        if keywords.get("recipe", 0) is None and function.__name__.startswith("k_grouped_fp8"):
            keywords["recipe"] = (1, 1, 128)
        function(a, b, d, **keywords)
    return run


def _names(schema):
    """Names of a schema's arguments after the operands."""
    arguments = [part for part in schema.split(", ") if part != "*"]
    first = 5 if schema.startswith(_FP8_OPERANDS) else 3
    return [argument.split()[1].split("=")[0] for argument in arguments[first:]]


def _new_memory(function):
    """`function`, but a result that is its argument is copied: operators may not return those."""
    def run(sf, *rest, **keywords):
        result = function(sf, *rest, **keywords)
        return result.clone() if result is sf else result
    return run


def _mn_major(sf, dtype, mn, blocks):
    aligned = (mn + 3) // 4 * 4
    shape = [*sf.shape[:-2], mn, blocks]
    return zeros_strided(sf, shape, [aligned * blocks, 1, aligned][-len(shape):], dtype)


def _fake_transform(sf, mn, k, recipe, num_groups=None, is_sfa=None, disable_ue8m0_cast=False,
                    psum_layout=None):
    gran_mn = recipe[0] if len(recipe) == 2 or is_sfa else recipe[1]
    blackwell = sf.device.type == "cuda" and torch.cuda.get_device_capability(sf.device)[0] >= 10
    if sf.dtype == torch.int32:
        return _mn_major(sf, "int32", mn, sf.shape[-1])
    if blackwell and not disable_ue8m0_cast:
        return _mn_major(sf, "int32", mn, (sf.shape[-1] + 3) // 4)
    return _mn_major(sf, "float32", mn, sf.shape[-1]) if gran_mn == 1 else torch.empty_like(sf)


def _gather_tuple(function, length):
    """`function` of deep_gemm.legacy with its tuple in pieces."""
    def run(a, b, d, *rest):
        function(a, b, d, *([rest[:length]] if length > 0 else []), *rest[length:])
    return run


_SCHEMAS = _product_schemas()
_library = torch.library.Library("deep_gemm", "DEF")


def _register(name, schema, implementation, fake=None):
    """An operator with its fake kernel; None for products, which return nothing and write what is
    there: a kernel for tensors without memory says the same and is registered more quickly."""
    _library.define(f"{name}({schema}", tags=(torch.Tag.pt2_compliant_tag,))
    _library.impl(name, implementation, "CompositeExplicitAutograd")
    if fake is None:
        _library.impl(name, lambda *arguments, **keywords: None, "Meta")
    else:
        torch.library.register_fake(f"deep_gemm::{name}", fake, lib=_library)


def _register_all():
    for name, schema in _SCHEMAS.items():
        base = name.removesuffix(".list")
        function = _by_keyword(getattr(_module_of(base), base), _names(schema))
        _register(name, schema + ") -> ()", _unpack(function, schema.startswith(_FP8_OPERANDS)))
    for name, (schema, length) in _legacy_schemas().items():
        _register(name, schema + ") -> ()", _gather_tuple(getattr(legacy, name), length))
    for function, schema in _OTHERS.items():
        paired = function is contractions.fp8_einsum
        _register(function.__name__, schema + ") -> ()",
                  _unpack_named(function) if paired else function)
    for function, schema in _FUNCTIONS.items():
        untraced = function.__wrapped__
        _register(function.__name__, schema.replace(" -> ", ") -> "), untraced, untraced)
    for function, schema in _MOE.items():
        _register(function.__name__[1:], schema.replace(" -> ", ") -> "), function, function)
    for name, (function, schema) in _LOGITS_FUNCTIONS.items():
        _register(name, schema.replace(" -> ", ") -> "), function, function)
    aligned = scale_layout.get_mn_major_tma_aligned_tensor.__wrapped__
    _register("get_mn_major_tma_aligned_tensor", "Tensor sf) -> Tensor", _new_memory(aligned),
              lambda sf: _mn_major(sf, "float32", *sf.shape[-2:]))
    transform = scale_layout.transform_sf_into_required_layout.__wrapped__
    _register("transform_sf_into_required_layout",
              "Tensor sf, int mn, int k, int[] recipe, int? num_groups=None, bool? is_sfa=None, "
              "bool disable_ue8m0_cast=False, Tensor? psum_layout=None) -> Tensor",
              _new_memory(transform), _fake_transform)


def call(name, a, b, d, *rest, **keywords):
    """Runs a product as an operator, from the Python function's arguments."""
    packet = getattr(torch.ops.deep_gemm, name)
    operator = packet.list if isinstance(d, (list, tuple)) else packet.default
    if _SCHEMAS[name].startswith(_FP8):
        pairs = [x if isinstance(x, (tuple, list)) else (x, None) for x in (a, b)]
        operator(*pairs[0], *pairs[1], d, *rest, **keywords)
    else:
        operator(a, b, d, *rest, **keywords)


def operator(name):
    """The operator of a product, for its arguments in pieces."""
    return getattr(torch.ops.deep_gemm, name).default


def call_legacy(name, *arguments):
    """Runs a product of deep_gemm.legacy as an operator, its tuple in pieces."""
    getattr(torch.ops.deep_gemm, name).default(*arguments)


_register_all()
