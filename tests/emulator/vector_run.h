// SPDX-License-Identifier: MIT
//
// Runs one specialisation of fp8_gemm_vector on the emulator: makes tensor maps and group segments as
// the library would, launches, and compares with the reference. Used by the kernel's tests and by its
// list of bugs.
#pragma once
#include "args/fp8_gemm_vector.h"
#include "launch.h"
#include "specialisation.h"

#include "../reference/fp8_vector_case.h"

#include <string>

// Empty if the run was right, otherwise what was wrong: a fault of the emulator, or wrong results.
std::string run_vector(const emu::Specialisation &s, const dg_vector_shape_t &shape,
    const emu::Config &config, uint32_t grid);
