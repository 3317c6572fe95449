# SPDX-License-Identifier: MIT
"""Products by their letters: one for each head, and the sum of a batch of them.

    bmk,bnk->mn     d = c + the sum over b of a[b] b[b]^T (einsum alone, contiguous a and b)
    bhr,hdr->bhd    d[:, h] = c + a[:, h] b[h]^T
    bhd,hdr->bhr    d[:, h] = c + a[:, h] b[h]
    bhd,bhr->hdr    d[h] = c + a[:, h]^T b[:, h]

Tensors are read and written where they lie, with any strides as long as one that is not h's is 1.
"""
from . import _native
from ._native import ArgumentError
from ._tensor import tracing

__all__ = ["einsum", "fp8_einsum"]

_EXPRESSIONS = {"bmk,bnk->mn": 1, "bhr,hdr->bhd": 2, "bhd,hdr->bhr": 3, "bhd,bhr->hdr": 4}


def _expression(expr):
    if expr not in _EXPRESSIONS:
        raise ArgumentError(f"expr: {expr!r}, expected one of {', '.join(_EXPRESSIONS)}")
    return _EXPRESSIONS[expr]


def einsum(expr, a, b, d, c=None, use_cublaslt=False):
    """d = c + the contraction of bfloat16 a and b, summed in FP32 and rounded once; deterministic.

    expr    one of the module's expressions, letter for letter
    d       output, bfloat16 or float32, last stride 1
    c       d's type and shape, may be d itself; None: d is overwritten
    use_cublaslt is accepted and changes nothing.

    >>> deep_gemm.einsum("bhr,hdr->bhd", q, w, y)
    """
    expression = _expression(expr)
    if tracing() or _native.einsum(expression, (a, None), (b, None), d, c, None) is NotImplemented:
        from . import _ops
        _ops.operator("einsum")(expr, a, b, d, c, use_cublaslt)


def fp8_einsum(expr, a, b, d, c=None, recipe=(1, 128, 128)):
    """d = c + the contraction of FP8 a and b, each a pair (values, factors); not bmk,bnk->mn.

    recipe  (gran_m, gran_n, gran_k): a factor covers gran_k values along the summed axis and gran_m
            (of b: gran_n) along the other one that is not h. Factors have the axes of their values:
            of bhr,hdr->bhd a's are [b, h, ceil(r / 128)], b's [h, ceil(d / 128), ceil(r / 128)]; of
            bhd,bhr->hdr, usually (1, 1, 128), [ceil(b / 128), h, d] and [.., h, r]. float32, or
            int32 with four UE8M0 exponents a word along the summed axis. None: all 1
    d, c    as in einsum

    >>> deep_gemm.fp8_einsum("bhr,hdr->bhd", (q, sq), (w, sw), y)
    """
    expression = _expression(expr)
    if tracing() or _native.einsum(expression, a, b, d, c, recipe) is NotImplemented:
        from . import _ops
        _ops.operator("fp8_einsum")(expr, *a, *b, d, c, recipe)
