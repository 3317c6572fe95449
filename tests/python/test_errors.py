# SPDX-License-Identifier: MIT
"""Wrong calls: the right exception, a text that names the argument, and nothing written."""
import deep_gemm
import numpy as np
import pytest
from reference import Operand

M, N, K = 8, 24, 256


CASES = {
    "a is no pair": (TypeError, "a: expected a pair", {"a": lambda f, x, s: x}),
    "a has three parts": (TypeError, "a: expected a pair", {"a": lambda f, x, s: (x, s, s)}),
    "a is a string": (TypeError, "a: a <class 'str'> is no", {"a": lambda f, x, s: ("x", s)}),
    "values missing": (TypeError, "a: None", {"a": lambda f, x, s: (None, s)}),
    "float16 values": (TypeError, "a",
                       {"a": lambda f, x, s: (f.make(np.zeros((M, K)), "float16"), s)}),
    "float32 values": (TypeError, "a",
                       {"a": lambda f, x, s: (f.make(np.zeros((M, K)), "float32"), s)}),
    "bfloat16 factors": (TypeError, "a.scale",
                         {"a": lambda f, x, s: (x, f.make(np.ones((M, 2)), "bfloat16"))}),
    "factors transposed": (ValueError, "a.scale", {"a": lambda f, x, s: (x, s.T)}),
    "factors of b for a": (ValueError, "a.scale",
                           {"a": lambda f, x, s: (x, f.make(np.ones((1, 2)), "float32"))}),
    "one dimension": (ValueError, "a", {"a": lambda f, x, s: (x[0], s)}),
    "five dimensions": (ValueError, "axes", {"a": lambda f, x, s: (x[None, None, None], s)}),
    "k differs": (ValueError, "b", {"b": lambda f, x, s: (x[:, :128], s[:, :1])}),
    "d too small": (ValueError, "d", {"d": lambda f: f.poisoned((M, N - 1), "float32")}),
    "d is float16": (TypeError, "d", {"d": lambda f: f.make(np.zeros((M, N)), "float16")}),
    "d column-major": (ValueError, "d", {"d": lambda f: f.poisoned((N, M), "float32").T}),
    "d missing": (TypeError, "d: None", {"d": lambda f: None}),
    "c of another type": (TypeError, "c", {"c": lambda f: f.make(np.zeros((M, N)), "bfloat16")}),
    "c too small": (ValueError, "c", {"c": lambda f: f.make(np.zeros((M, 1)), "float32")}),
    "recipe of two": (ValueError, "recipe", {"recipe": lambda f: (1, 128)}),
    "recipe of words": (TypeError, "recipe", {"recipe": lambda f: ("a", "b", "c")}),
    "recipe too large": (ValueError, "recipe", {"recipe": lambda f: (1, 2**40, 128)}),
    "odd granularity": (ValueError, "gran_k", {"recipe": lambda f: (1, 128, 64)}),
    "half a recipe": (ValueError, "recipe_a and recipe_b", {"recipe_a": lambda f: (1, 128)}),
    "two recipes": (ValueError, "recipe_a and recipe_b",
                    {"recipe": lambda f: (1, 128, 128), "recipe_a": lambda f: (1, 128),
                     "recipe_b": lambda f: (128, 128)}),
}


@pytest.mark.parametrize("case", CASES)
def test_refused(framework, rng, case):
    kind, text, changes = CASES[case]
    a, b = Operand(rng, (M, K)), Operand(rng, (N, K), gran_mn=128)
    arguments = {"a": a.pair(framework), "b": b.pair(framework),
                 "d": framework.poisoned((M, N), "float32")}
    d = arguments["d"]
    for name, change in changes.items():
        arguments[name] = change(framework, *arguments[name]) if name in "ab" else change(framework)
    with pytest.raises(kind, match=text) as caught:
        deep_gemm.fp8_gemm_nt(**arguments)
    assert len(str(caught.value)) > 20
    assert np.isnan(framework.to_float64(d)).all()


def test_errors_of_the_library_are_runtime_errors_too(framework, rng):
    a = Operand(rng, (M, K)).pair(framework)
    for wrong in ((a[0], a[1].T), (a[0][0], None)):
        with pytest.raises(RuntimeError):
            deep_gemm.fp8_gemm_nt(wrong, a, framework.poisoned((M, M), "float32"))
    assert issubclass(deep_gemm.ArgumentError, (ValueError, RuntimeError))
    assert issubclass(deep_gemm.DtypeError, TypeError)
    assert issubclass(deep_gemm.DtypeError, RuntimeError)


def test_partial_overlap_is_refused(framework):
    memory = framework.make(np.zeros((M + 1, N)), "float32")
    x = framework.make(np.zeros((M, 64)), "bfloat16")
    w = framework.make(np.zeros((N, 64)), "bfloat16")
    with pytest.raises(ValueError, match="overlap|shares"):
        deep_gemm.bf16_gemm_nt(x, w, memory[1:], memory[:-1])


@pytest.mark.parametrize("index", ([0, 5], [0, 1, 0], [[0, 1]]))
def test_wrong_groups(framework, index):
    x = framework.make(np.zeros((2, 64)), "bfloat16")
    w = framework.make(np.zeros((3, N, 64)), "bfloat16")
    d = framework.poisoned((2, N), "float32")
    if framework.name == "torch-cuda" and index == [0, 5]:  # nobody reads values from a GPU:
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, d, framework.make(index, "int32"))
        assert (framework.to_float64(d) == 0).all()  # group 5 of 3 acts as -1
        return
    with pytest.raises(ValueError):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, d, framework.make(index, "int32"))
    assert np.isnan(framework.to_float64(d)).all()
    with pytest.raises(TypeError):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, d, framework.make([0, 1], "float32"))
    with pytest.raises(ValueError, match="layout"):
        deep_gemm.m_grouped_bf16_gemm_nt_contiguous(x, w, d, framework.make([1, 2, 2], "int32"),
                                                    use_psum_layout=True, layout="offsets")
