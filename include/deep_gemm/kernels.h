/* SPDX-License-Identifier: MIT
 *
 * Compiled kernels: which ones this library has, where they lie, and how to have them ready before
 * they are needed. Programs that only compute need none of this: a kernel that is missing is
 * compiled when it is first used, in about half a second, and kept on disk.
 *
 * A kernel is named by its source and a value for each of its macros,
 *
 *     "sm90_fp8_gemm_block BLOCK_M=256 BLOCK_N=128 STAGES=4 ..."
 *
 * and shapes are no part of it. A new one is looked for in this order: in the library itself (the
 * catalogue, compiled when the library was built), in the user's cache folder, in the system's; then
 * it is compiled, with NVRTC or nvcc. None of the functions here needs a GPU. docs/kernel_cache.md
 * tells more.
 */
#ifndef DEEP_GEMM_KERNELS_H
#define DEEP_GEMM_KERNELS_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/context.h"
#include "deep_gemm/status.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Where a compiled kernel lies. Values can be added up. */
typedef enum dg_kernel_origin_t {
    DG_KERNEL_EMBEDDED = 1, /* in the library */
    DG_KERNEL_CACHED = 2,   /* in the user's cache folder */
    DG_KERNEL_SYSTEM = 4,   /* in the system's folder, which is only read */
    DG_KERNEL_COMPILED = 8  /* compiled just now (dg_compile_kernels) */
} dg_kernel_origin_t;

/* One compiled kernel. The texts are valid during the call-back only. */
typedef struct dg_kernel_info_t {
    dg_kernel_origin_t origin;
    const char *name;     /* "" if the file is bad */
    const char *target;   /* "sm_90a" */
    const char *compiler; /* "nvcc 13.0.88" */
    const char *path;     /* of its file; NULL if embedded */
    const char
        *fault;    /* NULL: whole; otherwise what is wrong with the file: "damaged", "cut off" */
    int64_t bytes; /* of the file, or of the embedded kernel */
    int64_t last_used; /* seconds since 1970, exact to a day; 0 if embedded */
} dg_kernel_info_t;

typedef void (*dg_kernel_fn)(void *user, const dg_kernel_info_t *kernel);

/* Calls `visit` for each compiled kernel of these origins, after checking it against its checksum.
 *     dg_list_kernels(DG_KERNEL_EMBEDDED | DG_KERNEL_CACHED, print_one, NULL);
 * Errors: NULL_POINTER (visit), BAD_ENUM, IO (a folder cannot be read). */
DG_API dg_status_t dg_list_kernels(int32_t origins, dg_kernel_fn visit, void *user);

/* The cache and the compiler as they are for this process. Texts are static. */
typedef struct dg_kernel_cache_t {
    size_t struct_size;        /* sizeof(dg_kernel_cache_t), set by the initialiser */
    const char *folder;        /* the user's, "" if there is none */
    const char *system_folder; /* "" if there is none */
    int32_t writable;          /* 0: what is compiled is kept in memory alone */
    int32_t embedded;          /* kernels in the library */
    int64_t max_bytes;         /* bound of the user's folder */
    const char *embedded_by;   /* the compiler of those, "nvcc 13.0.88"; "" without any */
    const char *compiler;      /* what compiles here, "nvrtc 13.0"; "" if nothing does */
    const char *no_compiler;   /* why nothing does; "" if something does */
} dg_kernel_cache_t;

#define DG_KERNEL_CACHE_INIT                                                                       \
    { sizeof(dg_kernel_cache_t), 0, 0, 0, 0, 0, 0, 0, 0 }

/* Errors: NULL_POINTER, BAD_STRUCT_SIZE. */
DG_API dg_status_t dg_describe_kernel_cache(dg_kernel_cache_t *cache);

/* Removes from the user's folder files that hold no good kernel, what crashes left behind, and, until
 * the rest takes at most max_bytes, what has not been used for longest. max_bytes 0: everything; -1:
 * the folder's bound. *removed (NULL: not wanted): how many. Errors: BAD_VALUE, IO. */
DG_API dg_status_t dg_prune_kernel_cache(int64_t max_bytes, int32_t *removed);

/* Writes every good kernel of both folders into one file, replacing it; for another machine or an
 * image. Errors: NULL_POINTER, IO. */
DG_API dg_status_t dg_export_kernels(const char *path, int32_t *count);

/* Takes the kernels of such a file into the user's folder. Nothing is taken from a file that is damaged
 * anywhere. Errors: NULL_POINTER, IO (unreadable, damaged, or the folder cannot be written). */
DG_API dg_status_t dg_import_kernels(const char *path, int32_t *count);

/* Told after each kernel, on one thread at a time: the done-th of total. origin: where it was found
 * or that it was compiled. error: NULL, or what went wrong. */
typedef void (*dg_compile_fn)(void *user, int32_t done, int32_t total, const char *name,
    dg_kernel_origin_t origin, const char *error);

typedef struct dg_compile_args_t {
    size_t struct_size;         /* sizeof(dg_compile_args_t), set by DG_COMPILE_ARGS_INIT */
    const char *const *kernels; /* [count] names; NULL: the catalogue, all that this GPU can run */
    int32_t count;
    int32_t architecture;   /* compute capability without the point; 0: 90, Hopper */
    int32_t num_threads;    /* compilations at a time; 0: as many as the context has threads */
    int32_t again;          /* 1: compile also what is embedded or cached */
    dg_compile_fn progress; /* NULL: not wanted */
    void *user;
} dg_compile_args_t;

#define DG_COMPILE_ARGS_INIT                                                                       \
    { sizeof(dg_compile_args_t), 0, 0, 0, 0, 0, 0, 0 }

/* Has kernels ready: what is neither embedded nor cached is compiled and cached. Goes on after a
 * failure, and returns the first one. Errors: NULL_POINTER, BAD_STRUCT_SIZE, BAD_VALUE (no such
 * kernel), UNSUPPORTED (for another architecture; no compiler), COMPILER, OUT_OF_MEMORY. */
DG_API dg_status_t dg_compile_kernels(dg_context_t *ctx, const dg_compile_args_t *args);

#ifdef __cplusplus
}
#endif
#endif
