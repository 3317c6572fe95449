/* SPDX-License-Identifier: MIT
 *
 * See candidates.h. For each candidate in turn: one call whose result is compared, a first reading;
 * then rounds over those that are near the fastest, so that a clock which drifts meets all alike.
 */
#include "candidates.h"

#include <stdio.h>
#include <string.h>

#include "gpu_sample.h"

#define NEAR 1.3      /* times the fastest first reading: measured in all rounds */
#define DISAGREE 1e-4 /* two orders of adding differ by less */

static bool ok(dg_status_t status) {
    return status == DG_STATUS_OK;
}

static dg_status_t run_nothing(void *self) {
    (void)self;
    return DG_STATUS_OK;
}

bool cli_measurer_open(cli_measurer_t *self, int32_t device, int64_t rounds, int64_t calls,
    size_t flush_bytes, double *empty_us) {
    const dg_device_t gpu = {DG_DEVICE_CUDA, device};
    dg_device_info_t info = DG_DEVICE_INFO_INIT;
    *self = (cli_measurer_t){.rounds = rounds, .calls = calls};
    self->operands.device = gpu;
    if (!ok(dg_context_create(&self->ctx, NULL)) || !ok(dg_device_get_info(gpu, &info)) ||
        !cli_gpu_timer_open(&self->timer, gpu, flush_bytes))
        return false;
    memcpy(self->name, info.name, sizeof self->name);
    return cli_gpu_time(&self->timer, run_nothing, NULL, CLI_GPU_MAX_CALLS, 0, empty_us);
}

void cli_measurer_close(cli_measurer_t *self) {
    cli_gpu_release(&self->operands);
    cli_gpu_timer_close(&self->timer);
    (void)dg_device_free(self->operands.device, self->workspace);
    (void)dg_context_destroy(self->ctx);
}

static void collect(void *user, const dg_plan_candidate_t *candidate) {
    cli_candidates_t *found = user;
    if (candidate->specialisation == NULL || candidate->refusal != NULL) return;
    if (found->count == CLI_MAX_CANDIDATES) return;
    cli_candidate_t *one = &found->items[found->count++];
    *one = (cli_candidate_t){.predicted_us = candidate->us};
    snprintf(one->specialisation, sizeof one->specialisation, "%s", candidate->specialisation);
    snprintf(one->kernel, sizeof one->kernel, "%s", candidate->kernel);
}

/* The candidates, and which of them the planner takes. */
static bool find_candidates(
    const cli_plan_arguments_t *arguments, const char *only, cli_candidates_t *found) {
    dg_plan_query_t query = DG_PLAN_QUERY_INIT;
    dg_plan_info_t info = DG_PLAN_INFO_INIT;
    query.only = only;
    query.candidate = collect;
    query.user = found;
    if (!ok(cli_plan_arguments(NULL, arguments, &query, &info))) return false;
    query.candidate = NULL;
    for (size_t i = 0; i < found->count; i++) {
        cli_candidate_t *one = &found->items[i];
        dg_plan_info_t own = DG_PLAN_INFO_INIT;
        query.only = one->specialisation;
        if (!ok(cli_plan_arguments(NULL, arguments, &query, &own))) return false;
        const dg_plan_stage_info_t *last = &own.stage[own.stage_count - 1];
        one->grid = last->grid;
        one->cluster = last->cluster;
        one->launches = own.stage_count;
        one->block_m = own.block_m;
        one->block_n = own.block_n;
        const char *chosen = info.stage[info.stage_count - 1].specialisation;
        if (strcmp(one->specialisation, chosen) == 0) found->chosen = i;
    }
    return true;
}

/* A call with its candidate, as the timer runs it. */
typedef struct call_t {
    dg_context_t *ctx;
    const cli_plan_arguments_t *arguments;
    dg_launch_t launch;
} call_t;

static dg_status_t run_call(void *self) {
    const call_t *call = self;
    return cli_gpu_call(call->ctx, call->arguments, &call->launch);
}

