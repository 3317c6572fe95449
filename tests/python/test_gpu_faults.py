# SPDX-License-Identifier: MIT
"""Inputs that made kernels of this kind race, hang or overrun, at full size on the GPU.

Each test names the fault that its input would show. Results are compared with float64 products, and
repeats byte for byte while another stream keeps the GPU busy, so that CTAs start in odd orders.
tests/emulator/any_gemm/test_faults.c runs the same inputs, scaled down, under the race checker.
"""
import contextlib
import os
import subprocess
import sys

import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import (BF16_ERROR, FP8_ERROR, POISON, Output, bf16, ceil_div, check,  # noqa: E402
                    fp8, product, random_codes, same_bits)
from test_gpu_k_grouped import ERROR, KINDS, Side, reference, run  # noqa: E402

REPEATS = 20


@contextlib.contextmanager
def load(products=40):
    """Keeps the GPU busy from another stream."""
    side = torch.cuda.Stream()
    noise = torch.randn(2048, 2048, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    with torch.cuda.stream(side):
        for _ in range(products):
            noise = (noise @ noise).clamp(-1, 1)
    yield
    side.synchronize()


def check_repeats(call, d, repeats=REPEATS):
    """d holds a result that was checked: it comes out again, bit by bit."""
    first = d.clone()
    with load():
        results = []
        for _ in range(repeats):
            d.fill_(POISON)
            call()
            results.append(d.clone())
    for result in results:
        assert same_bits(result, first)


def check_k_grouped(gen, kind, sizes, m, n, form="first", accumulate=False, repeats=2, change=None,
                    error=None):
    a, b = Side(gen, kind, sizes, m), Side(gen, kind, sizes, n)
    if change is not None:
        change(a)
    out = Output((len(sizes), m, n), torch.float32)
    c = torch.randn(len(sizes), m, n, generator=gen, device="cuda") if accumulate else None

    def call():
        run(kind, a, b, out.d, sizes, c, form)
    call()
    check(out.d, *reference(a, b, sizes, c), error or ERROR[kind])
    out.check_outside()
    check_repeats(call, out.d, repeats)


FORMS = [("fp8", "first"), ("fp8", "flat"), ("fp8", "last"), ("bf16", "first")]


@pytest.mark.parametrize("kind,form", FORMS)
def test_descriptors_rewritten_under_running_loads(gen, kind, form):
    check_k_grouped(gen, kind, [128, 128, 256, 256, 128, 256, 256, 256], 768, 2048, form,
                    repeats=REPEATS)


@pytest.mark.parametrize("kind,form", FORMS)
def test_column_of_zeros_in_a_group_of_one_block(gen, kind, form):
    def change(a):
        a.data[256:384, 77] = 0
        a.values[256:384, 77] = 0
    check_k_grouped(gen, kind, [256, 128, 128, 256], 2048, 2048, form, repeats=REPEATS,
                    change=change)


@pytest.mark.parametrize("groups", (8, 128))
@pytest.mark.parametrize("m,n", ((128, 128), (256, 128), (256, 256), (768, 1536)))
@pytest.mark.parametrize("kind", KINDS)
def test_fewer_tiles_in_a_group_than_ctas(gen, kind, m, n, groups):
    sizes = ([128, 0, 256, 0, 0, 384, 128, 128] * 16)[:groups]
    check_k_grouped(gen, kind, sizes, m, n)


@pytest.mark.parametrize("extra", (0, 128, 1))
@pytest.mark.parametrize("kind", KINDS)
def test_very_long_k(gen, kind, extra):
    # Tensor cores cut BF16 sums off instead of rounding, 9216 times here: an H200 was off by 2^-18.1.
    error = 2.0**-17 if kind == "bf16" else None
    check_k_grouped(gen, kind, [147456 + extra], 512, 1024, error=error)


@pytest.mark.parametrize("k", (128, 256, 2048))
@pytest.mark.parametrize("m,n", ((1536, 256), (256, 24), (64, 16)))
def test_few_stages(gen, m, n, k):
    for gran in (128, 1):
        a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=gran)
        out = Output((m, n), torch.bfloat16)
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, out.d, recipe=(1, gran, 128))
        check(out.d, *product(a.values, b.values), FP8_ERROR)
        out.check_outside()
    for kind in KINDS:
        check_k_grouped(gen, kind, [k], m, n)


@pytest.mark.parametrize("where", ("all", "first tile", "whole tile", "tail"))
@pytest.mark.parametrize("kind", KINDS)
def test_rows_of_no_group(gen, kind, where):
    rows, groups, n, k = 14000, 4, 512, 256
    index = torch.arange(rows, device="cuda", dtype=torch.int32) * groups // rows
    marked = {"all": slice(0, rows), "first tile": slice(0, 1), "whole tile": slice(3456, 3840),
              "tail": slice(4000, rows)}[where]
    index[marked] = -1
    a, b = ((bf16(gen, (rows, k)), bf16(gen, (groups, n, k))) if kind == "bf16" else
            (fp8(gen, (rows, k)), fp8(gen, (groups, n, k), gran_mn=128)))
    a.data.view(torch.uint8)[index < 0] = 0xFF  # NaN
    if kind == "fp8":
        a.scale[index < 0] = POISON
    out = Output((rows, n), torch.bfloat16)
    if kind == "bf16":
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a.data, b.data, out.d, index)
    else:
        deep_gemm.m_grouped_fp8_gemm_nt_contiguous(a.pair, b.pair, out.d, index)
    for g in range(groups):
        mine = (index == g).nonzero().flatten()
        check(out.d[mine], *product(a.values[mine], b.values[g]), ERROR[kind])
    assert (out.d[index < 0] == 0).all()
    out.check_outside()


