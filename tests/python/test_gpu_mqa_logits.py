# SPDX-License-Identifier: MIT
"""MQA logits on the GPU against float64: shapes that upstream tests, ranges, pages, equal bits."""
import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from deep_gemm.testing import calc_diff  # noqa: E402

I32 = torch.int32


def codes(gen, *shape):
    return torch.randn(shape, generator=gen, device="cuda").to(torch.float8_e4m3fn)


def scores(q, kv, scale, weights):
    """[s, tokens] in float64, a few queries at a time."""
    rows = [scale.double() * torch.einsum(
        "sht,sh->st", torch.relu(torch.einsum("shd,td->sht", a.double(), kv.double())), w.double())
        for a, w in zip(q.split(32), weights.split(32))]
    return torch.cat(rows)


def compare(logits, expected, inside, clean):
    assert logits.shape == expected.shape
    if clean:
        assert torch.equal(torch.isneginf(logits), ~inside)
    actual = torch.where(inside, logits.double(), 0)
    expected = torch.where(inside, expected, 0)
    assert torch.isfinite(actual).all()
    assert calc_diff(actual, expected) < (3e-5 if logits.dtype == torch.bfloat16 else 5e-6)


def ranges_of(kind, s, tokens):
    rows = torch.arange(s, device="cuda", dtype=I32)
    if kind == "causal":
        return torch.zeros_like(rows), (tokens - s + 1 + rows).clamp(min=0)
    if kind == "parallel":
        ends = torch.cat([rows[:s // 2] + 1 + tokens // 8, tokens - s // 2 + 1 + rows[:s - s // 2]])
        return torch.zeros_like(rows), ends.to(I32)
    starts = rows * 7 % tokens - 3
    return starts, starts + rows * 5 % 600 - 50


@pytest.mark.parametrize("kind", ("causal", "parallel", "windows"))
@pytest.mark.parametrize("heads,dim", (
    (64, 128), (32, 128), (64, 64), (32, 32), (8, 128), (40, 96)))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
def test_contiguous(gen, kind, heads, dim, dtype):
    s, tokens = 515, 4100
    q, kv = codes(gen, s, heads, dim), codes(gen, tokens, dim)
    scale = torch.rand(tokens, generator=gen, device="cuda") + 0.5
    weights = torch.randn(s, heads, generator=gen, device="cuda")
    starts, ends = ranges_of(kind, s, tokens)
    column = torch.arange(tokens, device="cuda")
    inside = (column >= starts[:, None].clamp(min=0)) & (column < ends[:, None])
    expected = scores(q, kv, scale, weights)

    def call(*rest):
        return deep_gemm.fp8_fp4_mqa_logits((q, None), (kv, scale), weights, starts, ends, *rest)

    logits = call(True, 0, dtype)
    compare(logits, expected, inside, True)
    for _ in range(20):
        assert torch.equal(call(True, 0, dtype), logits)
    width = 700
    place = (starts[:, None].clamp(min=0) + torch.arange(width, device="cuda")).long()
    fits = place < ends[:, None].clamp(max=tokens)
    compare(call(True, width, dtype), expected.gather(1, place.clamp(max=tokens - 1)), fits, True)


def test_tokens_outside_of_ranges_may_be_nan(gen):
    q, kv = codes(gen, 100, 64, 128), codes(gen, 1000, 128)
    kv.view(torch.uint8)[500:] = 0x7F
    scale = torch.ones(1000, device="cuda")
    scale[500:] = float("nan")
    weights = torch.randn(100, 64, generator=gen, device="cuda")
    ends = torch.full((100,), 500, dtype=I32, device="cuda")
    logits = deep_gemm.fp8_mqa_logits(q, (kv, scale), weights, torch.zeros_like(ends), ends)
    inside = (torch.arange(1000, device="cuda") < 500).expand(100, -1)
    expected = torch.zeros(100, 1000, dtype=torch.float64, device="cuda")
    expected[:, :500] = scores(q, kv[:500], scale[:500], weights)
    compare(logits, expected, inside, True)


@pytest.mark.parametrize("next_n", (1, 2, 3, 4, 8))
@pytest.mark.parametrize("page", (32, 64, 128))
@pytest.mark.parametrize("heads", (64, 32))
def test_paged(gen, next_n, page, heads):
    b, dim, columns = 37, 128, 3000
    per_request = -(-columns // page)
    pages = b * per_request + 5
    kv = codes(gen, pages, page, dim)
    scale = torch.rand(pages, page, generator=gen, device="cuda") + 0.5
    cache = torch.cat([kv.view(torch.uint8).view(pages, -1), scale.view(torch.uint8)], 1)
    cache = cache.view(pages, page, 1, dim + 4)
    order = torch.randperm(pages, generator=gen, device="cuda")
    table = order[:b * per_request].view(b, -1).to(I32)
    q = codes(gen, b, next_n, heads, dim)
    weights = torch.randn(b * next_n, heads, generator=gen, device="cuda")
    last = torch.randint(0, columns + 1, (b, 1), generator=gen, device="cuda")
    last[0], last[1] = 0, columns
    lens = (last - next_n + 1 + torch.arange(next_n, device="cuda")).clamp(min=0).to(I32)
    meta = deep_gemm.get_paged_mqa_logits_metadata(lens, page, deep_gemm.get_num_sms())
    on_cpu = deep_gemm.get_paged_mqa_logits_metadata(lens.cpu(), page, deep_gemm.get_num_sms())
    assert torch.equal(meta.cpu(), on_cpu)
    expected = torch.cat([
        scores(q[r], kv[table[r].long()].view(-1, dim)[:columns],
               scale[table[r].long()].view(-1)[:columns], weights[r * next_n:(r + 1) * next_n])
        for r in range(b)])
    inside = torch.arange(columns, device="cuda") < lens.view(-1, 1)
    for clean in (False, True):
        logits = deep_gemm.fp8_paged_mqa_logits(
            q, cache, weights, lens, table, meta, columns, clean)
        compare(logits, expected, inside, clean)


def test_large_batch_of_short_contexts(gen):
    """65536 requests, most of them without a token."""
    b, heads, dim, page = 65536, 32, 128, 64
    kv, scale = codes(gen, 64, page, dim), torch.ones(64, page, device="cuda")
    cache = torch.cat([kv.view(torch.uint8).view(64, -1), scale.view(torch.uint8)], 1)
    lens = torch.zeros(b, 1, dtype=I32, device="cuda")
    lens[::1000] = 50
    table = torch.arange(b, device="cuda", dtype=I32).view(b, 1) % 64
    q, weights = codes(gen, b, 1, heads, dim), torch.ones(b, heads, device="cuda")
    logits = deep_gemm.fp8_paged_mqa_logits(
        q, cache.view(64, page, 1, dim + 4), weights, lens, table, None, 64, True)
    inside = torch.arange(64, device="cuda") < lens
    assert torch.equal(torch.isneginf(logits), ~inside)
    for r in range(0, b, 8000):
        expected = scores(q[r], kv[r % 64], scale[0], weights[r:r + 1])
        compare(logits[r:r + 1], expected, inside[r:r + 1], True)


@pytest.mark.parametrize("heads,dim,fp4", ((64, 128, True), (8, 64, True), (7, 41, False)))
def test_what_the_general_kernel_does(gen, heads, dim, fp4):
    """FP4, and rows on odd addresses: as the CPU does it."""
    s, tokens = 40, 300
    if fp4:
        def operand(*shape):
            data = torch.randint(-128, 128, (*shape, dim // 2), generator=gen, device="cuda")
            words = torch.randint(122, 132, (*shape, 4), generator=gen, device="cuda")
            return data.to(torch.int8), words.to(torch.uint8).view(I32).squeeze(-1)
        q, kv = operand(s, heads), operand(tokens)
    else:
        q = codes(gen, s, heads, dim), None
        kv = codes(gen, tokens, dim), torch.rand(tokens, generator=gen, device="cuda")
    weights = torch.randn(s, heads, generator=gen, device="cuda")
    starts, ends = ranges_of("windows", s, tokens)
    logits = deep_gemm.fp8_fp4_mqa_logits(q, kv, weights, starts, ends)

    def cpu(pair):
        return tuple(x if x is None else x.cpu() for x in pair)

    expected = deep_gemm.fp8_fp4_mqa_logits(
        cpu(q), cpu(kv), weights.cpu(), starts.cpu(), ends.cpu()).cuda()
    assert torch.equal(torch.isneginf(logits), torch.isneginf(expected))
    inside = ~torch.isneginf(expected)
    compare(logits, torch.where(inside, expected, 0).double(), inside, True)
