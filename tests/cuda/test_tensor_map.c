/* SPDX-License-Identifier: MIT
 *
 * Tensor maps: what reaches the driver, and every rule of the hardware at its limit and one beyond.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "cuda/driver.h"
#include "cuda/tensor_map.h"
#include "fake_driver.h"

static fake_controls_t controls;
static fake_driver_t *fake;
static _Alignas(256) uint8_t memory[256];

/* [1000, 640] e4m3 with rows of 656 bytes, boxes of 64 rows x 128. */
static const dg_map_shape_t good = {.data = memory,
    .dtype = DG_DTYPE_E4M3,
    .rank = 2,
    .extent = {640, 1000},
    .stride = {1, 656},
    .box = {128, 64},
    .swizzle_bytes = 128,
    .name = "a"};

static int set_up(void **state) {
    (void)state;
    reset_fake_driver(fake);
    controls.set_context(0);
    return 0;
}

static void assert_refused(const dg_map_shape_t *shape, dg_status_t status, const char *text) {
    dg_tensor_map_t map;
    memset(&map, 0x11, sizeof map);
    const dg_tensor_map_t before = map;
    assert_int_equal(dg_cuda_encode_map(shape, &map), status);
    assert_non_null(strstr(dg_last_error(), text));
    assert_string_equal(dg_last_error_argument(), "a");
    assert_memory_equal(&map, &before, sizeof map);
    assert_int_equal(fake->calls[FAKE_cuTensorMapEncodeTiled], 0);
}

static void assert_accepted(const dg_map_shape_t *shape) {
    dg_tensor_map_t map;
    const int calls = fake->calls[FAKE_cuTensorMapEncodeTiled];
    assert_int_equal(dg_cuda_encode_map(shape, &map), DG_STATUS_OK);
    assert_int_equal(fake->calls[FAKE_cuTensorMapEncodeTiled], calls + 1);
    assert_int_equal(((uint8_t *)&map)[127], 0xAB);
}

static void a_map_arrives_in_bytes(void **state) {
    (void)state;
    dg_map_shape_t shape = good;
    const fake_map_t *seen = &fake->map;
    assert_accepted(&shape);
    assert_true(seen->type == 0 && seen->rank == 2 && seen->address == memory);
    assert_true(seen->extents[0] == 640 && seen->extents[1] == 1000 && seen->strides[0] == 656);
    assert_true(seen->box[0] == 128 && seen->box[1] == 64);
    assert_true(seen->steps[0] == 1 && seen->steps[1] == 1);
    assert_true(seen->interleave == 0 && seen->swizzle == 3 && seen->promotion == 3);
    assert_int_equal(seen->fill, 0);
    const struct {
        dg_dtype_t dtype;
        int32_t type;
        uint64_t bytes;
    } types[] = {{DG_DTYPE_U8, 0, 1}, {DG_DTYPE_E8M0, 0, 1}, {DG_DTYPE_E2M1X2, 0, 1},
        {DG_DTYPE_BF16, 9, 2}, {DG_DTYPE_F32, 7, 4}, {DG_DTYPE_I32, 3, 4}};
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        shape.dtype = types[i].dtype;
        shape.box[0] = 32;
        assert_accepted(&shape);
        assert_int_equal(seen->type, types[i].type);
        assert_true(seen->strides[0] == 656 * types[i].bytes);
    }
    const int32_t swizzles[] = {0, 32, 64, 128};
    shape.dtype = DG_DTYPE_U8;
    for (int i = 0; i < 4; i++) {
        shape.swizzle_bytes = swizzles[i];
        assert_accepted(&shape);
        assert_int_equal(seen->swizzle, i);
    }
}

static void five_axes_and_idle_strides(void **state) {
    (void)state;
    const dg_map_shape_t shape = {.data = memory,
        .dtype = DG_DTYPE_BF16,
        .rank = 5,
        .extent = {100, 1, 7, 1, 3},
        .stride = {1, -5, 104, 3, 728},
        .box = {64, 1, 7, 1, 1},
        .swizzle_bytes = 128};
    assert_accepted(&shape);
    const uint64_t strides[] = {208, 208, 208, 1456};
    assert_memory_equal(fake->map.strides, strides, sizeof strides);
}

