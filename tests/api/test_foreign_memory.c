/* SPDX-License-Identifier: MIT
 *
 * Tensors in memory that the host cannot read, on a machine without a GPU: casts, layouts and products
 * say that there is no driver. Nothing is read before that, group values included: every address here
 * faults when it is touched.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

/* A CUDA tensor at an address that no process maps, 64 bytes from any other. */
static dg_tensor_t on_gpu(dg_dtype_t dtype, int64_t n0, int64_t n1) {
    static uintptr_t next = 0x1000;
    const void *nowhere = (const void *)next;
    next += 192; /* the largest takes 128 */
    dg_tensor_t tensor =
        n1 > 0 ? dg_tensor_2d(nowhere, dtype, n0, n1) : dg_tensor_1d(nowhere, dtype, n0);
    tensor.device = (dg_device_t){DG_DEVICE_CUDA, 0};
    return tensor;
}

static void refused(dg_status_t status, dg_status_t expected, const char *argument) {
    assert_int_equal(status, expected);
    assert_string_equal(dg_last_error_argument(), argument);
    assert_non_null(dg_last_error());
}

static void casts_do_not_read_group_values_there(void **state) {
    (void)state;
    dg_quantize_args_t args = DG_QUANTIZE_ARGS_INIT;
    args.x = on_gpu(DG_DTYPE_F32, 8, 4);
    args.out[0].data = on_gpu(DG_DTYPE_E4M3, 8, 4);
    args.out[0].scale = on_gpu(DG_DTYPE_F32, 8, 4);
    args.out[0].gran[0] = args.out[0].gran[1] = 1;
    args.groups.form = DG_GROUPS_SIZES;
    args.groups.values = on_gpu(DG_DTYPE_I32, 2, 0);
    refused(dg_quantize(NULL, &args, NULL), DG_STATUS_UNSUPPORTED, "");

    dg_dequantize_args_t back = DG_DEQUANTIZE_ARGS_INIT;
    back.q = args.out[0];
    back.x = args.x;
    back.groups = args.groups;
    refused(dg_dequantize(NULL, &back, NULL), DG_STATUS_UNSUPPORTED, "");

    args.x.device.type = DG_DEVICE_CPU;
    refused(dg_quantize(NULL, &args, NULL), DG_STATUS_BAD_DEVICE, "out[0].data");
    args.x.device.type = (dg_device_type_t)9;
    refused(dg_quantize(NULL, &args, NULL), DG_STATUS_BAD_DEVICE, "x");
}

static void scale_layouts_do_not_read_there(void **state) {
    (void)state;
    dg_scale_convert_args_t convert = DG_SCALE_CONVERT_ARGS_INIT;
    convert.src = on_gpu(DG_DTYPE_F32, 8, 4);
    convert.dst = on_gpu(DG_DTYPE_I32, 8, 1);
    convert.k_blocks = 4;
    convert.groups.form = DG_GROUPS_PSUM;
    convert.groups.values = on_gpu(DG_DTYPE_I32, 2, 0);
    refused(dg_scale_convert(NULL, &convert, NULL), DG_STATUS_UNSUPPORTED, "");

    dg_scale_pack_k_grouped_args_t pack = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
    pack.src = on_gpu(DG_DTYPE_F32, 8, 4);
    pack.dst = on_gpu(DG_DTYPE_I32, 8, 4);
    pack.gran_k = 128;
    pack.groups.form = DG_GROUPS_SIZES;
    pack.groups.values = on_gpu(DG_DTYPE_I32, 2, 0);
    refused(dg_scale_pack_k_grouped(NULL, &pack, NULL), DG_STATUS_UNSUPPORTED, "");
}

static void products_do_not_read_there(void **state) {
    (void)state;
    dg_m_grouped_gemm_args_t args = DG_M_GROUPED_GEMM_ARGS_INIT;
    args.a.data = on_gpu(DG_DTYPE_E4M3, 8, 4);
    args.b.data = dg_tensor_3d((const void *)(uintptr_t)0x1000, DG_DTYPE_E4M3, 2, 4, 4);
    args.b.data.device = args.a.data.device;
    args.a.gran_mn = args.b.gran_mn = 1;
    args.a.gran_k = args.b.gran_k = 128;
    args.d = on_gpu(DG_DTYPE_F32, 8, 4);
    args.groups.form = DG_GROUPS_INDEX;
    args.groups.values = on_gpu(DG_DTYPE_I32, 8, 0);
    refused(dg_m_grouped_gemm(NULL, &args, NULL), DG_STATUS_UNSUPPORTED, "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(casts_do_not_read_group_values_there),
        cmocka_unit_test(scale_layouts_do_not_read_there),
        cmocka_unit_test(products_do_not_read_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
