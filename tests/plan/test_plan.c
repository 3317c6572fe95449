/* SPDX-License-Identifier: MIT
 *
 * What holds of every plan, over random works, machines and options: it is the same each time, its
 * launches fit the machine and the options, nothing beyond the documented facts decides it, and a
 * refusal says why. Plus single rules of single kernels.
 */
#include "plan/plan.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

#include "plan/cost.h"
#include "plan/sm90_fp8_gemm_block.h"
#include "random_work.h"

#define ROUNDS 20000

static void check_stage(const dg_plan_stage_t *stage, const dg_machine_t *machine, bool last,
    const dg_plan_options_t *options) {
    const dg_kernel_t *kernel = dg_find_kernel(stage->specialisation.kernel);
    const int32_t wanted = options->num_sms;
    const int32_t sms = wanted > 0 && wanted < machine->sms ? wanted : machine->sms;
    for (int32_t i = kernel->field_count; i < DG_MAX_FIELDS; i++)
        assert_int_equal(stage->specialisation.values[i], 0);
    assert_true(kernel->architecture == 0 || kernel->architecture == machine->architecture);
    const int32_t field = dg_find_field(kernel, "PER_SM", 6);
    const int32_t per_sm =
        field >= 0 && sms == machine->sms ? stage->specialisation.values[field] : 1;
    /* A CTA for each tile, whatever their number, may only be where all SMs may be used. */
    const bool persistent = stage->specialisation.kernel != DG_KERNEL_SM90_BF16_GEMM_SWAP;
    assert_true(stage->grid >= 1);
    if (last && kernel->architecture != 0 && (persistent || sms < machine->sms))
        assert_true(stage->grid <= (uint32_t)(sms * per_sm));
    assert_true(stage->threads >= 32 && stage->threads <= 1024 && stage->threads % 32 == 0);
    assert_true(stage->cluster >= 1 && stage->grid % stage->cluster == 0);
    assert_true(stage->cluster == 1 || machine->clusters_of_2 > 0);
    assert_true(stage->shared_bytes <= (uint32_t)machine->shared_bytes);
}

static void check_plan(const dg_plan_t *plan, const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options) {
    assert_true(plan->kernel >= 0 && plan->kernel < DG_KERNEL_COUNT);
    assert_true(plan->stage_count >= 1 && plan->stage_count <= DG_MAX_STAGES);
    assert_int_equal(plan->stage[plan->stage_count - 1].specialisation.kernel, plan->kernel);
    for (int32_t i = 0; i < plan->stage_count; i++)
        check_stage(&plan->stage[i], machine, i == plan->stage_count - 1, options);
    assert_null(plan->refusal);
    assert_true(plan->block_m > 0 && plan->block_n > 0 && plan->splits >= 1);
    assert_true(plan->us > machine->launch_us && plan->us < 1e12f);
    assert_true(plan->workspace < UINT64_C(1) << 40);
    if (dg_find_kernel(plan->kernel)->architecture == 0) return;
    assert_true(dg_tile_allowed(options, plan->block_m, plan->block_n));
    assert_true(!options->batch_invariant || work->family != DG_FAMILY_GEMM || plan->splits == 1);
}

static void holds_for_random_works(void **state) {
    dg_random_t random = {1};
    int found = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        const dg_work_t work = dg_draw_work(&random);
        const dg_machine_t *machine = dg_draw_machine(&random);
        const dg_plan_options_t options = dg_draw_options(&random);
        dg_plan_t plan, again;
        memset(&plan, 0xA5, sizeof plan);
        memset(&again, 0x5A, sizeof again);
        const dg_status_t status = dg_make_plan(&work, machine, &options, &plan);
        assert_int_equal(dg_make_plan(&work, machine, &options, &again), status);
        if (status != DG_STATUS_OK) {
            assert_int_equal(status, DG_STATUS_UNSUPPORTED);
            assert_non_null(strstr(dg_last_error(), "no kernel multiplies"));
            assert_non_null(strstr(dg_last_error(), machine->name));
            continue;
        }
        found++;
        assert_memory_equal(&plan, &again, sizeof plan);
        check_plan(&plan, &work, machine, &options);
    }
    assert_true(found > ROUNDS / 20);
}

/* Extents that no memory holds, as strides of 0 or arguments without memory can have: no arithmetic may
 * leave its type (the sanitizers look), and a prediction stays a number. */
