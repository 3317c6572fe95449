/* SPDX-License-Identifier: MIT
 *
 * See settings.h. The public setters of single settings are in setters.c.
 */
#include "api/settings.h"

#include <sched.h>
#include <string.h>

#include "api/context.h"
#include "base/env.h"
#include "base/error.h"
#include "cpu/isa.h"
#include "cuda/device.h"
#include "plan/kernel.h"

enum { MAX_THREADS = DG_CPU_MAX_THREADS };

static int32_t usable_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) != 0) return 1;
    const int count = CPU_COUNT(&set);
    return count < 1 ? 1 : count > MAX_THREADS ? MAX_THREADS : count;
}

static dg_status_t isa_from_environment(dg_cpu_isa_t *isa) {
    const char *name = dg_env_text(DG_ENV_CPU_ISA);
    if (name == NULL) return DG_STATUS_OK;
    for (int i = DG_CPU_ISA_PORTABLE; i <= DG_CPU_ISA_NEON; ++i) {
        if (strcmp(name, dg_cpu_isa_string((dg_cpu_isa_t)i)) != 0) continue;
        DG_REQUIRE(dg_cpu_isa_supported((dg_cpu_isa_t)i), DG_STATUS_UNSUPPORTED, "DG_CPU_ISA", "",
            "environment variable asks for %s, which this processor or build lacks; unset it",
            name);
        *isa = (dg_cpu_isa_t)i;
        return DG_STATUS_OK;
    }
    return dg_fail(DG_STATUS_BAD_VALUE, "DG_CPU_ISA", "",
        "environment variable is '%s', expected portable, avx2, avx512 or neon; correct or unset it",
        name);
}

static dg_context_options_t constant_settings(void) {
    dg_context_options_t settings = DG_CONTEXT_OPTIONS_INIT;
    settings.device.type = DG_DEVICE_CPU;
    settings.num_threads = usable_cores();
    settings.tc_util = 100;
    settings.pdl = DG_OFF;
    settings.batch_invariant = DG_OFF;
    settings.mk_alignment = 128;
    settings.block_m_multiple = 1;
    settings.block_n_multiple = 1;
    settings.group_values = DG_GROUP_VALUES_REFUSE;
    settings.check_device = DG_OFF;
    settings.log_level = DG_LOG_INFO;
    for (int isa = DG_CPU_ISA_NEON; isa >= DG_CPU_ISA_PORTABLE; --isa) {
        if (!dg_cpu_isa_supported((dg_cpu_isa_t)isa)) continue;
        settings.cpu_isa = (dg_cpu_isa_t)isa;
        break;
    }
    return settings;
}

static dg_status_t check_only(const char *only) {
    dg_specialisation_t specialisation;
    if (only == NULL || only[0] == '\0') return DG_STATUS_OK;
    return dg_parse_specialisation(only, &specialisation);
}

dg_status_t dg_initial_settings(dg_context_options_t *settings) {
    dg_context_options_t initial = constant_settings();
    int32_t invariant = 0, check_device = 0;
    int32_t cache_mb = 0; /* used by src/jit, which cannot fail over it */
    DG_TRY(dg_env_number(DG_ENV_NUM_THREADS, 1, MAX_THREADS, &initial.num_threads));
    DG_TRY(dg_env_number(DG_ENV_BATCH_INVARIANT, 0, 1, &invariant));
    DG_TRY(dg_env_number(DG_ENV_CHECK_DEVICE, 0, 1, &check_device));
    DG_TRY(isa_from_environment(&initial.cpu_isa));
    DG_TRY(dg_env_number(DG_ENV_JIT_CACHE_MB, 1, INT32_MAX, &cache_mb));
    if (invariant) initial.batch_invariant = DG_ON;
    if (check_device) initial.check_device = DG_ON;
    initial.only = dg_env_text(DG_ENV_ONLY);
    DG_TRY(check_only(initial.only));
    *settings = initial;
    return DG_STATUS_OK;
}

static dg_status_t check_number(
    int32_t value, int32_t low, int32_t high, const char *field, const char *zero_means) {
    DG_REQUIRE(value == 0 || (value >= low && value <= high), DG_STATUS_BAD_VALUE, "options", field,
        "%d, expected %d to %d, or 0 for %s", value, low, high, zero_means);
    return DG_STATUS_OK;
}

