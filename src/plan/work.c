/* SPDX-License-Identifier: MIT
 *
 * From checked problems to dg_work_t: what of a call decides its plan. See work.h. Called by
 * src/api before planning; a few dozen instructions, since it stands in the path of every GPU call.
 */
#include "plan/work.h"

#include <string.h>

#include "base/integer.h"
#include "model/groups.h"
#include "model/tensor.h"

#define MAX_ALIGNMENT UINT64_C(128)
#define MAX_TMA_STRIDE (INT64_C(1) << 40)

/* Collects what an alignment has to divide: bits[0..6] that are zero in all of it. */
typedef struct alignment_t {
    uint64_t bits;
} alignment_t;

static void add_address(alignment_t *alignment, const void *address) {
    alignment->bits |= (uint64_t)(uintptr_t)address;
}

/* A stride of `bytes` along an axis of `extent`. */
static void add_stride(alignment_t *alignment, int64_t extent, int64_t bytes) {
    if (extent <= 1) return;
    alignment->bits |= bytes > 0 && bytes < MAX_TMA_STRIDE ? (uint64_t)bytes : 1;
}

static uint8_t largest(const alignment_t *alignment) {
    const uint64_t bits = alignment->bits | MAX_ALIGNMENT;
    return (uint8_t)(bits & (~bits + 1));
}

/* Strides of E2M1X2 count codes, two a byte. */
static int64_t side_bytes(dg_dtype_t dtype, int64_t values) {
    if (dtype == DG_DTYPE_E2M1X2) return values / 2;
    return values * dg_dtype_size(dtype);
}

/* Whether the axis with stride x, of count_x, is to be called the contiguous one rather than y: an
 * axis of extent 1 has any stride, so the other one decides where it is more than that. */
static bool is_contiguous(int64_t stride_x, int64_t count_x, int64_t stride_y, int64_t count_y) {
    if (stride_x != 1 && count_x > 1) return false;
    return count_x > 1 || stride_y != 1 || count_y <= 1;
}

/* factors: [groups, mn / gran_mn, count_k] */
static void fill_scale(
    const dg_factors_t *factors, int64_t groups, int64_t mn, dg_work_side_t *work) {
    if (factors->data == NULL && factors->dtype == DG_DTYPE_NONE) return;
    const int64_t count_mn = factors->gran_mn > 0 ? dg_ceil_div(mn, factors->gran_mn) : mn;
    const int64_t count_k = factors->count_k, bytes = dg_dtype_size(factors->dtype);
    const int64_t mn_stride = factors->mn_stride, k_stride = factors->k_stride;
    alignment_t alignment = {0};
    work->scale_dtype = (uint8_t)factors->dtype;
    work->gran_mn = factors->gran_mn;
    work->gran_k = factors->gran_k;
    if (is_contiguous(mn_stride, count_mn, k_stride, count_k))
        work->scale_mn_contiguous = 1;
    else
        work->scale_mn_contiguous = k_stride == 1 || count_k <= 1 ? 0 : 2;
    add_address(&alignment, factors->data);
    add_stride(&alignment, groups, factors->group_stride * bytes);
    if (work->scale_mn_contiguous != 1) add_stride(&alignment, count_mn, mn_stride * bytes);
    if (work->scale_mn_contiguous != 0) add_stride(&alignment, count_k, k_stride * bytes);
    work->scale_alignment = largest(&alignment);
}

/* side: [groups, mn, k] in memory, whatever part of it the product reads */
static void fill_side(
    const dg_side_t *side, int64_t groups, int64_t mn, int64_t k, dg_work_side_t *work) {
    const dg_dtype_t dtype = side->dtype;
    alignment_t alignment = {0};
    work->dtype = (uint8_t)dtype;
    work->k_contiguous = is_contiguous(side->k_stride, k, side->mn_stride, mn);
    add_address(&alignment, side->data);
    add_stride(&alignment, groups, side_bytes(dtype, side->group_stride));
    if (work->k_contiguous)
        add_stride(&alignment, mn, side_bytes(dtype, side->mn_stride));
    else
        add_stride(&alignment, k, side_bytes(dtype, side->k_stride));
    work->alignment = largest(&alignment);
    fill_scale(&side->scale, groups, mn, work);
}

/* out: [groups, m, n]; addresses are added by the caller if d is a list */
static void fill_output(const dg_output_t *out, int64_t groups, int64_t m, bool accumulates,
    alignment_t d, alignment_t c, dg_work_t *work) {
    const int64_t bytes = dg_dtype_size(out->dtype);
    work->out_dtype = (uint8_t)out->dtype;
    work->accumulates = accumulates;
    add_address(&d, out->d);
    add_stride(&d, groups, out->group_stride * bytes);
    add_stride(&d, m, out->row_stride * bytes);
    work->d_alignment = largest(&d);
    if (!accumulates) return;
    add_address(&c, out->c);
    add_stride(&c, groups, out->c_group_stride * bytes);
    add_stride(&c, m, out->c_row_stride * bytes);
    work->c_alignment = largest(&c);
}

