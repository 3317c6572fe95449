# SPDX-License-Identifier: MIT
"""Operands on the GPU with what they stand for in float64, guarded outputs, and the bounds.

Nothing here uses the package: values are quantised with torch, products are float64 by torch.
"""
import dataclasses

import torch

FP8_ERROR = 2.0**-10   # of the sum of |a b|: what Hopper's tensor cores lose in a block of 128 k
BF16_ERROR = 2.0**-20
ROUNDING = {torch.bfloat16: 2.0**-8, torch.float32: 2.0**-23}
POISON = float("nan")


@dataclasses.dataclass
class Operand:
    data: torch.Tensor    # as the call gets it
    scale: torch.Tensor   # or None
    values: torch.Tensor  # float64 [.., mn, k]

    @property
    def pair(self):
        return self.data, self.scale

    def cpu(self):
        scale = None if self.scale is None else self.scale.cpu()
        return self.data.cpu(), scale


def spread(scale, gran_mn, gran_k, mn, k):
    wide = scale.double().repeat_interleave(gran_mn, -2)[..., :mn, :]
    return wide.repeat_interleave(gran_k, -1)[..., :k]


def ceil_div(a, b):
    return -(-a // b)


def random_codes(gen, shape, exact):
    """Values that FP8 holds; with `exact` small integers, whose products sum without rounding."""
    if exact:
        return torch.randint(-3, 4, shape, generator=gen, device="cuda").float()
    return torch.randn(shape, generator=gen, device="cuda") * 30


def fp8(gen, shape, gran_mn=1, gran_k=128, scaled=True, exact=False):
    """[.., mn, k] FP8 with factors [.., ceil(mn / gran_mn), ceil(k / gran_k)]."""
    *lead, mn, k = shape
    data = random_codes(gen, shape, exact).to(torch.float8_e4m3fn)
    scale, values = None, data.double()
    if scaled:
        blocks = (*lead, ceil_div(mn, gran_mn), ceil_div(k, gran_k))
        if exact:
            scale = torch.exp2(torch.randint(-2, 3, blocks, generator=gen, device="cuda").float())
        else:
            scale = torch.rand(blocks, generator=gen, device="cuda") * 0.02 + 0.001
        values = values * spread(scale, gran_mn, gran_k, mn, k)
    return Operand(data, scale, values)


def bf16(gen, shape, exact=False):
    data = random_codes(gen, shape, exact).to(torch.bfloat16)
    return Operand(data, None, data.double())


class Output:
    """A poisoned d inside a larger poisoned buffer, of which nothing else may change.

    pitch: elements from row to row; before: elements in front of the first row.
    """

    def __init__(self, shape, dtype, pitch=None, before=64):
        *lead, m, n = shape
        pitch = n if pitch is None else pitch
        rows = m
        for extent in lead:
            rows *= extent
        self.buffer = torch.full((before + rows * pitch + 64,), POISON, dtype=dtype, device="cuda")
        strides = [pitch, 1]
        for extent in reversed([*lead[1:], m] if lead else []):
            strides.insert(0, strides[0] * extent)
        self.d = self.buffer.as_strided(shape, strides, before)

    def check_outside(self):
        outside = self.buffer.clone()
        outside.as_strided(self.d.shape, self.d.stride(), self.d.storage_offset()).fill_(POISON)
        assert torch.isnan(outside).all(), "wrote outside of d"


def product(a, b):
    """a b^T and the sum of absolute products, [.., m, k] and [.., n, k] float64."""
    bt = b.transpose(-1, -2)
    return a @ bt, a.abs() @ bt.abs()


def check(d, expected, magnitude, error):
    """Asserts |d - expected| within one rounding of d's type and `error` of the magnitude."""
    actual = d.double()
    excess = (actual - expected).abs() - ROUNDING[d.dtype] * expected.abs() - error * magnitude
    bad = ~(excess <= 0)
    if bad.any():
        worst = torch.where(torch.isnan(excess), torch.inf, excess).flatten().argmax()
        index = tuple(int(i) for i in torch.unravel_index(worst, actual.shape))
        raise AssertionError(
            f"{int(bad.sum())} of {actual.numel()} wrong; at {index}: {float(actual[index])}, "
            f"expected {float(expected[index])}, magnitude {float(magnitude[index])}")


def same_bits(x, y):
    kind = {2: torch.int16, 4: torch.int32}[x.element_size()]
    return torch.equal(x.contiguous().view(kind), y.contiguous().view(kind))
