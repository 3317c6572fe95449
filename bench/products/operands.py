# SPDX-License-Identifier: MIT
"""Random operands for cases: normal values, cast to FP8 in plain torch so that no result of the package
under test goes into its own timing. Called by families.py and random_shapes.py."""
import torch

BLOCK = 128


def normal(scope, *shape):
    return torch.randn(shape, device=scope.device, generator=scope.generator)


def bf16(scope, *shape):
    return normal(scope, *shape).bfloat16()


def fp8(scope, shape, gran_mn=1):
    """(codes [.., mn, k], factors [.., ceil(mn / gran_mn), ceil(k / 128)]), amax / 448 for each block."""
    mn, k = shape[-2:]
    rows, blocks = -(-mn // gran_mn), -(-k // BLOCK)
    x = normal(scope, *shape)
    padded = torch.nn.functional.pad(x, (0, blocks * BLOCK - k, 0, rows * gran_mn - mn))
    tiles = padded.view(*shape[:-2], rows, gran_mn, blocks, BLOCK)
    scale = tiles.abs().amax((-3, -1)).clamp(1e-4) / 448
    data = (tiles / scale[..., :, None, :, None]).view(padded.shape)[..., :mn, :k]
    return data.contiguous().to(torch.float8_e4m3fn), scale


def turned(pair):
    """The pair stored the other way round: codes [.., k, mn], factors likewise."""
    return tuple(x.transpose(-1, -2).contiguous() for x in pair)


def mn_major(scale):
    """The same factors with mn contiguous, as get_mn_major_tma_aligned_tensor leaves them."""
    mn, blocks = scale.shape[-2:]
    out = torch.zeros(*scale.shape[:-2], blocks, -(-mn // 4) * 4, device=scale.device)
    out[..., :mn] = scale.transpose(-1, -2)
    return out.transpose(-1, -2)[..., :mn, :]


def activations(scope, *shape):
    """FP8 with 1 x 128 factors in the layout that kernels like best."""
    data, scale = fp8(scope, shape)
    return data, mn_major(scale)


def uneven(scope, groups, mean, multiple=128):
    """`groups` sizes, 0.7 to 1.3 times their mean, multiples of `multiple`."""
    rolls = torch.rand(groups, generator=scope.host) * 0.6 + 0.7
    return [max(multiple, int(roll * mean) // multiple * multiple) for roll in rolls]


def int32(scope, values):
    return torch.tensor(values, dtype=torch.int32, device=scope.device)
