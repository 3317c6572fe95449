/* SPDX-License-Identifier: MIT
 *
 * MQA logits on the CPU, tokens in one tensor or in pages, and the schedule of paged calls. Called
 * by src/api/mqa_logits.c and paged_mqa_logits.c.
 */
#ifndef DG_CPU_MQA_LOGITS_H
#define DG_CPU_MQA_LOGITS_H

#include "cpu/pool.h"
#include "model/mqa_logits.h"

dg_status_t dg_cpu_mqa_logits(dg_cpu_pool_t *pool, const dg_mqa_logits_problem_t *problem);

/* See dg_paged_mqa_logits_schedule().
 *   lens: [requests, next] i32; schedule: [parts + 1, 2] i32, rows row_stride elements apart. */
void dg_cpu_mqa_logits_schedule(const int32_t *lens, int64_t requests, int64_t next,
    int64_t request_stride, int64_t query_stride, int64_t parts, int64_t row_stride,
    int32_t *schedule);

#endif
