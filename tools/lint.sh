#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Style and static checks: clang-format, clang-tidy over the library and the command line, layer rule.
set -euo pipefail
cd "$(dirname "$0")/.."

python3 tools/check_layers.py .
git ls-files '*.c' '*.h' '*.cu' '*.cuh' '*.cpp' | xargs -r clang-format-14 --dry-run -Werror
cmake --preset clang -DDG_FUZZ=OFF -DDG_BUILD_TESTS=OFF > /dev/null
cmake --build build/clang -j "$(nproc)" > /dev/null
git ls-files 'src/*.c' 'cli/*.c' ':!*_neon.c' | xargs -r -n 4 -P "$(nproc)" clang-tidy-14 -p build/clang --quiet \
    --warnings-as-errors='*' 2> build/clang/tidy.stderr ||
    { cat build/clang/tidy.stderr; exit 1; }
echo "lint: clean"
