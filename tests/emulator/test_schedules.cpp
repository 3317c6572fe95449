// SPDX-License-Identifier: MIT
//
// Correct kernels under random schedules: no false alarm, no wrong result.
//
//     emulator_schedules RUNS [FIRST_SEED]
#include "check.h"
#include "gemm_run.h"

#include <random>

int main(int argc, char **argv) {
    const std::vector<emu::Specialisation> kernels = emu::specialisations("sm90_fp8_gemm_block");
    const long runs = argc > 1 ? atol(argv[1]) : 60, first = argc > 2 ? atol(argv[2]) : 1;
    long failed = 0;
    for (long run = first; run < first + runs; run++) {
        std::mt19937_64 random(static_cast<uint64_t>(run));
        const auto draw = [&](int low, int high) {
            return low + static_cast<int>(random() % static_cast<uint64_t>(high - low + 1));
        };
        const emu::Specialisation &s = kernels[random() % std::size(kernels)];
        GemmShape shape = {
            draw(1, 2 * s.value("BLOCK_M")), draw(1, 2 * s.value("BLOCK_N")), 16 * draw(1, 32)};
        GemmOptions options;
        options.by_tma = random() % 4 != 0;
        if (options.by_tma) shape.n = (shape.n + 7) / 8 * 8;
        options.odd_pitch = !options.by_tma && random() % 2;
        emu::Config config;
        config.seed = static_cast<uint64_t>(run);
        config.delay = random() % 4 ? emu::Delay::Random : emu::Delay::Longest;
        config.polls_until_livelock = 100000;
        const uint32_t grid = 2u << random() % 2;
        const std::string wrong = run_gemm(s, shape, random() % 2, config, grid, options);
        if (wrong.empty()) continue;
        printf("FAIL  seed %ld, %s, %d x %d x %d, grid %u: %s\n", run, s.name, shape.m, shape.n,
            shape.k, grid, wrong.c_str());
        failed++;
    }
    printf("%ld of %ld runs failed\n", failed, runs);
    return failed != 0;
}
