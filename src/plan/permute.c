/* SPDX-License-Identifier: MIT
 *
 * See permute.h. Work is dealt out to warps; a launch has as many CTAs as there is work for, up to what
 * fills the GPU, and they walk over the rest.
 */
#include "plan/permute.h"

#include "base/integer.h"
#include "model/tensor.h"
#include "plan/cost.h"

enum { ROUTE_THREADS = 512, THREADS = 256, WARPS = THREADS / 32, CTAS_PER_SM = 4 };

static dg_any_slots_t slots_of(const dg_tensor_t *tensor) {
    return (dg_any_slots_t){
        tensor->data, {dg_tensor_stride(tensor, 0), dg_tensor_stride(tensor, 1)}};
}

static dg_any_vector_t vector_of(const dg_tensor_t *tensor) {
    return (dg_any_vector_t){tensor->data, dg_tensor_stride(tensor, 0)};
}

void dg_plan_route_tokens(const dg_route_tokens_args_t *args, int32_t alignment,
    const dg_machine_t *machine, dg_plan_stage_t stages[2], dg_any_route_tokens_args_t *route) {
    const int64_t tokens = args->ids.shape[0], topk = args->ids.shape[1];
    const int64_t groups = args->counts.shape[0];
    *route = (dg_any_route_tokens_args_t){
        .ids = slots_of(&args->ids),
        .rows = slots_of(&args->rows),
        .counts = vector_of(&args->counts),
        .ends = vector_of(&args->ends),
        .sources = vector_of(&args->sources),
        .groups = vector_of(&args->groups),
        .slots = (uint32_t)(tokens * topk),
        .topk = (uint32_t)topk,
        .group_count = (uint32_t)groups,
        .row_count = (uint32_t)args->sources.shape[0],
        .form = (int32_t)args->form,
        .alignment = alignment,
        .wide = args->ids.dtype == DG_DTYPE_I64,
    };
    if (topk == 1) route->ids.stride[1] = route->ids.stride[0];
    route->flat = tokens <= 1 || topk == 1 || route->ids.stride[0] == topk * route->ids.stride[1];
    for (int32_t place = 0; place < 2; place++)
        stages[place] = (dg_plan_stage_t){
            .specialisation = {.kernel = DG_KERNEL_ANY_ROUTE_TOKENS,
                .values = {place, ROUTE_THREADS}},
            .grid = dg_unit_grid((double)(groups + place), 2 * machine->sms),
            .threads = ROUTE_THREADS,
            .cluster = 1,
            .shared_bytes = DG_ROUTE_SHARED_BYTES(ROUTE_THREADS),
        };
}

/* A stage whose warps have so many units of work. */
static dg_plan_stage_t make_stage(int32_t kernel, double units, const dg_machine_t *machine) {
    return (dg_plan_stage_t){
        .specialisation = {.kernel = kernel, .values = {THREADS}},
        .grid = dg_unit_grid(units / WARPS + 1.0, CTAS_PER_SM * machine->sms),
        .threads = THREADS,
        .cluster = 1,
    };
}

static dg_any_matrix_t matrix_of(const dg_tensor_t *tensor) {
    const int64_t size = dg_dtype_size(tensor->dtype), pitch = dg_tensor_stride(tensor, 0);
    const bool together = tensor->shape[1] == 1 || dg_tensor_stride(tensor, 1) == 1;
    const int64_t bits = (int64_t)(uintptr_t)tensor->data | pitch * size;
    return (dg_any_matrix_t){
        .data = tensor->data,
        .stride = {pitch, dg_tensor_stride(tensor, 1)},
        .rows = tensor->shape[0],
        .dtype = (int32_t)tensor->dtype,
        .vector = together && bits % 16 == 0,
    };
}

/* The largest pieces that rows of x and of out can be cut into. */
static void cut_rows(const dg_permute_rows_args_t *args, dg_any_permute_rows_args_t *permute) {
    const int64_t size = dg_dtype_size(args->x.dtype), n = args->x.shape[1];
    const int64_t bits = (int64_t)(uintptr_t)args->x.data | (int64_t)(uintptr_t)args->out.data |
                         permute->x_pitch | permute->out_pitch | n * size;
    int64_t piece = size;
    if (n == 1 || (permute->x_step == size && permute->out_step == size)) {
        while (piece < 16 && bits % (2 * piece) == 0) piece *= 2;
        permute->x_step = permute->out_step = piece;
    }
    permute->piece_bytes = (int32_t)piece;
    permute->pieces = n * size / piece;
}

void dg_plan_permute_rows(const dg_permute_rows_args_t *args, const dg_machine_t *machine,
    dg_plan_stage_t *stage, dg_any_permute_rows_args_t *permute) {
    const int64_t size = dg_dtype_size(args->x.dtype);
    const bool weighted = dg_tensor_given(&args->weights);
    *permute = (dg_any_permute_rows_args_t){
        .x = args->x.data,
        .out = args->out.data,
        .x_pitch = dg_tensor_stride(&args->x, 0) * size,
        .x_step = dg_tensor_stride(&args->x, 1) * size,
        .out_pitch = dg_tensor_stride(&args->out, 0) * size,
        .out_step = dg_tensor_stride(&args->out, 1) * size,
        .tokens = args->x.shape[0],
        .topk = args->rows.shape[1],
        .out_rows = args->out.shape[0],
        .rows = slots_of(&args->rows),
        .weights = slots_of(&args->weights),
        .sources = vector_of(&args->sources),
        .columns = args->x.shape[1],
    };
    cut_rows(args, permute);
    if (weighted) {
        permute->x_values = matrix_of(&args->x);
        permute->out_values = matrix_of(&args->out);
    }
    const int64_t parts = weighted ? dg_ceil_div(permute->columns, DG_SUM_COLUMNS)
                                   : dg_ceil_div(permute->pieces, DG_PERMUTE_PIECES);
    const double cleared = dg_tensor_given(&args->sources) ? (double)permute->out_rows / 32 : 0;
    *stage = make_stage(
        DG_KERNEL_ANY_PERMUTE_ROWS, (double)permute->tokens * (double)parts + cleared, machine);
}

void dg_plan_unpermute_rows(const dg_unpermute_rows_args_t *args, const dg_machine_t *machine,
    dg_plan_stage_t *stage, dg_any_sum_rows_args_t *sum) {
    *sum = (dg_any_sum_rows_args_t){
        .x = matrix_of(&args->x),
        .out = matrix_of(&args->out),
        .rows = slots_of(&args->rows),
        .weights = slots_of(&args->weights),
        .tokens = args->out.shape[0],
        .topk = args->rows.shape[1],
        .columns = args->out.shape[1],
    };
    const int64_t parts = dg_ceil_div(sum->columns, DG_SUM_COLUMNS);
    *stage = make_stage(DG_KERNEL_ANY_UNPERMUTE_ROWS, (double)sum->tokens * (double)parts, machine);
}

void dg_plan_dot_rows(const dg_dot_rows_args_t *args, const dg_machine_t *machine,
    dg_plan_stage_t *stage, dg_any_sum_rows_args_t *dot) {
    *dot = (dg_any_sum_rows_args_t){
        .x = matrix_of(&args->b),
        .y = matrix_of(&args->a),
        .rows = slots_of(&args->rows),
        .dots = slots_of(&args->out),
        .tokens = args->a.shape[0],
        .topk = args->rows.shape[1],
        .columns = args->a.shape[1],
    };
    *stage = make_stage(DG_KERNEL_ANY_DOT_ROWS, (double)dot->tokens * (double)dot->topk, machine);
}
