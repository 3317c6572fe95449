# SPDX-License-Identifier: MIT
"""Tokens to experts and back on a GPU: the bits of the CPU at full size, in every run, in a graph."""
import pytest

torch = pytest.importorskip("torch")

import deep_gemm  # noqa: E402

pytestmark = pytest.mark.casts


def draw(gen, tokens, topk, groups, width):
    ids = torch.rand(tokens, groups, device="cuda", generator=gen).topk(topk).indices
    ids[torch.rand(ids.shape, device="cuda", generator=gen) < 0.05] = -1
    x = torch.randn(tokens, width, device="cuda", generator=gen).bfloat16()
    return ids, x, torch.rand(tokens, topk, device="cuda", generator=gen)


def step(ids, x, weights, groups, layout):
    routing = deep_gemm.route_tokens(ids, groups, layout)
    rows = deep_gemm.permute(x, routing)
    return [*routing, rows, deep_gemm.permute(x, routing, weights),
            deep_gemm.unpermute(rows, routing, weights), deep_gemm.dot_rows(x, rows, routing)]


@pytest.mark.parametrize("tokens, topk, groups, width", (
    (1, 8, 256, 7168), (128, 8, 256, 7168), (4096, 8, 256, 2048), (32768, 1, 8, 1024),
    (20000, 8, 64, 72), (777, 3, 5, 33)))
@pytest.mark.parametrize("layout", ("offsets", "psum"))
def test_bits_of_the_cpu(gen, tokens, topk, groups, width, layout):
    ids, x, weights = draw(gen, tokens, topk, groups, width)
    expected = step(ids.cpu(), x.cpu(), weights.cpu(), groups, layout)
    for actual, wanted in zip(step(ids, x, weights, groups, layout), expected):
        assert torch.equal(actual.cpu(), wanted)


def test_every_run_gives_the_same_bits(gen):
    arguments = (*draw(gen, 8192, 8, 64, 1024), 64, "offsets")
    first = step(*arguments)
    for _ in range(20):
        assert all(torch.equal(a, b) for a, b in zip(step(*arguments), first))


def test_graph(gen):
    """Captured once, replayed with other ids: nothing of the call depends on their values."""
    ids, x, weights = draw(gen, 64, 4, 16, 512)
    step(ids, x, weights, 16, "masked")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        captured = step(ids, x, weights, 16, "masked")
    others = draw(gen, 64, 4, 16, 512)
    for tensor, other in zip((ids, x, weights), others):
        tensor.copy_(other)
    graph.replay()
    for actual, wanted in zip(captured, step(*others, 16, "masked")):
        assert torch.equal(actual, wanted)


def test_offsets_past_2_to_the_32(gen):
    """262144 rows of 16400 BF16 values: 4.3e9 elements."""
    if torch.cuda.mem_get_info()[0] < 30 << 30:
        pytest.skip("needs 30 GB of GPU memory")
    ids = torch.randint(0, 8, (32768, 8), device="cuda", generator=gen)
    x = torch.randn(32768, 16400, device="cuda", generator=gen).bfloat16()
    routing = deep_gemm.route_tokens(ids, 8)
    rows = deep_gemm.permute(x, routing)
    for i in (0, 131000, 200000, 262143):
        assert torch.equal(rows[i], x[routing.sources[i]])
    y = deep_gemm.unpermute(rows, routing)
    assert torch.equal(y, (x.float() * 8).bfloat16())
