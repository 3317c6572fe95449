/* SPDX-License-Identifier: MIT
 *
 * See plan_cache.h. One table for the process, which plans depend on alone: work, machine, options.
 * A slot holds the last key that was planned for it and its plan, behind a sequence lock. A reader
 * that meets a writer plans by itself, and a writer that meets another one lets it be.
 */
#include "plan/plan_cache.h"

#include <inttypes.h>
#include <string.h>

#include "base/env.h"
#include "base/log.h"
#include "base/sequence.h"

typedef struct cache_key_t {
    dg_work_t work;
    dg_machine_t machine;
    int32_t num_sms, block_m_multiple, block_n_multiple, batch_invariant;
} cache_key_t;

_Static_assert(sizeof(dg_machine_t) == 40, "keys are compared as bytes: no padding");
_Static_assert(sizeof(cache_key_t) == 136, "keys are compared as bytes: no padding");
_Static_assert(sizeof(dg_plan_t) == 512, "plans are copied as words, and have no padding");

enum {
    SLOTS = 256,
    KEY_WORDS = sizeof(cache_key_t) / 8,
    PLAN_WORDS = sizeof(dg_plan_t) / 8,
};

typedef struct slot_t {
    dg_sequence_t version; /* 0: empty */
    dg_sequence_word_t key[KEY_WORDS], plan[PLAN_WORDS];
} slot_t;

static slot_t slots[SLOTS];

static uint32_t hash_words(const uint64_t *words) {
    uint64_t hash = 0;
    for (int i = 0; i < KEY_WORDS; i++) {
        hash = (hash ^ words[i]) * UINT64_C(0x9E3779B97F4A7C15);
        hash ^= hash >> 29;
    }
    return (uint32_t)(hash >> 40);
}

/* True if the slot holds `key`; fills plan: [PLAN_WORDS]. */
static bool read_slot(const slot_t *slot, const uint64_t *key, uint64_t *plan) {
    uint64_t found[KEY_WORDS];
    const uint64_t version = dg_begin_reading(&slot->version);
    if (version == 0 || version % 2 != 0) return false;
    dg_read_words(slot->key, found, KEY_WORDS);
    if (memcmp(found, key, sizeof found) != 0) return false;
    dg_read_words(slot->plan, plan, PLAN_WORDS);
    return dg_is_unchanged(&slot->version, version);
}

static void write_slot(slot_t *slot, const uint64_t *key, const uint64_t *plan) {
    if (!dg_begin_writing(&slot->version)) return;
    dg_write_words(slot->key, key, KEY_WORDS);
    dg_write_words(slot->plan, plan, PLAN_WORDS);
    dg_end_writing(&slot->version);
}

/* DG_PRINT_CONFIGS: one line for each launch of a plan that was just made. */
static void print_plan(const dg_work_t *work, const dg_plan_t *plan) {
    if (!dg_env_switch(DG_ENV_PRINT_CONFIGS) && !dg_env_switch(DG_ENV_JIT_DEBUG)) return;
    for (int32_t i = 0; i < plan->stage_count; i++) {
        const dg_plan_stage_t *stage = &plan->stage[i];
        char name[DG_SPECIALISATION_TEXT];
        dg_format_specialisation(&stage->specialisation, name, sizeof name);
        dg_log_wanted("plan family=%d m=%" PRId64 " n=%" PRId64 " k=%" PRId64 " groups=%d "
                      "kernel=\"%s\" grid=%u threads=%u cluster=%u shared=%u us=%.1f",
            (int)work->family, work->m, work->n, work->k, (int)work->group_count, name, stage->grid,
            stage->threads, stage->cluster, stage->shared_bytes, (double)plan->us);
    }
}

dg_status_t dg_find_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const cache_key_t key = {.work = *work,
        .machine = *machine,
        .num_sms = options->num_sms,
        .block_m_multiple = options->block_m_multiple,
        .block_n_multiple = options->block_n_multiple,
        .batch_invariant = options->batch_invariant};
    uint64_t key_words[KEY_WORDS], plan_words[PLAN_WORDS];
    if (options->only != NULL) return dg_make_plan(work, machine, options, plan);
    memcpy(key_words, &key, sizeof key);
    slot_t *slot = &slots[hash_words(key_words) % SLOTS];
    if (read_slot(slot, key_words, plan_words)) {
        memcpy(plan, plan_words, sizeof *plan);
        return DG_STATUS_OK;
    }
    const dg_status_t status = dg_make_plan(work, machine, options, plan);
    if (status != DG_STATUS_OK) return status;
    print_plan(work, plan);
    memcpy(plan_words, plan, sizeof *plan);
    write_slot(slot, key_words, plan_words);
    return DG_STATUS_OK;
}
