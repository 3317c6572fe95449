/* SPDX-License-Identifier: MIT
 *
 * The inputs of tests/family/test_groups_faults.c, which made kernels of this kind race, hang or
 * overrun, on the kernels that the planner chooses for three SMs, under the race checker.
 */
#include "backend.h"

int family_main(void); /* the main function of that file */

int main(void) {
    emulated_machine = (emulated_machine_t){.sms = 3, .schedule = 1, .planned = 1};
    return family_main();
}
