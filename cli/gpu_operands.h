/* SPDX-License-Identifier: MIT
 *
 * Memory on a GPU behind the tensors of a call that plan_arguments.c laid out without any: random
 * operands and factors, and the groups of the shape. Called by tune.c; uses the library's device
 * functions alone.
 */
#ifndef CLI_GPU_OPERANDS_H
#define CLI_GPU_OPERANDS_H

#include "plan_arguments.h"

#define CLI_GPU_MAX_BUFFERS 12

/* What memory is filled with. */
typedef enum cli_gpu_fill_t {
    CLI_GPU_E4M3,      /* normal values, 448 the largest of some hundred, as a cast leaves them */
    CLI_GPU_BF16,      /* normal values */
    CLI_GPU_F32,       /* normal values */
    CLI_GPU_FACTORS,   /* F32, about 1/200 */
    CLI_GPU_BYTES,     /* any: E2M1 */
    CLI_GPU_EXPONENTS, /* bytes 118 .. 121: E8M0, and packed in words */
    CLI_GPU_NUM_FILLS
} cli_gpu_fill_t;

typedef struct cli_gpu_operands_t {
    dg_device_t device;
    void *patterns[CLI_GPU_NUM_FILLS]; /* on the device, made at first need */
    void *buffers[CLI_GPU_MAX_BUFFERS];
    size_t count;
    void *d[CLI_MAX_GROUPS]; /* addresses of d, one unless it is a list */
    int64_t d_count;
    size_t d_bytes; /* of each */
} cli_gpu_operands_t;

/* Gives every tensor of `arguments` its memory, that of the shape before being released. False: see
 * dg_last_error(). */
bool cli_gpu_place(cli_gpu_operands_t *operands, cli_plan_arguments_t *arguments);

/* Releases everything. */
void cli_gpu_release(cli_gpu_operands_t *operands);

/* The call that the arguments describe, and its need of workspace. */
dg_status_t cli_gpu_call(
    dg_context_t *ctx, const cli_plan_arguments_t *arguments, const dg_launch_t *launch);
dg_status_t cli_gpu_workspace(
    dg_context_t *ctx, const cli_plan_arguments_t *arguments, size_t *bytes);

#endif
