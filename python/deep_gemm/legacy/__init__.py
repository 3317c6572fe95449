# SPDX-License-Identifier: MIT
"""BF16 grouped products that gather rows, under the names of the earlier Triton kernels; served by
this library's own kernels, on any device it supports.

    m_indices       int32 [rows of d]: group of each row, negative: the row becomes zeros
    m_row_indices   int32 [rows of d]: row of a to take, negative: a row of zeros
    handle          (k_indices, k_start, k_end): group g sums over k_start[g] <= k < k_end[g], row k
                    of the gathered operand being row k_indices[k] of the tensor, negative: skipped.
                    Groups start at the end before them, rounded up to the mk alignment
"""
from .. import _native
from .._groups import INDEX, PSUM
from .._tensor import tracing
from ..grouped import _B_STORED_NN
from ..runtime import get_mk_alignment_for_contiguous_layout

__all__ = [
    "m_grouped_bf16_gemm_nt_contiguous_tl", "m_grouped_bf16_gemm_nn_contiguous_tl",
    "a_fused_m_grouped_bf16_gemm_nt_contiguous_tl", "a_fused_m_grouped_bf16_gemm_nn_contiguous_tl",
    "a_fused_k_grouped_bf16_gemm_tn_contiguous_tl", "b_fused_k_grouped_bf16_gemm_tn_contiguous_tl",
]


def _expect_tuple(x, name, count):
    if not isinstance(x, (tuple, list)) or len(x) != count:
        raise TypeError(f"{name}: {type(x)}, expected a tuple of {count} tensors")
    return x


def _m_grouped(name, transposed, a, b, d, m_indices, *a_rows):
    if tracing() or _native.m_grouped_gemm(
            (a, None), (b, None), d, None, (INDEX, m_indices, 0, None), None, None, None,
            transposed, a_rows[0] if a_rows else None, True, 0) is NotImplemented:
        from .. import _ops
        _ops.call_legacy(name, a, b, d, m_indices, *a_rows)


def m_grouped_bf16_gemm_nt_contiguous_tl(a, b, d, m_indices):
    """d[i] = a[i] b[g(i)]^T for a [m, k], b [G, n, k], d [m, n]."""
    _m_grouped("m_grouped_bf16_gemm_nt_contiguous_tl", 0, a, b, d, m_indices)


def m_grouped_bf16_gemm_nn_contiguous_tl(a, b, d, m_indices):
    """d[i] = a[i] b[g(i)] for b [G, k, n]."""
    _m_grouped("m_grouped_bf16_gemm_nn_contiguous_tl", _B_STORED_NN, a, b, d, m_indices)


def a_fused_m_grouped_bf16_gemm_nt_contiguous_tl(a, b, d, mappings):
    """d[i] = a[m_row_indices[i]] b[g(i)]^T; mappings = (m_indices, m_row_indices)."""
    _m_grouped("a_fused_m_grouped_bf16_gemm_nt_contiguous_tl", 0, a, b, d,
               *_expect_tuple(mappings, "mappings", 2))


def a_fused_m_grouped_bf16_gemm_nn_contiguous_tl(a, b, d, mappings):
    """d[i] = a[m_row_indices[i]] b[g(i)] for b [G, k, n]."""
    _m_grouped("a_fused_m_grouped_bf16_gemm_nn_contiguous_tl", _B_STORED_NN, a, b, d,
               *_expect_tuple(mappings, "mappings", 2))


def _check_starts(k_start, k_end):
    """Refuses starts that the ends do not imply, where looking costs no synchronisation."""
    if str(getattr(k_start, "device", "cpu")) != "cpu" or \
            _native.describe(k_start, "plain") is NotImplemented:
        return
    alignment = get_mk_alignment_for_contiguous_layout()
    end = 0
    for g, (start, next_end) in enumerate(zip(k_start.tolist(), k_end.tolist())):
        begin = -(-end // alignment) * alignment
        if start < next_end and start != begin:
            raise _native.ArgumentError(
                f"k_start[{g}]: {start}, expected {begin}: the end before it, {end}, rounded up to "
                f"the alignment {alignment}")
        end = max(begin, next_end)


def _k_grouped(name, a, b, d, handle, acc, gather_a):
    k_indices, k_start, k_end = _expect_tuple(handle, "handle", 3)
    rows = (k_indices, None) if gather_a else (None, k_indices)
    if not tracing():
        _check_starts(k_start, k_end)
        if _native.k_grouped_gemm(a, b, d, d if acc else None, (PSUM, k_end, 0, None), 128, False,
                                  *rows) is not NotImplemented:
            return
    from .. import _ops
    _ops.call_legacy(name, a, b, d, k_indices, k_start, k_end, acc)


def a_fused_k_grouped_bf16_gemm_tn_contiguous_tl(a, b, d, handle, acc):
    """d[g] (+)= sum over k of a[k_indices[k]]^T b[k]: a [any, m], b [k, n], d [G, m, n]."""
    _k_grouped("a_fused_k_grouped_bf16_gemm_tn_contiguous_tl", a, b, d, handle, acc, True)


def b_fused_k_grouped_bf16_gemm_tn_contiguous_tl(a, b, d, handle, acc):
    """d[g] (+)= sum over k of a[k]^T b[k_indices[k]]: a [k, m], b [any, n], d [G, m, n]."""
    _k_grouped("b_fused_k_grouped_bf16_gemm_tn_contiguous_tl", a, b, d, handle, acc, False)
