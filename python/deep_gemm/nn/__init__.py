# SPDX-License-Identifier: MIT
"""Layers for training in FP8: deep_gemm.nn.Linear, GroupedLinear and MoE.

Forward, data gradient and weight gradient are FP8 products; master weights stay what the optimiser
wants. Every cast writes the layout that its product reads: nothing is transposed on the way. Where
a weight has an FP32 attribute `main_grad`, the weight gradient is added to it in place and `.grad`
stays empty. permute and unpermute are those of deep_gemm with their gradients.
"""
from .grouped_linear import GroupedLinear
from .linear import Linear
from .moe import MoE
from .permute import permute, unpermute

__all__ = ["GroupedLinear", "Linear", "MoE", "permute", "unpermute"]
