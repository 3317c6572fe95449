/* SPDX-License-Identifier: MIT
 *
 * MQA logits for whatever the Hopper kernel does not take: FP4, any number of heads, any dim, any
 * strides and addresses, any GPU. No tensor cores: it is there to be right. Parameters:
 * args/mqa_logits.h.
 *
 * A unit is one query by a block of tokens, one for each thread. For 32 heads at a time, 32 k at a
 * time, the query's values go to shared memory, the token's into the thread's registers, and the
 * dot products of the 32 heads are kept in shared memory, a column for each thread. Dot products
 * and the sum over heads have the order that the CPU gives them.
 *
 * Shared memory: QUERY [32 heads, 32 k] f32, DOTS [32 heads, THREADS] f32. */
#include "any/codes.cuh"
#include "any/mqa_problem.cuh"
#include "any/ue8m0.cuh"
#include "device/barrier.cuh"
#include "device/relu.cuh"
#include "device/shared.cuh"

#define HEADS DG_ANY_MQA_HEADS
#define SLAB 32 /* k; what one factor of FP4 covers */
#define AT_DOTS (HEADS * SLAB * 4)
#define SHARED_BYTES DG_ANY_MQA_SHARED_BYTES
static_assert(THREADS == DG_MQA_BLOCK, "a thread has a token");

typedef dg_any_mqa_logits_args_t args_t;

/* Value k of a row of codes. */
DEVICE float load_value(const dg_mqa_codes_t *codes, const uint8_t *row, int64_t k, float factor) {
    if (!codes->fp4) return decode_e4m3(ld_global_u8(row + k));
    return decode_e2m1(ld_global_u8(row + k / 2) >> k % 2 * 4) * factor;
}

/* The factor of 32 values from k on in a word of four. */
DEVICE float factor_at(uint32_t word, int64_t k) {
    return decode_e8m0(word >> k / SLAB * 8 & 0xFF);
}

/* A scale may lie at any address. */
DEVICE uint32_t load_word(const uint8_t *at) {
    return ld_global_u8(at) | ld_global_u8(at + 1) << 8 | ld_global_u8(at + 2) << 16 |
           ld_global_u8(at + 3) << 24;
}

/* By all threads: values [head, head + 32) by [k, k + 32) of a query; zeros where there are none.
 * */
DEVICE void load_query(
    const args_t *args, int64_t request, int64_t query, int64_t head, int64_t k) {
    const dg_mqa_codes_t *q = &args->q;
    const uint8_t *rows = q->data + request * q->outer_stride + query * q->middle_stride;
    for (int64_t i = thread_index(); i < HEADS * SLAB; i += THREADS) {
        const int64_t h = head + i / SLAB, at = k + i % SLAB;
        float value = 0.f, factor = 1.f;
        if (h < args->problem.heads && at < args->dim) {
            if (q->fp4)
                factor =
                    factor_at(ld_global_u32(args->q_scale + request * args->q_scale_request_stride +
                                            query * args->q_scale_query_stride +
                                            h * args->q_scale_head_stride),
                        at);
            value = load_value(q, rows + h * q->row_stride, at, factor);
        }
        st_shared_f32(shared_base() + (uint32_t)i * 4, value);
    }
}

/* Adds 32 k to the dot products of 32 heads with this thread's token. row: of its codes */
DEVICE void add_slab(const args_t *args, const uint8_t *row, uint32_t factors, int64_t k) {
    const uint32_t base = shared_base(), dots = base + AT_DOTS + thread_index() * 4;
    const int64_t left = args->dim - k;
    const float factor = args->tokens.fp4 ? factor_at(factors, k) : 1.f;
    float values[SLAB];
    UNROLL
    for (int i = 0; i < SLAB; i++)
        values[i] = i < left ? load_value(&args->tokens, row, k + i, factor) : 0.f;
    UNROLL_BY(1)
    for (uint32_t h = 0; h < HEADS; h++) {
        float dot = k == 0 ? 0.f : ld_shared_f32(dots + h * THREADS * 4);
        UNROLL
        for (uint32_t i = 0; i < SLAB; i += 4) {
            uint32_t words[4];
            ld_shared_x4(words, base + (h * SLAB + i) * 4);
            UNROLL
            for (uint32_t j = 0; j < 4; j++) dot += f32_from_bits(words[j]) * values[i + j];
        }
        st_shared_f32(dots + h * THREADS * 4, dot);
    }
}

