/* SPDX-License-Identifier: MIT
 *
 * A copy of factors in the life of one call: described, checked, run, released. The entry points
 * of scale_layout.c and scale_transform.c are made of these steps; a copy that is refused has
 * written nothing.
 */
#ifndef DG_API_SCALE_COPY_H
#define DG_API_SCALE_COPY_H

#include "api/group_ranges.h"
#include "cpu/scale_layout.h"
#include "deep_gemm/scale_layout.h"

/* All zeros before dg_prepare_convert(). */
typedef struct dg_call_copy_t {
    dg_scale_copy_t copy; /* matrix_count is 0 if there is nothing to do, or nothing for the CPU */
    dg_call_groups_t groups;
    bool on_gpu; /* then the next two describe the copy */
    dg_scale_convert_args_t convert;
    int64_t blocks;
} dg_call_copy_t;

/* Names of the arguments, for messages. */
typedef struct dg_copy_names_t {
    const char *src, *dst, *groups;
} dg_copy_names_t;

/* Checks all but the values of src, as dg_scale_convert() documents, and describes the copy. */
dg_status_t dg_prepare_convert(dg_call_copy_t *prepared, const dg_call_t *call,
    const dg_scale_convert_args_t *args, const dg_copy_names_t *names);

/* Refuses factors that the type of dst cannot hold, naming the element. `rank` is src's. On a GPU
 * nothing is read: there they are rounded up. */
dg_status_t dg_check_copy_values(
    const dg_call_copy_t *prepared, const dg_copy_names_t *names, int32_t rank);

dg_status_t dg_run_copy(dg_call_t *call, const dg_call_copy_t *prepared, const dg_launch_t *launch);
void dg_release_copy(dg_call_copy_t *prepared);

#endif
