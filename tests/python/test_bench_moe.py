# SPDX-License-Identifier: MIT
"""bench/moe.py on small shapes on the CPU: every family runs, agrees with torch, writes its JSON."""
import importlib.util
import json
import pathlib

import pytest

torch = pytest.importorskip("torch")


@pytest.fixture(scope="module")
def bench():
    path = pathlib.Path(__file__).resolve().parents[2] / "bench" / "moe.py"
    spec = importlib.util.spec_from_file_location("bench_moe", path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("family", ("wgrad", "decode", "prefill", "train"))
def test_family(bench, family, tmp_path, capsys):
    file = tmp_path / "lines.json"
    bench.main([family, "--device", "cpu", "--rounds", "1", "--calls", "1", "--json", str(file)])
    lines = [json.loads(line) for line in file.read_text().splitlines()]
    assert lines and all(line["family"] == family and line["small"] for line in lines)
    for line in lines:
        assert line["errors"].keys() == line["us"].keys() - {"torch"}
        assert all(error < 0.12 for error in line["errors"].values())
        assert {"ours", "torch"} <= set(line["us"]) and all(us > 0 for us in line["us"].values())
    assert "no figures to quote" in capsys.readouterr().out


def test_masked_and_contiguous_agree(bench):
    layer = bench.Layer("cpu", 6, 256, 128)
    data = bench.draw("cpu", 9, 6, 2, 256)
    assert torch.equal(layer.masked(*data), layer.contiguous(*data))


def test_unknown_family_is_refused(bench):
    with pytest.raises(SystemExit):
        bench.main(["nonsense"])
