# SPDX-License-Identifier: MIT
"""The Python of the pages about groups and weight gradients, run as it stands, and what it computes."""
import importlib.util
import pathlib

import pytest

torch = pytest.importorskip("torch")

ROOT = pathlib.Path(__file__).resolve().parents[2]


def run_page(name):
    """The names that all Python blocks of a page leave, run one after the other."""
    torch.manual_seed(1)
    names = {}
    blocks = (ROOT / "docs" / name).read_text(encoding="utf-8").split("```python\n")[1:]
    assert blocks
    for block in blocks:
        exec(block.split("```")[0], names)
    return names


def relative_error(actual, expected):
    return float((actual.double() - expected).norm() / expected.norm())


def test_weight_gradients():
    names = run_page("weight_gradients.md")
    sizes = names["sizes"].tolist()
    parts = zip(names["dy"].double().split(sizes), names["x"].double().split(sizes))
    expected = torch.stack([dy.T @ x for dy, x in parts])
    for grad in (names["main_grad"], names["layer"].weight.main_grad):
        assert relative_error(grad, expected) < 0.05 and (grad[1] == 0).all()
    assert names["layer"].weight.grad is None
    assert names["sorted_sizes"].tolist() == names["ids"].flatten().bincount(minlength=4).tolist()
    assert names["rows"].shape[0] == sum(names["sorted_sizes"].tolist())


def test_groups():
    names = run_page("groups.md")
    codes, factors = (t.double() for t in names["w"])
    w = codes * factors.repeat_interleave(128, 1).repeat_interleave(128, 2)
    each = torch.einsum("th,gih->tgi", names["x"].double(), w)
    ids = names["ids"][..., None].expand(-1, -1, each.shape[2])
    expected = (each.gather(1, ids) * names["weights"].double()[..., None]).sum(1)
    assert relative_error(names["y"], expected) < 0.04
    assert torch.equal(names["masked"], names["y"])


def test_printed_errors_are_those_of_the_page():
    spec = importlib.util.spec_from_file_location("errors", ROOT / "tests" / "python" /
                                                  "weight_gradient_error.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    page = (ROOT / "docs" / "weight_gradients.md").read_text(encoding="utf-8")
    torch.manual_seed(0)
    for name, draw in module.DATA.items():
        line = next(line for line in page.splitlines() if line.startswith("| ") and
                    name in line.replace("exp(normal): ", "exp(normal): ") and "e-" in line)
        told = [float(cell) for cell in line.split("|")[2:6]]
        for printed, error in zip(told, module.errors(draw)):
            assert abs(printed - error) < 0.1 * error
