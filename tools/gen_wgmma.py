#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes device/wgmma_shapes.cuh: one function for each wgmma shape, kind and operand source.

    gen_wgmma.py ptx      > kernels' version, inline PTX
    gen_wgmma.py emulated > emulator's version, calls into the emulator

The instruction has its tile width in its name and up to 128 accumulator operands, so these 32
widths times 10 kinds are the one family of primitives that is not written by hand. Both versions
come from the one table below, so they cannot drift apart. The build runs this; the text is not kept
in the tree."""
import sys
from textwrap import wrap

# name, PTX types, k per instruction, A in registers, (A, B) transposed (None: no choice)
KINDS = [
    ("e4m3", "e4m3.e4m3", 32, False, None),
    ("e4m3_rs", "e4m3.e4m3", 32, True, None),
    ("bf16", "bf16.bf16", 16, False, (0, 0)),
    ("bf16_a_mn", "bf16.bf16", 16, False, (1, 0)),
    ("bf16_b_mn", "bf16.bf16", 16, False, (0, 1)),
    ("bf16_ab_mn", "bf16.bf16", 16, False, (1, 1)),
    ("bf16_rs", "bf16.bf16", 16, True, (0, 0)),
    ("bf16_rs_b_mn", "bf16.bf16", 16, True, (0, 1)),
    ("tf32", "tf32.tf32", 8, False, None),
    ("tf32_rs", "tf32.tf32", 8, True, None),
]
WIDTHS = range(8, 257, 8)

HEAD = """/* SPDX-License-Identifier: MIT
 *
 * Made by tools/gen_wgmma.py {world}; included by device/wgmma.cuh. wgmma_<kind>_n<width>(d, a, b,
 * accumulate): d [64 x width] f32 = a [64 x k] x b [width x k] (+ d where accumulate is not 0).
 * d: [width / 2] registers; lane l of warp w holds rows 16*w + l/4 (+8 for d[i] with i & 2),
 * columns 8*(i/4) + 2*(l%4) + i%2. a: descriptor, or in the _rs forms [4] registers; b: descriptor.
 */
#pragma once
"""



def ptx_operands(width):
    """Two macros for all kinds of this width: the register list in the text, and the operands."""
    count = width // 2
    numbers = wrap("{" + ", ".join(f"%{i}" for i in range(count)) + "}", 88)
    text = " \\\n".join(f'    "{line} "' for line in numbers)
    operands = " \\\n".join("    " + line for line in
                            wrap(", ".join(f'"+f"(d[{i}])' for i in range(count)), 92))
    return f"#define REGISTERS_{width} \\\n{text}\n#define OPERANDS_{width}(d) \\\n{operands}\n"


def ptx_function(kind, width):
    name, types, k, from_registers, transposed = kind
    first = width // 2
    a_count = 4 if from_registers else 1
    b, flag = first + a_count, first + a_count + 1
    if from_registers:
        a = "{" + ", ".join(f"%{first + i}" for i in range(4)) + "}"
        a_operands = ", ".join(f'"r"(a[{i}])' for i in range(4))
        a_type = "const uint32_t *a"
    else:
        a, a_operands, a_type = f"%{first}", '"l"(a)', "uint64_t a"
    arguments = f"float *d, {a_type}, uint64_t b, int accumulate"
    tail = "1, 1"
    if transposed is not None:
        tail += f", {transposed[1]}" if from_registers else f", {transposed[0]}, {transposed[1]}"
    return (f"DEVICE void wgmma_{name}_n{width}({arguments}) {{\n"
            f'    asm volatile("{{.reg .pred p; setp.ne.b32 p, %{flag}, 0;\\n"\n'
            f'                 "wgmma.mma_async.sync.aligned.m64n{width}k{k}.f32.{types} "\n'
            f'                 REGISTERS_{width} ", {a}, %{b}, p, {tail};}}"\n'
            f"                 : OPERANDS_{width}(d)\n"
            f'                 : {a_operands}, "l"(b), "r"(accumulate));\n}}\n')


def emulated_function(kind, width):
    name, types, _, from_registers, transposed = kind
    a_mn, b_mn = (bool(t) for t in transposed or (0, 0))
    a_type = "const uint32_t *a" if from_registers else "uint64_t a"
    arguments = f"float *d, {a_type}, uint64_t b, int accumulate"
    call = "wgmma_registers" if from_registers else "wgmma_shared"
    flags = [] if from_registers else [a_mn]
    flags = "".join(f", {str(f).lower()}" for f in flags + [b_mn])
    kind_name = types.split(".")[0].upper()
    return (f"DEVICE void wgmma_{name}_n{width}({arguments}, EMU_SITE) {{\n"
            f'    emu::warp_together("wgmma", site);\n'
            f"    emu::{call}(d, {width}, emu::OperandType::{kind_name}, a, b, "
            f"accumulate != 0{flags});\n}}\n")


def main(world):
    out = [HEAD.format(world=world)]
    for width in WIDTHS:
        out.append(f"#if WGMMA_SHAPES >> {width // 8 - 1} & 1\n")
        if world == "ptx":
            out.append(ptx_operands(width))
        for kind in KINDS:
            out.append(ptx_function(kind, width) if world == "ptx" else
                       emulated_function(kind, width))
        if world == "ptx":
            out.append(f"#undef REGISTERS_{width}\n#undef OPERANDS_{width}\n")
        out.append("#endif\n")
    sys.stdout.write("".join(out))


if __name__ == "__main__":
    if len(sys.argv) != 2 or sys.argv[1] not in ("ptx", "emulated"):
        sys.exit(__doc__)
    main(sys.argv[1])
