/* SPDX-License-Identifier: MIT
 *
 * The table of shape members: names, values and help. Called by run.c (options), shapes_file.c
 * (JSON) and verify.c (the command line that repeats a failed case).
 */
#include "shape.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

static const char *const families[] = {
    "gemm", "m_grouped", "k_grouped", "cast", "scale_layout", "permute"};
static const char *const dtypes[] = {"fp8", "fp4", "bf16", "fp8xfp4", "fp4xfp8"};
static const char *const layouts[] = {"nt", "nn", "tn", "tt"};
static const char *const scales[] = {"f32", "ue8m0", "e8m0", "pow2", "none"};
static const char *const outs[] = {"bf16", "f32"};
static const char *const forms[] = {"sizes", "host", "offsets", "psum", "index", "block_index",
    "masked", "pack", "unpack", "mn_major", "k_grouped", "transform"};
static const char *const operands[] = {"tokens_first", "tokens_last", "flat", "mixed"};
static const char *const results[] = {"stack", "list", "sum"};
static const char *const recipes[] = {"token", "channel", "block", "tensor", "both"};

typedef enum kind_t { KIND_INTEGER, KIND_CHOICE, KIND_FLAG, KIND_SIZES } kind_t;

typedef struct field_t {
    const char *key;
    kind_t kind;
    size_t offset;              /* in cli_shape_t */
    int64_t low, high;          /* KIND_INTEGER */
    const char *const *choices; /* KIND_CHOICE */
    size_t num_choices;
} field_t;

#define AT(member) offsetof(cli_shape_t, member)
#define INTEGER(key, member, low, high)                                                            \
    { key, KIND_INTEGER, AT(member), low, high, NULL, 0 }
#define CHOICE(key, member, names)                                                                 \
    { key, KIND_CHOICE, AT(member), 0, 0, names, sizeof names / sizeof names[0] }
#define FLAG(key, member)                                                                          \
    { key, KIND_FLAG, AT(member), 0, 0, NULL, 0 }

#define MAX_EXTENT (INT64_C(1) << 31)

/* One for each entry of cli_shape_options, in the same order. */
static const field_t fields[] = {
    INTEGER("m", m, 0, MAX_EXTENT),
    INTEGER("n", n, 0, MAX_EXTENT),
    INTEGER("k", k, 0, MAX_EXTENT),
    INTEGER("groups", groups, 0, CLI_MAX_GROUPS),
    {"sizes", KIND_SIZES, 0, 0, 0, NULL, 0},
    CHOICE("form", form, forms),
    INTEGER("align", align, 1, 65536),
    CHOICE("dtype", dtype, dtypes),
    CHOICE("layout", layout, layouts),
    CHOICE("operand", operand, operands),
    CHOICE("result", result, results),
    CHOICE("recipe", recipe, recipes),
    FLAG("transposed", transposed),
    CHOICE("in", in, outs),
    CHOICE("scale", scale, scales),
    INTEGER("gran", gran, 1, MAX_EXTENT),
    INTEGER("gran-m", gran_m, 1, MAX_EXTENT),
    INTEGER("gran-n", gran_n, 1, MAX_EXTENT),
    CHOICE("out", out, outs),
    FLAG("accumulate", accumulate),
    FLAG("gather", gather),
    INTEGER("pad", pad, 0, 65536),
    INTEGER("topk", topk, 0, 1024),
    INTEGER("seed", seed, 0, INT64_MAX),
};

