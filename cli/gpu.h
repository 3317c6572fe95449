/* SPDX-License-Identifier: MIT
 *
 * GPUs of this machine, asked from the driver if there is one. Called by info.c.
 */
#ifndef CLI_GPU_H
#define CLI_GPU_H

#include <stddef.h>

typedef struct cli_gpu_t {
    char name[128];
    int major, minor; /* compute capability */
    int num_sms;
    double memory; /* bytes */
} cli_gpu_t;

/* Writes at most `max` GPUs and returns how many there are. note: one line, why there are none
 * or which driver told. */
size_t cli_find_gpus(cli_gpu_t *gpus, size_t max, char *note, size_t note_size);

#endif
