/* SPDX-License-Identifier: MIT
 *
 * Tensors: a view of memory that the caller owns.
 *
 * A dg_tensor_t is a plain value: pointer, device, element type, shape, strides. It maps field by
 * field to a DLPack DLTensor (data + byte_offset, device, dtype, ndim, shape, strides); only shape
 * and strides are stored inline, so that a view has no lifetime of its own:
 *
 *     uint8_t a_bytes[64 * 256];
 *     dg_tensor_t a = dg_tensor_2d(a_bytes, DG_DTYPE_E4M3, 64, 256);   // [64, 256], row after row
 *     dg_tensor_t at = dg_tensor_transpose(a);                          // [256, 64], same memory
 *
 * Strides count elements, not bytes, and may be anything that a function's documentation allows;
 * the stride of an axis of extent 1 or of an empty tensor is never looked at. A zero-initialised
 * dg_tensor_t (DG_NO_TENSOR) is "no tensor": how an optional argument is left out.
 */
#ifndef DEEP_GEMM_TENSOR_H
#define DEEP_GEMM_TENSOR_H

#include <stdint.h>

#include "deep_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define DG_MAX_RANK 4

/* Element types. The numbers are part of the ABI. The DLPack (code, bits, lanes) is in brackets. */
typedef enum dg_dtype_t {
    DG_DTYPE_NONE = 0,
    DG_DTYPE_E4M3 = 1,   /* FP8 e4m3fn: 1 byte, no infinity, NaN = S.1111.111 [10, 8, 1] */
    DG_DTYPE_E2M1X2 = 2, /* FP4 e2m1, two codes a byte, even index in the low nibble [17, 4, 2];
                          * shapes and strides count bytes: an axis of 2 n codes has extent n */
    DG_DTYPE_E8M0 = 3,   /* UE8M0 scale: 1 byte, value 2^(byte - 127), 255 = NaN [14, 8, 1] */
    DG_DTYPE_BF16 = 4,   /* bfloat16 [4, 16, 1] */
    DG_DTYPE_F32 = 5,    /* IEEE binary32 [2, 32, 1] */
    DG_DTYPE_I32 = 6,    /* int32 [0, 32, 1]; as a scale: four UE8M0 bytes, lowest K index in the
                          * lowest byte */
    DG_DTYPE_I64 = 7,    /* int64 [0, 64, 1] */
    DG_DTYPE_U8 = 8,     /* bytes [1, 8, 1] */
    DG_DTYPE_F16 = 9     /* IEEE binary16 [2, 16, 1]; for cublaslt.h alone */
} dg_dtype_t;

/* Device types carry DLPack's numbers. */
typedef enum dg_device_type_t {
    DG_DEVICE_NONE = 0, /* in options: let the library choose; in a tensor: not a device */
    DG_DEVICE_CPU = 1,
    DG_DEVICE_CUDA = 2
} dg_device_type_t;

typedef struct dg_device_t {
    dg_device_type_t type;
    int32_t id; /* CUDA ordinal; 0 for the CPU */
} dg_device_t;

typedef struct dg_tensor_t {
    void *data;                  /* address of element [0, 0, ...]; may be NULL if an extent is 0 */
    dg_device_t device;          /* where data points */
    dg_dtype_t dtype;            /* type of one element */
    int32_t rank;                /* number of axes, 0..DG_MAX_RANK */
    int64_t shape[DG_MAX_RANK];  /* extents, [0] outermost */
    int64_t stride[DG_MAX_RANK]; /* elements from one index to the next along each axis */
} dg_tensor_t;

/* "No tensor": DG_NO_TENSOR as an initialiser, or simply leave the field out. */
#define DG_NO_TENSOR                                                                               \
    {                                                                                              \
        0, {DG_DEVICE_NONE, 0}, DG_DTYPE_NONE, 0, {0, 0, 0, 0}, {                                  \
            0, 0, 0, 0                                                                             \
        }                                                                                          \
    }

/* Marks a pointer argument (counted from 1) of which a function takes the address alone: a compiler
 * then does not warn that an output has no value yet. */
#if defined(__GNUC__) && !defined(__clang__) && __GNUC__ >= 11
#    define DG_ADDRESS_ONLY(argument) __attribute__((access(none, argument)))
#else
#    define DG_ADDRESS_ONLY(argument)
#endif

/* Dense row-major CPU tensors over `data` (last axis fastest). For memory on a GPU set .device
 * afterwards. `data` is const here so that inputs need no cast; outputs are what a function's
 * documentation calls an output. */
DG_ADDRESS_ONLY(1)
DG_API dg_tensor_t dg_tensor_1d(const void *data, dg_dtype_t dtype, int64_t n0);
DG_ADDRESS_ONLY(1)
DG_API dg_tensor_t dg_tensor_2d(const void *data, dg_dtype_t dtype, int64_t n0, int64_t n1);
DG_ADDRESS_ONLY(1)
DG_API dg_tensor_t dg_tensor_3d(
    const void *data, dg_dtype_t dtype, int64_t n0, int64_t n1, int64_t n2);

/* The same memory with the last two axes exchanged: how the NN, TN and TT forms of a GEMM are
 * spelt. A tensor of rank < 2 comes back as it is. */
DG_API dg_tensor_t dg_tensor_transpose(dg_tensor_t tensor);

/* Bytes of one element (1 for DG_DTYPE_E2M1X2); 0 for a value that is no element type. */
DG_API int64_t dg_dtype_size(dg_dtype_t dtype);

/* "e4m3", "e2m1x2", "e8m0", "bf16", "f32", "i32", "i64", "u8", "f16"; "?" for anything else. Static. */
DG_API const char *dg_dtype_string(dg_dtype_t dtype);

/* Element type of a DLPack (code, bits, lanes) triple; DG_DTYPE_NONE if it is none of ours. */
DG_API dg_dtype_t dg_dtype_from_dlpack(uint8_t code, uint8_t bits, uint16_t lanes);

#ifdef __cplusplus
}
#endif
#endif
