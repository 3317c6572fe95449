/* SPDX-License-Identifier: MIT
 *
 * Draws shapes: options at random, then mended where two of them do not go together.
 */
#include "draw.h"

/* Mostly the edges of blocks and tiles, now and then anything. */
static int64_t draw_extent(cli_random_t *random) {
    static const int64_t extents[] = {0, 1, 2, 3, 5, 7, 8, 15, 16, 17, 31, 32, 33, 47, 63, 64, 65,
        96, 127, 128, 129, 130, 160, 200, 255, 256, 257, 300, 384, 385};
    const int64_t count = sizeof extents / sizeof extents[0];
    if (cli_random_below(random, 12) == 0) return cli_random_below(random, 1200);
    return extents[cli_random_below(random, count)];
}

static int draw_choice(cli_random_t *random, int count) {
    return (int)cli_random_below(random, count);
}

static bool draw_flag(cli_random_t *random, int64_t one_in) {
    return cli_random_below(random, one_in) == 0;
}

static int64_t make_even(int64_t extent) {
    return extent + extent % 2;
}

static void draw_sizes(cli_shape_t *shape, cli_random_t *random) {
    shape->num_sizes = 1 + cli_random_below(random, 6);
    for (int64_t g = 0; g < shape->num_sizes; g++) {
        shape->sizes[g] = draw_flag(random, 4) ? 0 : draw_extent(random);
    }
}

/* Rows beyond the groups, in a third of the shapes. */
static int64_t draw_total(const cli_shape_t *shape, bool largest, cli_random_t *random) {
    if (!draw_flag(random, 3)) return CLI_UNSET;
    int64_t total = 0;
    for (int64_t g = 0; g < shape->num_sizes; g++) {
        if (!largest) total += shape->sizes[g];
        if (largest && shape->sizes[g] > total) total = shape->sizes[g];
    }
    return total + cli_random_below(random, 9);
}

static void draw_product(cli_shape_t *shape, cli_random_t *random) {
    static const int64_t rows[] = {1, 1, 128, 32, 7};
    shape->n = draw_extent(random);
    shape->dtype = draw_choice(random, 5);
    shape->layout = draw_choice(random, 4);
    shape->out = draw_choice(random, 2);
    shape->gran = draw_flag(random, 2) ? 32 : 128;
    shape->gran_m = rows[draw_choice(random, 5)];
    shape->gran_n = rows[draw_choice(random, 5)];
    shape->accumulate = draw_flag(random, 3);
    shape->pad = draw_flag(random, 3) ? 1 + cli_random_below(random, 20) : 0;
    if (shape->dtype != CLI_BF16) {
        shape->scale = draw_choice(random, shape->dtype == CLI_FP8 ? 5 : 4);
    }
    if (shape->family == CLI_GEMM) {
        shape->m = draw_extent(random);
        shape->k = draw_extent(random);
        return;
    }
    static const int64_t aligns[] = {1, 8, 32, 128};
    shape->align = aligns[draw_choice(random, 4)];
    shape->gather = draw_flag(random, 4);
    draw_sizes(shape, random);
    if (shape->family == CLI_M_GROUPED) {
        shape->k = draw_extent(random);
        shape->form = draw_choice(random, CLI_FORM_MASKED + 1);
        const bool masked = shape->form == CLI_FORM_MASKED;
        if (masked) shape->gather = false;
        shape->m = draw_total(shape, masked, random);
    } else {
        shape->gran_m = shape->gran_n = CLI_UNSET;
        shape->layout = CLI_UNSET;
        shape->m = draw_extent(random);
        shape->operand = draw_choice(random, 4);
        shape->result = draw_choice(random, 3);
        shape->form = draw_choice(random, CLI_FORM_PSUM + 1);
        if (shape->operand == CLI_FLAT) {
            if (shape->form > CLI_FORM_HOST) shape->form = CLI_FORM_SIZES;
        } else {
            shape->k = draw_total(shape, false, random);
        }
        if (shape->operand == CLI_FLAT || shape->operand == CLI_TOKENS_LAST) shape->gather = false;
    }
}

