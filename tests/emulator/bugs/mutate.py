#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the C++ sources of the bug test: the kernel's text once for each bug, with the bug in it.

    mutate.py count                        how many sources there will be
    mutate.py OUT_FOLDER KERNEL            writes bug_<name>.cu and bugs_<i>.cpp

A search text that does not occur exactly once is an error: a bug that is not in the text would be
"found" by nothing and never missed."""
import os
import sys

from fp8_gemm_block_bugs import BUGS

PER_SOURCE = 6

SOURCE_HEAD = """// SPDX-License-Identifier: MIT
// Made by tests/emulator/bugs/mutate.py.
#include "bug_test.h"
#include "gemm_vocabulary.h"
"""
SOURCE_ENTRY = """
namespace {name} {{
#include "specialisations/{specialisation}.inc"
#define KERNEL_TEXT "bug_{name}.cu"
#include "gemm_specialisation.inc"
#undef KERNEL_TEXT
static const RegisterBug registered("{name}", SPECIALISATION({name}));
}} // namespace {name}
"""


def mutate(text, name, changes):
    for search, replacement in changes:
        count = text.count(search)
        if count != 1:
            sys.exit(f"{name}: this text occurs {count} times, not once:\n{search}")
        text = text.replace(search, replacement)
    return text


def source_count():
    return (len(BUGS) + PER_SOURCE - 1) // PER_SOURCE


def write(folder, kernel):
    text = open(kernel, encoding="utf-8").read()
    os.makedirs(folder, exist_ok=True)
    for name, _, changes in BUGS:
        with open(os.path.join(folder, f"bug_{name}.cu"), "w", encoding="utf-8") as file:
            file.write(mutate(text, name, changes))
    for i in range(source_count()):
        with open(os.path.join(folder, f"bugs_{i}.cpp"), "w", encoding="utf-8") as file:
            file.write(SOURCE_HEAD)
            for name, specialisation, _ in BUGS[i * PER_SOURCE:(i + 1) * PER_SOURCE]:
                file.write(SOURCE_ENTRY.format(name=name, specialisation=specialisation))


if __name__ == "__main__":
    if sys.argv[1:] == ["count"]:
        print(source_count())
    elif len(sys.argv) == 3:
        write(sys.argv[1], sys.argv[2])
    else:
        sys.exit(__doc__)
