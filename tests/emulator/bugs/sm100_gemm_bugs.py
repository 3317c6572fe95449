# SPDX-License-Identifier: MIT
"""Bugs of tests/emulator/sm100_gemm.cu that the emulator must find. As fp8_gemm_block_bugs.py."""

LOAD = """            tcgen05_load_x32(values, columns + accumulator.index * BLOCK_N + c + lanes);
            tcgen05_wait_load();
"""
STORE = "store_values(args, values, row, tile_column(args, t) + (int)c);\n"
DRAINED = "wait_for_tensor_memory(free_barrier(accumulator.index), accumulator.parity ^ 1);"

BUGS = [
    # ---- accumulators
    ("no_fence_after_any_wait", "sm100_plain",
     [("mbarrier_wait_cluster(barrier, parity);\n    tcgen05_fence_after();",
       "mbarrier_wait_cluster(barrier, parity);"),
      ("cluster_sync();\n    tcgen05_fence_after();", "cluster_sync();")]),
    ("accumulator_reused_before_it_was_stored", "sm100_plain", [(DRAINED, ";")]),
    ("full_not_waited_for", "sm100_plain",
     [("wait_for_tensor_memory(full_barrier(p.index), p.parity);", ";")]),
    ("accumulators_overlap", "sm100_plain",
     [("sums = columns + accumulator.index * BLOCK_N;",
       "sums = columns + accumulator.index * (BLOCK_N / 2);")]),
    ("first_product_of_every_block_starts_anew", "sm100_plain",
     [("accumulate = !first || k > 0;", "accumulate = k > 0;")]),
    ("stage_released_before_its_products_are_done", "sm100_plain",
     [("commit(empty_barrier(p.index));", "mbarrier_arrive(empty_barrier(p.index));")]),
    ("sums_announced_before_they_are_done", "sm100_plain",
     [("commit(sums_barrier(accumulator.index));",
       "mbarrier_arrive(sums_barrier(accumulator.index));")]),
    ("every_warp_loads_the_first_lanes", "sm100_plain",
     [("lanes = (quarter * 32) << 16;", "lanes = 0;")]),
    ("loaded_values_used_before_the_wait", "sm100_plain",
     [(LOAD + "            " + STORE,
       LOAD.replace("            tcgen05_wait_load();\n", "") + "            " + STORE +
       "            tcgen05_wait_load();\n")]),
    ("no_fence_before_the_accumulator_is_given_back", "sm100_plain",
     [("tcgen05_fence_before();\n        warp_sync();", "warp_sync();")]),
    ("tensor_memory_never_given_back", "sm100_plain",
     [("if (warp == 2) tcgen05_deallocate<CTAS>(columns, COLUMNS);", "")]),
    # ---- beyond the classical eleven
    ("tensor_memory_given_back_too_early", "sm100_plain",
     [("    warp_sync();\n    sync_with_tensor_memory();\n", "    warp_sync();\n")]),
    ("permit_given_back_before_the_allocation", "sm100_plain",
     [("        tcgen05_allocate<CTAS>(shared_base() + AT_COLUMNS, COLUMNS);\n"
       "        tcgen05_relinquish<CTAS>();",
       "        tcgen05_relinquish<CTAS>();\n"
       "        tcgen05_allocate<CTAS>(shared_base() + AT_COLUMNS, COLUMNS);")]),
    ("columns_read_before_the_allocation", "sm100_plain",
     [("    sync_with_tensor_memory();\n    const uint32_t columns", "    const uint32_t columns"),
      ("if (warp == 0 && elect_one()) load_tiles(&args);",
       "sync_with_tensor_memory();\n    if (warp == 0 && elect_one()) load_tiles(&args);")]),
    ("fewer_columns_than_used", "sm100_plain",
     [("(USED_COLUMNS > 256 ? 512 : USED_COLUMNS > 128 ? 256 : 128)", "128")]),
    ("warp_missing_from_the_count_of_free", "sm100_plain",
     [("mbarrier_init(free_barrier(i), 4 * CTAS);",
       "mbarrier_init(free_barrier(i), 4 * CTAS - 1);")]),
    ("accumulator_given_back_to_the_own_cta", "sm100_pair",
     [("mbarrier_arrive_peer(free_barrier(accumulator.index), 0);",
       "mbarrier_arrive_peer(free_barrier(accumulator.index), cluster_rank());")]),
    # ---- scales
    ("every_k_step_takes_the_first_scale", "sm100_scaled",
     [("TCGEN05_E4M3, TCGEN05_E4M3, k)", "TCGEN05_E4M3, TCGEN05_E4M3, 0)")]),
    ("scales_of_b_not_copied", "sm100_scaled",
     [("        tcgen05_copy_scales<CTAS>(scale_b,\n"
       "            tcgen05_descriptor(base + AT_SCALE_B + stage * SCALE_BYTES, 0, 128, "
       "TCGEN05_NONE));\n", "")]),
    ("scales_lie_in_an_accumulator", "sm100_scaled",
     [("#define SCALE_A_COLUMN (2 * BLOCK_N)", "#define SCALE_A_COLUMN (2 * BLOCK_N - 4)")]),
    ("scales_taken_from_another_stage", "sm100_scaled",
     [("tcgen05_descriptor(base + AT_SCALE_A + stage * SCALE_BYTES",
       "tcgen05_descriptor(base + AT_SCALE_A + (stage + 1) % STAGES * SCALE_BYTES")]),
    ("rows_of_scales_half_as_far_apart", "sm100_scaled",
     [("(base + AT_SCALE_A + stage * SCALE_BYTES, 0, 128, TCGEN05_NONE)",
       "(base + AT_SCALE_A + stage * SCALE_BYTES, 0, 64, TCGEN05_NONE)")]),
    ("bytes_of_scales_not_announced", "sm100_scaled",
     [("(full, STAGE_BYTES * CTAS);", "(full, (A_BYTES + B_BYTES) * CTAS);")]),
    # ---- pairs
    ("stage_of_the_peer_never_released", "sm100_pair",
     [("tcgen05_commit_multicast<CTAS>(barrier, 3);",
       "tcgen05_commit_multicast<CTAS>(barrier, 1);")]),
    ("bytes_of_the_peer_not_announced", "sm100_pair",
     [("(full, STAGE_BYTES * CTAS);", "(full, STAGE_BYTES);")]),
    ("peer_loads_report_to_themselves", "sm100_pair",
     [("tma_load_2d_pair(to, map, barrier, x, y);", "tma_load_2d(to, map, barrier, x, y);")]),
    ("both_ctas_load_the_same_half_of_b", "sm100_pair",
     [("(int)cluster_rank() * (BLOCK_N / 2);", "0 * (BLOCK_N / 2);")]),
    ("both_ctas_start_products", "sm100_pair",
     [("warp == 1 && is_even_cta() && elect_one()", "warp == 1 && elect_one()")]),
    ("one_cta_of_the_pair_leaves_early", "sm100_pair",
     [("    warp_sync();\n    sync_with_tensor_memory();\n",
       "    warp_sync();\n    tcgen05_fence_before();\n    cta_sync();\n    tcgen05_fence_after();\n"
       )]),
]