const cli_option_t cli_shape_options[CLI_NUM_SHAPE_OPTIONS] = {
    {"m", "N",
        "Rows of d. m_grouped: rows of all groups, or of each if masked. cast: rows of x. permute: tokens."},
    {"n", "N", "Columns of d. cast, permute: columns of x."},
    {"k", "N", "Length of the sums. k_grouped: tokens of all groups."},
    {"groups", "N",
        "Number of groups, at most 1024. cast and scale_layout: 0, the initial "
        "value, is no groups."},
    {"sizes", "N,N,...",
        "Rows (tokens) of each group, in place of --groups and of --m (--k); "
        "\"random\": any that add up to it. Initially all groups have equal "
        "sizes."},
    {"form", "FORM",
        "How groups are given: sizes, host (sizes in a host list), offsets, psum; "
        "m_grouped also: index, block_index, masked. permute: offsets, psum, masked. "
        "scale_layout: pack, unpack, mn_major, k_grouped, transform."},
    {"align", "N", "Alignment of psum and block_index groups, a power of two [128]."},
    {"dtype", "TYPE",
        "Operands: fp8, fp4, bf16, fp8xfp4 (a is FP8, b is FP4), fp4xfp8. cast: "
        "fp8 or fp4, the type to make [fp8]."},
    {"layout", "LAYOUT",
        "nt, nn, tn or tt: whether a and b lie k fastest (n for a, t for b) or "
        "the other way [nt]."},
    {"operand", "FORM",
        "k_grouped: tokens_first, tokens_last, flat, or mixed (a tokens first, b "
        "tokens last) [tokens_first]."},
    {"result", "FORM", "k_grouped: stack ([G, m, n]), list (G addresses) or sum ([m, n]) [stack]."},
    {"recipe", "RECIPE",
        "cast: what a factor covers: token (1 x gran), channel (gran x 1), block "
        "(gran x gran), tensor (all), both (token and channel in one call) "
        "[token]."},
    {"transposed", NULL, "cast: write the codes transposed, [n, m]."},
    {"in", "TYPE", "cast, permute: type of x, bf16 or f32 [bf16]."},
    {"scale", "TYPE",
        "Scale factors: f32, ue8m0 (packed, four a word), e8m0 (bytes), pow2 (f32 "
        "rounded up to powers of two), none [f32; bf16: none]."},
    {"gran", "N", "Values along k that one factor covers, 32 or 128 [128]."},
    {"gran-m", "N", "Rows of a that one factor covers [1]. scale_layout: of the operand."},
    {"gran-n", "N", "Rows of b that one factor covers [128]."},
    {"out", "TYPE", "Type of d, bf16 or f32 [bf16; k_grouped: f32]."},
    {"accumulate", NULL, "Add to d what d holds."},
    {"gather", NULL, "Read the rows of a (k_grouped: of both operands) through an index."},
    {"pad", "N", "Elements that lie between two rows of d [0]."},
    {"topk", "N", "permute: groups that each token goes to [2]."},
    {"seed", "N", "Seed of the random values [1]."},
};

_Static_assert(
    sizeof fields / sizeof fields[0] == CLI_NUM_SHAPE_OPTIONS, "each option needs its field");

const char *cli_family_name(cli_family_t family) {
    return families[family];
}

bool cli_parse_family(const char *text, cli_family_t *family, char *error) {
    int index;
    if (!cli_parse_choice(text, families, CLI_NUM_FAMILIES, &index, error)) return false;
    *family = (cli_family_t)index;
    return true;
}

cli_shape_t cli_shape_init(cli_family_t family) {
    cli_shape_t shape = {.family = family};
    for (size_t i = 0; i < CLI_NUM_SHAPE_OPTIONS; i++) {
        void *member = (char *)&shape + fields[i].offset;
        if (fields[i].kind == KIND_INTEGER) *(int64_t *)member = CLI_UNSET;
        if (fields[i].kind == KIND_CHOICE) *(int *)member = CLI_UNSET;
    }
    return shape;
}

static bool set_sizes(cli_shape_t *shape, const char *value, char *error) {
    shape->random_sizes = strcmp(value, "random") == 0;
    shape->num_sizes = 0;
    if (shape->random_sizes) return true;
    for (const char *p = value;;) {
        const size_t length = strcspn(p, ",");
        char word[32];
        snprintf(word, sizeof word, "%.*s", (int)length, p);
        if (shape->num_sizes == CLI_MAX_GROUPS) {
            snprintf(error, CLI_TEXT, "more than %d sizes", CLI_MAX_GROUPS);
            return false;
        }
        if (!cli_parse_integer(word, 0, MAX_EXTENT, &shape->sizes[shape->num_sizes++], error)) {
            return false;
        }
        if (p[length] == 0) return true;
        p += length + 1;
    }
}

/* Options are spelt with a dash, JSON members with an underscore. */
static bool same_key(const char *a, const char *b) {
    for (; *a != 0 || *b != 0; a++, b++) {
        if (*a != *b && !(*a == '-' && *b == '_')) return false;
    }
    return true;
}

