#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a vocabulary in which any one primitive can be left out.

    leave_out.py OUT SHAPES

Writes OUT/device/*.cuh, the emulated vocabulary with a question in front of each primitive, and
OUT/primitives.h, the list of primitives, which thus comes from the headers and from nowhere else. SHAPES is
what tools/gen_wgmma.py made; its functions count as one primitive for each kind. What the questions mean
is in left_out.h: a primitive that is left out does nothing, and where it has a result, the result is wrong.
test_left_out.cpp asks whether the tests of primitives notice."""
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..")
FUNCTION = re.compile(r"DEVICE\s+([\w ]+?)\s+(\w+)\(([^)]*)\)\s*\{")
# Results that one wrong bit does not make wrong: what stands there instead.
WRONG = {"clock_cycles": "0"}
# Leaving them out is right, and what they are given cannot be wrong in the emulator.
HINTS = {"tensormap_prefetch"}


def end_of_body(text, start):
    """The place behind the brace that closes the one in front of `start`."""
    depth = 1
    while depth:
        depth += {"{": 1, "}": -1}.get(text[start], 0)
        start += 1
    return start


def question(number, result, name, arguments, body):
    """Arguments and body of a primitive that can be left out."""
    if result != "void":
        wrong = f", {WRONG[name]}" if name in WRONG else ""
        return arguments, re.sub(r"\breturn\b(.*?);",
                                 rf" return left_out::answer<{result}>({number},\1{wrong});", body,
                                 flags=re.S)
    # The twins of pin_* have no use for their argument and give it no name.
    arguments = re.sub(r"^((?:float|uint32_t) [&*])(?=,|$)", r"\1spoilt", arguments)
    target = re.match(r"(?:float|uint32_t) ([&*])(values|d|spoilt)\b", arguments)
    where = f", {'&' if target[1] == '&' else ''}{target[2]}" if target else ""
    return arguments, f"\n    if (left_out::skips({number}{where})) return;{body}"


def leave_out(text, numbers):
    """The text of one header with its questions; adds its primitives to numbers."""
    out, at = [], 0
    while match := FUNCTION.search(text, at):
        result, name, arguments = match.groups()
        end = end_of_body(text, match.end())
        primitive = re.sub(r"^(wgmma_\w+)_n\d+$", r"\1", name)
        number = numbers.setdefault(primitive, len(numbers))
        arguments, body = question(number, result, name, arguments, text[match.end():end])
        out += [text[at:match.start()], f"DEVICE {result} {name}({arguments}) {{", body]
        at = end
    return "".join(out) + text[at:]


def write(path, text):
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def main(out, shapes):
    folders = [os.path.join(ROOT, world, "device") for world in ("kernels", "emulator")]
    # The emulated text where there is one; bit arithmetic is one text for both worlds.
    texts = {name: os.path.join(folder, name) for folder in folders for name in os.listdir(folder)}
    sources = [texts[name] for name in sorted(texts)] + [shapes]
    os.makedirs(os.path.join(out, "device"), exist_ok=True)
    numbers = {}
    for source in sources:
        with open(source, encoding="utf-8") as file:
            text = leave_out(file.read(), numbers)
        text = text.replace("#pragma once\n", '#pragma once\n#include "left_out.h"\n', 1)
        write(os.path.join(out, "device", os.path.basename(source)), text)
    rows = "".join(f'    {{"{name}", {str(name in HINTS).lower()}}},\n' for name in numbers)
    write(os.path.join(out, "primitives.h"),
          "// Made by leave_out.py from the headers of the vocabulary: name, whether it is a hint.\n"
          "struct Primitive {\n    const char *name;\n    bool hint;\n};\n"
          f"static const Primitive PRIMITIVES[] = {{\n{rows}}};\n")


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(sys.argv[1], sys.argv[2])
