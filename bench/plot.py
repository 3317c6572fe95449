#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Draws the readings of bench/gpu.py: a roofline, and how each family compares with its peers.

    python3 bench/plot.py READINGS.jsonl FOLDER        (needs matplotlib)

Writes FOLDER/roofline.svg and FOLDER/peers.svg. Date, machine and command stand under each drawing, from
the first line of the readings; the same readings give the same files. Times are cold ones.
"""
import argparse
import json
import pathlib
import textwrap

from products.limits import COPY, PEAK
from products.report import geometric_mean, ratios

COLOURS = {"dense": "#0072b2", "wgrad": "#d55e00", "bf16_dense": "#009e73", "m_grouped": "#cc79a7",
           "masked": "#e69f00", "k_grouped": "#56b4e9"}
OTHER = "#777777"
MARKS = {"fp8": "o", "bf16": "s"}


def read(path):
    """(head, records) of a file of JSON lines."""
    lines = [json.loads(line) for line in pathlib.Path(path).read_text().splitlines()]
    head = next(line["head"] for line in lines if "head" in line)
    return head, [line for line in lines if "case" in line]


def intensity(record):
    """(FLOP a byte, TFLOPS) of ours."""
    return record["flops"] / record["bytes"], record["flops"] / record["times"]["ours"]["cold"] / 1e6


def compared(records):
    """(kind family, peer) -> ratios peer / ours, in the order of the readings. Peers of other runs, whose
    ratios were read there, count too."""
    found = {}
    for record in records:
        row = f"{record['kind'].upper()} {record['family'].removeprefix('bf16_')}"
        for name, ratio in {**ratios(record, "cold"), **record.get("elsewhere", {})}.items():
            found.setdefault((row, name), []).append(ratio)
    return found


def caption(figure, head, text):
    words = "; ".join(f"{key} {head[key]}" if key == "torch" else head[key]
                      for key in ("date", "machine", "torch", "command") if key in head)
    note = head.get("note", "")
    figure.text(0.01, 0.01, textwrap.fill(f"{text} {words}. {note}", 150), fontsize=6.5, va="bottom",
                color="#444444")


def save(figure, path):
    figure.savefig(path, metadata={"Date": None})
    print(path)


def draw_roofline(plt, head, records, path):
    figure, axes = plt.subplots(figsize=(8, 5.6))
    figure.subplots_adjust(left=0.09, right=0.97, top=0.94, bottom=0.2)
    records = [record for record in records if record["flops"] > 0]
    left, right = 0.5, 2 * max(intensity(record)[0] for record in records)
    for kind, peak in PEAK.items():
        knee = peak / COPY
        axes.plot([left, knee, right], [left * COPY / 1e12, peak / 1e12, peak / 1e12], color="#333333",
                  linewidth=1)
        axes.annotate(f"{kind.upper()} {peak / 1e12:.0f} TFLOPS", (right, peak / 1e12), fontsize=8,
                      ha="right", va="bottom")
    axes.annotate(f"{COPY / 1e12:.2f} TB/s", (left * 3, left * 3 * COPY / 1e12), fontsize=8, rotation=40,
                  ha="left", va="bottom")
    for family in dict.fromkeys(record["family"] for record in records):
        for kind, mark in MARKS.items():
            points = [intensity(record) for record in records
                      if (record["family"], record["kind"]) == (family, kind)]
            if points:
                axes.scatter(*zip(*points), s=18, marker=mark, color=COLOURS.get(family, OTHER),
                             alpha=0.8, linewidths=0,
                             label=f"{kind.upper()} {family.removeprefix('bf16_')}")
    axes.set(xscale="log", yscale="log", xlim=(left, right), xlabel="FLOP for each byte of the call",
             ylabel="TFLOPS", title="What the products reach of an H200's memory and tensor cores")
    axes.grid(True, which="major", linewidth=0.3)
    axes.legend(fontsize=8, loc="lower right", framealpha=1)
    caption(figure, head, "Roofline, cold L2.")
    save(figure, path)


def draw_peers(plt, head, records, path):
    found = compared(records)
    labels = [f"{row}: {peer}" for row, peer in found]
    figure, axes = plt.subplots(figsize=(8, 1.6 + 0.3 * len(labels)))
    figure.subplots_adjust(left=0.33, right=0.94, top=1 - 0.5 / figure.get_figheight(),
                           bottom=1.1 / figure.get_figheight())
    for y, ((row, _), values) in enumerate(found.items()):
        family = row.split()[1]
        colour = COLOURS.get(family if "FP8" in row or "grouped" in family else "bf16_dense", OTHER)
        axes.scatter(values, [y] * len(values), s=14, color=colour, alpha=0.5, linewidths=0)
        mean = geometric_mean(values)
        axes.plot([mean, mean], [y - 0.35, y + 0.35], color="#000000", linewidth=1.6)
        axes.annotate(f"{mean:.2f}", (1.01, y), xycoords=("axes fraction", "data"), fontsize=8,
                      ha="left", va="center")
    axes.axvline(1, color="#333333", linewidth=0.8)
    axes.set_yticks(range(len(labels)), labels, fontsize=8)
    axes.invert_yaxis()
    axes.set(xscale="log", xlabel="time of the other / ours: right of 1 we are faster")
    ticks = [tick for tick in (0.25, 0.5, 0.7, 1, 1.4, 2, 3, 4)
             if axes.get_xlim()[0] <= tick <= axes.get_xlim()[1]]
    axes.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axes.set_xticks([], minor=True)
    axes.grid(True, axis="x", linewidth=0.3)
    axes.set_title("Ours beside others; bars are geometric means", fontsize=11)
    caption(figure, head, "A dot a case, cold L2.")
    save(figure, path)


def main(argv=None):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readings")
    parser.add_argument("folder", type=pathlib.Path)
    arguments = parser.parse_args(argv)
    import matplotlib
    matplotlib.use("svg")
    import matplotlib.pyplot as plt
    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "deep_gemm", "font.size": 9,
                         "font.family": "sans-serif"})
    head, records = read(arguments.readings)
    arguments.folder.mkdir(parents=True, exist_ok=True)
    draw_roofline(plt, head, records, arguments.folder / "roofline.svg")
    draw_peers(plt, head, records, arguments.folder / "peers.svg")


if __name__ == "__main__":
    main()