/* Makes the calls of the context run `one` alone, with workspace enough. */
static bool prepare_call(cli_measurer_t *self, const cli_plan_arguments_t *arguments,
    const cli_candidate_t *one, call_t *call) {
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    size_t bytes = 0;
    options.only = one->specialisation;
    if (!ok(dg_context_set_options(self->ctx, &options)) ||
        !ok(cli_gpu_workspace(self->ctx, arguments, &bytes)))
        return false;
    if (bytes > self->workspace_bytes) {
        if (!ok(dg_device_free(self->operands.device, self->workspace))) return false;
        self->workspace = NULL;
        self->workspace_bytes = 0;
        if (!ok(dg_device_alloc(self->operands.device, bytes, &self->workspace))) return false;
        self->workspace_bytes = bytes;
    }
    *call = (call_t){self->ctx, arguments, DG_LAUNCH_INIT};
    call->launch.stream = self->timer.stream;
    call->launch.workspace = self->workspace;
    call->launch.workspace_size = self->workspace_bytes;
    return true;
}

/* A GPU that was busy for some time rests twice as long, 30 ms at the most. */
static double rest_seconds(const cli_measurer_t *self, double us) {
    const double busy = (double)self->calls * (us + 150) * 1e-6;
    return busy < .015 ? 2 * busy : .03;
}

/* The result and a first reading of each candidate. */
static bool read_once(
    cli_measurer_t *self, const cli_plan_arguments_t *arguments, cli_candidates_t *found) {
    static cli_gpu_sample_t first, other; /* large, and the program has one thread */
    const dg_dtype_t dtype = arguments->shape.out == CLI_OUT_F32 ? DG_DTYPE_F32 : DG_DTYPE_BF16;
    for (size_t i = 0; i < found->count; i++) {
        cli_candidate_t *one = &found->items[i];
        cli_gpu_sample_t *sample = i == 0 ? &first : &other;
        call_t call;
        if (!prepare_call(self, arguments, one, &call) || !cli_gpu_clear(&self->operands) ||
            !ok(run_call(&call)) ||
            !ok(dg_stream_synchronize(self->timer.device, self->timer.stream)) ||
            !cli_gpu_take_sample(&self->operands, arguments, sample) ||
            !cli_gpu_time(&self->timer, run_call, &call, 3, 0, &one->us))
            return false;
        one->differs = i == 0 ? 0 : cli_gpu_compare(&first, &other, dtype);
        if (!(one->differs <= DISAGREE)) found->disagree = true;
    }
    return true;
}

static bool read_rounds(
    cli_measurer_t *self, const cli_plan_arguments_t *arguments, cli_candidates_t *found) {
    static double times[CLI_MAX_CANDIDATES][CLI_MAX_ROUNDS];
    double least = found->items[0].us;
    for (size_t i = 1; i < found->count; i++)
        if (found->items[i].us < least) least = found->items[i].us;
    for (int64_t round = 0; round < self->rounds; round++) {
        for (size_t i = 0; i < found->count; i++) {
            cli_candidate_t *one = &found->items[i];
            call_t call;
            if (one->us > least * NEAR && i != found->chosen) continue;
            if (!prepare_call(self, arguments, one, &call) ||
                !cli_gpu_time(&self->timer, run_call, &call, self->calls,
                    rest_seconds(self, one->us), &times[i][round]))
                return false;
            one->rounds = round + 1;
        }
    }
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].rounds > 0)
            found->items[i].us = cli_median(times[i], found->items[i].rounds);
    return true;
}

cli_measured_t cli_measure_candidates(cli_measurer_t *self, const cli_shape_t *shape,
    const char *only, cli_candidates_t *found, char *error) {
    static cli_plan_arguments_t arguments;
    *found = (cli_candidates_t){.count = 0};
    if (!cli_make_plan_arguments(shape, &arguments, error)) return CLI_MEASURED_NOT_SHAPE;
    found->shape = arguments.shape;
    found->flop = arguments.flop;
    bool good =
        cli_gpu_place(&self->operands, &arguments) && find_candidates(&arguments, only, found);
    if (good && found->count == 0) {
        snprintf(error, CLI_TEXT, "the product has no elements: nothing to time");
        return CLI_MEASURED_REFUSED;
    }
    good = good && read_once(self, &arguments, found) && read_rounds(self, &arguments, found);
    if (!good) {
        snprintf(error, CLI_TEXT, "%.310s", dg_last_error());
        return ok(dg_device_synchronize(self->operands.device)) ? CLI_MEASURED_REFUSED
                                                                : CLI_MEASURED_GPU_FAILED;
    }
    found->best = found->chosen;
    for (size_t i = 0; i < found->count; i++)
        if (found->items[i].us < found->items[found->best].us) found->best = i;
    found->loss = found->items[found->chosen].us / found->items[found->best].us - 1;
    return CLI_MEASURED;
}
