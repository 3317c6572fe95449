#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs every fuzz target for so many seconds under clang's libFuzzer and AddressSanitizer, from the
# corpus of the last run. Usage: tests/fuzz/run.sh SECONDS
set -euo pipefail
cd "$(dirname "$0")/../.."
seconds=${1:?usage: tests/fuzz/run.sh SECONDS}
cmake --preset clang -DDG_FUZZ=ON -DDG_BUILD_TESTS=ON > /dev/null
for source in tests/fuzz/fuzz_*.c; do
    target=$(basename "$source" .c)
    cmake --build build/clang -j "$(nproc)" --target "$target" > /dev/null
    mkdir -p "build/fuzz/$target"
    "build/clang/tests/fuzz/$target" -max_total_time="$seconds" -max_len=400 -len_control=0 \
        -timeout=20 -verbosity=0 -print_final_stats=1 -artifact_prefix="build/fuzz/$target-" \
        "build/fuzz/$target"
done