def test_offsets_beyond_2_31(gen):
    m, n, sizes = 8192, 128, [131072, 131072, 128]
    tokens, blocks = sum(sizes), sum(sizes) // 128
    last = slice(tokens - 128, tokens)

    def side(mn):
        data = torch.cat([random_codes(gen, (part, mn), False).to(torch.float8_e4m3fn)
                          .view(torch.uint8) for part in sizes]).view(torch.float8_e4m3fn)
        scale = torch.rand(blocks, mn, generator=gen, device="cuda") * 0.02 + 0.001
        return (data, scale), data[last].double() * scale[-1].double()
    (a, a_last), (b, b_last) = side(m), side(n)
    d = torch.full((3, m, n), POISON, device="cuda")
    ks = torch.tensor(sizes, device="cuda", dtype=torch.int32)
    deep_gemm.k_grouped_fp8_gemm_tn_contiguous(a, b, d, sizes, ks)
    check(d[2], *product(a_last.t(), b_last.t()), FP8_ERROR)
    assert not torch.isnan(d).any()


@pytest.mark.parametrize("sizes", ([0, 256, 0, 0, 128, 512], [256, 0, 512, 128, 0, 128, 0],
                                   [0, 0, 0], [1, 0, 0, 0, 0, 0, 0, 127]), ids=str)
@pytest.mark.parametrize("accumulate", (False, True))
@pytest.mark.parametrize("kind", KINDS)
def test_groups_without_tokens(gen, kind, sizes, accumulate):
    check_k_grouped(gen, kind, sizes, 512, 768, accumulate=accumulate)


@pytest.mark.parametrize("m,n", ((1408, 1408), (640, 640), (128, 2944)))
@pytest.mark.parametrize("kind", KINDS)
def test_pair_of_ctas_at_the_end_of_a_group(gen, kind, m, n):
    """An odd number of tiles in each group, groups of different length."""
    check_k_grouped(gen, kind, [384, 256], m, n, repeats=REPEATS)


@pytest.mark.parametrize("seed", range(50))
def test_random_group_sizes(gen, seed):
    torch.manual_seed(seed)
    groups = int(torch.randint(1, 65, ()))
    sizes = (torch.rand(groups) ** 4 * 4000).int().tolist()
    if seed % 5 == 0:
        sizes = [ceil_div(size, 128) * 128 for size in sizes]
    m, n = (int(torch.randint(1, 9, ())) * 128 + int(torch.randint(0, 3, ())) * 16
            for _ in range(2))
    kind, form = FORMS[seed % 4] if sum(sizes) > 0 else FORMS[0]
    check_k_grouped(gen, kind, sizes, m, n, form, seed % 3 == 0, repeats=REPEATS)


@pytest.fixture
def batch_invariant():
    before = deep_gemm.get_num_sms()
    deep_gemm.set_batch_invariant(True)
    yield
    deep_gemm.set_batch_invariant(False)
    deep_gemm.set_num_sms(before)


@pytest.mark.parametrize("n,k", ((768, 7168), (4096, 512)))
@pytest.mark.parametrize("kind", KINDS)
def test_bits_of_a_row_do_not_depend_on_m(gen, batch_invariant, kind, n, k):
    rows = 4096
    a, b = ((bf16(gen, (rows, k)), bf16(gen, (n, k))) if kind == "bf16" else
            (fp8(gen, (rows, k)), fp8(gen, (n, k), gran_mn=128)))
    first = None
    for m in (4096, 1, 2, 7, 31, 32, 33, 64, 200, 1000):
        for sms in (132, 131, 100, 1) if m < 300 else (132, 77):
            deep_gemm.set_num_sms(sms)
            out = Output((m, n), torch.bfloat16)
            if kind == "bf16":
                deep_gemm.bf16_gemm_nt(a.data[:m], b.data, out.d)
            else:
                deep_gemm.fp8_gemm_nt((a.data[:m], a.scale[:m]), b.pair, out.d)
            if first is None:
                first = out.d.clone()
                check(first, *product(a.values, b.values),
                      BF16_ERROR if kind == "bf16" else FP8_ERROR)
            assert same_bits(out.d, first[:m]), (m, sms)
            out.check_outside()


@pytest.mark.parametrize("sms", (1, 2, 3, 13, 64, 131, 132, 200))
@pytest.mark.parametrize("kind", KINDS)
def test_any_number_of_sms(gen, kind, sms):
    before = deep_gemm.get_num_sms()
    try:
        deep_gemm.set_num_sms(min(sms, before))
        check_k_grouped(gen, kind, [100, 0, 257, 31, 640], 400, 720)
    finally:
        deep_gemm.set_num_sms(before)


def test_values_in_gpu_memory_are_refused_where_asked():
    """DG_CHECK_DEVICE=1: sizes beyond the tensor are reported instead of cut, nothing is written."""
    program = """
import torch, deep_gemm
a = torch.randn(512, 256, device="cuda").bfloat16()
d = torch.full((2, 256, 256), 7.0, device="cuda")
def run(*sizes):
    sizes = torch.tensor(sizes, device="cuda", dtype=torch.int32)
    deep_gemm.k_grouped_bf16_gemm_tn_contiguous(a, a, d, None, sizes)
try:
    run(300, 213)
except ValueError as error:
    assert "entry 1 is 213" in str(error), error
    assert (d == 7).all()
    run(300, 212)
    assert (d != 7).any()
    print("refused")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "DG_CHECK_DEVICE": "1"})
    assert "refused" in done.stdout, done.stderr
