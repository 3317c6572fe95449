# SPDX-License-Identifier: MIT
"""The Python examples at work."""
import importlib.util
import pathlib

import pytest

torch = pytest.importorskip("torch")

import deep_gemm.nn  # noqa: E402

EXAMPLES = pathlib.Path(__file__).resolve().parents[2] / "examples"


@pytest.fixture(scope="module")
def example():
    """examples/python/moe_digits.py as a module."""
    path = EXAMPLES / "python" / "moe_digits.py"
    spec = importlib.util.spec_from_file_location("moe_digits", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_experts_learn_digits_in_fp8(example):
    images, labels = example.read_digits(EXAMPLES / "data" / "digits.bin")
    assert len(images) == 1797 and set(labels.tolist()) == set(range(10))
    accuracy, _ = example.train(deep_gemm.nn.GroupedLinear, 0, 8, images, labels)
    assert accuracy > 0.93


def test_plain_layer_is_the_same_function(example):
    plain, fp8 = example.PlainGroupedLinear(4, 64, 32), deep_gemm.nn.GroupedLinear(4, 64, 32)
    fp8.load_state_dict(plain.state_dict())
    x, sizes = torch.randn(50, 64), torch.tensor([20, 0, 25, 5])
    with torch.no_grad():
        expected = plain(x, sizes)
        assert (fp8(x, sizes) - expected).norm() < 0.05 * expected.norm()


@pytest.mark.parametrize("page", ("README.md", "docs/porting.md"))
def test_first_python_example_of_a_page(page):
    text = (EXAMPLES.parent / page).read_text()
    code = text.split("```python\n")[1].split("```")[0]
    names = {}
    exec(code, names)
    assert names["y"].isfinite().all() and names["y"].norm() > 0
