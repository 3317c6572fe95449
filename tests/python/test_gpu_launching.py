# SPDX-License-Identifier: MIT
"""How calls reach the GPU: graphs, streams, threads, repeats, other settings, first use."""
import subprocess
import sys
import threading

import deep_gemm
import pytest

torch = pytest.importorskip("torch")
from gpu_oracle import FP8_ERROR, Output, bf16, check, fp8, product, same_bits  # noqa: E402

M, N, K = 384, 1536, 2048


@pytest.fixture
def dense(gen):
    a, b = fp8(gen, (M, K)), fp8(gen, (N, K), gran_mn=128)
    return a, b, product(a.values, b.values)


def grouped(gen):
    """One call of each grouped family: (function that writes d, d)."""
    sizes = [100, 0, 257, 31]
    rows = sum(sizes)
    ends = torch.tensor(sizes).cumsum(0).to("cuda", torch.int32)
    x, w = bf16(gen, (rows, 512)), bf16(gen, (4, 384, 512))
    y = torch.empty(rows, 384, device="cuda", dtype=torch.bfloat16)
    index = torch.repeat_interleave(torch.arange(4), torch.tensor(sizes)).to("cuda", torch.int32)
    grad = torch.empty(4, 512, 384, device="cuda")
    ks = torch.tensor(sizes, device="cuda", dtype=torch.int32)

    def forward():
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x.data, w.data, y, index)

    def backward():
        deep_gemm.k_grouped_bf16_gemm_tn_contiguous(x.data, y, grad, None, ks)
    assert int(ends[-1]) == rows
    return (forward, y), (backward, grad)


def test_repeats_are_bitwise_equal(gen, dense):
    a, b, _ = dense
    calls = [(lambda d=d: deep_gemm.fp8_gemm_nt(a.pair, b.pair, d), d)
             for d in (torch.empty(M, N, device="cuda", dtype=torch.bfloat16),)]
    calls += grouped(gen)
    for function, d in calls:
        function()
        first = d.clone()
        for _ in range(20):
            d.fill_(float("nan"))
            function()
            assert same_bits(d, first)


def test_repeats_under_background_load(gen, dense):
    a, b, _ = dense
    d = torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
    deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
    first = d.clone()
    torch.cuda.synchronize()
    noise = torch.randn(4096, 4096, device="cuda", dtype=torch.bfloat16)
    side = torch.cuda.Stream()
    with torch.cuda.stream(side):
        for _ in range(20):
            noise = (noise @ noise).clamp(-1, 1)
    for _ in range(20):
        d.fill_(float("nan"))
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
        assert same_bits(d, first)
    side.synchronize()


def test_captured_and_replayed(gen, dense):
    a, b, reference = dense
    d = torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
    groups = grouped(gen)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
        for function, _ in groups:
            function()
    expected = []
    for function, out in groups:
        function()
        expected.append(out.clone())
    for _ in range(3):
        d.fill_(float("nan"))
        for _, out in groups:
            out.fill_(float("nan"))
        graph.replay()
        torch.cuda.synchronize()
        check(d, *reference, FP8_ERROR)
        for (_, out), want in zip(groups, expected):
            assert same_bits(out, want)
    a.data.copy_(a.data.flip(0))  # the graph reads operands when it runs, not when it was captured
    a.scale.copy_(a.scale.flip(0))
    graph.replay()
    torch.cuda.synchronize()
    check(d, reference[0].flip(0), reference[1].flip(0), FP8_ERROR)


def every_family(gen):
    """(call, outputs) of each kind of call there is."""
    def tensor(*shape, dtype=torch.bfloat16):
        return torch.empty(shape, device="cuda", dtype=dtype)

    def numbers(*values):
        return torch.tensor(values, device="cuda", dtype=torch.int32)
    x, w, experts = fp8(gen, (256, 512)), fp8(gen, (384, 512), gran_mn=128), \
        fp8(gen, (2, 384, 512), gran_mn=128)
    slots = fp8(gen, (2, 128, 512))
    y = tensor(256, 384)
    yield (lambda: deep_gemm.fp8_gemm_nt(x.pair, w.pair, y)), [y]
    y32 = tensor(256, 384, dtype=torch.float32)
    yield (lambda: deep_gemm.fp8_gemm_nt(x.pair, w.pair, y32, y32.zero_())), [y32]
    for layout, groups in (("index", numbers(*[0] * 128, *[1] * 128)), ("sizes", numbers(200, 56)),
                           ("psum", numbers(100, 256)), ("offsets", numbers(1, 256)),
                           ("block_index", numbers(*[1] * 256))):
        d = tensor(256, 384).zero_()
        yield (lambda d=d, layout=layout, groups=groups:
               deep_gemm.m_grouped_fp8_gemm_nt_contiguous(
                   x.pair, experts.pair, d, groups, layout=layout)), [d]
    masked = tensor(2, 128, 384).zero_()
    counts = numbers(128, 5)
    yield (lambda: deep_gemm.m_grouped_fp8_gemm_nt_masked(
        slots.pair, experts.pair, masked, counts, 64)), [masked]
    a, b = bf16(gen, (256, 128)), bf16(gen, (256, 192))
    stack = tensor(2, 128, 192, dtype=torch.float32)
    several = [tensor(128, 192, dtype=torch.float32) for _ in range(2)]
    total, sizes = tensor(128, 192), numbers(100, 156)
    for d in (stack, several, total):
        yield (lambda d=d: deep_gemm.k_grouped_bf16_gemm_tn_contiguous(
            a.data, b.data, d, None, sizes)), d if isinstance(d, list) else [d]


