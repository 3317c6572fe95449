/* SPDX-License-Identifier: MIT
 *
 * libopenblas.so.0 is opened at run time: neither the library nor the command line depends on it.
 */
#include "openblas.h"

#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "buffer.h"
#include "deep_gemm/deep_gemm.h"
#include "measure.h"
#include "operand.h"

enum { ROW_MAJOR = 101, NO_TRANSPOSE = 111, TRANSPOSE = 112 }; /* of cblas.h */

typedef struct sgemm_t {
    void (*run)(int order, int transpose_a, int transpose_b, int m, int n, int k, float alpha,
        const float *a, int lda, const float *b, int ldb, float beta, float *c, int ldc);
    int n;
    float *a, *b, *c;
} sgemm_t;

static bool run_once(void *self) {
    const sgemm_t *sgemm = self;
    const int n = sgemm->n;
    sgemm->run(
        ROW_MAJOR, NO_TRANSPOSE, TRANSPOSE, n, n, n, 1, sgemm->a, n, sgemm->b, n, 0, sgemm->c, n);
    return true;
}

static void find(void *library, const char *name, void *function, size_t size) {
    void *address = dlsym(library, name);
    memcpy(function, &address, size);
}

bool cli_time_sgemm(
    int64_t n, int64_t threads, int64_t repeat, double *seconds, char *note, size_t note_size) {
    void *library = dlopen("libopenblas.so.0", RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) {
        snprintf(note, note_size, "OpenBLAS is not installed (libopenblas.so.0)");
        return false;
    }
    sgemm_t sgemm = {.n = (int)n};
    void (*set_threads)(int count) = NULL;
    const char *(*core_name)(void) = NULL;
    find(library, "cblas_sgemm", &sgemm.run, sizeof sgemm.run);
    find(library, "openblas_set_num_threads", &set_threads, sizeof set_threads);
    find(library, "openblas_get_corename", &core_name, sizeof core_name);
    if (sgemm.run == NULL || set_threads == NULL || core_name == NULL) {
        snprintf(note, note_size, "libopenblas.so.0 lacks cblas_sgemm");
        return false;
    }
    set_threads((int)threads);
    cli_pool_t pool = {.count = 0};
    cli_random_t random = {1};
    const size_t bytes = (size_t)(n * n) * sizeof(float);
    sgemm.a = cli_pool_take(&pool, bytes);
    sgemm.b = cli_pool_take(&pool, bytes);
    sgemm.c = cli_pool_take(&pool, bytes);
    cli_fill_values(sgemm.a, DG_DTYPE_F32, n * n, &random);
    cli_fill_values(sgemm.b, DG_DTYPE_F32, n * n, &random);
    cli_times_t times = {0, 0};
    cli_measure(run_once, &sgemm, &(cli_repeat_t){repeat, 0}, &times);
    *seconds = times.least;
    snprintf(note, note_size, "OpenBLAS cblas_sgemm, kernels for %s", core_name());
    cli_pool_release(&pool);
    return true; /* the library stays open: its threads may still run */
}
