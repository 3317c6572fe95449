/* SPDX-License-Identifier: MIT
 *
 * What all families share: building from a shape, the check that nothing outside the tensors
 * changed, release.
 */
#include "case.h"

#include <stdio.h>
#include <stdlib.h>

static const cli_family_ops_t *const family_ops[CLI_NUM_FAMILIES] = {
    [CLI_GEMM] = &cli_gemm_ops,
    [CLI_M_GROUPED] = &cli_gemm_ops,
    [CLI_K_GROUPED] = &cli_k_grouped_ops,
    [CLI_CAST] = &cli_cast_ops,
    [CLI_SCALE_LAYOUT] = &cli_scale_layout_ops,
    [CLI_PERMUTE] = &cli_permute_ops,
};

bool cli_case_build(cli_case_t *problem, const cli_shape_t *shape, char *error) {
    *problem = (cli_case_t){.shape = *shape, .ops = family_ops[shape->family]};
    if (!cli_shape_complete(&problem->shape, error)) return false;
    problem->random.state = (uint64_t)problem->shape.seed;
    if (!problem->ops->build(problem, error)) {
        cli_case_release(problem);
        return false;
    }
    return true;
}

dg_status_t cli_case_run(cli_case_t *problem, dg_context_t *ctx) {
    return problem->ops->run(problem, ctx);
}

void cli_case_reset(cli_case_t *problem) {
    problem->ops->reset(problem);
}

cli_verdict_t cli_case_judge(const cli_case_t *problem, int64_t work) {
    cli_verdict_t verdict = {.checked = 0};
    problem->ops->judge(problem, work, &verdict);
    if (verdict.why[0] == 0 && !cli_pool_intact(&problem->pool)) {
        snprintf(verdict.why, CLI_TEXT, "bytes outside the tensors were written");
    }
    return verdict;
}

void cli_case_release(cli_case_t *problem) {
    cli_pool_release(&problem->pool);
    free(problem->state);
    problem->state = NULL;
}
