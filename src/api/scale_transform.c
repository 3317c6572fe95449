/* SPDX-License-Identifier: MIT
 *
 * The layout of factors that the kernels of a GPU generation want: dg_scale_transform() and its
 * kin. See deep_gemm/scale_layout.h. Decides the layout, then has the factors copied into it the
 * way dg_scale_convert() does (scale_copy.h).
 */
#include <inttypes.h>

#include "api/scale_copy.h"
#include "base/error.h"
#include "base/integer.h"
#include "model/arguments.h"
#include "model/tensor.h"

/* Names of one side's arguments: transform has one side, the pair form two. */
typedef struct dg_transform_names_t {
    const char *args, *out; /* structs: "args", "a" */
    const char *scale, *psum;
} dg_transform_names_t;

static const dg_transform_names_t single_names = {"args", "out", "scale", "psum"};
static const dg_transform_names_t a_names = {"a", "out_a", "a.scale", "a.psum"};
static const dg_transform_names_t b_names = {"b", "out_b", "b.scale", "b.psum"};

static dg_status_t check_numbers(
    const dg_scale_transform_args_t *args, const dg_transform_names_t *names) {
    DG_REQUIRE(args->mn >= 0, DG_STATUS_BAD_VALUE, names->args, ".mn",
        "%" PRId64 ", expected the rows of the operand, at least 0", args->mn);
    DG_REQUIRE(args->k >= 0, DG_STATUS_BAD_VALUE, names->args, ".k",
        "%" PRId64 ", expected the extent of the operand along k, at least 0", args->k);
    DG_REQUIRE(args->gran_mn >= 1, DG_STATUS_BAD_VALUE, names->args, ".gran_mn",
        "%d, expected the rows that one factor covers, at least 1", args->gran_mn);
    DG_REQUIRE(args->gran_k == 32 || args->gran_k == 128, DG_STATUS_BAD_VALUE, names->args,
        ".gran_k", "%d, expected 32 or 128: the values along k that one factor covers",
        args->gran_k);
    DG_REQUIRE(args->groups >= 0, DG_STATUS_BAD_VALUE, names->args, ".groups",
        "%" PRId64 ", expected the number of groups, or 0 for none", args->groups);
    DG_REQUIRE(args->arch_major == 0 || args->arch_major == 9 || args->arch_major == 10,
        DG_STATUS_BAD_VALUE, names->args, ".arch_major",
        "%d, expected 9 (Hopper), 10 (Blackwell) or 0 for the context's device", args->arch_major);
    DG_REQUIRE(args->keep_f32 >= DG_DEFAULT && args->keep_f32 <= DG_OFF, DG_STATUS_BAD_ENUM,
        names->args, ".keep_f32", "%d, expected DG_DEFAULT (0), DG_ON (1) or DG_OFF (2)",
        (int)args->keep_f32);
    return DG_STATUS_OK;
}

static dg_status_t check_scale(
    const dg_scale_transform_args_t *args, const dg_transform_names_t *names) {
    const dg_tensor_t *scale = &args->scale;
    const int32_t rank = args->groups > 0 ? 3 : 2;
    DG_TRY(dg_check_tensor(
        scale, names->scale, "", DG_DTYPE_BIT(DG_DTYPE_F32) | DG_DTYPE_BIT(DG_DTYPE_I32), rank));
    const int64_t blocks = dg_ceil_div(args->k, args->gran_k);
    const int64_t matrix[2] = {dg_ceil_div(args->mn, args->gran_mn),
        scale->dtype == DG_DTYPE_I32 ? dg_ceil_div(blocks, 4) : blocks};
    const int64_t wanted[3] = {args->groups, matrix[0], matrix[1]};
    const int64_t *shape = rank == 3 ? wanted : matrix;
    bool fits = true;
    for (int32_t i = 0; i < rank; ++i) fits = fits && scale->shape[i] == shape[i];
    DG_REQUIRE(fits, DG_STATUS_BAD_SCALE, names->scale, "",
        "shape %s, expected %s: factors of an operand [%" PRId64 ", %" PRId64
        "] in blocks of %d x %d; pass the factors of this operand, or its mn, k and granularity",
        dg_format_list(scale->shape, rank).bytes, dg_format_list(shape, rank).bytes, args->mn,
        args->k, args->gran_mn, args->gran_k);
    return DG_STATUS_OK;
}

