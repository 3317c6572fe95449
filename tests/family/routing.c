/* SPDX-License-Identifier: MIT
 *
 * See routing.h.
 */
#include "routing.h"

#include <stdbool.h>
#include <string.h>

#include "guard.h"

size_t size_of(dg_dtype_t dtype) {
    return (size_t)dg_dtype_size(dtype);
}

dg_tensor_t take_matrix(
    rng_t *rng, dg_dtype_t dtype, int64_t rows, int64_t columns, const char *name) {
    const bool by_column = rng_range(rng, 0, 3) == 0;
    const int64_t gap = rng_range(rng, 0, 2) == 0 ? rng_range(rng, 1, 5) : 0;
    const int64_t inner = by_column ? rows : columns, outer = by_column ? columns : rows;
    const int64_t spread = rng_range(rng, 0, 5) == 0 ? 2 : 1;
    const int64_t pitch = inner * spread + gap;
    const size_t skew = rng_range(rng, 0, 2) == 0 ? size_of(dtype) : 0;
    dg_tensor_t tensor = dg_tensor_2d(
        guard_take((size_t)(outer * pitch) * size_of(dtype) + 1, skew, name), dtype, rows, columns);
    tensor.stride[0] = by_column ? spread : pitch;
    tensor.stride[1] = by_column ? pitch : spread;
    return tensor;
}

dg_tensor_t take_vector(rng_t *rng, int64_t count, const char *name) {
    const int64_t stride = rng_range(rng, 0, 3) == 0 ? 3 : 1;
    dg_tensor_t tensor =
        dg_tensor_1d(guard_take((size_t)(count * stride) * 4 + 4, 0, name), DG_DTYPE_I32, count);
    tensor.stride[0] = stride;
    return tensor;
}

char *at(const dg_tensor_t *tensor, int64_t i, int64_t j) {
    const int64_t offset = i * tensor->stride[0] + (tensor->rank > 1 ? j * tensor->stride[1] : 0);
    return (char *)tensor->data + offset * (int64_t)size_of(tensor->dtype);
}

int32_t get_i32(const dg_tensor_t *tensor, int64_t i, int64_t j) {
    int32_t value;
    memcpy(&value, at(tensor, i, j), 4);
    return value;
}

float get_real(const dg_tensor_t *tensor, int64_t i, int64_t j) {
    uint32_t bits = 0;
    float value;
    if (tensor->dtype == DG_DTYPE_F32)
        memcpy(&bits, at(tensor, i, j), 4);
    else
        memcpy((char *)&bits + 2, at(tensor, i, j), 2);
    memcpy(&value, &bits, 4);
    return value;
}

uint32_t round_to(const dg_tensor_t *tensor, float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    if (tensor->dtype == DG_DTYPE_F32) return bits;
    const uint32_t low = bits & 0xFFFFu, half = 0x8000u;
    bits >>= 16;
    return low > half || (low == half && (bits & 1u)) ? bits + 1 : bits;
}

void set_real(const dg_tensor_t *tensor, int64_t i, int64_t j, double value) {
    const uint32_t bits = round_to(tensor, (float)value);
    memcpy(at(tensor, i, j), &bits, size_of(tensor->dtype));
}

void allow_all(const dg_tensor_t *tensor) {
    const int64_t columns = tensor->rank > 1 ? tensor->shape[1] : 1;
    for (int64_t i = 0; i < tensor->shape[0]; i++)
        for (int64_t j = 0; j < columns; j++) guard_allow(at(tensor, i, j), size_of(tensor->dtype));
}

void expect_bits(const dg_tensor_t *tensor, int64_t i, int64_t j, uint32_t want) {
    uint32_t have = 0;
    memcpy(&have, at(tensor, i, j), size_of(tensor->dtype));
    if (have != want)
        label_fail(
            "entry [%lld, %lld] is %08x, expected %08x", (long long)i, (long long)j, have, want);
}

/* ---- routing */

static int64_t id_of(const routing_t *r, int64_t token, int64_t slot) {
    int64_t wide;
    if (r->args.ids.dtype == DG_DTYPE_I32) return get_i32(&r->args.ids, token, slot);
    memcpy(&wide, at(&r->args.ids, token, slot), 8);
    return wide;
}

