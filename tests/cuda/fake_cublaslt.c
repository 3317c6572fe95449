/* SPDX-License-Identifier: MIT
 *
 * See fake_cublaslt.h. Names and results are cuBLASLt's own; types are the library's twins of them
 * (src/cuda/cublaslt_library.h), so that a wrong declaration there is a wrong call here.
 */
#include "fake_cublaslt.h"

#include <stdlib.h>
#include <string.h>

#include "model/dtype.h"

#define EXPORT __attribute__((visibility("default")))

enum { INVALID_VALUE = 7 };

static fake_cublaslt_t fake;
static int handles; /* addresses only */

EXPORT fake_cublaslt_t *fake_cublaslt(void);
EXPORT size_t cublasLtGetVersion(void);
EXPORT const char *cublasLtGetStatusString(dg_lt_status_t status);
#define EXPORT_CALL(name, parameters) EXPORT dg_lt_status_t name parameters;
DG_LT_CALLS(EXPORT_CALL)

fake_cublaslt_t *fake_cublaslt(void) {
    return &fake;
}

size_t cublasLtGetVersion(void) {
    return 130100;
}

const char *cublasLtGetStatusString(dg_lt_status_t status) {
    return status == INVALID_VALUE ? "CUBLAS_STATUS_INVALID_VALUE" : "CUBLAS_STATUS_OTHER";
}

/* Counts a call and leaves it if the test wants it to fail. */
#define ENTER(name)                                                                                \
    do {                                                                                           \
        fake.calls[FAKE_LT_##name]++;                                                              \
        if (fake.on_call != NULL) fake.on_call();                                                  \
        if (fake.result[FAKE_LT_##name] != 0) return fake.result[FAKE_LT_##name];                  \
    } while (0)
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition)) return INVALID_VALUE;                                                    \
    } while (0)

dg_lt_status_t cublasLtCreate(dg_lt_handle_t *handle) {
    ENTER(cublasLtCreate);
    *handle = (dg_lt_handle_t)(void *)&handles;
    return DG_LT_SUCCESS;
}

static void *make_object(const void *initial, size_t bytes) {
    void *object = malloc(bytes);
    memcpy(object, initial, bytes);
    fake.objects++;
    return object;
}

static dg_lt_status_t destroy_object(void *object) {
    NEED(object != NULL);
    free(object);
    fake.objects--;
    return DG_LT_SUCCESS;
}

dg_lt_status_t cublasLtMatmulDescCreate(dg_lt_desc_t *desc, int32_t compute, int32_t scale_type) {
    ENTER(cublasLtMatmulDescCreate);
    const fake_lt_desc_t initial = {compute, scale_type, DG_LT_OP_N, DG_LT_OP_N, -1, -1};
    *desc = make_object(&initial, sizeof initial);
    return DG_LT_SUCCESS;
}

dg_lt_status_t cublasLtMatmulDescDestroy(dg_lt_desc_t desc) {
    return destroy_object(desc);
}

dg_lt_status_t cublasLtMatmulDescSetAttribute(
    dg_lt_desc_t desc, int32_t attribute, const void *value, size_t bytes) {
    ENTER(cublasLtMatmulDescSetAttribute);
    fake_lt_desc_t *object = (void *)desc;
    int32_t number = 0;
    NEED(bytes == (attribute == DG_LT_DESC_FAST_ACCUM ? 1 : 4));
    memcpy(&number, value, bytes);
    switch (attribute) {
    case DG_LT_DESC_TRANSA: object->transa = number; break;
    case DG_LT_DESC_TRANSB: object->transb = number; break;
    case DG_LT_DESC_SM_COUNT_TARGET: object->num_sms = number; break;
    case DG_LT_DESC_FAST_ACCUM: object->fast = number; break;
    default: return INVALID_VALUE;
    }
    return DG_LT_SUCCESS;
}

dg_lt_status_t cublasLtMatrixLayoutCreate(
    dg_lt_layout_t *layout, int32_t type, uint64_t rows, uint64_t cols, int64_t ld) {
    ENTER(cublasLtMatrixLayoutCreate);
    NEED(rows > 0 && cols > 0 && ld >= (int64_t)rows);
    const fake_lt_layout_t initial = {type, rows, cols, ld};
    *layout = make_object(&initial, sizeof initial);
    return DG_LT_SUCCESS;
}

dg_lt_status_t cublasLtMatrixLayoutDestroy(dg_lt_layout_t layout) {
    return destroy_object(layout);
}

dg_lt_status_t cublasLtMatmulPreferenceCreate(dg_lt_preference_t *preference) {
    ENTER(cublasLtMatmulPreferenceCreate);
    const fake_lt_preference_t initial = {0, 0xFF, {256, 256, 256, 256}};
    *preference = make_object(&initial, sizeof initial);
    return DG_LT_SUCCESS;
}

dg_lt_status_t cublasLtMatmulPreferenceDestroy(dg_lt_preference_t preference) {
    return destroy_object(preference);
}

dg_lt_status_t cublasLtMatmulPreferenceSetAttribute(
    dg_lt_preference_t preference, int32_t attribute, const void *value, size_t bytes) {
    ENTER(cublasLtMatmulPreferenceSetAttribute);
    fake_lt_preference_t *object = (void *)preference;
    const int32_t operand = attribute - DG_LT_PREF_MIN_ALIGNMENT_A_BYTES;
    if (attribute == DG_LT_PREF_MAX_WORKSPACE_BYTES && bytes == 8) {
        memcpy(&object->workspace, value, bytes);
    } else if (attribute == DG_LT_PREF_REDUCTION_SCHEME_MASK && bytes == 4) {
        memcpy(&object->reduction, value, bytes);
    } else {
        NEED(operand >= 0 && operand < 4 && bytes == 4);
        memcpy(&object->align[operand], value, bytes);
    }
    return DG_LT_SUCCESS;
}