static void bears_any_extents(void **state) {
    dg_random_t random = {6};
    int found = 0;
    (void)state;
    for (int round = 0; round < ROUNDS; round++) {
        dg_work_t work = dg_draw_work(&random);
        int64_t *const extents[] = {&work.m, &work.n, &work.k};
        for (int i = 0; i < 3; i++) {
            const int64_t power = INT64_C(1) << dg_draw(&random, 0, 61);
            if (dg_draw(&random, 0, 1)) *extents[i] = power + dg_draw(&random, -1, 1);
        }
        const dg_machine_t *machine = dg_draw_machine(&random);
        const dg_plan_options_t options = dg_draw_options(&random);
        dg_plan_t plan;
        const dg_status_t status = dg_make_plan(&work, machine, &options, &plan);
        assert_true(status == DG_STATUS_OK || status == DG_STATUS_UNSUPPORTED);
        if (status != DG_STATUS_OK) continue;
        assert_true(plan.us > 0 && plan.stage[0].grid > 0);
        found++;
    }
    assert_true(found > ROUNDS / 20);
}

/* With one candidate alone, that one is planned or nothing; the cheapest of all is the plan. */
static void takes_the_cheapest_candidate(void **state) {
    dg_random_t random = {2};
    (void)state;
    for (int round = 0; round < ROUNDS / 20; round++) {
        const dg_work_t work = dg_draw_work(&random);
        const dg_machine_t *machine = dg_find_machine("H200");
        dg_plan_options_t options = dg_draw_options(&random);
        dg_plan_t plan, offer;
        float best = -1;
        const dg_status_t status = dg_make_plan(&work, machine, &options, &plan);
        if (options.batch_invariant) continue; /* then the first that can do it is taken */
        /* the general kernel takes what nobody else can, even with a tile that options exclude */
        if (!dg_tile_allowed(&options, plan.block_m, plan.block_n)) continue;
        for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
            for (int32_t i = 0; (options.only = dg_catalogue_entry(id, i)); i++) {
                if (dg_make_plan(&work, machine, &options, &offer) != DG_STATUS_OK) continue;
                assert_memory_equal(&offer.stage[offer.stage_count - 1].specialisation,
                    options.only, sizeof *options.only);
                if (best < 0 || offer.us < best) best = offer.us;
            }
        }
        assert_true(best >= 0 ? status == DG_STATUS_OK : status == DG_STATUS_UNSUPPORTED);
        if (best >= 0) assert_true(best == plan.us);
    }
}

/* Batch invariance: where it is asked for, all m have the same parts of k. */
static void keeps_splits_for_all_m(void **state) {
    const dg_plan_options_t options = {.batch_invariant = true};
    const dg_machine_t *machine = dg_find_machine("H200");
    dg_random_t random = {3};
    (void)state;
    for (int round = 0; round < 200; round++) {
        dg_work_t work = dg_block_work(1, dg_draw_extent(&random, 40000) * 8, 128);
        dg_plan_t plan;
        work.k = dg_draw_extent(&random, 20000);
        int32_t splits = 0;
        for (work.m = 1; work.m < 10000; work.m = work.m * 2 + 1) {
            assert_int_equal(dg_make_plan(&work, machine, &options, &plan), DG_STATUS_OK);
            if (splits == 0) splits = plan.splits;
            assert_int_equal(plan.splits, splits);
        }
    }
}

/* The same kernel, too: kernels round differently. Rows of a back to back, aligned or not. */
static void keeps_the_kernel_for_all_m(void **state) {
    const dg_plan_options_t options = {.batch_invariant = true};
    dg_random_t random = {7};
    (void)state;
    for (int round = 0; round < 2000; round++) {
        const dg_work_t drawn = dg_draw_work(&random);
        const dg_machine_t *machine = dg_draw_machine(&random);
        dg_plan_t plan;
        int32_t kernel = -1;
        if (drawn.family != DG_FAMILY_GEMM || !drawn.a.k_contiguous || drawn.k < 2) continue;
        for (int64_t m = 1; m < 10000; m = m * 3 + 1) {
            dg_gemm_problem_t problem = {.m = m, .n = drawn.n, .k = drawn.k};
            dg_work_t work = drawn;
            problem.a = (dg_side_t){
                .dtype = (dg_dtype_t)drawn.a.dtype, .mn_stride = drawn.k, .k_stride = 1};
            dg_work_t made;
            dg_gemm_work(&problem, &made);
            work.m = m;
            work.a.alignment = made.a.alignment;
            assert_int_equal(dg_make_plan(&work, machine, &options, &plan), DG_STATUS_OK);
            if (kernel < 0) kernel = plan.kernel;
            assert_int_equal(plan.kernel, kernel);
        }
    }
}

