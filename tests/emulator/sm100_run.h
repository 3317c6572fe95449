// SPDX-License-Identifier: MIT
//
// Runs one specialisation of sm100_gemm.cu on the emulator with exact inputs and compares with a
// plain product. Used by its tests and by its bugs.
#pragma once
#include "specialisation.h"

#include <cstdint>
#include <string>

struct Sm100Shape {
    int32_t m, n, k; // n even; k a multiple of 16
};

// Empty if the run was right, otherwise what was wrong.
std::string run_sm100_gemm(const emu::Specialisation &s, const Sm100Shape &shape,
    const emu::Config &config, uint32_t grid);
