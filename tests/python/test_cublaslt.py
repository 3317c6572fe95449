# SPDX-License-Identifier: MIT
"""The cuBLASLt wrappers: against float64 on the CPU, and on a GPU where there is one."""
import os
import subprocess
import sys

import deep_gemm
import numpy as np
import pytest
from conftest import TorchOnGpu
from reference import check, product, round_to
from test_gemm import FORMS

TYPES = ("bfloat16", "float16", "float32", "float8_e4m3fn")


def draw(rng, shape, dtype):
    """Values that survive TF32 too."""
    values = round_to(rng.standard_normal(shape), "bfloat16")
    return round_to(values, dtype) if dtype == "float8_e4m3fn" else values


def made(framework, values, dtype, transposed):
    return framework.make(np.ascontiguousarray(values.T if transposed else values), dtype)


def combinations():
    for form in FORMS:
        for dtype in TYPES:
            for output in ("bfloat16", "float32"):
                yield form, dtype, output


def gpu_takes(form, dtype, output):
    return output == "float32" or dtype == "bfloat16" if dtype != "float8_e4m3fn" else form == "nt"


@pytest.mark.parametrize("form,dtype,output", list(combinations()))
def test_forms_and_types(framework, rng, form, dtype, output):
    m, n, k = 48, 80, 160
    a, b = draw(rng, (m, k), dtype), draw(rng, (n, k), dtype)
    d = framework.poisoned((m, n), output)
    operands = [made(framework, x, dtype, t) for x, t in zip((a, b), FORMS[form])]
    function = getattr(deep_gemm, f"cublaslt_gemm_{form}")
    if isinstance(framework, TorchOnGpu) and not gpu_takes(form, dtype, output):
        pytest.skip("cuBLASLt need not take this")
    assert function(*operands, d) is None
    check(framework, d, *product(a, b), output)


@pytest.mark.parametrize("output", ("bfloat16", "float32"))
@pytest.mark.parametrize("aliased", (False, True))
@pytest.mark.parametrize("form", FORMS)
def test_accumulator(framework, rng, form, output, aliased):
    m, n, k = 40, 56, 72
    a, b = draw(rng, (m, k), "bfloat16"), draw(rng, (n, k), "bfloat16")
    start = round_to(rng.standard_normal((m, n)) * 32, output)
    c = framework.make(start, output)
    d = c if aliased else framework.poisoned((m, n), output)
    operands = [made(framework, x, "bfloat16", t) for x, t in zip((a, b), FORMS[form])]
    getattr(deep_gemm, f"cublaslt_gemm_{form}")(*operands, d, c=c)
    expected, magnitude = product(a, b)
    check(framework, d, expected + start, magnitude + np.abs(start), output)
    if not aliased:
        assert (framework.to_float64(c) == start).all()


def test_any_shape_and_stride(framework, rng):
    for m, n, k in ((1, 1, 1), (3, 17, 5), (130, 9, 257)):
        a, b = draw(rng, (m, k + 8), "bfloat16"), draw(rng, (n, k + 8), "bfloat16")
        wide = framework.poisoned((m, n + 24), "bfloat16")
        d = wide[:, 8:8 + n]
        deep_gemm.cublaslt_gemm_nt(framework.make(a, "bfloat16")[:, :k],
                                   framework.make(b, "bfloat16")[:, :k], d)
        check(framework, d, *product(a[:, :k], b[:, :k]), "bfloat16")
        outside = framework.to_float64(wide)
        assert np.isnan(outside[:, :8]).all() and np.isnan(outside[:, 8 + n:]).all()


def test_nothing_to_do_and_empty_sums(framework, rng):
    for m, n in ((0, 16), (16, 0), (0, 0)):
        a, b = framework.poisoned((m, 64), "float16"), framework.poisoned((n, 64), "float16")
        deep_gemm.cublaslt_gemm_nt(a, b, framework.poisoned((m, n), "float32"))
    a, b = framework.poisoned((3, 0), "float32"), framework.poisoned((5, 0), "float32")
    d = framework.poisoned((3, 5), "float32")
    deep_gemm.cublaslt_gemm_nt(a, b, d)
    assert (framework.to_float64(d) == 0).all()
    start = round_to(rng.standard_normal((3, 5)), "float32")
    deep_gemm.cublaslt_gemm_nt(a, b, d, framework.make(start, "float32"))
    assert (framework.to_float64(d) == start).all()


def test_limit_on_sms(framework, rng):
    a, b = draw(rng, (64, 128), "bfloat16"), draw(rng, (64, 128), "bfloat16")
    d = framework.poisoned((64, 64), "float32")
    deep_gemm.set_num_sms(7)
    try:
        deep_gemm.cublaslt_gemm_nt(*(framework.make(x, "bfloat16") for x in (a, b)), d)
    finally:
        deep_gemm.set_num_sms(0)
    check(framework, d, *product(a, b), "float32")


def test_refusals(framework):
    x, y = framework.poisoned((4, 8), "float32"), framework.poisoned((4, 8), "bfloat16")
    d = framework.poisoned((4, 4), "float32")
    for arguments, error, name in (((x, y, d), TypeError, "b"), ((x, x[:, :4], d), ValueError, "b"),
                                   ((x, None, d), TypeError, "b"),
                                   ((x, x, framework.poisoned((4, 4), "float16")), TypeError, "d"),
                                   (((x, None), x, d), TypeError, "a")):
        with pytest.raises(error, match=f"{name}: "):
            deep_gemm.cublaslt_gemm_nt(*arguments)


def test_torchs_handle_may_be_asked_for_without_a_gpu():
    """The switch is about CUDA tensors of torch: others do not notice it."""
    program = "import numpy as np, deep_gemm; x = np.ones((4, 8), np.float32); " \
              "d = np.zeros((4, 4), np.float32); deep_gemm.cublaslt_gemm_nt(x, x, d); print(d.sum())"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60,
                          env={**os.environ, "DG_USE_PYTORCH_CUBLASLT_HANDLE": "1"})
    assert done.stdout.strip() == "128.0", done.stderr