static void limits_are_met_and_not_crossed(void **state) {
    (void)state;
    dg_map_shape_t shape = good;
    shape.data = memory + 8;
    assert_refused(&shape, DG_STATUS_MISALIGNED, "expected a multiple of 16");
    shape.data = NULL;
    assert_refused(&shape, DG_STATUS_MISALIGNED, "address");
    shape = good, shape.data = memory + 16;
    shape.extent[1] = INT64_C(1) << 32;
    shape.stride[1] = (INT64_C(1) << 40) - 16;
    shape.box[1] = 256;
    assert_accepted(&shape);
    reset_fake_driver(fake);

    shape = good, shape.extent[1] = (INT64_C(1) << 32) + 1;
    assert_refused(&shape, DG_STATUS_BAD_SHAPE, "extent 4294967297 along axis 1");
    shape.extent[1] = 0;
    assert_refused(&shape, DG_STATUS_BAD_SHAPE, "expected 1 to 2^32");
    shape.extent[1] = -7;
    assert_refused(&shape, DG_STATUS_BAD_SHAPE, "extent -7");
    const int64_t strides[] = {655, 648, 1, -656, INT64_C(1) << 40, INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < sizeof strides / sizeof strides[0]; i++) {
        shape = good, shape.stride[1] = strides[i];
        assert_refused(&shape, DG_STATUS_BAD_STRIDE, "expected a multiple of 16 bytes");
    }
    shape = good, shape.dtype = DG_DTYPE_F32, shape.box[0] = 32;
    shape.stride[1] = INT64_C(1) << 38;
    assert_refused(&shape, DG_STATUS_BAD_STRIDE, "elements of 4 bytes along axis 1");
    shape = good, shape.stride[0] = 2;
    assert_refused(&shape, DG_STATUS_BAD_STRIDE, "stride 2 along the contiguous axis");
    shape = good, shape.box[1] = 257;
    assert_refused(&shape, DG_STATUS_BAD_VALUE, "box of 257 along axis 1, expected 1 to 256");
    shape.box[1] = 0;
    assert_refused(&shape, DG_STATUS_BAD_VALUE, "box of 0");
    shape = good, shape.box[0] = 72;
    assert_refused(&shape, DG_STATUS_BAD_VALUE, "box of 72 bytes");
    shape.box[0] = 144;
    assert_refused(&shape, DG_STATUS_BAD_VALUE, "at most the swizzle's 128");
    shape = good, shape.swizzle_bytes = 16;
    assert_refused(&shape, DG_STATUS_BAD_VALUE, "swizzle of 16 bytes");
    shape = good, shape.rank = 0;
    assert_refused(&shape, DG_STATUS_BAD_RANK, "0 axes");
    shape.rank = 6;
    assert_refused(&shape, DG_STATUS_BAD_RANK, "6 axes");
    shape = good, shape.dtype = DG_DTYPE_I64;
    assert_refused(&shape, DG_STATUS_BAD_DTYPE, "i64");
}

static void the_drivers_refusal_is_told(void **state) {
    (void)state;
    dg_tensor_map_t map;
    fake->result[FAKE_cuTensorMapEncodeTiled] = DG_CU_INVALID_VALUE;
    assert_int_equal(dg_cuda_encode_map(&good, &map), DG_STATUS_DRIVER);
    assert_non_null(strstr(dg_last_error(), "cuTensorMapEncodeTiled: CUDA_ERROR_INVALID_VALUE"));
}

int main(void) {
    controls = open_fake_driver();
    fake = controls.driver;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(a_map_arrives_in_bytes, set_up),
        cmocka_unit_test_setup(five_axes_and_idle_strides, set_up),
        cmocka_unit_test_setup(limits_are_met_and_not_crossed, set_up),
        cmocka_unit_test_setup(the_drivers_refusal_is_told, set_up),
    };
    return cmocka_run_group_tests_name("tensor_map", tests, NULL, NULL);
}
