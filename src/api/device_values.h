/* SPDX-License-Identifier: MIT
 *
 * Values in GPU memory - group sizes, offsets, indices, lists of rows - checked as those of the host
 * are, where a context's check_device asks for that: they are copied to the host, which waits for
 * the stream, and go through the CPU backend's reading. Called by the entry points of grouped
 * families and of moe.h before they launch; calls cpu, cuda and model.
 */
#ifndef DG_API_DEVICE_VALUES_H
#define DG_API_DEVICE_VALUES_H

#include "api/group_ranges.h"
#include "model/problem.h"

/* Both return DG_STATUS_OK at once where check_device is off, where the call only prepares and
 * while the stream captures, which forbids waiting. */
dg_status_t dg_check_m_grouped_values(const dg_call_t *call, const dg_launch_t *launch,
    int32_t ordinal, const dg_m_grouped_problem_t *problem);
dg_status_t dg_check_k_grouped_values(const dg_call_t *call, const dg_launch_t *launch,
    int32_t ordinal, const dg_k_grouped_problem_t *problem);

/* Entries of `slots` [tokens, topk], wherever they lie, that are `limit` or more; negative ones pass. Under
 * CLAMP nothing is looked at. name: the argument's; what: of what there are `limit`. */
dg_status_t dg_check_slot_values(const dg_call_t *call, const dg_launch_t *launch,
    const dg_tensor_t *slots, const char *name, const char *what, int64_t limit);

/* dg_read_groups() for values that may lie on a GPU: there they are read where check_device asks
 * for it, else `read` stays empty. */
dg_status_t dg_read_groups_anywhere(dg_call_groups_t *read, const dg_call_t *call,
    const dg_launch_t *launch, const dg_groups_t *groups, const char *name, dg_group_forms_t forms,
    int64_t rows);

#endif
