// SPDX-License-Identifier: MIT
//
// The headers as C++: they compile without warnings, initialisers work, structs have the layout of
// C, and calls link. Called by test_abi.c.
#include <cstddef>
#include <cstdint>

#include "deep_gemm/deep_gemm.h"

extern "C" int abi_from_cpp(void);

#if defined(__LP64__)
static_assert(sizeof(dg_tensor_t) == 88, "tensor");
static_assert(sizeof(dg_gemm_args_t) == 552, "gemm");
static_assert(sizeof(dg_m_grouped_gemm_args_t) == 768, "m_grouped");
static_assert(sizeof(dg_k_grouped_gemm_args_t) == 896, "k_grouped");
static_assert(sizeof(dg_einsum_args_t) == 560, "einsum");
static_assert(sizeof(dg_quantize_args_t) == 616, "quantize");
static_assert(sizeof(dg_context_options_t) == 88, "options");
#endif

// 0, or the number of the first step that went wrong.
int abi_from_cpp(void) {
    const std::uint16_t ones[4] = {0x3F80, 0x3F80, 0x3F80, 0x3F80};
    float d = -1.0F;
    dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
    dg_m_grouped_gemm_args_t m_grouped = DG_M_GROUPED_GEMM_ARGS_INIT;
    dg_k_grouped_gemm_args_t k_grouped = DG_K_GROUPED_GEMM_ARGS_INIT;
    dg_quantize_args_t quantize = DG_QUANTIZE_ARGS_INIT;
    dg_scale_convert_args_t convert = DG_SCALE_CONVERT_ARGS_INIT;
    dg_mqa_logits_args_t logits = DG_MQA_LOGITS_ARGS_INIT;
    dg_paged_mqa_logits_args_t paged = DG_PAGED_MQA_LOGITS_ARGS_INIT;
    if (logits.struct_size != sizeof logits || paged.struct_size != sizeof paged) return 6;
    if (options.struct_size != sizeof options || m_grouped.struct_size != sizeof m_grouped ||
        k_grouped.struct_size != sizeof k_grouped || quantize.struct_size != sizeof quantize ||
        convert.struct_size != sizeof convert) {
        return 1;
    }
    dg_gemm_args_t args = DG_GEMM_ARGS_INIT;
    args.a.data = dg_tensor_2d(ones, DG_DTYPE_BF16, 1, 4);
    args.b.data = dg_tensor_2d(ones, DG_DTYPE_BF16, 1, 4);
    args.d = dg_tensor_2d(&d, DG_DTYPE_F32, 1, 1);
    dg_context_t *ctx = nullptr;
    if (dg_context_create(&ctx, &options) != DG_STATUS_OK) return 2;
    if (dg_gemm(ctx, &args, nullptr) != DG_STATUS_OK || d != 4.0F) return 3;
    if (dg_gemm(ctx, nullptr, nullptr) != DG_STATUS_NULL_POINTER) return 4;
    if (dg_context_destroy(ctx) != DG_STATUS_OK) return 5;
    return 0;
}
