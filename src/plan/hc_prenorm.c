/* SPDX-License-Identifier: MIT
 *
 * See hc_prenorm.h. Where the caller leaves it open k is split so that CTAs fill the GPU: tiles of
 * 64 rows alone are too few, and a few rows of long k are a single one. The slices are then added
 * up by a second kernel.
 */
#include "plan/hc_prenorm.h"

#include "base/integer.h"
#include "plan/cost.h"

enum {
    CTAS_PER_SM = 3,       /* that shared memory has room for */
    LEAST_BLOCKS = 4,      /* of k in a split: shorter ones would not fill their stages */
    INVARIANT_BLOCKS = 16, /* of k in a split that must not depend on m */
    SUM_THREADS = 256,
    SUM_CTAS_PER_SM = 8,
    SLICE_ALIGNMENT = 64 /* values */
};

static int64_t smaller(int64_t a, int64_t b) {
    return a < b ? a : b;
}

/* Few columns are the usual case; the wider tile serves more. Entries of kernels/catalogue.txt. */
static dg_specialisation_t specialise(int64_t n) {
    return (dg_specialisation_t){
        .kernel = DG_KERNEL_ANY_TF32_HC_PRENORM_GEMM, .values = {n <= 24 ? 24 : 32, 4}};
}

static int64_t count_tiles(const dg_hc_prenorm_problem_t *problem, int64_t block_n) {
    const int64_t columns = problem->n > 0 ? dg_ceil_div(problem->n, block_n) : 1;
    return dg_ceil_div(problem->m, DG_HC_PRENORM_BLOCK_M) * columns;
}

static int64_t choose_splits(const dg_hc_prenorm_problem_t *problem, int64_t tiles, int64_t ctas,
    const dg_plan_options_t *options) {
    const int64_t blocks = dg_ceil_div(problem->k, DG_HC_PRENORM_BLOCK_K);
    if (problem->sliced) return problem->splits;
    const int64_t wanted = options->batch_invariant ? blocks / INVARIANT_BLOCKS
                                                    : smaller(ctas / tiles, blocks / LEAST_BLOCKS);
    return wanted < 1 ? 1 : wanted;
}

void dg_plan_hc_prenorm(const dg_hc_prenorm_problem_t *problem, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_hc_prenorm_plan_t *plan) {
    const dg_specialisation_t kernel = specialise(problem->n);
    const int64_t tiles = count_tiles(problem, kernel.values[0]);
    const int32_t sms = dg_usable_ctas(machine, options, 1);
    const int64_t splits = choose_splits(problem, tiles, sms * CTAS_PER_SM, options);
    *plan = (dg_hc_prenorm_plan_t){.splits = splits};
    plan->product = (dg_plan_stage_t){
        .specialisation = kernel,
        .grid = dg_unit_grid((double)tiles * (double)splits, INT32_MAX),
        .threads = DG_HC_PRENORM_THREADS,
        .cluster = 1,
        .shared_bytes = (uint32_t)DG_HC_PRENORM_SHARED_BYTES(kernel.values[0], kernel.values[1]),
    };
    plan->product_args = (dg_any_tf32_hc_prenorm_gemm_args_t){
        .a = problem->a,
        .b = problem->b,
        .d = problem->d,
        .sqr_sum = problem->sqr_sum,
        .m = problem->m,
        .n = problem->n,
        .k = problem->k,
        .splits = splits,
        .a_stride = problem->a_stride,
        .b_stride = problem->b_stride,
        .d_stride = problem->d_stride,
        .d_split_stride = problem->d_split_stride,
        .sqr_sum_split_stride = problem->sqr_sum_split_stride,
    };
    if (problem->sliced || splits == 1) return;
    const int64_t slices =
        dg_ceil_div(splits * problem->m * problem->n, SLICE_ALIGNMENT) * SLICE_ALIGNMENT;
    plan->workspace = (uint64_t)(slices + splits * problem->m) * sizeof(float);
    plan->sum = (dg_plan_stage_t){
        .specialisation = {.kernel = DG_KERNEL_ANY_SUM_SLICES, .values = {SUM_THREADS}},
        .grid = dg_unit_grid(
            (double)problem->m * (double)(problem->n + 1) / SUM_THREADS + 1, sms * SUM_CTAS_PER_SM),
        .threads = SUM_THREADS,
        .cluster = 1,
    };
    plan->sum_args = (dg_any_sum_slices_args_t){
        .d = problem->d,
        .sqr_sum = problem->sqr_sum,
        .m = problem->m,
        .n = problem->n,
        .splits = splits,
        .d_stride = problem->d_stride,
    };
}

void dg_place_hc_slices(dg_hc_prenorm_plan_t *plan, void *workspace) {
    if (plan->workspace == 0) return;
    dg_any_tf32_hc_prenorm_gemm_args_t *product = &plan->product_args;
    product->d = workspace;
    product->sqr_sum =
        (float *)workspace + plan->workspace / sizeof(float) - plan->splits * product->m;
    product->d_stride = product->n;
    product->d_split_stride = product->m * product->n;
    product->sqr_sum_split_stride = product->m;
    plan->sum_args.d_slices = product->d;
    plan->sum_args.sqr_sum_slices = product->sqr_sum;
}
