#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The bugs that docs/emulator.md promises are there: every name in its tables "the N bugs" is a bug of
a list or a test, and there are N of them.

    check_names.py"""
import glob
import os
import re
import runpy
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DOCS = os.path.join(HERE, "..", "..", "..", "docs", "emulator.md")


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def existing():
    """Every bug that is injected somewhere."""
    names = set()
    for path in glob.glob(os.path.join(HERE, "*_bugs.py")):
        names |= {name for name, _, _ in runpy.run_path(path)["BUGS"]}
    for path in glob.glob(os.path.join(HERE, "..", "test_*.cpp")):
        names |= set(re.findall(r"TEST\((bug_\w+)\)", read(path)))
    return names


def main():
    there, bad = existing(), []
    tables = re.findall(r"^\| (\w+) \| the (\d+) bugs \|\n\|---\|---\|\n((?:\|.*\n)+)", read(DOCS),
                        flags=re.M)
    for title, count, rows in tables:
        names = re.findall(r"`(\w+)`", rows)
        bad += [f"{title}: {name} is injected nowhere" for name in names if name not in there]
        if len(set(names)) != int(count):
            bad.append(f"{title}: {len(set(names))} bugs, not {count}")
        print(f"{title}: {len(names)} bugs")
    if len(tables) != 2:
        bad.append(f"{len(tables)} tables of bugs in docs/emulator.md, not 2")
    print("\n".join(bad))
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