/* What a transform makes. */
typedef struct dg_transform_t {
    dg_tensor_t layout; /* data NULL */
    bool as_given;      /* rows, type and strides of the input */
    bool done;          /* the input already has this layout */
} dg_transform_t;

static bool same_strides(const dg_tensor_t *a, const dg_tensor_t *b) {
    for (int32_t i = 0; i < a->rank; ++i) {
        if (a->shape[i] == 0) return true;
    }
    for (int32_t i = 0; i < a->rank; ++i) {
        if (a->shape[i] != 1 && a->stride[i] != b->stride[i]) return false;
    }
    return true;
}

static bool same_extents(const dg_tensor_t *a, const dg_tensor_t *b) {
    bool same = a->dtype == b->dtype && a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; ++i) same = a->shape[i] == b->shape[i];
    return same;
}

static dg_status_t decide(const dg_scale_transform_args_t *args, const dg_transform_names_t *names,
    dg_transform_t *transform) {
    DG_TRY(check_numbers(args, names));
    DG_TRY(check_scale(args, names));
    const dg_tensor_t *scale = &args->scale;
    const bool f32 = scale->dtype == DG_DTYPE_F32;
    const bool packs = f32 && args->arch_major == 10 && args->keep_f32 != DG_ON;
    transform->as_given = f32 && !packs && args->gran_mn > 1;
    if (transform->as_given) {
        transform->layout = *scale;
    } else {
        const int64_t blocks = dg_ceil_div(args->k, args->gran_k);
        const bool words = packs || !f32;
        transform->layout = dg_scale_mn_major(NULL, words ? DG_DTYPE_I32 : DG_DTYPE_F32,
            args->groups, args->mn, words ? dg_ceil_div(blocks, 4) : blocks);
        transform->layout.device = scale->device;
    }
    transform->layout.data = NULL;
    transform->done =
        same_extents(&transform->layout, scale) && same_strides(&transform->layout, scale);
    return DG_STATUS_OK;
}

static dg_status_t lay_out(const dg_scale_transform_args_t *args, dg_tensor_t *layout) {
    dg_transform_t transform;
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_scale_transform_args_t"));
    DG_REQUIRE(layout != NULL, DG_STATUS_NULL_POINTER, "layout", "",
        "NULL, expected the address of a dg_tensor_t that receives the answer");
    DG_TRY(decide(args, &single_names, &transform));
    *layout = transform.layout;
    layout->data = transform.done ? args->scale.data : NULL;
    return DG_STATUS_OK;
}

dg_status_t dg_scale_transform_layout(
    dg_context_t *ctx, const dg_scale_transform_args_t *args, dg_tensor_t *layout) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_scale_transform_layout", ctx));
    return dg_end_call(&call, lay_out(args, layout));
}

/* One side of a transform between its checks and its end. */
typedef struct dg_transform_side_t {
    dg_call_copy_t prepared;
    dg_copy_names_t names;
    int32_t rank;
    bool nothing; /* out is the input */
} dg_transform_side_t;

static dg_status_t check_out(
    const dg_transform_t *transform, const dg_tensor_t *out, const dg_transform_names_t *names) {
    const dg_tensor_t *layout = &transform->layout;
    DG_REQUIRE(out != NULL, DG_STATUS_NULL_POINTER, names->out, "",
        "NULL, expected a tensor as dg_scale_transform_layout() describes it");
    DG_TRY(dg_check_tensor(out, names->out, "", DG_DTYPE_BIT(layout->dtype), layout->rank));
    DG_TRY(dg_check_shape(out, names->out, "", layout->shape,
        "what dg_scale_transform_layout() describes; take its answer and set data"));
    DG_REQUIRE(same_strides(layout, out), DG_STATUS_BAD_STRIDE, names->out, "",
        "strides %s, expected %s, as dg_scale_transform_layout() describes; take its answer and "
        "set data",
        dg_format_list(out->stride, out->rank).bytes,
        dg_format_list(layout->stride, layout->rank).bytes);
    return DG_STATUS_OK;
}