/* What op(A) op(B) are, from the operations and the layouts; false if they do not fit. */
typedef struct fake_lt_extents_t {
    uint64_t m, n, k;
} fake_lt_extents_t;

static bool find_extents(const fake_lt_desc_t *desc, const fake_lt_layout_t *a,
    const fake_lt_layout_t *b, const fake_lt_layout_t *c, const fake_lt_layout_t *d,
    fake_lt_extents_t *extents) {
    extents->m = desc->transa ? a->cols : a->rows;
    extents->k = desc->transa ? a->rows : a->cols;
    extents->n = desc->transb ? b->rows : b->cols;
    return (desc->transb ? b->cols : b->rows) == extents->k && a->type == b->type &&
           c->rows == extents->m && c->cols == extents->n && c->type == d->type &&
           d->rows == extents->m && d->cols == extents->n;
}

dg_lt_status_t cublasLtMatmulAlgoGetHeuristic(dg_lt_handle_t handle, dg_lt_desc_t desc,
    dg_lt_layout_t a, dg_lt_layout_t b, dg_lt_layout_t c, dg_lt_layout_t d,
    dg_lt_preference_t preference, int32_t wanted, dg_lt_heuristic_t *results, int32_t *count) {
    ENTER(cublasLtMatmulAlgoGetHeuristic);
    fake_lt_extents_t extents;
    NEED(handle != NULL && wanted == 1);
    NEED(find_extents((void *)desc, (void *)a, (void *)b, (void *)c, (void *)d, &extents));
    memcpy(&fake.preference, preference, sizeof fake.preference);
    *count = fake.no_algorithm ? 0 : 1;
    if (fake.no_algorithm) return DG_LT_NOT_SUPPORTED;
    memset(results, 0, sizeof *results);
    results->algo.data[0] = extents.m; /* so that another product's algorithm is refused */
    results->algo.data[1] = extents.n;
    results->algo.data[2] = extents.k;
    results->workspace = fake.workspace;
    return DG_LT_SUCCESS;
}

static double load(const void *data, int32_t type, uint64_t index) {
    switch (type) {
    case DG_LT_E4M3: return (double)dg_decode_e4m3(((const uint8_t *)data)[index]);
    case DG_LT_BF16: return (double)dg_decode_bf16(((const uint16_t *)data)[index]);
    case DG_LT_F16: return (double)dg_decode_f16(((const uint16_t *)data)[index]);
    default: return (double)((const float *)data)[index];
    }
}

static void store(void *data, int32_t type, uint64_t index, double value) {
    if (type == DG_LT_BF16) {
        ((uint16_t *)data)[index] = dg_encode_bf16((float)value);
    } else {
        ((float *)data)[index] = (float)value;
    }
}

/* op(X)[i, j] */
static double element(
    const void *data, const fake_lt_layout_t *layout, int32_t op, uint64_t i, uint64_t j) {
    const uint64_t row = op == DG_LT_OP_T ? j : i, col = op == DG_LT_OP_T ? i : j;
    return load(data, layout->type, col * (uint64_t)layout->ld + row);
}

static void multiply(
    const fake_lt_extents_t *extents, const void *a, const void *b, const void *c, void *d) {
    for (uint64_t j = 0; j < extents->n; j++) {
        for (uint64_t i = 0; i < extents->m; i++) {
            double sum = 0;
            for (uint64_t l = 0; l < extents->k; l++)
                sum += element(a, &fake.a, fake.desc.transa, i, l) *
                       element(b, &fake.b, fake.desc.transb, l, j);
            sum *= (double)fake.alpha;
            if (fake.beta != 0) sum += (double)fake.beta * element(c, &fake.c, DG_LT_OP_N, i, j);
            store(d, fake.d.type, j * (uint64_t)fake.d.ld + i, sum);
        }
    }
}

dg_lt_status_t cublasLtMatmul(dg_lt_handle_t handle, dg_lt_desc_t desc, const void *alpha,
    const void *a, dg_lt_layout_t layout_a, const void *b, dg_lt_layout_t layout_b,
    const void *beta, const void *c, dg_lt_layout_t layout_c, void *d, dg_lt_layout_t layout_d,
    const dg_lt_algo_t *algo, void *workspace, size_t bytes, void *stream) {
    ENTER(cublasLtMatmul);
    fake_lt_extents_t extents;
    memcpy(&fake.desc, desc, sizeof fake.desc);
    memcpy(&fake.a, layout_a, sizeof fake.a);
    memcpy(&fake.b, layout_b, sizeof fake.b);
    memcpy(&fake.c, layout_c, sizeof fake.c);
    memcpy(&fake.d, layout_d, sizeof fake.d);
    memcpy(&fake.alpha, alpha, sizeof fake.alpha);
    memcpy(&fake.beta, beta, sizeof fake.beta);
    const void *addresses[4] = {a, b, c, d};
    memcpy(fake.address, addresses, sizeof addresses);
    fake.handle = handle;
    fake.workspace_address = workspace;
    fake.workspace_bytes = bytes;
    fake.stream = stream;
    NEED(handle != NULL && find_extents(&fake.desc, &fake.a, &fake.b, &fake.c, &fake.d, &extents));
    NEED(algo->data[0] == extents.m && algo->data[1] == extents.n && algo->data[2] == extents.k);
    NEED(bytes >= fake.workspace && (workspace != NULL || bytes == 0));
    multiply(&extents, a, b, c, d);
    return DG_LT_SUCCESS;
}
