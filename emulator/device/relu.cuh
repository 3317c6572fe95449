// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/relu.cuh.
#pragma once
#include "device/language.cuh"

DEVICE float relu_f32(float value) {
    return value <= 0.f ? 0.f : value;
}
