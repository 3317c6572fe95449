/* SPDX-License-Identifier: MIT
 *
 * dg_compile_kernels: names to specialisations, then jit/batch.c. See deep_gemm/kernels.h.
 */
#include <stdlib.h>
#include <string.h>

#include "api/context.h"
#include "base/error.h"
#include "deep_gemm/kernels.h"
#include "jit/jit.h"
#include "plan/plan.h"

enum { HOPPER = 90 };

typedef struct reporter_t {
    const dg_compile_args_t *args;
    int32_t total;
} reporter_t;

static void report(
    void *user, int32_t done, const char *name, dg_origin_t origin, const char *error) {
    static const dg_kernel_origin_t origins[] = {
        [DG_ORIGIN_EMBEDDED] = DG_KERNEL_EMBEDDED,
        [DG_ORIGIN_CACHED] = DG_KERNEL_CACHED,
        [DG_ORIGIN_COMPILED] = DG_KERNEL_COMPILED,
    };
    const reporter_t *reporter = user;
    reporter->args->progress(
        reporter->args->user, done, reporter->total, name, origins[origin], error);
}

/* The catalogue's kernels that an architecture can run; count alone if `list` is NULL. */
static int32_t list_catalogue(int32_t architecture, dg_specialisation_t *list) {
    int32_t count = 0;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        const int32_t needs = dg_find_kernel(id)->architecture;
        const dg_specialisation_t *entry;
        if (needs != 0 && needs != architecture) continue;
        for (int32_t i = 0; (entry = dg_catalogue_entry(id, i)) != NULL; i++) {
            if (list != NULL) list[count] = *entry;
            count++;
        }
    }
    return count;
}

static dg_status_t read_names(const dg_compile_args_t *args, dg_specialisation_t *list) {
    for (int32_t i = 0; i < args->count; i++) {
        DG_REQUIRE(args->kernels[i] != NULL, DG_STATUS_NULL_POINTER, "args", ".kernels",
            "entry %d is NULL, expected a kernel's name", i);
        DG_TRY(dg_parse_specialisation(args->kernels[i], &list[i]));
    }
    return DG_STATUS_OK;
}

static dg_status_t check_numbers(const dg_compile_args_t *args) {
    DG_REQUIRE(args->count >= 0 && (args->kernels != NULL || args->count == 0), DG_STATUS_BAD_VALUE,
        "args", ".count",
        "%d with kernels %p, expected the number of names; leave both 0 for the catalogue",
        args->count, (const void *)args->kernels);
    DG_REQUIRE(args->architecture == 0 || (args->architecture >= 80 && args->architecture < 1000),
        DG_STATUS_BAD_VALUE, "args", ".architecture",
        "%d, expected a compute capability without its point, from 80 on, such as 90",
        args->architecture);
    DG_REQUIRE(args->num_threads >= 0, DG_STATUS_BAD_VALUE, "args", ".num_threads",
        "%d, expected 0 or more", args->num_threads);
    return DG_STATUS_OK;
}

static dg_status_t compile(const dg_call_t *call, const dg_compile_args_t *args) {
    DG_TRY(dg_check_args(args, sizeof *args, "args", "dg_compile_args_t"));
    DG_TRY(check_numbers(args));
    const int32_t architecture = args->architecture != 0 ? args->architecture : HOPPER;
    const int32_t count = args->kernels != NULL ? args->count : list_catalogue(architecture, NULL);
    dg_specialisation_t *list = calloc((size_t)count + 1, sizeof *list);
    DG_REQUIRE(list != NULL, DG_STATUS_OUT_OF_MEMORY, "args", "",
        "no memory for a list of %d kernels; free some", count);
    dg_status_t status = DG_STATUS_OK;
    if (args->kernels == NULL) {
        list_catalogue(architecture, list);
    } else {
        status = read_names(args, list);
    }
    reporter_t reporter = {args, count};
    const dg_jit_batch_t batch = {.specialisations = list,
        .count = count,
        .architecture = architecture,
        .threads = args->num_threads != 0 ? args->num_threads : call->options.num_threads,
        .again = args->again != 0,
        .progress = args->progress != NULL ? report : NULL,
        .user = &reporter};
    if (status == DG_STATUS_OK) status = dg_jit_compile_batch(&batch);
    free(list);
    return status;
}

dg_status_t dg_compile_kernels(dg_context_t *ctx, const dg_compile_args_t *args) {
    dg_call_t call;
    DG_TRY(dg_begin_call(&call, "dg_compile_kernels", ctx));
    return dg_end_call(&call, compile(&call, args));
}
