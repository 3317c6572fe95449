/* SPDX-License-Identifier: MIT
 *
 * The conformance cases: which program runs with which inputs, and how its words are written to the
 * golden file. Used by the host program that makes the file on a GPU (tests/gpu/conformance.c) and
 * by the emulator's test that reads it (tests/conformance/test_conformance.cpp). */
#ifndef DG_TESTS_CONFORMANCE_CASES_H
#define DG_TESTS_CONFORMANCE_CASES_H

#include <stddef.h>
#include <stdint.h>

#include "args.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef enum conform_input {
    CONFORM_INDEX,    /* 16-bit elements: their own number */
    CONFORM_E4M3,     /* 0, +-1, +-2 in every byte */
    CONFORM_BF16,     /* the same in every 16 bits */
    CONFORM_F16,      /* likewise */
    CONFORM_F32,      /* the same in every 32 bits */
    CONFORM_ANY_FLOAT /* f32 of all magnitudes, ties and specials */
} conform_input_t;

typedef enum conform_element { CONFORM_BYTES_2, CONFORM_BYTES_4 } conform_element_t;

/* A tensor map over input or output: 2 or 3 dimensions, fastest first, dense but for pitch. */
typedef struct conform_map {
    uint32_t rank; /* 0: the case needs none */
    conform_element_t element;
    uint32_t extent[3], box[3];
    uint32_t pitch;   /* bytes from row to row; a plane is extent[1] rows */
    uint32_t swizzle; /* bytes: 0, 32, 64 or 128 */
} conform_map_t;

typedef struct conform_case {
    const char *name, *program;
    conform_input_t input;
    uint32_t cluster; /* also the grid */
    uint32_t words;   /* of output; preset to 1.0f where initial is 1, else to 0xcccccccc */
    int initial;
    int32_t p[5];
    conform_map_t in, out;
} conform_case_t;

extern const conform_case_t conform_cases[];
extern const size_t conform_case_count;

#define CONFORM_SHARED_BYTES (1024 + CONFORM_INPUT_WORDS * 4)

/* input: [CONFORM_INPUT_WORDS] */
void conform_fill_input(const conform_case_t *c, uint32_t *input);
void conform_fill_output(const conform_case_t *c, uint32_t *output);

#ifdef __cplusplus
}
#endif
#endif
