# SPDX-License-Identifier: MIT
"""python -m deep_gemm VERB: the command line `deepgemm` that came with the package."""
import os
import shutil
import sys


def main():
    """Becomes the program, so that its output and exit status are this process's."""
    beside = os.path.join(os.path.dirname(os.path.abspath(__file__)), "bin", "deepgemm")
    program = beside if os.access(beside, os.X_OK) else shutil.which("deepgemm")
    if program is None:
        sys.exit("python -m deep_gemm: this installation came without the command line deepgemm")
    os.execv(program, ["deepgemm", *sys.argv[1:]])


if __name__ == "__main__":
    main()
