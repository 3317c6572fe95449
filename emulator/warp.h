// SPDX-License-Identifier: MIT
//
// What a warp does together. All collectives go through warp_exchange: each lane brings a few
// words, the last lane to arrive computes every lane's result. Lanes that meet in different
// collectives, or never meet, are an error or a deadlock.
#pragma once
#include "machine.h"

#include <functional>

namespace emu {

void warp_exchange(const char *operation, const uint64_t *in, size_t in_count, uint64_t *out,
    size_t out_count, const std::function<void(WarpExchange &)> &compute);

void warp_sync();
uint32_t shuffle(uint32_t value, uint32_t source_lane);
uint32_t shuffle_xor(uint32_t value, uint32_t mask);
uint32_t warp_ballot(bool predicate);
void setmaxnreg(uint32_t registers, bool increase);

} // namespace emu
