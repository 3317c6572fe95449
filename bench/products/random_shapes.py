# SPDX-License-Identifier: MIT
"""Dense products of shapes drawn at random, judged against cuBLASLt and torch: what a library is worth
away from the shapes that it was tuned for. See families.py; report.py judges."""
import random

import torch

from . import peers
from .case import Buffers, Case
from .families import bf16_case, family, output
from .operands import activations, fp8

ALIGNED_SEED, ODD_SEED = 20261130, 20261201


def log_uniform(rng, high, multiple=1):
    """A multiple of `multiple` up to `high`, its logarithm spread evenly."""
    return min(max(1, round((high / multiple) ** rng.random())), high // multiple) * multiple


def draw(seed, count, high, multiples):
    """`count` shapes (m, n, k) up to `high`, multiples of `multiples`."""
    rng = random.Random(seed)
    return [tuple(log_uniform(rng, high, multiple) for multiple in multiples)
            for _ in range(count)]


def fp8_case(scope, m, n, k):
    def make():
        a, b, d = activations(scope, m, k), fp8(scope, (n, k), 128), output(scope, m, n)
        return Buffers(lambda dg: dg.fp8_gemm_nt(a, b, d),
                       {"a": a[0], "sfa": a[1], "b": b[0], "sfb": b[1], "d": d},
                       lambda: {"cublaslt_blockwise": peers.scaled_mm_blocks(a, b),
                        "cublaslt": peers.cublaslt("nt", a[0], b[0], d),
                        "torch_bf16": peers.torch_bf16(scope, m, n, k)})
    return Case(f"fp8 {m}x{n}x{k}", "fp8", 2 * m * n * k, make)


def both(scope, seed, multiples):
    for m, n, k in draw(seed, scope.count, scope.pick(16384, 96), multiples):
        yield fp8_case(scope, m, n, k)
        yield bf16_case(scope, "nt", m, n, k, torch.bfloat16, False)


@family
def random_aligned(scope):
    """200 log-uniform shapes up to 16384, m a multiple of 4, n and k of 16 (seed 20261130), FP8 and BF16
    NT. Goal: cuBLASLt or torch / ours. bytes = a + sfa + b + sfb + d"""
    yield from both(scope, ALIGNED_SEED, (4, 16, 16))


@family
def random_odd(scope):
    """200 log-uniform shapes from 1 to 16384, any m, n and k, odd ones included (seed 20261201), FP8 and
    BF16 NT. bytes = a + sfa + b + sfb + d"""
    yield from both(scope, ODD_SEED, (1, 1, 1))