void dg_gemm_work(const dg_gemm_problem_t *problem, dg_work_t *work) {
    memset(work, 0, sizeof *work);
    work->family = DG_FAMILY_GEMM;
    work->group_count = 1;
    work->m = problem->m;
    work->n = problem->n;
    work->k = problem->k;
    fill_side(&problem->a, 1, problem->m, problem->k, &work->a);
    fill_side(&problem->b, 1, problem->n, problem->k, &work->b);
    fill_output(&problem->out, 1, problem->m, problem->out.c != NULL, (alignment_t){0},
        (alignment_t){0}, work);
}

static int32_t group_alignment(const dg_groups_t *groups) {
    const bool aligned = groups->form == DG_GROUPS_PSUM || groups->form == DG_GROUPS_BLOCK_INDEX;
    return aligned ? groups->alignment : 0;
}

void dg_m_grouped_gemm_work(const dg_m_grouped_problem_t *problem, dg_work_t *work) {
    const bool gathered = dg_tensor_given(&problem->a_rows);
    const int64_t matrices = problem->groups.form == DG_GROUPS_MASKED ? problem->group_count : 1;
    memset(work, 0, sizeof *work);
    work->family = DG_FAMILY_M_GROUPED_GEMM;
    work->group_count = (int32_t)problem->group_count;
    work->m = problem->rows;
    work->n = problem->n;
    work->k = problem->k;
    work->expected_m = problem->expected_m;
    work->group_form = (uint8_t)problem->groups.form;
    work->group_alignment = group_alignment(&problem->groups);
    work->zero_padding =
        problem->groups.form == DG_GROUPS_PSUM && problem->zero_padding; /* no meaning elsewhere */
    work->aligned_groups =
        problem->groups.form == DG_GROUPS_MASKED && dg_groups_are_equal(&problem->groups);
    fill_side(&problem->a, matrices, gathered ? problem->a.gather_extent : problem->rows,
        problem->k, &work->a);
    fill_side(&problem->b, problem->group_count, problem->n, problem->k, &work->b);
    work->a.gathered = gathered;
    fill_output(&problem->out, matrices, problem->rows, problem->out.c != NULL, (alignment_t){0},
        (alignment_t){0}, work);
}

/* Whether the host knows sizes that are all multiples of 16. */
static bool known_multiples(const dg_groups_t *groups, int64_t tokens) {
    if (dg_groups_are_equal(groups)) return dg_equal_size(groups, tokens) % 16 == 0;
    if (groups->form != DG_GROUPS_SIZES || groups->host_sizes == NULL) return false;
    uint64_t bits = 0;
    for (int64_t g = 0; g < groups->host_count; g++) bits |= (uint64_t)groups->host_sizes[g];
    return bits % 16 == 0;
}

static void fill_k_side(const dg_k_side_t *side, int64_t mn, int64_t tokens, dg_work_side_t *work) {
    const bool gathered = dg_tensor_given(&side->rows);
    if (side->flat) {
        alignment_t alignment = {0};
        add_address(&alignment, side->side.data);
        work->dtype = (uint8_t)side->side.dtype;
        work->k_contiguous = 1;
        work->flat = 1;
        work->alignment = largest(&alignment);
        fill_scale(&side->side.scale, 1, mn, work);
        return;
    }
    fill_side(&side->side, 1, mn, gathered ? side->side.gather_extent : tokens, work);
    work->gathered = gathered;
}

void dg_k_grouped_gemm_work(const dg_k_grouped_problem_t *problem, dg_work_t *work) {
    alignment_t d = {0}, c = {0};
    memset(work, 0, sizeof *work);
    work->family = DG_FAMILY_K_GROUPED_GEMM;
    work->group_count = (int32_t)problem->group_count;
    work->m = problem->m;
    work->n = problem->n;
    work->k = problem->tokens;
    work->group_form = (uint8_t)problem->groups.form;
    work->group_alignment = group_alignment(&problem->groups);
    work->k_output = (uint8_t)(problem->d_list != NULL ? DG_K_OUTPUT_LIST
                               : problem->sum          ? DG_K_OUTPUT_SUM
                                                       : DG_K_OUTPUT_STACK);
    work->aligned_groups = known_multiples(&problem->groups, problem->tokens);
    fill_k_side(&problem->a, problem->m, problem->tokens, &work->a);
    fill_k_side(&problem->b, problem->n, problem->tokens, &work->b);
    for (int64_t g = 0; problem->d_list != NULL && g < problem->group_count; g++) {
        add_address(&d, problem->d_list[g]);
        if (problem->c_list != NULL) add_address(&c, problem->c_list[g]);
    }
    const int64_t stacked = work->k_output == DG_K_OUTPUT_STACK ? problem->group_count : 1;
    fill_output(&problem->out, stacked, problem->m,
        problem->out.c != NULL || problem->c_list != NULL, d, c, work);
}