def test_every_family_in_a_graph(gen):
    calls = list(every_family(gen))
    expected = []
    for call, outputs in calls:
        call()
        expected.append([out.clone() for out in outputs])
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        for call, outputs in calls:
            for out in outputs:
                out.zero_()
            call()
    for _ in range(2):
        graph.replay()
        torch.cuda.synchronize()
        for (_, outputs), wanted in zip(calls, expected):
            assert all(same_bits(out, want) for out, want in zip(outputs, wanted))


@pytest.mark.skipif(torch.cuda.device_count() < 2, reason="one GPU")
def test_the_device_of_the_tensors_counts_not_the_current_one():
    x = torch.ones(64, 128, device="cuda:1", dtype=torch.bfloat16)
    d = torch.zeros(64, 64, device="cuda:1")
    deep_gemm.bf16_gemm_nt(x, x, d)
    torch.cuda.synchronize(1)
    assert torch.cuda.current_device() == 0 and (d == 128).all()


def test_first_use_inside_a_capture():
    """Embedded kernels are loaded safely while a stream captures: nothing ran before in this
    process."""
    program = """
import torch, deep_gemm
x = torch.ones(256, 512, device="cuda", dtype=torch.bfloat16)
w = torch.ones(384, 512, device="cuda", dtype=torch.bfloat16)
y = torch.zeros(256, 384, device="cuda", dtype=torch.bfloat16)
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    deep_gemm.bf16_gemm_nt(x, w, y)
assert (y == 0).all()
graph.replay()
torch.cuda.synchronize()
assert (y == 512).all()
print("right")
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert "right" in done.stdout, done.stderr


def test_side_stream_order(gen, dense):
    """The call waits for what its stream holds, and what follows waits for the call."""
    a, b, reference = dense
    stream = torch.cuda.Stream()
    late = torch.zeros_like(a.data)
    d = torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(20_000_000)
        late.copy_(a.data)
        deep_gemm.fp8_gemm_nt((late, a.scale), b.pair, d)
        copy = d.clone()
        d.zero_()
    stream.synchronize()
    check(copy, *reference, FP8_ERROR)


def test_threads_with_streams_of_their_own(gen, dense):
    a, b, _ = dense
    want = torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
    deep_gemm.fp8_gemm_nt(a.pair, b.pair, want)
    torch.cuda.synchronize()
    failures = []

    def work():
        try:
            with torch.cuda.stream(torch.cuda.Stream()):
                for _ in range(50):
                    d = torch.full((M, N), float("nan"), device="cuda", dtype=torch.bfloat16)
                    deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
                    if not same_bits(d, want):
                        failures.append("differs")
        except Exception as error:  # a thread's exception would be lost
            failures.append(repr(error))
    threads = [threading.Thread(target=work) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures, failures[:3]


@pytest.mark.parametrize("sms", (1, 7, 64, 131))
def test_any_number_of_sms(gen, dense, sms):
    a, b, reference = dense
    before = deep_gemm.get_num_sms()
    deep_gemm.set_num_sms(sms)
    try:
        out = Output((M, N), torch.bfloat16)
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, out.d)
        check(out.d, *reference, FP8_ERROR)
        out.check_outside()
    finally:
        deep_gemm.set_num_sms(before)


@pytest.mark.parametrize("on", (False, True))
def test_dependent_launch(gen, dense, on):
    a, b, reference = dense
    deep_gemm.set_pdl(on)
    try:
        d = torch.empty(M, N, device="cuda", dtype=torch.bfloat16)
        for _ in range(10):
            late = a.data.clone()
            deep_gemm.fp8_gemm_nt((late, a.scale), b.pair, d)
            late.zero_()
        check(d, *reference, FP8_ERROR)
    finally:
        deep_gemm.set_pdl(False)


def test_a_mix_of_devices_is_refused(gen, dense):
    a, b, _ = dense
    d = torch.empty(M, N, dtype=torch.bfloat16)
    with pytest.raises(RuntimeError, match="device"):
        deep_gemm.fp8_gemm_nt(a.pair, b.pair, d)
