/* SPDX-License-Identifier: MIT
 *
 * Random K-grouped operands; see k_operand.h. As in operand.c, factors come first and nothing is
 * read back.
 */
#include "k_operand.h"

#include <stdio.h>
#include <string.h>

#include "guard.h"

static int64_t ceil_div(int64_t x, int64_t y) {
    return (x + y - 1) / y;
}

/* Where the codes of token t lie: the byte a line starts at and the index in that line. */
typedef struct place_t {
    int64_t line; /* bytes from data */
    int64_t index;
} place_t;

typedef struct layout_t {
    const k_spec_t *spec;
    int64_t line_stride; /* elements; not FLAT */
    bool by_token;       /* a line holds one token; else one row of the product */
} layout_t;

static place_t place_of(const layout_t *layout, int64_t row, int64_t i) {
    const int64_t size = dg_dtype_size(layout->spec->dtype);
    place_t place;
    place.line = (layout->by_token ? row : i) * layout->line_stride * size;
    place.index = layout->by_token ? i : row;
    return place;
}

static int64_t flat_line(const k_spec_t *spec, int64_t size) {
    return spec->dtype == DG_DTYPE_E2M1X2 ? ceil_div(size, 2) : size;
}

/* Draws the factors: [sum of blocks, mn] values, and the tensor that holds them. */
static double *scale_make(
    rng_t *rng, const k_spec_t *spec, int64_t mn, const grouping_t *grouping, dg_tensor_t *view) {
    const bool packed = spec->scale == DG_DTYPE_I32;
    int64_t blocks = 0;
    int64_t rows = rng_range(rng, 0, 2); /* more rows than needed are allowed */
    for (int64_t g = 0; g < grouping->count; g++) {
        blocks += ceil_div(grouping->sizes[g], spec->gran_k);
        rows += ceil_div(grouping->sizes[g], spec->gran_k * (packed ? 4 : 1));
    }
    const int64_t row_stride = spec->order == SCALE_ROWS      ? mn
                               : spec->order == SCALE_ALIGNED ? 1
                                                              : 3 * mn + 2;
    const int64_t mn_stride = spec->order == SCALE_ROWS      ? 1
                              : spec->order == SCALE_ALIGNED ? rows + 1
                                                             : 3;
    const int64_t size = dg_dtype_size(spec->scale);
    const int64_t span = rows * row_stride + mn * mn_stride;
    uint8_t *memory = guard_take((size_t)(span * size), 0, "scale factors");
    memset(memory, 0xFF, (size_t)(span * size));
    double *value = guard_scratch((size_t)(blocks * mn) * sizeof *value);
    int64_t block = 0;
    int64_t first_row = 0;
    for (int64_t g = 0; g < grouping->count; g++) {
        const int64_t count = ceil_div(grouping->sizes[g], spec->gran_k);
        for (int64_t b = 0; b < count; b++, block++) {
            for (int64_t i = 0; i < mn; i++) {
                const code_t factor = factor_random(rng, spec->scale, spec->values);
                const int64_t at = (first_row + (packed ? b / 4 : b)) * row_stride + i * mn_stride;
                value[block * mn + i] = factor.value;
                if (packed) {
                    memory[at * 4 + b % 4] = (uint8_t)factor.bits;
                } else {
                    code_store(spec->scale, memory, at, factor.bits);
                }
            }
        }
        first_row += packed ? ceil_div(count, 4) : count;
    }
    *view = dg_tensor_2d(memory, spec->scale, rows, mn);
    view->stride[0] = row_stride;
    view->stride[1] = mn_stride;
    return value;
}

