// SPDX-License-Identifier: MIT
//
// fp8_gemm_block in the specialisations that its tests run, named as in specialisations/.
#pragma once
#include "gemm_run.h"

extern const GemmSpecialisation gemm_plain, gemm_share_a, gemm_share_b, gemm_three_groups,
    gemm_direct;
