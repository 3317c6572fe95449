/* SPDX-License-Identifier: MIT
 *
 * The table of kernels, the catalogue and specialisations as text: what is printed is read back, what
 * is wrong is refused by name, and the structs that give values names agree with kernels.h.
 */
#include "plan/kernel.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

#include "plan/sm90_fp8_gemm_block.h"

static void finds_kernels_and_fields(void **state) {
    (void)state;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        const dg_kernel_t *kernel = dg_find_kernel(id);
        assert_int_equal(dg_find_kernel_id(kernel->name, strlen(kernel->name)), id);
        assert_int_equal(dg_find_kernel_id(kernel->name, strlen(kernel->name) - 1), -1);
        assert_true(kernel->field_count > 0 && kernel->field_count <= DG_MAX_FIELDS);
        for (int32_t i = 0; i < kernel->field_count; i++) {
            const char *field = kernel->fields[i];
            assert_int_equal(dg_find_field(kernel, field, strlen(field)), i);
            assert_int_equal(dg_find_field(kernel, field, strlen(field) - 1), -1);
        }
    }
    assert_int_equal(dg_find_kernel_id("", 0), -1);
}

static void reads_back_what_it_prints(void **state) {
    (void)state;
    srand(20);
    for (int round = 0; round < 1000; round++) {
        dg_specialisation_t one, two;
        char text[DG_SPECIALISATION_TEXT];
        memset(&one, 0, sizeof one);
        memset(&two, 0xA5, sizeof two);
        one.kernel = rand() % DG_KERNEL_COUNT;
        for (int32_t i = 0; i < dg_find_kernel(one.kernel)->field_count; i++)
            one.values[i] = rand() - RAND_MAX / 2;
        const size_t length = dg_format_specialisation(&one, text, sizeof text);
        assert_int_equal(length, strlen(text));
        assert_int_equal(dg_parse_specialisation(text, &two), DG_STATUS_OK);
        assert_memory_equal(&one, &two, sizeof one);
    }
}

static void prints_into_small_buffers(void **state) {
    (void)state;
    const dg_specialisation_t *entry = dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_BLOCK, 0);
    char whole[DG_SPECIALISATION_TEXT], part[DG_SPECIALISATION_TEXT];
    assert_non_null(entry);
    const size_t length = dg_format_specialisation(entry, whole, sizeof whole);
    for (size_t size = 0; size < length + 2; size++) {
        memset(part, '?', sizeof part);
        assert_int_equal(dg_format_specialisation(entry, part, size), length);
        assert_int_equal(part[size], '?');
        if (size > 0) assert_int_equal(strlen(part), size <= length ? size - 1 : length);
        if (size > 0) assert_memory_equal(part, whole, strlen(part));
    }
}

static void refuses(const char *text, const char *says) {
    dg_specialisation_t specialisation;
    assert_int_equal(dg_parse_specialisation(text, &specialisation), DG_STATUS_BAD_VALUE);
    if (strstr(dg_last_error(), says) == NULL)
        fail_msg("\"%s\" gives \"%s\", not \"%s\"", text, dg_last_error(), says);
}

static void refuses_bad_text(void **state) {
    (void)state;
    const char *const good =
        "sm90_fp8_gemm_block BLOCK_M=1 BLOCK_N=2 STAGES=3 MATH_GROUPS=4 SHARE=5 "
        "STORE_N=6 STORE_ROWS=7 STORE_BUFFERS=8 OUT_F32=10 ADD_C=11 SCHEDULE=12";
    char text[256];
    refuses("", "is no kernel");
    refuses("sm90_fp8_gemm", "is no kernel");
    refuses(good, "UNROLL_K is missing");
    snprintf(text, sizeof text, "%s UNROLL_K=8 BLOCK_M=1", good);
    refuses(text, "BLOCK_M is given twice");
    snprintf(text, sizeof text, "%s UNROLL=8", good);
    refuses(text, "\"UNROLL\" is no field");
    snprintf(text, sizeof text, "%s UNROLL_K", good);
    refuses(text, "expected FIELD=value");
    snprintf(text, sizeof text, "%s UNROLL_K=", good);
    refuses(text, "expected an integer");
    snprintf(text, sizeof text, "%s UNROLL_K=8x", good);
    refuses(text, "expected an integer");
    snprintf(text, sizeof text, "%s UNROLL_K=99999999999", good);
    refuses(text, "expected an integer");
}

static void names_values_in_the_order_of_the_list(void **state) {
    (void)state;
    dg_specialisation_t specialisation;
    const dg_status_t status = dg_parse_specialisation(
        " sm90_fp8_gemm_block  UNROLL_K=9 BLOCK_N=2 STAGES=3 MATH_GROUPS=4 SHARE=5 STORE_N=6 "
        "SCHEDULE=12 STORE_BUFFERS=8 OUT_F32=10 STORE_ROWS=7 ADD_C=11 BLOCK_M=1\n",
        &specialisation);
    assert_int_equal(status, DG_STATUS_OK);
    const dg_sm90_fp8_gemm_block_fields_t f = dg_sm90_fp8_gemm_block_fields(&specialisation);
    const int32_t values[] = {f.block_m, f.block_n, f.stages, f.math_groups, f.share, f.store_n,
        f.store_rows, f.store_buffers, f.unroll_k, f.out_f32, f.add_c, f.schedule};
    for (int32_t i = 0; i < 12; i++) assert_int_equal(values[i], i + 1);
    assert_int_equal(
        sizeof f / sizeof f.block_m, dg_find_kernel(specialisation.kernel)->field_count);
}

static void lists_the_catalogue(void **state) {
    (void)state;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        const dg_specialisation_t *entry;
        for (int32_t i = 0; (entry = dg_catalogue_entry(id, i)); i++) {
            assert_int_equal(entry->kernel, id);
            for (int32_t v = dg_find_kernel(id)->field_count; v < DG_MAX_FIELDS; v++)
                assert_int_equal(entry->values[v], 0);
            for (int32_t other = 0; other < i; other++)
                assert_memory_not_equal(entry, dg_catalogue_entry(id, other), sizeof *entry);
        }
    }
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_kernels_and_fields),
        cmocka_unit_test(reads_back_what_it_prints),
        cmocka_unit_test(prints_into_small_buffers),
        cmocka_unit_test(refuses_bad_text),
        cmocka_unit_test(names_values_in_the_order_of_the_list),
        cmocka_unit_test(lists_the_catalogue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
