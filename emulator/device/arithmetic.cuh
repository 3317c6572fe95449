// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/arithmetic.cuh. Nothing is contracted in this build.
#pragma once
#include "device/language.cuh"

DEVICE float multiply(float a, float b) {
    return a * b;
}

DEVICE uint32_t count_bits(uint32_t word) {
    return static_cast<uint32_t>(__builtin_popcount(word));
}
