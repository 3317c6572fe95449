# SPDX-License-Identifier: MIT
"""Frameworks that tests run on: numpy with ml_dtypes always, torch where it is installed."""
import importlib.util

import numpy as np
import pytest


class Numpy:
    name = "numpy"

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

    def as_strided(self, x, shape, strides):
        return np.lib.stride_tricks.as_strided(x, shape, [s * x.itemsize for s in strides])

    def strides(self, x):
        return tuple(s // x.itemsize for s in x.strides)

    def copy(self, x):
        return x.copy()


class Torch:
    name = "torch"

    def make(self, values, dtype):
        import torch
        if dtype.startswith("int") or dtype.startswith("uint"):
            return torch.tensor(np.ascontiguousarray(values)).to(getattr(torch, dtype))
        return torch.tensor(np.asarray(values, np.float32)).to(getattr(torch, dtype))

    def poisoned(self, shape, dtype):
        import torch
        return torch.full(tuple(shape), float("nan"), dtype=getattr(torch, dtype))

    def to_float64(self, x):
        return x.detach().double().numpy()

    def as_strided(self, x, shape, strides):
        return x.as_strided(shape, strides)

    def strides(self, x):
        return x.stride()

    def copy(self, x):
        return x.clone()


FRAMEWORKS = [Numpy()]
if importlib.util.find_spec("torch") is not None:
    FRAMEWORKS.append(Torch())


@pytest.fixture(params=FRAMEWORKS, ids=lambda framework: framework.name)
def framework(request):
    return request.param


@pytest.fixture
def rng(request):
    """Random numbers that differ from test to test and are the same in every run."""
    return np.random.default_rng([ord(c) for c in request.node.name])
