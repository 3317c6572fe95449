# SPDX-License-Identifier: MIT
"""K-grouped products, the weight gradients, on the GPU: operand forms, outputs, any sizes."""
import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import (BF16_ERROR, FP8_ERROR, POISON, Output, ceil_div, check,  # noqa: E402
                    random_codes, same_bits)

SIZES = {
    "aligned": [128, 256, 128],
    "ragged": [1, 127, 0, 129, 300, 15],
    "empty ends": [0, 0, 77, 0],
    "one takes all": [0, 600, 0],
    "all empty": [0, 0],
    "many": [(37 * i) % 53 for i in range(40)],
}
M, N = 272, 208
KINDS = ("fp8", "bf16")
ERROR = {"fp8": FP8_ERROR, "bf16": BF16_ERROR}


class Side:
    """[tokens, mn] of one operand: `data` tokens first, factors [rows, mn], values in float64."""

    def __init__(self, gen, kind, sizes, mn, exact=False):
        tokens = sum(sizes)
        codes = random_codes(gen, (tokens, mn), exact)
        self.data = codes.to(torch.bfloat16 if kind == "bf16" else torch.float8_e4m3fn)
        self.values, self.scale, self.sizes = self.data.double(), None, sizes
        if kind == "fp8":
            rows = sum(ceil_div(size, 128) for size in sizes)
            shape = (rows, mn)
            if exact:
                scale = torch.exp2(torch.randint(-2, 3, shape, generator=gen, device="cuda").float())
            else:
                scale = torch.rand(shape, generator=gen, device="cuda") * 0.02 + 0.001
            block_of_token = torch.cat([torch.zeros(0, dtype=torch.long)] + [
                torch.arange(size) // 128 + sum(ceil_div(s, 128) for s in sizes[:g])
                for g, size in enumerate(sizes)]).to("cuda")
            self.scale = scale
            self.values = self.values * scale.double()[block_of_token]

    def flat(self):
        parts = self.data.view(torch.uint8).split(self.sizes)
        return torch.cat([part.t().contiguous().flatten() for part in parts]).view(
            torch.float8_e4m3fn)

    def argument(self, form):
        if form == "flat":
            return self.flat(), self.scale.t()
        if form == "last":
            data = self.data.view(torch.uint8).t().contiguous().view(torch.float8_e4m3fn)
            return data, self.scale.t().contiguous()
        return self.data, self.scale


def reference(a, b, sizes, c=None):
    parts = list(zip(a.values.split(sizes), b.values.split(sizes)))
    expected = torch.stack([x.t() @ y for x, y in parts])
    magnitude = torch.stack([x.abs().t() @ y.abs() for x, y in parts])
    return (expected if c is None else expected + c.double()), magnitude


def run(kind, a, b, d, sizes, c=None, form="first", host=True, device=True):
    ks = torch.tensor(sizes, device="cuda", dtype=torch.int32) if device else None
    host_sizes = sizes if host else None
    if kind == "bf16":
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a.data, b.data, d, host_sizes, ks, c)
    elif form == "first":
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(a.argument(form), b.argument(form), d,
                                                   host_sizes, ks, c)
    else:
        deep_gemm.k_grouped_fp8_gemm_nt_contiguous(a.argument(form), b.argument(form), d,
                                                   host_sizes, ks, c)


@pytest.mark.parametrize("accumulate", (False, True))
@pytest.mark.parametrize("dtype", (torch.float32, torch.bfloat16))
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
@pytest.mark.parametrize("kind", KINDS)
def test_token_major(gen, kind, sizes, dtype, accumulate):
    a, b = Side(gen, kind, sizes, M), Side(gen, kind, sizes, N)
    out = Output((len(sizes), M, N), dtype)
    c = torch.randn(len(sizes), M, N, generator=gen, device="cuda").to(dtype) if accumulate else None
    run(kind, a, b, out.d, sizes, c)
    check(out.d, *reference(a, b, sizes, c), ERROR[kind])
    out.check_outside()


@pytest.mark.parametrize("form", ("flat", "last"))
@pytest.mark.parametrize("sizes", SIZES.values(), ids=SIZES)
def test_k_major(gen, sizes, form):
    if sum(sizes) == 0:
        pytest.skip("no tokens: the forms are one")
    a, b = Side(gen, "fp8", sizes, M), Side(gen, "fp8", sizes, N)
    out = Output((len(sizes), M, N), torch.float32)
    c = torch.randn(len(sizes), M, N, generator=gen, device="cuda")
    run("fp8", a, b, out.d, sizes, c, form)
    check(out.d, *reference(a, b, sizes, c), FP8_ERROR)
    out.check_outside()


