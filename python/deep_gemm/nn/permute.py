# SPDX-License-Identifier: MIT
"""permute and unpermute of deep_gemm.moe with their gradients."""
import torch

from .. import moe


class _Permute(torch.autograd.Function):
    """rows[row of slot s of token t] = x[t]; backward sums the rows of each token."""

    @staticmethod
    def forward(ctx, x, rows, sources):
        ctx.save_for_backward(rows)
        return moe.permute(x, moe.Routing(None, None, rows, sources, None))

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dout):
        rows, = ctx.saved_tensors
        return moe.unpermute(dout, moe.Routing(None, None, rows, None, None)), None, None


class _Unpermute(torch.autograd.Function):
    """y[t] = sum over s of weights[t, s] x[row of slot s of t]; both gradients."""

    @staticmethod
    def forward(ctx, x, weights, rows, sources):
        ctx.save_for_backward(x if weights is not None and weights.requires_grad else None, weights,
                              rows, sources)
        ctx.dtype = x.dtype
        return moe.unpermute(x, moe.Routing(None, None, rows, sources, None), weights)

    @staticmethod
    @torch.autograd.function.once_differentiable
    def backward(ctx, dy):
        x, weights, rows, sources = ctx.saved_tensors
        routing = moe.Routing(None, None, rows, sources, None)
        dx = dweights = None
        if ctx.needs_input_grad[0]:
            dx = moe.permute(dy.to(ctx.dtype), routing, weights)
        if x is not None:
            dweights = moe.dot_rows(dy, x, routing).to(weights.dtype)
        return dx, dweights, None, None


def permute(x, routing):
    """deep_gemm.permute(x, routing) for x [tokens, n] bfloat16 or float32, with its gradient."""
    return _Permute.apply(x, routing.rows, routing.sources)


def unpermute(x, routing, weights=None):
    """deep_gemm.unpermute(x, routing, weights) with the gradients of x and of weights."""
    return _Unpermute.apply(x, weights, routing.rows, routing.sources)
