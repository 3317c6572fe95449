/* SPDX-License-Identifier: MIT
 *
 * The casts' innermost loops, compiled for AVX2; see cast_loops.h.
 */
#include "cpu/cast_loops.h"

const dg_cpu_cast_kernels_t dg_cpu_cast_avx2 = DG_CAST_KERNELS;
