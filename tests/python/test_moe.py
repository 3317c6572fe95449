# SPDX-License-Identifier: MIT
"""Tokens to the rows of their experts and back, against a loop over slots in Python and float64 sums,
on numpy and torch; gradients, graphs and the layer on torch."""
import importlib.util

import deep_gemm
import numpy as np
import pytest

pytestmark = pytest.mark.casts
HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="no torch")

# tokens, topk, groups, share of slots dropped, layout, alignment
CASES = ((40, 4, 7, 0.0, "offsets", None), (40, 4, 7, 0.3, "offsets", None),
         (33, 8, 5, 0.1, "psum", 16), (33, 1, 40, 0.0, "psum", None),
         (21, 3, 4, 0.2, "masked", None), (1, 2, 3, 0.0, "offsets", None),
         (0, 2, 3, 0.0, "psum", 8), (300, 2, 2, 0.9, "masked", None))


def draw_ids(rng, tokens, topk, groups, dropped):
    ids = np.argsort(rng.random((tokens, groups)), 1)[:, :topk].astype(np.int64)
    ids[rng.random(ids.shape) < dropped] = -1
    return ids


def route(ids, groups, layout, alignment, rows):
    """counts, ends, row of each slot, source and group of each row, slot by slot."""
    alignment = alignment or 128
    counts = [int((ids == g).sum()) for g in range(groups)]
    begins, end = [], 0
    for g in range(groups):
        if layout == "psum":
            end = -(-end // alignment) * alignment
        begins.append(g * (rows // groups) if layout == "masked" else end)
        end = begins[-1] + counts[g]
    row, source, group = np.full(ids.shape, -1), np.full(rows, -1), np.full(rows, -1)
    ends = list(begins)
    for (t, s), g in np.ndenumerate(ids):
        if g >= 0:
            row[t, s], source[ends[g]], group[ends[g]] = ends[g], t, g
            ends[g] += 1
    return counts, ends, row, source, group


@pytest.fixture(params=CASES, ids=lambda case: "-".join(map(str, case)))
def case(request, rng, framework):
    tokens, topk, groups, dropped, layout, alignment = request.param
    ids = draw_ids(rng, tokens, topk, groups, dropped)
    routing = deep_gemm.route_tokens(framework.make(ids, "int32"), groups, layout, alignment)
    expected = route(ids, groups, layout, alignment, routing.sources.shape[0])
    return framework, routing, expected


def test_route(case):
    framework, routing, expected = case
    for name, actual, wanted in zip(routing._fields, routing, expected):
        assert (framework.host(actual) == np.asarray(wanted)).all(), name


def test_wide_ids_give_the_same_routing(framework, rng):
    ids = draw_ids(rng, 50, 4, 9, 0.2)
    both = [deep_gemm.route_tokens(framework.make(ids, dtype), 9) for dtype in ("int32", "int64")]
    for a, b in zip(*both):
        assert (framework.host(a) == framework.host(b)).all()


@pytest.mark.parametrize("dtype", ("bfloat16", "float32"))
def test_permute_and_back(case, rng, dtype):
    framework, routing, (_, _, row, source, _) = case
    x = framework.make(rng.standard_normal((row.shape[0], 72)), dtype)
    rows = deep_gemm.permute(x, routing)
    x64 = framework.to_float64(x)
    expected = np.where((source >= 0)[:, None], x64[source] if len(x64) else 0, 0)
    assert (framework.to_float64(rows) == expected).all()
    weights = framework.make(rng.standard_normal(row.shape), "float32")
    w64 = framework.to_float64(weights) * (row >= 0)
    y = framework.to_float64(deep_gemm.unpermute(rows, routing, weights, "float32"))
    terms = w64[:, :, None] * x64[:, None, :]
    bound = 2.0**-22 * np.abs(terms).sum(1)
    assert (np.abs(y - terms.sum(1)) <= bound).all()
    plain = framework.to_float64(deep_gemm.unpermute(rows, routing))
    bound = 2.0**-7 * np.abs(x64) * row.shape[1]
    assert (np.abs(plain - x64 * (row >= 0).sum(1)[:, None]) <= bound).all()
    scaled = framework.to_float64(deep_gemm.permute(x, routing, weights))
    for (t, s), i in np.ndenumerate(row):
        if i >= 0:
            error = np.abs(scaled[i] - w64[t, s] * x64[t])
            assert (error <= 2.0**(-8 if dtype == "bfloat16" else -24) * np.abs(scaled[i])).all()
    dots = framework.to_float64(deep_gemm.dot_rows(x, rows, routing))
    squares = (x64 * x64).sum(1)[:, None] * (row >= 0)
    assert (np.abs(dots - squares) <= 2.0**-20 * squares).all()


@pytest.mark.parametrize("turned", (False, True))
def test_permute_pair(case, rng, turned):
    """FP8 with its factors, rows together or blocks together."""
    framework, routing, (_, _, row, source, _) = case
    x = framework.make(rng.standard_normal((row.shape[0], 300)), "float32")
    codes, factors = deep_gemm.per_token_cast_to_fp8(x, False)
    if turned and row.shape[0] > 0:
        factors = deep_gemm.get_mn_major_tma_aligned_tensor(factors)
    values, scale = deep_gemm.permute((codes, factors), routing)
    used = source >= 0
    assert tuple(scale.shape) == (len(source), 3)
    for actual, wanted in ((values, codes), (scale, factors)):
        actual, wanted = framework.to_float64(actual), framework.to_float64(wanted)
        assert (actual[used] == wanted[source[used]]).all() and (actual[~used] == 0).all()
    if turned and row.shape[0] > 1:
        assert framework.strides(scale)[0] == 1


def test_rows_of_padding_reach_nothing(framework, rng):
    """NaN in all rows that no slot has, and in the weights of dropped slots."""
    ids = draw_ids(rng, 30, 4, 6, 0.4)
    routing = deep_gemm.route_tokens(framework.make(ids, "int64"), 6, "psum", 32)
    source, row = framework.host(routing.sources), framework.host(routing.rows)
    rows = rng.standard_normal((len(source), 40))
    rows[source < 0] = np.nan
    weights = np.where(row < 0, np.nan, rng.standard_normal(ids.shape))
    x = framework.make(rows, "bfloat16")
    w = framework.make(weights, "float32")
    assert np.isfinite(framework.to_float64(deep_gemm.unpermute(x, routing, w))).all()
    dots = deep_gemm.dot_rows(deep_gemm.unpermute(x, routing), x, routing)
    assert np.isfinite(framework.to_float64(dots)).all()


def test_what_finds_no_room_is_dropped(framework):
    ids = framework.make(np.array([[0, 1], [0, 1], [0, 2], [0, -1]]), "int32")
    routing = deep_gemm.route_tokens(ids, 3, "masked", num_rows=6)
    assert framework.host(routing.counts).tolist() == [4, 2, 1]
    assert framework.host(routing.ends).tolist() == [2, 4, 5]
    assert framework.host(routing.rows).tolist() == [[0, 2], [1, 3], [-1, 4], [-1, -1]]


def test_refusals(framework):
    ids = framework.make(np.array([[0, 3]]), "int32")
    with pytest.raises(ValueError, match="layout"):
        deep_gemm.route_tokens(ids, 3, "index")
    with pytest.raises(ValueError, match="alignment"):
        deep_gemm.route_tokens(ids, 3, alignment=8)
    if framework.name != "torch-cuda":
        with pytest.raises(ValueError, match="ids.*is 3"):
            deep_gemm.route_tokens(ids, 3)
    routing = deep_gemm.route_tokens(ids, 4)
    with pytest.raises(TypeError, match="x"):
        deep_gemm.unpermute(framework.make(np.zeros((2, 8)), "int32"), routing)
    with pytest.raises(ValueError, match="columns"):
        deep_gemm.dot_rows(framework.make(np.zeros((1, 8)), "float32"),
                           framework.make(np.zeros((2, 9)), "float32"), routing)


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    from conftest import GPU_CASTS, GPU_SKIPPED
    if request.param == "cuda" and not GPU_CASTS:
        pytest.skip(GPU_SKIPPED)
    return request.param


def torch_routing(device, rng, layout="offsets"):
    import torch
    ids = torch.tensor(draw_ids(rng, 20, 3, 5, 0.2), device=device)
    return ids, deep_gemm.route_tokens(ids, 5, layout)


@needs_torch
def test_gradients(device, rng):
    """Against autograd through plain indexing, in float64."""
    import torch
    from deep_gemm import nn
    ids, routing = torch_routing(device, rng, "psum")
    x = torch.tensor(rng.standard_normal((20, 24)), dtype=torch.float32, device=device)
    weights = torch.tensor(rng.standard_normal((20, 3)), dtype=torch.float32, device=device)
    mask = torch.tensor(rng.standard_normal((routing.sources.shape[0], 24)), device=device)
    dy = torch.tensor(rng.standard_normal((20, 24)), device=device)
    leaves = [(x.clone().requires_grad_(), weights.clone().requires_grad_()) for _ in range(2)]
    (a, w), (a64, w64) = leaves
    y = nn.unpermute(nn.permute(a, routing) * mask.float(), routing, w)
    y.backward(dy.float())
    picked = mask[routing.rows.clamp(0).long()] * (ids >= 0)[..., None]
    y64 = (a64.double()[:, None] * picked * w64.double()[..., None]).sum(1)
    y64.backward(dy)
    for actual, expected in ((y, y64), (a.grad, a64.grad), (w.grad, w64.grad)):
        assert torch.allclose(actual.double(), expected.double(), rtol=1e-5, atol=1e-5)


@needs_torch
def test_layer_is_near_float32(device, rng):
    import torch
    from deep_gemm import nn
    torch.manual_seed(3)
    ids, _ = torch_routing(device, rng)
    layer = nn.MoE(5, 128, 96, device=device, dtype=torch.float32)
    x, dy = (torch.randn(20, 128, device=device) for _ in range(2))
    weights = torch.rand(20, 3, device=device)
    got = [t.clone().requires_grad_() for t in (x, weights)]
    want = [t.clone().requires_grad_() for t in (x, weights, layer.gate_up.weight.detach(),
                                                 layer.down.weight.detach())]
    y = layer(got[0], ids, got[1])
    y.backward(dy)
    up = torch.einsum("th,gih->tgi", want[0], want[2])
    inner = torch.nn.functional.silu(up[..., :96]) * up[..., 96:]
    each = torch.einsum("tgi,ghi->tgh", inner, want[3])
    chosen = each.gather(1, ids.clamp(0)[..., None].expand(-1, -1, 128)) * (ids >= 0)[..., None]
    y32 = (chosen * want[1][..., None]).sum(1)
    y32.backward(dy)
    pairs = [(y, y32), (got[0].grad, want[0].grad), (got[1].grad, want[1].grad),
             (layer.gate_up.weight.grad, want[2].grad), (layer.down.weight.grad, want[3].grad)]
    for actual, expected in pairs:  # each of up to three FP8 products on the way adds about 4 %
        assert (actual - expected).norm() < 0.12 * expected.norm()


@needs_torch
@pytest.mark.parametrize("dtype", ("float16", "float64", "bfloat16"))
def test_layer_keeps_the_type_of_its_input(rng, dtype):
    import torch
    from deep_gemm import nn
    layer = nn.MoE(3, 128, 64)
    x = torch.from_numpy(rng.standard_normal((5, 128))).to(getattr(torch, dtype)).requires_grad_()
    y = layer(x, torch.tensor([[0, 2]] * 5), torch.full((5, 2), .5))
    assert y.dtype == x.dtype
    y.sum().backward()
    assert x.grad.dtype == x.dtype and torch.isfinite(x.grad).all()


@needs_torch
def test_type_of_a_sum_by_torch_dtype(rng):
    import torch
    routing = deep_gemm.route_tokens(torch.tensor([[0], [1]]), 2)
    x = torch.from_numpy(rng.standard_normal((2, 16))).bfloat16()
    for dtype in (torch.float32, "float32"):
        assert torch.equal(deep_gemm.unpermute(x, routing, dtype=dtype), x.float())


@needs_torch
def test_graphs(rng):
    """Compiled functions are the operators, and compute what eager calls do."""
    import torch
    ids, _ = torch_routing("cpu", rng)
    x = torch.randn(20, 64).bfloat16()
    weights = torch.rand(20, 3)

    def step(x, ids, weights):
        routing = deep_gemm.route_tokens(ids, 5, "psum", 16)
        rows = deep_gemm.permute(x, routing)
        codes, factors = deep_gemm.permute(deep_gemm.per_token_cast_to_fp8(x, False), routing)
        return (deep_gemm.unpermute(rows, routing, weights), deep_gemm.dot_rows(x, rows, routing),
                deep_gemm.permute(x, routing, weights), codes.float(), factors,
                deep_gemm.per_channel_cast_to_fp8(
                    rows, True, 32, sizes=routing.counts)[0].float()[:n])

    n = int((ids >= 0).sum())  # rows behind the last group are undefined
    for actual, expected in zip(torch.compile(step, backend="aot_eager", fullgraph=True)(
            x, ids, weights), step(x, ids, weights)):
        assert torch.equal(actual, expected)


@needs_torch
def test_operators_are_registered_as_torch_wants(rng):
    import torch
    ids, routing = torch_routing("cpu", rng)
    x = torch.randn(20, 64)
    rows = deep_gemm.permute(x, routing)
    ops = torch.ops.deep_gemm
    for operator, arguments in (
            (ops.route_tokens, (ids, 5, "psum", 8, None)),
            (ops.permute, (x, routing.rows, routing.sources)),
            (ops.unpermute, (rows, routing.rows, torch.rand(20, 3), "bfloat16")),
            (ops.dot_rows, (x, rows, routing.rows))):
        torch.library.opcheck(operator.default, arguments,
                              test_utils=("test_schema", "test_faketensor"))


@needs_torch
@pytest.mark.parametrize("layout", ("offsets", "psum", "masked"))
def test_every_layout_feeds_its_product(device, rng, layout):
    """BF16 experts through the routing's own fields, against a product for each slot in float64."""
    import torch
    ids, routing = torch_routing(device, rng, layout)
    x = torch.tensor(rng.standard_normal((20, 64)), device=device).bfloat16()
    w = torch.tensor(rng.standard_normal((5, 40, 64)), device=device).bfloat16()
    rows = deep_gemm.permute(x, routing)
    d = torch.full((rows.shape[0], 40), float("nan"), device=device)
    if layout == "masked":
        deep_gemm.m_grouped_bf16_gemm_nt_masked(rows.view(5, 20, 64), w, d.view(5, 20, 40),
                                                routing.counts, 12)
    else:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(rows, w, d, routing.ends, layout=layout)
        by_index = torch.empty_like(d)
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(rows, w, by_index, routing.groups)
        used = routing.groups >= 0
        assert torch.equal(by_index[used], d[used]) or device == "cuda"
        assert (by_index[~used] == 0).all()
    y = deep_gemm.unpermute(d, routing)
    each = torch.einsum("tk,gnk->tgn", x.double(), w.double())
    chosen = each.gather(1, ids.clamp(0)[..., None].expand(-1, -1, 40)) * (ids >= 0)[..., None]
    assert torch.allclose(y.double(), chosen.sum(1), rtol=1e-4, atol=1e-4)


@needs_torch
def test_layer_in_a_graph(rng):
    """nn.MoE compiled whole, forward and backward, and exported: the bits of eager calls."""
    import torch
    from deep_gemm import nn
    ids, _ = torch_routing("cpu", rng)
    layer = nn.MoE(5, 128, 64, dtype=torch.bfloat16)
    x, weights = torch.randn(20, 128).bfloat16(), torch.rand(20, 3)

    def step(function):
        leaves = x.clone().requires_grad_(), weights.clone().requires_grad_()
        y = function(leaves[0], ids, leaves[1])
        y.float().square().sum().backward()
        return [y, *(leaf.grad for leaf in leaves)]
    compiled = torch.compile(layer, backend="aot_eager", fullgraph=True)
    for actual, expected in zip(step(compiled), step(layer)):
        assert torch.equal(actual, expected)
    exported = torch.export.export(layer, (x, ids, weights)).module()
    assert torch.equal(exported(x, ids, weights), layer(x, ids, weights))
