#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The PTX and the emulated vocabulary must declare the same functions with the same arguments, and the
tests of tests/emulator must name each of them. (That they notice when it is left out is what
tests/emulator/bugs/leave_out.py is for.)"""
import glob
import os
import re
import sys

ROOT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..")
SHARED = {"swizzle.cuh", "descriptor.cuh", "tcgen05_descriptor.cuh"}  # one text for both worlds


def signatures(path):
    text = re.sub(r"//[^\n]*|/\*.*?\*/", "", open(path, encoding="utf-8").read(), flags=re.S)
    found = {}
    for head, name, arguments in re.findall(
            r"((?:template <[^>]*>\s+)?DEVICE\s+[\w ]+?[ *]+)(\w+)\(([^)]*)\)", text):
        # Parameter names may be left out where the emulator does not use them.
        arguments = re.sub(r"(, |^)EMU_SITE$", "", arguments) or "void" # where the emulator asks
        types = [re.sub(r"\b(\w+)$", "", a.strip()) if len(a.split()) > 1 else a
                 for a in re.sub(r"\s+", " ", arguments).split(",")]
        types = [re.sub(r"[&*]$", lambda m: m[0], t.strip()) for t in types]
        found[name] = (re.sub(r"\s+", " ", head).strip(), tuple(types))
    return found


def untested(names):
    """The functions of `names` that no test of a primitive calls."""
    text = ""
    for path in glob.glob(os.path.join(ROOT, "tests", "emulator", "test_*.cpp")):
        with open(path, encoding="utf-8") as file:
            text += re.sub(r"//[^\n]*", "", file.read())
    words = set(re.findall(r"\b(\w+)(?:<[\w ,]+>)?(?=\(|[,)])", text))
    return sorted(names - words)


def main():
    ptx = os.path.join(ROOT, "kernels", "device")
    emulated = os.path.join(ROOT, "emulator", "device")
    names = {os.path.basename(p) for p in glob.glob(os.path.join(ptx, "*.cuh"))} - SHARED
    bad = sorted(names ^ {os.path.basename(p) for p in glob.glob(os.path.join(emulated, "*.cuh"))})
    for name in sorted(names - set(bad)):
        a, b = (signatures(os.path.join(folder, name)) for folder in (ptx, emulated))
        bad += [f"{name}: {f}: {a.get(f)} and {b.get(f)}" for f in sorted(a.keys() | b.keys())
                if a.get(f) != b.get(f)]
        bad += [f"{name}: no test of tests/emulator calls {f}" for f in untested(a.keys())]
        print(f"{name}: {len(a)} functions")
    for name in sorted(SHARED):
        functions = signatures(os.path.join(ptx, name)).keys()
        bad += [f"{name}: no test of tests/emulator calls {f}" for f in untested(functions)]
    print("\n".join(bad))
    return 1 if bad else 0


sys.exit(main())
