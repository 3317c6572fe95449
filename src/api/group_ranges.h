/* SPDX-License-Identifier: MIT
 *
 * The groups of one call, read: an array of ranges with the lifetime of the call. Used by the
 * entry points of casts and scale layouts; the rules are in model/groups.h.
 */
#ifndef DG_API_GROUP_RANGES_H
#define DG_API_GROUP_RANGES_H

#include "api/context.h"
#include "model/groups.h"

typedef struct dg_call_groups_t {
    dg_group_range_t *ranges; /* [count]; NULL if there are none */
    int64_t count;
} dg_call_groups_t;

/* Checks and reads groups over `rows` rows. Whatever the outcome, dg_release_groups() afterwards. */
dg_status_t dg_read_groups(dg_call_groups_t *read, const dg_call_t *call, const dg_groups_t *groups,
    const char *name, dg_group_forms_t forms, int64_t rows);
void dg_release_groups(dg_call_groups_t *read);

#endif
