# SPDX-License-Identifier: MIT
"""K-grouped products, the weight gradients of a mixture of experts: d[g] = c[g] + a_g^T b_g.

Tokens, sorted by expert, are what the product sums over. How operands lie in memory is found
out from their shapes (m and n are known from d):

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


def _gran_k(recipe):
    if recipe is None:
        return 128
    if len(recipe) != 3 or recipe[0] != 1 or recipe[1] != 1:
        raise ArgumentError(f"recipe: {recipe}, expected (1, 1, gran_k) with gran_k 32 or 128")
    return recipe[2]


def _fp8(name, nt, a, b, d, ks_cpu, grouped_layout, c, recipe, use_psum_layout, layout):
    groups = k_groups(grouped_layout, ks_cpu, layout, use_psum_layout)
    if tracing() or _native.k_grouped_gemm(
            a, b, d, c, groups, _gran_k(recipe), nt, None, None) is NotImplemented:
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
    groups = k_groups(grouped_layout, ks_cpu, layout, use_psum_layout)
    if tracing() or _native.k_grouped_gemm(
            a, b, d, c, groups, _gran_k(recipe), False, None, None) is NotImplemented:
        from . import _ops
        a, b = (x[0] if isinstance(x, (tuple, list)) else x for x in (a, b))
        _ops.call("k_grouped_bf16_gemm_tn_contiguous", a, b, d, ks_cpu, grouped_layout, c,
                  use_psum_layout, layout=layout)
