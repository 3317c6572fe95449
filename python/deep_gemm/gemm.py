# SPDX-License-Identifier: MIT
"""Dense products: d = c + a b.

The two letters say how a and b are stored: `nt` is a [m, k], b [n, k]; `nn` has b [k, n]; `tn` has
a [k, m], b [k, n]; `tt` has a [k, m], b [n, k]. Any strides are fine as long as one of an operand's
strides is 1. Nothing is returned: d, [m, n] bfloat16 or float32, is written in place.
"""
from . import _native
from ._tensor import tracing

__all__ = [
    "fp8_fp4_gemm_nt", "fp8_fp4_gemm_nn", "fp8_fp4_gemm_tn", "fp8_fp4_gemm_tt", "bf16_gemm_nt",
    "bf16_gemm_nn", "bf16_gemm_tn", "bf16_gemm_tt", "fp8_gemm_nt", "fp8_gemm_nn", "fp8_gemm_tn",
    "fp8_gemm_tt", "fp8_gemm_nt_skip_head_mid",
]

_NT, _TN_A, _NN_B = 0, 1, 2  # operands that are stored the other way round


def _fp8_fp4_gemm(name, transposed, a, b, d, c, recipe, recipe_a, recipe_b):
    if tracing() or _native.gemm(
            a, b, d, c, recipe, recipe_a, recipe_b, transposed) is NotImplemented:
        from . import _ops
        _ops.call(name, a, b, d, c, recipe, recipe_a, recipe_b)


def fp8_fp4_gemm_nt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False):
    """d = c + a b^T with FP8 or FP4 operands and fine-grained scale factors.

    a, b    pairs (values, factors), tuple or list. values: float8_e4m3fn [m, k] and [n, k], or int8
            [.., k / 2] with two FP4 codes a byte, even index low. factors: float32
            [ceil(mn / gran_mn), ceil(k / gran_k)], used as they are; or int32
            [.., ceil(k / (4 gran_k))], four UE8M0 exponents a word; any strides; None: all 1
    d       output [m, n] bfloat16 or float32, last stride 1
    c       [m, n] of d's type, may be d itself; None: d is overwritten
    recipe  (gran_m, gran_n, gran_k), or recipe_a and recipe_b as (gran_mn, gran_k). Without:
            (1, 128, 128), but (1, 1, 128) where b's factors are int32
    compiled_dims, disable_ue8m0_cast are accepted and change nothing.

    Raises TypeError (element types), ValueError (shapes, strides, factors), RuntimeError (device).

    >>> x = deep_gemm.per_token_cast_to_fp8(torch.randn(64, 256), use_ue8m0=False)
    >>> w = deep_gemm.per_block_cast_to_fp8(torch.randn(512, 256), use_ue8m0=False)
    >>> y = torch.empty(64, 512, dtype=torch.bfloat16)
    >>> deep_gemm.fp8_fp4_gemm_nt(x, w, y)
    """
    _fp8_fp4_gemm("fp8_fp4_gemm_nt", _NT, a, b, d, c, recipe, recipe_a, recipe_b)


def fp8_fp4_gemm_nn(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="nk",
                    disable_ue8m0_cast=False):
    """d = c + a b: as fp8_fp4_gemm_nt with b [k, n] and its factors [ceil(k / gran_k), ..]."""
    _fp8_fp4_gemm("fp8_fp4_gemm_nn", _NN_B, a, b, d, c, recipe, recipe_a, recipe_b)


def fp8_fp4_gemm_tn(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="mn",
                    disable_ue8m0_cast=False):
    """d = c + a^T b: as fp8_fp4_gemm_nt with a [k, m], b [k, n] and both factors transposed."""
    _fp8_fp4_gemm("fp8_fp4_gemm_tn", _TN_A | _NN_B, a, b, d, c, recipe, recipe_a, recipe_b)


def fp8_fp4_gemm_tt(a, b, d, c=None, recipe=None, recipe_a=None, recipe_b=None, compiled_dims="mn",
                    disable_ue8m0_cast=False):
    """d = c + a^T b^T: as fp8_fp4_gemm_nt with a [k, m] and its factors [ceil(k / gran_k), ..]."""
    _fp8_fp4_gemm("fp8_fp4_gemm_tt", _TN_A, a, b, d, c, recipe, recipe_a, recipe_b)


fp8_gemm_nt = fp8_fp4_gemm_nt
fp8_gemm_nn = fp8_fp4_gemm_nn
fp8_gemm_tn = fp8_fp4_gemm_tn
fp8_gemm_tt = fp8_fp4_gemm_tt


def fp8_gemm_nt_skip_head_mid(a, b, d, head_splits, recipe=None, compiled_dims="nk",
                              disable_ue8m0_cast=False):
    """d = a b^T with a gap in the middle of each head of its columns, which is left as it is.

    a, b         pairs as in fp8_fp4_gemm_nt, float8_e4m3fn
    head_splits  (left, mid, right): a head of the product has left + right columns, and in d mid
                 more between the two. Any numbers
    d            output [m, n + n / (left + right) * mid] bfloat16 or float32, last stride 1
    recipe, compiled_dims, disable_ue8m0_cast   as in fp8_fp4_gemm_nt

    >>> deep_gemm.fp8_gemm_nt_skip_head_mid(x, w, y, (128, 64, 128))
    """
    if tracing() or _native.gemm_skip_head_mid(a, b, d, head_splits, recipe) is NotImplemented:
        from . import _ops
        _ops.call("fp8_gemm_nt_skip_head_mid", a, b, d, head_splits, recipe)


def _bf16_gemm(name, transposed, a, b, d, c):
    if tracing() or _native.gemm(
            (a, None), (b, None), d, c, None, None, None, transposed) is NotImplemented:
        from . import _ops
        _ops.call(name, a, b, d, c)


def bf16_gemm_nt(a, b, d, c=None, compiled_dims="nk"):
    """d = c + a b^T for bfloat16 a [m, k], b [n, k], summed in FP32 and rounded once.

    d is [m, n] bfloat16 or float32; c of d's type, may be d itself. Errors as fp8_fp4_gemm_nt.

    >>> deep_gemm.bf16_gemm_nt(x, w, y)
    """
    _bf16_gemm("bf16_gemm_nt", _NT, a, b, d, c)


def bf16_gemm_nn(a, b, d, c=None, compiled_dims="nk"):
    """d = c + a b for a [m, k], b [k, n]; see bf16_gemm_nt."""
    _bf16_gemm("bf16_gemm_nn", _NN_B, a, b, d, c)


def bf16_gemm_tn(a, b, d, c=None, compiled_dims="mn"):
    """d = c + a^T b for a [k, m], b [k, n]; see bf16_gemm_nt."""
    _bf16_gemm("bf16_gemm_tn", _TN_A | _NN_B, a, b, d, c)


def bf16_gemm_tt(a, b, d, c=None, compiled_dims="mn"):
    """d = c + a^T b^T for a [k, m], b [n, k]; see bf16_gemm_nt."""
    _bf16_gemm("bf16_gemm_tt", _TN_A, a, b, d, c)
