/* SPDX-License-Identifier: MIT
 *
 * Who takes which units of paged MQA logits: dg_paged_mqa_logits_schedule() for lengths on the
 * device. One CTA. Each thread counts the units of a stretch of requests, a scan tells how many
 * come before, and the thread in whose stretch a part begins writes its row. Parameters:
 * args/mqa_logits.h. */
#include "args/mqa_logits.h"

#include "any/group_scan.cuh"
#include "device/barrier.cuh"

typedef dg_any_mqa_schedule_args_t args_t;

/* Units that the longest query of a request asks for. */
DEVICE int64_t count_units(const args_t *args, int64_t request) {
    int64_t longest = 0;
    for (int64_t t = 0; t < args->next; t++) {
        const int32_t *at = args->lens + request * args->request_stride + t * args->query_stride;
        longest = larger(longest, (int32_t)ld_global_u32(at));
    }
    return round_up_quotient(longest, args->split);
}

DEVICE void write_row(const args_t *args, int64_t part, int64_t request, int64_t unit) {
    int32_t *row = args->schedule + part * args->row_stride;
    st_global_u32(row, (uint32_t)request);
    st_global_u32(row + 1, (uint32_t)unit);
}

/* A part has `each` units, the first `more` one more. */
typedef struct shares {
    int64_t each, more;
} shares_t;

DEVICE int64_t part_begin(shares_t s, int64_t part) {
    return part * s.each + smaller(part, s.more);
}

/* The first part that does not begin before a unit; there is a unit, so each or more is above 0. */
DEVICE int64_t first_part(shares_t s, int64_t unit) {
    const int64_t larger_ones = s.more * (s.each + 1);
    if (unit <= larger_ones || s.each == 0) return round_up_quotient(unit, s.each + 1);
    return s.more + round_up_quotient(unit - larger_ones, s.each);
}

KERNEL(THREADS) dg_any_mqa_schedule(KERNEL_PARAMETER dg_any_mqa_schedule_args_t args) {
    dependency_wait();
    const stretch_t stretch = find_stretch(args.requests);
    const joint_t sum = {false, MOST};
    int64_t mine = 0;
    for (int64_t r = stretch.first; r < stretch.last; r++) mine += count_units(&args, r);
    const int64_t before = scan_cta(sum, mine);
    cta_sync();
    if (thread_index() == THREADS - 1) {
        const uint64_t all = (uint64_t)(before + mine);
        st_shared_x2(shared_base(), (uint32_t)all, (uint32_t)(all >> 32));
    }
    cta_sync();
    const uint32_t low = ld_shared_u32(shared_base());
    const int64_t total = (int64_t)(low | (uint64_t)ld_shared_u32(shared_base() + 4) << 32);
    const shares_t shares = {total / args.parts, total % args.parts};

    int64_t passed = before;
    for (int64_t r = stretch.first; r < stretch.last; r++) {
        const int64_t units = count_units(&args, r);
        if (units == 0) continue;
        for (int64_t part = first_part(shares, passed);
             part < args.parts && part_begin(shares, part) < passed + units; part++)
            write_row(&args, part, r, part_begin(shares, part) - passed);
        passed += units;
    }
    for (int64_t part = thread_index(); part <= args.parts; part += THREADS)
        if (part_begin(shares, part) >= total) write_row(&args, part, args.requests, 0);
}
