# SPDX-License-Identifier: MIT
"""Bugs of fp8_gemm_block that the emulator must find, each as a change of the kernel's text.

BUGS: (name, specialisation of gemm_specialisations.h, [(text that occurs exactly once, what stands
there instead), ...]). Read by mutate.py."""

EMPTY_WAIT = "mbarrier_wait(empty_barrier(p), p.parity ^ 1);\n            "
EXPECT = "mbarrier_arrive_expect(full, A_BYTES + B_BYTES + SCALE_A_BYTES);"
STORE_FENCE = "fence_proxy_async();\n        warp_sync();"
FINISH = """finish_products(products);
                if (j == WARP_ROWS - 1) {
                    release(p);"""

BUGS = [
    # ---- the ring
    ("full_not_waited_for_at_the_start_of_a_tile", "plain",
     [("mbarrier_wait(full_barrier(p), p.parity);\n", ";\n")]),
    ("answer_of_the_look_ignored", "plain",
     [("if (!ready) mbarrier_wait(full_barrier(next), next.parity);", "(void)ready;")]),
    ("full_never_looked_at_inside_a_tile", "plain",
     [("ready = mbarrier_test(full_barrier(next), next.parity);", "ready = 1;")]),
    ("empty_not_waited_for_by_the_loader", "plain",
     [(EMPTY_WAIT + "mbarrier_arrive_expect", "mbarrier_arrive_expect")]),
    ("empty_not_waited_for_by_the_scale_warp", "plain",
     [(EMPTY_WAIT + "if (lane < GROUPS", "if (lane < GROUPS")]),
    ("math_starts_on_the_wrong_parity", "plain",
     [("place_t p = {0, 0};\n    float products", "place_t p = {0, 1};\n    float products")]),
    ("loader_starts_on_the_wrong_parity", "plain",
     [("rank = cluster_rank();\n    place_t p = {0, 0};",
       "rank = cluster_rank();\n    place_t p = {0, 1};")]),
    ("bytes_not_announced", "plain", [(EXPECT, "mbarrier_arrive(full);")]),
    ("too_few_bytes_announced", "plain", [(EXPECT, EXPECT.replace(");", " - 512);"))]),
    ("too_many_bytes_announced", "plain", [(EXPECT, EXPECT.replace(");", " + 512);"))]),
    ("empty_count_too_small", "plain",
     [("MATH_WARPS * CLUSTER);", "MATH_WARPS * CLUSTER - 1);")]),
    ("empty_count_too_large", "plain",
     [("MATH_WARPS * CLUSTER);", "MATH_WARPS * CLUSTER + 1);")]),
    ("full_does_not_count_the_scale_warp", "plain",
     [("mbarrier_init(full_barrier({s, 0}), 2);", "mbarrier_init(full_barrier({s, 0}), 1);")]),
    ("stage_wraps_late", "plain", [("p.stage + 1 == STAGES", "p.stage == STAGES")]),
    ("parity_never_flips", "plain", [("wraps ? p.parity ^ 1 : p.parity", "p.parity")]),
    ("one_warpgroup_never_releases", "plain",
     [("release(p);\n                    if (k <", "if (group == 0) release(p);\n if (k <")]),
    ("stage_released_before_its_products_are_done", "plain",
     [(FINISH, "if (j == WARP_ROWS - 1) release(p);\n" + FINISH.replace("release(p);", ""))]),
    ("released_by_one_lane_before_the_others_are_done", "plain",
     [("    warp_sync();\n    if (CLUSTER == 1)", "    if (CLUSTER == 1)")]),
    ("scales_announced_by_one_lane_before_the_others_wrote", "plain",
     [("warp_sync();\n            if (lane == 0) mbarrier_arrive(full_barrier(p));",
       "if (lane == 0) mbarrier_arrive(full_barrier(p));")]),
    ("scale_slots_as_few_as_stages", "plain",
     [("return p.stage + p.parity * STAGES;", "return p.stage;")]),
    ("barriers_not_visible_to_tma", "plain", [("        fence_mbarrier_init();\n", "")]),
    ("no_barrier_after_initialisation", "plain",
     [("cluster_sync();\n    dependency_wait();", "dependency_wait();")]),
    # ---- where data lies
    ("stage_of_a_off_by_one", "plain",
     [("a = base + p.stage * A_BYTES", "a = base + (p.stage + 1) * A_BYTES")]),
    ("load_to_a_misaligned_place", "plain",
     [("tma_load_2d(scale_a_at(p), &args", "tma_load_2d(scale_a_at(p) + 32, &args")]),
    ("wrong_row_of_b", "plain",
     [("&args->b, full, k * 128, column);", "&args->b, full, k * 128, column + 1);")]),
    ("wrong_scale_row", "plain", [("scale_a + j * 256 + 32", "scale_a + j * 256 + 16")]),
    ("wrong_scale_block_of_b", "plain",
     [("block = k + (int)lane_index()", "block = k + (int)lane_index() + 1")]),
    ("k_step_of_a_descriptor_too_large", "plain",
     [("descriptor_from_low_k128(a + i * 2)", "descriptor_from_low_k128(a + i * 4)")]),
    ("stride_of_a_descriptor_halved", "plain",
     [("descriptor_from_low_k128(b + i * 2)",
       "(descriptor_from_low_k128(b + i * 2) ^ (uint64_t)96 << 32)")]),
    ("chunk_written_without_swizzle", "plain",
     [("(STORE_N == 64 ? swizzle_128(dense) : swizzle_64(dense))", "dense")]),
    # ---- products
    ("accumulators_read_before_the_wait", "plain",
     [("finish_products(products);\n", "\n"),
      ("promote(sums[j], products, upper, lower);",
       "promote(sums[j], products, upper, lower); finish_products(products);")]),
    ("first_product_accumulates", "plain", [("i > 0);", "1);")]),
    ("no_wgmma_fence", "plain", [("    wgmma_fence();\n", "")]),
    ("no_wgmma_commit", "plain", [("    wgmma_commit();\n", "")]),
    ("more_registers_taken_than_there_are", "plain",
     [("(MATH_GROUPS == 3 ? 160 : 232)", "(MATH_GROUPS == 3 ? 168 : 248)")]),
    # ---- the way out
    ("no_proxy_fence_before_the_store", "plain", [(STORE_FENCE, "warp_sync();")]),
    ("store_before_all_lanes_wrote", "plain", [(STORE_FENCE, "fence_proxy_async();")]),
    ("chunk_reused_before_the_store_read_it", "plain",
     [("if (lane == 0) bulk_wait_read<STORE_BUFFERS - 1>();", "")]),
    ("chunk_overwritten_before_lane_0_waited", "plain",
     [("bulk_wait_read<STORE_BUFFERS - 1>();\n        warp_sync();",
       "bulk_wait_read<STORE_BUFFERS - 1>();")]),
    ("exit_while_stores_read_shared_memory", "plain",
     [("    if (lane == 0) bulk_wait_read<0>();\n", "")]),
    ("row_bound_missing", "direct", [("row < args->m && column < args->n", "column < args->n")]),
    ("column_bound_missing", "direct",
     [("row < args->m && column + 1 < args->n", "row < args->m")]),
    # ---- clusters
    ("stage_released_in_the_own_cta_only", "share_a",
     [("lane_index() < CLUSTER) {\n        mbarrier_arrive_peer(empty_barrier(p), lane_index());",
       "lane_index() == 0) {\n        mbarrier_arrive_peer(empty_barrier(p), cluster_rank());")]),
    ("half_of_a_sent_to_one_cta_only", "share_a",
     [("(int)rank * (BLOCK_M / 2), 3);", "(int)rank * (BLOCK_M / 2), 1);")]),
    ("exit_while_the_peer_still_signals", "share_a",
     [("its memory. */\n    cluster_sync();", "its memory. */")]),
]
