# SPDX-License-Identifier: MIT
"""Prints the table of docs/weight_gradients.md: errors of FP8 and BF16 weight gradients against FP64."""
import deep_gemm
import torch

TOKENS, M, N, SIZES = 8192, 256, 384, (2048, 1000, 144, 5000)
DATA = {
    "normal values": lambda t, n: torch.randn(t, n),
    "heavy tails": lambda t, n: torch.randn(t, n) * torch.randn(t, n).exp(),
    "tokens of very different size": lambda t, n: torch.randn(t, n) * (2 * torch.randn(t, 1)).exp(),
    "channels of very different size": lambda t, n:
        torch.randn(t, n) * (2 * torch.randn(1, n)).exp(),
    "a mean of 2": lambda t, n: torch.randn(t, n) + 2,
}


def errors(draw):
    """FP8, FP8 with powers of two, BF16, BF16 rounded."""
    dy, x = (draw(TOKENS, mn).bfloat16() for mn in (M, N))
    sizes = torch.tensor(SIZES, dtype=torch.int32)
    expected = torch.stack([a.double().T @ b.double()
                            for a, b in zip(dy.split(SIZES), x.split(SIZES))])
    results = []
    for use_ue8m0 in (False, True):
        a, b = (deep_gemm.per_channel_cast_to_fp8(t, use_ue8m0, sizes=sizes) for t in (dy, x))
        results.append(torch.zeros(expected.shape))
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(a, b, results[-1], None, sizes, results[-1])
    results.append(torch.zeros(expected.shape))
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(dy, x, results[-1], None, sizes, results[-1])
    results.append(results[-1].bfloat16())
    return [float((result - expected).norm() / expected.norm()) for result in results]


if __name__ == "__main__":
    torch.manual_seed(0)
    for name, draw in DATA.items():
        print(f"{name:34}" + "".join(f"{error:10.1e}" for error in errors(draw)))
