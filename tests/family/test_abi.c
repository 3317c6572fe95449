/* SPDX-License-Identifier: MIT
 *
 * What a program compiled with these headers relies on: numbers of statuses, element types and
 * forms, sizes and offsets of structs (LP64), strings, version, and the small functions on tensors.
 * A change here breaks programs that are already built. test_abi.cc asks the same of C++.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "deep_gemm/deep_gemm.h"

int abi_from_cpp(void);

#if defined(__LP64__)
_Static_assert(sizeof(dg_status_t) == 4, "enum");
_Static_assert(sizeof(dg_device_t) == 8, "device");
_Static_assert(sizeof(dg_tensor_t) == 88, "tensor");
_Static_assert(offsetof(dg_tensor_t, device) == 8, "tensor.device");
_Static_assert(offsetof(dg_tensor_t, dtype) == 16, "tensor.dtype");
_Static_assert(offsetof(dg_tensor_t, rank) == 20, "tensor.rank");
_Static_assert(offsetof(dg_tensor_t, shape) == 24, "tensor.shape");
_Static_assert(offsetof(dg_tensor_t, stride) == 56, "tensor.stride");
_Static_assert(sizeof(dg_context_options_t) == 88, "options");
_Static_assert(offsetof(dg_context_options_t, log) == 64, "options.log");
_Static_assert(sizeof(dg_launch_t) == 56, "launch");
_Static_assert(sizeof(dg_env_entry_t) == 32, "env entry");
_Static_assert(sizeof(dg_device_info_t) == 136, "device info");
_Static_assert(offsetof(dg_device_info_t, driver_version) == 128, "device info.driver_version");
_Static_assert(sizeof(dg_operand_t) == 184, "operand");
_Static_assert(sizeof(dg_gemm_args_t) == 552, "gemm");
_Static_assert(sizeof(dg_groups_t) == 120, "groups");
_Static_assert(sizeof(dg_cublaslt_gemm_args_t) == 368, "cublaslt_gemm");
_Static_assert(sizeof(dg_m_grouped_gemm_args_t) == 768, "m_grouped");
_Static_assert(sizeof(dg_k_operand_t) == 280, "k operand");
_Static_assert(sizeof(dg_k_grouped_gemm_args_t) == 896, "k_grouped");
_Static_assert(sizeof(dg_einsum_args_t) == 560, "einsum");
_Static_assert(sizeof(dg_gemm_skip_head_mid_args_t) == 480, "skip head mid");
_Static_assert(sizeof(dg_tf32_hc_prenorm_gemm_args_t) == 360, "hc prenorm");
_Static_assert(sizeof(dg_quantized_t) == 200, "quantized");
_Static_assert(sizeof(dg_quantize_args_t) == 616, "quantize");
_Static_assert(sizeof(dg_dequantize_args_t) == 416, "dequantize");
_Static_assert(sizeof(dg_route_tokens_args_t) == 544, "route tokens");
_Static_assert(sizeof(dg_permute_rows_args_t) == 448, "permute rows");
_Static_assert(sizeof(dg_unpermute_rows_args_t) == 360, "unpermute rows");
_Static_assert(sizeof(dg_dot_rows_args_t) == 360, "dot rows");
_Static_assert(sizeof(dg_scale_convert_args_t) == 320, "scale convert");
_Static_assert(sizeof(dg_scale_pack_k_grouped_args_t) == 312, "scale pack");
_Static_assert(sizeof(dg_scale_transform_args_t) == 256, "scale transform");
_Static_assert(sizeof(dg_mqa_logits_args_t) == 720, "mqa_logits");
_Static_assert(sizeof(dg_paged_mqa_logits_args_t) == 808, "paged_mqa_logits");
_Static_assert(sizeof(dg_paged_mqa_logits_schedule_args_t) == 184, "paged_mqa_logits schedule");
_Static_assert(sizeof(dg_plan_query_t) == 40, "plan query");
_Static_assert(sizeof(dg_plan_candidate_t) == 32, "plan candidate");
_Static_assert(sizeof(dg_plan_stage_info_t) == 792, "plan stage");
_Static_assert(sizeof(dg_plan_info_t) == 4008, "plan info");
_Static_assert(offsetof(dg_plan_info_t, us) == 3224, "plan info.us");
_Static_assert(sizeof(dg_plan_request_t) == 40, "plan request");
_Static_assert(sizeof(dg_plan_machine_t) == 48, "plan machine");
#endif

static void test_statuses(void **state) {
    (void)state;
    static const char *const names[] = {"OK", "NULL_POINTER", "BAD_STRUCT_SIZE", "BAD_CONTEXT",
        "BAD_ENUM", "BAD_DTYPE", "BAD_RANK", "BAD_SHAPE", "BAD_STRIDE", "MISALIGNED", "OVERLAP",
        "BAD_SCALE", "BAD_VALUE", "BAD_DEVICE", "UNSUPPORTED", "OUT_OF_MEMORY", "SMALL_WORKSPACE",
        "NOT_COMPILED", "DRIVER", "COMPILER", "IO", "INTERNAL"};
    for (int i = 0; i < 22; i++) {
        const char *text = dg_status_string((dg_status_t)i);
        assert_int_equal(strncmp(text, "DG_STATUS_", 10), 0);
        assert_string_equal(text + 10, names[i]);
    }
    assert_string_equal(dg_status_string((dg_status_t)22), "DG_STATUS_?");
    assert_string_equal(dg_status_string((dg_status_t)-1), "DG_STATUS_?");
    assert_string_equal(dg_status_string((dg_status_t)0x7FFFFFFF), "DG_STATUS_?");
}

static void test_numbers(void **state) {
    (void)state;
    const int numbers[][2] = {{DG_STATUS_INTERNAL, 21}, {DG_DTYPE_NONE, 0}, {DG_DTYPE_E4M3, 1},
        {DG_DTYPE_E2M1X2, 2}, {DG_DTYPE_E8M0, 3}, {DG_DTYPE_BF16, 4}, {DG_DTYPE_F32, 5},
        {DG_DTYPE_I32, 6}, {DG_DTYPE_I64, 7}, {DG_DTYPE_U8, 8}, {DG_DTYPE_F16, 9},
        {DG_DEVICE_CPU, 1}, {DG_DEVICE_CUDA, 2}, {DG_ON, 1}, {DG_OFF, 2}, {DG_CPU_ISA_PORTABLE, 1},
        {DG_CPU_ISA_AVX2, 2}, {DG_CPU_ISA_AVX512, 3}, {DG_CPU_ISA_NEON, 4}, {DG_GROUPS_SIZES, 1},
        {DG_GROUPS_OFFSETS, 2}, {DG_GROUPS_PSUM, 3}, {DG_GROUPS_INDEX, 4},
        {DG_GROUPS_BLOCK_INDEX, 5}, {DG_GROUPS_MASKED, 6}, {DG_K_TOKENS_FIRST, 1},
        {DG_K_TOKENS_LAST, 2}, {DG_K_FLAT, 3}, {DG_K_OUTPUT_STACK, 0}, {DG_K_OUTPUT_LIST, 1},
        {DG_K_OUTPUT_SUM, 2}, {DG_K_AXIS_LAST, 0}, {DG_K_AXIS_ROWS, 1}, {DG_MAX_RANK, 4}};
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        assert_int_equal(numbers[i][0], numbers[i][1]);
    }
}

static void test_dtypes(void **state) {
    (void)state;
    static const struct {
        const char *name;
        int64_t size;
        uint8_t code, bits;
    } types[] = {{"?", 0, 0, 0}, {"e4m3", 1, 10, 8}, {"e2m1x2", 1, 17, 4}, {"e8m0", 1, 14, 8},
        {"bf16", 2, 4, 16}, {"f32", 4, 2, 32}, {"i32", 4, 0, 32}, {"i64", 8, 0, 64},
        {"u8", 1, 1, 8}, {"f16", 2, 2, 16}, {"?", 0, 0, 0}};
    for (int i = 0; i < 11; i++) {
        assert_string_equal(dg_dtype_string((dg_dtype_t)i), types[i].name);
        assert_int_equal(dg_dtype_size((dg_dtype_t)i), types[i].size);
        if (types[i].bits == 0) continue;
        const uint16_t lanes = i == DG_DTYPE_E2M1X2 ? 2 : 1;
        assert_int_equal(dg_dtype_from_dlpack(types[i].code, types[i].bits, lanes), i);
        assert_int_equal(dg_dtype_from_dlpack(types[i].code, types[i].bits, 3), DG_DTYPE_NONE);
    }
    assert_int_equal(dg_dtype_from_dlpack(2, 64, 1), DG_DTYPE_NONE);
    assert_string_equal(dg_dtype_string((dg_dtype_t)-7), "?");
    assert_int_equal(dg_dtype_size((dg_dtype_t)-7), 0);
}

static void test_tensors(void **state) {
    (void)state;
    char memory[8] = {0};
    const dg_tensor_t t = dg_tensor_3d(memory, DG_DTYPE_BF16, 3, 4, 5);
    assert_ptr_equal(t.data, memory);
    assert_int_equal(t.device.type, DG_DEVICE_CPU);
    assert_int_equal(t.device.id, 0);
    assert_int_equal(t.rank, 3);
    assert_true(t.shape[0] == 3 && t.shape[1] == 4 && t.shape[2] == 5);
    assert_true(t.stride[0] == 20 && t.stride[1] == 5 && t.stride[2] == 1);
    const dg_tensor_t turned = dg_tensor_transpose(t);
    assert_true(turned.shape[0] == 3 && turned.shape[1] == 5 && turned.shape[2] == 4);
    assert_true(turned.stride[0] == 20 && turned.stride[1] == 1 && turned.stride[2] == 5);
    const dg_tensor_t line = dg_tensor_1d(memory, DG_DTYPE_U8, 8);
    const dg_tensor_t same = dg_tensor_transpose(line);
    assert_true(same.rank == 1 && same.shape[0] == 8 && same.stride[0] == 1);
    const dg_tensor_t big = dg_tensor_2d(memory, DG_DTYPE_F32, 1, INT64_C(1) << 40);
    assert_true(big.stride[0] == INT64_C(1) << 40 && big.rank == 2);
    const dg_tensor_t none = DG_NO_TENSOR;
    assert_true(none.data == NULL && none.rank == 0 && none.dtype == DG_DTYPE_NONE);
}

static void test_initialisers(void **state) {
    (void)state;
    const dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    const dg_launch_t launch = DG_LAUNCH_INIT;
    const dg_device_info_t info = DG_DEVICE_INFO_INIT;
    const dg_gemm_args_t gemm = DG_GEMM_ARGS_INIT;
    const dg_cublaslt_gemm_args_t cublaslt = DG_CUBLASLT_GEMM_ARGS_INIT;
    const dg_m_grouped_gemm_args_t m_grouped = DG_M_GROUPED_GEMM_ARGS_INIT;
    const dg_k_grouped_gemm_args_t k_grouped = DG_K_GROUPED_GEMM_ARGS_INIT;
    const dg_einsum_args_t einsum = DG_EINSUM_ARGS_INIT;
    const dg_gemm_skip_head_mid_args_t skip_head_mid = DG_GEMM_SKIP_HEAD_MID_ARGS_INIT;
    const dg_tf32_hc_prenorm_gemm_args_t hc_prenorm = DG_TF32_HC_PRENORM_GEMM_ARGS_INIT;
    const dg_quantize_args_t quantize = DG_QUANTIZE_ARGS_INIT;
    const dg_dequantize_args_t dequantize = DG_DEQUANTIZE_ARGS_INIT;
    const dg_scale_convert_args_t convert = DG_SCALE_CONVERT_ARGS_INIT;
    const dg_scale_pack_k_grouped_args_t pack = DG_SCALE_PACK_K_GROUPED_ARGS_INIT;
    const dg_scale_transform_args_t transform = DG_SCALE_TRANSFORM_ARGS_INIT;
    const dg_mqa_logits_args_t logits = DG_MQA_LOGITS_ARGS_INIT;
    const dg_paged_mqa_logits_args_t paged = DG_PAGED_MQA_LOGITS_ARGS_INIT;
    const dg_paged_mqa_logits_schedule_args_t schedule = DG_PAGED_MQA_LOGITS_SCHEDULE_ARGS_INIT;
    assert_int_equal(options.struct_size, sizeof options);
    assert_int_equal(launch.struct_size, sizeof launch);
    assert_int_equal(info.struct_size, sizeof info);
    assert_int_equal(gemm.struct_size, sizeof gemm);
    assert_int_equal(cublaslt.struct_size, sizeof cublaslt);
    assert_int_equal(m_grouped.struct_size, sizeof m_grouped);
    assert_int_equal(k_grouped.struct_size, sizeof k_grouped);
    assert_int_equal(einsum.struct_size, sizeof einsum);
    assert_int_equal(skip_head_mid.struct_size, sizeof skip_head_mid);
    assert_int_equal(hc_prenorm.struct_size, sizeof hc_prenorm);
    assert_int_equal(quantize.struct_size, sizeof quantize);
    assert_int_equal(dequantize.struct_size, sizeof dequantize);
    assert_int_equal(convert.struct_size, sizeof convert);
    assert_int_equal(pack.struct_size, sizeof pack);
    assert_int_equal(transform.struct_size, sizeof transform);
    assert_int_equal(logits.struct_size, sizeof logits);
    assert_int_equal(paged.struct_size, sizeof paged);
    assert_int_equal(schedule.struct_size, sizeof schedule);
    assert_true(gemm.d.data == NULL && k_grouped.d_list == NULL && m_grouped.expected_m == 0);
}

static void test_version_and_sizes(void **state) {
    (void)state;
    assert_string_equal(dg_version(), DG_VERSION_STRING);
    assert_int_equal(dg_tma_aligned_size(5, 4), 8);
    assert_int_equal(dg_tma_aligned_size(0, 2), 0);
    assert_int_equal(dg_tma_aligned_size(17, 1), 32);
    assert_int_equal(dg_tma_aligned_size(3, 16), 3);
    assert_int_equal(dg_tma_aligned_size(-1, 4), -1);
    assert_int_equal(dg_tma_aligned_size(5, 3), -1);
    const int64_t sizes[] = {0, 1, 128, 129, -4, 513};
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 6, 128, 0), 0 + 1 + 1 + 2 + 0 + 5);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 6, 128, 1), 0 + 1 + 1 + 1 + 0 + 2);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 0, 128, 0), 0);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, -1, 128, 0), -1);
    assert_int_equal(dg_k_grouped_scale_rows(sizes, 6, 0, 0), -1);
    const dg_tensor_t f = dg_scale_mn_major(NULL, DG_DTYPE_F32, 3, 5, 7);
    assert_true(f.rank == 3 && f.shape[0] == 3 && f.shape[1] == 5 && f.shape[2] == 7);
    assert_true(f.stride[0] == 56 && f.stride[1] == 1 && f.stride[2] == 8);
    assert_string_equal(dg_cpu_isa_string(DG_CPU_ISA_AVX2), "avx2");
    assert_string_equal(dg_cpu_isa_string((dg_cpu_isa_t)55), "?");
    assert_int_equal(dg_cpu_isa_supported(DG_CPU_ISA_PORTABLE), 1);
    assert_int_equal(dg_cpu_isa_supported((dg_cpu_isa_t)55), 0);
}

static void test_cpp(void **state) {
    (void)state;
    assert_int_equal(abi_from_cpp(), 0);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_statuses),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_dtypes),
        cmocka_unit_test(test_tensors),
        cmocka_unit_test(test_initialisers),
        cmocka_unit_test(test_version_and_sizes),
        cmocka_unit_test(test_cpp),
    };
    return cmocka_run_group_tests_name("abi", tests, NULL, NULL);
}
