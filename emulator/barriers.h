// SPDX-License-Identifier: MIT
//
// Rendezvous wider than a warp: named barriers, the cluster barrier, and dependent launches.
#pragma once
#include "machine.h"

namespace emu {

void named_barrier(uint32_t id, uint32_t threads, bool wait);
void cluster_arrive();
void cluster_wait();
void cluster_barrier_settle(Cluster *cluster); // after an arrival or the exit of a thread
void dependency_wait();
void dependents_launch();

} // namespace emu
