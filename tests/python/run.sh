#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Runs the tests of the Python package in build/venv, which it makes. The packages are numpy and
# ml_dtypes; with TORCH=1 also torch, which many more tests are for. Exits with 77, skipped, if the
# packages cannot be had.
# Usage: tests/python/run.sh PACKAGE_FOLDER RESULTS.xml [pytest options]
set -euo pipefail
package=$(realpath "$1") results=$(realpath -m "$2")
shift 2
cd "$(dirname "$0")/../.."

packages=(numpy ml_dtypes pytest hypothesis)
[ "${TORCH:-0}" = 0 ] || packages+=(torch==2.13.0)
venv=$PWD/build/venv
stamp=$venv/has-${packages[*]}
stamp=${stamp// /_}
if [ ! -e "$stamp" ]; then
    [ -x "$venv/bin/python" ] || python3 -m venv "$venv" || exit 77
    "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}" || exit 77
    touch "$stamp"
fi
mkdir -p "$(dirname "$results")"
PYTHONPATH=$package "$venv/bin/python" -m pytest -q -p no:cacheprovider --junit-xml="$results" \
    tests/python "$@"
