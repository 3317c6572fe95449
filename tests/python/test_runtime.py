# SPDX-License-Identifier: MIT
"""Settings, and the helpers of deep_gemm.testing."""
import os

import deep_gemm
import numpy as np
import pytest
from conftest import HAS_GPU
from deep_gemm import testing


@pytest.mark.parametrize("name,value,initial", (
    ("num_sms", 3, None), ("tc_util", 40, 100), ("pdl", True, False),
    ("batch_invariant", True, None), ("mk_alignment_for_contiguous_layout", 64, 128)))
def test_settings(name, value, initial):
    get, set_ = (getattr(deep_gemm, f"{verb}_{name}") for verb in ("get", "set"))
    before = get()
    assert initial is None or before == initial
    set_(value)
    assert get() == value
    set_(before)
    assert get() == before


def test_zero_restores():
    deep_gemm.set_mk_alignment_for_contiguous_layout(32)
    deep_gemm.set_mk_alignment_for_contiguous_layout(0)
    assert deep_gemm.get_m_alignment_for_contiguous_layout() == 128


def test_settings_refuse_nonsense():
    with pytest.raises(ValueError, match="power of two"):
        deep_gemm.set_mk_alignment_for_contiguous_layout(100)
    with pytest.raises(ValueError):
        deep_gemm.set_tc_util(101)
    with pytest.raises(TypeError):
        deep_gemm.set_num_sms("many")


def test_other_settings():
    deep_gemm.set_ignore_compile_dims(True)
    deep_gemm.set_block_size_multiple_of(32)
    deep_gemm.set_block_size_multiple_of((64, 16))
    deep_gemm.set_block_size_multiple_of(1)
    deep_gemm.use_deterministic_algorithms(True)
    assert deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout() == 128
    assert deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(8) == 128
    with pytest.raises(TypeError):  # how one caller finds out which release this is
        deep_gemm.get_theoretical_mk_alignment_for_contiguous_layout(8, 4)
    names = [row[0] for row in deep_gemm.get_environment()]
    assert "DG_NUM_THREADS" in names


def test_compile_mode_checks_and_computes_nothing(framework):
    a, b = framework.make(np.ones((4, 8)), "bfloat16"), framework.make(np.ones((6, 8)), "bfloat16")
    d = framework.poisoned((4, 6), "float32")
    deep_gemm.set_compile_mode(1)
    try:
        assert deep_gemm.get_compile_mode() == 1
        deep_gemm.bf16_gemm_nt(a, b, d)
        with pytest.raises(ValueError):
            deep_gemm.bf16_gemm_nt(a, b, d.T)
    finally:
        deep_gemm.set_compile_mode(0)
    assert np.isnan(framework.to_float64(d)).all()
    deep_gemm.bf16_gemm_nt(a, b, d)
    assert (framework.to_float64(d) == 8).all()


def test_calc_diff(framework, rng):
    values = rng.standard_normal((5, 7))
    x, y = framework.make(values, "float32"), framework.make(-values, "float32")
    assert testing.calc_diff(x, x) == pytest.approx(0, abs=1e-12)
    assert testing.calc_diff(x, y) == pytest.approx(2)
    assert testing.calc_diff(x * 0, x * 0) == 0.0
    assert testing.calc_diff(framework.make(values, "bfloat16"), x) < 1e-5


def test_count_bytes(framework):
    x = framework.make(np.zeros((3, 5)), "bfloat16")
    assert testing.count_bytes(x, None, (x, [x, None])) == 90


def test_assert_bitwise_equal(framework):
    x = framework.make(np.zeros(4), "float32")
    testing.assert_bitwise_equal(x, framework.copy(x), "same")
    with pytest.raises(AssertionError, match="differ"):
        testing.assert_bitwise_equal(x, -x, "signs")


def test_timing(monkeypatch):
    calls = []
    assert testing.bench(lambda: calls.append(1), 1, 3) >= 0 and len(calls) == 4
    assert len(testing.bench_kineto(lambda: None, ("no such", "kernel name"), num_tests=2)) == 2
    monkeypatch.setenv("DG_USE_NVIDIA_TOOLS", "1")
    assert testing.bench_kineto(lambda: calls.append(1), "gemm_") == 1 and len(calls) == 4


def test_decorators(monkeypatch, capsys):
    assert (testing.get_arch_major() > 0) == HAS_GPU
    assert testing.test_filter(lambda: True)(lambda x: x)(3) == 3
    assert testing.test_filter(lambda: False)(lambda x: x)(3) is None
    assert "left out" in capsys.readouterr().out
    monkeypatch.setenv("DG_EXAMPLE", "1")
    assert testing.ignore_env("DG_EXAMPLE", lambda: True)(os.getenv)("DG_EXAMPLE") is None
    assert testing.ignore_env("DG_EXAMPLE", lambda: False)(os.getenv)("DG_EXAMPLE") == "1"
    with testing.suppress_stdout_stderr(), testing.empty_suppress():
        os.write(1, b"nobody sees this")
