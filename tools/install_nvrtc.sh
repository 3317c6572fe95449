#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Puts NVRTC, the run-time compiler of CUDA, into build/nvrtc, where the tests of kernels look for it.
# Needs Python's venv and a package index; no GPU and no CUDA toolkit. Exits with 77 if there is no index.
# Usage: tools/install_nvrtc.sh
set -euo pipefail
cd "$(dirname "$0")/.."

[ -x build/nvrtc/bin/python3 ] && build/nvrtc/bin/python3 -c 'import nvidia' 2> /dev/null && exit 0
python3 -m venv build/nvrtc
if ! build/nvrtc/bin/pip install --quiet 'nvidia-cuda-nvrtc==13.0.*'; then
    echo "NVRTC could not be installed: the tests that need it will be skipped" >&2
    exit 77
fi
