# SPDX-License-Identifier: MIT
"""Bugs of tf32_hc_prenorm_gemm that the emulator must find, each as a change of the kernel's text.

BUGS: (name, specialisation that has it, [(text that occurs exactly once, what stands there
instead), ...]). Read by mutate.py."""

KERNEL = "emulated_any_tf32_hc_prenorm_gemm_0"

BUGS = [(name, KERNEL, changes) for name, changes in [
    # ---- the ring
    ("hc_copies_not_waited_for",
     [("copy_async_wait<STAGES - 2>();", "copy_async_wait<STAGES>();")]),
    ("hc_waits_for_one_block_less",
     [("copy_async_wait<STAGES - 2>();", "copy_async_wait<STAGES - 1>();")]),
    ("hc_own_copies_waited_for_alone",
     [("cta_sync(); /* copies of all threads", "/* copies of all threads")]),
    ("hc_stage_filled_while_it_is_read",
     [("base + free_stage * STAGE_BYTES", "base + stage * STAGE_BYTES")]),
    ("hc_next_part_fills_stages_still_read",
     [("cta_sync(); /* stages are free for the next part */", "")]),
    ("hc_commit_forgotten_at_the_end",
     [("base + free_stage * STAGE_BYTES);\n        copy_async_commit();",
       "base + free_stage * STAGE_BYTES);\n        if (next < blocks) copy_async_commit();")]),
    # ---- what is copied
    ("hc_rows_beyond_m_read", [("(int32_t)row < part->rows && at", "at")]),
    ("hc_columns_beyond_n_read", [("(int32_t)column < part->columns && at", "at")]),
    ("hc_a_read_beyond_k",
     [("exists ? (uint32_t)at_most(part->k_end - at, 8) * 2 : 0", "exists ? 16 : 0")]),
    ("hc_b_read_beyond_k",
     [("exists ? (uint32_t)at_most(part->k_end - at, 4) * 4 : 0", "exists ? 16 : 0")]),
    ("hc_chunks_of_a_where_ldmatrix_does_not_look",
     [("copy_async<16>(stage + row * 128 + (chunk ^ (row & 7)) * 16,",
       "copy_async<16>(stage + row * 128 + chunk * 16,")]),
    # ---- products
    ("hc_pairs_of_k_exchanged",
     [("low << 16, high << 16, low & 0xFFFF0000u, high & 0xFFFF0000u",
       "low & 0xFFFF0000u, high & 0xFFFF0000u, low << 16, high << 16")]),
    ("hc_rows_g_and_g_plus_8_exchanged",
     [("const uint32_t low = pairs[half * 2], high = pairs[half * 2 + 1];",
       "const uint32_t low = pairs[half * 2 + 1], high = pairs[half * 2];")]),
    ("hc_b_of_the_wrong_half", [("(step * 16 + half * 8) * 4", "step * 16 * 4")]),
    ("hc_totals_overwritten",
     [("totals->d[i][j] += parts.d[i][j]", "totals->d[i][j] = parts.d[i][j]")]),
    ("hc_squares_of_both_rows_in_one", [("sums->squares[i & 1] +=", "sums->squares[i >> 1] +=")]),
    # ---- what is stored
    ("hc_squares_of_a_quarter_of_k",
     [("squares += shuffle_xor_f32(squares, 1);", "")]),
    ("hc_columns_beyond_n_stored",
     [("if ((int32_t)column < part->columns)\n", "")]),
    ("hc_rows_beyond_m_stored", [("if (row >= part->rows) continue;", "")]),
    ("hc_slices_in_one_place",
     [("part->split * args->d_split_stride", "0 * args->d_split_stride")]),
    ("hc_first_splits_have_no_more", [("(index < more ? index : more)", "0")]),
]]
