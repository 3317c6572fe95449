# SPDX-License-Identifier: MIT
"""Casts and layouts of factors on a GPU against the CPU's, bit for bit: what the tests that run on all
frameworks do not reach. Groups in every form, gaps of NaN, streams, graphs, large tensors."""
import deep_gemm
import pytest
import torch
from deep_gemm import _native

SIZES, OFFSETS, PSUM = 1, 2, 3
LAST = 0


def bits(x):
    x = x.cpu().contiguous()
    if x.is_floating_point() and x.element_size() > 1:
        x = torch.where(x.isnan(), torch.full_like(x, float("nan")), x)
    return x.view(torch.uint8)


def assert_same(actual, expected):
    for a, b in zip(actual, expected):
        assert a.shape == b.shape and (bits(a) == bits(b)).all()


def wild(gen, shape, dtype):
    """Values of very different magnitudes, on the GPU."""
    x = torch.randn(shape, generator=gen, device="cuda")
    return (x * torch.exp2(torch.randint(-20, 20, shape, generator=gen, device="cuda"))).to(dtype)


def poisoned(shape, dtype, device):
    size = torch.empty((), dtype=dtype).element_size()
    return torch.full((*shape[:-1], shape[-1] * size), 0xA5, dtype=torch.uint8,
                      device=device).view(dtype)


def cast_both_ways(x, groups, scale_rows, power_of_two=False):
    """Per token and per channel in one call, into poisoned memory."""
    t, n = x.shape
    outs = [poisoned(shape, dtype, x.device) for shape, dtype in (
        ((t, n), torch.float8_e4m3fn), ((t, -(-n // 128)), torch.float32),
        ((t, n), torch.float8_e4m3fn), ((scale_rows, n), torch.float32))]
    _native.quantize(x, (outs[0], outs[1], (1, 128), power_of_two, LAST),
                     (outs[2], outs[3], (128, 1), power_of_two, LAST), groups)
    return outs


GROUPS = ([0], [5], [300, 0, 128, 33, 1, 0, 7], [1] * 50, [128] * 3, list(range(300)))


@pytest.mark.parametrize("sizes", GROUPS, ids=lambda sizes: f"{len(sizes)}-{sum(sizes)}")
@pytest.mark.parametrize("form", (SIZES, OFFSETS))
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32))
def test_groups(gen, sizes, form, dtype):
    x = wild(gen, (sum(sizes) + 9, 264), dtype)
    x[sum(sizes):] = float("nan")
    values = torch.tensor(sizes, dtype=torch.int32)
    values = values.cumsum(0) if form == OFFSETS else values
    rows = sum(-(-size // 128) for size in sizes) + 2
    expected = cast_both_ways(x.cpu(), (form, values, 0, None), rows)
    assert_same(cast_both_ways(x, (form, values.cuda(), 0, None), rows), expected)


def test_gaps_between_groups(gen):
    x = wild(gen, (600, 264), torch.bfloat16)
    x[100:128] = x[161:256] = float("nan")
    ends = torch.tensor([100, 161, 512])
    expected = cast_both_ways(x.cpu(), (PSUM, ends, 128, None), 8, True)
    assert_same(cast_both_ways(x, (PSUM, ends.cuda(), 128, None), 8, True), expected)


def test_sizes_on_the_device_are_clamped(gen):
    x = wild(gen, (300, 256), torch.bfloat16)
    wrong = torch.tensor([-5, 200, 1 << 30], dtype=torch.int32, device="cuda")
    right = torch.tensor([0, 200, 100], dtype=torch.int32)
    expected = cast_both_ways(x.cpu(), (SIZES, right, 0, None), 3)
    assert_same(cast_both_ways(x, (SIZES, wrong, 0, None), 3), expected)


def test_no_factor_is_written_outside(gen):
    x = wild(gen, (300, 256), torch.bfloat16)
    sizes = torch.tensor([130, 170], dtype=torch.int32)
    memory = poisoned((4, 256), torch.float32, "cuda")
    codes = [poisoned((300, 256), torch.float8_e4m3fn, "cuda") for _ in range(2)]
    _native.quantize(x, (codes[0], memory[:2], (128, 1), False, LAST), None,
                     (SIZES, sizes.cuda(), 0, None))
    expected = cast_both_ways(x.cpu(), (SIZES, sizes, 0, None), 4)
    assert (bits(memory[:2]) == bits(expected[3][:2])).all()
    assert (bits(memory[2:]) == 0xA5).all()
    assert (bits(codes[0][:130]) == bits(expected[2][:130])).all()
    assert (bits(codes[0][130:]) == 0xA5).all()


@pytest.mark.parametrize("shape", ((1, 1), (1, 128), (3, 7168), (257, 1000), (130, 130)))
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32))
def test_special_values(gen, shape, dtype):
    x = wild(gen, shape, dtype)
    flat = x.view(-1)
    for value in (float("inf"), float("-inf"), float("nan"), 0.0, -0.0, 1e-38):
        flat[torch.randint(0, flat.numel(), (), generator=gen, device="cuda")] = value
    host = x.cpu()
    for use_ue8m0 in (False, True):
        for kind in ("token", "channel", "block"):
            cast = getattr(deep_gemm, f"per_{kind}_cast_to_fp8")
            assert_same(cast(x, use_ue8m0), cast(host, use_ue8m0))


def test_large_tensors_and_repeats(gen):
    x = wild(gen, (5000, 7168), torch.bfloat16)
    values = torch.tensor([1000, 0, 2500, 1400], dtype=torch.int64)
    expected = cast_both_ways(x.cpu(), (SIZES, values, 0, None), 42)
    for _ in range(3):
        assert_same(cast_both_ways(x, (SIZES, values.cuda(), 0, None), 42), expected)


def test_graph_and_stream(gen):
    x = wild(gen, (1024, 2048), torch.bfloat16)
    sizes = torch.tensor([300, 0, 724], dtype=torch.int32, device="cuda")
    expected = cast_both_ways(x.cpu(), (SIZES, sizes.cpu(), 0, None), 9)
    cast_both_ways(x, (SIZES, sizes, 0, None), 9)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        outs = cast_both_ways(x, (SIZES, sizes, 0, None), 9)
    graph.replay()
    assert_same(outs, expected)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.cuda._sleep(10_000_000)
        later = x.clone()
        outs = cast_both_ways(later, (SIZES, sizes, 0, None), 9)
        assert_same(outs, expected)


def test_factors_that_are_no_powers_of_two_are_rounded_up():
    sf = torch.tensor([[1.0, 1.5, 0.0, 3.0, 2.0**-127, 2.0**127]], device="cuda")
    packed = deep_gemm.get_mn_major_tma_aligned_packed_ue8m0_tensor(sf)
    assert bits(packed).flatten().tolist() == [127, 128, 0, 129, 0, 254, 0, 0]
