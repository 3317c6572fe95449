# SPDX-License-Identifier: MIT
"""Writes cast.golden, the golden vectors that tests/cpu/test_cast_golden.c reads.

    python3 tests/golden/make_cast_golden.py        # needs torch; the result was made with 2.13.0

The file is a sequence of cases, each of little-endian int32
    x dtype, data dtype, scale dtype (numbers of dg_dtype_t), rank, shape[4], gran[4], power_of_two,
    k_axis, pair axis (-1: none), number of groups (-1: not grouped), group sizes ...
    bytes of x, of data, of scale
followed by those three, dense and row-major, each padded to a multiple of 4 bytes.
"""
import os
import struct

import torch

import cast_reference as ref

F32, BF16, E4M3, E2M1X2, E8M0, I32 = 5, 4, 1, 2, 3, 6
DTYPES = {F32: torch.float32, BF16: torch.bfloat16}


def as_bytes(t):
    raw = t.contiguous().view(torch.uint8).numpy().tobytes() if t.numel() else b""
    return raw + b"\0" * (-len(raw) % 4), len(raw)


def form_scale(factors, dtype, axis):
    if dtype == F32:
        return factors
    return ref.exponents(factors) if dtype == E8M0 else ref.pack_words(factors, axis)


def make_case(shape, gran, kind, x_dtype=F32, data_dtype=E4M3, scale_dtype=F32, power_of_two=False,
              k_first=False, pair_axis=-1, sizes=None, seed=0):
    generator = torch.Generator().manual_seed(seed)
    x = ref.adversarial(shape, kind, DTYPES[x_dtype], generator)
    fp4 = data_dtype == E2M1X2
    pow2 = power_of_two or scale_dtype != F32
    axis = 0 if k_first else len(shape) - 1
    if sizes is None:
        codes, factors = ref.quantize(x, gran, fp4, pow2)
        scale = form_scale(factors, scale_dtype, axis)
    else:
        codes, parts = ref.quantize_groups(x, sizes, gran, fp4, pow2)
        scale = torch.cat([form_scale(p, scale_dtype, axis) for p in parts])
    data = ref.pack_pairs(codes, pair_axis % len(shape)) if fp4 else codes
    head = [x_dtype, data_dtype, scale_dtype, len(shape)]
    head += list(shape) + [1] * (4 - len(shape)) + list(gran) + [0] * (4 - len(gran))
    head += [int(power_of_two), int(k_first), pair_axis % len(shape) if fp4 else -1]
    head += [-1] if sizes is None else [len(sizes)] + list(sizes)
    blobs = [as_bytes(t) for t in (x, data, scale)]
    head += [size for _, size in blobs]
    return struct.pack("<%di" % len(head), *head) + b"".join(raw for raw, _ in blobs)


def cases():
    seed = 0
    kinds = ("normal", "subnormal", "tiny", "huge", "special", "zero", "tie", "bits", "spread")
    for kind in kinds:  # per token, both input types, exact and power-of-two factors
        for x_dtype in (F32, BF16):
            for scale_dtype in (F32, I32):
                seed += 1
                yield make_case((3, 261), (1, 128), kind, x_dtype, scale_dtype=scale_dtype, seed=seed)
    for gran in ((1, 32), (128, 1), (32, 1), (128, 128), (32, 32), (0, 1), (1, 0), (0, 0), (3, 5)):
        for x_dtype in (F32, BF16):
            seed += 1
            yield make_case((33, 34), gran, "spread", x_dtype, seed=seed)
            yield make_case((33, 34), gran, "special", x_dtype, scale_dtype=E8M0, seed=seed)
    for kind in ("normal", "tie4", "special", "subnormal", "bits"):
        for gran, pair_axis in (((1, 32), 1), ((1, 128), 1), ((32, 1), 0), ((32, 32), 0)):
            seed += 1
            yield make_case((34, 36), gran, kind, BF16, E2M1X2, I32 if seed % 2 else F32,
                            k_first=pair_axis == 0, pair_axis=pair_axis, seed=seed)
    for shape, gran in (((77,), (32,)), ((3, 5, 40), (1, 0, 32)), ((2, 3, 5, 33), (0, 1, 2, 32)),
                        ((2, 40, 33), (1, 32, 32))):
        seed += 1
        yield make_case(shape, gran, "normal", BF16, seed=seed)
        yield make_case(shape, gran, "huge", F32, scale_dtype=I32, seed=seed)
    for sizes in ((0, 5, 33, 1, 0, 32, 7), (64,), (1, 1, 1)):  # groups: blocks end where they end
        for scale_dtype in (F32, I32, E8M0):
            seed += 1
            yield make_case((80, 9), (32, 1), "spread", BF16, scale_dtype=scale_dtype,
                            k_first=True, sizes=sizes, seed=seed)
            yield make_case((80, 9), (32, 8), "normal", F32, scale_dtype=scale_dtype,
                            sizes=sizes, seed=seed)


if __name__ == "__main__":
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "cast.golden")
    blob = b"".join(cases())
    with open(path, "wb") as out:
        out.write(blob)
    print(path, len(blob), "bytes")
