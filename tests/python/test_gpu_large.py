# SPDX-License-Identifier: MIT
"""Large products on the GPU: outputs beyond 2^31 elements, a long k, operands beyond 4 GiB."""
import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import BF16_ERROR, FP8_ERROR, bf16, check, fp8, product  # noqa: E402


def check_rows(d, a, b, rows, error):
    """Some whole rows, and that no element was left out."""
    expected, magnitude = product(a.values[rows], b.values)
    check(d[rows], expected, magnitude, error)
    assert not torch.isnan(d).any()


def test_output_beyond_2_31_elements(gen):
    m, n, k = 65792, 32896, 128
    a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=128)
    d = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
    deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
    check_rows(d, a, b, torch.tensor([0, 1, 32767, 65279, 65790, 65791], device="cuda"), FP8_ERROR)


@pytest.mark.parametrize("kind", ("block", "vector", "bf16"))
def test_long_k(gen, kind):
    m, n, k = 192, 256, 147456
    d = torch.full((m, n), float("nan"), device="cuda")
    if kind == "bf16":
        a, b = bf16(gen, (m, k)), bf16(gen, (n, k))
        deep_gemm.bf16_gemm_nt(a.data, b.data, d)
        check(d, *product(a.values, b.values), BF16_ERROR)
    else:
        gran = 128 if kind == "block" else 1
        a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=gran)
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, d, recipe=(1, gran, 128))
        check(d, *product(a.values, b.values), FP8_ERROR)


def test_operand_beyond_4_gib(gen):
    m, n, k = 620000, 64, 7168
    data = torch.randint(0, 120, (m, k), generator=gen, device="cuda", dtype=torch.uint8)
    data = data.view(torch.float8_e4m3fn)
    b = fp8(gen, (n, k), scaled=False)
    d = torch.full((m, n), float("nan"), device="cuda")
    deep_gemm.fp8_gemm_nt((data, None), b.pair, d)
    rows = torch.tensor([0, 299999, 599999, m - 1], device="cuda")
    values = data.view(torch.uint8)[rows].view(torch.float8_e4m3fn).double()
    check(d[rows], *product(values, b.values), FP8_ERROR)
    assert not torch.isnan(d).any()


@pytest.mark.parametrize("m", (1, 2, 5, 16, 31, 100, 299))
@pytest.mark.parametrize("n", (1, 3, 24, 130, 300))
def test_small_sizes_sparsely(gen, m, n):
    for k in (1, 2, 16, 100, 129, 299):
        a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=128)
        d = torch.full((m, n), float("nan"), device="cuda", dtype=torch.bfloat16)
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
        check(d, *product(a.values, b.values), FP8_ERROR)
        a, b = bf16(gen, (m, k)), bf16(gen, (n, k))
        deep_gemm.bf16_gemm_nt(a.data, b.data, d)
        check(d, *product(a.values, b.values), BF16_ERROR)
