/* SPDX-License-Identifier: MIT
 *
 * See group_ranges.h.
 */
#include "api/group_ranges.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/tensor.h"

dg_status_t dg_read_groups(dg_call_groups_t *read, const dg_call_t *call, const dg_groups_t *groups,
    const char *name, dg_group_forms_t forms, int64_t rows) {
    *read = (dg_call_groups_t){NULL, 0};
    int64_t count;
    DG_TRY(dg_check_groups(groups, name, forms, &count));
    if (count == 0) return DG_STATUS_OK;
    const dg_tensor_t *values = &groups->values;
    DG_REQUIRE(!dg_tensor_given(values) || values->device.type == DG_DEVICE_CPU,
        DG_STATUS_BAD_DEVICE, name, ".values",
        "device type %d, expected the CPU (%d), where the other tensors are; copy the values there",
        (int)values->device.type, (int)DG_DEVICE_CPU);
    const bool fits = (uint64_t)count <= SIZE_MAX / sizeof *read->ranges;
    read->ranges = fits ? malloc((size_t)count * sizeof *read->ranges) : NULL;
    DG_REQUIRE(read->ranges != NULL, DG_STATUS_OUT_OF_MEMORY, name, "",
        "no memory for the places of %" PRId64 " groups; check the number of values", count);
    read->count = count;
    return dg_group_ranges(groups, name, rows, &call->options, read->ranges);
}

void dg_release_groups(dg_call_groups_t *read) {
    free(read->ranges);
}
