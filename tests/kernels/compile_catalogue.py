#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles the first line of each kernel in kernels/catalogue.txt with one compiler, or every line.

    compile_catalogue.py nvcc|nvrtc [--all] --cache FOLDER -I FOLDER...

Exits with 77 if the compiler is not installed, with 1 if a kernel does not compile, spills or draws a
remark C75xx. The build has done this for all lines, with the compiler that it found."""
import argparse
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "tools"))
import embed_kernels  # noqa: E402
from gen_catalogue import read_catalogue  # noqa: E402


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("compiler", choices=["nvcc", "nvrtc"])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--cache", required=True)
    parser.add_argument("-I", action="append", default=[])
    arguments = parser.parse_args()
    compiler, why = embed_kernels.find_compiler(arguments.compiler)
    if compiler is None:
        print(f"skipped: {why}")
        return 77
    kernels = embed_kernels.Kernels(arguments.I)
    seen, bad = set(), 0
    for name, values in read_catalogue():
        if name in seen and not arguments.all:
            continue
        seen.add(name)
        _, fault = embed_kernels.compile_entry(name, [f"{f}={v}" for f, v in values.items()],
                                               kernels.text(name), compiler, arguments.cache)
        print(f"{'ok    ' if fault is None else 'FAILED'} {embed_kernels.shown((name, values))}"
              f"{'' if fault is None else ': ' + fault}", flush=True)
        bad += fault is not None
    return bad > 0


if __name__ == "__main__":
    sys.exit(main())
