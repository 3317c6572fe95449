#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes texts of a kernel, each with one bug in it.

    mutate.py list BUGS_FILE                 prints "name specialisation" of each bug
    mutate.py write BUGS_FILE SOURCE OUT     writes OUT/<name>.cu for each bug

BUGS_FILE has a list BUGS, as fp8_gemm_block_bugs.py explains. SOURCE is inside kernels/ or absolute; the
pieces it includes from a folder of kernels are put in their places first, so a bug may be in them. A search text
that does not occur exactly once is an error: a bug that is not in the text would be found by nothing
and never missed."""
import os
import re
import runpy
import sys

KERNELS = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "..", "kernels")


def read_with_pieces(name, seen):
    """The text of a file, with all it includes from kernels/ but vocabulary and arguments."""
    out = []
    with open(os.path.join(KERNELS, name), encoding="utf-8") as file:
        for line in file:
            match = re.match(r'#\s*include "((?!device/|args/)[^"]+)"', line)
            if not match or not os.path.exists(os.path.join(KERNELS, match[1])):
                out.append(line if line.strip() != "#pragma once" else "\n")
            elif match[1] not in seen:
                seen.add(match[1])
                out.append(read_with_pieces(match[1], seen))
    return "".join(out)


def mutate(text, name, changes):
    for search, replacement in changes:
        count = text.count(search)
        if count != 1:
            sys.exit(f"{name}: this text occurs {count} times, not once:\n{search}")
        text = text.replace(search, replacement)
    return text


def write_if_changed(path, text):
    """Leaves the file's time alone if nothing changed: a new bug does not compile the others again."""
    if os.path.exists(path):
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def write(bugs, source, folder):
    text = read_with_pieces(source, set())
    os.makedirs(folder, exist_ok=True)
    for name, _, changes in bugs:
        write_if_changed(os.path.join(folder, f"{name}.cu"), mutate(text, name, changes))


def main(arguments):
    if len(arguments) < 2:
        sys.exit(__doc__)
    bugs = runpy.run_path(arguments[1])["BUGS"]
    if arguments[0] == "list":
        for name, specialisation, _ in bugs:
            print(name, specialisation)
    elif arguments[0] == "write" and len(arguments) == 4:
        write(bugs, arguments[2], arguments[3])
    else:
        sys.exit(__doc__)


if __name__ == "__main__":
    main(sys.argv[1:])
