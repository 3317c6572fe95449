// SPDX-License-Identifier: MIT
//
// Implementation of report.h and of fail(). A deadlock is reported by groups of threads that wait
// for the same thing, with the state of that thing.
#include "report.h"

#include <cstdarg>
#include <cstdio>
#include <cstring>
#include <map>

namespace emu {

void fail(const char *kind, const char *format, ...) {
    char text[700];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    std::string message = text;
    if (current) {
        char who[96];
        snprintf(who, sizeof who, " [cta %u warp %u lane %u]", current->cta->index, current->warp,
            current->lane);
        message += who;
    }
    throw Error(kind, message);
}

// A barrier of a peer is found through the rank in its address.
static const Mbarrier *waited_mbarrier(const Thread &t) {
    const uint32_t rank = t.wait_a >> 24;
    const Cta *c = rank ? t.cta->cluster->ctas[rank - 1].get() : t.cta;
    const int k = c->mbarrier_at[((t.wait_a & 0xffffff) - SHARED_BASE) / 8];
    return k < 0 ? nullptr : &c->mbarriers[static_cast<size_t>(k)];
}

static std::string what_it_waits_for(const Thread &t) {
    char text[256];
    const Cta *c = t.cta;
    const int n = snprintf(text, sizeof text, "launch %u cta %u: %s", c->cluster->launch->index,
        c->index, t.waits_for);
    char *rest = text + n;
    const size_t left = sizeof text - static_cast<size_t>(n);
    if (!strcmp(t.waits_for, "mbarrier wait")) {
        if (const Mbarrier *b = waited_mbarrier(t))
            snprintf(rest, left,
                " 0x%x parity %u (phase %u, %d of %u arrivals pending, %d bytes pending)", t.wait_a,
                t.wait_b, b->phase, b->pending, b->count, b->bytes);
    } else if (!strcmp(t.waits_for, "bar.sync")) {
        snprintf(rest, left, " %u (%u of %u arrived)", t.wait_a, c->barriers[t.wait_a].arrived,
            t.wait_b);
    } else if (!strcmp(t.waits_for, "setmaxnreg.inc")) {
        snprintf(rest, left, " to %u (%llu free)", t.wait_a,
            static_cast<unsigned long long>(c->free_registers));
    }
    return text;
}

std::string deadlock_report(const std::vector<std::unique_ptr<Cluster>> &live) {
    std::map<std::string, std::map<uint32_t, int>> lanes_by_warp; // of each thing waited for
    for (const auto &cluster : live)
        for (const auto &c : cluster->ctas)
            for (const Thread &t : c->threads)
                if (!t.done) lanes_by_warp[what_it_waits_for(t)][t.warp]++;
    std::string text;
    for (const auto &thing : lanes_by_warp) {
        text += "\n    " + thing.first + " <- warps";
        for (const auto &warp : thing.second) {
            text += " " + std::to_string(warp.first);
            if (warp.second != 32) text += "(" + std::to_string(warp.second) + " lanes)";
        }
    }
    return text;
}

} // namespace emu
