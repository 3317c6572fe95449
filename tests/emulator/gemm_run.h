// SPDX-License-Identifier: MIT
//
// Runs one specialisation of fp8_gemm_block on the emulator: makes the tensor maps as the library
// would, launches, and compares with the reference. Used by the kernel's tests and by the bug list.
#pragma once
#include "args/gemm.h"
#include "launch.h"
#include "specialisation.h"
#include "tensor_map.h"

#include "../reference/fp8_gemm_case.h"

#include <cstdint>
#include <string>
#include <vector>

struct GemmShape {
    int32_t m, n, k;
};

struct GemmOptions {
    bool by_tma = true;     // d is stored by TMA, where whole rows of a chunk belong to a tile
    bool odd_pitch = false; // rows of d begin anywhere; by_tma must be false
    emu::Swizzle a_swizzle =
        emu::Swizzle::B128;                  // of the tensor map of a; the kernel needs 128 bytes
    std::vector<uint16_t> *output = nullptr; // gets d with all that lies around it
};

// Empty if the run was right, otherwise what was wrong: a fault of the emulator, or wrong results.
std::string run_gemm(const emu::Specialisation &s, const GemmShape &shape, bool exact,
    const emu::Config &config, uint32_t grid, const GemmOptions &options = {});
