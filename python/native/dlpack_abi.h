/* SPDX-License-Identifier: MIT
 *
 * The binary interface of DLPack 1.x, as far as the extension uses it: plain tensors, the two kinds
 * of capsule that __dlpack__() returns, and the table of C functions that a tensor type may offer as
 * its attribute __dlpack_c_exchange_api__. Declared here because no system package is recent enough.
 * Used by tensor.c.
 */
#ifndef DGPY_DLPACK_ABI_H
#define DGPY_DLPACK_ABI_H

#include <stdint.h>

typedef struct dlpack_tensor_t {
    void *data;
    int32_t device_type;
    int32_t device_id;
    int32_t ndim;
    uint8_t
        code; /* kind of number: 0 int, 1 unsigned, 2 IEEE float, 4 bfloat, >= 7 narrow floats */
    uint8_t bits;
    uint16_t lanes;
    int64_t *shape;
    int64_t *strides; /* elements; NULL: dense, last axis fastest */
    uint64_t byte_offset;
} dlpack_tensor_t;

typedef struct dlpack_version_t {
    uint32_t major, minor;
} dlpack_version_t;

/* Capsule "dltensor". */
typedef struct dlpack_managed_t {
    dlpack_tensor_t tensor;
    void *manager;
    void (*deleter)(struct dlpack_managed_t *self);
} dlpack_managed_t;

#define DLPACK_FLAG_READ_ONLY 1u

/* Capsule "dltensor_versioned". */
typedef struct dlpack_versioned_t {
    dlpack_version_t version;
    void *manager;
    void (*deleter)(struct dlpack_versioned_t *self);
    uint64_t flags;
    dlpack_tensor_t tensor;
} dlpack_versioned_t;

/* Capsule "dlpack_exchange_api" on the type. */
typedef struct dlpack_exchange_t {
    dlpack_version_t version;
    struct dlpack_exchange_t *older;
    int (*allocate)(dlpack_tensor_t *, dlpack_versioned_t **, void *,
        void (*)(void *, const char *, const char *));
    int (*export_owned)(void *object, dlpack_versioned_t **out);
    int (*import_owned)(dlpack_versioned_t *tensor, void **out);
    int (*view)(void *object, dlpack_tensor_t *out); /* borrowed; may be NULL */
    int (*current_stream)(int32_t device_type, int32_t device_id, void **out);
} dlpack_exchange_t;

#endif