static void refuses_with_every_reason(void **state) {
    const dg_plan_options_t plain = {0};
    dg_work_t work = dg_block_work(128, 256, 512);
    dg_plan_t plan;
    (void)state;
    assert_int_equal(dg_make_plan(&work, dg_find_machine("H200"), &plain, &plan), DG_STATUS_OK);
    work.a.gran_k = 32;
    assert_false(dg_plan_sm90_fp8_gemm_block(&work, dg_find_machine("H200"), &plain, &plan));
    assert_string_equal(plan.refusal, "a must have f32 factors 1 x 128, or none");
    work.k = 0;
    assert_false(dg_plan_sm90_fp8_gemm_block(&work, dg_find_machine("H200"), &plain, &plan));
}

/* Every n is taken, whether TMA can store it or not; what it cannot is predicted to take longer. */
static void stores_what_tma_cannot(void **state) {
    const dg_plan_options_t plain = {0};
    (void)state;
    for (int64_t n = 8; n < 300; n += 8) {
        dg_work_t work = dg_block_work(500, n, 512);
        dg_plan_t plan = {0}, ragged = {0};
        assert_true(dg_plan_sm90_fp8_gemm_block(&work, dg_find_machine("H200"), &plain, &plan));
        work.n--;
        work.d_alignment = 2;
        assert_true(dg_plan_sm90_fp8_gemm_block(&work, dg_find_machine("H200"), &plain, &ragged));
        assert_true(ragged.us > plan.us);
    }
}

/* Types, accumulation and groups choose among the candidates. */
static void finds_the_kind_of_candidate(void **state) {
    const dg_plan_options_t plain = {0};
    (void)state;
    for (int kind = 0; kind < 8; kind++) {
        dg_work_t work = dg_block_work(3000, 1000, 512);
        work.out_dtype = kind & 1 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
        work.accumulates = kind >> 1 & 1;
        work.c_alignment = work.accumulates ? 16 : 0;
        if (kind & 4) {
            work.family = DG_FAMILY_M_GROUPED_GEMM;
            work.group_form = DG_GROUPS_OFFSETS;
            work.group_count = 9;
        }
        dg_plan_t plan = {0};
        assert_true(dg_plan_sm90_fp8_gemm_block(&work, dg_find_machine("H200"), &plain, &plan));
        assert_int_equal(plan.stage_count, kind & 4 ? 2 : 1);
        const dg_sm90_fp8_gemm_block_fields_t f =
            dg_sm90_fp8_gemm_block_fields(&plan.stage[plan.stage_count - 1].specialisation);
        assert_int_equal(f.out_f32, kind & 1);
        assert_int_equal(f.add_c, kind >> 1 & 1);
        assert_int_equal(f.schedule, kind >> 2);
    }
}

static void leaves_sms_alone(void **state) {
    const dg_machine_t *machine = dg_find_machine("H200");
    const dg_work_t work = dg_block_work(4096, 7168, 2048);
    (void)state;
    for (int32_t sms = 1; sms <= 140; sms++) {
        const dg_plan_options_t options = {.num_sms = sms};
        dg_plan_t plan = {0};
        assert_true(dg_plan_sm90_fp8_gemm_block(&work, machine, &options, &plan));
        const uint32_t most = (uint32_t)(sms < 132 ? sms : 132);
        assert_in_range(plan.stage[0].grid, most - most % plan.stage[0].cluster, most);
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(holds_for_random_works),
        cmocka_unit_test(bears_any_extents),
        cmocka_unit_test(takes_the_cheapest_candidate),
        cmocka_unit_test(keeps_splits_for_all_m),
        cmocka_unit_test(keeps_the_kernel_for_all_m),
        cmocka_unit_test(refuses_with_every_reason),
        cmocka_unit_test(stores_what_tma_cannot),
        cmocka_unit_test(finds_the_kind_of_candidate),
        cmocka_unit_test(leaves_sms_alone),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
