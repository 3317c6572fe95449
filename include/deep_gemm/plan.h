/* SPDX-License-Identifier: MIT
 *
 * Plans: which kernel a GPU call would run, with which tile, and how long that should take. Nothing
 * here needs a GPU: a machine can be named, and tensors need no memory behind them.
 *
 *     dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
 *     args.a.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 4096, 7168);
 *     args.b.data = dg_tensor_2d(NULL, DG_DTYPE_BF16, 2048, 7168);
 *     args.d = dg_tensor_2d(NULL, DG_DTYPE_BF16, 4096, 2048);
 *     dg_plan_query_t query = DG_PLAN_QUERY_INIT;
 *     query.machine = "H200";
 *     dg_plan_info_t info = DG_PLAN_INFO_INIT;
 *     if (dg_gemm_plan(NULL, &args, &query, &info) == DG_STATUS_OK)
 *         printf("%s: %.1f us\n", info.kernel, info.us);
 *
 * A plan is a function of the call's extents, types, layouts and alignments, of the machine, and of
 * the context's num_sms, block multiples and batch_invariant. It decides speed alone: whatever kernel
 * runs, the result is the one that gemm.h and grouped.h describe. docs/planning.md tells how a plan
 * is found; `deepgemm plan` is the same on the command line.
 */
#ifndef DEEP_GEMM_PLAN_H
#define DEEP_GEMM_PLAN_H

#include "deep_gemm/grouped.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Launches of one plan, and bytes of a specialisation's text, at the most. */
#define DG_PLAN_MAX_STAGES 4
#define DG_PLAN_TEXT 768

/* A kernel that was looked at for the call, with its prediction or what speaks against it. */
typedef struct dg_plan_candidate_t {
    const char *kernel;         /* "sm90_fp8_gemm_block"; static */
    const char *specialisation; /* as in dg_plan_stage_info_t; NULL: the kernel as a whole */
    double us;                  /* predicted time; 0 if it is refused */
    const char *refusal;        /* NULL, or what the kernel asks for; static */
} dg_plan_candidate_t;

/* Told each candidate, in the order in which they are looked at; texts are valid meanwhile. */
typedef void (*dg_plan_candidate_fn)(void *user, const dg_plan_candidate_t *candidate);

/* What is asked beside the call itself. */
typedef struct dg_plan_query_t {
    size_t struct_size;             /* sizeof(dg_plan_query_t), set by DG_PLAN_QUERY_INIT */
    const char *machine;            /* "H200", or "NVIDIA H200" as a driver says it; see
                                     * dg_plan_machine. NULL: the GPU that d lies on, or else that of
                                     * the context's options */
    const char *only;               /* plan with this specialisation alone, in the catalogue or not;
                                     * NULL: choose */
    dg_plan_candidate_fn candidate; /* NULL: not wanted */
    void *user;                     /* first argument of candidate */
} dg_plan_query_t;

#define DG_PLAN_QUERY_INIT                                                                         \
    { sizeof(dg_plan_query_t), 0, 0, 0, 0 }

/* One launch. */
typedef struct dg_plan_stage_info_t {
    const char *kernel;                /* static; a profiler shows it with "dg_" in front */
    char specialisation[DG_PLAN_TEXT]; /* "sm90_fp8_gemm_block BLOCK_M=256 BLOCK_N=128 ...": what
                                        * dg_plan_query_t.only takes and caches are keyed by */
    int32_t grid, threads;             /* CTAs, threads of each */
    int32_t cluster;                   /* CTAs of a cluster, 1 or 2 */
    int32_t shared_bytes;              /* dynamic shared memory of a CTA */
} dg_plan_stage_info_t;

