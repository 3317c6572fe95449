/* SPDX-License-Identifier: MIT
 *
 * Sequence locks: readers see whole copies while several threads write, and a second writer is told
 * that it is one.
 */
#include "base/sequence.h"

#include <pthread.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

enum { WORDS = 40, WRITERS = 2, READERS = 2, ROUNDS = 20000 };

static struct {
    dg_sequence_t version;
    dg_sequence_word_t words[WORDS];
    atomic_int torn, whole, written;
} shared;

/* A copy is whole if each word follows from the first. */
static uint64_t word_of(uint64_t number, int i) {
    return number * (uint64_t)(2 * i + 1);
}

static void *write_often(void *argument) {
    for (uint64_t round = 0; round < ROUNDS; round++) {
        uint64_t words[WORDS];
        for (int i = 0; i < WORDS; i++)
            words[i] = word_of(round * 2 + *(const uint64_t *)argument, i);
        if (!dg_begin_writing(&shared.version)) continue;
        dg_write_words(shared.words, words, WORDS);
        dg_end_writing(&shared.version);
        atomic_fetch_add(&shared.written, 1);
    }
    return NULL;
}

static void *read_often(void *argument) {
    (void)argument;
    bool seen = false; /* a copy: a writer may be stopped in the middle of one for a long time */
    for (int round = 0; round < ROUNDS || !seen; round++) {
        uint64_t words[WORDS];
        const uint64_t version = dg_begin_reading(&shared.version);
        dg_read_words(shared.words, words, WORDS);
        if (!dg_is_unchanged(&shared.version, version)) {
            sched_yield();
            continue;
        }
        bool whole = true;
        seen = true;
        for (int i = 0; i < WORDS; i++) whole = whole && words[i] == word_of(words[0], i);
        atomic_fetch_add(whole ? &shared.whole : &shared.torn, 1);
    }
    return NULL;
}

static void readers_see_whole_copies(void **state) {
    static uint64_t numbers[WRITERS] = {0, 1};
    pthread_t threads[WRITERS + READERS];
    (void)state;
    for (int i = 0; i < WRITERS + READERS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, i < WRITERS ? write_often : read_often,
                             i < WRITERS ? &numbers[i] : NULL),
            0);
    for (int i = 0; i < WRITERS + READERS; i++) pthread_join(threads[i], NULL);
    assert_int_equal(shared.torn, 0);
    assert_true(shared.whole > 0 && shared.written > 0);
    assert_int_equal(shared.version, 2 * shared.written);
}

static void a_second_writer_is_told(void **state) {
    dg_sequence_t version = 0;
    (void)state;
    assert_true(dg_begin_writing(&version));
    assert_false(dg_begin_writing(&version));
    assert_false(dg_is_unchanged(&version, dg_begin_reading(&version)));
    dg_end_writing(&version);
    assert_true(dg_is_unchanged(&version, dg_begin_reading(&version)));
    assert_true(dg_begin_writing(&version));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(readers_see_whole_copies),
        cmocka_unit_test(a_second_writer_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
