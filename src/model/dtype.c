/* SPDX-License-Identifier: MIT
 *
 * The table of element types: size, name, DLPack triple. Public functions of tensor.h read it.
 */
#include "model/dtype.h"

#include <stddef.h>

typedef struct dg_dtype_info_t {
    const char *name;
    int64_t size; /* bytes of one element */
    uint8_t dlpack_code, dlpack_bits;
    uint16_t dlpack_lanes;
} dg_dtype_info_t;

static const dg_dtype_info_t infos[] = {
    [DG_DTYPE_E4M3] = {"e4m3", 1, 10, 8, 1},
    [DG_DTYPE_E2M1X2] = {"e2m1x2", 1, 17, 4, 2},
    [DG_DTYPE_E8M0] = {"e8m0", 1, 14, 8, 1},
    [DG_DTYPE_BF16] = {"bf16", 2, 4, 16, 1},
    [DG_DTYPE_F32] = {"f32", 4, 2, 32, 1},
    [DG_DTYPE_I32] = {"i32", 4, 0, 32, 1},
    [DG_DTYPE_I64] = {"i64", 8, 0, 64, 1},
    [DG_DTYPE_U8] = {"u8", 1, 1, 8, 1},
    [DG_DTYPE_F16] = {"f16", 2, 2, 16, 1},
};

static const int info_count = (int)(sizeof infos / sizeof infos[0]);

static const dg_dtype_info_t *find_info(dg_dtype_t dtype) {
    const int index = (int)dtype; /* a caller's enum may hold any integer */
    return index > 0 && index < info_count ? &infos[index] : NULL;
}

int64_t dg_dtype_size(dg_dtype_t dtype) {
    const dg_dtype_info_t *info = find_info(dtype);
    return info ? info->size : 0;
}

const char *dg_dtype_string(dg_dtype_t dtype) {
    const dg_dtype_info_t *info = find_info(dtype);
    return info ? info->name : "?";
}

dg_dtype_t dg_dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes) {
    for (int i = 1; i < info_count; i++) {
        const dg_dtype_info_t *info = &infos[i];
        if (info->dlpack_code == code && info->dlpack_bits == bits && info->dlpack_lanes == lanes) {
            return (dg_dtype_t)i;
        }
    }
    return DG_DTYPE_NONE;
}
