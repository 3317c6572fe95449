/* SPDX-License-Identifier: MIT
 *
 * See cast.h. A tensor of any rank becomes one of four axes, its own last. Outputs whose blocks fit
 * tiles of 128 x 128 are made by cast_tile.cu, both in one pass if both do; others by cast_factors.cu
 * and cast_codes.cu.
 */
#include "plan/cast.h"

#include "base/integer.h"
#include "model/quantized.h"
#include "model/tensor.h"
#include "plan/cost.h"
#include "plan/group_source.h"

enum { ROWS = 2, COLUMNS = 3, THREADS = 256, CTAS_PER_SM = 8, TILE = DG_CAST_TILE };

/* ---- from tensors to arguments */

/* Axis of the caller's that is the kernels' axis i; negative: one of extent 1. */
static int32_t own_axis(int32_t rank, int i) {
    return i - (DG_CAST_AXES - rank);
}

static void take_strides(const dg_tensor_t *tensor, int64_t stride[DG_CAST_AXES]) {
    for (int i = 0; i < DG_CAST_AXES; i++)
        stride[i] = dg_tensor_stride(tensor, own_axis(tensor->rank, i));
}

static dg_any_cast_side_t describe_side(const dg_quantized_t *q, const dg_tensor_t *x) {
    dg_any_cast_side_t side = {
        .data = q->data.data,
        .scale = q->scale.data,
        .scale_rows = x->rank > 1 ? q->scale.shape[x->rank - 2] : 1,
        .dtype = (int32_t)q->data.dtype,
        .scale_dtype = (int32_t)q->scale.dtype,
        .pair_axis = -1,
        .word_axis = -1,
        .power_of_two = q->power_of_two == DG_ON || q->scale.dtype != DG_DTYPE_F32,
        .by_row = x->rank == 2 && dg_quantized_by_row(q, x->rank),
    };
    take_strides(&q->data, side.data_stride);
    take_strides(&q->scale, side.scale_stride);
    for (int i = 0; i < DG_CAST_AXES; i++) {
        const int32_t axis = own_axis(x->rank, i);
        const int64_t extent = axis < 0 ? 1 : x->shape[axis];
        const int64_t gran = axis < 0 || q->gran[axis] == 0 ? extent : q->gran[axis];
        side.gran[i] = gran < extent ? gran : extent;
        if (axis < 0) continue;
        if (q->scale.dtype == DG_DTYPE_I32 && axis == dg_quantized_k_axis(q, x->rank))
            side.word_axis = i;
        if (q->data.dtype == DG_DTYPE_E2M1X2 && q->data.shape[axis] != x->shape[axis]) {
            side.pair_axis = i;
            side.data_stride[i] = 1; /* of an axis of one byte, nobody set it */
        }
    }
    return side;
}

static dg_any_cast_args_t describe(
    const dg_tensor_t *x, const dg_groups_t *groups, int32_t psum_alignment) {
    dg_any_cast_args_t args = {.x = x->data, .x_dtype = (int32_t)x->dtype};
    take_strides(x, args.x_stride);
    for (int i = 0; i < DG_CAST_AXES; i++) {
        const int32_t axis = own_axis(x->rank, i);
        args.extent[i] = axis < 0 ? 1 : x->shape[axis];
    }
    args.groups = dg_describe_groups(groups, args.extent[ROWS], psum_alignment);
    return args;
}

/* ---- which outputs are for tiles */

/* Blocks of this extent along an axis of a tile: at least `least`, or 1; 0: none. A block of the whole
 * axis may reach beyond it. */
static int64_t tile_gran(int64_t gran, int64_t extent, int64_t least) {
    if (gran == extent && extent <= TILE && (gran & (gran - 1)) != 0) return TILE;
    const bool fits = gran == 1 || (gran >= least && gran <= TILE && (gran & (gran - 1)) == 0);
    if (fits) return gran;
    return gran == extent && extent <= TILE ? TILE : 0;
}

/* Tiles at the most; grouped: one group in each of them may end there. */
static double count_tiles(const dg_any_cast_args_t *args) {
    const double rows = (double)dg_ceil_div(args->extent[ROWS], TILE) + (double)args->groups.count;
    return rows * (double)dg_ceil_div(args->extent[COLUMNS], TILE) * (double)args->extent[0] *
           (double)args->extent[1];
}

static int32_t log2_of(int64_t power) {
    int32_t shift = 0;
    while (power >> shift > 1) shift++;
    return shift;
}

/* Whether strides and address allow accesses of `bytes` bytes along columns of stride 1. */
static bool is_aligned(
    const void *data, const int64_t stride[DG_CAST_AXES], int64_t size, int64_t bytes) {
    int64_t bits = (int64_t)(uintptr_t)data;
    for (int i = 0; i < COLUMNS; i++) bits |= stride[i] * size;
    return stride[COLUMNS] == 1 && bits % bytes == 0;
}

