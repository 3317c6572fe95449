// SPDX-License-Identifier: MIT
//
// Implementation of barriers.h. Each barrier collects the clocks of those who arrive and hands
// their sum to those who wait.
#include "barriers.h"
#include "scheduler.h"

namespace emu {

// bar.sync is .aligned: a warp takes part with all its lanes.
static void check_whole_warps(NamedBarrier &b, uint32_t id, uint32_t warps) {
    for (uint32_t w = 0; w < warps; w++) {
        if (b.lanes[w] % 32)
            fail("NAMEDBAR", "barrier %u: only %u lanes of warp %u arrived", id, b.lanes[w], w);
        b.lanes[w] = 0;
    }
}

void named_barrier(uint32_t id, uint32_t threads, bool wait) {
    Cta *c = current->cta;
    if (id > 15 || threads % 32 || !threads || threads > c->thread_count)
        fail("NAMEDBAR", "bar id %u, thread count %u", id, threads);
    NamedBarrier &b = c->barriers[id];
    if (b.arrived && b.expected != threads)
        fail("NAMEDBAR", "barrier %u used with thread count %u and %u", id, b.expected, threads);
    b.expected = threads;
    b.arrived++;
    b.lanes[current->warp]++;
    release_to(b.clocks, current);
    if (b.arrived == threads) {
        check_whole_warps(b, id, c->warp_count());
        b.arrived = 0;
        for (Thread *t = b.waiters.first; t; t = t->next_waiter) acquire(t, b.clocks);
        if (wait) acquire(current, b.clocks);
        b.clocks.clear();
        wake(b.waiters);
    } else if (wait) {
        block(b.waiters, "bar.sync", id, threads);
    }
}

void cluster_barrier_settle(Cluster *cluster) {
    uint32_t threads = 0;
    for (const auto &c : cluster->ctas) threads += c->alive;
    if (!cluster->barrier_arrived || cluster->barrier_arrived < threads) return;
    cluster->barrier_arrived = 0;
    cluster->barrier_phase++;
    cluster->barrier_done = cluster->barrier_next;
    cluster->barrier_next.clear();
    wake(cluster->barrier_waiters);
}

void cluster_arrive() {
    Cluster *cluster = current->cta->cluster;
    if (current->cluster_arrived) fail("CLUSTERBAR", "cluster_arrive twice without cluster_wait");
    current->cluster_arrived = true;
    current->cluster_phase = cluster->barrier_phase;
    release_to(cluster->barrier_next, current);
    cluster->barrier_arrived++;
    cluster_barrier_settle(cluster);
}

void cluster_wait() {
    Cluster *cluster = current->cta->cluster;
    if (!current->cluster_arrived) fail("CLUSTERBAR", "cluster_wait without cluster_arrive");
    while (cluster->barrier_phase == current->cluster_phase)
        block(cluster->barrier_waiters, "cluster_wait");
    current->cluster_arrived = false;
    acquire(current, cluster->barrier_done);
}

void dependency_wait() {
    LaunchState *mine = current->cta->cluster->launch;
    if (mine->index == 0) return;
    LaunchState *before = mine - 1; // the launches of a sequence stand in one array
    while (!before->complete()) block(before->completion_waiters, "griddepcontrol.wait");
    if (config.check_races) current->clocks.launches_seen = mine->index;
}

void dependents_launch() {
    Cta *c = current->cta;
    if (c->dependents_allowed) return;
    c->dependents_allowed = true;
    c->cluster->launch->allowed++;
}

} // namespace emu
