# SPDX-License-Identifier: MIT
"""Tests that need a GPU: kernels against float64 and the CPU backend, graphs, streams, threads.

Everything here is skipped where torch reaches no GPU. `pytest tests/python/gpu` runs them alone.
"""
import importlib.util

import pytest


def _gpu():
    if importlib.util.find_spec("torch") is None:
        return None
    import torch
    return torch.cuda.get_device_name() if torch.cuda.is_available() else None


GPU = _gpu()


def pytest_collection_modifyitems(items):
    for item in items:
        if GPU is None and "python/gpu" in str(item.path):
            item.add_marker(pytest.mark.skip(reason="no GPU, or no torch to reach it"))


@pytest.fixture
def gen(request):
    """A torch generator on the GPU, seeded by the test's name."""
    import torch
    generator = torch.Generator("cuda")
    return generator.manual_seed(sum(ord(c) * 31**i for i, c in enumerate(request.node.name)) % 2**62)
