# SPDX-License-Identifier: MIT
"""One linear layer for each expert of a mixture of experts, all in one product."""
import math

import torch

from ..grouped import m_grouped_fp8_fp4_gemm_nn_contiguous, m_grouped_fp8_fp4_gemm_nt_contiguous
from ..k_grouped import k_grouped_bf16_gemm_tn_contiguous, k_grouped_fp8_gemm_tn_contiguous
from .cast import cast_tokens, cast_weight, readable
from .gradient import check_wgrad, weight_gradient


class _GroupedProduct(torch.autograd.Function):
    """y[tokens of g] = x[tokens of g] w[g]^T for x [t, k], w [G, n, k]; both gradients."""

    @staticmethod
    def forward(ctx, x, weight, sizes, wgrad):
        codes, scale, by_channel, channel_scale = cast_tokens(x, sizes)
        weight_codes, weight_scale = cast_weight(weight)
        y = x.new_zeros((x.shape[0], weight.shape[1]))
        m_grouped_fp8_fp4_gemm_nt_contiguous((codes, scale), (weight_codes, weight_scale), y, sizes,
                                             recipe=(1, 128, 128), layout="sizes")
        kept = (by_channel, channel_scale) if wgrad == "fp8" else (x.to(torch.bfloat16), None)
        ctx.save_for_backward(*kept, weight_codes, weight_scale, sizes)
        ctx.weight = weight  # itself: what autograd saves may come back as a copy without main_grad
        return y

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, x_scale, weight_codes, weight_scale, sizes = ctx.saved_tensors
        dy = readable(dy)
        codes, scale, by_channel, channel_scale = cast_tokens(dy, sizes)
        dx = dw = None
        if ctx.needs_input_grad[0]:
            dx = dy.new_zeros((dy.shape[0], weight_codes.shape[2]))
            m_grouped_fp8_fp4_gemm_nn_contiguous((codes, scale), (weight_codes, weight_scale), dx,
                                                 sizes, recipe=(1, 128, 128), layout="sizes")
        if ctx.needs_input_grad[1]:
            def product(d, c):
                if x_scale is None:
                    k_grouped_bf16_gemm_tn_contiguous(dy.to(torch.bfloat16), x, d, None, sizes, c)
                else:
                    k_grouped_fp8_gemm_tn_contiguous((by_channel, channel_scale), (x, x_scale), d,
                                                     None, sizes, c)
            dw = weight_gradient(ctx.weight, product)
        return dx, dw, None, None


class _AddBias(torch.autograd.Function):
    """y[tokens of g] + bias[g] for y [t, n], bias [G, n]; other rows stay as they are."""

    @staticmethod
    def forward(ctx, y, bias, sizes):
        ctx.save_for_backward(sizes)
        ctx.bias = bias
        group = torch.bucketize(torch.arange(y.shape[0], device=y.device), sizes.cumsum(0),
                                right=True)
        rows = torch.cat([bias, bias.new_zeros(1, bias.shape[1])]).to(y.dtype)
        return y + rows[group]

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        sizes, = ctx.saved_tensors
        dbias = None
        if ctx.needs_input_grad[1]:
            dy16 = dy.to(torch.bfloat16)
            ones = dy16.new_ones((dy.shape[0], 1))

            def product(d, c):  # the sum over a group's tokens is a weight gradient of ones
                d, c = (None if x is None else x.unsqueeze(1) for x in (d, c))
                k_grouped_bf16_gemm_tn_contiguous(ones, dy16, d, None, sizes, c)
            dbias = weight_gradient(ctx.bias, product)
        return dy, dbias, None


class GroupedLinear(torch.nn.Module):
    """y = x W_g^T + bias_g for tokens sorted by expert g, in FP8.

    num_groups, in_features, out_features   G experts with weight [G, out_features, in_features]
    wgrad   "fp8", or "bfloat16" for a weight gradient from unquantised activations
    bias    whether there is one, [G, out_features]; its gradient is summed in FP32 from BF16

    >>> experts = deep_gemm.nn.GroupedLinear(8, 1024, 4096, dtype=torch.bfloat16)
    >>> y = experts(tokens_by_expert, tokens_of_expert)
    """

    def __init__(self, num_groups, in_features, out_features, device=None, dtype=None, *,
                 wgrad="fp8", bias=False):
        super().__init__()
        self.num_groups, self.in_features, self.out_features = num_groups, in_features, out_features
        self.wgrad = check_wgrad(wgrad)
        self.weight = torch.nn.Parameter(
            torch.empty(num_groups, out_features, in_features, device=device, dtype=dtype))
        self.register_parameter("bias", torch.nn.Parameter(
            torch.empty(num_groups, out_features, device=device, dtype=dtype)) if bias else None)
        self.reset_parameters()

    def reset_parameters(self):
        """Each expert as torch.nn.Linear starts."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        torch.nn.init.uniform_(self.weight, -bound, bound)
        if self.bias is not None:
            torch.nn.init.uniform_(self.bias, -bound, bound)

    def forward(self, x, sizes):
        """x [tokens, in_features], sorted by expert; sizes int32 or int64 [G], on x's device and
        never read by the host for GPU tensors. Experts may have no token; rows behind the last
        group give zeros and get zeros as gradient. Returns [tokens, out_features] of x's type."""
        y = _GroupedProduct.apply(readable(x), self.weight, sizes, self.wgrad)
        return y if self.bias is None else _AddBias.apply(y, self.bias, sizes)

    def extra_repr(self):
        return (f"{self.num_groups}, {self.in_features}, {self.out_features}, "
                f"bias={self.bias is not None}, wgrad={self.wgrad}")
