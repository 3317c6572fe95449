/* SPDX-License-Identifier: MIT
 *
 * What the planner knows of a GPU, and the table of known ones. Called by plan.c for machines given
 * by name, and by src/cuda, which starts from a row of the table and overwrites what the driver
 * tells.
 */
#ifndef DG_PLAN_MACHINE_H
#define DG_PLAN_MACHINE_H

#include <stdint.h>

typedef struct dg_machine_t {
    const char *name;          /* "H200" */
    int32_t architecture;      /* 90 */
    int32_t sms;               /* 132 */
    int32_t shared_bytes;      /* most dynamic shared memory of one CTA, 232448 */
    int32_t clusters_of_2;     /* clusters of two big CTAs that run at once, 66; 0: no clusters */
    float clock_mhz;           /* with the tensor cores busy all the time */
    float idle_clock_mhz;      /* with the tensor cores idle */
    float memory_bytes_per_us; /* copy rate that kernels reach, read + write */
    float launch_us;           /* of an empty kernel, event to event */
} dg_machine_t;

/* Row `index` of the table; NULL past its end. */
const dg_machine_t *dg_machine_row(int32_t index);

/* The row of a name: the name of a row ("H200", in any case), or a driver's name for such a device
 * ("NVIDIA H200"). NULL if none fits. */
const dg_machine_t *dg_find_machine(const char *name);

/* The row closest to a device that is there: the row of its name (may be NULL) if that is of the same
 * architecture, else the row of the architecture, or else of the next lower one, with the closest
 * number of SMs. NULL for an architecture below 80. */
const dg_machine_t *dg_match_machine(const char *name, int32_t architecture, int32_t sms);

#endif
