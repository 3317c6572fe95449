# SPDX-License-Identifier: MIT
"""The casts of a training step, as operators of torch so that graphs can hold them."""
import torch

from .. import _native, _ops
from .._groups import SIZES

GRAN = 128
_LAST = 0


def _cast_tokens(x, sizes=None):
    """x [t, n] in both directions by one pass over it.

    Returns (codes, factors [t, ceil(n / 128)], codes, factors [rows, n]): per token for a product
    over n, per channel for one over tokens. With `sizes` [G] blocks of tokens end with their group,
    and rows is the most that so many groups can need.
    """
    t, n = x.shape
    rows = (t + GRAN - 1) // GRAN if sizes is None else (t + (GRAN - 1) * sizes.shape[0]) // GRAN
    by_token, by_channel = (torch.empty_like(x, dtype=torch.float8_e4m3fn,
                                             memory_format=torch.contiguous_format)
                            for _ in range(2))
    token_scale = x.new_empty((t, (n + GRAN - 1) // GRAN), dtype=torch.float32)
    channel_scale = x.new_empty((rows, n), dtype=torch.float32)
    groups = None if sizes is None else (SIZES, sizes, 0, None)
    _native.quantize(x, (by_token, token_scale, (1, GRAN), False, _LAST),
                     (by_channel, channel_scale, (GRAN, 1), False, _LAST), groups)
    return by_token, token_scale, by_channel, channel_scale


def _cast_weight(weight):
    """(codes, factors) of weight [n, k] or [G, n, k] in blocks of 128 x 128."""
    gran = (1,) * (weight.dim() - 2) + (GRAN, GRAN)
    shape = [(extent + g - 1) // g for extent, g in zip(weight.shape, gran)]
    codes = torch.empty_like(weight, dtype=torch.float8_e4m3fn,
                             memory_format=torch.contiguous_format)
    scale = weight.new_empty(shape, dtype=torch.float32)
    _native.quantize(weight, (codes, scale, gran, False, _LAST), None, None)
    return codes, scale


_ops._register("cast_tokens", "Tensor x, Tensor? sizes=None) -> (Tensor, Tensor, Tensor, Tensor)",
               _cast_tokens, _cast_tokens)
_ops._register("cast_weight", "Tensor weight) -> (Tensor, Tensor)", _cast_weight, _cast_weight)


def cast_tokens(x, sizes=None):
    """_cast_tokens, as an operator while a graph is traced."""
    run = torch.ops.deep_gemm.cast_tokens if torch.compiler.is_compiling() else _cast_tokens
    return run(x, sizes)


def cast_weight(weight):
    """_cast_weight, as an operator while a graph is traced."""
    run = torch.ops.deep_gemm.cast_weight if torch.compiler.is_compiling() else _cast_weight
    return run(weight)


def readable(x):
    """x as the casts take it: bfloat16 or float32, under autocast its type."""
    if torch.is_autocast_enabled(x.device.type):
        x = x.to(torch.get_autocast_dtype(x.device.type))
    return x if x.dtype in (torch.bfloat16, torch.float32) else x.float()
