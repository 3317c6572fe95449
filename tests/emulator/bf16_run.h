// SPDX-License-Identifier: MIT
//
// Runs one specialisation of bf16_gemm on the emulator: makes arguments as the library would,
// launches, and compares with the reference. Used by the kernel's tests and by the bug list.
#pragma once
#include "specialisation.h"

#include "../reference/bf16_gemm_case.h"

#include <string>

// Empty if the run was right, otherwise what was wrong: a fault of the emulator, or wrong results.
// The layout of a and b and the family are the specialisation's, whatever the shape says.
std::string run_bf16(const emu::Specialisation &s, const dg_bf16_shape_t &shape,
    const emu::Config &config, uint32_t grid);
