/* SPDX-License-Identifier: MIT
 *
 * Checks of a dg_k_operand_t, one side of a K-grouped product, and its translation into a
 * dg_k_side_t. Called by src/api/k_grouped.c in the order in which they stand here.
 */
#ifndef DG_MODEL_K_OPERAND_H
#define DG_MODEL_K_OPERAND_H

#include "model/problem.h"

/* The tokens that an operand may stand for: one number, or several where E2M1X2 packs pairs of tokens
 * and the last one of a row may be missing. */
typedef struct dg_token_count_t {
    int64_t low, high;
} dg_token_count_t;

/* Refuses a form, data or row list that does not make a side of `mn` rows ("m" or "n" in messages);
 * fills all of side but the scale. */
dg_status_t dg_check_k_operand(const dg_k_operand_t *operand, const char *name, const char *mn_name,
    int64_t mn, dg_k_side_t *side, dg_token_count_t *tokens);

/* Refuses sides that disagree about the tokens, or with `given` if that is not 0; *tokens is r. */
dg_status_t dg_match_tokens(
    const dg_token_count_t *a, const dg_token_count_t *b, int64_t given, int64_t *tokens);

/* Refuses factors that are not [rows, mn]; fills side->side.scale. How many rows there must be follows
 * from the groups and is checked when they are read. */
dg_status_t dg_check_k_operand_scale(
    const dg_k_operand_t *operand, const char *name, int64_t mn, dg_k_side_t *side);

#endif