typedef struct dg_plan_info_t {
    size_t struct_size;  /* sizeof(dg_plan_info_t), set by DG_PLAN_INFO_INIT */
    const char *machine; /* whose plan it is; static, or the device's own name */
    const char *kernel;  /* the kernel that multiplies: the last stage's; NULL: nothing is
                               * launched, because d has no elements */
    int32_t stage_count; /* helpers of grouped calls come first */
    dg_plan_stage_info_t stage[DG_PLAN_MAX_STAGES];
    int32_t block_m, block_n; /* tile of d that a CTA computes at a time */
    int32_t splits;           /* parts into which k is cut, added up in a fixed order */
    size_t workspace;         /* bytes, as the family's _workspace function says */
    double us;                /* predicted time of all stages with a cold cache, launch included */
    double runner_up_us;      /* of the best other candidate; 0: there is none */
    char runner_up[DG_PLAN_TEXT]; /* its specialisation; "" */
} dg_plan_info_t;

#define DG_PLAN_INFO_INIT                                                                          \
    { sizeof(dg_plan_info_t), 0, 0, 0, {{0, "", 0, 0, 0, 0}}, 0, 0, 0, 0, 0, 0, "" }

/* The plan of a call. `args` as for the call itself, but any tensor may have NULL data, which counts
 * as perfectly aligned, and so may d_list; the tensors' devices do not matter once the query names a
 * machine. query NULL: as DG_PLAN_QUERY_INIT.
 *
 * Errors: those of the call for such arguments; NULL_POINTER (info); BAD_STRUCT_SIZE; BAD_VALUE (no
 * such machine, no such specialisation); BAD_DEVICE (no machine is named and there is no GPU);
 * UNSUPPORTED (no kernel does this on that machine: the message has each kernel's reason). */
DG_API dg_status_t dg_gemm_plan(dg_context_t *ctx, const dg_gemm_args_t *args,
    const dg_plan_query_t *query, dg_plan_info_t *info);
DG_API dg_status_t dg_m_grouped_gemm_plan(dg_context_t *ctx, const dg_m_grouped_gemm_args_t *args,
    const dg_plan_query_t *query, dg_plan_info_t *info);
DG_API dg_status_t dg_k_grouped_gemm_plan(dg_context_t *ctx, const dg_k_grouped_gemm_args_t *args,
    const dg_plan_query_t *query, dg_plan_info_t *info);

/* Calls that a program is going to make: one of the three, the others NULL. */
typedef struct dg_plan_request_t {
    const dg_gemm_args_t *gemm;
    const dg_m_grouped_gemm_args_t *m_grouped;
    const dg_k_grouped_gemm_args_t *k_grouped;
    int64_t rows_from, rows_to; /* plan for each number of rows of d (tokens, if K-grouped) from ..
                                 * to, everything else as in args: what a server that takes batches
                                 * of any size asks for. 0, 0: args as they are */
} dg_plan_request_t;

/* Told one specialisation; the text is valid meanwhile. */
typedef void (*dg_plan_visit_fn)(void *user, const char *specialisation);

/* Calls `visit` once for each specialisation that any of the requests [count] needs, helpers
 * included. Hand them to dg_compile_kernels (kernels.h) and no later call will have to wait for a
 * compiler. A plan takes about a microsecond, so a range of 100 000 sizes is no matter.
 *
 *     dg_plan_request_t request = {.gemm = &args, .rows_from = 1, .rows_to = 8192};
 *     dg_plan_enumerate(NULL, &request, 1, &query, add_to_list, &list);
 *
 * Errors: as the plan functions; BAD_VALUE (a range that is none, a request with none or several of
 * the three); OUT_OF_MEMORY. */
DG_API dg_status_t dg_plan_enumerate(dg_context_t *ctx, const dg_plan_request_t *requests,
    int32_t count, const dg_plan_query_t *query, dg_plan_visit_fn visit, void *user);

/* A GPU that can be named in a query: what the planner reckons with. */
typedef struct dg_plan_machine_t {
    size_t struct_size;   /* sizeof(dg_plan_machine_t) */
    const char *name;     /* static */
    int32_t architecture; /* compute capability without the point: 90 */
    int32_t sms;
    int32_t shared_bytes;       /* the most that a CTA can have */
    double clock_mhz;           /* with busy tensor cores */
    double memory_bytes_per_us; /* that copies reach */
} dg_plan_machine_t;

/* Machine `index` of the table; BAD_VALUE past its end. */
DG_API dg_status_t dg_plan_machine(int32_t index, dg_plan_machine_t *machine);

#ifdef __cplusplus
}
#endif
#endif
