#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compiles a CUDA source with nvcc or NVRTC and refuses bad code.

    compile_kernel.py nvcc|nvrtc SOURCE [-I FOLDER]... [-D NAME=VALUE]... [-o CUBIN]
                      [--architecture sm_90a]

Spilled registers and ptxas' remarks C75xx (wgmma serialised, setmaxnreg ignored) are errors: the
code would be right and slow. Exits with 77 if the compiler is not installed. NVRTC is looked for in
$DG_NVRTC, in the nvidia-cuda-nvrtc package of this Python, and in the usual library path. Used from
the command line by tests, as a module by catalogue.py."""
import argparse
import ctypes
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

from kernel_text import flatten

SKIPPED = 77
OPTIONS = ["-std=c++17"]


class Nvcc:
    """nvcc as a child process."""
    name = "nvcc"

    def __init__(self, program):
        self.program = program
        told = subprocess.run([program, "--version"], capture_output=True, text=True, check=True)
        match = re.search(r"release (\d+)\.(\d+), V([\d.]+)", told.stdout)
        if not match:
            raise OSError(f"{program} --version tells no version")
        self.version = (int(match[1]), int(match[2]))
        self.version_text = f"nvcc {match[3]}"

    def options(self, architecture):
        code = architecture.replace("sm_", "compute_")
        return ["-cubin", "-O3", "-Xptxas", "-v", "-Werror", "all-warnings",
                f"-gencode=arch={code},code={architecture}"] + OPTIONS

    def compile(self, text, macros, architecture):
        """(cubin or None, log) of a text without includes."""
        with tempfile.TemporaryDirectory() as folder:
            source, cubin = os.path.join(folder, "kernel.cu"), os.path.join(folder, "kernel.cubin")
            with open(source, "w", encoding="utf-8") as file:
                file.write(text)
            done = subprocess.run(
                [self.program, *self.options(architecture), *(f"-D{m}" for m in macros), source,
                 "-o", cubin], capture_output=True, text=True, cwd=folder, check=False)
            log = done.stdout + done.stderr
            if done.returncode:
                return None, log or f"{self.program} ended with {done.returncode}"
            with open(cubin, "rb") as file:
                return file.read(), log


class Nvrtc:
    """NVRTC inside this process; several threads may compile at once."""
    name = "nvrtc"

    def __init__(self, library):
        self.library = library
        major, minor = ctypes.c_int(), ctypes.c_int()
        library.nvrtcVersion(ctypes.byref(major), ctypes.byref(minor))
        self.version = (major.value, minor.value)
        self.version_text = f"nvrtc {major.value}.{minor.value}"

    def options(self, architecture):
        return [f"--gpu-architecture={architecture}", "--ptxas-options=-v"] + OPTIONS

    def compile(self, text, macros, architecture):
        """(cubin or None, log) of a text without includes."""
        nvrtc = self.library
        options = self.options(architecture) + [f"-D{m}" for m in macros]
        program = ctypes.c_void_p()
        nvrtc.nvrtcCreateProgram(ctypes.byref(program), text.encode(), b"kernel.cu", 0, None, None)
        array = (ctypes.c_char_p * len(options))(*[o.encode() for o in options])
        code = nvrtc.nvrtcCompileProgram(program, len(options), array)
        size = ctypes.c_size_t()
        nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
        log = ctypes.create_string_buffer(size.value)
        nvrtc.nvrtcGetProgramLog(program, log)
        cubin = None
        if code == 0:
            nvrtc.nvrtcGetCUBINSize(program, ctypes.byref(size))
            buffer = ctypes.create_string_buffer(size.value)
            nvrtc.nvrtcGetCUBIN(program, buffer)
            cubin = buffer.raw
        nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
        return cubin, log.value.decode() or f"NVRTC error {code}"


def find_nvcc():
    """nvcc, or None."""
    program = shutil.which("nvcc") or shutil.which("nvcc", path="/usr/local/cuda/bin")
    try:
        return Nvcc(program) if program else None
    except (OSError, subprocess.CalledProcessError):
        return None


def find_nvrtc():
    """NVRTC, or None."""
    candidates = [os.environ.get("DG_NVRTC", "")]
    for folder in sys.path:
        candidates += glob.glob(os.path.join(folder, "nvidia", "*", "lib", "libnvrtc.so.*"))
    for name in filter(None, candidates + ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so"]):
        try:
            # In a package, its second library lies beside it where the loader does not look.
            for second in glob.glob(os.path.join(os.path.dirname(name), "libnvrtc-builtins.so*")):
                ctypes.CDLL(second, ctypes.RTLD_GLOBAL)
            return Nvrtc(ctypes.CDLL(name))
        except OSError:
            continue
    return None


def complaints(log):
    """What is wrong with code that compiled."""
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
    parser.add_argument("--architecture", default="sm_90a")
    arguments = parser.parse_args()
    compiler = find_nvcc() if arguments.compiler == "nvcc" else find_nvrtc()
    if compiler is None:
        print(f"{arguments.compiler} is not installed")
        sys.exit(SKIPPED)
    folders = [os.path.dirname(arguments.source)] + arguments.I
    text = "".join(flatten(arguments.source, folders))
    cubin, log = compiler.compile(text, arguments.D, arguments.architecture)
    bad = complaints(log)
    if arguments.o and os.path.exists(arguments.o):
        os.remove(arguments.o)
    if cubin is None or bad:
        print("\n".join(bad) if cubin else log)
        sys.exit(1)
    if arguments.o:
        with open(arguments.o, "wb") as file:
            file.write(cubin)


if __name__ == "__main__":
    main()
