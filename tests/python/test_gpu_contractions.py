# SPDX-License-Identifier: MIT
"""einsum, fp8_einsum, gaps in heads and the hyper-connection product on the GPU, at the sizes of
models. Small and odd ones are in test_contractions.py, which runs on the GPU too."""
import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import (BF16_ERROR, FP8_ERROR, Output, bf16, check, fp8, product,  # noqa: E402
                        same_bits)

HEADS = [(128, 512, 128), (8, 4096, 1024)]  # h, r, d


def calc_diff(x, y):
    x, y = x.double(), y.double()
    bottom = (x * x + y * y).sum()
    return float(1 - 2 * (x * y).sum() / bottom) if bottom else 0


def middle(x):
    """[h, b, k] as [b, h, k] in memory."""
    return x.transpose(0, 1).contiguous()


def judge(out, a, b, error, bound):
    """out [b, h, n] against a [h, b, k] and b [h, n, k], one head at a time."""
    for h in range(a.shape[0]):
        expected, magnitude = product(a[h], b[h])
        check(out[:, h], expected, magnitude, error)
        assert calc_diff(out[:, h], expected) < bound


@pytest.mark.parametrize("b", (1, 4, 32, 128, 4096))
@pytest.mark.parametrize("heads", HEADS, ids=str)
@pytest.mark.parametrize("expr", ("bhr,hdr->bhd", "bhd,hdr->bhr"))
def test_bf16_heads(gen, expr, heads, b):
    h, r, d = heads
    summed, columns = (r, d) if expr.endswith("d") else (d, r)
    a, wide = bf16(gen, (h, b, summed)), bf16(gen, (h, d, r + 128))
    weights = wide.data[..., :r]
    out = Output((b, h, columns), torch.bfloat16)
    deep_gemm.einsum(expr, middle(a.data), weights, out.d)
    values = wide.values[..., :r]
    judge(out.d, a.values, values if expr.endswith("d") else values.mT, BF16_ERROR, 1e-5)
    out.check_outside()
    again = torch.empty_like(out.d)
    deep_gemm.einsum(expr, middle(a.data), weights, again, use_cublaslt=True)
    assert same_bits(out.d, again)


@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("s", (129, 1024))
@pytest.mark.parametrize("mnk", ((128, 384, 128), (256, 256, 256), (384, 128, 384)), ids=str)
def test_sum_of_products(gen, mnk, s, dtype):
    m, n, k = mnk
    a, b = (torch.randn(s, x, k, generator=gen, device="cuda").bfloat16() for x in (m, n))
    c = torch.randn(m, n, generator=gen, device="cuda").to(dtype) * 32
    d, again = c.clone(), torch.empty_like(c)
    deep_gemm.einsum("bmk,bnk->mn", a, b, d, d)
    expected = torch.einsum("bmk,bnk->mn", a.double(), b.double()) + c.double()
    assert calc_diff(d, expected) < 1e-5
    deep_gemm.einsum("bmk,bnk->mn", a, b, again, c)
    assert same_bits(d, again)


@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32))
@pytest.mark.parametrize("b", (4, 128, 4096))
def test_fp8_heads(gen, b, dtype):
    h, r, d = HEADS[1]
    a, w = fp8(gen, (h, b, r)), fp8(gen, (h, d, r), gran_mn=128)
    out = Output((b, h, d), dtype)
    deep_gemm.fp8_einsum("bhr,hdr->bhd", (middle(a.data), middle(a.scale)), w.pair, out.d)
    judge(out.d, a.values, w.values, FP8_ERROR, 1e-3)
    out.check_outside()


def test_fp8_back_and_weight_gradient(gen):
    h, b, r, d = 2, 512, 256, 384
    dy, w = fp8(gen, (h, b, d)), fp8(gen, (h, r, d), gran_mn=128)  # w as [h, mn, k]
    out = Output((b, h, r), torch.bfloat16)
    deep_gemm.fp8_einsum("bhd,hdr->bhr", (middle(dy.data), middle(dy.scale)),
                         (w.data.mT.contiguous(), w.scale.mT), out.d)
    judge(out.d, dy.values, w.values, FP8_ERROR, 1e-3)
    x, g = fp8(gen, (h, r, b)), fp8(gen, (h, d, b))  # both with b summed
    grad = torch.randn(h, d, r, generator=gen, device="cuda")
    expected = grad.double() + g.values @ x.values.mT
    deep_gemm.fp8_einsum("bhd,bhr->hdr", *((y.data.permute(2, 0, 1), y.scale.permute(2, 0, 1))
                                           for y in (g, x)), grad, grad, (1, 1, 128))
    assert calc_diff(grad, expected) < 1e-3


@pytest.mark.parametrize("splits", ((128, 64, 128), (100, 7, 28)), ids=str)
@pytest.mark.parametrize("m", (1, 128, 4096))
def test_gaps_in_heads(gen, m, splits):
    left, mid, right = splits
    n, k = 16 * (left + right), 512
    a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=128)
    out = Output((m, n + 16 * mid), torch.bfloat16)
    deep_gemm.fp8_gemm_nt_skip_head_mid(a.pair, b.pair, out.d, splits)
    columns = torch.arange(n, device="cuda")
    columns += (columns + right) // (left + right) * mid
    check(out.d[:, columns], *product(a.values, b.values), FP8_ERROR)
    gaps = torch.ones(out.d.shape[1], dtype=torch.bool, device="cuda")
    gaps[columns] = False
    assert out.d[:, gaps].isnan().all()
    out.check_outside()


@pytest.mark.parametrize("splits", (None, 16))
@pytest.mark.parametrize("m", (13, 137, 4096))
@pytest.mark.parametrize(
    "n,k", ((24, 28672), (24, 7680), (24, 7168), (8, 512), (32, 7168), (40, 1000)))
def test_hyper_connection(gen, m, n, k, splits):
    a = torch.randn(m, k, generator=gen, device="cuda").bfloat16()
    b = torch.randn(n, k, generator=gen, device="cuda")
    front = () if splits is None else (splits,)
    d, sums = Output((*front, m, n), torch.float32), torch.full((*front, m), float("nan"),
                                                                device="cuda")
    deep_gemm.tf32_hc_prenorm_gemm(a, b, d.d, sums, splits)
    cut = (b.view(torch.int32) & ~0x1FFF).view(torch.float32)
    whole, squares = (d.d, sums) if splits is None else (d.d.sum(0), sums.sum(0))
    assert calc_diff(whole, a.double() @ cut.double().T) < 1e-8
    assert calc_diff(squares, (a.double()**2).sum(1)) < 1e-8
    d.check_outside()
    again, more = torch.empty_like(d.d), torch.empty_like(sums)
    deep_gemm.tf32_hc_prenorm_gemm(a, b, again, more, splits)
    assert same_bits(d.d, again) and same_bits(sums, more)


def test_rows_off_16_bytes_are_refused():
    x = torch.zeros(4, 100, dtype=torch.bfloat16, device="cuda")
    with pytest.raises(ValueError, match="multiple of 8 on a GPU"):
        deep_gemm.tf32_hc_prenorm_gemm(x, torch.zeros(8, 100, device="cuda"),
                                       torch.zeros(4, 8, device="cuda"),
                                       torch.zeros(4, device="cuda"))
