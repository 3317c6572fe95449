#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes C files out of kernels/: the texts for the run-time compiler, and the compiled catalogue.

    embed_kernels.py text   OUT.c -I FOLDER...
    embed_kernels.py images OUT.c -I FOLDER... --cache FOLDER [--compiler auto|nvcc|nvrtc|none]
                            [--strict] [-j N]
    embed_kernels.py probe  [--compiler ...]     says which compiler `images` would use

The first -I is kernels/ itself, the others hold generated headers. Images are compiled for sm_90a
with nvcc, else with NVRTC, both from 12.9 on (before that, ptxas did not interleave the promotion of
FP8 sums); with neither there are none, and the library compiles at run time. A kernel that does not
compile, spills or draws a remark C75xx is left out with a warning, so that another compiler than ours
does not stop a user's build; with --strict it is an error, and a test of the library fails without
it. Cubins, and what was wrong with the bad ones, are kept in the cache folder under a digest of text, macros, options and
compiler, so that all builds that share the folder compile each specialisation once: whoever compiles
holds a lock on the key's file .lock, the others wait for what it keeps."""
import argparse
import concurrent.futures
import contextlib
import fcntl
import hashlib
import os
import sys
import tempfile
import zlib

import compile_kernel
from gen_catalogue import read_catalogue, read_kernels
from kernel_text import flatten

MIN_VERSION = (12, 9)
ARCHITECTURE = 90  # what the catalogue is built for; kernels for any GPU too
TARGET = "sm_90a"
COLUMNS = 96


def c_string(data):
    """Bytes as a C string literal, a line of source for each COLUMNS characters or end of line."""
    lines, line, length = [], [], 0
    for byte in data:
        if byte == 10:
            part = "\\n"
        elif 32 <= byte < 127 and byte not in b'"\\?':
            part = chr(byte)
        else:
            part = f"\\{byte:03o}"
        line.append(part)
        length += len(part)
        if byte == 10 or length >= COLUMNS:
            lines.append(f'    "{"".join(line)}"')
            line, length = [], 0
    if line or not lines:
        lines.append(f'    "{"".join(line)}"')
    return "\n".join(lines)


def head(what, header):
    return (f"/* SPDX-License-Identifier: MIT\n *\n * {what}\n"
            f" * Made by tools/embed_kernels.py from kernels/; do not edit. */\n#include {header}\n\n")


def write_if_changed(path, text):
    """Leaves the file's time alone if nothing changed: what includes it is not built again."""
    try:
        with open(path, encoding="utf-8") as file:
            if file.read() == text:
                return
    except OSError:
        pass
    os.makedirs(os.path.dirname(path) or ".", exist_ok=True)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


class Kernels:
    """Every kernel of kernels.h whose source is there: {name: id}, {name: segments}."""

    def __init__(self, folders):
        self.ids, self.segments = {}, {}
        for identifier, name, source, _, _ in read_kernels():
            path = os.path.join(folders[0], source)
            if os.path.exists(path):
                self.ids[name] = identifier
                self.segments[name] = flatten(path, [os.path.dirname(path), *folders])

    def text(self, name):
        if name not in self.segments:
            sys.exit(f"catalogue.txt: the source of {name} is missing")
        return "".join(self.segments[name])


def write_text(path, kernels):
    out = [head("The text of every kernel, in segments that kernels share.", '"jit/text.h"')]
    numbers = {}
    for segments in kernels.segments.values():
        for segment in segments:
            if segment not in numbers:
                numbers[segment] = len(numbers)
                out.append(f"static const char segment_{numbers[segment]}[] =\n"
                           f"{c_string(segment.encode())};\n\n")
    for name, segments in kernels.segments.items():
        names = "".join(f"    segment_{numbers[s]},\n" for s in segments)
        out.append(f"static const char *const {name}[] = {{\n{names}    NULL,\n}};\n\n")
    out.append("const dg_kernel_text_t dg_kernel_texts[DG_KERNEL_COUNT] = {\n")
    for name in kernels.segments:
        text = kernels.text(name).encode()
        out.append(f"    [DG_KERNEL_{kernels.ids[name]}] = {{{name}, {len(text)},\n"
                   f'        "{hashlib.sha256(text).hexdigest()}"}},\n')
    out.append("    [DG_KERNEL_COUNT - 1].bytes = 0,\n" if not kernels.segments else "")
    write_if_changed(path, "".join(out) + "};\n")


def find_compiler(wanted):
    """(compiler, "") or (None, why not)."""
    candidates = {"auto": [compile_kernel.find_nvcc, compile_kernel.find_nvrtc],
                  "nvcc": [compile_kernel.find_nvcc], "nvrtc": [compile_kernel.find_nvrtc],
                  "none": []}[wanted]
    reasons = []
    for find in candidates:
        compiler = find()
        if compiler is None:
            reasons.append("no " + find.__name__.removeprefix("find_"))
        elif compiler.version < MIN_VERSION:
            reasons.append(f"{compiler.version_text} is older than 12.9")
        else:
            return compiler, ""
    return None, ", ".join(reasons) or "switched off"


