# SPDX-License-Identifier: MIT
"""CuPy and JAX, whose tensors come through DLPack: values, streams, what may be written. Where a
library is missing its tests are skipped by name."""
import importlib.util

import deep_gemm
import numpy as np
import pytest
from conftest import HAS_GPU, Numpy
from reference import Operand, check, product
from test_k_grouped import Tokens, products

NUMPY = Numpy()
M, N, K = 33, 160, 384


class CuPy:
    """FP8 as bytes, since CuPy has no such type: the place of a tensor gives it its meaning."""
    name = "cupy"
    block_error = 2.0**-10

    def make(self, values, dtype):
        import cupy
        host = NUMPY.make(values, dtype)
        return cupy.asarray(host.view(np.uint8) if dtype.startswith("float8") else host)

    def poisoned(self, shape, dtype):
        import cupy
        return cupy.full(shape, np.nan, dtype)

    def to_float64(self, x):
        return x.get().astype(np.float64)


class Jax:
    name = "jax"
    block_error = 2.0**-10 if HAS_GPU else 2.0**-20

    def make(self, values, dtype):
        import jax
        return jax.numpy.asarray(NUMPY.make(values, dtype))


def needs(library):
    missing = importlib.util.find_spec(library) is None
    return pytest.mark.skipif(missing, reason=f"{library} is not installed")


def needs_cupy(function):
    no_gpu = pytest.mark.skipif(not HAS_GPU, reason="no GPU, or no torch to see it")
    return needs("cupy")(no_gpu(function))


@needs_cupy
@pytest.mark.parametrize("blocking", (True, False))
def test_cupy_on_its_current_stream(rng, blocking):
    """What CuPy queued before the call is there when the product reads it, on any stream."""
    import cupy
    f = CuPy()
    a, b = Operand(rng, (M, K)), Operand(rng, (N, K), gran_mn=128)
    ready, weights = a.pair(f), b.pair(f)
    cupy.cuda.Device().synchronize()
    with cupy.cuda.Stream(non_blocking=not blocking) as stream:
        busy = cupy.ones((4096, 4096), "float32")
        for _ in range(8):
            busy = busy @ busy * 0
        late = (cupy.zeros_like(ready[0]), ready[1])
        late[0][...] = ready[0] + busy[:1, :K].astype("uint8")
        d = f.poisoned((M, N), "float32")
        deep_gemm.fp8_gemm_nt(late, weights, d)
        copy = d.copy()
        d.fill(np.nan)
        stream.synchronize()
    check(f, copy, *product(a.values, b.values), "float32")


@needs_cupy
def test_cupy_weight_gradient_takes_workspace_of_cupy(rng):
    import cupy
    f, ks = CuPy(), [100, 0, 37, 260]
    a, b = Tokens(rng, ks, 48), Tokens(rng, ks, 80)
    d = f.poisoned((4, 48, 80), "float32")
    pool = cupy.get_default_memory_pool()
    pairs = [(x.data(f, "tokens_first"), x.sf(f, False)) for x in (a, b)]
    before = pool.used_bytes()
    for _ in range(3):
        deep_gemm.k_grouped_fp8_gemm_tn_contiguous(*pairs, d, None, f.make(ks, "int32"))
    assert pool.used_bytes() <= before + 512  # the sizes' own block: no workspace is kept
    check(f, d, *products(ks, a, b), "float32")


@needs_cupy
def test_cupy_inputs_with_torch_outputs(rng):
    """On a stream of torch that does not wait for the default one, after late work of CuPy."""
    import cupy
    import torch
    f = CuPy()
    a, b = Operand(rng, (M, K)), Operand(rng, (N, K), gran_mn=128)
    ready, weights = a.pair(f), b.pair(f)
    cupy.cuda.Device().synchronize()
    busy = cupy.ones((4096, 4096), "float32")
    for _ in range(8):
        busy = busy @ busy * 0
    late = ready[0] + busy[:1, :K].astype("uint8")
    with torch.cuda.stream(torch.cuda.Stream()):
        d = torch.full((M, N), float("nan"), device="cuda")
        deep_gemm.fp8_gemm_nt((late, ready[1]), weights, d)
        copy = d.cpu().numpy()

    class Host:
        block_error = CuPy.block_error
        to_float64 = staticmethod(lambda x: x.astype(np.float64))
    check(Host, copy, *product(a.values, b.values), "float32")


def jax_output():
    """The framework for the output of a product of JAX's arrays, which are where JAX puts them."""
    import jax
    if jax.default_backend() == "gpu":
        from conftest import TorchOnGpu
        return TorchOnGpu()
    return NUMPY


@needs("jax")
def test_jax_inputs(rng):
    f, out = Jax(), jax_output()
    a, b = Operand(rng, (M, K)), Operand(rng, (N, K), gran_mn=128)
    d = out.poisoned((M, N), "float32")
    deep_gemm.fp8_gemm_nt(a.pair(f), b.pair(f), d)
    check(out, d, *product(a.values, b.values), "float32")


@needs("jax")
def test_jax_bfloat16_and_groups(rng):
    f, out = Jax(), jax_output()
    a, b = Operand(rng, (M, K), "bfloat16", None), Operand(rng, (3, N, K), "bfloat16", None)
    groups = rng.integers(0, 3, M)
    d = out.poisoned((M, N), "float32")
    deep_gemm.m_grouped_bf16_gemm_nt_contiguous(a.data(f), b.data(f), d, f.make(groups, "int32"))
    picked = b.values[groups]
    check(out, d, np.einsum("mk,mnk->mn", a.values, picked),
          np.einsum("mk,mnk->mn", np.abs(a.values), np.abs(picked)), "float32")


@needs("jax")
def test_jax_arrays_are_never_written(rng):
    """They are immutable: other arrays, and compiled programs, may share their memory."""
    f = Jax()
    x = Operand(rng, (8, 64), "bfloat16", None).data(f)
    d = f.make(np.ones((8, 8)), "float32")
    with pytest.raises(ValueError, match="d: .*(immutable|read-only)"):
        deep_gemm.bf16_gemm_nt(x, x, d)
    assert (np.asarray(d) == 1).all()
