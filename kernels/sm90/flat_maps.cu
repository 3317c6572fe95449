/* SPDX-License-Identifier: MIT
 *
 * Tensor maps for FLAT operands of a K-grouped GEMM: each group is a matrix [mn, k_g] of its own, and
 * how long and where is known on the device alone. A warp for each group and operand changes a copy
 * of the operand's template and publishes it in workspace, where fp8_gemm_vector, launched next,
 * acquires it; nobody ever edits a map that is in use. Parameters: args/fp8_gemm_vector.h.
 *
 * Sizes that are no multiple of 16, which the planner was told there are none of, are rounded down: a
 * map with such a stride would stop the grid. Empty groups get no map; nobody asks for it. */
#include "args/fp8_gemm_vector.h"
#include "device/barrier.cuh"
#include "device/fence.cuh"
#include "device/global.cuh"
#include "device/shared.cuh"
#include "device/tensormap.cuh"

#define CLUSTER 1
#define SHARED_BYTES DG_SM90_FLAT_MAPS_SHARED_BYTES(THREADS)

/* One warp. map: where in shared memory it is edited */
DEVICE void make_map(
    const dg_sm90_flat_operand_t *operand, int group, int64_t begin, int64_t count, uint32_t map) {
    if (lane_index() < 16)
        st_shared_x2(map + lane_index() * 8, (uint32_t)operand->map.opaque[lane_index()],
            (uint32_t)(operand->map.opaque[lane_index()] >> 32));
    warp_sync();
    if (lane_index() == 0) {
        tensormap_set_address(map, operand->data + begin * operand->mn);
        tensormap_set_extent<0>(map, (uint32_t)count);
        tensormap_set_stride<1>(map, (uint64_t)count);
    }
    warp_sync();
    tensormap_publish(operand->maps + group, map);
}

KERNEL(THREADS) dg_sm90_flat_maps(KERNEL_PARAMETER dg_sm90_flat_maps_args_t args) {
    const int warp = (int)warp_index(), group = (int)block_index() * (THREADS / 32) + warp;
    const uint32_t map = shared_base() + (uint32_t)warp * 128;
    dependency_wait();
    if (group >= args.group_count) return;
    const dg_k_segment_t *segment = args.segments + group;
    const int64_t count = (int64_t)ld_global_u64(&segment->token_count) & ~(int64_t)15;
    if (count == 0) return;
    if (args.a.maps)
        make_map(&args.a, group, (int64_t)ld_global_u64(&segment->flat_begin_a), count, map);
    if (args.b.maps)
        make_map(&args.b, group, (int64_t)ld_global_u64(&segment->flat_begin_b), count, map);
}
