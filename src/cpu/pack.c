/* SPDX-License-Identifier: MIT
 *
 * Operands into panels. engine.c calls dg_cpu_pack for each tile and slab of K; it calls the
 * decoders of the instruction set.
 *
 * Two steps for each panel. First the codes as they are stored (FP8 bytes, 16-bit halves; FP4 as FP8
 * bytes, which hold all its values) are laid out [k][width] in a small buffer that stays in the L1
 * cache; this is where layouts differ: rows along K are transposed (transpose.c), rows along MN
 * are copied. Then one linear decode of the buffer gives the panel, the same for every layout. FP32
 * values are their own codes and are laid out in the panel itself.
 */
#include "cpu/pack.h"

#include <string.h>

#include "cpu/e2m1.h"
#include "cpu/inline.h"
#include "cpu/transpose.h"
#include "model/dtype.h"

/* A row that does not exist. */
static const uint8_t zeros[DG_CPU_SLAB * 4];

/* Panels of up to DG_CPU_STAGED_ROWS rows, staged together so that rows which adjoin in memory are read
 * by the cache line. */
typedef struct dg_cpu_stage_t {
    const dg_cpu_operand_t *operand;
    int64_t row, k, k_count;
    int row_count; /* rows that exist, of all panels */
    int panel_count, width;
    int code_size;       /* bytes: 1, 2 or 4 */
    int64_t panel_bytes; /* of codes, from one panel to the next */
    uint8_t *codes;      /* [panel_count, DG_CPU_SLAB, width] */
} dg_cpu_stage_t;

static int64_t source_row(const dg_cpu_operand_t *operand, int64_t row) {
    return operand->rows ? operand->rows[row] : row;
}

static int64_t source_k(const dg_cpu_operand_t *operand, int64_t k) {
    return operand->ks ? operand->ks[k] : k;
}

/* Asks for what will be staged next while this is worked on. Rows lie too far apart for the hardware
 * to guess; without this a product with M = 1 takes half as long again. Only a hint, so it does not
 * matter that the address may lie past the end of the operand. */
static void prefetch(const uint8_t *address, int64_t bytes) {
    for (int64_t i = 0; i < bytes; i += 64) __builtin_prefetch(address + i);
}

/* Codes of panel p, k value k. */
static uint8_t *codes_at(const dg_cpu_stage_t *stage, int p, int64_t k) {
    return stage->codes + p * stage->panel_bytes + k * stage->width * stage->code_size;
}

/* Rows of panel p that exist. */
static int rows_of_panel(const dg_cpu_stage_t *stage, int p) {
    const int left = stage->row_count - p * stage->width;
    return left < stage->width ? left : stage->width;
}

/* Any strides, any gather: element by element. */
static void stage_any(const dg_cpu_stage_t *stage) {
    const dg_cpu_operand_t *operand = stage->operand;
    const uint8_t *data = operand->data;
    for (int64_t k = 0; k < stage->k_count; k++) {
        const int64_t sk = source_k(operand, stage->k + k);
        for (int i = 0; i < stage->row_count; i++) {
            const int64_t si = source_row(operand, stage->row + i);
            if (sk < 0 || si < 0) continue; /* the buffer is zero */
            const int64_t index = si * operand->row_stride + sk * operand->k_stride;
            uint8_t *to =
                codes_at(stage, i / stage->width, k) + i % stage->width * stage->code_size;
            if (operand->dtype == DG_DTYPE_E2M1X2) {
                *to = dg_cpu_load_e2m1(data, index);
            } else if (stage->code_size == 1) {
                *to = data[index];
            } else {
                memcpy(to, data + stage->code_size * index, (size_t)stage->code_size);
            }
        }
    }
}

/* One k of `panels` whole panels, whose codes take `bytes` each. */
DG_ALWAYS_INLINE void deal_codes(
    const uint8_t *from, size_t bytes, int panels, int64_t panel_bytes, uint8_t *to) {
    for (int p = 0; p < panels; p++) memcpy(to + p * panel_bytes, from + (size_t)p * bytes, bytes);
}

