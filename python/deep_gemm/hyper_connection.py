# SPDX-License-Identifier: MIT
"""The product in front of a hyper-connection's norm, and the sums of squares the norm needs."""
from . import _native
from ._tensor import tracing

__all__ = ["tf32_hc_prenorm_gemm"]


def tf32_hc_prenorm_gemm(a, b, d, sqr_sum, num_splits=None):
    """d = a b^T and sqr_sum[i] = the sum of a[i]^2, from one pass over a.

    a           bfloat16 [m, k], rows contiguous
    b           float32 [n, k], rows contiguous; taken as TF32 (lower 13 bits count as zero)
    d, sqr_sum  outputs float32 [m, n] and [m]
    num_splits  given: d is [num_splits, m, n], sqr_sum [num_splits, m], and slice s holds the sums
                over its share of k, dealt out in blocks of 64; adding them up is the caller's

    >>> deep_gemm.tf32_hc_prenorm_gemm(x, w, y, squares)
    """
    if tracing() or _native.hc_prenorm(a, b, d, sqr_sum, num_splits) is NotImplemented:
        from . import _ops
        _ops.operator("tf32_hc_prenorm_gemm")(a, b, d, sqr_sum, num_splits)
