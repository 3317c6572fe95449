/* SPDX-License-Identifier: MIT
 *
 * Public setters and getters of single settings, and the alignments. All setters go through one
 * function: a dg_context_options_t that holds the one change is merged into the context's settings,
 * with 0 replaced by the initial setting.
 */
#include "api/context.h"
#include "api/settings.h"
#include "base/error.h"
#include "cuda/device.h"

static dg_status_t merge(dg_context_options_t *settings, const void *with) {
    return dg_merge_settings(settings, with);
}

dg_status_t dg_context_set_options(dg_context_t *ctx, const dg_context_options_t *options) {
    dg_enter_function("dg_context_set_options");
    DG_TRY(dg_check_args(options, sizeof *options, "options", "dg_context_options_t"));
    return dg_update_settings(ctx, merge, options);
}

/* Refuses a value out of [1, high]; 0 stands for the initial setting. */
static dg_status_t check_range(int32_t value, int32_t high, const char *name) {
    DG_REQUIRE(value >= 0 && value <= high, DG_STATUS_BAD_VALUE, name, "",
        "%d, expected 1 to %d, or 0 for the initial setting", value, high);
    return DG_STATUS_OK;
}

static dg_status_t clear_num_sms(dg_context_options_t *settings, const void *with) {
    (void)with;
    settings->num_sms = 0;
    return DG_STATUS_OK;
}

dg_status_t dg_set_num_sms(dg_context_t *ctx, int32_t num_sms) {
    dg_enter_function("dg_set_num_sms");
    DG_TRY(check_range(num_sms, MAX_SMS, "num_sms"));
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.num_sms = num_sms;
    return dg_update_settings(ctx, num_sms == 0 ? clear_num_sms : merge, &change);
}

dg_status_t dg_set_tc_util(dg_context_t *ctx, int32_t percent) {
    dg_enter_function("dg_set_tc_util");
    DG_TRY(check_range(percent, 100, "percent"));
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.tc_util = percent == 0 ? 100 : percent;
    return dg_update_settings(ctx, merge, &change);
}

dg_status_t dg_set_pdl(dg_context_t *ctx, int32_t on) {
    dg_enter_function("dg_set_pdl");
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.pdl = on ? DG_ON : DG_OFF;
    return dg_update_settings(ctx, merge, &change);
}

dg_status_t dg_set_batch_invariant(dg_context_t *ctx, int32_t on) {
    dg_enter_function("dg_set_batch_invariant");
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.batch_invariant = on ? DG_ON : DG_OFF;
    return dg_update_settings(ctx, merge, &change);
}

dg_status_t dg_set_block_size_multiple_of(dg_context_t *ctx, int32_t block_m, int32_t block_n) {
    dg_enter_function("dg_set_block_size_multiple_of");
    DG_TRY(check_range(block_m, MAX_BLOCK_MULTIPLE, "block_m"));
    DG_TRY(check_range(block_n, MAX_BLOCK_MULTIPLE, "block_n"));
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.block_m_multiple = block_m == 0 ? 1 : block_m;
    change.block_n_multiple = block_n == 0 ? 1 : block_n;
    return dg_update_settings(ctx, merge, &change);
}

dg_status_t dg_set_mk_alignment_for_contiguous_layout(dg_context_t *ctx, int32_t alignment) {
    dg_enter_function("dg_set_mk_alignment_for_contiguous_layout");
    DG_TRY(check_range(alignment, MAX_ALIGNMENT, "alignment"));
    DG_REQUIRE((alignment & (alignment - 1)) == 0, DG_STATUS_BAD_VALUE, "alignment", "",
        "%d, expected a power of two up to %d; 128 suits most", alignment, (int)MAX_ALIGNMENT);
    dg_context_options_t change = DG_CONTEXT_OPTIONS_INIT;
    change.mk_alignment = alignment == 0 ? 128 : alignment;
    return dg_update_settings(ctx, merge, &change);
}

/* The settings in force of a context, for a getter that fills `out`, an argument called `name`. */
static dg_status_t read_settings(const char *function, const dg_context_t *ctx, const void *out,
    const char *name, dg_context_options_t *settings) {
    dg_enter_function(function);
    DG_REQUIRE(out != NULL, DG_STATUS_NULL_POINTER, name, "",
        "NULL, expected the address of an int32_t to fill");
    settings->struct_size = sizeof *settings;
    return dg_read_settings(ctx, settings);
}

/* What a GPU kernel may fill where no number was set. Opens the driver, but no context on a GPU. */
static int32_t all_sms(const dg_context_options_t *settings) {
    dg_cuda_device_t *gpu;
    dg_kept_error_t kept;
    dg_keep_error(&kept);
    if (dg_cuda_open(0, &gpu) == DG_STATUS_OK) return dg_cuda_machine(gpu)->sms;
    dg_restore_error(&kept); /* a machine without a GPU is no error */
    return settings->num_threads;
}

dg_status_t dg_get_num_sms(const dg_context_t *ctx, int32_t *num_sms) {
    dg_context_options_t settings;
    DG_TRY(read_settings("dg_get_num_sms", ctx, num_sms, "num_sms", &settings));
    *num_sms = settings.num_sms > 0 ? settings.num_sms : all_sms(&settings);
    return DG_STATUS_OK;
}

dg_status_t dg_get_tc_util(const dg_context_t *ctx, int32_t *percent) {
    dg_context_options_t settings;
    DG_TRY(read_settings("dg_get_tc_util", ctx, percent, "percent", &settings));
    *percent = settings.tc_util;
    return DG_STATUS_OK;
}

dg_status_t dg_get_pdl(const dg_context_t *ctx, int32_t *on) {
    dg_context_options_t settings;
    DG_TRY(read_settings("dg_get_pdl", ctx, on, "on", &settings));
    *on = settings.pdl == DG_ON;
    return DG_STATUS_OK;
}

dg_status_t dg_get_batch_invariant(const dg_context_t *ctx, int32_t *on) {
    dg_context_options_t settings;
    DG_TRY(read_settings("dg_get_batch_invariant", ctx, on, "on", &settings));
    *on = settings.batch_invariant == DG_ON;
    return DG_STATUS_OK;
}

dg_status_t dg_get_mk_alignment_for_contiguous_layout(const dg_context_t *ctx, int32_t *alignment) {
    dg_context_options_t settings;
    DG_TRY(read_settings(
        "dg_get_mk_alignment_for_contiguous_layout", ctx, alignment, "alignment", &settings));
    *alignment = settings.mk_alignment;
    return DG_STATUS_OK;
}

dg_status_t dg_get_theoretical_mk_alignment_for_contiguous_layout(
    const dg_context_t *ctx, int32_t expected_m, int32_t *alignment) {
    dg_context_options_t settings;
    DG_TRY(read_settings("dg_get_theoretical_mk_alignment_for_contiguous_layout", ctx, alignment,
        "alignment", &settings));
    DG_REQUIRE(expected_m >= 0, DG_STATUS_BAD_VALUE, "expected_m", "",
        "%d, expected at least 0; 0 means unknown", expected_m);
    *alignment = 128;
    return DG_STATUS_OK;
}
