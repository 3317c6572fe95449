/* SPDX-License-Identifier: MIT
 *
 * Every kernel: id, name, source, architecture (90: sm_90a; 0: any), and the macros that make a
 * specialisation of it. Included with DG_KERNEL defined, by src/plan and by tools. The
 * specialisations that are built into the library are listed in kernels/catalogue.txt. No include
 * guard: it is a list. */
#ifndef DG_FIELDS
#    define DG_FIELDS(...) __VA_ARGS__
#endif
DG_KERNEL(ANY_GEMM, "any_gemm", "any/gemm.cu", 0, DG_FIELDS("BLOCK_M", "BLOCK_N", "WIDE"))
DG_KERNEL(ANY_GROUP_TILES, "any_group_tiles", "any/group_tiles.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_K_SEGMENTS, "any_k_segments", "any/k_segments.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_UPLOAD, "any_upload", "any/upload.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_CAST_TILE, "any_cast_tile", "any/cast_tile.cu", 0, DG_FIELDS("WIDE", "FP4"))
DG_KERNEL(ANY_CAST_FACTORS, "any_cast_factors", "any/cast_factors.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_CAST_CODES, "any_cast_codes", "any/cast_codes.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_CAST_VALUES, "any_cast_values", "any/cast_values.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_SCALE_COPY, "any_scale_copy", "any/scale_copy.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_SCALE_WORDS, "any_scale_words", "any/scale_words.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(
    ANY_ROUTE_TOKENS, "any_route_tokens", "any/route_tokens.cu", 0, DG_FIELDS("PLACE", "THREADS"))
DG_KERNEL(ANY_PERMUTE_ROWS, "any_permute_rows", "any/permute_rows.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(
    ANY_UNPERMUTE_ROWS, "any_unpermute_rows", "any/unpermute_rows.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_DOT_ROWS, "any_dot_rows", "any/dot_rows.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_MQA_LOGITS, "any_mqa_logits", "any/mqa_logits.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(ANY_MQA_SCHEDULE, "any_mqa_schedule", "any/mqa_schedule.cu", 0, DG_FIELDS("THREADS"))
DG_KERNEL(SM90_FP8_MQA_LOGITS, "sm90_fp8_mqa_logits", "sm90/fp8_mqa_logits.cu", 90,
    DG_FIELDS("DIM", "HEADS", "STAGES"))
DG_KERNEL(SM90_FP8_GEMM_BLOCK, "sm90_fp8_gemm_block", "sm90/fp8_gemm_block.cu", 90,
    DG_FIELDS("BLOCK_M", "BLOCK_N", "STAGES", "MATH_GROUPS", "SHARE", "STORE_N", "STORE_ROWS",
        "STORE_BUFFERS", "UNROLL_K", "OUT_F32", "ADD_C", "SCHEDULE"))
DG_KERNEL(SM90_FP8_GEMM_SWAP, "sm90_fp8_gemm_swap", "sm90/fp8_gemm_swap.cu", 90,
    DG_FIELDS(
        "BLOCK_M", "BLOCK_N", "STAGES", "MATH_GROUPS", "SPLITS", "PER_SM", "RING_SUMS", "SCHEDULE"))
DG_KERNEL(SM90_FLAT_MAPS, "sm90_flat_maps", "sm90/flat_maps.cu", 90, DG_FIELDS("THREADS"))
DG_KERNEL(SM90_FP8_GEMM_VECTOR, "sm90_fp8_gemm_vector", "sm90/fp8_gemm_vector.cu", 90,
    DG_FIELDS("BLOCK_M", "BLOCK_N", "STAGES", "MATH_GROUPS", "SHARE", "A_MN", "B_MN", "SCHEDULE",
        "OUT_F32", "UNROLL_K"))
DG_KERNEL(SM90_BF16_GEMM, "sm90_bf16_gemm", "sm90/bf16_gemm.cu", 90,
    DG_FIELDS("BLOCK_M", "BLOCK_N", "STAGES", "MATH_GROUPS", "SHARE", "TURNS", "A_MN", "B_MN",
        "SCHEDULE"))
DG_KERNEL(SM90_BF16_GEMM_SWAP, "sm90_bf16_gemm_swap", "sm90/bf16_gemm_swap.cu", 90,
    DG_FIELDS("BLOCK_M", "BLOCK_N", "STAGES"))
DG_KERNEL(ANY_TF32_HC_PRENORM_GEMM, "any_tf32_hc_prenorm_gemm", "any/tf32_hc_prenorm_gemm.cu", 0,
    DG_FIELDS("BLOCK_N", "STAGES"))
DG_KERNEL(ANY_SUM_SLICES, "any_sum_slices", "any/sum_slices.cu", 0, DG_FIELDS("THREADS"))