/* Makes view.data and view.rows; returns for each token its row of data (-1: zeros). */
static int64_t *data_make(
    rng_t *rng, k_matrix_t *matrix, const grouping_t *grouping, layout_t *layout) {
    const k_spec_t *spec = layout->spec;
    const int64_t pack = spec->dtype == DG_DTYPE_E2M1X2 ? 2 : 1;
    const int64_t size = dg_dtype_size(spec->dtype);
    const int64_t rows = spec->gather ? grouping->rows + 5 : grouping->rows;
    int64_t *row_of = guard_scratch((size_t)grouping->rows * sizeof *row_of);
    int64_t bytes = 0;
    if (spec->form == DG_K_FLAT) {
        for (int64_t g = 0; g < grouping->count; g++) {
            bytes += flat_line(spec, grouping->sizes[g]) * matrix->mn * size;
        }
        /* rows past the last group, where every format has whole bytes */
        bytes += (grouping->rows - (grouping->count > 0 ? grouping->begin[grouping->count - 1] +
                                                              grouping->sizes[grouping->count - 1]
                                                        : 0)) *
                 matrix->mn * size;
    } else {
        layout->by_token = (spec->form == DG_K_TOKENS_FIRST) != spec->turned;
        const int64_t length = layout->by_token ? matrix->mn : rows;
        layout->line_stride = ceil_div(length, pack) + spec->pad;
        bytes = layout->line_stride * size * (layout->by_token ? rows : matrix->mn);
    }
    uint8_t *memory = guard_take((size_t)bytes, 0, "operand");
    memset(memory, 0xFF, (size_t)bytes);
    for (int64_t t = 0; t < grouping->rows; t++) row_of[t] = t;
    if (spec->form == DG_K_FLAT) {
        matrix->view.data = dg_tensor_1d(memory, spec->dtype, bytes / size);
        return row_of;
    }
    const int64_t packed_rows = layout->by_token ? rows : ceil_div(rows, pack);
    const int64_t packed_mn = layout->by_token ? matrix->mn / pack : matrix->mn;
    const bool first = spec->form == DG_K_TOKENS_FIRST;
    dg_tensor_t data = dg_tensor_2d(
        memory, spec->dtype, first ? packed_rows : packed_mn, first ? packed_mn : packed_rows);
    data.stride[first ? 0 : 1] = layout->by_token ? layout->line_stride : 1;
    data.stride[first ? 1 : 0] = layout->by_token ? 1 : layout->line_stride;
    matrix->view.data = data;
    if (spec->gather) {
        for (int64_t t = 0; t < grouping->rows; t++) row_of[t] = rng_range(rng, -1, rows - 1);
        matrix->view.rows = integers_make(
            rng_range(rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64, row_of, grouping->rows, 1, "rows");
    }
    return row_of;
}

k_matrix_t k_operand_make(
    rng_t *rng, const k_spec_t *spec, int64_t mn, const grouping_t *grouping) {
    k_matrix_t matrix = {.mn = mn, .tokens = grouping->rows};
    layout_t layout = {.spec = spec};
    matrix.view.form = spec->form;
    matrix.view.gran_k = spec->gran_k;
    matrix.value = guard_scratch((size_t)(mn * grouping->rows) * sizeof(double));
    const double *factors = NULL;
    if (spec->scale != DG_DTYPE_NONE) {
        factors = scale_make(rng, spec, mn, grouping, &matrix.view.scale);
    }
    const int64_t *row_of = data_make(rng, &matrix, grouping, &layout);
    uint8_t *memory = matrix.view.data.data;
    const int64_t rows = spec->gather ? grouping->rows + 5 : grouping->rows;
    /* a gathered row may serve several tokens, so its codes are drawn once */
    double *drawn = guard_scratch((size_t)(rows * mn) * sizeof *drawn);
    bool *known = guard_scratch((size_t)rows * sizeof *known);
    int64_t block = 0;
    int64_t flat = 0;
    for (int64_t g = 0; g < grouping->count; g++) {
        const int64_t size = grouping->sizes[g];
        for (int64_t t = 0; t < size; t++) {
            const int64_t token = grouping->begin[g] + t;
            const int64_t row = row_of[token];
            if (row < 0) continue;
            for (int64_t i = 0; i < mn; i++) {
                if (!known[row]) {
                    const code_t code = code_random(rng, spec->dtype, spec->values);
                    place_t place = {
                        flat + i * flat_line(spec, size) * dg_dtype_size(spec->dtype), t};
                    if (spec->form != DG_K_FLAT) place = place_of(&layout, row, i);
                    code_store(spec->dtype, memory + place.line, place.index, code.bits);
                    drawn[row * mn + i] = code.value;
                }
                const double factor =
                    factors == NULL ? 1.0 : factors[(block + t / spec->gran_k) * mn + i];
                matrix.value[i * grouping->rows + token] = drawn[row * mn + i] * factor;
            }
            known[row] = true;
        }
        if (spec->scale != DG_DTYPE_NONE) block += ceil_div(size, spec->gran_k);
        flat += flat_line(spec, size) * mn * dg_dtype_size(spec->dtype);
    }
    return matrix;
}

const char *k_operand_text(const k_spec_t *spec) {
    static const char *const form[] = {"none", "tokens_first", "tokens_last", "flat"};
    static _Thread_local char buffers[4][112];
    static _Thread_local unsigned turn;
    char *text = buffers[turn++ % 4];
    snprintf(text, sizeof buffers[0], "%s%s %s pad %lld scale %s order %d gran %d%s",
        form[spec->form], spec->turned ? " turned" : "", dg_dtype_string(spec->dtype),
        (long long)spec->pad, spec->scale ? dg_dtype_string(spec->scale) : "none", (int)spec->order,
        spec->gran_k, spec->gather ? " gathered" : "");
    return text;
}
