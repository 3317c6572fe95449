#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# The installed library as a stranger meets it: find_package from C and C++, pkg-config, the README's
# example, the command line, and a symbol table that holds the public functions and nothing else.
set -euo pipefail
cd "$(dirname "$0")/../.."
work=$PWD/build/package-test
rm -rf "$work" && mkdir -p "$work"
prefix=$work/prefix

cmake --preset release -DDG_BUILD_TESTS=ON > /dev/null
cmake --build build/release -j "$(nproc)" > /dev/null
cmake --install build/release --prefix "$prefix" > /dev/null
library=$(find "$prefix" -name 'libdeep_gemm.so.0.*')
libdir=$(dirname "$library")

echo "find_package from C and C++"
cmake -S tests/package/consumer -B "$work/consumer" -G Ninja -DCMAKE_PREFIX_PATH="$prefix" > /dev/null
cmake --build "$work/consumer" > /dev/null
"$work/consumer/consumer_c"
"$work/consumer/consumer_cxx"

echo "pkg-config and the README's C example"
export PKG_CONFIG_PATH=$libdir/pkgconfig
awk '/^```c$/ {inside = 1; next} /^```$/ {inside = 0} inside' README.md > "$work/readme.c"
[ -s "$work/readme.c" ]
# shellcheck disable=SC2046
gcc -std=c11 -Wall -Wextra -Werror "$work/readme.c" $(pkg-config --cflags --libs deep_gemm) -lm \
    -o "$work/readme"
LD_LIBRARY_PATH=$libdir "$work/readme"

echo "exported symbols are the declared functions"
nm -D --defined-only "$library" | awk '$2 == "T" {print $3}' | sed 's/@.*//' | sort > "$work/exported"
cat "$prefix"/include/deep_gemm/*.h | tr '\n' ' ' | grep -oE 'DG_API [^;]*;' |
    grep -oE '\bdg_[a-z0-9_]+ ?\(' | tr -d ' (' | sort > "$work/declared"
diff "$work/declared" "$work/exported"
readelf -d "$library" | grep -q 'SONAME.*libdeep_gemm.so.0]'

echo "command line, which finds its library by itself"
"$prefix/bin/deepgemm" --version
"$prefix/bin/deepgemm" verify --quick | tail -n 1
