/* SPDX-License-Identifier: MIT
 *
 * Operands into panels. engine.c calls dg_cpu_pack for each tile and slab of K; it calls the
 * decoders of the instruction set.
 *
 * Two steps for each panel. First the codes as they are stored (FP8 bytes, BF16 halves; FP4 as FP8
 * bytes, which hold all its values) are laid out [k][width] in a small buffer that stays in the L1
 * cache; this is where layouts differ: rows along K are transposed (transpose.c), rows along MN
 * are copied. Then one linear decode of the buffer gives the panel, the same for every layout.
 */
#include "cpu/pack.h"

#include <string.h>

#include "cpu/transpose.h"

/* A row that does not exist. */
static const uint8_t zeros[DG_CPU_SLAB * 2];

/* e4m3 codes of the 16 e2m1 codes. */
static const uint8_t e4m3_of_e2m1[16] = {
    0x00, 0x30, 0x38, 0x3C, 0x40, 0x44, 0x48, 0x4C, 0x80, 0xB0, 0xB8, 0xBC, 0xC0, 0xC4, 0xC8, 0xCC};

/* One panel's worth of work. */
typedef struct dg_cpu_panel_t {
    const dg_cpu_operand_t *operand;
    int64_t row, k, k_count;
    int row_count, width; /* rows that exist, rows of the panel */
    int code_size;        /* bytes: 1 or 2 */
    uint8_t *codes;       /* [k_count, width] */
} dg_cpu_panel_t;

static int64_t source_row(const dg_cpu_operand_t *operand, int64_t row) {
    return operand->rows ? operand->rows[row] : row;
}

static int64_t source_k(const dg_cpu_operand_t *operand, int64_t k) {
    return operand->ks ? operand->ks[k] : k;
}

static uint8_t load_e2m1(const uint8_t *data, int64_t index) {
    return e4m3_of_e2m1[data[index >> 1] >> 4 * (index & 1) & 15];
}

/* The same by arithmetic on bytes, which vectorises: codes 2 to 7 are evenly spaced in e4m3. */
static uint8_t convert_e2m1(unsigned code) {
    const uint8_t magnitude = code & 7;
    const uint8_t even = (uint8_t)(0x30 + 4 * magnitude);
    const uint8_t small = magnitude == 1 ? 0x30 : 0;
    return (uint8_t)((magnitude < 2 ? small : even) | (code & 8) << 4);
}

/* codes[0 .. count-1] of the e2m1 codes from `index` on. */
static void unpack_e2m1(const uint8_t *data, int64_t index, int64_t count, uint8_t *codes) {
    if (index & 1 || count & 1) {
        for (int64_t i = 0; i < count; i++) codes[i] = load_e2m1(data, index + i);
        return;
    }
    const uint8_t *restrict from = data + index / 2;
    uint8_t *restrict to = codes;
    for (int64_t i = 0; i < count / 2; i++) {
        to[2 * i] = convert_e2m1(from[i] & 15u);
        to[2 * i + 1] = convert_e2m1(from[i] >> 4);
    }
}

/* A copy whose usual sizes are known to the compiler: one or two moves instead of a call. */
static void copy_codes(uint8_t *to, const uint8_t *from, size_t bytes) {
    switch (bytes) {
    case 6: memcpy(to, from, 6); break;
    case 12: memcpy(to, from, 12); break;
    case 14: memcpy(to, from, 14); break;
    case 16: memcpy(to, from, 16); break;
    case 28: memcpy(to, from, 28); break;
    case 32: memcpy(to, from, 32); break;
    case 64: memcpy(to, from, 64); break;
    default: memcpy(to, from, bytes);
    }
}

/* Any strides, any gather: element by element. */
static void stage_any(const dg_cpu_panel_t *panel) {
    const dg_cpu_operand_t *operand = panel->operand;
    const uint8_t *data = operand->data;
    for (int64_t k = 0; k < panel->k_count; k++) {
        const int64_t sk = source_k(operand, panel->k + k);
        for (int i = 0; i < panel->row_count; i++) {
            const int64_t si = source_row(operand, panel->row + i);
            if (sk < 0 || si < 0) continue; /* the buffer is zero */
            const int64_t index = si * operand->row_stride + sk * operand->k_stride;
            const int64_t to = k * panel->width + i;
            if (operand->dtype == DG_DTYPE_E2M1X2) {
                panel->codes[to] = load_e2m1(data, index);
            } else if (panel->code_size == 1) {
                panel->codes[to] = data[index];
            } else {
                memcpy(panel->codes + 2 * to, data + 2 * index, 2);
            }
        }
    }
}

