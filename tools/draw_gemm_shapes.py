#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws products at random, for `deepgemm tune --file`: extents log-uniform, kinds in turn.

    python3 tools/draw_gemm_shapes.py --count 60 --seed 1 > shapes.json

Kinds: FP8 with 1 x 128 and 128 x 128 factors, BF16 in two layouts, weight gradients in FP8 and BF16,
groups of rows (by index and masked), groups of tokens (token-major and flat). Each shape is what a language
model might have: n and k multiples of 64, k of FP8 of 128, m anything where rows are tokens.
"""
import argparse
import json
import random


def log_uniform(rng, low, high, multiple=1):
    """A multiple of `multiple` in [low, high], its logarithm spread evenly."""
    value = low * (high / low) ** rng.random()
    return max(1, round(value / multiple)) * multiple


def split(rng, total, groups, multiple):
    """`groups` sizes, multiples of `multiple`, 0.3 to 1.7 times their mean, that add up to about total."""
    mean = max(multiple, total / groups)
    return [max(multiple, round(mean * (.3 + 1.4 * rng.random()) / multiple) * multiple)
            for _ in range(groups)]


def dense(rng, **kind):
    return {"family": "gemm", "m": log_uniform(rng, 1, 16384),
            "n": log_uniform(rng, 256, 32768, 64), "k": log_uniform(rng, 256, 16384, 128), **kind}


def weight_gradient(rng, **kind):
    return dense(rng, out="f32", accumulate=True, **kind) | {
        "m": log_uniform(rng, 512, 16384, 64), "n": log_uniform(rng, 512, 16384, 64)}


def rows(rng, form, **kind):
    groups = log_uniform(rng, 2, 64)
    shape = {"family": "m_grouped", "form": form, "n": log_uniform(rng, 512, 8192, 64),
             "k": log_uniform(rng, 512, 8192, 128), **kind}
    if form == "masked":
        mean = log_uniform(rng, 4, 1024)
        return shape | {"m": 2048, "sizes": split(rng, mean * groups, groups, 1)}
    return shape | {"sizes": split(rng, log_uniform(rng, 256, 32768), groups, 8)}


def tokens(rng, operand, **kind):
    groups = log_uniform(rng, 2, 32)
    return {"family": "k_grouped", "m": log_uniform(rng, 512, 7168, 64),
            "n": log_uniform(rng, 512, 7168, 64), "operand": operand, "accumulate": True,
            "form": "host" if operand == "flat" else "sizes",
            "sizes": split(rng, log_uniform(rng, 1024, 32768), groups, 128), **kind}


KINDS = [
    lambda rng: dense(rng), lambda rng: dense(rng), lambda rng: dense(rng, dtype="bf16"),
    lambda rng: weight_gradient(rng, gran_m=1, gran_n=1), lambda rng: rows(rng, "index"), lambda rng: rows(rng, "masked"),
    lambda rng: dense(rng), lambda rng: dense(rng, dtype="bf16"),
    lambda rng: tokens(rng, "tokens_first"), lambda rng: tokens(rng, "flat"),
    lambda rng: rows(rng, "index", dtype="bf16"),
    lambda rng: tokens(rng, "tokens_first", dtype="bf16"),
    lambda rng: weight_gradient(rng, gran_m=1, gran_n=1, layout="tn"),
    lambda rng: weight_gradient(rng, dtype="bf16", layout="tn"),
    lambda rng: dense(rng, dtype="bf16", layout="nn"),
]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=60)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    rng = random.Random(arguments.seed)
    shapes = [KINDS[i % len(KINDS)](rng) for i in range(arguments.count)]
    print("[\n  " + ",\n  ".join(json.dumps(shape) for shape in shapes) + "\n]")


if __name__ == "__main__":
    main()
