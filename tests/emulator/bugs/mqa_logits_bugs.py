# SPDX-License-Identifier: MIT
"""Bugs of fp8_mqa_logits that the emulator must find, each as a change of the kernel's text.

BUGS: (name, specialisation that has it, [(text that occurs exactly once, what stands there
instead), ...]). Read by mutate.py. Tokens behind the lengths and pages of nobody are NaN."""

RING = "mqa_logits_ring"  # two stages, so that blocks go round

BUGS = [
    # ---- the ring of tokens
    ("math_does_not_wait_for_tokens", RING, [("wait_full(p);\n            make", "make")]),
    ("loader_does_not_wait", RING,
     [("wait_empty(p);\n            if (lane == 0)", "if (lane == 0)")]),
    ("scale_warp_does_not_wait", RING, [("wait_empty(p);\n            UNROLL", "UNROLL")]),
    ("stage_released_before_scales_are_read", RING,
     [("            release(p);\n", ""),
      ("const float low_scale", "release(p);\n const float low_scale")]),
    # ---- queries
    ("math_does_not_wait_for_queries", RING,
     [("mbarrier_wait(q_full_barrier(q), q.parity);", "")]),
    ("queries_overwritten", RING, [("mbarrier_wait(q_empty_barrier(q), q.parity ^ 1);", "")]),
    # ---- shares
    ("counts_read_before_they_are_written", RING, [("cta_sync();\n    UNROLL\n", "UNROLL\n")]),
    ("begin_read_before_it_is_written", RING,
     [("cta_sync();\n    if (begin == end)", "if (begin == end)")]),
    ("last_block_of_a_share_lost", RING,
     [("(block_index() + 1) / block_count();", "(block_index() + 1) / block_count() - 1;")]),
    # ---- tokens and results
    ("all_boxes_into_one_place", RING, [("(uint32_t)offset * DIM", "0")]),
    ("range_of_another_query", RING,
     [("ranges[i] = find_range(args, part.request, part.query + i)",
       "ranges[i] = find_range(args, part.request, part.query)")]),
    ("pages_that_do_not_exist_count", RING, [("        if (there)\n", "        if (true)\n")]),
    ("row_not_cleaned_to_its_end", RING,
     [("column = last + lane_index()", "column = last + 1 + lane_index()")]),
]