/* The sum over the heads of one query with this thread's token. there: it lies at `row` */
DEVICE float sum_heads(const args_t *args, int64_t request, int64_t query, bool there,
    const uint8_t *row, uint32_t factors) {
    const uint32_t dots = shared_base() + AT_DOTS + thread_index() * 4;
    const int64_t weights_row = request * args->problem.next + query;
    float sum = 0.f;
    for (int head = 0; head < args->problem.heads; head += HEADS) {
        for (int64_t k = 0; k < args->dim; k += SLAB) {
            cta_sync(); /* everybody has read the slab before */
            load_query(args, request, query, head, k);
            cta_sync();
            if (there) add_slab(args, row, factors, k);
        }
        for (int h = 0; h < HEADS && head + h < args->problem.heads && there && args->dim > 0; h++)
            sum += load_weight(&args->problem, weights_row, head + h) *
                   relu_f32(ld_shared_f32(dots + (uint32_t)h * THREADS * 4));
    }
    return sum;
}

/* One query against the tokens of a block. */
DEVICE void run_unit(const args_t *args, int64_t request, int query, int64_t block) {
    const dg_mqa_problem_t *problem = &args->problem;
    const range_t range = find_range(problem, request, query);
    const int64_t token = block * DG_MQA_BLOCK + thread_index();
    if (range.end <= block * DG_MQA_BLOCK || range.begin >= (block + 1) * DG_MQA_BLOCK) return;
    const bool inside = token >= range.begin && token < range.end;
    place_of_token_t at = {-1, 0};
    if (inside) at = find_token(problem, find_table(problem, request), (int)token, range.end);
    const bool there = at.page >= 0;
    const uint8_t *row = args->tokens.data;
    uint32_t factors = bits_from_f32(1.f);
    if (there) {
        row += at.page * args->tokens.middle_stride + at.row * args->tokens.row_stride;
        if (problem->scales)
            factors = load_word(
                problem->scales + at.page * problem->page_stride + at.row * problem->scale_stride);
    }
    const float sum = sum_heads(args, request, query, there, row, factors);
    const float scale = args->tokens.fp4 ? 1.f : f32_from_bits(factors);
    const int column = problem->compressed ? (int)token - range.begin : (int)token;
    if (inside && (there || problem->clean))
        store_logit(problem, request * problem->next + query, column,
            there ? scale * sum : f32_from_bits(NOTHING));
}

/* Columns of a row that have no token. */
DEVICE void clean_row(const dg_mqa_problem_t *problem, int64_t request, int query) {
    const range_t range = find_range(problem, request, query);
    const int64_t first = problem->compressed ? 0 : range.begin;
    const int64_t last = first + range.end - range.begin, row = request * problem->next + query;
    for (int64_t c = thread_index(); c < problem->columns; c += THREADS)
        if (c < first || c >= last) store_logit(problem, row, (int)c, f32_from_bits(NOTHING));
}

KERNEL(THREADS) dg_any_mqa_logits(KERNEL_PARAMETER dg_any_mqa_logits_args_t args) {
    const dg_mqa_problem_t *problem = &args.problem;
    const int64_t rows = (int64_t)problem->requests * problem->next;
    const int64_t reach =
        smaller(problem->capacity, problem->compressed ? problem->capacity : problem->columns);
    const int64_t blocks = (reach + DG_MQA_BLOCK - 1) / DG_MQA_BLOCK;
    dependency_wait();
    for (int64_t unit = block_index(); unit < rows * blocks; unit += block_count()) {
        const int64_t row = unit / blocks;
        run_unit(&args, row / problem->next, (int)(row % problem->next), unit % blocks);
    }
    for (int64_t row = block_index(); row < rows && problem->clean; row += block_count())
        clean_row(problem, row / problem->next, (int)(row % problem->next));
}
