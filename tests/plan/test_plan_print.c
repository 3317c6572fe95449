/* SPDX-License-Identifier: MIT
 *
 * DG_PRINT_CONFIGS: a problem's plan is told once, to the hook of the call that made it.
 */
#define _POSIX_C_SOURCE 200809L /* setenv */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

#include "base/log.h"
#include "plan/plan_cache.h"
#include "random_work.h"

static int lines;
static char last[2048];

static void take_line(void *user, dg_log_level_t level, const char *line) {
    (void)user;
    (void)level;
    lines++;
    strncpy(last, line, sizeof last - 1);
}

static void each_problem_is_told_once(void **state) {
    (void)state;
    dg_random_t random = {1};
    const dg_machine_t machine = *dg_draw_machine(&random);
    const dg_plan_options_t options = {0};
    const dg_work_t one = dg_block_work(4096, 7168, 2048), two = dg_block_work(4096, 7168, 7168);
    dg_plan_t plan;
    dg_enter_log(take_line, NULL, DG_LOG_ERROR); /* asked for, so told at any level */
    for (int i = 0; i < 3; i++)
        assert_int_equal(dg_find_plan(&one, &machine, &options, &plan), DG_STATUS_OK);
    assert_int_equal(lines, plan.stage_count);
    assert_non_null(strstr(last, "m=4096 n=7168 k=2048"));
    char name[DG_SPECIALISATION_TEXT];
    dg_format_specialisation(&plan.stage[plan.stage_count - 1].specialisation, name, sizeof name);
    assert_non_null(strstr(last, name));
    assert_int_equal(dg_find_plan(&two, &machine, &options, &plan), DG_STATUS_OK);
    assert_non_null(strstr(last, "m=4096 n=7168 k=7168"));
}

int main(void) {
    setenv("DG_PRINT_CONFIGS", "1", 1);
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_problem_is_told_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
