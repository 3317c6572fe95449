// SPDX-License-Identifier: MIT
//
// fp8_gemm_block in the specialisations that its tests run, each in a namespace of its own.
#pragma once
#include "gemm_run.h"
#include "gemm_vocabulary.h"

#define KERNEL_TEXT "sm90/fp8_gemm_block.cu"

namespace plain {
#include "specialisations/plain.inc"

#include "gemm_specialisation.inc"
} // namespace plain

namespace share_a {
#include "specialisations/share_a.inc"

#include "gemm_specialisation.inc"
} // namespace share_a

namespace share_b {
#include "specialisations/share_b.inc"

#include "gemm_specialisation.inc"
} // namespace share_b

namespace three_groups {
#include "specialisations/three_groups.inc"

#include "gemm_specialisation.inc"
} // namespace three_groups

namespace direct {
#include "specialisations/direct.inc"

#include "gemm_specialisation.inc"
} // namespace direct
