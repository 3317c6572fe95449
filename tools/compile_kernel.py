#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles a CUDA source for sm_90a with nvcc or NVRTC and refuses bad code.

    compile_kernel.py nvcc|nvrtc SOURCE [-I FOLDER]... [-D NAME=VALUE]... [-o CUBIN]

Spilled registers and ptxas' remarks C75xx (wgmma serialised, setmaxnreg ignored) are errors: the
code would be right and slow. Exits with 77 if the compiler is not installed. NVRTC is looked for in
$DG_NVRTC, in the nvidia-cuda-nvrtc package of this Python, and in the usual library path."""
import argparse
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys

SKIPPED = 77
ARCHITECTURE = "sm_90a"


def find_nvcc():
    return shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")


def compile_nvcc(arguments):
    nvcc = find_nvcc()
    if not nvcc:
        print("nvcc is not installed")
        sys.exit(SKIPPED)
    command = [nvcc, "-cubin", "-std=c++17", "-O3", "-Xptxas", "-v", "-Werror", "all-warnings",
               f"-gencode=arch=compute_90a,code={ARCHITECTURE}", arguments.source,
               "-o", arguments.o or os.devnull]
    command += [f"-I{folder}" for folder in arguments.I] + [f"-D{d}" for d in arguments.D]
    done = subprocess.run(command, capture_output=True, text=True)
    return done.returncode, done.stdout + done.stderr


def find_nvrtc():
    candidates = [os.environ.get("DG_NVRTC", "")]
    for folder in sys.path:
        candidates += glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so.*"))
    for name in filter(None, candidates + ["libnvrtc.so.13", "libnvrtc.so"]):
        try:
            # In a package, its second library lies beside it where the loader does not look.
            for second in glob.glob(os.path.join(os.path.dirname(name), "libnvrtc-builtins.so*")):
                ctypes.CDLL(second, ctypes.RTLD_GLOBAL)
            return ctypes.CDLL(name)
        except OSError:
            continue
    return None


def inline_includes(path, folders, seen):
    """The text NVRTC gets: as in the library, with every include put in its place."""
    out = []
    for line in open(path, encoding="utf-8"):
        match = re.match(r'#\s*include "([^"]+)"', line)
        if not match:
            out.append(line if line.strip() != "#pragma once" else "\n")
            continue
        found = next(p for p in (os.path.join(f, match[1]) for f in folders) if os.path.exists(p))
        if found not in seen:
            seen.add(found)
            out.append(inline_includes(found, folders, seen))
    return "".join(out)


def compile_nvrtc(arguments):
    nvrtc = find_nvrtc()
    if not nvrtc:
        print("NVRTC is not installed")
        sys.exit(SKIPPED)
    folders = [os.path.dirname(arguments.source)] + arguments.I
    text = inline_includes(arguments.source, folders, set()).encode()
    options = [f"--gpu-architecture={ARCHITECTURE}", "-std=c++17", "--ptxas-options=-v"]
    options += [f"-D{d}" for d in arguments.D]
    program = ctypes.c_void_p()
    nvrtc.nvrtcCreateProgram(ctypes.byref(program), text, b"kernel.cu", 0, None, None)
    array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
    code = nvrtc.nvrtcCompileProgram(program, len(options), array)
    size = ctypes.c_size_t()
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    if code == 0:
        nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
        cubin = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetCUBIN(program, cubin)
        with open(arguments.o or os.devnull, "wb") as file:
            file.write(cubin.raw)
    return code, log.value.decode()


def complaints(log):
    found = re.findall(r"^.*\bC75\d\d\b.*$", log, flags=re.M)
    found += [f"{n} bytes of {what}" for n, what in
              re.findall(r"(\d+) bytes (spill stores|spill loads|stack frame)", log) if int(n)]
    return found


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("compiler", choices=["nvcc", "nvrtc"])
    parser.add_argument("source")
    parser.add_argument("-I", action="append", default=[])
    parser.add_argument("-D", action="append", default=[])
    parser.add_argument("-o")
    arguments = parser.parse_args()
    code, log = (compile_nvcc if arguments.compiler == "nvcc" else compile_nvrtc)(arguments)
    bad = complaints(log)
    if code or bad:
        print(log if code else "\n".join(bad))
        if arguments.o and os.path.exists(arguments.o):
            os.remove(arguments.o)
        sys.exit(1)


if __name__ == "__main__":
    main()
