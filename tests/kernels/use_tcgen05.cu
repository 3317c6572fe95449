/* SPDX-License-Identifier: MIT
 *
 * Uses every primitive of device/tcgen05.cuh once, for one CTA and for a pair, so that a compiler
 * and ptxas see all of their text. Built for sm_100a with nvcc and NVRTC; never run. */
#include "device/barrier.cuh"
#include "device/global.cuh"
#include "device/mbarrier.cuh"
#include "device/shared.cuh"
#include "device/tcgen05.cuh"
#include "device/warp.cuh"

template <int CTAS> DEVICE void use_all(const dg_tensor_map_t *map, uint32_t *out) {
    const uint32_t base = shared_base(), barrier = base + 65536, slot = barrier + 16;
    const uint32_t m = 128 * CTAS;
    const uint64_t a = tcgen05_descriptor_k128(base), b = tcgen05_descriptor_k128(base + 16384);
    uint32_t v[32];
    if (warp_index() == 0) {
        tcgen05_allocate<CTAS>(slot, 512);
        tcgen05_relinquish<CTAS>();
    }
    tcgen05_fence_before();
    cta_sync();
    tcgen05_fence_after();
    const uint32_t columns = ld_shared_u32(slot);
    if (thread_index() == 0) {
        mbarrier_init(barrier, 1);
        if (CTAS == 2) tma_load_2d_pair(base, map, barrier, 0, 0);
        tcgen05_copy_scales<CTAS>(
            columns + 256, tcgen05_descriptor(base + 32768, 0, 128, TCGEN05_NONE));
        tcgen05_mma_f16<CTAS>(columns, a, b,
            tcgen05_instruction(m, 128, TCGEN05_BF16, TCGEN05_BF16, false, false), false);
        tcgen05_mma_f8f6f4<CTAS>(columns, a, b,
            tcgen05_instruction(m, 128, TCGEN05_E4M3, TCGEN05_E5M2, false, false), true);
        tcgen05_mma_mxf8f6f4<CTAS>(columns, a, b,
            tcgen05_instruction_scaled(m, 128, TCGEN05_E4M3, TCGEN05_E4M3, 3), columns + 256,
            columns + 260, true);
        tcgen05_commit<CTAS>(barrier);
        tcgen05_commit_multicast<CTAS>(barrier, 3);
    }
    mbarrier_wait(barrier, 0);
    tcgen05_fence_after();
    tcgen05_load_x8(v, columns);
    tcgen05_wait_load();
    tcgen05_store_x8(columns + 8, v);
    tcgen05_load_x32(v, columns);
    tcgen05_wait_load();
    tcgen05_store_x32(columns + 64, v);
    tcgen05_wait_store();
    for (uint32_t i = 0; i < 32; i += 4) st_global_x4(out + thread_index() * 32 + i, v + i);
    cta_sync();
    if (warp_index() == 0) tcgen05_deallocate<CTAS>(columns, 512);
}

KERNEL(128) use_one_cta(KERNEL_PARAMETER dg_tensor_map_t map, uint32_t *out) {
    use_all<1>(&map, out);
}
KERNEL(128) use_pair(KERNEL_PARAMETER dg_tensor_map_t map, uint32_t *out) {
    use_all<2>(&map, out);
}