/* One k of all panels. The usual sizes are known to the compiler: a move or two for each panel. */
static void stage_codes_of_k(const dg_cpu_stage_t *stage, const uint8_t *from, uint8_t *to) {
    const size_t bytes = (size_t)stage->width * (size_t)stage->code_size;
    const int whole = stage->row_count / stage->width;
    switch (bytes) {
    case 6: deal_codes(from, 6, whole, stage->panel_bytes, to); break;
    case 12: deal_codes(from, 12, whole, stage->panel_bytes, to); break;
    case 14: deal_codes(from, 14, whole, stage->panel_bytes, to); break;
    case 16: deal_codes(from, 16, whole, stage->panel_bytes, to); break;
    case 28: deal_codes(from, 28, whole, stage->panel_bytes, to); break;
    case 32: deal_codes(from, 32, whole, stage->panel_bytes, to); break;
    case 64: deal_codes(from, 64, whole, stage->panel_bytes, to); break;
    default: deal_codes(from, bytes, whole, stage->panel_bytes, to);
    }
    if (whole < stage->panel_count) {
        memcpy(to + whole * stage->panel_bytes, from + (size_t)whole * bytes,
            (size_t)rows_of_panel(stage, whole) * (size_t)stage->code_size);
    }
}

/* Rows side by side in memory (MN-major): each k is one copy for each panel. */
static void stage_mn_major(const dg_cpu_stage_t *stage) {
    const dg_cpu_operand_t *operand = stage->operand;
    const uint8_t *data = operand->data;
    for (int64_t k = 0; k < stage->k_count; k++) {
        const int64_t sk = source_k(operand, stage->k + k);
        if (sk < 0) continue;
        const int64_t index = stage->row + sk * operand->k_stride;
        if (operand->dtype == DG_DTYPE_E2M1X2) {
            for (int p = 0; p < stage->panel_count; p++) {
                dg_cpu_unpack_e2m1(
                    data, index + p * stage->width, rows_of_panel(stage, p), codes_at(stage, p, k));
            }
        } else {
            prefetch(data + (index + stage->row_count) * stage->code_size, 1);
            stage_codes_of_k(stage, data + index * stage->code_size, codes_at(stage, 0, k));
        }
    }
}

/* Rows along K (K-major): transposed, eight rows at a time. */
static void stage_k_major(const dg_cpu_stage_t *stage, int p) {
    const dg_cpu_operand_t *operand = stage->operand;
    const uint8_t *data = operand->data;
    const int row_count = rows_of_panel(stage, p);
    const int64_t pitch = (int64_t)stage->width * stage->code_size;
    uint8_t unpacked[8][DG_CPU_SLAB];
    for (int first = 0; first < stage->width; first += 8) {
        const uint8_t *rows[8];
        for (int i = 0; i < 8; i++) {
            const int64_t row = stage->row + p * stage->width + first + i;
            const int64_t source = first + i < row_count ? source_row(operand, row) : -1;
            const int64_t index = source * operand->row_stride + stage->k;
            if (source < 0) {
                rows[i] = zeros;
                continue;
            }
            if (operand->dtype == DG_DTYPE_E2M1X2) {
                dg_cpu_unpack_e2m1(data, index, stage->k_count, unpacked[i]);
                rows[i] = unpacked[i];
                prefetch(data + (index + DG_CPU_SLAB) / 2, DG_CPU_SLAB / 2);
            } else {
                rows[i] = data + index * stage->code_size;
                const int64_t slab = DG_CPU_SLAB * stage->code_size;
                prefetch(rows[i] + slab, slab);
            }
        }
        const int count = stage->width - first < 8 ? stage->width - first : 8;
        uint8_t *codes = codes_at(stage, p, 0) + first * stage->code_size;
        if (stage->code_size == 1) {
            dg_cpu_transpose_bytes(rows, count, stage->k_count, pitch, codes);
        } else if (stage->code_size == 4) {
            dg_cpu_transpose_words(rows, count, stage->k_count, pitch, codes);
        } else {
            dg_cpu_transpose_halves(rows, count, stage->k_count, pitch, codes);
        }
    }
}

