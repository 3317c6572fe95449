// SPDX-License-Identifier: MIT
//
// The words of the language: who a thread is, where shared memory begins, registers that are pinned,
// the clock.
#include "device/barrier.cuh"
#include "device/language.cuh"
#include "one_kernel.h"

#include <cmath>

using namespace check;

TEST(threads_know_their_place) {
    std::vector<int> met(3 * 96);
    expect_right(
        shape(3, 96, 64),
        [&] {
            REQUIRE(block_count() == 3 && block_index() < 3 && thread_index() < 96);
            REQUIRE(lane_index() == thread_index() % 32 && warp_index() == thread_index() / 32);
            REQUIRE(cluster_rank() == 0 && shared_base() % 1024 == 0);
            met[block_index() * 96 + thread_index()]++;
        },
        [&] {
            for (int &times : met) {
                REQUIRE(times == 1);
                times = 0;
            }
        });
}
TEST(ctas_know_their_rank) {
    expect_right(shape(4, 32, 0, 2), [] { REQUIRE(cluster_rank() == block_index() % 2); });
}
// What a pin does to the compiler shows in measurements only; here it must not change anything.
TEST(pinned_registers_keep_their_values) {
    float one = 1.5f, many[3] = {-0.f, 2.f, 3.f};
    uint32_t word = 7, words[2] = {0xFFFFFFFFu, 5};
    pin_f32(one);
    pin_f32_array(many, 3);
    pin_u32(word);
    pin_u32_array(words, 2);
    REQUIRE(one == 1.5f && std::signbit(many[0]) && many[1] == 2.f && many[2] == 3.f);
    REQUIRE(word == 7 && words[0] == 0xFFFFFFFFu && words[1] == 5);
}
TEST(the_clock_goes_on) {
    expect_right(shape(1, 64, 0), [] {
        const uint64_t before = clock_cycles();
        for (int i = 0; i < 3; i++) cta_sync(); // each thread waits for another at least once
        REQUIRE(clock_cycles() > before);
    });
}
