# SPDX-License-Identifier: MIT
"""bench/gpu.py on small CPU tensors: every family runs, what it reports adds up, shapes drawn at random
are what they are said to be, and another deep_gemm can stand beside ours."""
import csv
import io
import json
import math
import pathlib
import sys

import deep_gemm
import pytest

torch = pytest.importorskip("torch")
BENCH = pathlib.Path(__file__).resolve().parents[2] / "bench"


@pytest.fixture(scope="module")
def gpu():
    sys.path.insert(0, str(BENCH))
    import gpu
    yield gpu
    sys.path.remove(str(BENCH))


OPTIONS = ["--device", "cpu", "--tiny", "--rounds", "1", "--calls", "3", "--rest", "0", "--flush", "1",
           "--count", "6"]


def run(gpu, tmp_path, *arguments):
    gpu.main([*arguments, *OPTIONS, "--json", str(tmp_path / "out.jsonl")])
    return [json.loads(line) for line in (tmp_path / "out.jsonl").read_text().splitlines()]


def test_every_family(gpu, tmp_path, capsys):
    head, *records = run(gpu, tmp_path, "--modes", "cold,warm,wall,kernel", "--csv",
                         str(tmp_path / "out.csv"))
    assert head["head"]["command"].startswith("bench/gpu.py --modes")
    assert {record["family"] for record in records} == set(gpu.FAMILIES)
    for record in records:
        assert set(record["times"]["ours"]) == {"cold", "warm", "wall"}  # a CPU has no kernels
        assert all(us > 0 for us in record["times"]["ours"].values())
        assert record["bytes"] == sum(record["bytes_of"].values()) > 0
        assert record["floor_us"] == pytest.approx(
            max(record["bytes"] / 4.27e6, record["flops"] / {"fp8": 1979e6, "bf16": 989e6}[
                record["kind"]]))
    rows = list(csv.DictReader(io.StringIO((tmp_path / "out.csv").read_text())))
    assert len(rows) == 3 * len(records)
    assert all(row["who"] == "ours" and float(row["us"]) > 0 for row in rows)
    printed = capsys.readouterr().out
    assert "bytes = a + sfa + b + sfb + d" in printed


def test_traffic_of_a_known_case(gpu, tmp_path):
    _, *records = run(gpu, tmp_path, "dense", "--only", "24x80x256")
    assert records[0]["flops"] == 2 * 24 * 80 * 256
    assert records[0]["bytes_of"] == {"a": 24 * 256, "sfa": 24 * 2 * 4, "b": 80 * 256, "sfb": 2 * 4,
                                      "d": 24 * 80 * 2}


def test_peers_and_judgement(gpu, tmp_path, capsys):
    _, *records = run(gpu, tmp_path, "bf16_dense", "--peers")
    assert all("torch_bf16" in record["times"] for record in records)
    assert "cublaslt" not in records[0]["times"]  # on a CPU that would be ourselves
    assert "bf16: torch_bf16 / ours, cold: geometric mean" in capsys.readouterr().out


def test_judgement_adds_up(gpu):
    from products.report import judge
    records = [{"kind": "fp8", "case": f"case {i}", "times": {"ours": {"cold": 10.0},
                "it": {"cold": us}, "other": {"warm": 1.0}}} for i, us in enumerate((20, 5, 9.8, 12))]
    (line,) = judge(records, "cold")
    mean = math.exp(sum(math.log(x) for x in (2, .5, .98, 1.2)) / 4)
    assert line == (f"fp8: it / ours, cold: geometric mean {mean:.3f} of 4 cases, 3 of them at least "
                    "0.98; worst 0.50 case 1, 0.98 case 2, 1.20 case 3")


def test_random_shapes(gpu):
    from products.random_shapes import ALIGNED_SEED, ODD_SEED, draw
    shapes = draw(ALIGNED_SEED, 200, 16384, (4, 16, 16))
    assert shapes == draw(ALIGNED_SEED, 200, 16384, (4, 16, 16)) != draw(1, 200, 16384, (4, 16, 16))
    assert all(m % 4 == 0 and n % 16 == 0 and k % 16 == 0 and 0 < min(m, n, k) and
               max(m, n, k) <= 16384 for m, n, k in shapes)
    odd = draw(ODD_SEED, 200, 16384, (1, 1, 1))
    assert 60 < sum(k % 2 for _, _, k in odd) < 140 and all(1 <= x <= 16384 for s in odd for x in s)
    for axis in range(3):  # logarithms spread evenly: as many below sqrt(16384) as above
        assert 70 < sum(shape[axis] < 128 for shape in odd) < 130


def test_buffer_sets_take_turns(gpu):
    from products.timing import Clock, measure
    calls = []
    sets = [lambda i=i: calls.append(i) for i in range(3)]
    times = measure(Clock("cpu", 1), {"ours": sets}, ["cold", "warm", "wall", "kernel"], 2, 4, 0)
    assert set(times["ours"]) == {"cold", "warm", "wall"}
    turns, first = [0, 1, 2, 0, 1, 2, 0], [0] * 5
    assert calls == 2 * turns + 2 * first + 2 * turns


def test_another_package_beside_ours(gpu, tmp_path, monkeypatch):
    (tmp_path / "there" / "deep_gemm").mkdir(parents=True)
    (tmp_path / "there" / "deep_gemm" / "__init__.py").write_text(
        "from deep_gemm.part import bf16_gemm_nt\n")
    (tmp_path / "there" / "deep_gemm" / "part.py").write_text(
        "calls = []\ndef bf16_gemm_nt(a, b, d, c=None): calls.append(1); d.copy_(a @ b.T)\n")
    _, *records = run(gpu, tmp_path, "bf16_dense", "--upstream", str(tmp_path / "there"))
    assert all(record["times"]["upstream"]["cold"] > 0 for record in records)
    assert sys.modules["deep_gemm"] is deep_gemm and not hasattr(deep_gemm, "part")
    assert len(sys.modules["upstream_deep_gemm.part"].calls) > 3 * len(records)
    with pytest.raises(ImportError, match="holds no deep_gemm"):
        gpu.load_upstream(str(tmp_path))
    assert sys.modules["deep_gemm"] is deep_gemm


def test_wrong_words(gpu):
    for wrong in (["no_such_family"], ["--modes", "hot"]):
        with pytest.raises(SystemExit):
            gpu.parse(wrong)


def test_readings_that_the_drawings_are_made_of(gpu):
    import plot
    from products.report import geometric_mean
    head, records = plot.read(BENCH / "readings" / "h200_2026-11-30.jsonl")
    assert head["machine"] == "NVIDIA H200" and len(records) == 94
    for record in records:
        flop_a_byte, tflops = plot.intensity(record)
        assert record["flops"] / tflops / 1e6 == pytest.approx(record["times"]["ours"]["cold"])
        assert record["times"]["ours"]["cold"] > record["floor_us"]  # nothing beats the roof
    found = plot.compared(records)
    assert len(found["FP8 dense", "cublaslt_tensorwise"]) == 35
    assert geometric_mean(found["BF16 dense", "upstream"]) == pytest.approx(1.04, abs=0.01)


def test_drawings(gpu, tmp_path):
    pytest.importorskip("matplotlib")
    import plot
    plot.main([str(BENCH / "readings" / "h200_2026-11-30.jsonl"), str(tmp_path)])
    for name in ("roofline.svg", "peers.svg"):
        text = (tmp_path / name).read_text()
        assert "NVIDIA H200" in text and "2026-11-30" in text and len(text) > 20000
