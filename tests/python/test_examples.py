# SPDX-License-Identifier: MIT
"""The Python examples at work."""
import importlib.util
import pathlib

import pytest

torch = pytest.importorskip("torch")

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


def test_experts_learn_digits_in_fp8():
    import deep_gemm.nn
    spec = importlib.util.spec_from_file_location("moe_digits", EXAMPLES / "python" / "moe_digits.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    images, labels = example.read_digits(EXAMPLES / "data" / "digits.bin")
    assert len(images) == 1797 and set(labels.tolist()) == set(range(10))
    accuracy, _ = example.train(deep_gemm.nn.GroupedLinear, 0, 8, images, labels)
    assert accuracy > 0.93


def test_plain_layer_is_the_same_function():
    import deep_gemm.nn
    spec = importlib.util.spec_from_file_location("moe_digits", EXAMPLES / "python" / "moe_digits.py")
    example = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    plain = example.PlainGroupedLinear(4, 64, 32)
    fp8 = deep_gemm.nn.GroupedLinear(4, 64, 32)
    fp8.load_state_dict(plain.state_dict())
    x, sizes = torch.randn(50, 64), torch.tensor([20, 0, 25, 5])
    assert float((fp8(x, sizes) - plain(x, sizes)).detach().norm() / plain(x, sizes).detach().norm()) < 0.05
