/* SPDX-License-Identifier: MIT
 *
 * What every conformance program gets. The programs (programs.cu) run on a GPU, which writes the
 * golden file, and on the emulator, which must agree with it. */
#ifndef DG_TESTS_CONFORMANCE_ARGS_H
#define DG_TESTS_CONFORMANCE_ARGS_H

#include "args/types.h"

typedef struct conform_args {
    dg_tensor_map_t in;    /* over input, as the case says */
    dg_tensor_map_t out;   /* over output */
    const uint32_t *input; /* CONFORM_INPUT_WORDS words */
    uint32_t *output;      /* the case's number of words */
    dg_tensor_map_t *ring; /* 256 bytes, for maps made by the program */
    int32_t p[5];          /* parameters of the case */
    uint32_t reserved[5];
} conform_args_t;

#define CONFORM_INPUT_WORDS 16384

#endif
