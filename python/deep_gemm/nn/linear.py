# SPDX-License-Identifier: MIT
"""torch.nn.Linear with FP8 products."""
import torch

from ..gemm import bf16_gemm_tn, fp8_fp4_gemm_nn, fp8_fp4_gemm_nt, fp8_fp4_gemm_tn
from .cast import cast_tokens, cast_weight, readable
from .gradient import check_wgrad, weight_gradient


class _Product(torch.autograd.Function):
    """y = x w^T for x [t, k], w [n, k]; both gradients."""

    @staticmethod
    def forward(ctx, x, weight, wgrad):
        codes, scale, by_channel, channel_scale = cast_tokens(x)
        weight_codes, weight_scale = cast_weight(weight)
        y = x.new_empty((x.shape[0], weight.shape[0]))
        fp8_fp4_gemm_nt((codes, scale), (weight_codes, weight_scale), y, recipe=(1, 128, 128))
        kept = (by_channel, channel_scale) if wgrad == "fp8" else (x.to(torch.bfloat16), None)
        ctx.save_for_backward(*kept, weight_codes, weight_scale)
        ctx.weight = weight  # itself: what autograd saves may come back as a copy without main_grad
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, x_scale, weight_codes, weight_scale = ctx.saved_tensors
        dy = readable(dy)
        codes, scale, by_channel, channel_scale = cast_tokens(dy)
        dx = dw = None
        if ctx.needs_input_grad[0]:
            dx = dy.new_empty((dy.shape[0], weight_codes.shape[1]))
            fp8_fp4_gemm_nn((codes, scale), (weight_codes, weight_scale), dx,
                            recipe=(1, 128, 128))
        if ctx.needs_input_grad[1]:
            def product(d, c):
                if x_scale is None:
                    bf16_gemm_tn(dy.to(torch.bfloat16), x, d, c)
                else:
                    fp8_fp4_gemm_tn((by_channel, channel_scale), (x, x_scale), d, c,
                                    recipe=(1, 1, 128))
            dw = weight_gradient(ctx.weight, product)
        return dx, dw, None


class Linear(torch.nn.Linear):
    """y = x W^T + bias in FP8: a torch.nn.Linear with the same parameters and state.

    in_features, out_features, bias, device, dtype   as torch.nn.Linear, float32 or bfloat16; any
            extents, whatever their divisors
    wgrad   "fp8", or "bfloat16" for a weight gradient from unquantised activations

    Activations get one factor for each token and 128 channels, weights one for 128 x 128, the
    weight gradient's operands one for each channel and 128 tokens.

    >>> layer = deep_gemm.nn.Linear(1024, 4096, bias=False, dtype=torch.bfloat16)
    >>> layer(torch.randn(8, 1024, dtype=torch.bfloat16)).sum().backward()
    """

    def __init__(self, in_features, out_features, bias=True, device=None, dtype=None, *,
                 wgrad="fp8"):
        super().__init__(in_features, out_features, bias, device, dtype)
        self.wgrad = check_wgrad(wgrad)

    def forward(self, x):
        """x [.., in_features] -> [.., out_features] of x's type."""
        flat = readable(x).reshape(-1, self.in_features)
        y = _Product.apply(flat, self.weight, self.wgrad)
        if self.bias is not None:
            y = y + self.bias.to(y.dtype)
        return y.view(*x.shape[:-1], self.out_features)

    def extra_repr(self):
        return f"{super().extra_repr()}, wgrad={self.wgrad}"
