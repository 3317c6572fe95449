# SPDX-License-Identifier: MIT
"""Frameworks that tests run on: numpy with ml_dtypes always, torch where it is installed, torch on a
GPU where there is one (elsewhere those tests are skipped by name)."""
import importlib.util

import numpy as np
import pytest


class Numpy:
    name = "numpy"
    block_error = 2.0**-20  # of the sum of |a b| over k, for FP32 accumulation

    def _type(self, dtype):
        import ml_dtypes
        return np.dtype(getattr(ml_dtypes, dtype, dtype))

    def make(self, values, dtype):
        if dtype.startswith("int") or dtype.startswith("uint"):
            return np.array(values, dtype)
        return np.asarray(values, np.float32).astype(self._type(dtype))

    def poisoned(self, shape, dtype):
        return np.full(shape, np.nan, np.float32).astype(self._type(dtype))

    def to_float64(self, x):
        return np.asarray(x).astype(np.float64)

    def host(self, x):
        """x as an array of numpy, its type and strides kept."""
        return np.asarray(x)

    def as_strided(self, x, shape, strides):
        return np.lib.stride_tricks.as_strided(x, shape, [s * x.itemsize for s in strides])

    def strides(self, x):
        return tuple(s // x.itemsize for s in x.strides)

    def copy(self, x):
        return x.copy()


class Torch:
    name = "torch"
    block_error = 2.0**-20
    device = "cpu"

    def make(self, values, dtype):
        import torch
        if not dtype.startswith(("int", "uint")):
            values = np.asarray(values, np.float32)
        x = torch.tensor(np.ascontiguousarray(values).reshape(np.shape(values)))
        return x.to(getattr(torch, dtype)).to(self.device)

    def poisoned(self, shape, dtype):
        import torch
        return torch.full(
            tuple(shape), float("nan"), dtype=getattr(torch, dtype), device=self.device)

    def to_float64(self, x):
        return x.detach().cpu().double().numpy()

    def host(self, x):
        return x.cpu().numpy()

    def as_strided(self, x, shape, strides):
        return x.as_strided(shape, strides)

    def strides(self, x):
        return x.stride()

    def copy(self, x):
        return x.clone()


class TorchOnGpu(Torch):
    name = "torch-cuda"
    block_error = 2.0**-10  # Hopper's tensor cores keep about 14 bits of an FP8 sum
    device = "cuda"


def _has_gpu():
    if importlib.util.find_spec("torch") is None:
        return False
    import torch
    return torch.cuda.is_available()


FRAMEWORKS = [Numpy()]
if importlib.util.find_spec("torch") is not None:
    FRAMEWORKS.append(Torch())
HAS_GPU = _has_gpu()
if HAS_GPU:
    FRAMEWORKS.append(TorchOnGpu())
WITH_SKIPPED = FRAMEWORKS if HAS_GPU else FRAMEWORKS + [
    pytest.param(TorchOnGpu(), marks=pytest.mark.skip(reason="no GPU, or no torch to reach it"))]


def _casts_on_gpu():
    """Whether this build casts, and lays out factors, on a GPU."""
    import deep_gemm
    import torch
    try:
        deep_gemm.per_token_cast_to_fp8(torch.zeros(1, 128, device="cuda"), False)
    except RuntimeError:
        return False
    return True


GPU_CASTS = HAS_GPU and _casts_on_gpu()
CASTING = [f for f in FRAMEWORKS if GPU_CASTS or not isinstance(f, TorchOnGpu)]
GPU_SKIPPED = "no GPU, or no torch to reach it" if not HAS_GPU else \
    None if GPU_CASTS else "this build casts on the CPU alone"

# Parameters for tests of torch alone that need the casts: the devices, the missing ones skipped.
CASTING_DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.skipif(
    GPU_SKIPPED is not None, reason=str(GPU_SKIPPED)))]


def pytest_configure(config):
    config.addinivalue_line("markers", "casts: calls casts or layouts of factors, on any framework")


@pytest.fixture(params=WITH_SKIPPED, ids=lambda framework: framework.name)
def framework(request):
    on_gpu = isinstance(request.param, TorchOnGpu)
    if on_gpu and not GPU_CASTS and request.node.get_closest_marker("casts"):
        pytest.skip(GPU_SKIPPED)
    return request.param


@pytest.fixture
def rng(request):
    """Random numbers that differ from test to test and are the same in every run."""
    return np.random.default_rng([ord(c) for c in request.node.name])


def pytest_collection_modifyitems(items):
    """test_gpu_*.py is about the GPU alone."""
    for item in items:
        if not HAS_GPU and item.path.name.startswith("test_gpu_"):
            item.add_marker(pytest.mark.skip(reason="no GPU, or no torch to reach it"))


@pytest.fixture
def gen(request):
    """torch's random numbers on the GPU, seeded by the test's name."""
    import torch
    seed = sum(ord(c) * 31**i for i, c in enumerate(request.node.name)) % 2**62
    return torch.Generator("cuda").manual_seed(seed)