/* Makes the side one for tiles, if it can be. */
static bool fit_tile(const dg_any_cast_args_t *args, dg_any_cast_side_t *side) {
    int64_t rows = tile_gran(side->gran[ROWS], args->extent[ROWS], 16);
    int64_t columns = tile_gran(side->gran[COLUMNS], args->extent[COLUMNS], 8);
    if (rows == 1 && columns == 1) { /* one of them may be an axis of extent 1 */
        if (args->extent[COLUMNS] == 1)
            columns = TILE;
        else if (args->extent[ROWS] == 1)
            rows = TILE;
        else
            return false;
    }
    if (rows == 0 || columns == 0 || side->gran[0] != 1 || side->gran[1] != 1) return false;
    if (side->pair_axis >= 0 && side->pair_axis != COLUMNS) return false;
    if (count_tiles(args) >= 0x1p31) return false;
    side->gran[ROWS] = rows;
    side->gran[COLUMNS] = columns;
    side->row_shift = log2_of(rows);
    side->column_shift = log2_of(columns);
    side->vector =
        is_aligned(side->data, side->data_stride, 1, side->dtype == DG_DTYPE_E4M3 ? 8 : 4);
    return true;
}

/* ---- launches */

static dg_cast_launch_t *add_launch(dg_cast_launches_t *launches, int32_t kernel, double work,
    int32_t at_most, uint32_t shared_bytes) {
    dg_cast_launch_t *launch = &launches->launch[launches->count++];
    *launch = (dg_cast_launch_t){.stage = {
                                     .specialisation = {.kernel = kernel, .values = {THREADS}},
                                     .grid = dg_unit_grid(work, at_most),
                                     .threads = THREADS,
                                     .cluster = 1,
                                     .shared_bytes = shared_bytes,
                                 }};
    return launch;
}

/* CTAs that are on the GPU at once walk over groups; without any, each tile is a CTA's only one. */
static void add_tiles(
    const dg_any_cast_args_t *args, const dg_machine_t *machine, dg_cast_launches_t *launches) {
    const bool wide = args->x_dtype == DG_DTYPE_F32, grouped = args->groups.form != 0;
    const int32_t at_most = grouped ? machine->sms * (wide ? 2 : 3) : INT32_MAX;
    dg_cast_launch_t *launch = add_launch(
        launches, DG_KERNEL_ANY_CAST_TILE, count_tiles(args), at_most, DG_CAST_TILE_SHARED_BYTES);
    launch->stage.specialisation.values[0] = wide;
    launch->stage.specialisation.values[1] = args->side[0].dtype == DG_DTYPE_E2M1X2;
    launch->args = *args;
    launch->args.x_vector = is_aligned(args->x, args->x_stride, wide ? 4 : 2, 16);
}

static double count_pieces(const dg_any_cast_args_t *args) {
    return (double)dg_ceil_div(args->extent[ROWS], DG_CAST_PIECE_ROWS) *
           (double)dg_ceil_div(args->extent[COLUMNS], DG_CAST_PIECE_COLUMNS) *
           (double)args->extent[0] * (double)args->extent[1];
}

static void add_pieces(const dg_any_cast_args_t *args, int32_t kernel, const dg_machine_t *machine,
    dg_cast_launches_t *launches) {
    add_launch(launches, kernel, count_pieces(args), CTAS_PER_SM * machine->sms,
        DG_CAST_PIECE_SHARED_BYTES(THREADS))
        ->args = *args;
}

static void add_factors(
    const dg_any_cast_args_t *args, const dg_machine_t *machine, dg_cast_launches_t *launches) {
    const int64_t *gran = args->side[0].gran, *extent = args->extent;
    const double rows =
        ((double)dg_ceil_div(extent[ROWS], gran[ROWS]) + (double)args->groups.count) *
        (double)dg_ceil_div(extent[0], gran[0]) * (double)dg_ceil_div(extent[1], gran[1]);
    add_launch(launches, DG_KERNEL_ANY_CAST_FACTORS, rows, CTAS_PER_SM * machine->sms,
        DG_CAST_FACTORS_SHARED_BYTES(THREADS))
        ->args = *args;
}

void dg_plan_quantize(const dg_quantize_args_t *args, int32_t psum_alignment,
    const dg_machine_t *machine, dg_cast_launches_t *launches) {
    const dg_any_cast_args_t plain = describe(&args->x, &args->groups, psum_alignment);
    dg_any_cast_args_t tiles[2] = {plain, plain}; /* of E4M3, of E2M1X2 */
    const int outputs = dg_tensor_given(&args->out[1].data) ? 2 : 1;
    launches->count = 0;
    for (int s = 0; s < outputs; s++) {
        dg_any_cast_side_t side = describe_side(&args->out[s], &args->x);
        dg_any_cast_args_t *fitting = &tiles[side.dtype == DG_DTYPE_E2M1X2];
        if (fit_tile(&plain, &side)) {
            fitting->side[fitting->sides++] = side;
            continue;
        }
        dg_any_cast_args_t one = plain;
        one.side[one.sides++] = side;
        add_factors(&one, machine, launches);
        add_pieces(&one, DG_KERNEL_ANY_CAST_CODES, machine, launches);
    }
    for (int i = 0; i < 2; i++)
        if (tiles[i].sides > 0) add_tiles(&tiles[i], machine, launches);
}

void dg_plan_dequantize(const dg_dequantize_args_t *args, int32_t psum_alignment,
    const dg_machine_t *machine, dg_cast_launches_t *launches) {
    dg_any_cast_args_t one = describe(&args->x, &args->groups, psum_alignment);
    one.side[one.sides++] = describe_side(&args->q, &args->x);
    launches->count = 0;
    add_pieces(&one, DG_KERNEL_ANY_CAST_VALUES, machine, launches);
}
