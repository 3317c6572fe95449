/* SPDX-License-Identifier: MIT
 *
 * Some elements of a call's result on a GPU, to tell whether two ways of computing it agree. Called by
 * tune.c.
 */
#ifndef CLI_GPU_SAMPLE_H
#define CLI_GPU_SAMPLE_H

#include "gpu_operands.h"

#define CLI_GPU_PIECES 96
#define CLI_GPU_PIECE 512 /* bytes */

typedef struct cli_gpu_sample_t {
    size_t bytes; /* taken of each piece */
    unsigned char pieces[CLI_GPU_PIECES][CLI_GPU_PIECE];
} cli_gpu_sample_t;

/* Zeros all of d. Both return false with dg_last_error(). */
bool cli_gpu_clear(const cli_gpu_operands_t *operands);

/* Copies pieces from all over d: of MASKED groups from the rows that count. */
bool cli_gpu_take_sample(const cli_gpu_operands_t *operands, const cli_plan_arguments_t *arguments,
    cli_gpu_sample_t *sample);

/* 1 - 2 xy / (xx + yy) over all elements; 1 if one of them is no number. */
double cli_gpu_compare(const cli_gpu_sample_t *x, const cli_gpu_sample_t *y, dg_dtype_t dtype);

#endif
