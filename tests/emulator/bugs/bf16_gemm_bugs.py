# SPDX-License-Identifier: MIT
"""Bugs of bf16_gemm that the emulator must find, each as a change of the kernel's text: what this kernel
has for itself. Those of the pieces it shares are in fp8_gemm_block_bugs.py.

BUGS: (name, specialisation that has it, [(text that occurs exactly once, what stands there instead),
...]). Read by mutate.py."""

EXPECT = "mbarrier_arrive_expect(barrier, STAGE_BYTES);"
TRIMMED = """fence_proxy_async();
                    warp_sync();
                    if (lane_index() == 0) mbarrier_arrive(full_barrier(p));"""

BUGS = [
    # ---- the ring
    ("bf16_full_not_waited_for", "bf16_nt", [("wait_full(p);\n            start_products",
                                              "start_products")]),
    ("bf16_empty_not_waited_for", "bf16_nt",
     [("wait_empty(p);\n                mbarrier_arrive_expect",
                                               "mbarrier_arrive_expect")]),
    ("bf16_bytes_not_announced", "bf16_nt", [(EXPECT, "mbarrier_arrive(barrier);")]),
    ("bf16_too_few_bytes_announced", "bf16_nn",
     [("STAGE_BYTES (A_BYTES + B_BYTES)", "STAGE_BYTES (A_BYTES + B_BYTES / 2)")]),
    ("bf16_own_stage_released_while_its_products_run", "bf16_nt",
     [("release(last);\n            }\n            last = p;",
       "release(p);\n            }\n            last = p;"),
      ("if (k_blocks > 0) release(last);", "")]),
    ("bf16_stage_released_before_the_wait", "bf16_nt",
     [("wgmma_wait<1>();\n                release(last);",
       "release(last);\n                wgmma_wait<1>();")]),
    ("bf16_last_stage_never_released", "bf16_nt", [("if (k_blocks > 0) release(last);", "")]),
    ("bf16_first_stage_released_by_an_empty_tile", "bf16_k_tn",
     [("if (k_blocks > 0) release(last);", "release(last);")]),
    # ---- products
    ("bf16_sums_read_before_the_wait", "bf16_nt", [("        wgmma_wait<0>();\n", "")]),
    ("bf16_one_batch_too_many_in_flight", "bf16_nt", [("wgmma_wait<1>();", "wgmma_wait<2>();")]),
    ("bf16_no_wgmma_fence", "bf16_nt", [("    wgmma_fence();\n", "")]),
    ("bf16_no_wgmma_commit", "bf16_nt", [("    wgmma_commit();\n", "")]),
    ("bf16_sums_of_the_tile_before_kept", "bf16_nt",
     [("[i % (BLOCK_N / 2)] = 0.f;\n\n", "[i % (BLOCK_N / 2)] *= 1.f;\n\n")]),
    ("bf16_step_of_k_as_if_k_were_fastest", "bf16_tt",
     [("#define A_STEP (A_MN ? 2048 / 16", "#define A_STEP (A_MN ? 32 / 16")]),
    ("bf16_next_64_of_n_in_the_wrong_place", "bf16_nn",
     [("make_descriptor(address, PART_BYTES, 1024", "make_descriptor(address, 1024, PART_BYTES")]),
    ("bf16_second_warpgroup_reads_rows_of_the_first", "bf16_nt",
     [("describe(base + part * WARP_ROWS * PART_BYTES, A_MN)", "describe(base, A_MN)")]),
    # ---- pairs
    ("bf16_half_of_a_sent_to_one_cta_only", "bf16_share_a",
     [("barrier, row + i, k, matrix, 3);", "barrier, row + i, k, matrix, 1);")]),
    ("bf16_both_ctas_load_the_same_half", "bf16_share_a",
     [("rows / 2 * (int)cluster_rank();", "0 * (int)cluster_rank();")]),
    ("bf16_exit_while_the_peer_still_signals", "bf16_share_a",
     [("its memory. */\n    cluster_sync();", "its memory. */")]),
    # ---- ends of groups
    ("bf16_tokens_of_others_not_trimmed", "bf16_k_tn",
     [("return SCHEDULE == DG_SCHEDULE_K_GROUPED && (k <",
                                                         "return false && (k <")]),
    ("bf16_front_of_a_group_not_trimmed", "bf16_k_nt",
     [("(k < span.begin || k + BLOCK_K", "(k + BLOCK_K")]),
    ("bf16_one_token_too_many", "bf16_k_tn", [("clear_lines(operand, rows, end, BLOCK_K);",
                                               "clear_lines(operand, rows, end + 1, BLOCK_K);")]),
    ("bf16_one_token_too_few", "bf16_k_nt",
     [("end - k < 8 ? (1u << (end - k)) - 1", "end - k < 8 ? (1u << (end - k)) / 2 - 1")]),
    ("bf16_only_a_trimmed", "bf16_k_tn", [("trim(base + AT_B", "if (false) trim(base + AT_B")]),
    ("bf16_tail_not_waited_for", "bf16_k_tn",
     [("mbarrier_wait(tail_barrier(p), parities >> p.stage & 1);", "")]),
    ("bf16_tail_parity_never_flips", "bf16_k_tn", [("parities ^= 1u << p.stage;", "")]),
    ("bf16_trimmed_without_proxy_fence", "bf16_k_tn",
     [(TRIMMED, TRIMMED.replace("fence_proxy_async();", ""))]),
    ("bf16_announced_before_all_lanes_trimmed", "bf16_k_tn",
     [(TRIMMED, TRIMMED.replace("warp_sync();", ""))]),
    # ---- the way out
    ("bf16_chunk_read_before_all_lanes_wrote", "bf16_nt",
     [("stmatrix_x4(chunk_at(chunk, lane & 15, (uint32_t)i * 2 + (lane >> 4)), values);\n    }\n    warp_sync();",
       "stmatrix_x4(chunk_at(chunk, lane & 15, (uint32_t)i * 2 + (lane >> 4)), values);\n    }")]),
    ("bf16_chunk_overwritten_before_all_lanes_read", "bf16_k_tn",
     [("quarter = lane_index() % 4;\n    warp_sync();", "quarter = lane_index() % 4;")]),
    ("bf16_rows_of_the_next_group_written", "bf16_m_nt",
     [("return (int)lane_index() / 8 + i * 4 < to->rows &&", "return")]),
    ("bf16_c_added_to_the_wrong_row", "bf16_k_tn",
     [("(row + i * 4) * pitch", "(row + i * 4 % 12) * pitch")]),
]
