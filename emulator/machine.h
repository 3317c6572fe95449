// SPDX-License-Identifier: MIT
//
// The state of the emulated machine: threads, CTAs, clusters, launches, and what each primitive
// keeps in them. Owned by the launch loop (launch.cpp); every primitive's file works on its own
// part.
#pragma once
#include "checker.h"
#include "clocks.h"
#include "convergence.h"
#include "error.h"
#include "fiber.h"
#include "launch.h"

#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

namespace emu {

struct Thread;
struct Cta;
struct Cluster;

constexpr uint32_t MAX_MBARRIERS = 64; // per CTA; each is an agent of the race checker

// Threads blocked on one thing, linked through Thread::next_waiter.
struct WaitList {
    Thread *first = nullptr;
};

struct Mbarrier {
    uint32_t address, count, agent; // agent: the copies that report here
    int32_t pending, bytes = 0;     // arrivals and bytes still missing in this phase
    uint32_t phase = 0;
    bool valid = true;
    Clock copies = 0;  // copies started so far
    Clocks next, done; // brought by this phase's arrivals; by the last complete phase
    uint32_t init_agent;
    Clock init_clock;
    WaitList waiters;
};

struct NamedBarrier {
    uint32_t expected = 0, arrived = 0, lanes[32] = {}; // lanes: arrivals of each warp
    Clocks clocks;
    WaitList waiters;
};

// One collective of a warp at a time: each lane brings words, the last lane computes for all.
struct WarpExchange {
    const char *operation = nullptr;
    uint32_t arrived = 0;
    uint64_t in[32][8], out[32][4];
    WaitList waiters;
};

enum class OperandType : uint8_t { E4M3, E5M2, F16, BF16, TF32 };

// The accumulator tile of one warpgroup while products are in flight. The registers of its threads
// hold a poison meanwhile.
struct Accumulator {
    float *registers[128] = {};
    std::vector<float> tile; // [64 x width]
    uint32_t width = 0, in_flight = 0;
};

struct WgmmaOperation {
    OperandType type;
    uint32_t width;
    bool accumulate, a_in_registers, a_mn_major, b_mn_major;
    uint64_t a, b; // descriptors
    const uint32_t
        *a_source[128]; // _rs forms: where the registers live, and their content at issue
    uint32_t a_registers[128][4];
    uint32_t arrived = 0;
    std::shared_ptr<Accumulator> accumulator;
};

struct Warpgroup {
    std::deque<std::shared_ptr<WgmmaOperation>> queue;
    uint32_t first = 0; // index of queue.front() among all operations; those before it are executed
    std::vector<std::shared_ptr<Accumulator>> live;
    WaitList waiters;
};

struct BulkOperation {
    bool read_done = false, write_done = false, waited_for = false;
    Clock clock = 0;
    WaitList waiters;
};

// cp.async, and the arrival of its thread at an mbarrier that some copies are to be followed by
struct CopyArrival;
struct CopyOperation {
    uint32_t offset, bytes; // in shared memory
    bool done = false,
         signalled = false; // signalled: an arrival follows, at this clock of its thread
    Clock signal_clock = 0;
    std::vector<std::shared_ptr<CopyArrival>> arrivals;
    WaitList waiters;
};
struct CopyArrival {
    Thread *thread;
    Mbarrier *barrier;
    std::vector<std::shared_ptr<CopyOperation>> copies;
    Clocks released;
};

struct TensorLoad {
    uint32_t *value; // register of this thread that waits for the word
    uint32_t place;  // in TensorMemory::words
};
struct TensorStore {
    uint32_t value, place;
};

struct Thread {
    Fiber fiber;
    Cta *cta = nullptr;
    uint32_t linear = 0, lane = 0, warp = 0, agent = 0;
    bool done = false;
    Thread *next_waiter = nullptr;
    const char *waits_for = ""; // for the deadlock report, with two numbers
    uint32_t wait_a = 0, wait_b = 0;
    Clocks clocks;

    uint64_t collectives = 0; // of its warp that it has reached
    uint32_t registers = 0;
    uint32_t cluster_phase = 0; // of the last cluster_arrive
    bool cluster_arrived = false;

    uint32_t wgmma_issued = 0, wgmma_done = 0;
    bool wgmma_fenced = false;
    std::vector<uint32_t> wgmma_groups;

    std::vector<std::shared_ptr<BulkOperation>> bulk_open;
    std::deque<std::vector<std::shared_ptr<BulkOperation>>> bulk_groups;

    std::vector<std::shared_ptr<CopyOperation>> copies_open;
    std::deque<std::vector<std::shared_ptr<CopyOperation>>> copy_groups;

