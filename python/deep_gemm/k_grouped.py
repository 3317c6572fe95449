# SPDX-License-Identifier: MIT
"""K-grouped products, the weight gradients of a mixture of experts: d[g] = c[g] + a_g^T b_g.

Tokens, sorted by expert, are what the product sums over. The C API is told how operands lie in
memory; this file finds it out from their shapes (m and n are known from d):

    rank 1  flat: for each group a matrix [m, k_g] of its own, back to back
    rank 2  [sum k, m] tokens first, or [m, sum k]: the axis that is not m counts the tokens. Where
            both fit, `tn` means tokens first; `nt` means tokens first if the rows are contiguous
            and [m, sum k] if stride(0) is 1

Factors are [rows, m] or [m, rows], rows being the sum of ceil(k_g / gran_k): the axis that is not
m; where both fit, [m, rows] for `nt` and [rows, m] for `tn`.
"""
from . import _native
from ._compat import accepts_old_keywords
from ._groups import k_groups
from ._native import ArgumentError
from ._tensor import tracing

__all__ = [
    "k_grouped_fp8_gemm_nt_contiguous", "k_grouped_fp8_gemm_tn_contiguous",
    "k_grouped_bf16_gemm_tn_contiguous",
]

_TOKENS_FIRST, _TOKENS_LAST, _FLAT = 1, 2, 3


