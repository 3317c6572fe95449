# SPDX-License-Identifier: MIT
"""M-grouped products: rows of a belong to groups (experts), each with its own matrix of b.

`grouped_layout` is int32 or int64 on the tensors' device. Without a flag it holds one group for
each row, negative for a row of padding; groups may have any size and any order. Other forms:
    use_psum_layout=True     [G] ends of the groups' rows; each group starts at the end before it,
                             rounded up to get_mk_alignment_for_contiguous_layout()
    layout="offsets"         [G] ends, groups back to back
    layout="sizes"           [G] numbers of rows, groups back to back
    layout="block_index"     one group for each row, but the first row of an aligned block decides
"""
from . import _native
from ._compat import accepts_old_keywords
from ._groups import MASKED, m_groups
from ._native import ArgumentError
from ._tensor import tracing

__all__ = [
    "m_grouped_fp8_fp4_gemm_nt_contiguous", "m_grouped_fp8_fp4_gemm_nn_contiguous",
    "m_grouped_fp8_fp4_gemm_nt_masked", "m_grouped_bf16_gemm_nt_contiguous",
    "m_grouped_bf16_gemm_nn_contiguous", "m_grouped_bf16_gemm_nt_masked",
    "m_grouped_fp8_gemm_nt_contiguous", "m_grouped_fp8_gemm_nn_contiguous",
    "m_grouped_fp8_gemm_nt_masked", "fp8_m_grouped_gemm_nt_masked", "bf16_m_grouped_gemm_nt_masked",
]

_B_STORED_NN = 2


def _check_hint(expected_m, use_psum_layout, layout):
    if expected_m is not None and not use_psum_layout and layout != "psum":
        raise ArgumentError("expected_m_for_psum_layout: given without use_psum_layout=True")


def _contiguous(name, transposed, a, b, d, grouped_layout, recipe, recipe_a, recipe_b,
                use_psum_layout, ensure_zero_padding, expected_m, layout):
    groups = m_groups(grouped_layout, layout, use_psum_layout)
    _check_hint(expected_m, use_psum_layout, layout)
    if tracing() or _native.m_grouped_gemm(
            a, b, d, None, groups, recipe, recipe_a, recipe_b, transposed, None,
            ensure_zero_padding, expected_m or 0) is NotImplemented:
        from . import _ops
        _ops.call(name, a, b, d, grouped_layout, recipe, recipe_a, recipe_b, use_psum_layout,
                  ensure_zero_padding, layout=layout)


@accepts_old_keywords(m_indices="grouped_layout")
def m_grouped_fp8_fp4_gemm_nt_contiguous(
        a, b, d, grouped_layout, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
        disable_ue8m0_cast=False, use_psum_layout=False, ensure_zero_padding=True,
        expected_m_for_psum_layout=None, *, layout=None):
    """d[i] = a[i] b[g(i)]^T: one expert's weights for each row.

    a       pair: float8_e4m3fn [m, k], factors as in fp8_fp4_gemm_nt
    b       pair: float8_e4m3fn [G, n, k], factors with a leading [G]
    d       output [m, n] bfloat16 or float32
    grouped_layout, use_psum_layout, layout   see the module's text
    ensure_zero_padding   psum: write zeros between a group's end and its aligned end
    expected_m_for_psum_layout   hint, changes no result

    In index form rows of padding become zeros. Rows that no group reaches are left alone in the
    other forms. What a holds outside the groups is never looked at. Errors as fp8_fp4_gemm_nt.

    >>> deep_gemm.m_grouped_fp8_fp4_gemm_nt_contiguous(x, w, y, expert_of_row)
    """
    _contiguous("m_grouped_fp8_fp4_gemm_nt_contiguous", 0, a, b, d, grouped_layout, recipe,
                recipe_a, recipe_b, use_psum_layout, ensure_zero_padding,
                expected_m_for_psum_layout, layout)


@accepts_old_keywords(m_indices="grouped_layout")
def m_grouped_fp8_fp4_gemm_nn_contiguous(
        a, b, d, grouped_layout, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
        disable_ue8m0_cast=False, use_psum_layout=False, ensure_zero_padding=True, *, layout=None):
    """d[i] = a[i] b[g(i)]: as ..._nt_contiguous with b [G, k, n] and its factors transposed."""
    _contiguous("m_grouped_fp8_fp4_gemm_nn_contiguous", _B_STORED_NN, a, b, d, grouped_layout,
                recipe, recipe_a, recipe_b, use_psum_layout, ensure_zero_padding, None, layout)


