# SPDX-License-Identifier: MIT
"""The feed-forward layer of a mixture of experts, from a router's choice to the weighted sum."""
import torch

from ..moe import route_tokens
from .cast import readable
from .grouped_linear import GroupedLinear
from .permute import permute, unpermute


class MoE(torch.nn.Module):
    """y[t] = sum over s of weights[t, s] E(x[t]) with E expert ids[t, s], each a SwiGLU layer in
    FP8: E(x) = down(silu(gate(x)) * up(x)).

    num_experts, hidden, intermediate   gate and up are one matrix, [G, 2 intermediate, hidden];
            down is [G, hidden, intermediate]
    wgrad   as GroupedLinear has it

    Weights multiply the sum's terms behind `down`, in float32. All steps are deterministic, and
    none waits for a GPU.

    >>> layer = deep_gemm.nn.MoE(8, 1024, 2048, dtype=torch.bfloat16)
    >>> weights, ids = torch.topk(router(x).softmax(-1), 2)
    >>> y = layer(x, ids, weights)
    """

    def __init__(self, num_experts, hidden, intermediate, device=None, dtype=None, *, wgrad="fp8"):
        super().__init__()
        self.num_experts = num_experts
        self.gate_up = GroupedLinear(num_experts, hidden, 2 * intermediate, device, dtype,
                                     wgrad=wgrad)
        self.down = GroupedLinear(num_experts, intermediate, hidden, device, dtype, wgrad=wgrad)

    def forward(self, x, ids, weights):
        """x [tokens, hidden]; ids int32 or int64 [tokens, topk], negative: none; weights [tokens,
        topk]. Returns [tokens, hidden] of x's type, under autocast of autocast's."""
        routing = route_tokens(ids, self.num_experts)
        gate, up = self.gate_up(permute(readable(x), routing), routing.counts).chunk(2, -1)
        rows = self.down(torch.nn.functional.silu(gate) * up, routing.counts)
        y = unpermute(rows, routing, weights)
        return y if torch.is_autocast_enabled(x.device.type) else y.to(x.dtype)
