/* SPDX-License-Identifier: MIT
 *
 * A shape: everything that determines one random problem of one family. The same keys are options
 * of `deepgemm run` (--gran-n 128) and members of a JSON shapes file ("gran_n": 128), read by one
 * table in shape.c; case.h turns a shape into tensors and calls.
 */
#ifndef CLI_SHAPE_H
#define CLI_SHAPE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "options.h"

#define CLI_UNSET (-1) /* a number or choice that was not given */
#define CLI_MAX_GROUPS 1024
#define CLI_COMMAND (1024 + 12 * CLI_MAX_GROUPS) /* bytes for the command of any shape */

/* The order of each enum is that of its names in shape.c. */
typedef enum cli_family_t {
    CLI_GEMM,
    CLI_M_GROUPED,
    CLI_K_GROUPED,
    CLI_CAST,
    CLI_SCALE_LAYOUT,
    CLI_PERMUTE,
    CLI_NUM_FAMILIES
} cli_family_t;

enum { CLI_FP8, CLI_FP4, CLI_BF16, CLI_FP8XFP4, CLI_FP4XFP8 }; /* dtype */
enum { CLI_NT, CLI_NN, CLI_TN, CLI_TT };                       /* layout */
enum { CLI_SCALE_F32, CLI_SCALE_UE8M0, CLI_SCALE_E8M0, CLI_SCALE_POW2, CLI_SCALE_NONE };
enum { CLI_OUT_BF16, CLI_OUT_F32 }; /* out, in */
enum {                              /* form */
    CLI_FORM_SIZES,
    CLI_FORM_HOST,
    CLI_FORM_OFFSETS,
    CLI_FORM_PSUM,
    CLI_FORM_INDEX,
    CLI_FORM_BLOCK_INDEX,
    CLI_FORM_MASKED,
    CLI_FORM_PACK,
    CLI_FORM_UNPACK,
    CLI_FORM_MN_MAJOR,
    CLI_FORM_K_GROUPED,
    CLI_FORM_TRANSFORM
};
enum { CLI_TOKENS_FIRST, CLI_TOKENS_LAST, CLI_FLAT, CLI_MIXED };  /* operand */
enum { CLI_STACK, CLI_LIST, CLI_SUM };                            /* result */
enum { CLI_TOKEN, CLI_CHANNEL, CLI_BLOCK, CLI_TENSOR, CLI_BOTH }; /* recipe */

typedef struct cli_shape_t {
    cli_family_t family;
    int64_t m, n, k;
    int64_t groups; /* 0: none (cast, scale_layout) */
    int64_t num_sizes;
    int64_t sizes[CLI_MAX_GROUPS];
    bool random_sizes;
    int dtype, layout, form, operand, result, recipe, scale, out, in;
    int64_t gran, gran_m, gran_n; /* values that a factor covers along k, and along m and n */
    int64_t align;                /* of psum and block_index groups */
    int64_t pad;                  /* elements between the rows of d */
    int64_t topk;                 /* slots of a token */
    bool accumulate, gather, transposed;
    int64_t seed;
} cli_shape_t;

/* The options of shapes, and how many they are. */
#define CLI_NUM_SHAPE_OPTIONS 24
extern const cli_option_t cli_shape_options[CLI_NUM_SHAPE_OPTIONS];

const char *cli_family_name(cli_family_t family);
bool cli_parse_family(const char *text, cli_family_t *family, char *error);

cli_shape_t cli_shape_init(cli_family_t family);

/* Sets the member called `key` from its text. *known tells whether there is such a member; if there
 * is and the text is wrong, returns false and writes what is wrong into error[CLI_TEXT]. */
bool cli_shape_set(
    cli_shape_t *shape, const char *key, const char *value, bool *known, char *error);

/* Fills in what was not given and refuses what has no meaning for the family. */
bool cli_shape_complete(cli_shape_t *shape, char *error);

/* "m 64 n 128 k 256, 4 groups", for a table. */
void cli_shape_describe(const cli_shape_t *shape, char *text, size_t size);

/* What makes `deepgemm run` build this very shape, "gemm --m 64 --n 128 ...". Of a shape that is
 * not completed: only what was set. size: CLI_COMMAND. */
void cli_shape_command(const cli_shape_t *shape, char *text, size_t size);

/* "fp8 nt f32/128 -> bf16", the kind of a problem apart from its extents. */
void cli_shape_kind(const cli_shape_t *shape, char *text, size_t size);

#endif
