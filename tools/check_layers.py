#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Checks the layer rule: a file of src/ includes only headers of its own layer or of layers below it.

Arrows point downward only: api > jit > cuda, cpu > plan > model > base; api may include any. Public
headers include public headers alone. Prints each breach and exits with 1 if there is one.
"""
import pathlib
import re
import sys

BELOW = {
    "base": set(),
    "model": {"base"},
    "plan": {"base", "model"},
    "cpu": {"base", "model", "plan"},
    "cuda": {"base", "model", "plan"},
    "jit": {"base", "model", "plan", "cuda"},
    "api": {"base", "model", "plan", "cpu", "cuda", "jit"},
}
INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)


def breaches(root):
    for path in sorted(root.glob("src/*/*.[ch]")):
        layer = path.parent.name
        if layer not in BELOW:
            yield f"{path.relative_to(root)}: folder src/{layer} is no layer"
            continue
        for target in INCLUDE.findall(path.read_text()):
            owner = target.split("/")[0]
            if owner not in {layer, "deep_gemm", "kernels"} | BELOW[layer]:
                yield f'{path.relative_to(root)}: {layer} may not include "{target}"'
    for path in sorted(root.glob("include/deep_gemm/*.h")):
        for target in INCLUDE.findall(path.read_text()):
            if not target.startswith("deep_gemm/"):
                yield f'{path.relative_to(root)}: a public header may not include "{target}"'


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".").resolve()
    found = list(breaches(root))
    for line in found:
        print(line)
    if not any(root.glob("src/*/*.c")):
        found.append("no sources")
        print(f"{root}: no sources under src/")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
