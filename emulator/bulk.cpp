// SPDX-License-Identifier: MIT
//
// Implementation of bulk.h. A store is read-complete when shared memory may be reused and complete
// when global memory holds the data: two effects with a delay of their own, and two agents in the
// race checker, so that waiting for the wrong one is noticed.
#include "bulk.h"
#include "global_memory.h"
#include "mbarrier.h"
#include "scheduler.h"
#include "shared_memory.h"

#include <algorithm>
#include <cstring>

namespace emu {

void start_copy(Cta *d, uint32_t destination, uint32_t bytes, uint32_t barrier, const char *what,
    const std::function<void(const Access &)> &source_read, std::function<void()> land) {
    if (d->exited) fail("EXITED", "%s into CTA rank %u, which has exited", what, d->rank);
    uint8_t *target = shared_pointer(d, destination, bytes, 16, what);
    Cta *signalled = barrier >> 24 ? cta_of(barrier) : d;
    Mbarrier &b = mbarrier_for_copy(signalled, barrier, what);
    const Clock clock = b.copies;
    statistics.copies++;
    Clocks starter;
    if (config.check_races) {
        starter = current->clocks;
        check_shared(d, shared_offset(destination), bytes,
            access_by_agent(d, b.agent, clock, ACCESS_WRITE | ACCESS_ASYNC), starter, what);
        source_read(access_by_agent(d, b.agent, clock, ACCESS_ASYNC));
    }
    memset(target, 0xFF, bytes);
    d->copies_in_flight++;
    const uint32_t cluster = d->cluster->id;
    start_effect(Engine::Load, d->cluster, [=, &b] {
        land();
        d->copies_in_flight--;
        mbarrier_complete(b, bytes, starter, cluster, clock);
    });
}

void start_store(uint32_t source, uint32_t bytes, const char *what,
    const std::function<void(const Access &)> &target_write,
    const std::function<std::vector<uint8_t>()> &read,
    const std::function<void(const std::vector<uint8_t> &)> &write) {
    Cta *c = current->cta;
    shared_pointer(c, source, bytes, 16, what);
    statistics.copies++;
    auto operation = std::make_shared<BulkOperation>();
    operation->clock = ++c->stores[current->warp];
    if (config.check_races) {
        check_shared(c, shared_offset(source), bytes,
            access_by_agent(
                c, agent_of_store_read(c, current->warp), operation->clock, ACCESS_ASYNC),
            current->clocks, what);
        target_write(access_by_agent(c, agent_of_store_write(c, current->warp), operation->clock,
            ACCESS_WRITE | ACCESS_ASYNC));
    }
    current->bulk_open.push_back(operation);
    c->copies_in_flight++;
    start_effect(Engine::Store, c->cluster, [=] {
        const std::vector<uint8_t> data = read();
        c->copies_in_flight--;
        operation->read_done = true;
        wake(operation->waiters);
        // Outlives the CTA, which may exit once its shared memory has been read.
        start_effect(Engine::Store, nullptr, [=] {
            write(data);
            operation->write_done = true;
            wake(operation->waiters);
        });
    });
}

void bulk_commit() {
    current->bulk_groups.push_back(std::move(current->bulk_open));
    current->bulk_open.clear();
}

void bulk_wait(uint32_t groups, bool read_only) {
    Thread *t = current;
    for (size_t i = 0; i + groups < t->bulk_groups.size(); i++) {
        for (const auto &operation : t->bulk_groups[i]) {
            while (!(read_only ? operation->read_done : operation->write_done))
                block(operation->waiters, "cp.async.bulk.wait_group");
            raise_clock(t, agent_of_store_read(t->cta, t->warp), operation->clock);
            if (!read_only) raise_clock(t, agent_of_store_write(t->cta, t->warp), operation->clock);
            operation->waited_for = true;
        }
    }
    if (read_only) return; // a later full wait still has to find the groups
    while (t->bulk_groups.size() > groups) t->bulk_groups.pop_front();
}

// ---- contiguous bytes

static void check_bytes(const void *global, uint32_t bytes, const char *what) {
    if (bytes % 16 || !bytes) fail("ALIGN", "%s of %u bytes: not a multiple of 16", what, bytes);
    if (reinterpret_cast<uintptr_t>(global) % 16)
        fail("ALIGN", "%s: %p is not 16-byte aligned", what, global);
}

void bulk_load(uint32_t destination, const void *source, uint32_t bytes, uint32_t barrier) {
    Cta *c = current->cta;
    const char *what = "bulk load";
    check_bytes(source, bytes, what);
    global_bounds(source, bytes, false, what);
    start_copy(
        c, destination, bytes, barrier, what,
        [=](const Access &a) { global_access_by(source, bytes, a, current->clocks, what); },
        [=] { memcpy(c->shared + shared_offset(destination), source, bytes); });
}

static std::function<std::vector<uint8_t>()> reader(uint32_t source, uint32_t bytes) {
    const uint8_t *from = current->cta->shared + shared_offset(source);
    return [=] { return std::vector<uint8_t>(from, from + bytes); };
}

static void store_bytes(void *destination, uint32_t source, uint32_t bytes, const char *what,
    const std::function<void(const std::vector<uint8_t> &)> &write) {
    check_bytes(destination, bytes, what);
    global_bounds(destination, bytes, true, what);
    start_store(
        source, bytes, what,
        [=](const Access &a) { global_access_by(destination, bytes, a, current->clocks, what); },
        reader(source, bytes), write);
}

void bulk_store(void *destination, uint32_t source, uint32_t bytes) {
    store_bytes(destination, source, bytes, "bulk store",
        [=](const std::vector<uint8_t> &data) { memcpy(destination, data.data(), bytes); });
}

void bulk_reduce_add_f32(float *destination, uint32_t source, uint32_t bytes) {
    store_bytes(destination, source, bytes, "bulk reduce", [=](const std::vector<uint8_t> &data) {
        for (uint32_t i = 0; i < bytes / 4; i++) {
            float term;
            memcpy(&term, data.data() + i * 4, 4);
            destination[i] += term;
        }
    });
}

// ---- to a peer's shared memory

void bulk_copy_peer(uint32_t destination, uint32_t source, uint32_t bytes, uint32_t barrier) {
    Cta *c = current->cta, *d = cta_of(destination);
    const char *what = "bulk copy to a peer";
    check_bytes(nullptr, bytes, what);
    const uint8_t *from = shared_pointer(c, source, bytes, 16, what);
    if (cta_of(barrier) != d) fail("BOUNDS", "%s: destination and mbarrier are in two CTAs", what);
    c->copies_in_flight++;
    start_copy(
        d, destination, bytes, barrier, what,
        [=](const Access &a) {
            check_shared(c, shared_offset(source), bytes, a, current->clocks, what);
            if (c != d) c->remote[a.agent] = a.clock;
        },
        [=] {
            memcpy(d->shared + shared_offset(destination), from, bytes);
            c->copies_in_flight--;
        });
}

void store_async(uint32_t destination, uint32_t value, uint32_t barrier) {
    Cta *d = cta_of(destination);
    const char *what = "st.async";
    if (d->exited) fail("EXITED", "%s into CTA rank %u, which has exited", what, d->rank);
    uint8_t *target = shared_pointer(d, destination, 4, 4, what);
    if (cta_of(barrier) != d) fail("BOUNDS", "%s: destination and mbarrier are in two CTAs", what);
    Mbarrier &b = mbarrier_for_copy(d, barrier, what);
    const Clock clock = b.copies;
    Clocks starter;
    if (config.check_races) {
        starter = current->clocks;
        check_shared(d, shared_offset(destination), 4,
            access_by_agent(d, b.agent, clock, ACCESS_WRITE), starter, what);
    }
    d->copies_in_flight++;
    const uint32_t cluster = d->cluster->id;
    start_effect(Engine::Load, d->cluster, [=, &b] {
        memcpy(target, &value, 4);
        d->copies_in_flight--;
        mbarrier_complete(b, 4, starter, cluster, clock);
    });
}

} // namespace emu
