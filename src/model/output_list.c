/* SPDX-License-Identifier: MIT
 *
 * See output_list.h. All entries have one shape, so that sorting the addresses leaves each entry to
 * be compared with its few neighbours only.
 */
#include "model/output_list.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/error.h"
#include "model/span.h"
#include "model/tensor.h"

typedef struct dg_entry_t {
    uintptr_t address;
    int64_t group;
} dg_entry_t;

static dg_tensor_t entry_view(const dg_output_list_t *list, uintptr_t address) {
    dg_tensor_t view = *list->d;
    view.data = (void *)address;
    return view;
}

static dg_status_t check_entry(
    const dg_output_list_t *list, const char *name, const void *address, int64_t g) {
    const int64_t size = dg_dtype_size(list->d->dtype);
    DG_REQUIRE(address != NULL, DG_STATUS_NULL_POINTER, name, "",
        "entry %" PRId64 " is NULL, expected the address of that group's [m, n]; pass it", g);
    DG_REQUIRE((uintptr_t)address % (uintptr_t)size == 0, DG_STATUS_MISALIGNED, name, "",
        "entry %" PRId64 " is %p, expected a multiple of %" PRId64 ", the size of a %s; move it", g,
        address, size, dg_dtype_string(list->d->dtype));
    return DG_STATUS_OK;
}

dg_status_t dg_check_output_list(const dg_output_list_t *list) {
    DG_REQUIRE(list->d_list != NULL, DG_STATUS_NULL_POINTER, "d_list", "",
        "NULL, expected the addresses of %" PRId64 " outputs; pass them, or set output to STACK",
        list->count);
    DG_REQUIRE(list->count >= 1 && list->count <= DG_MAX_LISTED_OUTPUTS, DG_STATUS_BAD_VALUE,
        "d_list", "", "%" PRId64 " groups, expected 1 .. %d; split the call, or use STACK",
        list->count, DG_MAX_LISTED_OUTPUTS);
    if (dg_tensor_elements(list->d) == 0) return DG_STATUS_OK;
    for (int64_t g = 0; g < list->count; g++) {
        DG_TRY(check_entry(list, "d_list", list->d_list[g], g));
        if (list->c_list != NULL) DG_TRY(check_entry(list, "c_list", list->c_list[g], g));
    }
    return DG_STATUS_OK;
}

static int compare_entries(const void *a, const void *b) {
    const uintptr_t x = ((const dg_entry_t *)a)->address, y = ((const dg_entry_t *)b)->address;
    return x < y ? -1 : x > y;
}

/* d_list itself: sorted entries, each against those that begin before it ends. */
static dg_status_t check_neighbours(
    const dg_output_list_t *list, const dg_entry_t *sorted, uintptr_t length) {
    for (int64_t i = 0; i < list->count; i++) {
        const dg_tensor_t first = entry_view(list, sorted[i].address);
        for (int64_t j = i + 1; j < list->count; j++) {
            if (sorted[j].address - sorted[i].address >= length) break;
            const dg_tensor_t second = entry_view(list, sorted[j].address);
            DG_REQUIRE(!dg_tensors_overlap(&first, &second), DG_STATUS_OVERLAP, "d_list", "",
                "entries %" PRId64 " (%p) and %" PRId64 " (%p) share bytes; give each group an "
                "output of its own",
                sorted[i].group, first.data, sorted[j].group, second.data);
        }
    }
    return DG_STATUS_OK;
}

/* An accumulator against the outputs that begin less than `length` before or behind it. */
static dg_status_t check_accumulator(
    const dg_output_list_t *list, const dg_entry_t *sorted, uintptr_t length, int64_t group) {
    const uintptr_t address = (uintptr_t)list->c_list[group];
    const dg_tensor_t c = entry_view(list, address);
    int64_t low = 0, high = list->count; /* the first entry that ends behind the address */
    while (low < high) {
        const int64_t middle = low + (high - low) / 2;
        if (sorted[middle].address + length <= address) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    for (int64_t i = low; i < list->count; i++) {
        if (sorted[i].address >= address + length) break;
        if (sorted[i].group == group && sorted[i].address == address) continue;
        const dg_tensor_t d = entry_view(list, sorted[i].address);
        DG_REQUIRE(!dg_tensors_overlap(&c, &d), DG_STATUS_OVERLAP, "c_list", "",
            "entry %" PRId64 " (%p) shares bytes with entry %" PRId64 " of d_list (%p); it may be "
            "d_list[%" PRId64 "] or lie apart from all of them",
            group, c.data, sorted[i].group, d.data, group);
    }
    return DG_STATUS_OK;
}

dg_status_t dg_check_list_apart(const dg_output_list_t *list, const dg_input_t *inputs, int count) {
    dg_entry_t sorted[DG_MAX_LISTED_OUTPUTS];
    if (dg_tensor_elements(list->d) == 0) return DG_STATUS_OK;
    for (int64_t g = 0; g < list->count; g++) {
        const uintptr_t address = (uintptr_t)list->d_list[g];
        const dg_tensor_t d = entry_view(list, address);
        sorted[g] = (dg_entry_t){address, g};
        DG_TRY(dg_check_apart(&d, "d_list", inputs, count));
    }
    qsort(sorted, (size_t)list->count, sizeof *sorted, compare_entries);
    const dg_tensor_t first = entry_view(list, sorted[0].address);
    const dg_span_t span = dg_tensor_span(&first);
    const uintptr_t length = span.end - span.begin;
    DG_TRY(check_neighbours(list, sorted, length));
    for (int64_t g = 0; list->c_list != NULL && g < list->count; g++) {
        DG_TRY(check_accumulator(list, sorted, length, g));
    }
    return DG_STATUS_OK;
}
