/* SPDX-License-Identifier: MIT
 *
 * See span.h. The exact comparison asks whether an element of one view and an element of the other
 * can lie so close that they touch:
 *
 *     address a(i) - address b(j)  =  distance + sum of  count[x] * stride[x]   in (-size_a, size_b)
 *
 * where every axis of either view is one term and its index bounds `count`. Axes of equal stride are
 * one term, axes are taken from the widest stride to the narrowest, and a branch is followed only if
 * the axes that are left can still reach the window. Views as they occur leave one or two values to
 * try for each axis.
 */
#include "model/span.h"

#include <stddef.h>

enum { MAX_TERMS = 2 * DG_MAX_RANK, MAX_TRIES = 4096 };

/* count * stride with count in [low, high]. */
typedef struct dg_term_t {
    int64_t stride; /* bytes, > 0 */
    int64_t low, high;
} dg_term_t;

typedef struct dg_search_t {
    dg_term_t terms[MAX_TERMS];                                  /* strides descending */
    int64_t reach_low[MAX_TERMS + 1], reach_high[MAX_TERMS + 1]; /* sums of the terms from x on */
    int count;
    int tries;
} dg_search_t;

static bool is_empty(const dg_tensor_t *tensor) {
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] == 0) return true;
    }
    return tensor->data == NULL;
}

dg_span_t dg_tensor_span(const dg_tensor_t *tensor) {
    dg_span_t span = {(uintptr_t)tensor->data, (uintptr_t)tensor->data};
    if (is_empty(tensor)) return span;
    const int64_t size = dg_dtype_size(tensor->dtype);
    span.end += (uintptr_t)size;
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] == 1) continue;
        const int64_t reach = (tensor->shape[i] - 1) * tensor->stride[i] * size;
        if (reach < 0) span.begin += (uintptr_t)reach;
        if (reach > 0) span.end += (uintptr_t)reach;
    }
    return span;
}

/* Adds sign * index * stride for each axis of the view. */
static void add_terms(dg_search_t *search, const dg_tensor_t *tensor, bool negate) {
    const int64_t size = dg_dtype_size(tensor->dtype);
    for (int32_t i = 0; i < tensor->rank; i++) {
        if (tensor->shape[i] == 1 || tensor->stride[i] == 0) continue;
        int64_t stride = tensor->stride[i] * size;
        const bool falls = (stride < 0) != negate;
        stride = stride < 0 ? -stride : stride;
        int at = 0;
        while (at < search->count && search->terms[at].stride > stride) at++;
        if (at == search->count || search->terms[at].stride != stride) {
            for (int j = search->count; j > at; j--) search->terms[j] = search->terms[j - 1];
            search->terms[at] = (dg_term_t){stride, 0, 0};
            search->count++;
        }
        if (falls) {
            search->terms[at].low -= tensor->shape[i] - 1;
        } else {
            search->terms[at].high += tensor->shape[i] - 1;
        }
    }
}

static int64_t divide_down(int64_t value, int64_t by) {
    return value / by - (value % by < 0);
}

/* Whether terms `x` and on can sum up to something in [low, high]. */
static bool can_reach(dg_search_t *search, int x, int64_t low, int64_t high) {
    if (low > search->reach_high[x] || high < search->reach_low[x]) return false;
    if (x == search->count || ++search->tries > MAX_TRIES) return true;
    const dg_term_t *term = &search->terms[x];
    int64_t first = -divide_down(-(low - search->reach_high[x + 1]), term->stride);
    int64_t last = divide_down(high - search->reach_low[x + 1], term->stride);
    if (first < term->low) first = term->low;
    if (last > term->high) last = term->high;
    for (int64_t count = first; count <= last; count++) {
        const int64_t part = count * term->stride;
        if (can_reach(search, x + 1, low - part, high - part)) return true;
    }
    return false;
}

static bool share_bytes(const dg_tensor_t *a, const dg_tensor_t *b) {
    dg_search_t search = {.count = 0};
    add_terms(&search, a, false);
    add_terms(&search, b, true);
    for (int x = search.count - 1; x >= 0; x--) {
        const dg_term_t *term = &search.terms[x];
        search.reach_low[x] = search.reach_low[x + 1] + term->low * term->stride;
        search.reach_high[x] = search.reach_high[x + 1] + term->high * term->stride;
    }
    const int64_t distance = (int64_t)((uintptr_t)a->data - (uintptr_t)b->data);
    return can_reach(&search, 0, -distance - (dg_dtype_size(a->dtype) - 1),
        -distance + (dg_dtype_size(b->dtype) - 1));
}

bool dg_tensors_overlap(const dg_tensor_t *a, const dg_tensor_t *b) {
    if (is_empty(a) || is_empty(b)) return false;
    const dg_span_t span_a = dg_tensor_span(a), span_b = dg_tensor_span(b);
    if (span_a.end <= span_b.begin || span_b.end <= span_a.begin) return false;
    /* Beyond half the address space sums could overflow; no program has such views side by side. */
    const uintptr_t limit = UINTPTR_MAX / 8;
    if (span_a.end - span_a.begin > limit || span_b.end - span_b.begin > limit) return true;
    return share_bytes(a, b);
}

bool dg_same_view(const dg_tensor_t *a, const dg_tensor_t *b) {
    bool same = a->data == b->data && a->dtype == b->dtype && a->rank == b->rank;
    for (int32_t i = 0; same && i < a->rank; i++) {
        same = a->shape[i] == b->shape[i] && (a->shape[i] <= 1 || a->stride[i] == b->stride[i]);
    }
    return same;
}
