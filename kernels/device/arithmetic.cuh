/* SPDX-License-Identifier: MIT
 *
 * Arithmetic that the language leaves to the compiler or lacks: a product that is rounded before
 * anything is added to it, and the bits that are set in a word. */
#pragma once
#include "device/language.cuh"

/* a * b, rounded; never part of a fused multiply-add */
DEVICE float multiply(float a, float b) {
    return __fmul_rn(a, b);
}

DEVICE uint32_t count_bits(uint32_t word) {
    return (uint32_t)__popc((int)word);
}
