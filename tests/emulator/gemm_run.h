// SPDX-License-Identifier: MIT
//
// Runs one specialisation of fp8_gemm_block on the emulator: makes the tensor maps as the library
// would, launches, and compares with the reference. Used by the kernel's tests and by the bug list.
#pragma once
#include "args/gemm.h"
#include "launch.h"
#include "tensor_map.h"

#include "../reference/fp8_gemm_case.h"

#include <cstdint>
#include <string>

struct GemmShape {
    int32_t m, n, k;
};

// What the host has to know of a specialisation; filled from its macros by SPECIALISATION().
struct GemmSpecialisation {
    const char *name;
    int block_m, block_n, math_groups, share, store_n, store_buffers;
    uint32_t shared_bytes;
    void (*kernel)(dg_sm90_fp8_gemm_block_args_t args);
};

// To stand behind an inclusion of the kernel in a namespace of that name.
#define SPECIALISATION(space)                                                                      \
    GemmSpecialisation {                                                                           \
#        space, space::tile_m, space::tile_n, space::groups, space::share, space::chunk,           \
            space::buffers, space::bytes, space::dg_sm90_fp8_gemm_block                            \
    }

// Empty if the run was right, otherwise what was wrong: a fault of the emulator, or wrong results.
// a_swizzle: of the tensor map of a; the kernel needs 128 bytes.
std::string run_gemm(const GemmSpecialisation &s, const GemmShape &shape, bool exact,
    const emu::Config &config, uint32_t grid, emu::Swizzle a_swizzle = emu::Swizzle::B128);