static dg_status_t check_enum(int32_t value, int32_t high, const char *field, const char *type) {
    DG_REQUIRE(value >= 0 && value <= high, DG_STATUS_BAD_ENUM, "options", field,
        "%d is no %s; use one of its enumerators", value, type);
    return DG_STATUS_OK;
}

static dg_status_t check_alignment(int32_t alignment) {
    DG_REQUIRE(alignment == 0 || (alignment > 0 && alignment <= MAX_ALIGNMENT &&
                                     (alignment & (alignment - 1)) == 0),
        DG_STATUS_BAD_VALUE, "options", ".mk_alignment",
        "%d, expected a power of two from 1 to %d, or 0 for the setting in force; 128 suits most",
        alignment, (int)MAX_ALIGNMENT);
    return DG_STATUS_OK;
}

static dg_status_t check_device(dg_device_t device) {
    dg_cuda_device_t *opened;
    if (device.type == DG_DEVICE_CUDA) return dg_cuda_open(device.id, &opened);
    DG_REQUIRE(device.id == 0, DG_STATUS_BAD_DEVICE, "options", ".device.id",
        "%d, expected 0: there is one CPU device", device.id);
    return DG_STATUS_OK;
}

static dg_status_t check_settings(const dg_context_options_t *o) {
    static const char in_force[] = "the setting in force";
    DG_TRY(dg_check_args(o, sizeof *o, "options", "dg_context_options_t"));
    DG_TRY(check_enum((int32_t)o->device.type, DG_DEVICE_CUDA, ".device.type", "dg_device_type_t"));
    DG_TRY(check_device(o->device));
    DG_TRY(check_number(o->num_threads, 1, MAX_THREADS, ".num_threads", in_force));
    DG_TRY(check_enum((int32_t)o->cpu_isa, DG_CPU_ISA_NEON, ".cpu_isa", "dg_cpu_isa_t"));
    DG_REQUIRE(o->cpu_isa == DG_CPU_ISA_AUTO || dg_cpu_isa_supported(o->cpu_isa),
        DG_STATUS_UNSUPPORTED, "options", ".cpu_isa",
        "%s, which this processor or build lacks; use DG_CPU_ISA_AUTO",
        dg_cpu_isa_string(o->cpu_isa));
    DG_TRY(check_number(o->num_sms, 1, MAX_SMS, ".num_sms", in_force));
    DG_TRY(check_number(o->tc_util, 1, 100, ".tc_util", in_force));
    DG_TRY(check_enum((int32_t)o->pdl, DG_OFF, ".pdl", "dg_switch_t"));
    DG_TRY(check_enum((int32_t)o->batch_invariant, DG_OFF, ".batch_invariant", "dg_switch_t"));
    DG_TRY(check_alignment(o->mk_alignment));
    DG_TRY(check_number(o->block_m_multiple, 1, MAX_BLOCK_MULTIPLE, ".block_m_multiple", in_force));
    DG_TRY(check_number(o->block_n_multiple, 1, MAX_BLOCK_MULTIPLE, ".block_n_multiple", in_force));
    DG_TRY(check_enum(
        (int32_t)o->group_values, DG_GROUP_VALUES_CLAMP, ".group_values", "dg_group_values_t"));
    DG_TRY(check_enum((int32_t)o->check_device, DG_OFF, ".check_device", "dg_switch_t"));
    DG_TRY(check_only(o->only));
    return check_enum((int32_t)o->log_level, DG_LOG_DEBUG, ".log_level", "dg_log_level_t");
}

dg_status_t dg_merge_settings(dg_context_options_t *settings, const dg_context_options_t *changes) {
    DG_TRY(check_settings(changes));
#define MERGE(field)                                                                               \
    if (changes->field != 0) settings->field = changes->field
    if (changes->device.type != DG_DEVICE_NONE) settings->device = changes->device;
    MERGE(num_threads);
    MERGE(cpu_isa);
    MERGE(num_sms);
    MERGE(tc_util);
    MERGE(pdl);
    MERGE(batch_invariant);
    MERGE(mk_alignment);
    MERGE(block_m_multiple);
    MERGE(block_n_multiple);
    MERGE(group_values);
    MERGE(check_device);
    MERGE(log_level);
#undef MERGE
    if (changes->only != NULL) settings->only = changes->only;
    if (changes->log != NULL) {
        settings->log = changes->log;
        settings->log_user = changes->log_user;
    }
    return DG_STATUS_OK;
}
