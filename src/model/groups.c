/* SPDX-License-Identifier: MIT
 *
 * See groups.h. Three forms share one walk over the groups that only differs in where a group may
 * begin and whether a value is a length or an end; a table says which.
 */
#include "model/groups.h"

#include <inttypes.h>
#include <stddef.h>
#include <string.h>

#include "base/error.h"
#include "model/tensor.h"

static const char *const form_names[] = {
    [DG_GROUPS_NONE] = "NONE",
    [DG_GROUPS_SIZES] = "SIZES",
    [DG_GROUPS_OFFSETS] = "OFFSETS",
    [DG_GROUPS_PSUM] = "PSUM",
    [DG_GROUPS_INDEX] = "INDEX",
    [DG_GROUPS_BLOCK_INDEX] = "BLOCK_INDEX",
    [DG_GROUPS_MASKED] = "MASKED",
};

static const unsigned form_count = sizeof form_names / sizeof form_names[0];

const char *dg_group_form_string(dg_group_form_t form) {
    return (unsigned)form < form_count ? form_names[form] : "?";
}

int64_t dg_integer_at(const dg_tensor_t *values, int64_t i) {
    const int64_t at = values->shape[0] == 1 ? 0 : i * values->stride[0];
    if (values->dtype == DG_DTYPE_I64) return ((const int64_t *)values->data)[at];
    return ((const int32_t *)values->data)[at];
}

static dg_text_t format_forms(dg_group_forms_t forms) {
    dg_text_t text = {.bytes = "", .length = 0};
    for (unsigned form = 0; form < form_count; ++form) {
        if ((forms >> form & 1u) == 0) continue;
        forms &= ~(1u << form);
        const char *separator = text.length == 0 ? "" : forms != 0 ? ", " : " or ";
        dg_append_text(&text, "%s%s", separator, form_names[form]);
    }
    return text;
}

static dg_status_t check_host_sizes(const dg_groups_t *groups, const char *name) {
    DG_REQUIRE(groups->form == DG_GROUPS_SIZES, DG_STATUS_BAD_VALUE, name, ".host_sizes",
        "given with the form %s, but only SIZES has sizes; pass NULL",
        dg_group_form_string(groups->form));
    DG_REQUIRE(groups->host_count >= 0, DG_STATUS_BAD_VALUE, name, ".host_count",
        "%" PRId64 ", expected the number of entries in host_sizes, at least 0",
        groups->host_count);
    return DG_STATUS_OK;
}

dg_status_t dg_check_groups(
    const dg_groups_t *groups, const char *name, dg_group_forms_t forms, int64_t *count) {
    *count = 0;
    DG_REQUIRE((unsigned)groups->form < form_count && (forms >> groups->form & 1u) != 0,
        DG_STATUS_BAD_ENUM, name, ".form", "%s (%d), expected %s; choose the form of the values",
        dg_group_form_string(groups->form), (int)groups->form, format_forms(forms).bytes);
    if (groups->form == DG_GROUPS_NONE) {
        DG_REQUIRE(!dg_tensor_given(&groups->values) && groups->host_sizes == NULL,
            DG_STATUS_BAD_ENUM, name, ".form",
            "NONE although values are given; say what they mean, or leave them out");
        return DG_STATUS_OK;
    }
    DG_REQUIRE(groups->alignment >= 0, DG_STATUS_BAD_VALUE, name, ".alignment",
        "%d, expected a positive number, or 0 for the context's mk_alignment", groups->alignment);
    if (groups->host_sizes != NULL) DG_TRY(check_host_sizes(groups, name));
    if (groups->host_sizes != NULL && !dg_tensor_given(&groups->values)) {
        *count = groups->host_count;
        return DG_STATUS_OK;
    }
    const dg_tensor_t *values = &groups->values;
    DG_TRY(dg_check_tensor(
        values, name, ".values", DG_DTYPE_BIT(DG_DTYPE_I32) | DG_DTYPE_BIT(DG_DTYPE_I64), 1));
    *count = values->shape[0];
    return DG_STATUS_OK;
}

/* How a form reads its values: as lengths or as ends, and where a group begins after another. */
typedef struct dg_group_walk_t {
    const dg_groups_t *groups;
    const char *name, *field; /* of the values, for messages */
    int64_t rows, alignment;
    bool clamp;
} dg_group_walk_t;

static int64_t value_at(const dg_group_walk_t *walk, int64_t g) {
    if (dg_tensor_given(&walk->groups->values)) return dg_integer_at(&walk->groups->values, g);
    if (dg_groups_are_equal(walk->groups)) return dg_equal_size(walk->groups, walk->rows);
    return walk->groups->host_sizes[g];
}

/* end rounded up to the alignment. end is at most the rows of a tensor and the alignment fits 32
 * bits, but rows may be near 2^63 in a tensor of stride 0. */
static int64_t align_end(const dg_group_walk_t *walk, int64_t end) {
    const int64_t over = end % walk->alignment;
    if (over == 0) return end;
    return end > INT64_MAX - walk->alignment ? INT64_MAX : end - over + walk->alignment;
}

