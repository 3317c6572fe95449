/* SPDX-License-Identifier: MIT
 *
 * What a family makes of a shape: initial values, group sizes, and the rules that a command line
 * can break. Only rules of this program are judged here; those of the library are left to it, so
 * that its own refusals can be seen from the command line.
 */
#include <inttypes.h>
#include <stdio.h>

#include "random.h"
#include "shape.h"

static void set_default(int64_t *member, int64_t value) {
    if (*member == CLI_UNSET) *member = value;
}

static void set_default_choice(int *member, int value) {
    if (*member == CLI_UNSET) *member = value;
}

static int64_t sum_sizes(const cli_shape_t *shape) {
    int64_t sum = 0;
    for (int64_t g = 0; g < shape->num_sizes; g++) sum += shape->sizes[g];
    return sum;
}

static int64_t largest_size(const cli_shape_t *shape) {
    int64_t largest = 0;
    for (int64_t g = 0; g < shape->num_sizes; g++) {
        if (shape->sizes[g] > largest) largest = shape->sizes[g];
    }
    return largest;
}

/* `total` rows cut at random places; a fifth of the groups gets none. */
static void draw_sizes(cli_shape_t *shape, int64_t total) {
    cli_random_t random = {(uint64_t)shape->seed * 2 + 1};
    int64_t left = total;
    for (int64_t g = 0; g < shape->groups; g++) {
        const int64_t share = 2 * left / (shape->groups - g);
        int64_t size = cli_random_below(&random, share + 1);
        if (cli_random_below(&random, 5) == 0) size = 0;
        if (size > left || g + 1 == shape->groups) size = left;
        shape->sizes[g] = size;
        left -= size;
    }
}

/* Groups over `*total` rows (CLI_UNSET: as many as the sizes say). */
static bool complete_groups(cli_shape_t *shape, int64_t *total, int64_t initial, char *error) {
    const bool masked = shape->family == CLI_M_GROUPED && shape->form == CLI_FORM_MASKED;
    if (shape->num_sizes > 0) {
        if (shape->groups != CLI_UNSET && shape->groups != shape->num_sizes) {
            snprintf(error, CLI_TEXT, "--groups %" PRId64 " does not go with %" PRId64 " --sizes",
                shape->groups, shape->num_sizes);
            return false;
        }
        shape->groups = shape->num_sizes;
        const int64_t least = masked ? largest_size(shape) : sum_sizes(shape);
        set_default(total, least);
        if (*total < least) {
            snprintf(error, CLI_TEXT, "the --sizes take %" PRId64 " rows, there are %" PRId64,
                least, *total);
            return false;
        }
        return true;
    }
    set_default(&shape->groups, 4);
    set_default(total, initial);
    if (shape->groups < 1) {
        snprintf(error, CLI_TEXT, "--groups must be at least 1");
        return false;
    }
    shape->num_sizes = shape->groups;
    if (masked) {
        cli_random_t random = {(uint64_t)shape->seed * 2 + 1};
        for (int64_t g = 0; g < shape->groups; g++) {
            shape->sizes[g] = shape->random_sizes ? cli_random_below(&random, *total + 1) : *total;
        }
    } else if (shape->random_sizes) {
        draw_sizes(shape, *total);
    } else {
        for (int64_t g = 0; g < shape->groups; g++) {
            shape->sizes[g] = *total / shape->groups + (g < *total % shape->groups);
        }
    }
    shape->random_sizes = false;
    return true;
}

/* A choice of [low, high], or a refusal that says which the family takes. */
static bool check_form(cli_shape_t *shape, int initial, int low, int high, char *error) {
    set_default_choice(&shape->form, initial);
    if (shape->form >= low && shape->form <= high) return true;
    snprintf(error, CLI_TEXT, "this --form has no meaning for %s", cli_family_name(shape->family));
    return false;
}

static bool complete_product(cli_shape_t *shape, char *error) {
    set_default_choice(&shape->dtype, CLI_FP8);
    set_default_choice(&shape->layout, CLI_NT);
    set_default_choice(&shape->scale, shape->dtype == CLI_BF16 ? CLI_SCALE_NONE : CLI_SCALE_F32);
    set_default_choice(&shape->out, shape->family == CLI_K_GROUPED ? CLI_OUT_F32 : CLI_OUT_BF16);
    set_default(&shape->n, 1024);
    if (shape->scale != CLI_SCALE_NONE && shape->dtype == CLI_BF16) {
        snprintf(error, CLI_TEXT, "BF16 operands take no factors: leave out --scale");
        return false;
    }
    if (shape->scale == CLI_SCALE_NONE && shape->dtype != CLI_FP8 && shape->dtype != CLI_BF16) {
        snprintf(error, CLI_TEXT, "FP4 operands need factors: --scale none is for fp8 and bf16");
        return false;
    }
    switch (shape->family) {
    case CLI_GEMM:
        set_default(&shape->m, 1024);
        set_default(&shape->k, 1024);
        return true;
    case CLI_M_GROUPED:
        set_default(&shape->k, 1024);
        return check_form(shape, CLI_FORM_SIZES, CLI_FORM_SIZES, CLI_FORM_MASKED, error) &&
               complete_groups(shape, &shape->m, 1024, error);
    default:
        set_default(&shape->m, 1024);
        set_default_choice(&shape->operand, CLI_TOKENS_FIRST);
        set_default_choice(&shape->result, CLI_STACK);
        return check_form(shape, CLI_FORM_SIZES, CLI_FORM_SIZES, CLI_FORM_PSUM, error) &&
               complete_groups(shape, &shape->k, 1024, error);
    }
}