bool cli_shape_set(
    cli_shape_t *shape, const char *key, const char *value, bool *known, char *error) {
    *known = true;
    for (size_t i = 0; i < CLI_NUM_SHAPE_OPTIONS; i++) {
        const field_t *field = &fields[i];
        if (!same_key(field->key, key)) continue;
        void *member = (char *)shape + field->offset;
        switch (field->kind) {
        case KIND_INTEGER: return cli_parse_integer(value, field->low, field->high, member, error);
        case KIND_CHOICE:
            return cli_parse_choice(value, field->choices, field->num_choices, member, error);
        case KIND_FLAG: *(bool *)member = value == NULL || strcmp(value, "0") != 0; return true;
        case KIND_SIZES: return set_sizes(shape, value, error);
        }
    }
    *known = false;
    return false;
}

static int print_field(const cli_shape_t *shape, const field_t *field, char *text, size_t size) {
    const void *member = (const char *)shape + field->offset;
    switch (field->kind) {
    case KIND_INTEGER:
        if (*(const int64_t *)member == CLI_UNSET) return 0;
        return snprintf(text, size, " --%s %" PRId64, field->key, *(const int64_t *)member);
    case KIND_CHOICE:
        if (*(const int *)member == CLI_UNSET) return 0;
        return snprintf(text, size, " --%s %s", field->key, field->choices[*(const int *)member]);
    case KIND_FLAG: return *(const bool *)member ? snprintf(text, size, " --%s", field->key) : 0;
    case KIND_SIZES: break;
    }
    if (shape->random_sizes) return snprintf(text, size, " --sizes random");
    int used = 0;
    for (int64_t g = 0; g < shape->num_sizes && used >= 0 && (size_t)used < size; g++) {
        used += snprintf(
            text + used, size - (size_t)used, "%s%" PRId64, g ? "," : " --sizes ", shape->sizes[g]);
    }
    return used;
}

void cli_shape_command(const cli_shape_t *shape, char *text, size_t size) {
    size_t used = (size_t)snprintf(text, size, "%s", families[shape->family]);
    for (size_t i = 0; i < CLI_NUM_SHAPE_OPTIONS && used < size; i++) {
        if (shape->num_sizes > 0 && strcmp(fields[i].key, "groups") == 0) continue;
        used += (size_t)print_field(shape, &fields[i], text + used, size - used);
    }
}

void cli_shape_describe(const cli_shape_t *shape, char *text, size_t size) {
    char m[32] = "", n[32] = "", k[32] = "", groups[32] = "";
    if (shape->m >= 0) snprintf(m, sizeof m, "m %" PRId64, shape->m);
    if (shape->n >= 0) snprintf(n, sizeof n, " n %" PRId64, shape->n);
    if (shape->k >= 0) snprintf(k, sizeof k, " k %" PRId64, shape->k);
    if (shape->groups > 0) {
        snprintf(groups, sizeof groups, ", %" PRId64 " group%s", shape->groups,
            shape->groups > 1 ? "s" : "");
    }
    snprintf(text, size, "%s%s%s%s", m, n, k, groups);
}

void cli_shape_kind(const cli_shape_t *shape, char *text, size_t size) {
    char scale[40] = "";
    if (shape->scale == CLI_SCALE_NONE) {
        snprintf(scale, sizeof scale, " unscaled");
    } else if (shape->scale != CLI_UNSET) {
        snprintf(scale, sizeof scale, " %s/%" PRId64, scales[shape->scale], shape->gran);
    }
    const char *sum = shape->accumulate ? "+=" : "";
    switch (shape->family) {
    case CLI_GEMM:
        snprintf(text, size, "%s %s%s %s%s", dtypes[shape->dtype], layouts[shape->layout], scale,
            sum, outs[shape->out]);
        break;
    case CLI_M_GROUPED:
        snprintf(text, size, "%s %s %s%s %s%s", dtypes[shape->dtype], layouts[shape->layout],
            forms[shape->form], scale, sum, outs[shape->out]);
        break;
    case CLI_K_GROUPED:
        snprintf(text, size, "%s %s %s%s %s%s %s", dtypes[shape->dtype], operands[shape->operand],
            forms[shape->form], scale, sum, outs[shape->out], results[shape->result]);
        break;
    case CLI_CAST:
        snprintf(text, size, "%s to %s per %s%s%s", outs[shape->in], dtypes[shape->dtype],
            recipes[shape->recipe], scale, shape->transposed ? " transposed" : "");
        break;
    case CLI_PERMUTE:
        snprintf(text, size, "%s %s top %" PRId64 " to %s", outs[shape->in], forms[shape->form],
            shape->topk, outs[shape->out]);
        break;
    default: snprintf(text, size, "%s /%" PRId64, forms[shape->form], shape->gran); break;
    }
}
