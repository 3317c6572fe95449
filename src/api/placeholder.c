/* SPDX-License-Identifier: MIT
 *
 * See placeholder.h.
 */
#include "api/placeholder.h"

#include "model/output_list.h"
#include "model/tensor.h"

/* Far enough apart for any tensor that one can have, and far from real memory, whose addresses end
 * below 2^57: tensor i at (i + 1) 2^58, entry g of a list at 2^57 + g 2^46. */
static void *tensor_place(uint64_t i) {
    return (void *)(uintptr_t)((i + 1) << 58);
}

static void *listed_place(uint64_t g) {
    return (void *)(uintptr_t)((UINT64_C(1) << 57) + (g << 46));
}

/* tensors: [count], all tensors of one call */
static void place_all(dg_tensor_t *const *tensors, int count) {
    const dg_device_t cpu = {DG_DEVICE_CPU, 0};
    for (int i = 0; i < count; i++) {
        if (!dg_tensor_given(tensors[i])) continue;
        tensors[i]->device = cpu;
        if (tensors[i]->data == NULL) tensors[i]->data = tensor_place((uint64_t)i);
    }
}

void dg_place_gemm(dg_gemm_args_t *args) {
    dg_tensor_t *const tensors[] = {
        &args->a.data, &args->a.scale, &args->b.data, &args->b.scale, &args->c, &args->d};
    place_all(tensors, sizeof tensors / sizeof tensors[0]);
}

void dg_place_m_grouped_gemm(dg_m_grouped_gemm_args_t *args) {
    dg_tensor_t *const tensors[] = {&args->a.data, &args->a.scale, &args->b.data, &args->b.scale,
        &args->c, &args->d, &args->groups.values, &args->a_rows};
    place_all(tensors, sizeof tensors / sizeof tensors[0]);
}

void dg_place_k_grouped_gemm(dg_k_grouped_gemm_args_t *args, void **list) {
    dg_tensor_t *const tensors[] = {&args->a.data, &args->a.scale, &args->a.rows, &args->b.data,
        &args->b.scale, &args->b.rows, &args->groups.values, &args->c, &args->d};
    const bool listed = args->output == DG_K_OUTPUT_LIST;
    /* d of a LIST has no data of its own, and is the last one here */
    place_all(tensors, sizeof tensors / sizeof tensors[0] - (listed ? 1 : 0));
    args->d.device = (dg_device_t){DG_DEVICE_CPU, 0};
    if (!listed || args->d_list != NULL) return;
    for (uint64_t g = 0; g < DG_MAX_LISTED_OUTPUTS; g++) list[g] = listed_place(g);
    args->d_list = list;
}
