/* SPDX-License-Identifier: MIT
 *
 * Contexts: how the library shall work, apart from what it shall compute.
 *
 * Every call takes a context first; NULL means the default context, which always exists. Most
 * programs need no other. Make one to fix settings for one part of a program:
 *
 *     dg_context_options_t options = DG_CONTEXT_OPTIONS_INIT;
 *     options.num_threads = 4;
 *     options.batch_invariant = DG_ON;
 *     dg_context_t *ctx;
 *     if (dg_context_create(&ctx, &options) != DG_STATUS_OK) { ... dg_last_error() ... }
 *     ... dg_gemm(ctx, &args, NULL) ...
 *     dg_context_destroy(ctx);
 *
 * A setting left at zero is taken from the default context at the time of creation; later changes
 * there do not reach it. The default context takes its first settings from the environment (see
 * dg_env_entry) when it is first used.
 *
 * Threads: one context may be used from several threads at once, also while its settings are read;
 * changing its settings while calls are in flight leaves open which of them see the change.
 * Fork: a child process may go on using every context it inherited.
 */
#ifndef DEEP_GEMM_CONTEXT_H
#define DEEP_GEMM_CONTEXT_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"
#include "deep_gemm/tensor.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct dg_context_t dg_context_t;

/* A switch that can be left alone. */
typedef enum dg_switch_t {
    DG_DEFAULT = 0, /* as the default context has it */
    DG_ON = 1,
    DG_OFF = 2
} dg_switch_t;

/* Instruction set of the CPU backend. All of them give the same bits; a lesser one is slower. */
typedef enum dg_cpu_isa_t {
    DG_CPU_ISA_AUTO = 0, /* the best that this processor has */
    DG_CPU_ISA_PORTABLE = 1,
    DG_CPU_ISA_AVX2 = 2,
    DG_CPU_ISA_AVX512 = 3,
    DG_CPU_ISA_NEON = 4
} dg_cpu_isa_t;

/* What happens to group sizes, offsets and indices out of range that the host can see (group
 * tensors on the CPU). In GPU memory they are clamped, because reading them would stall; with
 * check_device they are read all the same, and this rule holds for them too. */
typedef enum dg_group_values_t {
    DG_GROUP_VALUES_DEFAULT = 0,
    DG_GROUP_VALUES_REFUSE = 1, /* DG_STATUS_BAD_VALUE, nothing is written (initial setting) */
    DG_GROUP_VALUES_CLAMP = 2   /* as on a GPU: sizes end at the tensor, a wrong index means -1 */
} dg_group_values_t;

typedef enum dg_log_level_t {
    DG_LOG_ERROR = 1, /* a call that takes tensors was refused or failed: "call= status= error=" */
    DG_LOG_INFO = 2,  /* CPU threads are at hand, or others after a change: "call= threads= isa=" */
    DG_LOG_DEBUG = 3  /* one line for each call that succeeded: "call= us=", microseconds */
} dg_log_level_t;

/* Receives one line of text (no newline), "key=value" parts separated by blanks. Called on the
 * thread of the call that causes it; must not call the library with the same context. */
typedef void (*dg_log_fn)(void *user, dg_log_level_t level, const char *line);

typedef struct dg_context_options_t {
    size_t struct_size;             /* sizeof(dg_context_options_t), set by the initialiser */
    dg_device_t device;             /* what plan.h plans for where tensors do not say (they decide
                                     * where a call computes); type DG_DEVICE_NONE: the default's */
    int32_t num_threads;            /* CPU threads of one call, 1..512; 0: the default's, which
                                     * starts as the number of cores this process may use */
    dg_cpu_isa_t cpu_isa;           /* one this processor lacks is refused (UNSUPPORTED) */
    int32_t num_sms;                /* SMs a GPU kernel may fill, 1..65535; 0: the default's, which
                                     * starts as all of them and reads back as 0 */
    int32_t tc_util;                /* tensor-core duty in percent, 1..100; 0: the default's */
    dg_switch_t pdl;                /* programmatic dependent launch */
    dg_switch_t batch_invariant;    /* a row's bits never depend on M (the CPU always does this) */
    int32_t mk_alignment;           /* rows to which PSUM and BLOCK_INDEX groups are aligned, a
                                     * power of two 1..65536; 0: the default's (initially 128) */
    int32_t block_m_multiple;       /* tile extents become multiples of these, 1..4096 */
    int32_t block_n_multiple;       /* 0: the default's (initially 1) */
    dg_group_values_t group_values; /* what to do with group values out of range */
    dg_switch_t check_device;       /* checks group values and lists of rows in GPU memory before
                                     * anything is launched: waits for the stream, so not while it
                                     * captures. For finding faults (initially off) */
    dg_log_level_t log_level;       /* most detailed level passed to log; 0: DG_LOG_INFO */
    dg_log_fn log;                  /* NULL: the default's, which starts with none */
    void *log_user;                 /* first argument of log */
    const char *only; /* GPU products run this specialisation or are UNSUPPORTED: a text
                                     * as dg_plan_query_t.only, for measuring. It must stay as it is
                                     * while the context has it. "": any; NULL: the default's */
} dg_context_options_t;

#define DG_CONTEXT_OPTIONS_INIT                                                                    \
    {                                                                                              \
        sizeof(dg_context_options_t), {DG_DEVICE_NONE, 0}, 0, DG_CPU_ISA_AUTO, 0, 0, DG_DEFAULT,   \
            DG_DEFAULT, 0, 0, 0, DG_GROUP_VALUES_DEFAULT, DG_DEFAULT, (dg_log_level_t)0, 0, 0, 0   \
    }