def read_file(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except OSError:
        return None


def keep(path, data):
    """Puts a file in place at once: another build may read it at this very moment."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=os.path.dirname(path), delete=False) as file:
        file.write(data)
    os.replace(file.name, path)


@contextlib.contextmanager
def locked(path):
    """Holds the lock of that file against other threads and processes; a holder that dies lets go. The
    file stays: one that is removed might be somebody's lock already."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "ab") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def read_entry(path):
    """(cubin, None), (None, fault), or None if the cache has neither."""
    cubin, fault = read_file(path + ".cubin"), read_file(path + ".fault")
    if cubin is not None:
        return cubin, None
    return (None, fault.decode()) if fault is not None else None


def compile_entry(name, macros, text, compiler, cache):
    """(cubin, None) of an entry or (None, what is wrong with it), out of the cache if it is there."""
    recipe = "\n".join([compiler.version_text, *compiler.options(TARGET), *macros, text])
    path = os.path.join(cache, f"{name}.{hashlib.sha256(recipe.encode()).hexdigest()[:32]}")
    found = read_entry(path)
    if found:
        return found
    with locked(path + ".lock"):
        found = read_entry(path) # another build may have made it meanwhile
        if found:
            return found
        print(" ".join(["compiling", name, *macros]), flush=True)
        cubin, log = compiler.compile(text, macros, TARGET)
        bad = "\n".join(compile_kernel.complaints(log)) if cubin else log
        if bad:
            keep(path + ".fault", bad.encode())
            return None, bad
        keep(path + ".cubin", cubin)
        return cubin, None


def compile_all(entries, kernels, compiler, arguments):
    """The (entry, cubin) pairs of those that compile well, in the catalogue's order."""
    good, bad = [], []
    with concurrent.futures.ThreadPoolExecutor(arguments.j) as pool:
        tasks = [pool.submit(compile_entry, name, [f"{f}={v}" for f, v in values.items()],
                             kernels.text(name), compiler, arguments.cache) for name, values in entries]
        for entry, task in zip(entries, tasks):
            cubin, fault = task.result()
            if fault is None:
                good.append((entry, cubin))
            else:
                bad.append(f"{shown(entry)}\n    " + fault.strip().replace("\n", "\n    "))
    if bad:
        print(f"{'error' if arguments.strict else 'warning'}: {len(bad)} kernels do not compile "
              "well and are not built in:\n" + "\n".join(bad), file=sys.stderr)
    if bad and arguments.strict:
        sys.exit(1)
    return good


def shown(entry):
    name, values = entry
    return " ".join([name, *(f"{f}={v}" for f, v in values.items())])


def pack(cubin):
    """DEFLATE without a frame, as src/base/inflate.c unpacks it."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -15, 9)
    return packer.compress(cubin) + packer.flush()


def write_images(path, images, kernels, compiler):
    out = [head("The compiled catalogue.", '"jit/images.h"')]
    rows = []
    for number, ((name, values), cubin) in enumerate(images):
        out.append(f"/* {shown((name, values))} */\nstatic const char image_{number}[] =\n"
                   f"{c_string(pack(cubin))};\n\n")
        numbers = ", ".join(map(str, values.values()))
        rows.append(f"    {{{{DG_KERNEL_{kernels.ids[name]}, {{{numbers}}}}}, {ARCHITECTURE}, "
                    f"image_{number},\n        sizeof image_{number} - 1, {len(cubin)}}},\n")
    rows.append("    {{0, {0}}, 0, NULL, 0, 0}, /* C has no empty arrays */\n")
    out.append("const dg_image_t dg_images[] = {\n" + "".join(rows) + "};\n"
               f"const int32_t dg_image_count = {len(images)};\n"
               f'const char dg_image_compiler[] = "{compiler.version_text if images else ""}";\n')
    write_if_changed(path, "".join(out))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["text", "images", "probe"])
    parser.add_argument("out", nargs="?")
    parser.add_argument("-I", action="append", default=[])
    parser.add_argument("--cache")
    parser.add_argument("--compiler", choices=["auto", "nvcc", "nvrtc", "none"], default="auto")
    parser.add_argument("--strict", action="store_true")
    parser.add_argument("-j", type=int, default=len(os.sched_getaffinity(0)))
    arguments = parser.parse_args()
    compiler, why = find_compiler(arguments.compiler) if arguments.what != "text" else (None, "")
    if arguments.what == "probe":
        print(f"kernels are compiled now, by {compiler.version_text}, and built in" if compiler else
              f"no kernels are built in ({why}): each is compiled when it is first used")
        return
    kernels = Kernels(arguments.I)
    if arguments.what == "text":
        write_text(arguments.out, kernels)
        return
    entries = read_catalogue() if compiler else []
    images = compile_all(entries, kernels, compiler, arguments)
    write_images(arguments.out, images, kernels, compiler)


if __name__ == "__main__":
    main()
