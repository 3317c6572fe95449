# SPDX-License-Identifier: MIT
"""The text of a kernel with every include put in its place: what a compiler gets that has no folders
to include from. Used by compile_kernel.py and embed_kernels.py; alone, it prints a text:

    kernel_text.py SOURCE FOLDER...

It comes as a list of segments, cut where an include stood: kernels that include the same headers
share most of their segments, and the library holds each once."""
import os
import re
import sys

INCLUDE = re.compile(r'#\s*include "([^"]+)"')


def flatten(path, folders):
    """The segments of the text of `path`; its includes are looked for in `folders`, in that order."""
    return list(_segments(path, os.path.basename(path), folders, set()))


def _segments(path, shown, folders, seen):
    lines, first = [], 1
    with open(path, encoding="utf-8") as file:
        for number, line in enumerate(file, 1):
            match = INCLUDE.match(line)
            if match:
                yield f'#line {first} "{shown}"\n' + "".join(lines)
                lines, first = [], number + 1
                found = _find(match[1], folders, f"{path}:{number}")
                if found not in seen:
                    seen.add(found)
                    yield from _segments(found, match[1], folders, seen)
            elif line.strip() == "#pragma once":
                lines.append("\n")
            else:
                lines.append(line)
    yield f'#line {first} "{shown}"\n' + "".join(lines)


def _find(name, folders, where):
    for folder in folders:
        path = os.path.join(folder, name)
        if os.path.exists(path):
            return path
    raise SystemExit(f'{where}: "{name}" is in none of {", ".join(folders)}')


if __name__ == "__main__":
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    print("".join(flatten(sys.argv[1], sys.argv[2:])), end="")
