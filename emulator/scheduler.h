// SPDX-License-Identifier: MIT
//
// Who runs next, and when asynchronous operations take effect. Primitives block the running thread,
// wake others, and hand effects (a copy that lands, a product that completes) to an engine, which
// runs them at once, after a random delay, or only when nothing else can run: the seed decides
// which.
#pragma once
#include "machine.h"

#include <functional>

namespace emu {

void block(WaitList &list, const char *what, uint32_t a = 0, uint32_t b = 0);
void wake(WaitList &list);
void yield_poll(); // after a poll that found nothing; counts towards livelock
void note_progress();
uint64_t random_number();

// The engine whose effects are slowest depends on the seed.
enum class Engine { Load, Store, Product };

// cluster: the effect is dropped when this cluster ends; null for effects that outlive it.
void start_effect(Engine engine, const Cluster *cluster, std::function<void()> effect);
void drop_effects(const Cluster *cluster);
void run_remaining_effects();

// ---- for the launch loop
void scheduler_reset(uint64_t seed);
void make_ready(Thread *t);
bool run_one_step(); // false: nothing can run and nothing is in flight
[[noreturn]] void end_fiber(Thread *t);
extern Thread *just_ran; // by run_one_step; null if it ran an effect

} // namespace emu
