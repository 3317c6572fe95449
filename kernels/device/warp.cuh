/* SPDX-License-Identifier: MIT
 *
 * What a warp does together: election, shuffles, and the register budget of its warpgroup. All 32
 * lanes take part. */
#pragma once
#include "device/language.cuh"

/* True in one lane, the same one every time; cheaper than comparing the lane index, because the
 * compiler then knows that one lane runs. */
DEVICE bool elect_one(void) {
    uint32_t elected;
    asm volatile("{.reg .pred p;\n"
                 "elect.sync _|p, -1;\n"
                 "selp.u32 %0, 1, 0, p;}"
                 : "=r"(elected));
    return elected != 0;
}

DEVICE uint32_t shuffle_u32(uint32_t value, uint32_t lane) {
    return __shfl_sync(0xffffffffu, value, (int)lane);
}

DEVICE float shuffle_f32(float value, uint32_t lane) {
    return __shfl_sync(0xffffffffu, value, (int)lane);
}

DEVICE uint32_t shuffle_xor_u32(uint32_t value, uint32_t mask) {
    return __shfl_xor_sync(0xffffffffu, value, (int)mask);
}

DEVICE float shuffle_xor_f32(float value, uint32_t mask) {
    return __shfl_xor_sync(0xffffffffu, value, (int)mask);
}

DEVICE uint32_t warp_ballot(bool predicate) {
    return __ballot_sync(0xffffffffu, predicate);
}

/* Gives registers of the warpgroup back, or takes some; inc waits until they are free. The sum over
 * warpgroups must fit 65536 registers / 128 threads, or inc waits for ever. */
template <int REGISTERS> DEVICE void setmaxnreg_dec(void) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}

template <int REGISTERS> DEVICE void setmaxnreg_inc(void) {
    asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(REGISTERS));
}
