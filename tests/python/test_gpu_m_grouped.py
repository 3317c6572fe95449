# SPDX-License-Identifier: MIT
"""M-grouped products on the GPU: every form of groups, ragged, skewed, empty and poisoned."""
import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import (BF16_ERROR, FP8_ERROR, POISON, Output, bf16, check, fp8,  # noqa: E402
                    product, same_bits)

SIZES = {
    "even": [128, 128, 128],
    "ragged": [1, 127, 0, 129, 300, 15],
    "empty ends": [0, 0, 77, 0],
    "one takes all": [0, 600, 0, 0],
    "many": [(37 * i) % 53 for i in range(40)],
}
N, K = 272, 400
KINDS = ("fp8", "bf16")


def operands(gen, kind, rows, groups, n=N, k=K, exact=False):
    if kind == "bf16":
        return bf16(gen, (rows, k), exact), bf16(gen, (groups, n, k), exact), BF16_ERROR
    return (fp8(gen, (rows, k), exact=exact),
            fp8(gen, (groups, n, k), gran_mn=128, exact=exact), FP8_ERROR)


def call(name, kind, a, b, *args, **keywords):
    function = getattr(deep_gemm, name.format(kind=kind))
    if kind == "bf16":
        function(a.data, b.data, *args, **keywords)
    else:
        function(a.pair, b.pair, *args, **keywords)


def reference(a, b, index):
    """Row i times its group's matrix; rows of no group are zero."""
    expected = torch.zeros(a.values.shape[0], b.values.shape[1], dtype=torch.float64, device="cuda")
    magnitude = torch.zeros_like(expected)
    for g in range(b.values.shape[0]):
        rows = (index == g).nonzero().flatten()
        expected[rows], magnitude[rows] = product(a.values[rows], b.values[g])
    return expected, magnitude


def indices(sizes):
    return torch.repeat_interleave(torch.arange(len(sizes)), torch.tensor(sizes)).to(
        "cuda", torch.int32)


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32))
@pytest.mark.parametrize("kind", KINDS)
def test_index(gen, sizes, dtype, kind):
    index = indices(sizes)
    a, b, error = operands(gen, kind, sum(sizes), len(sizes))
    out = Output((sum(sizes), N), dtype)
    call("m_grouped_{kind}_gemm_nt_contiguous", kind, a, b, out.d, index)
    check(out.d, *reference(a, b, index), error)
    out.check_outside()


@pytest.mark.parametrize("kind", KINDS)
def test_index_in_any_order_with_poisoned_padding(gen, kind):
    index = torch.randint(-1, 5, (500,), generator=gen, device="cuda").sort().values.to(torch.int32)
    index[200:260] = -1
    index[300] = 99  # no group: as -1
    a, b, error = operands(gen, kind, 500, 5)
    padding = (index < 0) | (index > 4)
    expected, magnitude = reference(a, b, index)
    a.data.view(torch.uint8 if kind == "fp8" else torch.int16)[padding] = 0x7F if kind == "fp8" else 0x7FFF
    out = Output((500, N), torch.bfloat16)
    call("m_grouped_{kind}_gemm_nt_contiguous", kind, a, b, out.d, index)
    check(out.d, expected, magnitude, error)
    assert (out.d[padding] == 0).all()
    out.check_outside()


@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_offsets(gen, sizes, kind):
    rows = sum(sizes) + 40  # rows behind the last group stay as they are
    ends = torch.tensor(sizes).cumsum(0).to("cuda", torch.int32)
    a, b, error = operands(gen, kind, rows, len(sizes))
    index = torch.nn.functional.pad(indices(sizes), (0, 40), value=-1)
    expected, magnitude = reference(a, b, index)
    out = Output((rows, N), torch.bfloat16)
    call("m_grouped_{kind}_gemm_nt_contiguous", kind, a, b, out.d, ends, layout="offsets")
    used = sum(sizes)
    check(out.d[:used], expected[:used], magnitude[:used], error)
    assert torch.isnan(out.d[used:]).all()
    out.check_outside()


