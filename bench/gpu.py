#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Times products through the Python package, with those of others on the same data in the same run.

    PYTHONPATH=build/release/python python3 bench/gpu.py [FAMILY ...] [--peers] [--upstream PLACE]
        [--modes cold,warm,wall,kernel] [--only TEXT] [--json FILE] [--csv FILE]

Each case is drawn three times; calls take the three sets of buffers in turns. Times are medians of
`--rounds` rounds of `--calls` calls, with a rest in front of each, since a warm GPU runs slower;
products/timing.py says what cold, warm, wall and kernel mean. Bytes are those of what each family's
line names, once each; floor is the larger of bytes / 4.27 TB/s and FLOP / the tensor rate at 1.83 GHz.

--peers times torch, and cuBLASLt through torch and through our own wrappers; --upstream the deep_gemm of
a folder or module beside ours. For each peer the run ends a family with the geometric mean of (its time /
ours). --device cpu --tiny runs everything on small CPU tensors: a test of this program, no reading.
"""
import argparse
import datetime
import platform
import shlex
import sys

import deep_gemm
import torch

from products import attention, contractions, grouped, random_shapes  # noqa: F401 (families)
from products.case import Scope, bytes_of
from products.families import FAMILIES
from products.peers import load_upstream
from products.report import Report
from products.timing import MODES, SETS, Clock, condition, measure


def parse(argv):
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("families", nargs="*", metavar="FAMILY", help=", ".join(FAMILIES))
    parser.add_argument("--peers", action="store_true")
    parser.add_argument("--upstream", metavar="PLACE", help="folder or module of another deep_gemm")
    parser.add_argument("--modes", default="cold", help="of " + ",".join(MODES))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--calls", type=int, default=15)
    parser.add_argument("--rest", type=float, default=0.03, help="seconds in front of a round")
    parser.add_argument("--only", default="", help="cases whose name contains this")
    parser.add_argument("--count", type=int, default=200, help="shapes of each random family")
    parser.add_argument("--seed", type=int, default=0, help="of values and group sizes")
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true", help="small extents")
    parser.add_argument("--flush", type=int, default=512, metavar="MB")
    parser.add_argument("--json", metavar="FILE", help="appends a line for each case")
    parser.add_argument("--csv", metavar="FILE")
    arguments = parser.parse_args(argv)
    arguments.modes = arguments.modes.split(",")
    for name in arguments.families:
        if name not in FAMILIES:
            parser.error(f"{name}: no family; there are {', '.join(FAMILIES)}")
    for mode in arguments.modes:
        if mode not in MODES:
            parser.error(f"--modes {mode}: expected some of {', '.join(MODES)}")
    return arguments


def machine(device):
    if device == "cuda":
        return torch.cuda.get_device_name()
    return platform.processor() or platform.machine()


def head(arguments, argv, clock):
    return {"date": datetime.datetime.now(datetime.timezone.utc).isoformat(timespec="seconds"),
            "machine": machine(arguments.device), "torch": torch.__version__,
            "deep_gemm": deep_gemm.__version__, "command": shlex.join(["bench/gpu.py", *argv]),
            "event_us": round(clock.event(arguments.calls), 2), "condition": condition()}


def run_case(case, arguments, clock, upstream):
    sets = [case.make() for _ in range(SETS)]
    functions = {"ours": [lambda s=s: s.call(deep_gemm) for s in sets]}
    if upstream is not None:
        theirs = [lambda s=s: s.call(upstream) for s in sets]
        try:
            theirs[0]()
            functions["upstream"] = theirs
        except Exception as error:
            print(f"  {case.name}: upstream: {str(error).splitlines()[0][:100]}", file=sys.stderr)
    if arguments.peers:
        peers = [s.peers() for s in sets]
        for name in peers[0]:
            if all(found[name] for found in peers):
                functions[name] = [found[name] for found in peers]
    times = measure(clock, functions, arguments.modes, arguments.rounds, arguments.calls,
                    arguments.rest)
    sizes = {name: bytes_of(tensor) for name, tensor in sets[0].tensors.items()}
    traffic = sum(sizes.values())
    return {"case": case.name, "kind": case.kind, "flops": case.flops, "bytes": traffic,
            "bytes_of": sizes, "floor_us": case.floor_us(traffic), "times": times,
            "condition": condition()}


def main(argv=None):
    argv = sys.argv[1:] if argv is None else argv
    arguments = parse(argv)
    clock = Clock(arguments.device, arguments.flush)
    scope = Scope(arguments.device, arguments.tiny, arguments.seed, arguments.count)
    upstream = load_upstream(arguments.upstream) if arguments.upstream else None
    report = Report(head(arguments, argv, clock), arguments.modes, arguments.json, arguments.csv)
    for name in arguments.families or FAMILIES:
        scope.restart()
        report.begin_family(name, FAMILIES[name].__doc__)
        for case in FAMILIES[name](scope):
            if arguments.only in case.name:
                report.add({"family": name, **run_case(case, arguments, clock, upstream)})
        report.end_family()
    report.close()


if __name__ == "__main__":
    main()
