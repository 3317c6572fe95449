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


class GroupedLinear(torch.nn.Module):
    """y = x W_g^T for tokens sorted by expert g, in FP8.

    num_groups, in_features, out_features   G experts with weight [G, out_features, in_features]
    wgrad   "fp8", or "bfloat16" for a weight gradient from unquantised activations

    >>> experts = deep_gemm.nn.GroupedLinear(8, 1024, 4096, dtype=torch.bfloat16)
    >>> y = experts(tokens_by_expert, tokens_of_expert)
    """

    def __init__(self, num_groups, in_features, out_features, device=None, dtype=None, *,
                 wgrad="fp8"):
        super().__init__()
        self.num_groups, self.in_features, self.out_features = num_groups, in_features, out_features
        self.wgrad = check_wgrad(wgrad)
        self.weight = torch.nn.Parameter(
            torch.empty(num_groups, out_features, in_features, device=device, dtype=dtype))
        self.reset_parameters()

    def reset_parameters(self):
        """Each expert as torch.nn.Linear starts."""
        bound = 1 / math.sqrt(self.in_features) if self.in_features > 0 else 0
        torch.nn.init.uniform_(self.weight, -bound, bound)

    def forward(self, x, sizes):
        """x [tokens, in_features], sorted by expert; sizes int32 or int64 [G], on x's device and
        never read by the host for GPU tensors. Experts may have no token; rows behind the last
        group give zeros and get zeros as gradient. Returns [tokens, out_features] of x's type."""
        return _GroupedProduct.apply(readable(x), self.weight, sizes, self.wgrad)

    def extra_repr(self):
        return f"{self.num_groups}, {self.in_features}, {self.out_features}, wgrad={self.wgrad}"
