# SPDX-License-Identifier: MIT
"""What comes out of a run: a table on the screen, JSON lines, CSV, and how ours compares with each peer.
Called by gpu.py; plot.py reads the JSON lines.

The first JSON line of a run is {"head": {...}}: date, machine, versions, command. Each other is a case:
family, case, kind, flops, bytes, bytes_of (name -> bytes), floor_us, times (name -> mode -> us; "ours"
and the peers), condition (clocks, watts, degrees after it).
"""
import csv
import json
import math

COLUMNS = ("family", "case", "kind", "who", "mode", "us", "tflops", "gb_per_s", "floor_us",
           "peer_over_ours")


def ratios(record, mode):
    """name -> time of the peer / time of ours."""
    ours = record["times"]["ours"].get(mode)
    return {name: times[mode] / ours for name, times in record["times"].items()
            if name != "ours" and ours and times.get(mode)}


def geometric_mean(values):
    return math.exp(sum(math.log(value) for value in values) / len(values))


def judge(records, mode):
    """A line for each kind and peer: geometric mean, how many cases are not slower (2 % allowed), the
    worst."""
    by_peer = {}
    for record in records:
        for name, ratio in ratios(record, mode).items():
            by_peer.setdefault((record["kind"], name), []).append((ratio, record["case"]))
    for (kind, name), found in by_peer.items():
        found.sort()
        values = [ratio for ratio, _ in found]
        fine = sum(value >= 0.98 for value in values)
        worst = ", ".join(f"{ratio:.2f} {case}" for ratio, case in found[:3])
        yield (f"{kind}: {name} / ours, {mode}: geometric mean {geometric_mean(values):.3f} of "
               f"{len(values)} cases, {fine} of them at least 0.98; worst {worst}")


class Report:
    def __init__(self, head, modes, json_path=None, csv_path=None):
        self.modes, self.records = modes, []
        self.json = open(json_path, "a", encoding="utf-8") if json_path else None
        self.csv_file = open(csv_path, "w", encoding="utf-8", newline="") if csv_path else None
        self.csv = csv.writer(self.csv_file) if csv_path else None
        if self.csv:
            self.csv.writerow(COLUMNS)
        self._line({"head": head})
        print("; ".join(f"{key} {value}" for key, value in head.items()))

    def _line(self, value):
        if self.json:
            print(json.dumps(value), file=self.json, flush=True)

    def begin_family(self, name, text):
        self.first = len(self.records)
        print(f"\n{name}: {' '.join(text.split())}")

    def add(self, record):
        self.records.append(record)
        self._line(record)
        mode = self.modes[0]
        ours = record["times"]["ours"]
        times = "  ".join(f"{m} {ours[m]:.1f}" for m in self.modes if m in ours)
        peers = "  ".join(f"{name} {record['times'][name][mode]:.1f} ({ratio:.2f}x)"
                          for name, ratio in ratios(record, mode).items())
        us = ours[mode]
        print(f"  {record['case']:48} {times} us  floor {record['floor_us']:.1f}  "
              f"{record['flops'] / us / 1e6:.1f} TFLOPS  {record['bytes'] / us / 1e3:.1f} GB/s  "
              f"{peers}", flush=True)
        self._rows(record)

    def _rows(self, record):
        if not self.csv:
            return
        for name, times in record["times"].items():
            for mode, us in times.items():
                ratio = "" if name == "ours" else ratios(record, mode).get(name, "")
                self.csv.writerow((record["family"], record["case"], record["kind"], name, mode, us,
                                   record["flops"] / us / 1e6, record["bytes"] / us / 1e3,
                                   record["floor_us"], ratio))
        self.csv_file.flush()

    def end_family(self):
        for line in judge(self.records[self.first:], self.modes[0]):
            print(f"  {line}", flush=True)

    def close(self):
        for file in (self.json, self.csv_file):
            if file:
                file.close()