/* Rows side by side in memory (MN-major): each k is one copy. */
static void stage_mn_major(const dg_cpu_panel_t *panel) {
    const dg_cpu_operand_t *operand = panel->operand;
    const uint8_t *data = operand->data;
    const size_t bytes = (size_t)(panel->row_count * panel->code_size);
    for (int64_t k = 0; k < panel->k_count; k++) {
        const int64_t sk = source_k(operand, panel->k + k);
        if (sk < 0) continue;
        const int64_t index = panel->row + sk * operand->k_stride;
        uint8_t *to = panel->codes + k * panel->width * panel->code_size;
        if (operand->dtype == DG_DTYPE_E2M1X2) {
            unpack_e2m1(data, index, panel->row_count, to);
        } else {
            copy_codes(to, data + index * panel->code_size, bytes);
        }
    }
}

/* Rows along K (K-major): transposed, eight rows at a time. */
static void stage_k_major(const dg_cpu_panel_t *panel) {
    const dg_cpu_operand_t *operand = panel->operand;
    const uint8_t *data = operand->data;
    const int64_t pitch = (int64_t)panel->width * panel->code_size;
    uint8_t unpacked[8][DG_CPU_SLAB];
    for (int first = 0; first < panel->width; first += 8) {
        const uint8_t *rows[8];
        for (int i = 0; i < 8; i++) {
            const int row = first + i;
            const int64_t source =
                row < panel->row_count ? source_row(operand, panel->row + row) : -1;
            const int64_t index = source * operand->row_stride + panel->k;
            if (source < 0) {
                rows[i] = zeros;
            } else if (operand->dtype == DG_DTYPE_E2M1X2) {
                unpack_e2m1(data, index, panel->k_count, unpacked[i]);
                rows[i] = unpacked[i];
            } else {
                rows[i] = data + index * panel->code_size;
            }
        }
        const int count = panel->width - first < 8 ? panel->width - first : 8;
        uint8_t *codes = panel->codes + first * panel->code_size;
        if (panel->code_size == 1) {
            dg_cpu_transpose_bytes(rows, count, panel->k_count, pitch, codes);
        } else {
            dg_cpu_transpose_halves(rows, count, panel->k_count, pitch, codes);
        }
    }
}

/* Zeros where a k is absent on either side, so that nothing of the other side comes through. */
static void clear_absent_ks(const dg_cpu_panel_t *panel, const int32_t *ks) {
    const size_t pitch = (size_t)(panel->width * panel->code_size);
    for (int64_t k = 0; k < panel->k_count; k++) {
        if (ks[panel->k + k] < 0) memset(panel->codes + (size_t)k * pitch, 0, pitch);
    }
}

void dg_cpu_pack(const dg_cpu_kernels_t *kernels, const dg_cpu_operand_t *operand,
    const int32_t *other_ks, int64_t row, int64_t row_count, int64_t k, int64_t k_count, int width,
    void *codes, float *panels) {
    dg_cpu_panel_t panel = {
        .operand = operand,
        .k = k,
        .k_count = k_count,
        .width = width,
        .code_size = operand->dtype == DG_DTYPE_BF16 ? 2 : 1,
        .codes = codes,
    };
    const int64_t count = k_count * width;
    for (int64_t i = 0; i < row_count; i += width) {
        panel.row = row + i;
        panel.row_count = (int)(row_count - i < width ? row_count - i : width);
        if (operand->k_stride == 1 && !operand->ks) {
            stage_k_major(&panel);
        } else {
            if (panel.row_count < width || operand->rows || operand->ks) {
                memset(codes, 0, (size_t)(count * panel.code_size));
            }
            if (operand->row_stride == 1 && !operand->rows) {
                stage_mn_major(&panel);
            } else {
                stage_any(&panel);
            }
        }
        if (other_ks) clear_absent_ks(&panel, other_ks);
        float *values = panels + i * DG_CPU_SLAB;
        if (operand->dtype == DG_DTYPE_BF16) {
            kernels->decode_bf16(codes, count, values);
        } else {
            kernels->decode_e4m3(codes, count, values);
        }
    }
}
