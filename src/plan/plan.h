/* SPDX-License-Identifier: MIT
 *
 * The planner: work + machine + options -> plan. Pure functions that need no GPU. Each kernel has a
 * file of its own that says which work it can do, which catalogue entry serves it best and what
 * that is predicted to cost; plan.c asks them all and takes the cheapest.
 */
#ifndef DG_PLAN_PLAN_H
#define DG_PLAN_PLAN_H

#include "plan/kernel.h"
#include "plan/machine.h"
#include "plan/work.h"

typedef struct dg_plan_options_t {
    int32_t num_sms;                            /* 0: all */
    int32_t block_m_multiple, block_n_multiple; /* of the tile's extents; 0 or 1: any */
    bool batch_invariant;            /* bits of a row must not depend on m or on other rows */
    const dg_specialisation_t *only; /* NULL: the whole catalogue; else this candidate alone */
} dg_plan_options_t;

#define DG_MAX_STAGES 4

/* One launch of a plan. */
typedef struct dg_plan_stage_t {
    dg_specialisation_t specialisation;
    uint32_t grid, threads, cluster, shared_bytes;
} dg_plan_stage_t;

typedef struct dg_plan_t {
    int32_t kernel;      /* DG_KERNEL_*, the last stage's: names who runs the plan */
    int32_t stage_count; /* helpers first, the kernel itself last */
    dg_plan_stage_t stage[DG_MAX_STAGES];
    int32_t block_m, block_n, splits, band; /* the kernel's tile, parts of k, raster */
    float us;                               /* predicted time */
    int32_t reserved;                       /* plans are compared and copied as words */
    uint64_t workspace;                     /* bytes */
    const char
        *refusal; /* a kernel's file that offers nothing says why, in static text; else NULL */
} dg_plan_t;

/* Finds the cheapest plan. UNSUPPORTED if no kernel can do the work on this machine. */
dg_status_t dg_make_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan);

/* What each kernel's file offers: the best plan that kernel has; false if it cannot do the work, with
 * plan->refusal set. `plan` comes zeroed. Called for machines of every architecture. */
typedef bool dg_plan_kernel_fn(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan);
dg_plan_kernel_fn dg_plan_any_gemm;
dg_plan_kernel_fn dg_plan_sm90_fp8_gemm_block;
dg_plan_kernel_fn dg_plan_sm90_fp8_gemm_swap;
dg_plan_kernel_fn dg_plan_sm90_fp8_gemm_vector;
dg_plan_kernel_fn dg_plan_sm90_bf16_gemm;
dg_plan_kernel_fn dg_plan_sm90_bf16_gemm_swap;

/* The planning function of a kernel; NULL for a helper, which has none, and for a kernel that does not
 * run on the machine. */
dg_plan_kernel_fn *dg_kernel_planner(int32_t kernel, const dg_machine_t *machine);

#endif
