/* SPDX-License-Identifier: MIT
 *
 * The table of GPUs: found by the names that people and drivers use, and by architecture and size.
 */
#include "plan/machine.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
/* last: it needs those above */
#include <cmocka.h>

static void finds_names(void **state) {
    static const char *const names[][2] = {
        {"H200", "H200"},
        {"h200", "H200"},
        {"NVIDIA H200", "H200"},
        {"NVIDIA H200 NVL", "H200"},
        {"NVIDIA GH200 480GB", "GH200"},
        {"NVIDIA H20", "H20"},
        {"NVIDIA H100 80GB HBM3", "H100 SXM"},
        {"NVIDIA H100 PCIe", "H100 PCIe"},
        {"NVIDIA H100 NVL", "H100 NVL"},
        {"h100 pcie", "H100 PCIe"},
        {"NVIDIA B200", "B200"},
        {"NVIDIA GB200", "GB200"},
        {"NVIDIA A100-SXM4-80GB", "A100"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        const dg_machine_t *machine = dg_find_machine(names[i][0]);
        assert_non_null(machine);
        assert_string_equal(machine->name, names[i][1]);
    }
    assert_null(dg_find_machine(""));
    assert_null(dg_find_machine("NVIDIA H2000"));
    assert_null(dg_find_machine("NVIDIA"));
}

static void matches_devices(void **state) {
    (void)state;
    assert_string_equal(dg_match_machine("NVIDIA H200", 90, 132)->name, "H200");
    assert_int_equal(dg_match_machine("NVIDIA H200", 100, 148)->architecture, 100);
    assert_int_equal(dg_match_machine(NULL, 90, 80)->sms, 78);
    assert_int_equal(dg_match_machine("unheard of", 90, 110)->sms, 114);
    assert_int_equal(dg_match_machine(NULL, 89, 142)->architecture, 89);
    assert_int_equal(dg_match_machine(NULL, 87, 16)->architecture, 86);
    assert_int_equal(dg_match_machine(NULL, 130, 100)->architecture, 120);
    assert_null(dg_match_machine(NULL, 75, 40));
}

static void holds_sane_rows(void **state) {
    const dg_machine_t *row;
    int32_t count = 0;
    (void)state;
    for (; (row = dg_machine_row(count)); count++) {
        assert_ptr_equal(dg_find_machine(row->name), row);
        assert_true(row->clusters_of_2 * 2 <= row->sms);
        assert_true(row->clusters_of_2 > 0 || row->architecture < 90);
        assert_true(row->shared_bytes >= 101376 && row->shared_bytes <= 232448);
        assert_true(row->clock_mhz < row->idle_clock_mhz);
    }
    assert_true(count > 5);
    assert_null(dg_machine_row(-1));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_names),
        cmocka_unit_test(matches_devices),
        cmocka_unit_test(holds_sane_rows),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