@accepts_old_keywords()
def m_grouped_fp8_fp4_gemm_nt_masked(
        a, b, d, masked_m, expected_m, recipe=None, recipe_a=None, recipe_b=None,
        compiled_dims="nk", disable_ue8m0_cast=False):
    """d[g, i] = a[g, i] b[g]^T for i < masked_m[g].

    a           pair: float8_e4m3fn [G, m_max, k], factors with a leading [G]
    b           pair: float8_e4m3fn [G, n, k]
    d           output [G, m_max, n]; rows from masked_m[g] on are left alone
    masked_m    int32 [G]
    expected_m  hint, changes no result

    >>> deep_gemm.m_grouped_fp8_fp4_gemm_nt_masked(x, w, y, masked_m, expected_m=64)
    """
    if tracing() or _native.m_grouped_gemm(
            a, b, d, None, (MASKED, masked_m, 0, None), recipe, recipe_a, recipe_b, 0, None, True,
            expected_m) is NotImplemented:
        from . import _ops
        _ops.call("m_grouped_fp8_fp4_gemm_nt_masked", a, b, d, masked_m, expected_m, recipe,
                  recipe_a, recipe_b)


m_grouped_fp8_gemm_nt_contiguous = m_grouped_fp8_fp4_gemm_nt_contiguous
m_grouped_fp8_gemm_nn_contiguous = m_grouped_fp8_fp4_gemm_nn_contiguous
m_grouped_fp8_gemm_nt_masked = m_grouped_fp8_fp4_gemm_nt_masked
fp8_m_grouped_gemm_nt_masked = m_grouped_fp8_fp4_gemm_nt_masked


def _bf16_contiguous(name, transposed, a, b, d, grouped_layout, use_psum_layout,
                     ensure_zero_padding, expected_m, layout):
    groups = m_groups(grouped_layout, layout, use_psum_layout)
    _check_hint(expected_m, use_psum_layout, layout)
    if tracing() or _native.m_grouped_gemm(
            (a, None), (b, None), d, None, groups, None, None, None, transposed, None,
            ensure_zero_padding, expected_m or 0) is NotImplemented:
        from . import _ops
        _ops.call(name, a, b, d, grouped_layout, use_psum_layout, ensure_zero_padding,
                  layout=layout)


@accepts_old_keywords(m_indices="grouped_layout")
def m_grouped_bf16_gemm_nt_contiguous(
        a, b, d, grouped_layout, compiled_dims="nk", use_psum_layout=False,
        ensure_zero_padding=True, expected_m_for_psum_layout=None, *, layout=None):
    """d[i] = a[i] b[g(i)]^T for bfloat16 a [m, k], b [G, n, k]; rest as the FP8 function.

    >>> deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, y, expert_of_row)
    """
    _bf16_contiguous("m_grouped_bf16_gemm_nt_contiguous", 0, a, b, d, grouped_layout,
                     use_psum_layout, ensure_zero_padding, expected_m_for_psum_layout, layout)


@accepts_old_keywords(m_indices="grouped_layout")
def m_grouped_bf16_gemm_nn_contiguous(
        a, b, d, grouped_layout, compiled_dims="nk", use_psum_layout=False,
        ensure_zero_padding=True, *, layout=None):
    """d[i] = a[i] b[g(i)] for bfloat16 a [m, k], b [G, k, n]; rest as the FP8 function."""
    _bf16_contiguous("m_grouped_bf16_gemm_nn_contiguous", _B_STORED_NN, a, b, d, grouped_layout,
                     use_psum_layout, ensure_zero_padding, None, layout)


@accepts_old_keywords()
def m_grouped_bf16_gemm_nt_masked(a, b, d, masked_m, expected_m, compiled_dims="nk"):
    """d[g, i] = a[g, i] b[g]^T for i < masked_m[g], bfloat16 a [G, m_max, k], b [G, n, k]."""
    if tracing() or _native.m_grouped_gemm(
            (a, None), (b, None), d, None, (MASKED, masked_m, 0, None), None, None, None, 0, None,
            True, expected_m) is NotImplemented:
        from . import _ops
        _ops.call("m_grouped_bf16_gemm_nt_masked", a, b, d, masked_m, expected_m)


bf16_m_grouped_gemm_nt_masked = m_grouped_bf16_gemm_nt_masked
