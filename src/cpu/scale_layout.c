/* SPDX-License-Identifier: MIT
 *
 * See scale_layout.h. Factors are one in 32 or 128 of the values they belong to, so plain loops do;
 * they run along rows, because the layout that is asked for most keeps rows together.
 */
#include "cpu/scale_layout.h"

#include "base/integer.h"

#include "model/dtype.h"

/* Rows of one task: their part of src stays in the cache while dst is written column by column. */
enum { CHUNK_ROWS = 256 };

/* ---- Rows inside and outside of groups ---- */

/* A stretch of rows that are all copied or all zero. */
typedef struct dg_scale_stretch_t {
    int64_t begin, end;
    bool inside;
} dg_scale_stretch_t;

/* The first range that ends after `row`; range_count if none does. */
static int64_t find_range(const dg_scale_copy_t *copy, int64_t row) {
    int64_t low = 0, high = copy->range_count;
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (copy->ranges[middle].end > row) {
            high = middle;
        } else {
            low = middle + 1;
        }
    }
    return low;
}

/* The stretch that begins at `begin`, cut off at `end`. */
static dg_scale_stretch_t next_stretch(const dg_scale_copy_t *copy, int64_t begin, int64_t end) {
    dg_scale_stretch_t stretch = {begin, end, true};
    if (!copy->grouped) return stretch;
    const int64_t g = find_range(copy, begin);
    stretch.inside = g < copy->range_count && copy->ranges[g].begin <= begin;
    const int64_t limit = g == copy->range_count ? end
                          : stretch.inside       ? copy->ranges[g].end
                                                 : copy->ranges[g].begin;
    stretch.end = limit < end ? limit : end;
    return stretch;
}

/* ---- Single factors ---- */

static int64_t src_offset(const dg_scale_copy_t *copy, int64_t row, int64_t k) {
    return row / copy->repeat * copy->src_row_stride + k * copy->src_k_stride;
}

static uint8_t load_exponent(
    const dg_scale_copy_t *copy, const dg_scale_matrix_t *matrix, int64_t row, int64_t block) {
    if (copy->src_dtype == DG_DTYPE_F32) {
        return dg_encode_e8m0(((const float *)matrix->src)[src_offset(copy, row, block)]);
    }
    if (copy->src_dtype == DG_DTYPE_E8M0) {
        return ((const uint8_t *)matrix->src)[src_offset(copy, row, block)];
    }
    const uint32_t word = ((const uint32_t *)matrix->src)[src_offset(copy, row, block / 4)];
    return (uint8_t)(word >> 8 * (block & 3));
}

static uint32_t load_word(
    const dg_scale_copy_t *copy, const dg_scale_matrix_t *matrix, int64_t row, int64_t word) {
    uint32_t bytes = 0;
    for (int64_t i = 0; i < 4 && 4 * word + i < matrix->k_blocks; ++i) {
        bytes |= (uint32_t)load_exponent(copy, matrix, row, 4 * word + i) << 8 * i;
    }
    return bytes;
}

/* ---- Columns of a stretch ---- */

static void write_f32(const dg_scale_copy_t *copy, const dg_scale_matrix_t *matrix,
    dg_scale_stretch_t rows, int64_t block) {
    float *dst = (float *)matrix->dst + block * copy->dst_k_stride;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
        float value = 0.0f;
        if (rows.inside && copy->src_dtype == DG_DTYPE_F32) {
            value = ((const float *)matrix->src)[src_offset(copy, i, block)];
        } else if (rows.inside) {
            value = dg_decode_e8m0(load_exponent(copy, matrix, i, block));
        }
        dst[i * copy->dst_row_stride] = value;
    }
}

static void write_e8m0(const dg_scale_copy_t *copy, const dg_scale_matrix_t *matrix,
    dg_scale_stretch_t rows, int64_t block) {
    uint8_t *dst = (uint8_t *)matrix->dst + block * copy->dst_k_stride;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
        dst[i * copy->dst_row_stride] =
            rows.inside ? load_exponent(copy, matrix, i, block) : (uint8_t)0;
    }
}