@pytest.mark.parametrize("host,device", ((True, False), (False, True)))
@pytest.mark.parametrize("kind", KINDS)
def test_sizes_from_either_side(gen, kind, host, device):
    sizes = SIZES["ragged"]
    a, b = Side(gen, kind, sizes, M), Side(gen, kind, sizes, N)
    out = Output((len(sizes), M, N), torch.float32)
    run(kind, a, b, out.d, sizes, host=host, device=device)
    check(out.d, *reference(a, b, sizes), ERROR[kind])


@pytest.mark.parametrize("kind", KINDS)
def test_accumulates_in_place_and_into_a_list(gen, kind):
    sizes = SIZES["ragged"]
    a, b = Side(gen, kind, sizes, M), Side(gen, kind, sizes, N)
    grads = [torch.randn(M, N, generator=gen, device="cuda") for _ in sizes]
    before = torch.stack(grads)
    run(kind, a, b, grads, sizes, grads)
    check(torch.stack(grads), *reference(a, b, sizes, before), ERROR[kind])
    stack = before.clone()
    run(kind, a, b, stack, sizes, stack)
    assert same_bits(stack, torch.stack(grads))


@pytest.mark.parametrize("kind", KINDS)
def test_sum_over_groups(gen, kind):
    sizes = SIZES["ragged"]
    a, b = Side(gen, kind, sizes, M), Side(gen, kind, sizes, N)
    out = Output((M, N), torch.bfloat16)
    run(kind, a, b, out.d, sizes)
    expected, magnitude = reference(a, b, sizes)
    check(out.d, expected.sum(0), magnitude.sum(0), ERROR[kind])
    out.check_outside()


@pytest.mark.parametrize("poison", (float("nan"), float("inf")))
@pytest.mark.parametrize("kind", KINDS)
def test_one_group_does_not_reach_another(gen, kind, poison):
    sizes = [100, 61, 130, 7]
    a, b = Side(gen, kind, sizes, M), Side(gen, kind, sizes, N)
    expected, magnitude = reference(a, b, sizes)
    begin, end = 100, 161
    for side in (a, b):
        if kind == "bf16":
            side.data[begin:end] = poison
        else:
            side.data.view(torch.uint8)[begin:end] = 0x7F
            side.scale[1] = poison
    out = Output((4, M, N), torch.float32)
    run(kind, a, b, out.d, sizes)
    for g in (0, 2, 3):
        check(out.d[g], expected[g], magnitude[g], ERROR[kind])
    assert not torch.isfinite(out.d[1]).all()


@pytest.mark.parametrize("kind", KINDS)
def test_exact_sums_equal_the_cpu(gen, kind):
    sizes = SIZES["ragged"]
    a, b = Side(gen, kind, sizes, M, True), Side(gen, kind, sizes, N, True)
    d = torch.full((len(sizes), M, N), POISON, device="cuda")
    run(kind, a, b, d, sizes)
    on_cpu = torch.full((len(sizes), M, N), POISON)
    if kind == "bf16":
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(
            a.data.cpu(), b.data.cpu(), on_cpu, sizes, None)
    else:
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(
            (a.data.cpu(), a.scale.cpu()), (b.data.cpu(), b.scale.cpu()), on_cpu, sizes, None)
    assert same_bits(d.cpu(), on_cpu)


@pytest.mark.parametrize("seed", range(50))
def test_random_draws(gen, seed):
    """Sizes, extents and both kinds at random, odd tile counts included; twice, bitwise equal."""
    torch.manual_seed(seed)
    groups = int(torch.randint(1, 20, ()))
    sizes = (torch.rand(groups) ** 3 * 500).int().tolist()
    m, n = (int(torch.randint(1, 40, ())) * 16 for _ in range(2))
    kind = KINDS[seed % 2]
    a, b = Side(gen, kind, sizes, m), Side(gen, kind, sizes, n)
    out = Output((groups, m, n), torch.float32)
    run(kind, a, b, out.d, sizes)
    check(out.d, *reference(a, b, sizes), ERROR[kind])
    out.check_outside()
    first = out.d.clone()
    out.d.fill_(POISON)
    run(kind, a, b, out.d, sizes)
    assert same_bits(out.d, first)


def test_sizes_that_do_not_fit_are_clamped(gen):
    """Values on the device cannot be refused: they end at the tensor, and nothing outside is read."""
    sizes = [100, 50, 60]
    a, b = Side(gen, "bf16", sizes, M), Side(gen, "bf16", sizes, N)
    out = Output((3, M, N), torch.float32)
    wrong = torch.tensor([100, 50, 1 << 30], device="cuda", dtype=torch.int32)
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a.data, b.data, out.d, None, wrong)
    check(out.d, *reference(a, b, sizes), BF16_ERROR)
    wrong[1] = -5
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a.data, b.data, out.d, None, wrong)
    assert not torch.isnan(out.d).any()
    out.check_outside()