def _find_form(name, dtype, shape, stride, mn, mn_name, nt):
    if len(shape) == 1:
        return _FLAT
    if len(shape) != 2:
        raise ArgumentError(f"{name}: {len(shape)} axes, expected [tokens, {mn_name}], "
                            f"[{mn_name}, tokens] or a flat tensor of all groups' matrices")
    first = shape[1] == (mn // 2 if dtype == "e2m1x2" else mn)
    last = shape[0] == mn
    if first and last:
        return _TOKENS_LAST if nt and stride[0] == 1 and stride[1] != 1 else _TOKENS_FIRST
    if not first and not last:
        raise ArgumentError(f"{name}: shape {list(shape)}, expected one axis of {mn_name} = {mn}, "
                            f"as d has it: [tokens, {mn_name}] or [{mn_name}, tokens]")
    return _TOKENS_FIRST if first else _TOKENS_LAST


def _scale_is_mn_first(scale, mn, nt):
    if scale is None:
        return False
    shape = _native.describe(scale, "scale")[1]
    if len(shape) != 2 or (shape[0] == mn) == (shape[1] == mn):
        return nt
    return shape[0] == mn


def _operand(name, operand, mn, mn_name, gran_k, nt):
    """(data, scale, form, scale is [mn, rows], gran_k, gather) as the extension wants it."""
    data, scale = operand if isinstance(operand, (tuple, list)) else (operand, None)
    description = _native.describe(data, "operand")
    if description is NotImplemented or (
            scale is not None and _native.describe(scale, "scale") is NotImplemented):
        return None
    form = _find_form(name, *description, mn, mn_name, nt)
    return (data, scale, form, _scale_is_mn_first(scale, mn, nt), gran_k, None)


def _gran_k(recipe):
    if recipe is None:
        return 128
    if len(recipe) != 3 or recipe[0] != 1 or recipe[1] != 1:
        raise ArgumentError(f"recipe: {recipe}, expected (1, 1, gran_k) with gran_k 32 or 128")
    return recipe[2]


def _k_grouped(a, b, d, c, groups, gran_k, nt):
    """Runs the product; NotImplemented if a tensor only stands for one."""
    description = _native.describe(d[0] if isinstance(d, (tuple, list)) else d, "plain")
    if description is NotImplemented:
        return NotImplemented
    shape = description[1]
    if len(shape) < 2:
        raise ArgumentError(f"d: shape {list(shape)}, expected [G, m, n], or [m, n] for the sum")
    operand_a = _operand("a", a, shape[-2], "m", gran_k, nt)
    operand_b = _operand("b", b, shape[-1], "n", gran_k, nt)
    if operand_a is None or operand_b is None:
        return NotImplemented
    return _native.k_grouped_gemm(operand_a, operand_b, d, c, groups, len(shape) == 2)


def _fp8(name, nt, a, b, d, ks_cpu, grouped_layout, c, recipe, use_psum_layout, layout):
    groups = k_groups(grouped_layout, ks_cpu, layout, use_psum_layout)
    if tracing() or _k_grouped(a, b, d, c, groups, _gran_k(recipe), nt) is NotImplemented:
        from . import _ops
        _ops.call(name, a, b, d, ks_cpu, grouped_layout, c, recipe, use_psum_layout, layout=layout)


@accepts_old_keywords(ks="ks_cpu", ks_tensor="grouped_layout")
def k_grouped_fp8_gemm_nt_contiguous(
        a, b, d, ks_cpu, grouped_layout, c=None, recipe=(1, 1, 128), compiled_dims="mn",
        use_psum_layout=False, *, layout=None):
    """d[g] = c[g] + a_g^T b_g over the tokens of group g.

    a, b      pairs: float8_e4m3fn with m (a) and n (b) columns for each token, laid out as the
              module's text says; factors float32 or int32 (four UE8M0 of one group a word), or None
    d         output bfloat16 or float32: [G, m, n]; [m, n] for the sum over groups; or a list of G
              matrices [m, n]
    ks_cpu    tokens of each group as integers; may be None or []: grouped_layout decides alone.
              Beside grouped_layout only its sum is looked at, so [sum, 0, 0, ..] will do
    grouped_layout   int32 or int64 [G]: sizes; with use_psum_layout=True ends of groups that start
              on multiples of get_mk_alignment_for_contiguous_layout(); with layout="offsets" ends
              of groups back to back. None: ks_cpu decides
    c         as d, may be d itself: the product is added. None: d is overwritten, an empty group
              gives zeros
    recipe    (1, 1, gran_k)

    Any sizes; a group's last block of factors covers the tokens it has. Errors as fp8_fp4_gemm_nt.

    >>> ks = [32, 45, 27]
    >>> grad = torch.zeros(3, m, n)
    >>> deep_gemm.k_grouped_fp8_gemm_nt_contiguous(
    ...     (dy, None), (x, None), grad, ks, torch.tensor(ks, dtype=torch.int32), grad)
    """
    _fp8("k_grouped_fp8_gemm_nt_contiguous", True, a, b, d, ks_cpu, grouped_layout, c, recipe,
         use_psum_layout, layout)


@accepts_old_keywords(ks="ks_cpu", ks_tensor="grouped_layout")
def k_grouped_fp8_gemm_tn_contiguous(
        a, b, d, ks_cpu, grouped_layout, c=None, recipe=(1, 1, 128), compiled_dims="mn",
        use_psum_layout=False, *, layout=None):
    """As k_grouped_fp8_gemm_nt_contiguous; where shapes leave it open, tokens come first."""
    _fp8("k_grouped_fp8_gemm_tn_contiguous", False, a, b, d, ks_cpu, grouped_layout, c, recipe,
         use_psum_layout, layout)


@accepts_old_keywords(ks="ks_cpu", ks_tensor="grouped_layout")
def k_grouped_bf16_gemm_tn_contiguous(
        a, b, d, ks_cpu, grouped_layout, c=None, compiled_dims="mn", use_psum_layout=False, *,
        layout=None, recipe=None):
    """d[g] = c[g] + a_g^T b_g for bfloat16 a [sum k, m], b [sum k, n].

    a, b may be tensors or pairs (tensor, None). The rest is as k_grouped_fp8_gemm_nt_contiguous.

    >>> deep_gemm.k_grouped_bf16_gemm_tn_contiguous(dy, x, grad, ks, None, grad)
    """
    a = a[0] if isinstance(a, (tuple, list)) else a
    b = b[0] if isinstance(b, (tuple, list)) else b
    groups = k_groups(grouped_layout, ks_cpu, layout, use_psum_layout)
    if tracing() or _k_grouped(a, b, d, c, groups, _gran_k(recipe), False) is NotImplemented:
        from . import _ops
        _ops.call("k_grouped_bf16_gemm_tn_contiguous", a, b, d, ks_cpu, grouped_layout, c,
                  use_psum_layout, layout=layout)
