/* SPDX-License-Identifier: MIT
 *
 * Tokens routed to experts, for tests of deep_gemm/moe.h: tensors with random strides, random ids, and
 * where each slot's row should lie, counted slot by slot over all slots before it. Used by test_route.c
 * and test_permute.c.
 */
#ifndef DG_TESTS_FAMILY_ROUTING_H
#define DG_TESTS_FAMILY_ROUTING_H

#include <stddef.h>

#include "deep_gemm/deep_gemm.h"
#include "random_data.h"

#ifndef SEEDS
#    define SEEDS 60 /* random cases of each test; fewer on the emulator */
#endif

/* ---- tensors */

/* [rows, columns], by rows or by columns, dense or with gaps, at any multiple of the element size. */
dg_tensor_t take_matrix(
    rng_t *rng, dg_dtype_t dtype, int64_t rows, int64_t columns, const char *name);

/* [count] I32, dense or with gaps. */
dg_tensor_t take_vector(rng_t *rng, int64_t count, const char *name);

/* The address of an element; j is not looked at where there is one axis. */
char *at(const dg_tensor_t *tensor, int64_t i, int64_t j);
size_t size_of(dg_dtype_t dtype);

int32_t get_i32(const dg_tensor_t *tensor, int64_t i, int64_t j);

/* Of BF16 and F32. */
float get_real(const dg_tensor_t *tensor, int64_t i, int64_t j);
void set_real(const dg_tensor_t *tensor, int64_t i, int64_t j, double value);

/* The bits of `value` in the tensor's type, BF16 by rounding to nearest even. */
uint32_t round_to(const dg_tensor_t *tensor, float value);

/* guard_allow() of every element. */
void allow_all(const dg_tensor_t *tensor);

/* Fails unless the element has these bits. */
void expect_bits(const dg_tensor_t *tensor, int64_t i, int64_t j, uint32_t want);

/* ---- routing */

typedef struct routing_t {
    int64_t tokens, topk, groups, rows, alignment;
    dg_route_tokens_args_t args;
    int32_t *row, *source, *group, *count, *end; /* as they should be */
} routing_t;

/* Fills what should come out: where each group begins and may end, then the row of each slot, its
 * rank among equal ids. */
void refer(routing_t *r);

/* Random ids, some dropped, in a random form, with tensors for the outputs and what they should be. */
routing_t draw_routing(rng_t *rng);

/* Fails unless the outputs are as they should be. run_route() calls dg_route_tokens() first. */
void check_routing(const routing_t *r);
void run_route(const routing_t *r);

#endif
