/* SPDX-License-Identifier: MIT
 *
 * What is to be compiled: a specialisation for an architecture, with the names and the key that
 * follow from it. Made by table.c and warm.c, read by the compilers and by disk.c.
 */
#ifndef DG_JIT_PROGRAM_H
#define DG_JIT_PROGRAM_H

#include <stddef.h>
#include <stdint.h>

#include "plan/kernel.h"

typedef struct dg_program_t {
    dg_specialisation_t specialisation;
    const dg_kernel_t *kernel;
    int32_t architecture;              /* 90 */
    char target[16];                   /* "sm_90a", as compilers call it */
    char symbol[64];                   /* "dg_sm90_fp8_gemm_block" */
    char name[DG_SPECIALISATION_TEXT]; /* "sm90_fp8_gemm_block BLOCK_M=256 ...", for people */
    char key[65];                      /* digest of text, macros, target and options */
} dg_program_t;

/* UNSUPPORTED if the kernel is for another architecture, or this build lacks its text; the names are
 * there even so. */
dg_status_t dg_describe_program(
    const dg_specialisation_t *specialisation, int32_t architecture, dg_program_t *program);

/* The whole source, macros first, with a terminating zero; to be freed. NULL: no memory. */
char *dg_program_source(const dg_program_t *program, size_t *bytes);

/* A compiled program, to be freed by dg_free_binary. */
typedef struct dg_binary_t {
    char *cubin;
    size_t bytes;
    char *log; /* what the compiler said, ptxas' figures among it; may be NULL */
    char *ptx; /* NULL unless DG_JIT_DUMP_PTX is set */
} dg_binary_t;

void dg_free_binary(dg_binary_t *binary);

#endif
