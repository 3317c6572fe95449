/* SPDX-License-Identifier: MIT
 *
 * See device_values.h.
 */
#include "api/device_values.h"

#include <stdlib.h>

#include "base/error.h"
#include "cpu/k_grouped.h"
#include "cpu/m_grouped.h"
#include "cpu/route.h"
#include "cuda/device.h"
#include "cuda/memory.h"
#include "model/span.h"
#include "model/tensor.h"

enum { MAX_TENSORS = 3 };

/* Tensors of one call that were brought to the host. */
typedef struct dg_host_copies_t {
    dg_cuda_device_t *device;
    void *stream;
    void *memory[MAX_TENSORS];
    int count;
} dg_host_copies_t;

static dg_status_t open_copies(const dg_call_t *call, const dg_launch_t *launch, int32_t ordinal,
    dg_host_copies_t *copies, bool *checks) {
    *copies = (dg_host_copies_t){.stream = launch == NULL ? NULL : launch->stream};
    *checks = call->options.check_device == DG_ON && !dg_only_prepares(launch);
    if (!*checks) return DG_STATUS_OK;
    DG_TRY(dg_cuda_open(ordinal, &copies->device));
    *checks = !dg_cuda_capturing(copies->device, copies->stream);
    return DG_STATUS_OK;
}

/* Makes `tensor`, if it lies on a GPU, a view of a copy on the host: all bytes that it covers, so
 * that its strides stay good. The copy is there once the stream has been waited for. */
static dg_status_t bring(dg_host_copies_t *copies, const char *name, dg_tensor_t *tensor) {
    const dg_span_t span = dg_tensor_span(tensor);
    const size_t bytes = span.end - span.begin;
    if (!dg_tensor_given(tensor) || tensor->device.type != DG_DEVICE_CUDA || bytes == 0)
        return DG_STATUS_OK;
    char *memory = malloc(bytes);
    DG_REQUIRE(memory != NULL, DG_STATUS_OUT_OF_MEMORY, name, "",
        "no memory for a copy of %zu bytes to be checked; free some, or turn check_device off",
        bytes);
    copies->memory[copies->count++] = memory;
    DG_TRY(dg_cuda_copy(copies->device, memory, (const void *)span.begin, bytes, copies->stream));
    tensor->data = memory + ((uintptr_t)tensor->data - span.begin);
    tensor->device = (dg_device_t){DG_DEVICE_CPU, 0};
    return DG_STATUS_OK;
}

static dg_status_t wait_for(const dg_host_copies_t *copies) {
    if (copies->count == 0) return DG_STATUS_OK;
    return dg_cuda_synchronize_stream(copies->device, copies->stream);
}

static dg_status_t release(const dg_host_copies_t *copies, dg_status_t status) {
    for (int i = 0; i < copies->count; i++) free(copies->memory[i]);
    return status;
}

static dg_status_t check_m(
    const dg_call_t *call, dg_host_copies_t *copies, dg_m_grouped_problem_t *problem) {
    DG_TRY(bring(copies, "groups", &problem->groups.values));
    DG_TRY(bring(copies, "a_rows", &problem->a_rows));
    DG_TRY(wait_for(copies));
    return dg_cpu_check_m_grouped(problem, &call->options);
}

dg_status_t dg_check_m_grouped_values(const dg_call_t *call, const dg_launch_t *launch,
    int32_t ordinal, const dg_m_grouped_problem_t *problem) {
    dg_host_copies_t copies;
    bool checks;
    DG_TRY(open_copies(call, launch, ordinal, &copies, &checks));
    if (!checks) return DG_STATUS_OK;
    dg_m_grouped_problem_t on_host = *problem;
    return release(&copies, check_m(call, &copies, &on_host));
}

static dg_status_t check_k(
    const dg_call_t *call, dg_host_copies_t *copies, dg_k_grouped_problem_t *problem) {
    DG_TRY(bring(copies, "groups", &problem->groups.values));
    DG_TRY(bring(copies, "a", &problem->a.rows));
    DG_TRY(bring(copies, "b", &problem->b.rows));
    DG_TRY(wait_for(copies));
    return dg_cpu_check_k_grouped(problem, &call->options);
}

dg_status_t dg_check_k_grouped_values(const dg_call_t *call, const dg_launch_t *launch,
    int32_t ordinal, const dg_k_grouped_problem_t *problem) {
    dg_host_copies_t copies;
    bool checks;
    DG_TRY(open_copies(call, launch, ordinal, &copies, &checks));
    if (!checks) return DG_STATUS_OK;
    dg_k_grouped_problem_t on_host = *problem;
    return release(&copies, check_k(call, &copies, &on_host));
}

static dg_status_t check_slots(dg_host_copies_t *copies, dg_tensor_t *slots, const char *name,
    const char *what, int64_t limit) {
    DG_TRY(bring(copies, name, slots));
    DG_TRY(wait_for(copies));
    return dg_cpu_check_slots(slots, name, what, limit);
}

dg_status_t dg_check_slot_values(const dg_call_t *call, const dg_launch_t *launch,
    const dg_tensor_t *slots, const char *name, const char *what, int64_t limit) {
    dg_host_copies_t copies;
    bool checks;
    if (call->options.group_values == DG_GROUP_VALUES_CLAMP) return DG_STATUS_OK;
    if (slots->device.type != DG_DEVICE_CUDA) return dg_cpu_check_slots(slots, name, what, limit);
    DG_TRY(open_copies(call, launch, slots->device.id, &copies, &checks));
    if (!checks) return DG_STATUS_OK;
    dg_tensor_t on_host = *slots;
    return release(&copies, check_slots(&copies, &on_host, name, what, limit));
}

static dg_status_t read_copy(dg_call_groups_t *read, const dg_call_t *call,
    dg_host_copies_t *copies, dg_groups_t *groups, const char *name, dg_group_forms_t forms,
    int64_t rows) {
    DG_TRY(bring(copies, name, &groups->values));
    DG_TRY(wait_for(copies));
    return dg_read_groups(read, call, groups, name, forms, rows);
}

dg_status_t dg_read_groups_anywhere(dg_call_groups_t *read, const dg_call_t *call,
    const dg_launch_t *launch, const dg_groups_t *groups, const char *name, dg_group_forms_t forms,
    int64_t rows) {
    const dg_tensor_t *values = &groups->values;
    if (!dg_tensor_given(values) || values->device.type != DG_DEVICE_CUDA)
        return dg_read_groups(read, call, groups, name, forms, rows);
    *read = (dg_call_groups_t){NULL, 0};
    int64_t count;
    dg_host_copies_t copies;
    bool checks;
    DG_TRY(dg_check_groups(groups, name, forms, &count));
    DG_TRY(open_copies(call, launch, values->device.id, &copies, &checks));
    if (!checks) return DG_STATUS_OK;
    dg_groups_t on_host = *groups;
    return release(&copies, read_copy(read, call, &copies, &on_host, name, forms, rows));
}
