#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles every specialisation of fp8_gemm_block listed in tests/gpu/specialisations.h.

    build_specialisations.py nvcc|nvrtc OUT_FOLDER [-I FOLDER]...

One cubin each, named by its numbers. Exits with 77 if the compiler is not installed, with 1 if one
of them spills or draws a C75xx remark."""
import os
import re
import subprocess
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..")
FIELDS = ["BLOCK_M", "BLOCK_N", "STAGES", "MATH_GROUPS", "SHARE", "STORE_N", "STORE_ROWS",
          "STORE_BUFFERS", "UNROLL_K"]
REST = ["-DOUT_F32=0", "-DADD_C=0", "-DSCHEDULE=0"]
SHARE = {"DG_SHARE_NONE": "0", "DG_SHARE_B": "1", "DG_SHARE_A": "2"}


def main(compiler, folder, includes):
    os.makedirs(folder, exist_ok=True)
    text = open(os.path.join(ROOT, "tests", "gpu", "specialisations.h"), encoding="utf-8").read()
    worst = 0
    for line in re.findall(r"^    SPECIALISATION\((.*?)\)", text, flags=re.M):
        values = [SHARE.get(v.strip(), v.strip()) for v in line.split(",")]
        name = "_".join(values)
        done = subprocess.run(
            [sys.executable, os.path.join(ROOT, "tools", "compile_kernel.py"), compiler,
             os.path.join(ROOT, "kernels", "sm90", "fp8_gemm_block.cu"),
             "-o", os.path.join(folder, f"fp8_gemm_block_{name}.cubin")] + includes +
            [f"-D{field}={value}" for field, value in zip(FIELDS, values)] + REST)
        print(f"{name}: {'ok' if done.returncode == 0 else 'failed'}", flush=True)
        worst = max(worst, done.returncode)
    return worst


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    sys.exit(main(sys.argv[1], sys.argv[2], sys.argv[3:]))
