/* SPDX-License-Identifier: MIT
 *
 * The table of kernels out of kernels/args/kernels.h, the catalogue of specialisations that the
 * build made out of kernels/catalogue.txt (tools/gen_catalogue.py), and specialisations as text.
 * See kernel.h.
 */
#include "plan/kernel.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "plan/catalogue_table.h"

#define DG_FIELDS(...) __VA_ARGS__
#define DG_KERNEL(ID, NAME, SOURCE, ARCHITECTURE, FIELDS)                                          \
    static const char *const fields_of_##ID[] = {FIELDS};                                          \
    _Static_assert(sizeof fields_of_##ID / sizeof(char *) <= DG_MAX_FIELDS, NAME ": fields");
#include "kernels/args/kernels.h"
#undef DG_KERNEL

static const dg_kernel_t kernels[DG_KERNEL_COUNT] = {
#define DG_KERNEL(ID, NAME, SOURCE, ARCHITECTURE, FIELDS)                                          \
    {NAME, SOURCE, ARCHITECTURE, sizeof fields_of_##ID / sizeof(char *), fields_of_##ID},
#include "kernels/args/kernels.h"
#undef DG_KERNEL
};

const dg_kernel_t *dg_find_kernel(int32_t id) {
    return &kernels[id];
}

static int equals(const char *whole, const char *text, size_t length) {
    return strncmp(whole, text, length) == 0 && whole[length] == '\0';
}

int32_t dg_find_kernel_id(const char *name, size_t length) {
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++)
        if (equals(kernels[id].name, name, length)) return id;
    return -1;
}

int32_t dg_find_field(const dg_kernel_t *kernel, const char *field, size_t length) {
    for (int32_t i = 0; i < kernel->field_count; i++)
        if (equals(kernel->fields[i], field, length)) return i;
    return -1;
}

const dg_specialisation_t *dg_catalogue_entry(int32_t kernel, int32_t index) {
    const int32_t begin = catalogue_begin[kernel], count = catalogue_begin[kernel + 1] - begin;
    return index < count ? &catalogue[begin + index] : NULL;
}

size_t dg_format_specialisation(
    const dg_specialisation_t *specialisation, char *text, size_t size) {
    const dg_kernel_t *kernel = &kernels[specialisation->kernel];
    size_t length = strlen(kernel->name);
    if (size > 0) snprintf(text, size, "%s", kernel->name);
    for (int32_t i = 0; i < kernel->field_count; i++) {
        const size_t at = length < size ? length : size;
        const int written =
            snprintf(text + at, size - at, " %s=%d", kernel->fields[i], specialisation->values[i]);
        length += written > 0 ? (size_t)written : 0;
    }
    return length;
}

/* One "FIELD=value" of `length` characters. *seen has a bit for each field that stood before. */
static dg_status_t parse_field(const dg_kernel_t *kernel, const char *word, int length,
    dg_specialisation_t *specialisation, uint32_t *seen) {
    const char *equal = memchr(word, '=', (size_t)length);
    DG_REQUIRE(equal, DG_STATUS_BAD_VALUE, "specialisation", "",
        "\"%.*s\", expected FIELD=value, as in \"BLOCK_M=128\"", length, word);
    const int32_t field = dg_find_field(kernel, word, (size_t)(equal - word));
    DG_REQUIRE(field >= 0, DG_STATUS_BAD_VALUE, "specialisation", "",
        "\"%.*s\" is no field of %s; its fields stand in kernels/args/kernels.h",
        (int)(equal - word), word, kernel->name);
    DG_REQUIRE(!(*seen >> field & 1), DG_STATUS_BAD_VALUE, "specialisation", "",
        "%s is given twice; give each field of %s once", kernel->fields[field], kernel->name);
    char *end;
    const long value = strtol(equal + 1, &end, 10);
    DG_REQUIRE(end == word + length && end > equal + 1 && value >= INT_MIN && value <= INT_MAX,
        DG_STATUS_BAD_VALUE, "specialisation", "",
        "\"%.*s\", expected an integer after %s=", length, word, kernel->fields[field]);
    specialisation->values[field] = (int32_t)value;
    *seen |= 1u << field;
    return DG_STATUS_OK;
}

dg_status_t dg_parse_specialisation(const char *text, dg_specialisation_t *specialisation) {
    const char *const blanks = " \t\r\n";
    const char *word = text + strspn(text, blanks);
    size_t length = strcspn(word, blanks);
    const int32_t id = dg_find_kernel_id(word, length);
    uint32_t seen = 0;
    DG_REQUIRE(id >= 0, DG_STATUS_BAD_VALUE, "specialisation", "",
        "\"%.*s\" is no kernel, expected a line such as \"%s %s=...\"", (int)(length % 100), word,
        kernels[0].name, kernels[0].fields[0]);
    memset(specialisation, 0, sizeof *specialisation);
    specialisation->kernel = id;
    for (;;) {
        word += length;
        word += strspn(word, blanks);
        length = strcspn(word, blanks);
        if (length == 0) break;
        DG_TRY(parse_field(&kernels[id], word, (int)(length % INT_MAX), specialisation, &seen));
    }
    for (int32_t i = 0; i < kernels[id].field_count; i++)
        DG_REQUIRE(seen >> i & 1, DG_STATUS_BAD_VALUE, "specialisation", "",
            "%s is missing; give every field of %s a value", kernels[id].fields[i],
            kernels[id].name);
    return DG_STATUS_OK;
}
