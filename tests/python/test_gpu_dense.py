# SPDX-License-Identifier: MIT
"""Dense products on the GPU: every layout, type, factor order and shape class."""
import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import BF16_ERROR, FP8_ERROR, Output, bf16, check, fp8, product, same_bits  # noqa: E402

FORMS = {"nt": (False, False), "nn": (False, True), "tn": (True, True), "tt": (True, False)}
TYPES = (torch.bfloat16, torch.float32)
SHAPES = [(1, 1, 1), (1, 576, 7168), (3, 17, 5), (16, 16, 128), (63, 65, 127), (64, 96, 129),
          (128, 128, 384), (129, 257, 512), (200, 300, 1000), (256, 2112, 1536), (300, 7, 4096),
          (1000, 1000, 1001), (513, 4096, 576)]


def transposed(operand, flip):
    """The operand's pair, stored the other way round if `flip`."""
    if not flip:
        return operand.pair
    data = operand.data.transpose(-1, -2).contiguous()
    scale = operand.scale
    return data, None if scale is None else scale.transpose(-1, -2).contiguous()


def call(name, form, a, b, d, c=None, **keywords):
    ta, tb = FORMS[form]
    function = getattr(deep_gemm, f"{name}_{form}")
    pair_a, pair_b = transposed(a, ta), transposed(b, tb)
    if name == "bf16_gemm":
        pair_a, pair_b = pair_a[0], pair_b[0]
    function(pair_a, pair_b, d, c, **keywords)


def run(name, form, a, b, dtype, accumulate, gen, error, **keywords):
    m, n = a.values.shape[0], b.values.shape[0]
    out = Output((m, n), dtype)
    expected, magnitude = product(a.values, b.values)
    c = None
    if accumulate:
        c = torch.randn(m, n, generator=gen, device="cuda").to(dtype)
        expected = expected + c.double()
    call(name, form, a, b, out.d, c, **keywords)
    check(out.d, expected, magnitude, error)
    out.check_outside()


@pytest.mark.parametrize("accumulate", (False, True))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fp8_block_scales(gen, shape, dtype, accumulate):
    m, n, k = shape
    a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=128)
    run("fp8_gemm", "nt", a, b, dtype, accumulate, gen, FP8_ERROR)


@pytest.mark.parametrize("accumulate", (False, True))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_fp8_vector_scales(gen, shape, dtype, accumulate):
    m, n, k = shape
    a, b = fp8(gen, (m, k)), fp8(gen, (n, k))
    run("fp8_gemm", "nt", a, b, dtype, accumulate, gen, FP8_ERROR, recipe=(1, 1, 128))


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("gran_n", (1, 128))
def test_fp8_forms(gen, form, gran_n):
    a, b = fp8(gen, (208, 592)), fp8(gen, (336, 592), gran_mn=gran_n)
    run("fp8_gemm", form, a, b, torch.bfloat16, False, gen, FP8_ERROR, recipe=(1, gran_n, 128))


@pytest.mark.parametrize("accumulate", (False, True))
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_bf16(gen, shape, dtype, accumulate):
    m, n, k = shape
    run("bf16_gemm", "nt", bf16(gen, (m, k)), bf16(gen, (n, k)), dtype, accumulate, gen, BF16_ERROR)


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("dtype", TYPES)
def test_bf16_forms(gen, form, dtype):
    a, b = bf16(gen, (208, 592)), bf16(gen, (336, 592))
    run("bf16_gemm", form, a, b, dtype, False, gen, BF16_ERROR)


def test_mn_contiguous_factors(gen):
    """Factors as get_mn_major_tma_aligned_tensor leaves them, [ceil(k / 128), m] in memory."""
    a, b = fp8(gen, (260, 900)), fp8(gen, (384, 900), gran_mn=128)
    a.scale = a.scale.t().contiguous().t()
    run("fp8_gemm", "nt", a, b, torch.bfloat16, False, gen, FP8_ERROR)


@pytest.mark.parametrize("scaled", ((False, False), (True, False), (False, True)))
def test_absent_factors_are_one(gen, scaled):
    a, b = fp8(gen, (140, 512), scaled=scaled[0]), fp8(gen, (260, 512), gran_mn=128, scaled=scaled[1])
    run("fp8_gemm", "nt", a, b, torch.float32, False, gen, FP8_ERROR)


@pytest.mark.parametrize("offset", (0, 1, 3, 8))
def test_odd_addresses_and_pitches(gen, offset):
    """Views that TMA cannot take go another way and give the same."""
    m, n, k = 100, 150, 333
    a, b = fp8(gen, (m, k)), fp8(gen, (n, k), gran_mn=128)
    raw = torch.zeros(m, k + 13, device="cuda").to(torch.float8_e4m3fn)
    raw[:, offset:offset + k] = a.data
    a.data = raw[:, offset:offset + k]
    out = Output((m, n), torch.bfloat16, pitch=n + 7, before=offset)
    call("fp8_gemm", "nt", a, b, out.d)
    check(out.d, *product(a.values, b.values), FP8_ERROR)
    out.check_outside()


@pytest.mark.parametrize("shape", [(5, 40, 96), (130, 384, 512), (300, 520, 640)], ids=str)
@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("kind", ("block", "vector", "bf16"))
def test_exact_sums_equal_the_cpu(gen, shape, dtype, kind):
    m, n, k = shape
    d = Output((m, n), dtype)
    on_cpu = torch.full((m, n), float("nan"), dtype=dtype)
    if kind == "bf16":
        a, b = bf16(gen, (m, k), exact=True), bf16(gen, (n, k), exact=True)
        deep_gemm.bf16_gemm_nt(a.data, b.data, d.d)
        deep_gemm.bf16_gemm_nt(a.data.cpu(), b.data.cpu(), on_cpu)
    else:
        gran = 128 if kind == "block" else 1
        a, b = fp8(gen, (m, k), exact=True), fp8(gen, (n, k), gran_mn=gran, exact=True)
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, d.d, recipe=(1, gran, 128))
        deep_gemm.fp8_gemm_nt(a.cpu(), b.cpu(), on_cpu, recipe=(1, gran, 128))
    assert same_bits(d.d.cpu(), on_cpu)


@pytest.mark.parametrize("recipe", ((1, 128, 32), (1, 1, 32)))
def test_fine_and_packed_factors(gen, recipe):
    a, b = fp8(gen, (70, 300), gran_k=32), fp8(gen, (200, 300), recipe[1], 32)
    run("fp8_gemm", "nt", a, b, torch.bfloat16, False, gen, FP8_ERROR, recipe=recipe)


def test_empty_extents(gen):
    c = torch.randn(4, 8, generator=gen, device="cuda")
    d = torch.full((4, 8), float("nan"), device="cuda")
    nothing = torch.empty(4, 0, device="cuda", dtype=torch.bfloat16)
    other = torch.empty(8, 0, device="cuda", dtype=torch.bfloat16)
    deep_gemm.bf16_gemm_nt(nothing, other, d, c)
    assert same_bits(d, c)
    deep_gemm.bf16_gemm_nt(nothing, other, d)
    assert (d == 0).all()
    deep_gemm.bf16_gemm_nt(nothing[:0], other, d[:0])
