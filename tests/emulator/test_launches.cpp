// SPDX-License-Identifier: MIT
//
// Sequences of launches: ordinary ones are ordered, programmatic ones only after dependency_wait.
#include "device/barrier.cuh"
#include "device/global.cuh"
#include "one_kernel.h"

using namespace check;

struct Chain {
    bool programmatic = true, wait = true, allow = true, write_before_wait = false;
};

static void produce(uint32_t *words, const Chain &c) {
    if (c.allow) dependents_launch();
    st_global_u32(words + block_index() * 32 + thread_index(), block_index());
}

static void consume(uint32_t *words, uint32_t *out, const Chain &c) {
    if (c.write_before_wait) st_global_u32(words + thread_index(), 0);
    if (c.wait) dependency_wait();
    const uint32_t other = block_count() - 1 - block_index();
    const uint32_t got = ld_global_u32(words + other * 32 + thread_index());
    if (c.wait && !c.write_before_wait) REQUIRE(got == other);
    st_global_u32(out + block_index() * 32 + thread_index(), got);
}

static void try_chain(const char *kinds, void (*change)(Chain &)) {
    Buffer<uint32_t> words(4 * 32), out(4 * 32);
    Chain c;
    change(c);
    auto run_once = [&](const emu::Config &config) {
        emu::Launch first = shape(4, 32, 0), second = shape(4, 32, 0);
        first.kernel = [&] { produce(words.data, c); };
        second.kernel = [&] { consume(words.data, out.data, c); };
        second.programmatic = c.programmatic;
        emu::launch_sequence(config, {first, second});
    };
    if (*kinds)
        expect_fault(kinds, run_once);
    else
        for (const emu::Config &config : schedules()) run_once(config);
}

TEST(launches_in_order) {
    try_chain("", [](Chain &c) { c.programmatic = c.wait = false; });
}
TEST(dependent_launch_waits) {
    try_chain("", [](Chain &) {});
}
TEST(dependent_launch_without_permission_still_runs) {
    try_chain("", [](Chain &c) { c.allow = false; });
}
// The first launch ends only when the second has said something: both have to run at once.
static void answer_early(uint32_t *flag, bool allow) {
    if (allow) dependents_launch();
    while (!ld_flag(flag, ORDER_ACQUIRE, SCOPE_GPU)) {}
}
static void run_answer(const emu::Config &config, bool allow) {
    Buffer<uint32_t> flag(1);
    emu::Launch first = shape(2, 32, 0), second = shape(1, 32, 0);
    flag[0] = 0;
    first.kernel = [&] { answer_early(flag.data, allow); };
    second.kernel = [&] {
        if (thread_index() == 0) st_flag(flag.data, 1, ORDER_RELEASE, SCOPE_GPU);
        dependency_wait();
    };
    second.programmatic = true;
    emu::launch_sequence(config, {first, second});
}
TEST(dependents_start_when_they_are_allowed_to) {
    for (const emu::Config &config : schedules()) run_answer(config, true);
}
TEST(bug_dependents_never_allowed_to_start) {
    expect_fault("LIVELOCK", [](const emu::Config &config) { run_answer(config, false); });
}
TEST(bug_dependency_not_waited_for) {
    try_chain("RACE", [](Chain &c) { c.wait = false; });
}
TEST(bug_write_before_the_wait) {
    try_chain("RACE", [](Chain &c) { c.write_before_wait = true; });
}
TEST(bug_wait_by_another_thread_without_barrier) {
    Buffer<uint32_t> words(64);
    expect_fault("RACE", [&](const emu::Config &config) {
        emu::Launch first = shape(1, 64, 0), second = shape(1, 64, 0);
        first.kernel = [&] { st_global_u32(words.data + thread_index(), 1); };
        second.kernel = [&] {
            if (warp_index() == 0) dependency_wait();
            ld_global_u32(words.data + thread_index());
        };
        second.programmatic = true;
        emu::launch_sequence(config, {first, second});
    });
}
TEST(bad_shapes_are_refused) {
    REQUIRE(fault_of([] { run({}, shape(3, 32, 0, 2), [] {}); }) == "LAUNCH");
    REQUIRE(fault_of([] { run({}, shape(1, 48, 0), [] {}); }) == "LAUNCH");
    REQUIRE(fault_of([] { run({}, shape(1, 32, 228 * 1024), [] {}); }) == "LAUNCH");
}
