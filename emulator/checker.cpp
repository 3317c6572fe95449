// SPDX-License-Identifier: MIT
//
// Implementation of checker.h: one routine compares an access with what a granule remembers, one
// remembers it, dropping what the new access makes superfluous. Called by every memory primitive.
#include "machine.h"

#include <algorithm>
#include <cstdio>
#include <unordered_map>

namespace emu {

struct ClusterFacts {
    uint32_t launch, first_cta, threads;
};
static std::vector<ClusterFacts> clusters;
static std::unordered_map<uint64_t, Granule> global_granules; // by address / 16

void checker_reset() {
    clusters.clear();
    global_granules.clear();
}

uint32_t checker_add_cluster(uint32_t launch, uint32_t first_cta, uint32_t threads) {
    clusters.push_back({launch, first_cta, threads});
    return static_cast<uint32_t>(clusters.size() - 1);
}

std::string agent_name(uint32_t cluster, uint32_t agent) {
    const ClusterFacts &facts = clusters[cluster];
    const uint32_t each = agents_of_cta(facts.threads), warps = facts.threads / 32;
    uint32_t k = agent % each;
    char text[120];
    int n = snprintf(text, sizeof text, "cta %u ", facts.first_cta + agent / each);
    char *rest = text + n;
    const size_t left = sizeof text - static_cast<size_t>(n);
    if (k < facts.threads)
        snprintf(rest, left, "warp %u lane %u", k / 32, k % 32);
    else if ((k -= facts.threads) < warps)
        snprintf(rest, left, "products of warp %u", k);
    else if ((k -= warps) < MAX_MBARRIERS)
        snprintf(rest, left, "copies on mbarrier number %u", k);
    else if ((k -= MAX_MBARRIERS) < warps)
        snprintf(rest, left, "bulk store (read) of warp %u", k);
    else if ((k -= warps) < warps)
        snprintf(rest, left, "bulk store (write) of warp %u", k);
    else
        snprintf(rest, left, "tcgen05 loads and stores of warp %u", k - warps);
    std::string name = text;
    if (facts.launch) name = "launch " + std::to_string(facts.launch) + " " + name;
    return name;
}

Access access_by_thread(const Thread *t, uint8_t flags) {
    const ClusterClocks &row = t->clocks.rows[0];
    return {row.seen[t->agent], row.cluster, static_cast<uint16_t>(t->agent), 0, 1, flags};
}

Access access_by_agent(const Cta *c, uint32_t agent, Clock clock, uint8_t flags, uint8_t span) {
    return {clock, c->cluster->id, static_cast<uint16_t>(agent), 0, span, flags};
}

static bool ordered(const Access &old, const Clocks &clocks) {
    if (clusters[old.cluster].launch < clocks.launches_seen) return true;
    const ClusterClocks *row = clocks.find(old.cluster);
    if (!row) return false;
    for (uint32_t s = 0; s < old.span; s++)
        if (old.clock > row->seen[old.agent + s]) return false;
    return true;
}

// An ordinary store that no proxy fence has made visible to the asynchronous engines.
static bool unfenced(const Access &old, const Clocks &clocks) {
    if (!(old.flags & ACCESS_WRITE) || (old.flags & ACCESS_ASYNC)) return false;
    if (clusters[old.cluster].launch < clocks.launches_seen) return false;
    const ClusterClocks *row = clocks.find(old.cluster);
    return !row || old.clock > row->proxied[old.agent];
}

static void compare(const Granule &granule, const Access &mine, const Clocks &clocks,
    const char *what, const char *space, uint64_t address) {
    for (const Access &old : granule.accesses) {
        if (!(old.bytes & mine.bytes) || !((mine.flags | old.flags) & ACCESS_WRITE)) continue;
        if ((mine.flags & old.flags) & ACCESS_ATOMIC) continue;
        if (!ordered(old, clocks))
            fail("RACE", "%s at %s 0x%llx is not ordered after the %s by %s", what, space,
                static_cast<unsigned long long>(address),
                old.flags & ACCESS_WRITE ? "write" : "read",
                agent_name(old.cluster, old.agent).c_str());
        if ((mine.flags & ACCESS_ASYNC) && unfenced(old, clocks))
            fail("PROXY", "%s at %s 0x%llx: no proxy fence after the ordinary store by %s", what,
                space, static_cast<unsigned long long>(address),
                agent_name(old.cluster, old.agent).c_str());
    }
}

static void remember(Granule &granule, const Access &mine, const Clocks &clocks) {
    auto superfluous = [&](const Access &old) {
        if (old.bytes & ~mine.bytes) return false;
        if ((mine.flags | old.flags) & ACCESS_ATOMIC)
            return old.agent == mine.agent && old.cluster == mine.cluster &&
                   old.flags == mine.flags;
        if (mine.flags & ACCESS_WRITE) return true;
        if (old.flags & ACCESS_WRITE) return false;
        const bool same =
            old.agent == mine.agent && old.cluster == mine.cluster && old.span == mine.span;
        return same || ordered(old, clocks);
    };
    std::vector<Access> &list = granule.accesses;
    if (list.capacity() == 0) list.reserve(4); // one allocation instead of three
    list.erase(std::remove_if(list.begin(), list.end(), superfluous), list.end());
    list.push_back(mine);
    if (mine.flags & ACCESS_WRITE) granule.written |= mine.bytes;
}

void check_granule(Granule &granule, const Access &access, const Clocks &clocks, const char *what,
    const char *space, uint64_t address, bool record) {
    statistics.granules_checked++;
    compare(granule, access, clocks, what, space, address);
    if (record) remember(granule, access, clocks);
}

// The bytes of granule g (16 of them) that [first, first + length) covers.
static uint16_t bytes_inside(uint64_t g, uint64_t first, uint64_t length) {
    const uint64_t start = g * 16;
    const uint64_t low = start < first ? first - start : 0;
    const uint64_t high = std::min<uint64_t>(16, first + length - start);
    return static_cast<uint16_t>(((1u << high) - 1u) & ~((1u << low) - 1u));
}

void check_shared(Cta *owner, uint32_t offset, uint32_t length, Access access, const Clocks &clocks,
    const char *what, bool check, bool record) {
    for (uint32_t g = offset / 16; g <= (offset + length - 1) / 16; g++) {
        access.bytes = bytes_inside(g, offset, length);
        Granule &granule = owner->granules[g];
        statistics.granules_checked++;
        if (check) {
            const uint64_t address = SHARED_BASE + g * 16;
            if (!(access.flags & ACCESS_WRITE) && (granule.written & access.bytes) != access.bytes)
                fail("UNINITIALISED", "%s reads shared memory 0x%llx that was never written", what,
                    static_cast<unsigned long long>(address));
            compare(granule, access, clocks, what, "shared memory", address);
        }
        if (record) remember(granule, access, clocks);
    }
}

void check_global(
    const void *address, size_t length, Access access, const Clocks &clocks, const char *what) {
    const uint64_t first = reinterpret_cast<uintptr_t>(address);
    for (uint64_t g = first / 16; g <= (first + length - 1) / 16; g++) {
        access.bytes = bytes_inside(g, first, length);
        Granule &granule = global_granules[g];
        statistics.granules_checked++;
        compare(granule, access, clocks, what, "global memory", g * 16);
        remember(granule, access, clocks);
    }
}

} // namespace emu
