#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes a CUDA source that issues every generated wgmma once: ptxas must accept them all."""
import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "tools"))
from gen_wgmma import KINDS, WIDTHS  # noqa: E402

print('#include "device/descriptor.cuh"\n#include "device/wgmma.cuh"\n')
for width in WIDTHS:
    print(f"KERNEL(128) use_wgmma_n{width}(float *out) {{\n    float d[{width // 2}];\n"
          "    uint32_t a[4] = {1, 2, 3, 4};\n"
          "    const uint64_t s = make_descriptor_k128(shared_base());\n    UNROLL\n"
          f"    for (int i = 0; i < {width // 2}; i++) d[i] = 0.f;\n    wgmma_fence();")
    for name, _, _, from_registers, _ in KINDS:
        print(f"    WGMMA({name}, {width}, d, {'a' if from_registers else 's'}, s, 1);")
    print("    wgmma_commit();\n    wgmma_wait<0>();\n    UNROLL\n"
          f"    for (int i = 0; i < {width // 2}; i++) out[thread_index() + i * 128] = d[i];\n}}\n")
