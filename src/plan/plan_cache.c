/* SPDX-License-Identifier: MIT
 *
 * See plan_cache.h. One table for the process, which plans depend on alone: work, machine, options.
 * A slot holds the plan of the last key that was planned for it:
 *
 *     version   odd while a writer is in the slot
 *     words     key, then plan, as atomic words: torn reads are seen by the version, not undefined
 *
 * A reader that meets a writer plans by itself, as does a writer that meets another one.
 */
#include "plan/plan_cache.h"

#include <stdatomic.h>
#include <string.h>

typedef struct cache_key_t {
    dg_work_t work;
    dg_machine_t machine;
    int32_t num_sms, block_m_multiple, block_n_multiple, switches;
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
    _Atomic uint64_t version; /* 0: empty */
    _Atomic uint64_t words[KEY_WORDS + PLAN_WORDS];
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

/* True if the slot holds `key`; fills plan: [PLAN_WORDS]. The loads acquire, so that one which meets
 * a writer's word also lets the writer's version be seen. */
static bool read_slot(slot_t *slot, const uint64_t *key, uint64_t *plan) {
    const uint64_t version = atomic_load_explicit(&slot->version, memory_order_acquire);
    if (version == 0 || version % 2 != 0) return false;
    for (int i = 0; i < KEY_WORDS; i++)
        if (atomic_load_explicit(&slot->words[i], memory_order_acquire) != key[i]) return false;
    for (int i = 0; i < PLAN_WORDS; i++)
        plan[i] = atomic_load_explicit(&slot->words[KEY_WORDS + i], memory_order_acquire);
    return atomic_load_explicit(&slot->version, memory_order_relaxed) == version;
}

static void write_slot(slot_t *slot, const uint64_t *key, const uint64_t *plan) {
    uint64_t version = atomic_load_explicit(&slot->version, memory_order_relaxed);
    if (version % 2 != 0) return;
    if (!atomic_compare_exchange_strong_explicit(
            &slot->version, &version, version + 1, memory_order_acquire, memory_order_relaxed))
        return;
    for (int i = 0; i < KEY_WORDS; i++)
        atomic_store_explicit(&slot->words[i], key[i], memory_order_release);
    for (int i = 0; i < PLAN_WORDS; i++)
        atomic_store_explicit(&slot->words[KEY_WORDS + i], plan[i], memory_order_release);
    atomic_store_explicit(&slot->version, version + 2, memory_order_release);
}

dg_status_t dg_find_plan(const dg_work_t *work, const dg_machine_t *machine,
    const dg_plan_options_t *options, dg_plan_t *plan) {
    const cache_key_t key = {.work = *work,
        .machine = *machine,
        .num_sms = options->num_sms,
        .block_m_multiple = options->block_m_multiple,
        .block_n_multiple = options->block_n_multiple,
        .switches = options->batch_invariant + 2 * options->pdl};
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
    memcpy(plan_words, plan, sizeof *plan);
    write_slot(slot, key_words, plan_words);
    return DG_STATUS_OK;
}
