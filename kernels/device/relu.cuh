/* SPDX-License-Identifier: MIT
 *
 * The rectifier, apart from the conversions because few kernels want it. */
#pragma once
#include "device/language.cuh"

/* The larger of value and 0; a NaN stays NaN. */
DEVICE float relu_f32(float value) {
    float result;
    asm("max.NaN.f32 %0, %1, 0f00000000;" : "=f"(result) : "f"(value));
    return result;
}
