// SPDX-License-Identifier: MIT
//
// The launch loop: starts clusters while there is room, lets threads and effects run step by step,
// ends clusters and launches, and checks what must hold when a thread, CTA or launch ends.
#include "launch.h"
#include "barriers.h"
#include "global_memory.h"
#include "report.h"
#include "scheduler.h"
#include "stacks.h"
#include "tensor_map_edit.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#ifdef EMU_ASAN
#    include <sanitizer/asan_interface.h>
#endif

namespace emu {

Thread *current;
Config config;
Statistics statistics;

static std::vector<std::unique_ptr<Cluster>> live;
static std::vector<LaunchState> launches;
static std::unique_ptr<Error> error;

const Statistics &last_statistics() {
    return statistics;
}

void release_to(Clocks &target, Thread *t) {
    if (!config.check_races) return;
    target.join(t->clocks);
    own_row(t).seen[t->agent]++;
}

void acquire(Thread *t, const Clocks &clocks) {
    if (config.check_races) t->clocks.join(clocks);
}

void raise_clock(Thread *t, uint32_t agent, Clock clock) {
    if (!config.check_races) return;
    Clock &mine = own_row(t).seen[agent];
    mine = std::max(mine, clock);
}

// ---- threads

static void check_thread_end(const Thread *t) {
    check_path_end(t);
    if (!t->wgmma_groups.empty() || t->wgmma_issued != t->wgmma_done)
        fail("EXIT", "thread exits with wgmma not committed or not waited for");
    bool reading = !t->bulk_open.empty();
    for (const auto &group : t->bulk_groups)
        for (const auto &operation : group) reading |= !operation->waited_for;
    if (reading)
        fail("EXIT", "thread exits with bulk stores not committed or not waited for: shared memory "
                     "may be freed under them");
    bool copying = false;
    for (const auto &operation : t->copies_open) copying |= !operation->signalled;
    for (const auto &group : t->copy_groups)
        for (const auto &operation : group) copying |= !operation->signalled;
    if (copying) fail("EXIT", "thread exits with cp.async neither waited for nor signalled");
    if (!t->tensor_loads.empty() || !t->tensor_stores.empty())
        fail("EXIT", "thread exits with tcgen05 loads or stores not waited for");
}

static void run_thread(void *argument) {
    Thread *t = static_cast<Thread *>(argument);
    try {
        t->cta->cluster->launch->shape->kernel();
        check_thread_end(t);
        if (config.check_races) t->cta->at_exit.join(t->clocks);
    } catch (const Error &e) {
        if (!error) error = std::make_unique<Error>(e);
    } catch (const std::exception &e) { // a check of the test inside the kernel
        if (!error) error = std::make_unique<Error>("CHECK", e.what());
    }
    if (stack_overflowed(t->fiber.stack) && !error)
        error = std::make_unique<Error>("STACK", "the stack of a fiber overflowed");
    end_fiber(t);
}

static void make_thread(Cta *c, uint32_t i) {
    Thread &t = c->threads[i];
    const Cluster *cluster = c->cluster;
    t.cta = c;
    t.linear = i;
    t.lane = i % 32;
    t.warp = i / 32;
    t.agent = c->first_agent + i;
    t.registers = cluster->launch->shape->registers;
    if (config.check_races) {
        const uint32_t index = cluster->launch->index;
        const bool early = cluster->launch->shape->programmatic && index > 0;
        t.clocks.launches_seen = early ? index - 1 : index;
        t.clocks.row(cluster->id, cluster->agents).seen[t.agent] = 1;
    }
    // Tops at different offsets, so that the fibers' frames do not share cache sets.
    fiber_make(t.fiber, stack_take(), stack_bytes() - i % 16 * 256, run_thread, &t);
    make_ready(&t);
}

// ---- CTAs and clusters

static uint8_t *allocate_shared(size_t bytes) {
    uint8_t *memory = static_cast<uint8_t *>(aligned_alloc(1024, (bytes + 2047) & ~size_t{1023}));
    if (!memory) throw std::bad_alloc();
    memset(memory, 0xFF, bytes); // NaN in every format
#ifdef EMU_ASAN
    const size_t whole = (bytes + 7) & ~size_t{7};
    __asan_poison_memory_region(memory + whole, 1024 - whole % 1024);
#endif
    return memory;
}

static void free_shared(Cta *c) {
#ifdef EMU_ASAN
    __asan_unpoison_memory_region(c->shared, (c->shared_size + 2047u) & ~1023u);
#endif
    free(c->shared);
}

static std::unique_ptr<Cta> make_cta(Cluster *cluster, uint32_t index, uint32_t rank) {
    const Launch &shape = *cluster->launch->shape;
    auto c = std::make_unique<Cta>();
    c->cluster = cluster;
    c->index = index;
    c->rank = rank;
    c->thread_count = c->alive = shape.block;
    c->first_agent = agents_of_cta(shape.block) * rank;
    c->shared_size = static_cast<uint32_t>(shape.shared_bytes);
    c->shared = allocate_shared(shape.shared_bytes);
    c->mbarrier_at.assign(shape.shared_bytes / 8 + 1, -1);
    c->warps.resize(shape.block / 32);
    c->paths.resize(shape.block / 32);
    c->warpgroups.resize((shape.block + 127) / 128);
    c->stores.assign(shape.block / 32, 0);
    c->elected_lane = static_cast<uint32_t>(random_number() % 32);
    c->threads.resize(shape.block);
    if (config.check_races) {
        c->granules.resize(shape.shared_bytes / 16 + 1);
        if (shape.cluster > 1) c->remote.assign(cluster->agents, 0);
    }
    return c;
}

static void start_cluster(LaunchState &state) {
    const Launch &shape = *state.shape;
    live.push_back(std::make_unique<Cluster>());
    Cluster *cluster = live.back().get();
    cluster->launch = &state;
    cluster->agents = agents_of_cta(shape.block) * shape.cluster;
    cluster->live_ctas = shape.cluster;
    cluster->id = checker_add_cluster(state.index, state.started, shape.block);
    for (uint32_t rank = 0; rank < shape.cluster; rank++) {
        cluster->ctas.push_back(make_cta(cluster, state.started++, rank));
        Cta *c = cluster->ctas.back().get();
        for (uint32_t i = 0; i < shape.block; i++) make_thread(c, i);
    }
}

static void free_cluster(Cluster *cluster) {
    drop_effects(cluster); // products that another effect already executed
    for (const auto &c : cluster->ctas) {
        free_shared(c.get());
        for (const Thread &t : c->threads) stack_give_back(t.fiber.stack);
    }
}

static void check_cta_end(const Cta *c) {
    const std::string name = "CTA " + std::to_string(c->index);
    if (c->copies_in_flight)
        throw Error("EXIT", name + " exits while copies into or from its shared memory are in "
                                   "flight");
    for (uint32_t column = 0; c->tensor && column < TENSOR_COLUMNS; column++)
        if (c->tensor->allocated[column])
            throw Error("EXIT", name + " exits without giving back its tensor memory");
    for (const Mbarrier &b : c->mbarriers)
        if (b.valid && b.bytes)
            throw Error("EXIT",
                name + " leaves an mbarrier with " + std::to_string(b.bytes) + " bytes pending");
    const ClusterClocks *seen = c->at_exit.find(c->cluster->id);
    for (uint32_t agent = 0; agent < c->remote.size(); agent++)
        if (c->remote[agent] > seen->seen[agent])
            throw Error("EXIT", name + " may exit before the access to its shared memory by " +
                                    agent_name(c->cluster->id, agent) + " (no cluster barrier)");
}

static void thread_ended(Thread *t) {
    Cta *c = t->cta;
    LaunchState *state = c->cluster->launch;
    note_progress();
    if (--c->alive == 0) {
        check_cta_end(c);
        c->exited = true;
        state->exited++;
        if (!c->dependents_allowed) state->allowed++;
        c->cluster->live_ctas--;
    }
    cluster_barrier_settle(c->cluster); // an exited thread no longer has to arrive
    if (c->cluster->live_ctas == 0) {
        free_cluster(c->cluster);
        const Cluster *gone = c->cluster;
        live.erase(std::find_if(live.begin(), live.end(),
            [gone](const std::unique_ptr<Cluster> &x) { return x.get() == gone; }));
    }
    if (state->complete()) {
        run_remaining_effects(); // a launch is complete when its stores have landed
        wake(state->completion_waiters);
    }
}

// ---- launches

static void check_shape(const Launch &shape) {
    if (shape.shared_bytes > 227 * 1024)
        throw Error("LAUNCH", "more than 227 KiB of shared memory");
    if (!shape.grid || !shape.block || shape.block % 32 || shape.block > 1024)
        throw Error("LAUNCH", "block must be a multiple of 32 up to 1024, grid not 0");
    if (!shape.cluster || shape.grid % shape.cluster || shape.cluster > 16)
        throw Error("LAUNCH", "the cluster size must divide the grid");
    if (shape.registers * shape.block > 65536) throw Error("LAUNCH", "too many registers");
}

static bool may_start(size_t i) {
    if (i == 0) return true;
    if (i >= 2 && !launches[i - 2].complete()) return false;
    const LaunchState &before = launches[i - 1];
    return before.complete() ||
           (launches[i].shape->programmatic && before.allowed == before.shape->grid);
}

static void start_what_fits() {
    size_t ctas = 0;
    for (const auto &cluster : live) ctas += cluster->ctas.size();
    for (size_t i = 0; i < launches.size(); i++) {
        LaunchState &state = launches[i];
        while (state.started < state.shape->grid && may_start(i)) {
            if (ctas && ctas + state.shape->cluster > config.resident_ctas) return;
            start_cluster(state);
            ctas += state.shape->cluster;
        }
    }
}

static void run_all() {
    start_what_fits();
    while (!live.empty()) {
        if (!run_one_step())
            throw Error(
                "DEADLOCK", "no thread can run and nothing is in flight" + deadlock_report(live));
        if (error) throw *error;
        if (just_ran && just_ran->done) thread_ended(just_ran);
        start_what_fits();
    }
    run_remaining_effects();
}

void launch_sequence(const Config &wanted, const std::vector<Launch> &shapes) {
    config = wanted;
    statistics = Statistics{};
    error.reset();
    current = nullptr;
    scheduler_reset(config.seed);
    checker_reset();
    flags_reset();
    tensor_maps_reset();
    launches.assign(shapes.size(), LaunchState{});
    for (size_t i = 0; i < shapes.size(); i++) {
        check_shape(shapes[i]);
        launches[i].shape = &shapes[i];
        launches[i].index = static_cast<uint32_t>(i);
    }
    try {
        run_all();
    } catch (const Error &) {
        for (const auto &cluster : live) free_cluster(cluster.get());
        live.clear();
        scheduler_reset(0);
        current = nullptr;
        throw;
    }
}

void launch(const Config &wanted, const Launch &one) {
    launch_sequence(wanted, {one});
}

} // namespace emu
