/* SPDX-License-Identifier: MIT
 *
 * Kernels and their specialisations, as data. A kernel is one file of kernels/ that leaves some
 * macros open; a specialisation gives each a value. It is what gets compiled, cached and launched:
 * shapes are run-time arguments and never part of it. Used by plan, jit, cuda; the list itself is
 * kernels/args/kernels.h.
 *
 * As text a specialisation is a line of kernels/catalogue.txt:
 *
 *     sm90_fp8_gemm_block BLOCK_M=256 BLOCK_N=128 STAGES=4 ...
 */
#ifndef DG_PLAN_KERNEL_H
#define DG_PLAN_KERNEL_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"

#define DG_MAX_FIELDS 24

typedef struct dg_kernel_t {
    const char *name;          /* "sm90_fp8_gemm_block"; the symbol is "dg_" in front of it */
    const char *source;        /* "sm90/fp8_gemm_block.cu", inside kernels/ */
    int32_t architecture;      /* 90: sm_90a; 0: any GPU from sm_80 on */
    int32_t field_count;       /* macros that a specialisation sets, in this order */
    const char *const *fields; /* [field_count] "BLOCK_M", ... */
} dg_kernel_t;

/* Compared and hashed as bytes: unused values are zero. */
typedef struct dg_specialisation_t {
    int32_t kernel; /* DG_KERNEL_* */
    int32_t values[DG_MAX_FIELDS];
} dg_specialisation_t;

typedef enum dg_kernel_id_t {
#define DG_KERNEL(ID, NAME, SOURCE, ARCHITECTURE, FIELDS) DG_KERNEL_##ID,
#include "kernels/args/kernels.h"
#undef DG_KERNEL
    DG_KERNEL_COUNT
} dg_kernel_id_t;

/* The kernel of an id below DG_KERNEL_COUNT. */
const dg_kernel_t *dg_find_kernel(int32_t id);

/* The id of a kernel's name, the first `length` characters of `name`; -1 if there is none. */
int32_t dg_find_kernel_id(const char *name, size_t length);

/* The place of a field in values[], -1 if the kernel has no field of that name. */
int32_t dg_find_field(const dg_kernel_t *kernel, const char *field, size_t length);

/* Room for any specialisation as text. */
#define DG_SPECIALISATION_TEXT 768

/* Writes a specialisation as a line of the catalogue, without a newline; cut off at size - 1. Returns
 * the length that the whole text has. */
size_t dg_format_specialisation(const dg_specialisation_t *specialisation, char *text, size_t size);

/* Reads such a line; fields may stand in any order, every field once. BAD_VALUE otherwise. */
dg_status_t dg_parse_specialisation(const char *text, dg_specialisation_t *specialisation);

/* Entry `index` of the catalogue among those of a kernel, in the order of the file; NULL past the
 * last. The catalogue is what the library is built with: kernels/catalogue.txt. */
const dg_specialisation_t *dg_catalogue_entry(int32_t kernel, int32_t index);

#endif
