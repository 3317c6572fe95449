// SPDX-License-Identifier: MIT
//
// Implementation of gemm_specialisations.h: the kernel's text, each time in a namespace of its own.
#include "gemm_specialisations.h"
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

const GemmSpecialisation gemm_plain = SPECIALISATION(plain);
const GemmSpecialisation gemm_share_a = SPECIALISATION(share_a);
const GemmSpecialisation gemm_share_b = SPECIALISATION(share_b);
const GemmSpecialisation gemm_three_groups = SPECIALISATION(three_groups);
const GemmSpecialisation gemm_direct = SPECIALISATION(direct);
