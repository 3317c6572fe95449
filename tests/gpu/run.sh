#!/bin/sh
# SPDX-License-Identifier: MIT
#
# Runs everything that needs an H200 and leaves logs and a new golden file in OUT:
#
#     tests/gpu/run.sh BUILD OUT [GOLDEN]
#
# BUILD is a build folder in which the targets gpu_tests and gpu_family_tests were made. With GOLDEN, the
# conformance programs are also compared with that file. Every program has a time limit, so that a
# hang costs a minute and not the machine.
build=$1/tests/kernels/gpu
families=$1/tests/gpu/family
out=$2
golden=$3
failed=0

limited() { # seconds, name of the log, command ...
    seconds=$1
    log=$2
    shift 2
    echo "== $*"
    timeout "$seconds" "$@" >"$out/$log" 2>&1
    code=$?
    tail -n 40 "$out/$log"
    echo "== exit code $code"
    [ "$code" = 0 ] || failed=1
}

mkdir -p "$out"
limited 60 conformance.log "$build/gpu_conformance" "$build/conformance.cubin" "$out"
if [ -n "$golden" ]; then
    limited 60 golden.log "$build/gpu_conformance" "$build/conformance.cubin" - "$golden"
fi
# One program of each kind under compute-sanitizer: barriers of all sorts, multicast into a peer, bulk
# groups, a warpgroup's products. These take six seconds, all of them more than a minute.
if command -v compute-sanitizer >/dev/null; then
    limited 120 synccheck.log compute-sanitizer --tool synccheck --target-processes all --error-exitcode 9 \
        "$build/gpu_conformance" "$build/conformance.cubin" - "${golden:-$out/sm90_primitives.txt}" \
        barrier_steps load_multicast send_to_peer bulk_round_trip wgmma_e4m3_k128 hand_over \
        read_from_peer
else
    echo "== synccheck: not run, compute-sanitizer is not installed"
fi
limited 60 fp8_accumulator.log "$build/gpu_fp8_accumulator" "$build/conformance.cubin"
# The families and every line of the catalogue, as they are and with each access to memory checked.
for program in "$families"/gpu_family_*; do
    [ -x "$program" ] || continue
    name=$(basename "$program")
    limited 120 "$name.log" "$program"
    if command -v compute-sanitizer >/dev/null; then
        limited 180 "$name.memcheck.log" compute-sanitizer --tool memcheck --error-exitcode 9 "$program"
    fi
done
exit $failed
