// SPDX-License-Identifier: MIT
//
// Implementation of copy_async.h. In the race checker a copy is an access by its thread at a time
// that is never reached, so that every other access races with it; the wait replaces it by an
// access at the thread's time.
#include "copy_async.h"
#include "global_memory.h"
#include "mbarrier.h"
#include "scheduler.h"
#include "shared_memory.h"

#include <cstring>

namespace emu {

constexpr Clock NEVER = ~Clock{0};

static Access access_at(const Thread *t, Clock clock, uint8_t flags) {
    Access access = access_by_thread(t, flags);
    access.clock = clock;
    return access;
}

static void record_at(const Thread *t, const CopyOperation &operation, Clock clock) {
    if (config.check_races)
        check_shared(t->cta, operation.offset, operation.bytes, access_at(t, clock, ACCESS_WRITE),
            t->clocks, "cp.async", false, true);
}

// Arrives if all of the copies have landed; they then count as accesses before the arrival.
static void arrive_if_done(const CopyArrival &arrival) {
    for (const auto &operation : arrival.copies)
        if (!operation->done) return;
    for (const auto &operation : arrival.copies)
        record_at(arrival.thread, *operation, operation->signal_clock);
    arrival.thread->cta->copies_in_flight--;
    mbarrier_arrive_from(*arrival.barrier, arrival.released);
}

void copy_async(uint32_t destination, const void *source, uint32_t bytes, uint32_t valid) {
    Thread *t = current;
    Cta *c = t->cta;
    const char *what = "cp.async";
    uint8_t *target = shared_pointer(c, destination, bytes, bytes, what);
    if (destination >> 24) fail("BOUNDS", "%s into a peer's shared memory", what);
    if (valid > bytes) fail("BOUNDS", "%s of %u bytes, %u of them valid", what, bytes, valid);
    if (valid && reinterpret_cast<uintptr_t>(source) % bytes)
        fail("ALIGN", "%s: %p is not %u-byte aligned", what, source, bytes);
    auto operation = std::make_shared<CopyOperation>();
    operation->offset = shared_offset(destination);
    operation->bytes = bytes;
    statistics.copies++;
    if (config.check_races)
        check_shared(
            c, operation->offset, bytes, access_at(t, NEVER, ACCESS_WRITE), t->clocks, what);
    if (valid) global_access_by(source, valid, access_by_thread(t, ACCESS_READ), t->clocks, what);
    memset(target, 0xFF, bytes);
    t->copies_open.push_back(operation);
    start_effect(Engine::Load, c->cluster, [=] {
        memset(target, 0, bytes);
        if (valid) memcpy(target, source, valid);
        operation->done = true;
        wake(operation->waiters);
        for (const auto &arrival : operation->arrivals) arrive_if_done(*arrival);
        operation->arrivals.clear();
    });
}

void copy_async_commit() {
    current->copy_groups.push_back(std::move(current->copies_open));
    current->copies_open.clear();
}

void copy_async_wait(uint32_t groups) {
    Thread *t = current;
    while (t->copy_groups.size() > groups) {
        for (const auto &operation : t->copy_groups.front()) {
            while (!operation->done) block(operation->waiters, "cp.async.wait_group");
            record_at(t, *operation, operation->signalled ? operation->signal_clock : now(t));
        }
        t->copy_groups.pop_front();
    }
}

void copy_async_arrive(uint32_t barrier) {
    Thread *t = current;
    auto arrival = std::make_shared<CopyArrival>();
    arrival->thread = t;
    arrival->barrier = &mbarrier_at(t->cta, barrier, "cp.async.mbarrier.arrive");
    arrival->copies = t->copies_open;
    for (const auto &group : t->copy_groups)
        arrival->copies.insert(arrival->copies.end(), group.begin(), group.end());
    const Clock clock = now(t);
    release_to(arrival->released, t);
    t->cta->copies_in_flight++;
    bool all_done = true;
    for (const auto &operation : arrival->copies) {
        all_done &= operation->done;
        if (!operation->done) operation->arrivals.push_back(arrival);
        if (!operation->signalled) operation->signal_clock = clock;
        operation->signalled = true;
    }
    if (all_done) start_effect(Engine::Load, t->cta->cluster, [=] { arrive_if_done(*arrival); });
}

} // namespace emu
