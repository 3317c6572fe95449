#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds test_isa for 64-bit Arm and runs it under qemu-user: the NEON kernels
# against the portable ones, bit for bit. Exit status 77 (skipped) where compiler or emulator is missing.
#
#   run_neon.sh SOURCE_DIR BUILD_DIR
set -eu
source_dir=$1
build_dir=$2
compiler=${AARCH64_CC:-aarch64-linux-gnu-gcc}
emulator=${AARCH64_QEMU:-qemu-aarch64-static}
for tool in "$compiler" "$emulator"; do
    if ! command -v "$tool" >/dev/null; then
        echo "$tool is not installed: NEON not tested"
        exit 77
    fi
done
mkdir -p "$build_dir"
src=$source_dir/src
here=$source_dir/tests/cpu
"$compiler" -std=c11 -O2 -D_GNU_SOURCE -ffp-contract=off -Wall -Wextra -Werror -static -pthread \
    -I"$here/cross" -I"$src" -I"$source_dir/include" -o "$build_dir/test_isa" \
    "$here/test_isa.c" "$here/engine_case.c" \
    "$src/cpu/cast_neon.c" "$src/cpu/cast_portable.c" \
    "$src/cpu/isa_neon.c" "$src/cpu/isa_portable.c" "$src/cpu/isa.c" "$src/cpu/engine.c" \
    "$src/cpu/pack.c" "$src/cpu/transpose.c" "$src/cpu/e2m1.c" "$src/cpu/scale_factors.c" \
    "$src/cpu/store.c" "$src/cpu/tiling.c" "$src/cpu/pool.c" "$src/base/error.c" -lm
"$emulator" "$build_dir/test_isa"
