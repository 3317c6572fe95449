/* SPDX-License-Identifier: MIT
 *
 * See plan_cache.h. One table for the process, which plans depend on alone: work, machine, options.
 * A slot holds a key and its plan behind a sequence lock. A key may be in any of the few slots of its
 * set: a call that makes several products, or a model whose shapes take turns, would for ever plan anew
 * if two of its keys shared the only slot that they may have. A reader that meets a writer plans by
 * itself, and a writer that meets another one lets it be.
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
    SETS = 64,
    WAYS = 8, /* slots of a set */
    KEY_WORDS = sizeof(cache_key_t) / 8,
    PLAN_WORDS = sizeof(dg_plan_t) / 8,
};

typedef struct slot_t {
    dg_sequence_t version; /* 0: empty */
    dg_sequence_word_t key[KEY_WORDS], plan[PLAN_WORDS];
} slot_t;

static slot_t slots[SETS][WAYS];

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
    const uint64_t version = dg_begin_reading(&slot->version);
    if (version == 0 || version % 2 != 0) return false;
    for (int i = 0; i < KEY_WORDS; i++) {
        uint64_t word;
        dg_read_words(&slot->key[i], &word, 1);
        if (word != key[i]) return false;
    }
    dg_read_words(slot->plan, plan, PLAN_WORDS);
    return dg_is_unchanged(&slot->version, version);
}

static void write_slot(slot_t *slot, const uint64_t *key, const uint64_t *plan) {
    if (!dg_begin_writing(&slot->version)) return;
    dg_write_words(slot->key, key, KEY_WORDS);
    dg_write_words(slot->plan, plan, PLAN_WORDS);
    dg_end_writing(&slot->version);
}

/* The plan of `key`, if a slot of the set has it. */
static bool read_set(const slot_t *set, const uint64_t *key, uint64_t *plan) {
    for (int way = 0; way < WAYS; way++)
        if (read_slot(&set[way], key, plan)) return true;
    return false;
}

/* Slots are taken in turn: each write makes its slot's version greater by 2. */
static slot_t *next_slot(slot_t *set) {
    uint64_t versions = 0;
    for (int way = 0; way < WAYS; way++) versions += dg_begin_reading(&set[way].version);
    return &set[versions / 2 % WAYS];
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
    slot_t *set = slots[hash_words(key_words) % SETS];
    if (read_set(set, key_words, plan_words)) {
        memcpy(plan, plan_words, sizeof *plan);
        return DG_STATUS_OK;
    }
    const dg_status_t status = dg_make_plan(work, machine, options, plan);
    if (status != DG_STATUS_OK) return status;
    print_plan(work, plan);
    memcpy(plan_words, plan, sizeof *plan);
    write_slot(next_slot(set), key_words, plan_words);
    return DG_STATUS_OK;
}