    // Tensor memory: what was ordered before the last fence_after, which of the warp's accesses have
    // been waited for, and those that have not.
    Clocks tensor_view;
    Clock tensor_waited = 0;
    std::vector<TensorLoad> tensor_loads;
    std::vector<TensorStore> tensor_stores;

    Clocks fence_released, unfenced; // relaxed atomics around fence_acq_rel
    bool has_fenced = false;
    std::unordered_map<const void *, Clock> maps_acquired; // tensor maps: version acquired
};

// 128 lanes of 512 columns; the place of a word is lane * 512 + column.
constexpr uint32_t TENSOR_COLUMNS = 512;
struct TensorMemory {
    std::vector<uint32_t> words;
    uint32_t allocated[TENSOR_COLUMNS] = {}; // columns of the allocation that this one is part of
    std::vector<Granule> granules;           // one for each column and quarter of the lanes
    std::vector<Clock> accesses, products;   // made by each warp so far
    bool may_allocate = true;
    uint32_t ctas = 0; // 1 or 2: the cta_group that the kernel uses
    Clocks freed;      // what was known to those who gave columns back
    WaitList waiters;
    std::deque<std::function<void()>> queue; // products and copies that have not been executed
    uint32_t executed = 0;
};

struct Cta {
    Cluster *cluster = nullptr;
    uint32_t index = 0, rank = 0, thread_count = 0, alive = 0, first_agent = 0;
    uint32_t copies_in_flight = 0; // that read or write this CTA's shared memory
    bool exited = false, dependents_allowed = false;
    uint8_t *shared = nullptr;
    uint32_t shared_size = 0;
    std::vector<Granule> granules;
    std::vector<Thread> threads;
    std::vector<WarpExchange> warps;
    std::vector<WarpPath> paths; // of each warp
    std::vector<Warpgroup> warpgroups;
    NamedBarrier barriers[16];
    std::unique_ptr<TensorMemory> tensor; // from the first use on
    std::vector<int> mbarrier_at; // by 8 bytes of shared memory: index into mbarriers, or -1
    std::deque<Mbarrier> mbarriers;
    uint32_t elected_lane = 0;
    uint64_t free_registers = 0;
    WaitList register_waiters;
    std::vector<Clock> stores; // bulk stores started, of each warp
    std::vector<Clock> remote; // last access of each agent of a peer to this CTA's memory
    Clocks at_exit;

    uint32_t warp_count() const { return thread_count / 32; }
};

struct LaunchState {
    const Launch *shape = nullptr;
    uint32_t index = 0, started = 0, exited = 0, allowed = 0; // CTAs
    WaitList completion_waiters;
    bool complete() const { return exited == shape->grid; }
};

struct Cluster {
    uint32_t id = 0, agents = 0, live_ctas = 0;
    LaunchState *launch = nullptr;
    std::vector<std::unique_ptr<Cta>> ctas;
    uint32_t barrier_arrived = 0, barrier_phase = 0;
    Clocks barrier_next, barrier_done;
    WaitList barrier_waiters;
};

// The thread that is running; null while the launch loop or an asynchronous effect runs.
extern Thread *current;
extern Config config;
extern Statistics statistics;

// Shared memory of a CTA starts at this emulated address; in cluster addresses the top byte is rank
// + 1.
constexpr uint32_t SHARED_BASE = 1024;

// ---- agents of a CTA, in this order
inline uint32_t agents_of_cta(uint32_t threads) {
    return threads + threads / 32 * 4 + MAX_MBARRIERS;
}
// also the products of tcgen05 that a thread of the warp starts
inline uint32_t agent_of_wgmma(const Cta *c, uint32_t warp) {
    return c->first_agent + c->thread_count + warp;
}
inline uint32_t agent_of_mbarrier(const Cta *c, uint32_t k) {
    return c->first_agent + c->thread_count + c->warp_count() + k;
}
inline uint32_t agent_of_store_read(const Cta *c, uint32_t warp) {
    return c->first_agent + c->thread_count + c->warp_count() + MAX_MBARRIERS + warp;
}
inline uint32_t agent_of_store_write(const Cta *c, uint32_t warp) {
    return agent_of_store_read(c, warp) + c->warp_count();
}
inline uint32_t agent_of_tensor_access(const Cta *c, uint32_t warp) {
    return agent_of_store_write(c, warp) + c->warp_count();
}
std::string agent_name(uint32_t cluster, uint32_t agent);

// ---- clocks of the running thread
inline ClusterClocks &own_row(Thread *t) {
    return t->clocks.rows[0];
}
inline Clock now(Thread *t) {
    return config.check_races ? own_row(t).seen[t->agent] : 0;
}
void release_to(
    Clocks &target, Thread *t); // what t did so far; its later accesses are not part of it
void acquire(Thread *t, const Clocks &clocks);
void raise_clock(Thread *t, uint32_t agent, Clock clock);

} // namespace emu
