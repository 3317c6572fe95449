/* SPDX-License-Identifier: MIT
 *
 * Where the groups of a problem lie among its rows: the argument that the library gets, and beside
 * it, in the plainest form, what it means. Called by the grouped cases.
 */
#ifndef CLI_PLACEMENT_H
#define CLI_PLACEMENT_H

#include "buffer.h"
#include "deep_gemm/deep_gemm.h"
#include "random.h"
#include "shape.h"

enum {
    CLI_ROW_ZERO = -1,     /* of no group: the library writes zeros */
    CLI_ROW_UNTOUCHED = -2 /* of no group: the library leaves the row alone */
};

typedef struct cli_placement_t {
    int64_t groups;
    int64_t rows;                /* all rows; MASKED: groups * max_m */
    const int64_t *size;         /* [groups] rows of each */
    const int64_t *begin;        /* [groups] first row of each; not set for INDEX, BLOCK_INDEX */
    const int32_t *group_of_row; /* [rows] group, CLI_ROW_ZERO or CLI_ROW_UNTOUCHED */
    int64_t valid;               /* rows that belong to a group */
    dg_groups_t view;
} cli_placement_t;

/* Places shape->sizes in the shape's form over `total` rows (PSUM and BLOCK_INDEX may need more).
 * Whether the values are I32 or I64 is drawn from `random`. */
cli_placement_t cli_place_groups(
    cli_pool_t *pool, const cli_shape_t *shape, int64_t total, cli_random_t *random);

#endif
