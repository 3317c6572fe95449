/* SPDX-License-Identifier: MIT
 *
 * The settings of a context: initial values, ranges, merging. Called by context.c and setters.c.
 *
 * Inside, every field of a dg_context_options_t is resolved but num_sms, where 0 stands for "all".
 */
#ifndef DG_API_SETTINGS_H
#define DG_API_SETTINGS_H

#include "deep_gemm/context.h"

enum { MAX_SMS = 65535, MAX_ALIGNMENT = 65536, MAX_BLOCK_MULTIPLE = 4096 };

/* The default context's first settings: constants, this machine, the environment. */
dg_status_t dg_initial_settings(dg_context_options_t *settings);

/* Overwrites in `settings` what `changes` sets; refuses a value out of its range and changes nothing
 * then. */
dg_status_t dg_merge_settings(dg_context_options_t *settings, const dg_context_options_t *changes);

/* The settings of a context (NULL: the default one) as they are in force. */
dg_status_t dg_read_settings(const dg_context_t *ctx, dg_context_options_t *options);

/* Applies `change` to the settings of a context (NULL: the default one) as one step. */
dg_status_t dg_update_settings(dg_context_t *ctx,
    dg_status_t (*change)(dg_context_options_t *settings, const void *with), const void *with);

#endif