static bool complete_cast(cli_shape_t *shape, char *error) {
    set_default_choice(&shape->dtype, CLI_FP8);
    set_default_choice(&shape->in, CLI_OUT_BF16);
    set_default_choice(&shape->recipe, CLI_TOKEN);
    set_default_choice(&shape->scale, CLI_SCALE_F32);
    set_default(&shape->n, 1024);
    if (shape->dtype != CLI_FP8 && shape->dtype != CLI_FP4) {
        snprintf(error, CLI_TEXT, "a cast makes --dtype fp8 or fp4");
        return false;
    }
    if (shape->scale == CLI_SCALE_NONE) {
        snprintf(error, CLI_TEXT, "a cast always makes factors: --scale none has no meaning");
        return false;
    }
    if (shape->dtype == CLI_FP4 && shape->recipe == CLI_BOTH) {
        snprintf(error, CLI_TEXT, "--recipe both is for fp8");
        return false;
    }
    if (shape->num_sizes == 0 && !shape->random_sizes && shape->groups <= 0) {
        shape->groups = 0;
        set_default(&shape->m, 1024);
        return true;
    }
    if (shape->recipe == CLI_TENSOR) {
        snprintf(error, CLI_TEXT, "--recipe tensor has one factor, not one for each group");
        return false;
    }
    return check_form(shape, CLI_FORM_SIZES, CLI_FORM_SIZES, CLI_FORM_PSUM, error) &&
           complete_groups(shape, &shape->m, 1024, error);
}

static bool complete_scale_layout(cli_shape_t *shape, char *error) {
    set_default(&shape->m, 4096);
    if (!check_form(shape, CLI_FORM_PACK, CLI_FORM_PACK, CLI_FORM_TRANSFORM, error)) return false;
    if (shape->form == CLI_FORM_K_GROUPED) return complete_groups(shape, &shape->k, 8192, error);
    set_default(&shape->k, 7168);
    set_default(&shape->groups, 0);
    return true;
}

static bool complete_permute(cli_shape_t *shape, char *error) {
    set_default(&shape->m, 1024);
    set_default(&shape->n, 1024);
    set_default(&shape->groups, 4);
    set_default(&shape->topk, 2);
    set_default_choice(&shape->in, CLI_OUT_BF16);
    set_default_choice(&shape->out, shape->in);
    if (shape->num_sizes > 0 || shape->random_sizes) {
        snprintf(error, CLI_TEXT, "ids decide the sizes of groups: leave out --sizes");
        return false;
    }
    if (shape->groups < 1) {
        snprintf(error, CLI_TEXT, "--groups must be at least 1");
        return false;
    }
    if (!check_form(shape, CLI_FORM_OFFSETS, CLI_FORM_OFFSETS, CLI_FORM_MASKED, error))
        return false;
    if (shape->form != CLI_FORM_INDEX && shape->form != CLI_FORM_BLOCK_INDEX) return true;
    snprintf(error, CLI_TEXT, "this --form has no meaning for permute");
    return false;
}

/* Above this many elements no tensor is built: sizes in bytes stay far below 2^63. */
#define MAX_ELEMENTS 0x1p40

static bool check_size(const cli_shape_t *shape, char *error) {
    const double groups = shape->groups > 0 ? (double)shape->groups : 1;
    const double m = (double)shape->m, n = (double)shape->n + (double)shape->pad;
    const double k = (double)shape->k;
    if (groups * m * n <= MAX_ELEMENTS && groups * m * k <= MAX_ELEMENTS &&
        groups * n * k <= MAX_ELEMENTS) {
        return true;
    }
    snprintf(error, CLI_TEXT, "a tensor of this shape has more than 2^40 elements");
    return false;
}

static bool complete_family(cli_shape_t *shape, char *error) {
    switch (shape->family) {
    case CLI_CAST: return complete_cast(shape, error);
    case CLI_SCALE_LAYOUT: return complete_scale_layout(shape, error);
    case CLI_PERMUTE: return complete_permute(shape, error);
    default: return complete_product(shape, error);
    }
}

bool cli_shape_complete(cli_shape_t *shape, char *error) {
    set_default(&shape->seed, 1);
    set_default(&shape->gran, 128);
    set_default(&shape->gran_m, 1);
    set_default(&shape->gran_n, 128);
    set_default(&shape->align, 128);
    set_default(&shape->pad, 0);
    return complete_family(shape, error) && check_size(shape, error);
}
