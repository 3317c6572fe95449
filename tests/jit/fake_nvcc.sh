#!/bin/sh
# SPDX-License-Identifier: MIT
# Behaves like nvcc towards src/jit/nvcc.c. What it writes is "cubin " and its input's macros. Each
# compilation adds a line to the file $FAKE_NVCC_LOG. $FAKE_NVCC says what else it does:
#   "sleep N"  takes that long            "fail"   complains and fails
#   "spill"    tells of a spill           "old"    is version 12.1
#   "hang"     compiles for ever          "empty"  writes an empty file
#   "big"      writes 300 KiB             "gone"   removes the folder $DG_JIT_CACHE_DIR meanwhile
#   "newer"    is version 13.1
case "$1" in
--version)
    case "$FAKE_NVCC" in
    old) release="12.1, V12.1.105" ;;
    newer) release="13.1, V13.1.2" ;;
    *) release="13.0, V13.0.1" ;;
    esac
    echo "Cuda compilation tools, release $release"
    exit 0 ;;
esac
input= output=
while [ $# -gt 0 ]; do
    case "$1" in
    -o) output=$2; shift ;;
    *.cu) input=$1 ;;
    esac
    shift
done
[ -z "$FAKE_NVCC_LOG" ] || echo "$$ $input" >> "$FAKE_NVCC_LOG"
case "$FAKE_NVCC" in
sleep*) sleep "${FAKE_NVCC#sleep }" ;;
hang) exec sleep 1000 ;;
fail) echo "kernel.cu(7): error: no such thing" >&2; exit 2 ;;
spill) echo "    0 bytes stack frame, 16 bytes spill stores, 20 bytes spill loads" ;;
gone) rm -rf "$DG_JIT_CACHE_DIR" ;;
empty) : > "$output"; exit 0 ;;
esac
{ printf 'cubin '; grep '^#define [A-Z0-9_]* -*[0-9]*$' "$input" | head -n 24 | tr '\n' ' '; } > "$output"
[ "$FAKE_NVCC" != big ] || head -c 307200 /dev/zero >> "$output"
