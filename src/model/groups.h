/* SPDX-License-Identifier: MIT
 *
 * Groups given as sizes, offsets, prefix sums or masked counts, brought into one form: a range of
 * rows for each group. Called by the api layer of every grouped family. INDEX and BLOCK_INDEX,
 * which say the group of each row instead, are not handled here.
 *
 * Whatever the values hold, ranges never leave [0, rows), never overlap (MASKED: each lies in its
 * own matrix) and never run backwards, so that nobody behind this file has to look again.
 */
#ifndef DG_MODEL_GROUPS_H
#define DG_MODEL_GROUPS_H

#include <stdbool.h>

#include "deep_gemm/grouped.h"
#include "model/tensor.h"

/* Rows [begin, end) belong to a group; [end, aligned_end) is its padding, which only PSUM has. */
typedef struct dg_group_range_t {
    int64_t begin, end, aligned_end;
} dg_group_range_t;

/* A set of forms: bit (1 << form). */
typedef uint32_t dg_group_forms_t;
#define DG_GROUP_FORM_BIT(form) (1u << (form))

/* The forms that dg_group_ranges() takes over one common axis of rows. */
#define DG_GROUP_FORMS_ALONG_ROWS                                                                  \
    (DG_GROUP_FORM_BIT(DG_GROUPS_SIZES) | DG_GROUP_FORM_BIT(DG_GROUPS_OFFSETS) |                   \
        DG_GROUP_FORM_BIT(DG_GROUPS_PSUM))

/* "SIZES", "OFFSETS", ...; "?" for a number without a name. Static. */
const char *dg_group_form_string(dg_group_form_t form);

/* Whether these are host_count groups of one size: without values and without host sizes. MASKED:
 * all rows of each matrix are valid; SIZES: rows / host_count each. No caller can say that; the
 * library itself does (src/api/einsum.c). */
static inline bool dg_groups_are_equal(const dg_groups_t *groups) {
    return !dg_tensor_given(&groups->values) && groups->host_sizes == NULL &&
           (groups->form == DG_GROUPS_MASKED || groups->form == DG_GROUPS_SIZES);
}

/* The size of each of them. rows: as in dg_group_ranges() */
static inline int64_t dg_equal_size(const dg_groups_t *groups, int64_t rows) {
    if (groups->form == DG_GROUPS_MASKED || groups->host_count == 0) return rows;
    return rows / groups->host_count;
}

/* Refuses groups whose form is not in `forms`, whose values are absent, not I32 or I64 of rank 1 on
 * the CPU, whose alignment is negative, or that give host_sizes where they have no meaning. Reads
 * no tensor memory. `name` is the argument's name, "groups". *count receives the number of groups,
 * or of rows for INDEX and BLOCK_INDEX; 0 for NONE, which passes if `forms` has its bit. */
dg_status_t dg_check_groups(
    const dg_groups_t *groups, const char *name, dg_group_forms_t forms, int64_t *count);

/* Reads the groups' values and fills ranges ([count] as dg_check_groups() told).
 *     rows     rows that there are; MASKED: rows of each matrix
 *     options  of the context: mk_alignment stands in for an alignment of 0; group_values decides
 *              whether a value out of range is refused, naming index and value, or clamped */
dg_status_t dg_group_ranges(const dg_groups_t *groups, const char *name, int64_t rows,
    const dg_context_options_t *options, dg_group_range_t *ranges);

/* Entry i of a rank-1 I32 or I64 tensor with any stride. */
int64_t dg_integer_at(const dg_tensor_t *values, int64_t i);

#endif
