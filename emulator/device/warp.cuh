// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/warp.cuh. The elected lane differs from CTA to CTA, so that
// code which relies on lane 0 is noticed.
#pragma once
#include "device/language.cuh"
#include "warp.h"

#include <cstring>

DEVICE bool elect_one(void) {
    return emu::current->lane == emu::current->cta->elected_lane;
}

DEVICE uint32_t shuffle_u32(uint32_t value, uint32_t lane) {
    return emu::shuffle(value, lane);
}

DEVICE float shuffle_f32(float value, uint32_t lane) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = emu::shuffle(bits, lane);
    memcpy(&value, &bits, 4);
    return value;
}

DEVICE uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask) {
    return emu::shuffle_xor(value, mask);
}

DEVICE float shuffle_xor_f32(float value, uint32_t mask) {
    return shuffle_f32(value, emu::current->lane ^ mask);
}

DEVICE uint32_t warp_ballot(bool predicate) {
    return emu::warp_ballot(predicate);
}
template <int REGISTERS> DEVICE void setmaxnreg_dec(void) {
    emu::setmaxnreg(REGISTERS, false);
}
template <int REGISTERS> DEVICE void setmaxnreg_inc(void) {
    emu::setmaxnreg(REGISTERS, true);
}
