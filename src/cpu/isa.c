/* SPDX-License-Identifier: MIT
 *
 * Which instruction sets this build has and this CPU runs. Called when a pool is created.
 */
#include "cpu/isa.h"

#include <stddef.h>

#if defined(__x86_64__)
#    include <cpuid.h>
#    define DG_CPU_X86 1
#else
#    define DG_CPU_X86 0
#endif

typedef struct dg_cpu_isa_entry_t {
    const char *name;
    const dg_cpu_kernels_t *isa; /* NULL: not in this build */
} dg_cpu_isa_entry_t;

static const dg_cpu_isa_entry_t entries[DG_CPU_ISA_COUNT] = {
    [DG_CPU_ISA_AUTO] = {"auto", NULL},
    [DG_CPU_ISA_PORTABLE] = {"portable", &dg_cpu_kernels_portable},
#if DG_CPU_X86
    [DG_CPU_ISA_AVX2] = {"avx2", &dg_cpu_kernels_avx2},
    [DG_CPU_ISA_AVX512] = {"avx512", &dg_cpu_kernels_avx512},
#else
    [DG_CPU_ISA_AVX2] = {"avx2", NULL},
    [DG_CPU_ISA_AVX512] = {"avx512", NULL},
#endif
#if defined(__aarch64__)
    [DG_CPU_ISA_NEON] = {"neon", &dg_cpu_kernels_neon},
#else
    [DG_CPU_ISA_NEON] = {"neon", NULL},
#endif
};

/* Widest first. */
static const dg_cpu_isa_t preference[] = {
    DG_CPU_ISA_AVX512, DG_CPU_ISA_AVX2, DG_CPU_ISA_NEON, DG_CPU_ISA_PORTABLE};

#if DG_CPU_X86
/* __builtin_cpu_supports also asks the operating system for the register state (XCR0). It has no
 * name for F16C in older compilers, so that bit is read here. */
static bool cpu_has_f16c(void) {
    unsigned eax, ebx, ecx, edx;
    return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C);
}

static bool cpu_runs(dg_cpu_isa_t kind) {
    const bool avx2 =
        __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && cpu_has_f16c();
    if (kind == DG_CPU_ISA_AVX2) return avx2;
    if (kind == DG_CPU_ISA_AVX512) {
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw");
    }
    return true;
}
#else
static bool cpu_runs(dg_cpu_isa_t kind) {
    (void)kind; /* NEON is part of the base architecture on 64-bit Arm */
    return true;
}
#endif

const dg_cpu_kernels_t *dg_cpu_find_kernels(dg_cpu_isa_t kind) {
    if ((int)kind < 0 || (int)kind >= DG_CPU_ISA_COUNT) return NULL;
    if (kind != DG_CPU_ISA_AUTO) return cpu_runs(kind) ? entries[kind].isa : NULL;
    for (size_t i = 0; i < sizeof preference / sizeof preference[0]; i++) {
        const dg_cpu_kernels_t *isa = dg_cpu_find_kernels(preference[i]);
        if (isa) return isa;
    }
    return NULL;
}

const char *dg_cpu_isa_string(dg_cpu_isa_t kind) {
    return (int)kind >= 0 && (int)kind < DG_CPU_ISA_COUNT ? entries[kind].name : "?";
}

int32_t dg_cpu_isa_supported(dg_cpu_isa_t isa) {
    return dg_cpu_find_kernels(isa) != NULL;
}