/* Zeros where a k is absent on either side, so that nothing of the other side comes through. */
static void clear_absent_ks(const dg_cpu_stage_t *stage, const int32_t *ks) {
    for (int64_t k = 0; k < stage->k_count; k++) {
        if (ks[stage->k + k] >= 0) continue;
        for (int p = 0; p < stage->panel_count; p++) {
            memset(codes_at(stage, p, k), 0, (size_t)stage->width * (size_t)stage->code_size);
        }
    }
}

static void stage_codes(const dg_cpu_stage_t *stage, const int32_t *other_ks) {
    const dg_cpu_operand_t *operand = stage->operand;
    if (operand->k_stride == 1 && !operand->ks) {
        for (int p = 0; p < stage->panel_count; p++) stage_k_major(stage, p);
    } else {
        if (stage->row_count < stage->panel_count * stage->width || operand->rows || operand->ks) {
            memset(stage->codes, 0, (size_t)(stage->panel_count * stage->panel_bytes));
        }
        if (operand->row_stride == 1 && !operand->rows) {
            stage_mn_major(stage);
        } else {
            stage_any(stage);
        }
    }
    if (other_ks) clear_absent_ks(stage, other_ks);
}

static int code_size_of(dg_dtype_t dtype) {
    return dtype == DG_DTYPE_F32 ? 4 : dtype == DG_DTYPE_BF16 || dtype == DG_DTYPE_F16 ? 2 : 1;
}

static void decode_f16(const uint16_t *codes, int64_t count, float *values) {
    for (int64_t i = 0; i < count; i++) values[i] = dg_decode_f16(codes[i]);
}

/* codes: [count] of a type that is not F32, as they were staged. */
static void decode(const dg_cpu_kernels_t *kernels, dg_dtype_t dtype, const void *codes,
    int64_t count, float *values) {
    if (dtype == DG_DTYPE_BF16) {
        kernels->decode_bf16(codes, count, values);
    } else if (dtype == DG_DTYPE_F16) {
        decode_f16(codes, count, values);
    } else {
        kernels->decode_e4m3(codes, count, values);
    }
}

void dg_cpu_pack(const dg_cpu_kernels_t *kernels, const dg_cpu_operand_t *operand,
    const int32_t *other_ks, int64_t row, int64_t row_count, int64_t k, int64_t k_count, int width,
    void *codes, float *panels) {
    const int code_size = code_size_of(operand->dtype);
    const bool decoded = operand->dtype == DG_DTYPE_F32;
    dg_cpu_stage_t stage = {.operand = operand,
        .k = k,
        .k_count = k_count,
        .width = width,
        .code_size = code_size,
        .panel_bytes = (int64_t)DG_CPU_SLAB * width * code_size,
        .codes = codes};
    const int64_t group = DG_CPU_STAGED_ROWS / width * width;
    for (int64_t i = 0; i < row_count; i += group) {
        const int64_t left = row_count - i;
        stage.row = row + i;
        stage.row_count = (int)(left < group ? left : group);
        stage.panel_count = (stage.row_count + width - 1) / width;
        if (decoded) stage.codes = (void *)(panels + i * DG_CPU_SLAB);
        stage_codes(&stage, other_ks);
        for (int p = 0; p < stage.panel_count && !decoded; p++) {
            decode(kernels, operand->dtype, stage.codes + p * stage.panel_bytes, k_count * width,
                panels + (i + p * width) * DG_CPU_SLAB);
        }
    }
}
