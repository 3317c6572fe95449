/* SPDX-License-Identifier: MIT
 *
 * Status codes and the last error.
 *
 * Every function of the library that can fail returns a dg_status_t; DG_STATUS_OK is zero. On any
 * other value nothing was written to an output, and dg_last_error() tells in one sentence which
 * argument was wrong, what it was, which rule it broke and what to do:
 *
 *     if (dg_gemm(NULL, &args, NULL) != DG_STATUS_OK) {
 *         fprintf(stderr, "%s\n", dg_last_error());
 *     }
 *
 *     dg_gemm: b.scale: shape [16, 8], expected [16, 16]: one factor for each gran_mn x gran_k =
 *     128 x 128 block of b [2048, 2048]; pass the factors dg_quantize wrote for this operand
 *
 * The library never prints, never exits and never aborts.
 */
#ifndef DEEP_GEMM_STATUS_H
#define DEEP_GEMM_STATUS_H

#if defined(_WIN32)
#    define DG_API
#else
#    define DG_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* The numbers are part of the ABI: they never change and are never used again for another meaning. */
typedef enum dg_status_t {
    DG_STATUS_OK = 0,
    DG_STATUS_NULL_POINTER = 1,    /* a required pointer or tensor is missing */
    DG_STATUS_BAD_STRUCT_SIZE = 2, /* struct_size is not one that this library knows */
    DG_STATUS_BAD_CONTEXT = 3,     /* the context was destroyed, or is not a context */
    DG_STATUS_BAD_ENUM = 4,        /* an enum holds a value without a meaning here */
    DG_STATUS_BAD_DTYPE = 5,       /* a tensor has an element type that is not accepted here */
    DG_STATUS_BAD_RANK = 6,        /* a tensor has the wrong number of axes */
    DG_STATUS_BAD_SHAPE = 7,       /* an extent is negative, too large or disagrees with another */
    DG_STATUS_BAD_STRIDE = 8,      /* strides that no path can read or write */
    DG_STATUS_MISALIGNED = 9,      /* an address is not a multiple of the element size */
    DG_STATUS_OVERLAP = 10,        /* an output shares memory with another argument */
    DG_STATUS_BAD_SCALE = 11,      /* scale factors do not fit their operand or the recipe */
    DG_STATUS_BAD_VALUE = 12,      /* a number or a host-visible element is out of its range */
    DG_STATUS_BAD_DEVICE = 13,     /* tensors on different devices, or on one this call can't use */
    DG_STATUS_UNSUPPORTED = 14,    /* has a meaning, but this build or device cannot do it */
    DG_STATUS_OUT_OF_MEMORY = 15,  /* host or device memory could not be had */
    DG_STATUS_SMALL_WORKSPACE = 16, /* the workspace is smaller than the query said */
    DG_STATUS_NOT_COMPILED = 17,    /* a kernel is missing and may not be compiled now */
    DG_STATUS_DRIVER = 18,          /* the GPU driver refused; its own text is in the message */
    DG_STATUS_COMPILER = 19,        /* the run-time compiler failed; its log is in the message */
    DG_STATUS_IO = 20,              /* a file could not be read or written */
    DG_STATUS_INTERNAL = 21         /* a fault of the library itself: please report it */
} dg_status_t;

/* The enumerator's name, "DG_STATUS_BAD_SHAPE"; "DG_STATUS_?" for a number without one. Static. */
DG_API const char *dg_status_string(dg_status_t status);

/* The message of the last call of this thread that did not return DG_STATUS_OK; "" if there was
 * none. A successful call leaves it as it is. Valid until the next failing call of this thread. */
DG_API const char *dg_last_error(void);

/* The argument which that message is about, spelt as in the call: "b.scale", "options.num_sms";
 * "" where no single argument is to blame. Same lifetime. */
DG_API const char *dg_last_error_argument(void);

#ifdef __cplusplus
}
#endif
#endif