static void write_i32(const dg_scale_copy_t *copy, const dg_scale_matrix_t *matrix,
    dg_scale_stretch_t rows, int64_t word) {
    uint32_t *dst = (uint32_t *)matrix->dst + word * copy->dst_k_stride;
    for (int64_t i = rows.begin; i < rows.end; ++i) {
        dst[i * copy->dst_row_stride] = rows.inside ? load_word(copy, matrix, i, word) : 0u;
    }
}

static void write_stretch(
    const dg_scale_copy_t *copy, const dg_scale_matrix_t *matrix, dg_scale_stretch_t rows) {
    const bool words = copy->dst_dtype == DG_DTYPE_I32;
    const int64_t columns = words ? dg_ceil_div(matrix->k_blocks, 4) : matrix->k_blocks;
    for (int64_t k = 0; k < columns; ++k) {
        if (copy->dst_dtype == DG_DTYPE_F32) {
            write_f32(copy, matrix, rows, k);
        } else if (copy->dst_dtype == DG_DTYPE_E8M0) {
            write_e8m0(copy, matrix, rows, k);
        } else {
            write_i32(copy, matrix, rows, k);
        }
    }
}

static dg_status_t copy_chunk(void *context, int64_t index, int worker) {
    (void)worker;
    const dg_scale_copy_t *copy = context;
    const int64_t chunks = dg_ceil_div(copy->rows, CHUNK_ROWS);
    const dg_scale_matrix_t *matrix = &copy->matrices[index / chunks];
    const int64_t begin = index % chunks * CHUNK_ROWS;
    const int64_t end = copy->rows - begin < CHUNK_ROWS ? copy->rows : begin + CHUNK_ROWS;
    for (int64_t i = begin; i < end;) {
        const dg_scale_stretch_t stretch = next_stretch(copy, i, end);
        write_stretch(copy, matrix, stretch);
        i = stretch.end;
    }
    return DG_STATUS_OK;
}

dg_status_t dg_cpu_copy_scales(dg_cpu_pool_t *pool, const dg_scale_copy_t *copy) {
    dg_scale_copy_t shared = *copy;
    const int64_t tasks = copy->matrix_count * dg_ceil_div(copy->rows, CHUNK_ROWS);
    return dg_cpu_run_tasks(pool, copy_chunk, &shared, tasks, dg_cpu_pool_threads(pool), 0);
}

/* ---- Factors that UE8M0 cannot hold ---- */

/* A power of two from 2^-126 to 2^127 has an exponent and nothing else; 2^-127, the value of code 0,
 * is subnormal. */
static bool fits_e8m0(float value) {
    const uint32_t bits = dg_float_bits(value);
    return (bits & 0x807FFFFFu) == 0 ? bits < 0x7F800000u : bits == 0x00400000u;
}

static bool check_row(
    const dg_scale_copy_t *copy, int64_t m, int64_t row, dg_scale_fault_t *fault) {
    const dg_scale_matrix_t *matrix = &copy->matrices[m];
    for (int64_t block = 0; block < matrix->k_blocks; ++block) {
        const float value = ((const float *)matrix->src)[src_offset(copy, row, block)];
        if (fits_e8m0(value)) continue;
        *fault = (dg_scale_fault_t){m, row / copy->repeat, block, value};
        return false;
    }
    return true;
}

bool dg_cpu_check_scale_copy(const dg_scale_copy_t *copy, dg_scale_fault_t *fault) {
    if (copy->src_dtype != DG_DTYPE_F32 || copy->dst_dtype == DG_DTYPE_F32) return true;
    for (int64_t m = 0; m < copy->matrix_count; ++m) {
        for (int64_t i = 0; i < copy->rows;) {
            const dg_scale_stretch_t stretch = next_stretch(copy, i, copy->rows);
            while (stretch.inside && i < stretch.end) {
                if (!check_row(copy, m, i, fault)) return false;
                i += copy->repeat - i % copy->repeat; /* on to the next row of src */
            }
            i = stretch.end;
        }
    }
    return true;
}
