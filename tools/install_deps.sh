#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Installs the Debian packages that a make target needs, if any of them is missing.
# Usage: tools/install_deps.sh build|test
set -euo pipefail

build=(gcc g++ cmake ninja-build pkg-config libc6-dev python3)
test=(libcmocka-dev clang-14 clang-tidy-14 clang-format-14 libclang-rt-14-dev python3-venv
    python3-dev libopenblas0-pthread libcjson-dev gcc-aarch64-linux-gnu libc6-dev-arm64-cross
    qemu-user-static)

case "${1:-}" in
build) wanted=("${build[@]}" libcjson-dev) ;;
test) wanted=("${build[@]}" "${test[@]}") ;;
*) echo "usage: tools/install_deps.sh build|test" >&2; exit 2 ;;
esac

missing=()
for package in "${wanted[@]}"; do
    state=$(dpkg-query -W -f='${db:Status-Status}' "$package" 2>/dev/null || true)
    [ "$state" = installed ] || missing+=("$package")
done
[ ${#missing[@]} -gt 0 ] || exit 0

echo "installing ${missing[*]}"
root=()
[ "$(id -u)" = 0 ] || root=(sudo)
"${root[@]}" apt-get update -qq
"${root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
    "${missing[@]}" > /dev/null
