// SPDX-License-Identifier: MIT
//
// Implementation of warp.h. Only warp_sync orders memory; shuffles and the like do not.
#include "warp.h"
#include "scheduler.h"

#include <cstring>

namespace emu {

void warp_exchange(const char *operation, const uint64_t *in, size_t in_count, uint64_t *out,
    size_t out_count, const std::function<void(WarpExchange &)> &compute) {
    WarpExchange &w = current->cta->warps[current->warp];
    const uint32_t lane = current->lane;
    if (w.arrived && strcmp(w.operation, operation))
        fail("DIVERGED", "lanes of one warp meet in different collectives: %s and %s", w.operation,
            operation);
    w.operation = operation;
    std::copy(in, in + in_count, w.in[lane]);
    if (++w.arrived == 32) {
        w.arrived = 0;
        compute(w);
        wake(w.waiters);
    } else {
        block(w.waiters, operation);
    }
    std::copy(w.out[lane], w.out[lane] + out_count, out);
}

void warp_sync() {
    const uint64_t me = reinterpret_cast<uintptr_t>(current);
    warp_exchange("warp_sync", &me, 1, nullptr, 0, [](WarpExchange &w) {
        if (!config.check_races) return;
        Clocks all;
        for (auto &in : w.in) release_to(all, reinterpret_cast<Thread *>(in[0]));
        for (auto &in : w.in) acquire(reinterpret_cast<Thread *>(in[0]), all);
    });
}

uint32_t shuffle(uint32_t value, uint32_t source_lane) {
    const uint64_t in[2] = {value, source_lane};
    uint64_t out;
    warp_exchange("shuffle", in, 2, &out, 1, [](WarpExchange &w) {
        for (int lane = 0; lane < 32; lane++) w.out[lane][0] = w.in[w.in[lane][1] & 31][0];
    });
    return static_cast<uint32_t>(out);
}

uint32_t shuffle_xor(uint32_t value, uint32_t mask) {
    return shuffle(value, current->lane ^ mask);
}

uint32_t warp_ballot(bool predicate) {
    const uint64_t in = predicate;
    uint64_t out;
    warp_exchange("ballot", &in, 1, &out, 1, [](WarpExchange &w) {
        uint64_t votes = 0;
        for (int lane = 0; lane < 32; lane++) votes |= w.in[lane][0] << lane;
        for (auto &o : w.out) o[0] = votes;
    });
    return static_cast<uint32_t>(out);
}

void setmaxnreg(uint32_t registers, bool increase) {
    Cta *c = current->cta;
    const uint32_t mine = current->registers;
    if (registers < 24 || registers > 256 || registers % 8)
        fail("SETMAXNREG", "%u is not a multiple of 8 from 24 to 256", registers);
    if (increase ? registers < mine : registers > mine)
        fail("SETMAXNREG", "%s from %u to %u", increase ? "inc" : "dec", mine, registers);
    if (increase) {
        while (c->free_registers < registers - mine)
            block(c->register_waiters, "setmaxnreg.inc", registers,
                static_cast<uint32_t>(c->free_registers));
        c->free_registers -= registers - mine;
    } else {
        c->free_registers += mine - registers;
        wake(c->register_waiters);
    }
    current->registers = registers;
}

} // namespace emu
