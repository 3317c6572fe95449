/* SPDX-License-Identifier: MIT
 *
 * Guarded memory and failure labels; see guard.h. The list is thread-local because some tests call
 * the library from several threads, each with blocks of its own.
 */
#include "guard.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>

#include <cmocka.h>

typedef struct block_t {
    struct block_t *next;
    uint8_t *base;   /* [size] all of the block, guards included */
    uint8_t *shadow; /* [size] copy taken by guard_seal; NULL: scratch */
    size_t size;
    size_t lead; /* bytes in front of what the test uses */
    const char *name;
} block_t;

static _Thread_local block_t *blocks;
static _Thread_local char label_buffer[512];

#if defined(__SANITIZE_ADDRESS__)
#    define GUARD_TAIL 0
#else
#    define GUARD_TAIL 256
#endif
#define GUARD_LEAD 64

static void *take(size_t size, const char *name) {
    block_t *block = calloc(1, sizeof *block);
    assert_non_null(block);
    if (posix_memalign((void **)&block->base, 64, size > 0 ? size : 1) != 0) {
        free(block);
        fail_msg("out of memory: %zu bytes for %s", size, name);
    }
    block->size = size;
    block->name = name;
    block->next = blocks;
    blocks = block;
    return block;
}

/* 127 NaNs of 16 bits, over and over: each with a mantissa of its own, both signs. */
static void fill_with_nan(uint8_t *base, size_t size) {
    uint8_t pattern[2 * 127];
    for (size_t i = 0; i < 127; i++) {
        const uint8_t payload = (uint8_t)(1 + i * 37 % 127);
        pattern[2 * i] = 0x80 | payload;
        pattern[2 * i + 1] = payload % 2 ? 0xFF : 0x7F;
    }
    for (size_t i = 0; i < size; i += sizeof pattern) {
        memcpy(base + i, pattern, size - i < sizeof pattern ? size - i : sizeof pattern);
    }
}

void *guard_take(size_t bytes, size_t skew, const char *name) {
    const size_t lead = GUARD_LEAD + skew;
    block_t *block = take(lead + bytes + GUARD_TAIL, name);
    fill_with_nan(block->base, block->size);
    block->lead = lead;
    block->shadow = malloc(block->size);
    assert_non_null(block->shadow);
    memcpy(block->shadow, block->base, block->size);
    return block->base + lead;
}

void *guard_scratch(size_t bytes) {
    block_t *block = take(bytes, "scratch");
    memset(block->base, 0, bytes);
    return block->base;
}

void guard_seal(void) {
    for (block_t *block = blocks; block != NULL; block = block->next) {
        if (block->shadow != NULL) memcpy(block->shadow, block->base, block->size);
    }
}

void guard_allow(const void *begin, size_t bytes) {
    const uintptr_t address = (uintptr_t)begin;
    if (bytes == 0) return;
    for (block_t *block = blocks; block != NULL; block = block->next) {
        const uintptr_t base = (uintptr_t)block->base;
        if (block->shadow == NULL || address < base || address >= base + block->size) continue;
        memcpy(block->shadow + (address - base), begin, bytes);
        return;
    }
    label_fail("guard_allow: %p is in no block", begin);
}

void guard_check(void) {
    for (const block_t *block = blocks; block != NULL; block = block->next) {
        if (block->shadow == NULL || memcmp(block->base, block->shadow, block->size) == 0) continue;
        size_t i = 0;
        while (block->base[i] == block->shadow[i]) i++;
        label_fail("byte %lld of %s (%zu bytes in use) changed from 0x%02x to 0x%02x",
            (long long)i - (long long)block->lead, block->name,
            block->size - block->lead - GUARD_TAIL, block->shadow[i], block->base[i]);
    }
}

void guard_release(void) {
    while (blocks != NULL) {
        block_t *block = blocks;
        blocks = block->next;
        free(block->base);
        free(block->shadow);
        free(block);
    }
}

int guard_teardown(void **state) {
    (void)state;
    guard_release();
    return 0;
}

void label(const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(label_buffer, sizeof label_buffer, format, arguments);
    va_end(arguments);
}

const char *label_text(void) {
    return label_buffer;
}

void label_fail(const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    fail_msg("%s: %s", label_buffer, message);
    abort(); /* not reached: fail_msg jumps */
}

void expect_ok(dg_status_t status) {
    if (status == DG_STATUS_OK) return;
    label_fail("%s: %s", dg_status_string(status), dg_last_error());
}

void expect_status(dg_status_t status, dg_status_t want) {
    if (status == want) return;
    label_fail("got %s (%s), want %s", dg_status_string(status),
        status == DG_STATUS_OK ? "" : dg_last_error(), dg_status_string(want));
}