void refer(routing_t *r) {
    int64_t begin = 0;
    int64_t *begins = guard_scratch((size_t)(r->groups + 1) * sizeof *begins);
    r->row = guard_scratch((size_t)(r->tokens * r->topk + 1) * 4);
    r->source = guard_scratch((size_t)(r->rows + 1) * 4);
    r->group = guard_scratch((size_t)(r->rows + 1) * 4);
    r->count = guard_scratch((size_t)(r->groups + 1) * 4);
    r->end = guard_scratch((size_t)(r->groups + 1) * 4);
    memset(r->source, 0xFF, (size_t)r->rows * 4);
    memset(r->group, 0xFF, (size_t)r->rows * 4);
    for (int64_t g = 0; g < r->groups; g++) {
        for (int64_t i = 0; i < r->tokens * r->topk; i++)
            r->count[g] += id_of(r, i / r->topk, i % r->topk) == g;
        if (r->args.form == DG_GROUPS_MASKED) begin = g * (r->rows / r->groups);
        if (r->args.form == DG_GROUPS_PSUM)
            while (begin % r->alignment != 0) begin++;
        begins[g] = begin;
        begin += r->count[g];
    }
    for (int64_t g = 0; g < r->groups; g++) {
        const int64_t most =
            r->args.form == DG_GROUPS_MASKED ? (g + 1) * (r->rows / r->groups) : r->rows;
        int64_t next = begins[g] < most ? begins[g] : most;
        for (int64_t i = 0; i < r->tokens * r->topk; i++) {
            if (id_of(r, i / r->topk, i % r->topk) != g || next == most) continue;
            r->source[next] = (int32_t)(i / r->topk);
            r->group[next] = (int32_t)g;
            r->row[i] = (int32_t)next++ + 1; /* 0: none */
        }
        r->end[g] = (int32_t)next;
    }
    for (int64_t i = 0; i < r->tokens * r->topk; i++) r->row[i]--;
}

routing_t draw_routing(rng_t *rng) {
    static const dg_group_form_t forms[] = {DG_GROUPS_OFFSETS, DG_GROUPS_PSUM, DG_GROUPS_MASKED};
    routing_t r = {.tokens = rng_range(rng, 0, 40),
        .topk = rng_range(rng, 1, 9),
        .groups = rng_range(rng, 1, 12),
        .args = DG_ROUTE_TOKENS_ARGS_INIT};
    r.args.form = forms[rng_range(rng, 0, 2)];
    r.args.alignment = (int32_t)rng_range(rng, 1, 20);
    r.alignment = r.args.alignment;
    const int64_t slots = r.tokens * r.topk;
    r.rows = r.args.form == DG_GROUPS_OFFSETS ? slots : slots + r.groups * (r.alignment - 1);
    if (r.args.form == DG_GROUPS_MASKED) r.rows = r.groups * rng_range(rng, 0, r.tokens + 2);
    if (rng_range(rng, 0, 4) == 0 && r.args.form != DG_GROUPS_MASKED)
        r.rows = rng_range(rng, 0, r.rows); /* too few */
    const dg_dtype_t type = rng_range(rng, 0, 1) ? DG_DTYPE_I32 : DG_DTYPE_I64;
    r.args.ids = take_matrix(rng, type, r.tokens, r.topk, "ids");
    const int64_t dropped = rng_range(rng, 0, 3), favourite = rng_range(rng, 0, r.groups - 1);
    for (int64_t i = 0; i < slots; i++) {
        int64_t id = rng_range(rng, 0, r.groups - 1);
        if (rng_range(rng, 0, 3) == 0) id = favourite;
        if (rng_range(rng, 0, 9) < dropped) id = -rng_range(rng, 1, 100);
        memcpy(at(&r.args.ids, i / r.topk, i % r.topk), &id, size_of(type));
    }
    r.args.counts = take_vector(rng, r.groups, "counts");
    r.args.ends = take_vector(rng, r.groups, "ends");
    r.args.rows = take_matrix(rng, DG_DTYPE_I32, r.tokens, r.topk, "rows");
    r.args.sources = take_vector(rng, r.rows, "sources");
    if (rng_range(rng, 0, 1)) r.args.groups = take_vector(rng, r.rows, "groups");
    refer(&r);
    return r;
}

void check_routing(const routing_t *r) {
    for (int64_t g = 0; g < r->groups; g++) {
        expect_bits(&r->args.counts, g, 0, (uint32_t)r->count[g]);
        expect_bits(&r->args.ends, g, 0, (uint32_t)r->end[g]);
    }
    for (int64_t i = 0; i < r->tokens * r->topk; i++)
        expect_bits(&r->args.rows, i / r->topk, i % r->topk, (uint32_t)r->row[i]);
    for (int64_t i = 0; i < r->rows; i++) {
        expect_bits(&r->args.sources, i, 0, (uint32_t)r->source[i]);
        if (r->args.groups.data != NULL) expect_bits(&r->args.groups, i, 0, (uint32_t)r->group[i]);
    }
}

void run_route(const routing_t *r) {
    expect_ok(dg_route_tokens(NULL, &r->args, NULL));
    check_routing(r);
}