/* Makes a context. `options` may be NULL: a copy of the default context.
 * Errors: NULL_POINTER (out), BAD_STRUCT_SIZE, BAD_ENUM, BAD_VALUE, UNSUPPORTED (an instruction set
 * this processor lacks, a GPU without driver), BAD_DEVICE (a GPU that is not there), OUT_OF_MEMORY. */
DG_API dg_status_t dg_context_create(dg_context_t **out, const dg_context_options_t *options);

/* Ends a context: stops its threads, frees its memory. No call may be using it. NULL is allowed and
 * does nothing. Any later use of the pointer is refused with BAD_CONTEXT: about 200 bytes stay
 * behind for each destroyed context to make that safe. */
DG_API dg_status_t dg_context_destroy(dg_context_t *ctx);

/* Reads back every setting as it is in force, no field zero but device id, num_sms (all of them),
 * log, log_user and only.
 * `options->struct_size` must be set. ctx NULL: the default context. */
DG_API dg_status_t dg_context_get_options(const dg_context_t *ctx, dg_context_options_t *options);

/* Changes the settings that are not zero in `options`, on the default context too. All or none. */
DG_API dg_status_t dg_context_set_options(dg_context_t *ctx, const dg_context_options_t *options);

/* One setting at a time, for callers who know them by these names. 0 restores the initial setting.
 *     dg_set_num_sms(NULL, 120);                     // leave 12 SMs of an H200 to communication
 *     int32_t n; dg_get_num_sms(NULL, &n);
 * Where no number was set, dg_get_num_sms tells the SMs of the first GPU, without making a context
 * there; on a machine without a GPU the threads of a CPU call. */
DG_API dg_status_t dg_set_num_sms(dg_context_t *ctx, int32_t num_sms);
DG_API dg_status_t dg_get_num_sms(const dg_context_t *ctx, int32_t *num_sms);
DG_API dg_status_t dg_set_tc_util(dg_context_t *ctx, int32_t percent);
DG_API dg_status_t dg_get_tc_util(const dg_context_t *ctx, int32_t *percent);
DG_API dg_status_t dg_set_pdl(dg_context_t *ctx, int32_t on);
DG_API dg_status_t dg_get_pdl(const dg_context_t *ctx, int32_t *on);
DG_API dg_status_t dg_set_batch_invariant(dg_context_t *ctx, int32_t on);
DG_API dg_status_t dg_get_batch_invariant(const dg_context_t *ctx, int32_t *on);
DG_API dg_status_t dg_set_block_size_multiple_of(
    dg_context_t *ctx, int32_t block_m, int32_t block_n);
DG_API dg_status_t dg_set_mk_alignment_for_contiguous_layout(dg_context_t *ctx, int32_t alignment);
DG_API dg_status_t dg_get_mk_alignment_for_contiguous_layout(
    const dg_context_t *ctx, int32_t *alignment);

/* The alignment that serves `expected_m` rows a group best on the context's device (0: unknown).
 * 128 on the CPU and on Hopper. */
DG_API dg_status_t dg_get_theoretical_mk_alignment_for_contiguous_layout(
    const dg_context_t *ctx, int32_t expected_m, int32_t *alignment);

/* Gives a call its workspace: `bytes` of memory of the tensors' device, 256-byte aligned, which stay
 * the call's until its stream has run it. NULL: none to be had. Called on the thread of the call,
 * at most once, and only if the call needs more than it was handed. It may wait for locks and call
 * dg_device_alloc, but no function that takes a context. */
typedef void *(*dg_allocate_fn)(void *user, size_t bytes);

/* How and where one call runs. NULL in place of the struct: default stream, no workspace.
 * Workspace is either asked for before the call, by the family's _workspace query, and handed over;
 * or taken while it runs, from `allocate`, so that arguments are checked and planned once. */
typedef struct dg_launch_t {
    size_t struct_size;      /* sizeof(dg_launch_t), set by DG_LAUNCH_INIT */
    void *stream;            /* CUstream of the tensors' device; NULL: its default stream; not used
                              * on the CPU, where a call is finished when it returns */
    void *workspace;         /* device memory, 256-byte aligned; the call's until it has finished */
    size_t workspace_size;   /* bytes; at least what the family's _workspace query said */
    dg_allocate_fn allocate; /* the allocator of the caller's framework; NULL: there is none */
    void *allocate_user;     /* its first argument */
    int32_t prepare; /* 1: the call checks its arguments, has its kernels compiled if need be
                              * and loaded, and computes nothing; needs no workspace. For the time
                              * before a capture, or before users wait */
} dg_launch_t;

#define DG_LAUNCH_INIT                                                                             \
    { sizeof(dg_launch_t), 0, 0, 0, 0, 0, 0 }

/* Version of the library that is running, "0.1.0"; compare with DG_VERSION_STRING of version.h. */
DG_API const char *dg_version(void);

/* Name of an instruction set, "avx2"; "?" for no such value. dg_cpu_isa_supported tells whether
 * this processor and this build have it (1 or 0). */
DG_API const char *dg_cpu_isa_string(dg_cpu_isa_t isa);
DG_API int32_t dg_cpu_isa_supported(dg_cpu_isa_t isa);

/* One environment variable that the library reads. */
typedef struct dg_env_entry_t {
    const char *name;    /* "DG_NUM_THREADS" */
    const char *meaning; /* one sentence */
    const char *initial; /* what holds when it is not set, as text */
    const char *value;   /* what the library read at first use; NULL: not set */
} dg_env_entry_t;

/* Entry `index` of the table of variables; BAD_VALUE past its end. A variable that holds something
 * else than its meaning allows makes every call fail with BAD_VALUE and the variable's name. */
DG_API dg_status_t dg_env_entry(int32_t index, dg_env_entry_t *entry);

#ifdef __cplusplus
}
#endif
#endif