static dg_status_t prepare(dg_transform_side_t *side, const dg_call_t *call,
    const dg_scale_transform_args_t *args, const dg_tensor_t *out,
    const dg_transform_names_t *names) {
    dg_transform_t transform;
    DG_TRY(dg_check_args(args, sizeof *args, names->args, "dg_scale_transform_args_t"));
    DG_TRY(decide(args, names, &transform));
    DG_TRY(check_out(&transform, out, names));
    side->names = (dg_copy_names_t){names->scale, names->out, names->psum};
    side->rank = args->scale.rank;
    side->nothing = transform.done && out->data == args->scale.data;
    if (side->nothing) return DG_STATUS_OK;
    dg_scale_convert_args_t convert = DG_SCALE_CONVERT_ARGS_INIT;
    convert.src = args->scale;
    convert.dst = *out;
    convert.repeat_mn = transform.as_given ? 1 : args->gran_mn;
    convert.k_blocks = dg_ceil_div(args->k, args->gran_k);
    if (!transform.as_given) convert.groups = args->psum; /* whose rows are those of the operand */
    DG_TRY(dg_prepare_convert(&side->prepared, call, &convert, &side->names));
    return dg_check_copy_values(&side->prepared, &side->names, side->rank);
}

static dg_status_t finish(
    dg_call_t *call, const dg_transform_side_t *side, const dg_launch_t *launch) {
    return side->nothing ? DG_STATUS_OK : dg_run_copy(call, &side->prepared, launch);
}

static dg_status_t transform_one(dg_call_t *call, dg_transform_side_t *side,
    const dg_scale_transform_args_t *args, const dg_tensor_t *out, const dg_launch_t *launch) {
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(prepare(side, call, args, out, &single_names));
    return finish(call, side, launch);
}

dg_status_t dg_scale_transform(dg_context_t *ctx, const dg_scale_transform_args_t *args,
    const dg_tensor_t *out, const dg_launch_t *launch) {
    dg_call_t call;
    dg_transform_side_t side = {.rank = 0};
    DG_TRY(dg_begin_call(&call, "dg_scale_transform", ctx));
    const dg_status_t status = transform_one(&call, &side, args, out, launch);
    dg_release_copy(&side.prepared);
    return dg_end_call(&call, status);
}

/* Each output lies apart from the other side, too. */
static dg_status_t check_pair_apart(const dg_transform_side_t sides[2],
    const dg_scale_transform_args_t *a, const dg_tensor_t *out_a,
    const dg_scale_transform_args_t *b, const dg_tensor_t *out_b) {
    const dg_input_t beside_a[] = {
        {&b->scale, "b.scale", ""}, {&b->psum.values, "b.psum", ".values"}, {out_b, "out_b", ""}};
    const dg_input_t beside_b[] = {
        {&a->scale, "a.scale", ""}, {&a->psum.values, "a.psum", ".values"}, {out_a, "out_a", ""}};
    if (!sides[0].nothing) DG_TRY(dg_check_apart(out_a, "out_a", beside_a, 3));
    if (!sides[1].nothing) DG_TRY(dg_check_apart(out_b, "out_b", beside_b, 3));
    return DG_STATUS_OK;
}

static dg_status_t transform_two(dg_call_t *call, dg_transform_side_t sides[2],
    const dg_scale_transform_args_t *a, const dg_tensor_t *out_a,
    const dg_scale_transform_args_t *b, const dg_tensor_t *out_b, const dg_launch_t *launch) {
    DG_TRY(dg_check_launch(launch, 0));
    DG_TRY(prepare(&sides[0], call, a, out_a, &a_names));
    DG_TRY(prepare(&sides[1], call, b, out_b, &b_names));
    DG_TRY(check_pair_apart(sides, a, out_a, b, out_b));
    DG_TRY(finish(call, &sides[0], launch));
    return finish(call, &sides[1], launch);
}

dg_status_t dg_scale_transform_pair(dg_context_t *ctx, const dg_scale_transform_args_t *a,
    const dg_tensor_t *out_a, const dg_scale_transform_args_t *b, const dg_tensor_t *out_b,
    const dg_launch_t *launch) {
    dg_call_t call;
    dg_transform_side_t sides[2] = {{.rank = 0}, {.rank = 0}};
    DG_TRY(dg_begin_call(&call, "dg_scale_transform_pair", ctx));
    const dg_status_t status = transform_two(&call, sides, a, out_a, b, out_b, launch);
    dg_release_copy(&sides[0].prepared);
    dg_release_copy(&sides[1].prepared);
    return dg_end_call(&call, status);
}
