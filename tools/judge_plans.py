#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the planner of today with what `deepgemm tune --json` measured, without a GPU.

    tools/judge_plans.py readings.jsonl ... [--deepgemm build/release/cli/deepgemm] [--machine H200]
        [--worst N] [--catalogue kernels/catalogue.txt]

For each shape the planner is asked again. Its loss is the measured time of what it takes now over that
of the fastest candidate, minus 1; a candidate that nobody measured leaves a shape out. Then: the error of
predictions for each kernel and tile (of candidates within 1.3 of the fastest), and with --catalogue the
lines that were measured but never fastest, never within 2% of the fastest, nor taken.
"""
import argparse
import collections
import json
import math
import subprocess

NEAR = 1.3   # as `deepgemm tune` has it
GOOD = 1.02  # as fast as makes no difference


def read(paths):
    for path in paths:
        with open(path, encoding="utf-8") as file:
            yield from (json.loads(line) for line in file if line.strip())


def ask(arguments, command):
    """What the planner says now: {specialisation: us}, and the one it takes."""
    done = subprocess.run([arguments.deepgemm, "plan", *command.split(), "--machine",
                           arguments.machine, "--explain", "--json"],
                          capture_output=True, text=True, check=True)
    predicted, chosen = {}, None
    for row in map(json.loads, done.stdout.splitlines()):
        if row["refusal"] or not row["specialisation"]:
            continue
        name = row["kernel"] + " " + row["specialisation"]
        predicted[name] = row["us"]
        if row["chosen"]:
            chosen = name
    return predicted, chosen


def tile(specialisation):
    """ "sm90_fp8_gemm_block 256x128": what errors are gathered by."""
    kernel, *fields = specialisation.split()
    value = dict(field.split("=") for field in fields)
    more = "".join(f" {key.lower()} {value[key]}" for key in ("SHARE", "SPLITS", "SCHEDULE")
                   if key in value)
    return f"{kernel} {value.get('BLOCK_M')}x{value.get('BLOCK_N')}{more}"


def percentile(values, share):
    return sorted(values)[max(0, math.ceil(len(values) * share) - 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("readings", nargs="+")
    parser.add_argument("--deepgemm", default="build/release/cli/deepgemm")
    parser.add_argument("--machine", default="H200")
    parser.add_argument("--worst", type=int, default=10, help="shapes to print")
    parser.add_argument("--catalogue")
    arguments = parser.parse_args()
    losses, errors = [], collections.defaultdict(list)
    measured, useful, taken = set(), collections.Counter(), collections.Counter()
    for shape in read(arguments.readings):
        us = {one["specialisation"]: one["us"] for one in shape["candidates"]}
        best = min(us, key=us.get)
        predicted, chosen = ask(arguments, shape["command"])
        measured |= us.keys()
        useful.update(name for name in us if us[name] <= us[best] * GOOD)
        if chosen not in us:
            continue
        taken[chosen] += 1
        losses.append((us[chosen] / us[best] - 1, shape["command"], chosen, best, us, predicted))
        for name in us.keys() & predicted.keys():
            if us[name] <= us[best] * NEAR:
                errors[tile(name)].append(math.log(predicted[name] / us[name]))
    values = [row[0] for row in losses]
    print(f"{len(values)} shapes, loss: median {percentile(values, .5):.1%}, 95th percentile "
          f"{percentile(values, .95):.1%}, most {max(values):.1%}, over 5%: "
          f"{sum(value > .05 for value in values)}")
    for loss, command, chosen, best, us, predicted in sorted(losses, reverse=True)[:arguments.worst]:
        print(f"\n{loss:.1%}  {command}")
        for mark, name in (("taken  ", chosen), ("fastest", best)):
            print(f"    {mark} {us[name]:8.1f} us, predicted {predicted.get(name, 0):8.1f}  {name}")
    print("\npredicted over measured: mean, spread, readings")
    for name, logs in sorted(errors.items()):
        mean = sum(logs) / len(logs)
        spread = math.sqrt(sum((x - mean) ** 2 for x in logs) / len(logs))
        print(f"    {math.exp(mean):6.3f}  {spread:6.3f}  {len(logs):4}  {name}")
    if arguments.catalogue:
        with open(arguments.catalogue, encoding="utf-8") as file:
            lines = [line.strip() for line in file if line.strip() and line[0] != "#"]
        print("\nmeasured, but never taken nor within 2% of the fastest:")
        for line in lines:
            if line in measured and not useful[line] and not taken[line]:
                print(f"    {line}")


if __name__ == "__main__":
    main()
