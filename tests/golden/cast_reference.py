# SPDX-License-Identifier: MIT
"""The arithmetic of the casts, written with PyTorch tensor operations on the CPU.

Independent of the library: blocks are made by padding and reshaping, never by index arithmetic.
make_cast_golden.py stores its results as golden vectors; check_cast_against_torch.py compares the
library with it on larger inputs.
"""
import torch


def ceil_div(a, b):
    return -(-a // b)


def to_blocks(x, gran):
    """x padded with zeros, every axis split in (blocks, gran)."""
    padded = [ceil_div(n, g) * g for n, g in zip(x.shape, gran)]
    full = torch.zeros(padded, dtype=x.dtype)
    full[tuple(slice(0, n) for n in x.shape)] = x
    split = [e for n, g in zip(padded, gran) for e in (n // g, g)]
    return full.view(split)


def from_blocks(blocks, shape):
    full = blocks.reshape([blocks.shape[i] * blocks.shape[i + 1] for i in range(0, blocks.dim(), 2)])
    return full[tuple(slice(0, n) for n in shape)].contiguous()


def round_up_to_power_of_two(factor):
    bits = factor.abs().view(torch.int32)
    exponent = ((bits >> 23) & 0xFF) + ((bits & 0x7FFFFF) != 0).int()
    return (exponent.clamp(1, 254) << 23).view(torch.float32)


def encode_e4m3(v):
    """Nearest even; NaN (0x7F) beyond 464. PyTorch up to 2.12 does the same; later ones saturate."""
    codes = v.to(torch.float8_e4m3fn).view(torch.uint8)
    return torch.where(v.abs() <= 464.0, codes, torch.full_like(codes, 0x7F))


def encode_e2m1(v):
    magnitude = v.abs()
    code = torch.zeros(v.shape, dtype=torch.uint8)
    for boundary in (0.25, 0.75, 1.25, 1.75, 2.5, 3.5, 5.0):
        code += (magnitude > boundary).to(torch.uint8)
    return code | (((v < 0) & (code != 0)).to(torch.uint8) << 3)


def quantize(x, gran, fp4=False, power_of_two=False):
    """Codes of x's shape, one a byte, and FP32 factors [ceil(n / gran) ...]. gran 0: whole axis."""
    gran = [g if g > 0 else n for g, n in zip(gran, x.shape)]
    blocks = to_blocks(x, gran)
    inner = tuple(range(1, blocks.dim(), 2))
    amax = blocks.abs().float().amax(dim=inner, keepdim=True).clamp(1e-4)
    factor = amax / (6.0 if fp4 else 448.0)
    if power_of_two:
        factor = round_up_to_power_of_two(factor)
    scaled = blocks * (1.0 / factor)
    assert scaled.dtype == torch.float32
    codes = encode_e2m1(scaled) if fp4 else encode_e4m3(scaled)
    return from_blocks(codes, x.shape), factor.reshape([factor.shape[i] for i in range(0, factor.dim(), 2)])


def quantize_groups(x, sizes, gran, fp4=False, power_of_two=False):
    """Rows in groups of the given sizes, blocks never across two; rows past the last left out."""
    parts, begin = [], 0
    for size in sizes:
        if size > 0:
            parts.append(quantize(x[begin:begin + size], gran, fp4, power_of_two))
        begin += size
    codes = torch.cat([p[0] for p in parts]) if parts else torch.zeros((0, x.shape[1]), dtype=torch.uint8)
    return codes, [p[1] for p in parts]


def pack_pairs(codes, axis):
    """Two codes a byte along axis, the even index in the low nibble."""
    codes = codes.movedim(axis, -1)
    pairs = codes[..., 0::2] | (codes[..., 1::2] << 4)
    return pairs.movedim(-1, axis).contiguous()


def exponents(factor):
    return ((factor.view(torch.int32) >> 23) & 0xFF).to(torch.uint8)


def pack_words(factor, axis):
    """Four exponents a word along axis, the lowest index in the lowest byte, zeros at the end."""
    e = exponents(factor).movedim(axis, -1)
    padded = torch.zeros(list(e.shape[:-1]) + [ceil_div(e.shape[-1], 4) * 4], dtype=torch.uint8)
    padded[..., :e.shape[-1]] = e
    return padded.contiguous().view(torch.int32).movedim(-1, axis).contiguous()


def adversarial(shape, kind, dtype, generator):
    """Inputs of one kind: normal, subnormal, huge, special, zero, tie, bits."""
    x = torch.randn(shape, generator=generator)
    flat = x.view(-1)
    pick = lambda n: torch.randint(flat.numel(), (n,), generator=generator)
    if kind == "subnormal":
        x *= 1e-39
    elif kind == "tiny":  # around the least magnitude that a factor is made for
        x *= 1e-4
    elif kind == "huge":
        x *= 1e38
        flat[pick(3)] = 3.3e38
    elif kind == "special":
        for value in (float("nan"), float("-inf"), float("inf"), -float("nan"), -0.0, 1e-45, 3.4e38):
            flat[pick(2)] = value
    elif kind == "zero":
        x *= 0.0
    elif kind == "tie":  # the largest magnitude makes the factor 1, the others lie on midpoints
        grid = torch.arange(-448 * 32, 448 * 32 + 1).float() / 32
        x = grid[torch.randint(grid.numel(), shape, generator=generator)]
        x[..., ::16] = 448.0
    elif kind == "tie4":
        grid = torch.arange(-24, 25).float() / 4
        x = grid[torch.randint(grid.numel(), shape, generator=generator)]
        x[..., ::16] = 6.0
    elif kind == "bits":  # any bit pattern
        x = torch.randint(-2**31, 2**31, shape, generator=generator).to(torch.int32).view(torch.float32)
    elif kind == "spread":  # every row of another magnitude
        x *= torch.exp2(torch.randint(-40, 40, (shape[0],) + (1,) * (len(shape) - 1), generator=generator).float())
    return x.to(dtype)
