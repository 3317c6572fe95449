# SPDX-License-Identifier: MIT
"""Bugs of fp8_gemm_vector that the emulator must find, each as a change of the kernel's text.

BUGS: (name, specialisation that has it, [(text that occurs exactly once, what stands there
instead), ...]). Read by mutate.py. Tokens between the groups are NaN in all of them."""

FIRST = "vector_pairs_share_b"  # both operands token by token, pairs of CTAs
LAST = "vector_tokens_last"     # both with tokens contiguous
CLEAR = "if (!range->gather_a) clear_tail(a_at(p), BLOCK_M, A_MN, (uint32_t)left);"
CLEAR_B = "if (!range->gather_b) clear_tail(b_at(p), BLOCK_N, B_MN, (uint32_t)left);"
HAND_ON = """fence_proxy_async();
    warp_sync();
    if (lane_index() == 0) mbarrier_arrive(full_barrier(p));"""

BUGS = [
    # ---- ends of groups
    ("tail_of_a_not_cleared", FIRST, [(CLEAR, "")]),
    ("tail_of_b_not_cleared", FIRST, [(CLEAR_B, "")]),
    ("tail_begins_one_late", FIRST,
     [("count * 128 + thread * 16", "count * 128 + 128 + thread * 16")]),
    ("tail_begins_one_early", FIRST,
     [("count * 128 + thread * 16", "count * 128 - 128 + thread * 16")]),
    ("tail_cleared_by_one_warp_only", FIRST, [
        ("uint32_t thread = (warp_index() & 1) * 32 +", "uint32_t thread = (warp_index() & 1) * 2048 +")]),
    ("cleared_and_turned_without_a_barrier", FIRST, [("bar_sync(1, PREPARERS * 32);", "")]),
    ("last_tail_of_a_not_cleared", LAST, [(CLEAR, "")]),
    ("last_tail_of_b_not_cleared", LAST, [(CLEAR_B, "")]),
    ("last_tail_masks_whole_pieces_only", LAST, [("byte % 16 != 0;", "false;")]),
    ("last_tail_mask_one_byte_long", LAST,
     [("(1u << byte % 4 * 8) - 1", "(1u << (byte + 1) % 4 * 8) - 1")]),
    ("last_tail_leaves_whole_pieces", LAST,
     [("(count + 15) / 16; column < 8", "(count + 15) / 16; column < 0")]),
    ("last_tail_without_proxy_fence", LAST,
     [(HAND_ON, HAND_ON.replace("fence_proxy_async();", ""))]),
    ("group_begins_at_the_wrong_token", FIRST, [("(int)ld_global_u64(&s->token_begin)",
       "(int)ld_global_u64(&s->token_begin) + 1")]),
    ("wrong_row_of_factors", FIRST, [("(int)ld_global_u64(&s->scale_begin_a)",
       "(int)ld_global_u64(&s->scale_begin_a) + 1")]),
    # ---- turning
    ("turned_without_proxy_fence", FIRST, [(HAND_ON, HAND_ON.replace("fence_proxy_async();", ""))]),
    ("handed_on_before_all_lanes_wrote", FIRST, [(HAND_ON, HAND_ON.replace("warp_sync();", ""))]),
    ("written_before_all_lanes_read", FIRST,
     [("warp_sync(); /* every lane has read", "/* every lane")]),
    ("turned_before_it_was_loaded", FIRST, [("mbarrier_wait(loaded_barrier(p), parities >> p.stage & 1);", "")]),
    ("rows_swapped_in_the_upper_half", FIRST,
     [("const bool upper = lane >= 16;", "const bool upper = false;")]),
    ("fragments_of_another_column", FIRST, [("mn_fragment_at(lane, row % 128 / 16)",
       "mn_fragment_at(lane, (row % 128 / 16) ^ 1)")]),
    ("rows_of_fragments_not_in_pairs", FIRST, [("return ROW_PAIRS ? g * 2 + half : g + half * 8;",
       "return g + half * 8;")]),
    # ---- the ring
    ("math_does_not_wait_for_the_first_block", FIRST,
     [("a_block_t a;\n    wait_full(p);", "a_block_t a;")]),
    ("answer_of_the_look_ignored", FIRST, [("if (!ready) wait_full(next);", "(void)ready;")]),
    ("loader_does_not_wait", FIRST, [("wait_empty(p);\n                mbarrier_arrive_expect",
       "mbarrier_arrive_expect")]),
    ("scale_warp_does_not_wait", FIRST, [("BLOCK_N);\n        wait_empty(p);", "BLOCK_N);")]),
    ("scales_announced_too_early", FIRST,
     [("warp_sync();\n        if (lane_index() == 0) {\n            if (K_GROUPED)",
       "if (lane_index() == 0) {\n            if (K_GROUPED)")]),
    ("parity_of_preparations_not_kept", FIRST, [("parities ^= 1u << p.stage;", "")]),
    ("full_counts_one_preparer", FIRST, [("PREPARE ? PREPARERS : 1", "1")]),
    ("stage_released_before_its_fragments_are_read", FIRST,
     [("finish_products(products, &a);\n            if (j == WARP_ROWS - 1) {\n                release(p);",
       "if (j == WARP_ROWS - 1) release(p);\n finish_products(products, &a);\n if (j == WARP_ROWS - 1) {")]),
    ("shared_half_sent_to_one_cta", FIRST,
     [("map, barrier, x, y, 3);", "map, barrier, x, y, 1);")]),
    ("exit_while_the_peer_still_signals", FIRST,
     [("its memory. */\n    cluster_sync();", "its memory. */")]),
    # ---- lanes that are not together
    ("fragments_loaded_by_half_a_warp", FIRST,
     [("    ldmatrix_x4_trans(pairs, address);", "    if (lane < 16) ldmatrix_x4_trans(pairs, address);")]),
    # ---- the way out
    ("chunk_filled_before_it_was_read", FIRST,
     [("warp_sync(); /* the chunk before has been read */", "")]),
    ("chunk_read_before_it_was_filled", FIRST,
     [("fill_chunk(chunk, sums + i * 16);\n        warp_sync();\n        UNROLL",
       "fill_chunk(chunk, sums + i * 16);\n        UNROLL")]),
    ("rows_past_the_tile_stored", FIRST, [("if (row + pass * 4 < rows && column + i * 32 < columns)",
       "if (column + i * 32 < columns)")]),
    ("columns_past_the_tile_stored", FIRST,
     [("if (row + pass * 4 < rows && column + i * 32 < columns)", "if (row + pass * 4 < rows)")]),
    ("c_of_the_wrong_chunk", FIRST, [("load_chunk(mine, c + next * 32 * OUT_BYTES",
       "load_chunk(mine, c + i * 32 * OUT_BYTES")]),
    ("empty_group_not_stored", FIRST, [("if (k_blocks < 0) break;", "if (k_blocks <= 0) break;")]),
]