/* FP4 lies two values to a byte along the contiguous axis, which must be even. */
static void mend_packing(cli_shape_t *shape) {
    if (shape->dtype == CLI_FP8 || shape->dtype == CLI_BF16) return;
    if (shape->family == CLI_K_GROUPED) {
        shape->m = make_even(shape->m);
        shape->n = make_even(shape->n);
        return;
    }
    if (shape->family == CLI_M_GROUPED) { /* rows of FP4 a are contiguous in k */
        if (shape->layout == CLI_TN) shape->layout = CLI_NN;
        if (shape->layout == CLI_TT) shape->layout = CLI_NT;
    } else {
        shape->m = make_even(shape->m);
    }
    shape->n = make_even(shape->n);
    shape->k = make_even(shape->k);
}

static void draw_cast(cli_shape_t *shape, cli_random_t *random) {
    shape->m = draw_extent(random);
    shape->n = draw_extent(random);
    shape->dtype = draw_choice(random, 2);
    shape->in = draw_choice(random, 2);
    shape->recipe = draw_choice(random, shape->dtype == CLI_FP4 ? 4 : 5);
    shape->scale = draw_choice(random, 4);
    shape->gran = draw_flag(random, 2) ? 32 : 128;
    shape->transposed = draw_flag(random, 3);
    if (shape->recipe != CLI_TENSOR && draw_flag(random, 2)) {
        draw_sizes(shape, random);
        shape->form = draw_choice(random, CLI_FORM_PSUM + 1);
        shape->align = draw_flag(random, 2) ? 32 : 128;
        shape->m = draw_total(shape, false, random);
    }
    if (shape->dtype == CLI_FP4) {
        if (shape->num_sizes > 0) shape->transposed = false;
        if (shape->transposed) shape->m = make_even(shape->m);
        if (!shape->transposed) shape->n = make_even(shape->n);
    }
}

static void draw_scale_layout(cli_shape_t *shape, cli_random_t *random) {
    shape->m = draw_extent(random);
    shape->form = CLI_FORM_PACK + draw_choice(random, 5);
    shape->gran = draw_flag(random, 2) ? 32 : 128;
    if (shape->form == CLI_FORM_K_GROUPED) {
        draw_sizes(shape, random);
        for (int64_t g = 0; g < shape->num_sizes; g++) shape->sizes[g] *= 7;
        return;
    }
    shape->k = draw_extent(random) * 5;
    shape->groups = cli_random_below(random, 4);
    if (shape->form == CLI_FORM_TRANSFORM) shape->gran_m = draw_flag(random, 2) ? 1 : 128;
}

static void draw_permute(cli_shape_t *shape, cli_random_t *random) {
    static const int forms[] = {CLI_FORM_OFFSETS, CLI_FORM_PSUM, CLI_FORM_MASKED};
    static const int64_t aligns[] = {1, 8, 32, 128};
    shape->m = draw_extent(random) / 2;
    shape->n = draw_extent(random);
    shape->groups = 1 + cli_random_below(random, 40);
    shape->topk = cli_random_below(random, 9);
    shape->form = forms[draw_choice(random, 3)];
    shape->align = aligns[draw_choice(random, 4)];
    shape->in = draw_choice(random, 2);
    shape->out = draw_choice(random, 2);
}

cli_shape_t cli_draw_shape(cli_family_t family, cli_random_t *random) {
    cli_shape_t shape = cli_shape_init(family);
    shape.seed = cli_random_below(random, INT64_C(1) << 31);
    switch (family) {
    case CLI_CAST: draw_cast(&shape, random); break;
    case CLI_SCALE_LAYOUT: draw_scale_layout(&shape, random); break;
    case CLI_PERMUTE: draw_permute(&shape, random); break;
    default:
        draw_product(&shape, random);
        mend_packing(&shape);
        break;
    }
    return shape;
}