@pytest.mark.parametrize("zero_padding", (True, False))
@pytest.mark.parametrize("kind", KINDS)
def test_psum(gen, zero_padding, kind):
    sizes, alignment = [100, 128, 0, 1, 250], deep_gemm.get_mk_alignment_for_contiguous_layout()
    ends, index, row = [], [], 0
    for g, size in enumerate(sizes):
        begin = row
        ends.append(begin + size)
        row = -(-ends[-1] // alignment) * alignment
        index += [g] * size + [-1] * (row - ends[-1])
    index = torch.tensor(index, device="cuda", dtype=torch.int32)
    ends = torch.tensor(ends, device="cuda", dtype=torch.int32)
    a, b, error = operands(gen, kind, row, len(sizes))
    out = Output((row, N), torch.bfloat16)
    call("m_grouped_{kind}_gemm_nt_contiguous", kind, a, b, out.d, ends, use_psum_layout=True,
         ensure_zero_padding=zero_padding)
    expected, magnitude = reference(a, b, index)
    inside = index >= 0
    check(out.d[inside], expected[inside], magnitude[inside], error)
    padding = out.d[~inside]
    assert (padding == 0).all() if zero_padding else torch.isnan(padding).all()
    out.check_outside()


@pytest.mark.parametrize("sizes", ([5, 0, 70], [200, 200, 200], [1, 199, 64], [0, 0, 0]), ids=str)
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32))
@pytest.mark.parametrize("kind", KINDS)
def test_masked(gen, sizes, dtype, kind):
    groups, room = len(sizes), 200
    masked = torch.tensor(sizes, device="cuda", dtype=torch.int32)
    if kind == "bf16":
        a, b, error = bf16(gen, (groups, room, K)), bf16(gen, (groups, N, K)), BF16_ERROR
    else:
        a, b, error = (fp8(gen, (groups, room, K)),
                       fp8(gen, (groups, N, K), gran_mn=128), FP8_ERROR)
    expected, magnitude = product(a.values, b.values)
    for g, size in enumerate(sizes):  # what a mask leaves out may hold anything
        a.data[g, size:].view(torch.uint8 if kind == "fp8" else torch.int16).fill_(0x7F)
    out = Output((groups, room, N), dtype)
    call("m_grouped_{kind}_gemm_nt_masked", kind, a, b, out.d, masked, 50)
    for g, size in enumerate(sizes):
        check(out.d[g, :size], expected[g, :size], magnitude[g, :size], error)
        assert torch.isnan(out.d[g, size:]).all()
    out.check_outside()


@pytest.mark.parametrize("kind", KINDS)
def test_transposed_weights(gen, kind):
    sizes = [60, 0, 200]
    index = indices(sizes)
    a, b, error = operands(gen, kind, 260, 3)
    expected, magnitude = reference(a, b, index)
    b.data = b.data.transpose(1, 2).contiguous()
    if b.scale is not None:
        b.scale = b.scale.transpose(1, 2).contiguous()
    out = Output((260, N), torch.bfloat16)
    call("m_grouped_{kind}_gemm_nn_contiguous", kind, a, b, out.d, index)
    check(out.d, expected, magnitude, error)


@pytest.mark.parametrize("kind", KINDS)
def test_exact_sums_equal_the_cpu(gen, kind):
    sizes = [33, 0, 129, 64]
    index = indices(sizes)
    a, b, _ = operands(gen, kind, sum(sizes), 4, exact=True)
    d = torch.full((sum(sizes), N), POISON, device="cuda")
    on_cpu = torch.full((sum(sizes), N), POISON)
    call("m_grouped_{kind}_gemm_nt_contiguous", kind, a, b, d, index)
    name = f"m_grouped_{kind}_gemm_nt_contiguous"
    if kind == "bf16":
        getattr(deep_gemm, name)(a.data.cpu(), b.data.cpu(), on_cpu, index.cpu())
    else:
        getattr(deep_gemm, name)(a.cpu(), b.cpu(), on_cpu, index.cpu())
    assert same_bits(d.cpu(), on_cpu)


@pytest.mark.parametrize("seed", range(10))
def test_random_draws(gen, seed):
    torch.manual_seed(seed)
    groups = int(torch.randint(1, 65, ()))
    sizes = (torch.rand(groups) ** 4 * 400).int().tolist()
    n, k = int(torch.randint(1, 40, ())) * 8, int(torch.randint(1, 50, ())) * 16
    index = indices(sizes)
    if len(index) == 0:
        return
    a, b, error = operands(gen, "fp8", len(index), groups, n, k)
    out = Output((len(index), n), torch.bfloat16)
    call("m_grouped_{kind}_gemm_nt_contiguous", "fp8", a, b, out.d, index)
    check(out.d, *reference(a, b, index), error)
    out.check_outside()
