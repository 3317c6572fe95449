// SPDX-License-Identifier: MIT
//
// Implementation of scheduler.h: a list of threads that can run, a list of pending effects, and one
// random generator. Time is the count of switches.
#include "scheduler.h"

#include <algorithm>

namespace emu {

Thread *just_ran;

struct Effect {
    uint64_t due;
    const Cluster *cluster;
    std::function<void()> run;
};

static Fiber host;
static std::deque<Thread *> ready;
static std::vector<Effect> effects;
static uint64_t ticks, next_due, random_state, polls, seed_in_use;
constexpr uint64_t NEVER = ~0ull;
constexpr uint64_t POLLS_BEFORE_EFFECT = 500;

uint64_t random_number() {
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

void scheduler_reset(uint64_t seed) {
    ready.clear();
    effects.clear();
    ticks = polls = 0;
    next_due = NEVER;
    seed_in_use = seed;
    random_state = seed * 0x9E3779B97F4A7C15ull + 0x1234567;
    just_ran = nullptr;
}

void note_progress() {
    polls = 0;
}
void make_ready(Thread *t) {
    ready.push_back(t);
}

void block(WaitList &list, const char *what, uint32_t a, uint32_t b) {
    Thread *t = current;
    t->waits_for = what;
    t->wait_a = a;
    t->wait_b = b;
    t->next_waiter = list.first;
    list.first = t;
    fiber_switch(t->fiber, host);
}

void wake(WaitList &list) {
    note_progress();
    for (Thread *t = list.first; t;) {
        Thread *next = t->next_waiter;
        t->waits_for = "";
        ready.push_back(t);
        t = next;
    }
    list.first = nullptr;
}

void yield_poll() {
    if (++polls > config.polls_until_livelock)
        fail("LIVELOCK", "%llu polls without any progress",
            static_cast<unsigned long long>(config.polls_until_livelock));
    ready.push_back(current);
    fiber_switch(current->fiber, host);
}

void end_fiber(Thread *t) {
    t->done = true;
    fiber_switch(t->fiber, host, true);
    __builtin_trap();
}

static uint64_t due_time(Engine engine) {
    const uint64_t slowness = (static_cast<uint64_t>(engine) + seed_in_use) % 3;
    if (config.delay == Delay::Longest)
        return NEVER - 4096 + slowness * 1024 + random_number() % 1024;
    const uint64_t longest = random_number() % 4 ? 200 : 3000 * (1 + slowness);
    return ticks + 1 + random_number() % longest;
}

static void find_next_due() {
    next_due = NEVER;
    for (const Effect &e : effects) next_due = std::min(next_due, e.due);
}

void start_effect(Engine engine, const Cluster *cluster, std::function<void()> effect) {
    if (config.delay == Delay::None) {
        Thread *t = current;
        effect();
        current = t;
        return;
    }
    effects.push_back({due_time(engine), cluster, std::move(effect)});
    next_due = std::min(next_due, effects.back().due);
}

static void run_earliest_effect() {
    auto earliest = std::min_element(effects.begin(), effects.end(),
        [](const Effect &a, const Effect &b) { return a.due < b.due; });
    const std::function<void()> run = std::move(earliest->run);
    *earliest = std::move(effects.back());
    effects.pop_back();
    find_next_due();
    note_progress();
    current = nullptr;
    run();
}

void drop_effects(const Cluster *cluster) {
    effects.erase(std::remove_if(effects.begin(), effects.end(),
                      [cluster](const Effect &e) { return e.cluster == cluster; }),
        effects.end());
    find_next_due();
}

void run_remaining_effects() {
    while (!effects.empty()) run_earliest_effect();
}

static Thread *take_ready() {
    Thread *t;
    if (config.order == Order::Random) {
        const size_t k = random_number() % ready.size();
        t = ready[k];
        ready[k] = ready.back();
        ready.pop_back();
    } else {
        t = ready.front();
        ready.pop_front();
    }
    return t;
}

bool run_one_step() {
    just_ran = nullptr;
    while (next_due <= ticks) run_earliest_effect();
    // Polling threads never let the machine fall idle, so the longest delay must end some time.
    if (polls > POLLS_BEFORE_EFFECT && !effects.empty()) run_earliest_effect();
    if (ready.empty()) {
        if (effects.empty()) return false;
        run_earliest_effect();
        return true;
    }
    current = just_ran = take_ready();
    ticks++;
    statistics.switches++;
    fiber_switch(host, just_ran->fiber);
    current = nullptr;
    return true;
}

} // namespace emu
