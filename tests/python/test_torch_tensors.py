# SPDX-License-Identifier: MIT
"""Tensors of torch that cannot be computed on: an exception that names the argument, never a crash."""
import pytest

torch = pytest.importorskip("torch")

import deep_gemm  # noqa: E402

ODD = {
    "meta": lambda x: x.to("meta"),
    "sparse": lambda x: x.to_sparse(),
    "half": lambda x: x.half(),
    "double": lambda x: x.double(),
    "complex": lambda x: x.to(torch.complex64),
    "float8_e5m2": lambda x: x.to(torch.float8_e5m2),
    "bool": lambda x: x > 0,
    "five axes": lambda x: x[None, None, None],
}


@pytest.mark.parametrize("kind", ODD)
@pytest.mark.parametrize("place", ("a", "b", "c", "d"))
def test_odd_tensors(kind, place):
    x = torch.randn(8, 64).bfloat16()
    arguments = {"a": x, "b": x, "c": torch.zeros(8, 8), "d": torch.zeros(8, 8)}
    arguments[place] = ODD[kind](arguments[place])
    with pytest.raises((TypeError, ValueError, RuntimeError), match=rf"\b{place}\b"):
        deep_gemm.bf16_gemm_nt(**arguments)


def test_vmap_says_why_not():
    x, w = torch.randn(3, 8, 64).bfloat16(), torch.randn(8, 64).bfloat16()
    with pytest.raises(RuntimeError, match="a: "):
        torch.vmap(lambda one: deep_gemm.bf16_gemm_nt(one, w, torch.empty(8, 8)))(x)


def test_tensors_that_want_gradients_are_read():
    w = torch.randn(8, 64).bfloat16()
    d = torch.empty(8, 8)
    deep_gemm.bf16_gemm_nt(w.clone().requires_grad_(), torch.nn.Parameter(w), d)
    with torch.inference_mode():
        again = torch.empty(8, 8)
        deep_gemm.bf16_gemm_nt(w, w, again)
    assert torch.equal(d, again)
