// SPDX-License-Identifier: MIT
//
// The emulated twin of kernels/device/warp.cuh. The elected lane differs from CTA to CTA, so that
// code which relies on lane 0 is noticed.
#pragma once
#include "device/language.cuh"
#include "warp.h"

#include <cstring>

DEVICE bool elect_one(EMU_SITE) {
    emu::warp_together("elect_one", site);
    return emu::current->lane == emu::current->cta->elected_lane;
}

DEVICE uint32_t shuffle_u32(uint32_t value, uint32_t lane, EMU_SITE) {
    emu::warp_together("shuffle", site);
    return emu::shuffle(value, lane);
}

DEVICE float shuffle_f32(float value, uint32_t lane, EMU_SITE) {
    emu::warp_together("shuffle", site);
    uint32_t bits;
    memcpy(&bits, &value, 4);
    bits = emu::shuffle(bits, lane);
    memcpy(&value, &bits, 4);
    return value;
}

DEVICE uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask, EMU_SITE) {
    emu::warp_together("shuffle", site);
    return emu::shuffle_xor(value, mask);
}

DEVICE float shuffle_xor_f32(float value, uint32_t mask, EMU_SITE) {
    return shuffle_f32(value, emu::current->lane ^ mask, site);
}

DEVICE uint32_t warp_ballot(bool predicate, EMU_SITE) {
    emu::warp_together("warp_ballot", site);
    return emu::warp_ballot(predicate);
}
template <int REGISTERS> DEVICE void setmaxnreg_dec(EMU_SITE) {
    emu::warp_together("setmaxnreg", site);
    emu::setmaxnreg(REGISTERS, false);
}
template <int REGISTERS> DEVICE void setmaxnreg_inc(EMU_SITE) {
    emu::warp_together("setmaxnreg", site);
    emu::setmaxnreg(REGISTERS, true);
}
