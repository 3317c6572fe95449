# SPDX-License-Identifier: MIT
"""The cuBLASLt wrappers on a GPU: against torch, in graphs, on streams, and what they may not cost."""
import os
import subprocess
import sys

import deep_gemm
import pytest

torch = pytest.importorskip("torch")


def calc_diff(x, y):
    x, y = x.double(), y.double()
    return (1 - 2 * (x * y).sum() / (x * x + y * y).sum()).item()


def operands(gen, m, n, k):
    return [torch.randn(shape, generator=gen, device="cuda").bfloat16() for shape in ((m, k), (n, k))]


@pytest.mark.parametrize("shape", ((128, 2112, 7168), (4096, 576, 7168), (1, 4096, 7168)), ids=str)
@pytest.mark.parametrize("dtype", (torch.bfloat16, torch.float32))
@pytest.mark.parametrize("accumulate", (False, True))
def test_agrees_with_float32(gen, shape, dtype, accumulate):
    m, n, k = shape
    a, b = operands(gen, m, n, k)
    c = torch.randn(m, n, generator=gen, device="cuda").to(dtype) if accumulate else None
    d = torch.full((m, n), float("nan"), dtype=dtype, device="cuda")
    deep_gemm.cublaslt_gemm_nt(a, b, d, c)
    expected = a.float() @ b.float().T + (c.float() if accumulate else 0)
    limit = 1e-5 if accumulate and dtype == torch.bfloat16 else 6e-7
    assert calc_diff(d, expected.to(dtype)) < limit


def test_fp8_without_factors(gen):
    a, b = (x.to(torch.float8_e4m3fn) for x in operands(gen, 256, 512, 1024))
    d = torch.empty(256, 512, device="cuda")
    deep_gemm.cublaslt_gemm_nt(a, b, d)
    assert calc_diff(d, a.float() @ b.float().T) < 1e-3
    with pytest.raises(RuntimeError, match="no algorithm for e4m3"):
        deep_gemm.cublaslt_gemm_nt(a[:, :1015], b[:, :1015], d)


def test_graph_with_the_first_call_inside(gen):
    a, b = operands(gen, 264, 520, 1032)  # a shape that no other test has
    d = torch.zeros(264, 520, device="cuda")
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        deep_gemm.cublaslt_gemm_nt(a, b, d)
    assert (d == 0).all()
    graph.replay()
    first = d.clone()
    assert calc_diff(d, a.float() @ b.float().T) < 1e-5
    graph.replay()
    assert torch.equal(d, first)


def test_follows_the_current_stream(gen):
    a, b = operands(gen, 2048, 2048, 2048)
    d = torch.zeros(2048, 2048, device="cuda")
    stream = torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(10**8)
        deep_gemm.cublaslt_gemm_nt(a, b, d)
    assert not stream.query()
    stream.synchronize()
    assert calc_diff(d, a.float() @ b.float().T) < 1e-5


def test_limit_on_sms_and_repeats(gen):
    a, b = operands(gen, 1024, 1024, 4096)
    for sms in (0, 20):
        deep_gemm.set_num_sms(sms)
        try:
            results = []
            for _ in range(5):
                d = torch.empty(1024, 1024, device="cuda")
                deep_gemm.cublaslt_gemm_nt(a, b, d)
                results.append(d)
        finally:
            deep_gemm.set_num_sms(0)
        assert all(torch.equal(d, results[0]) for d in results)


PROGRAM = """
import torch, deep_gemm
a, b = (torch.randn(256, 256, device="cuda").bfloat16() for _ in "ab")
d = torch.empty(256, 256, device="cuda")
deep_gemm.cublaslt_gemm_nt(a, b, d)
print((d - a.float() @ b.float().T).abs().max().item() < 1e-2)
"""


@pytest.mark.parametrize("value", ("0", "1"))
def test_with_torchs_handle(value):
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "DG_USE_PYTORCH_CUBLASLT_HANDLE": value})
    assert done.stdout.strip() == "True", done.stderr


def test_without_the_library():
    done = subprocess.run([sys.executable, "-c", PROGRAM], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "DG_CUBLASLT": "/nowhere/libcublasLt.so.13"})
    assert "no cuBLASLt: DG_CUBLASLT: /nowhere" in done.stderr
