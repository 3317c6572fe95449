/* SPDX-License-Identifier: MIT
 *
 * See tensor_map.h. The driver answers "invalid value" to whatever it does not like; so its rules are
 * checked here, one by one, to say which of them was broken:
 *
 *     address      a multiple of 16
 *     extents      1 to 2^32
 *     strides      but for the first: multiples of 16 bytes, below 2^40
 *     box          1 to 256 along each axis; the first a multiple of 16 bytes, and with a swizzle at
 *                  most as wide as that
 */
#include "cuda/tensor_map.h"

#include <inttypes.h>
#include <stdbool.h>

#include "base/error.h"
#include "base/integer.h"
#include "cuda/driver.h"

enum { MAX_AXES = 5, ALIGNMENT = 16, MAX_BOX = 256 };
static const int64_t max_extent = INT64_C(1) << 32, max_stride_bytes = INT64_C(1) << 40;

/* A descriptor in the driver's terms: strides in bytes, of all axes but the first. */
typedef struct terms_t {
    int32_t type;
    uint64_t extents[MAX_AXES], strides[MAX_AXES];
    uint32_t box[MAX_AXES];
    int32_t swizzle;
} terms_t;

static int32_t map_type(dg_dtype_t dtype) {
    switch (dtype) {
    case DG_DTYPE_E4M3:
    case DG_DTYPE_E8M0:
    case DG_DTYPE_E2M1X2:
    case DG_DTYPE_U8: return DG_CU_TENSOR_MAP_U8;
    case DG_DTYPE_BF16: return DG_CU_TENSOR_MAP_BF16;
    case DG_DTYPE_F32: return DG_CU_TENSOR_MAP_F32;
    case DG_DTYPE_I32: return DG_CU_TENSOR_MAP_I32;
    default: return -1;
    }
}

/* 0, 1, 2, 3 for 0, 32, 64, 128 bytes, as the driver counts them; -1 for anything else. */
static int32_t map_swizzle(int32_t bytes) {
    for (int32_t i = 0; i <= 3; ++i) {
        if (bytes == (i == 0 ? 0 : 16 << i)) return i;
    }
    return -1;
}

static dg_status_t set_kind(const dg_map_shape_t *shape, const char *name, terms_t *terms) {
    terms->type = map_type(shape->dtype);
    DG_REQUIRE(terms->type >= 0, DG_STATUS_BAD_DTYPE, name, "",
        "%s has no type of a tensor map; copy by another way", dg_dtype_string(shape->dtype));
    DG_REQUIRE(shape->rank >= 1 && shape->rank <= MAX_AXES, DG_STATUS_BAD_RANK, name, "",
        "%d axes, expected 1 to %d: a tensor map has no more", shape->rank, MAX_AXES);
    DG_REQUIRE((uintptr_t)shape->data % ALIGNMENT == 0 && shape->data != NULL, DG_STATUS_MISALIGNED,
        name, "",
        "address %p, expected a multiple of %d: TMA copies no others; align the allocation",
        shape->data, ALIGNMENT);
    terms->swizzle = map_swizzle(shape->swizzle_bytes);
    DG_REQUIRE(terms->swizzle >= 0, DG_STATUS_BAD_VALUE, name, "",
        "swizzle of %d bytes, expected 0, 32, 64 or 128", shape->swizzle_bytes);
    return DG_STATUS_OK;
}

/* Where callers may leave anything, the least stride that the hardware takes. */
static int64_t idle_stride(const terms_t *terms, int32_t axis, int64_t element_bytes) {
    const int64_t below =
        axis == 1 ? (int64_t)terms->extents[0] * element_bytes : (int64_t)terms->strides[axis - 1];
    return dg_ceil_div(below, ALIGNMENT) * ALIGNMENT;
}

static dg_status_t set_axis(
    const dg_map_shape_t *shape, const char *name, int32_t axis, terms_t *terms) {
    const int64_t extent = shape->extent[axis], bytes = dg_dtype_size(shape->dtype);
    const int32_t box = shape->box[axis];
    DG_REQUIRE(extent >= 1 && extent <= max_extent, DG_STATUS_BAD_SHAPE, name, "",
        "extent %" PRId64 " along axis %d (0: contiguous), expected 1 to 2^32", extent, axis);
    DG_REQUIRE(box >= 1 && box <= MAX_BOX, DG_STATUS_BAD_VALUE, name, "",
        "box of %d along axis %d, expected 1 to %d", box, axis, MAX_BOX);
    terms->extents[axis] = (uint64_t)extent;
    terms->box[axis] = (uint32_t)box;
    if (axis == 0) {
        DG_REQUIRE(shape->stride[0] == 1 || extent == 1, DG_STATUS_BAD_STRIDE, name, "",
            "stride %" PRId64 " along the contiguous axis, expected 1", shape->stride[0]);
        return DG_STATUS_OK;
    }
    const int64_t stride = shape->stride[axis];
    const bool in_range = stride >= 0 && stride < max_stride_bytes / bytes;
    DG_REQUIRE(extent == 1 || (in_range && stride * bytes % ALIGNMENT == 0), DG_STATUS_BAD_STRIDE,
        name, "",
        "stride of %" PRId64
        " elements of %d bytes along axis %d (0: contiguous), expected a multiple "
        "of %d bytes from 0 to below 2^40: TMA steps by no others; pad the rows",
        stride, (int)bytes, axis, ALIGNMENT);
    terms->strides[axis] =
        (uint64_t)(extent == 1 ? idle_stride(terms, axis, bytes) : stride * bytes);
    return DG_STATUS_OK;
}

static dg_status_t set_terms(const dg_map_shape_t *shape, terms_t *terms) {
    const char *name = shape->name != NULL ? shape->name : "";
    DG_TRY(set_kind(shape, name, terms));
    for (int32_t axis = 0; axis < shape->rank; ++axis) DG_TRY(set_axis(shape, name, axis, terms));
    const int32_t width = shape->box[0] * (int32_t)dg_dtype_size(shape->dtype);
    DG_REQUIRE(width % ALIGNMENT == 0, DG_STATUS_BAD_VALUE, name, "",
        "box of %d bytes along the contiguous axis, expected a multiple of %d", width, ALIGNMENT);
    DG_REQUIRE(shape->swizzle_bytes == 0 || width <= shape->swizzle_bytes, DG_STATUS_BAD_VALUE,
        name, "", "box of %d bytes along the contiguous axis, expected at most the swizzle's %d",
        width, shape->swizzle_bytes);
    return DG_STATUS_OK;
}

dg_status_t dg_cuda_encode_map(const dg_map_shape_t *shape, dg_tensor_map_t *map) {
    static const uint32_t steps[MAX_AXES] = {1, 1, 1, 1, 1};
    const dg_driver_t *driver;
    terms_t terms;
    DG_TRY(set_terms(shape, &terms));
    DG_TRY(dg_driver_open(&driver));
    DG_TRY_DRIVER(driver, cuTensorMapEncodeTiled,
        (map, terms.type, (uint32_t)shape->rank, shape->data, terms.extents, terms.strides + 1,
            terms.box, steps, DG_CU_TENSOR_MAP_PLAIN, terms.swizzle, DG_CU_TENSOR_MAP_L2_256B,
            DG_CU_TENSOR_MAP_PLAIN));
    return DG_STATUS_OK;
}
