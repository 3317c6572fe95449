/* SPDX-License-Identifier: MIT
 *
 * Random works, machines and options for the planner's tests: any facts that src/plan/work.c can
 * report, the usual ones more often than the strange ones. Seeded, so that a failure repeats.
 */
#ifndef DG_TESTS_PLAN_RANDOM_WORK_H
#define DG_TESTS_PLAN_RANDOM_WORK_H

#include "plan/plan.h"

typedef struct dg_random_t {
    uint64_t state;
} dg_random_t;

/* A number in [low, high]. */
int64_t dg_draw(dg_random_t *random, int64_t low, int64_t high);

/* An extent from 1 to `high`, with powers of two and their neighbours among them. */
int64_t dg_draw_extent(dg_random_t *random, int64_t high);

/* Any work. */
dg_work_t dg_draw_work(dg_random_t *random);

/* The work that sm90_fp8_gemm_block is made for. */
dg_work_t dg_block_work(int64_t m, int64_t n, int64_t k);

/* A row of the table of machines. */
const dg_machine_t *dg_draw_machine(dg_random_t *random);

/* Options, often the plain ones. */
dg_plan_options_t dg_draw_options(dg_random_t *random);

#endif
