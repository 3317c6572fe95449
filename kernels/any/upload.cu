/* SPDX-License-Identifier: MIT
 *
 * Writes its own parameters into workspace: how numbers that only the host has reach a kernel in
 * stream order without memory that has to outlive the call. See args/group_tiles.h. One CTA. */
#include "args/group_tiles.h"
#include "device/barrier.cuh"
#include "device/global.cuh"

KERNEL(THREADS)
dg_any_upload(KERNEL_PARAMETER dg_any_upload_args_t args) {
    dependency_wait();
    for (int64_t i = thread_index(); i < args.count; i += THREADS)
        st_global_u64(args.target + i, args.values[i]);
}
