# SPDX-License-Identifier: MIT
"""The gathering products of deep_gemm.legacy against float64."""
import numpy as np
import pytest
from deep_gemm import legacy
from reference import Operand, check, product, round_to

G, N, K = 3, 40, 64


@pytest.mark.parametrize("form", ("nt", "nn"))
@pytest.mark.parametrize("gather", (True, False))
def test_m_grouped(framework, rng, form, gather):
    rows = 256
    groups = np.array([1, 0]).repeat(128)
    groups[100:128] = -1
    picked = rng.integers(-1, 50, rows) if gather else np.arange(rows)
    a = Operand(rng, (50 if gather else rows, K), "bfloat16", None)
    b = Operand(rng, (G, N, K), "bfloat16", None)
    d = framework.poisoned((rows, N), "bfloat16")
    index = framework.make(groups, "int32")
    arguments = a.data(framework), b.data(framework, form == "nn"), d
    if gather:
        getattr(legacy, f"a_fused_m_grouped_bf16_gemm_{form}_contiguous_tl")(
            *arguments, (index, framework.make(picked, "int32")))
    else:
        getattr(legacy, f"m_grouped_bf16_gemm_{form}_contiguous_tl")(*arguments, index)
    taken = a.values[np.maximum(picked, 0)] * ((picked >= 0) & (groups >= 0))[:, None]
    weights = b.values[np.maximum(groups, 0)]
    check(framework, d, np.einsum("mk,mnk->mn", taken, weights),
          np.einsum("mk,mnk->mn", np.abs(taken), np.abs(weights)), "bfloat16")


@pytest.mark.parametrize("side", ("a", "b"))
@pytest.mark.parametrize("accumulate", (True, False))
def test_k_grouped(framework, rng, side, accumulate):
    starts, ends = [0, 128, 128], [120, 128, 384]
    gathered = round_to(rng.standard_normal((70, 24)), "bfloat16")
    straight = round_to(rng.standard_normal((384, 16)), "bfloat16")
    rows = rng.integers(-1, 70, 384)
    taken = gathered[np.maximum(rows, 0)] * (rows >= 0)[:, None]
    left, right = (taken, straight) if side == "a" else (straight, taken)
    start = round_to(rng.standard_normal((G, left.shape[1], right.shape[1])), "float32")
    d = framework.make(start, "float32")
    tensors = [framework.make(x, "bfloat16") for x in
               ((gathered, straight) if side == "a" else (straight, gathered))]
    handle = [framework.make(x, "int32") for x in (rows, starts, ends)]
    getattr(legacy, f"{side}_fused_k_grouped_bf16_gemm_tn_contiguous_tl")(
        *tensors, d, handle, accumulate)
    for g in range(G):
        expected, magnitude = product(left[starts[g]:ends[g]].T, right[starts[g]:ends[g]].T)
        before = start[g] if accumulate else 0
        check(framework, d[g], expected + before, magnitude + np.abs(before), "float32")


def test_starts_that_ends_do_not_imply_are_refused(framework):
    if framework.name == "torch-cuda":
        pytest.skip("starts in GPU memory are not read")
    x = framework.poisoned((256, 8), "bfloat16")
    handle = [framework.make(v, "int32") for v in (np.zeros(256), [0, 64], [50, 100])]
    with pytest.raises(ValueError, match=r"k_start\[1\]: 64, expected 128"):
        legacy.b_fused_k_grouped_bf16_gemm_tn_contiguous_tl(
            x, x, framework.poisoned((2, 8, 8), "float32"), handle, False)