/* A host list beside the values serves as an upper bound alone: some callers keep a stale one. */
static dg_status_t check_host_sum(const dg_groups_t *groups, const char *name, int64_t rows) {
    int64_t sum = 0;
    for (int64_t g = 0; g < groups->host_count; ++g) {
        const int64_t size = groups->host_sizes[g];
        const bool overflow = __builtin_add_overflow(sum, size, &sum);
        DG_REQUIRE(!overflow, DG_STATUS_BAD_VALUE, name, ".host_sizes",
            "the sum of entries 0 .. %" PRId64 " leaves 64 bits; pass sizes that add up to at "
            "most %" PRId64 ", the number of rows",
            g, rows);
    }
    DG_REQUIRE(sum <= rows, DG_STATUS_BAD_VALUE, name, ".host_sizes",
        "sum %" PRId64 ", expected at most %" PRId64 ", the number of rows; pass the sizes of "
        "these groups, or NULL",
        sum, rows);
    return DG_STATUS_OK;
}

/* Group g, which may begin at `begin` (at most rows) at the earliest, has `size` rows. */
static dg_status_t read_size(
    const dg_group_walk_t *walk, int64_t g, int64_t begin, dg_group_range_t *range) {
    int64_t size = value_at(walk, g);
    if (!walk->clamp) {
        DG_REQUIRE(size >= 0, DG_STATUS_BAD_VALUE, walk->name, walk->field,
            "entry %" PRId64 " is %" PRId64 ", expected a size of at least 0; an empty group has 0",
            g, size);
        DG_REQUIRE(size <= walk->rows - begin, DG_STATUS_BAD_VALUE, walk->name, walk->field,
            "entry %" PRId64 " is %" PRId64 ", but its group begins at row %" PRId64 " of %" PRId64
            "; the sizes may add up to the rows there are, no more",
            g, size, begin, walk->rows);
    }
    size = size < 0 ? 0 : size > walk->rows - begin ? walk->rows - begin : size;
    *range = (dg_group_range_t){begin, begin + size, begin + size};
    return DG_STATUS_OK;
}

/* Group g, which begins at `begin` (PSUM: possibly past the last row), ends before the row given.
 * */
static dg_status_t read_end(
    const dg_group_walk_t *walk, int64_t g, int64_t begin, dg_group_range_t *range) {
    const bool psum = walk->groups->form == DG_GROUPS_PSUM;
    int64_t end = value_at(walk, g);
    if (!walk->clamp) {
        DG_REQUIRE(end >= 0 && end <= walk->rows, DG_STATUS_BAD_VALUE, walk->name, walk->field,
            "entry %" PRId64 " is %" PRId64 ", expected 0 .. %" PRId64 ": group %" PRId64
            " ends before that row, and there are %" PRId64 " rows",
            g, end, walk->rows, g, walk->rows);
        DG_REQUIRE(psum || end >= begin, DG_STATUS_BAD_VALUE, walk->name, walk->field,
            "entry %" PRId64 " is %" PRId64 ", below entry %" PRId64 ", %" PRId64
            "; offsets never decrease, an empty group repeats its predecessor's",
            g, end, g - 1, begin);
    }
    end = end > walk->rows ? walk->rows : end;
    begin = begin > walk->rows ? walk->rows : begin;
    end = end < begin ? begin : end;
    const int64_t aligned = end == begin ? end : align_end(walk, end);
    *range = (dg_group_range_t){begin, end, aligned > walk->rows ? walk->rows : aligned};
    return DG_STATUS_OK;
}

dg_status_t dg_group_ranges(const dg_groups_t *groups, const char *name, int64_t rows,
    const dg_context_options_t *options, dg_group_range_t *ranges) {
    const bool tensor = dg_tensor_given(&groups->values);
    const int32_t alignment = groups->alignment > 0 ? groups->alignment : options->mk_alignment;
    const dg_group_walk_t walk = {
        .groups = groups,
        .name = name,
        .field = tensor ? ".values" : ".host_sizes",
        .rows = rows,
        .alignment = groups->form == DG_GROUPS_PSUM ? alignment : 1,
        .clamp = options->group_values == DG_GROUP_VALUES_CLAMP,
    };
    const int64_t count = tensor ? groups->values.shape[0] : groups->host_count;
    if (tensor && groups->host_sizes != NULL) DG_TRY(check_host_sum(groups, name, rows));
    int64_t begin = 0;
    for (int64_t g = 0; g < count; ++g) {
        switch (groups->form) {
        case DG_GROUPS_SIZES:
        case DG_GROUPS_MASKED: DG_TRY(read_size(&walk, g, begin, &ranges[g])); break;
        case DG_GROUPS_OFFSETS:
        case DG_GROUPS_PSUM: DG_TRY(read_end(&walk, g, begin, &ranges[g])); break;
        default:
            return dg_fail(DG_STATUS_INTERNAL, name, ".form", "%s has no ranges; please report it",
                dg_group_form_string(groups->form));
        }
        if (groups->form != DG_GROUPS_MASKED) begin = align_end(&walk, ranges[g].end);
    }
    return DG_STATUS_OK;
}
