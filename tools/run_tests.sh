#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Every test in every configuration: what `make test` runs. A stage is either a CTest run or one
# command; each leaves a JUnit file in build/test-results, which count_tests.py adds up at the end.
# Stages go on after a failure, so that one run shows everything that is broken.
# Usage: tools/run_tests.sh [STAGE...]   (default: all)
set -uo pipefail
cd "$(dirname "$0")/.."
results=$PWD/build/test-results
rm -rf "$results" && mkdir -p "$results"
jobs=$(nproc)

# Reports one command as one test: report NAME COMMAND...
report() {
    local name=$1 log="$results/$1.log" body=""
    shift
    local begin=$SECONDS
    "$@" > "$log" 2>&1
    local status=$?
    if [ $status = 77 ]; then
        body="<skipped/>"
    elif [ $status != 0 ]; then
        body="<failure message=\"exit status $status\"/>"
        tail -n 60 "$log"
    fi
    echo "<testsuite name=\"$name\"><testcase name=\"$name\">$body</testcase></testsuite>" \
        > "$results/$name.xml"
    printf '%-28s exit %-3s %4d s\n' "$name" $status $((SECONDS - begin))
}

# Builds a preset with tests and runs CTest in it: suite PRESET [CTest options]
suite() {
    local preset=$1 begin=$SECONDS
    shift
    report "build-$preset" bash -c "cmake --preset $preset -DDG_BUILD_TESTS=ON > /dev/null &&
        cmake --build build/$preset -j $jobs"
    ctest --test-dir "build/$preset" --output-on-failure --timeout 600 -j "$jobs" \
        --output-junit "$results/ctest-$preset.xml" "$@" > "$results/ctest-$preset.log" 2>&1 ||
        tail -n 120 "$results/ctest-$preset.log"
    [ -s "$results/ctest-$preset.xml" ] || report "ctest-$preset" false
    printf '%-28s          %4d s\n' "ctest-$preset" $((SECONDS - begin))
}

stage_lint() { report lint tools/lint.sh; }
# NVRTC compiles the kernels; where no package index is at hand, those tests are skipped.
stage_release() {
    report nvrtc tools/install_nvrtc.sh
    suite release -LE 'python|slow'
}
stage_asan() {
    ASAN_OPTIONS=detect_leaks=1:abort_on_error=0 suite asan -LE 'cli|package|slow'
}
stage_tsan() { suite tsan -R 'threads|pool|context|sequence|plan_cache|roundtrip|bits|jit_'; }
# pytest counts its tests itself: its JUnit file goes where the others are.
stage_python() {
    local begin=$SECONDS
    report build-python bash -c "cmake --preset release -DDG_BUILD_PYTHON=ON > /dev/null &&
        cmake --build build/release -j $jobs"
    tests/python/run.sh build/release/python "$results/python.xml" > "$results/python.log" 2>&1
    local status=$?
    [ $status = 0 ] || tail -n 60 "$results/python.log"
    [ -s "$results/python.xml" ] || report python sh -c "exit $status"
    report cast-against-torch build/venv/bin/python tests/python/check_cast_against_torch.py \
        build/release/src/libdeep_gemm.so 500
    report wheel tests/python/package.sh
    printf '%-28s exit %-3s %4d s\n' python $status $((SECONDS - begin))
}
stage_fuzz() { report fuzz tests/fuzz/run.sh 60; }
stage_package() { report package tests/package/run.sh; }

stages=("$@")
[ ${#stages[@]} -gt 0 ] || stages=(lint release asan tsan python fuzz package)
for stage in "${stages[@]}"; do
    "stage_$stage"
done
python3 tools/count_tests.py "$results"
