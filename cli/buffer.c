/* SPDX-License-Identifier: MIT
 *
 * Allocation for the command line. Called by nearly every file here; calls the C library only.
 */
#include "buffer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define GUARD 64
#define GUARD_BYTE 0xA5

static void *checked(void *memory, size_t bytes) {
    if (memory == NULL) {
        fprintf(stderr, "deepgemm: no memory for %zu bytes\n", bytes);
        exit(1);
    }
    return memory;
}

void *cli_allocate(size_t bytes) {
    return checked(calloc(bytes ? bytes : 1, 1), bytes);
}

void *cli_reallocate(void *memory, size_t bytes) {
    return checked(realloc(memory, bytes ? bytes : 1), bytes);
}

void *cli_pool_take(cli_pool_t *pool, size_t bytes) {
    if (pool->count == CLI_MAX_BUFFERS) {
        fprintf(stderr, "deepgemm: one problem takes more than %d buffers\n", CLI_MAX_BUFFERS);
        exit(1);
    }
    const size_t rounded = (bytes + GUARD - 1) / GUARD * GUARD + 2 * (size_t)GUARD;
    unsigned char *block = checked(aligned_alloc(GUARD, rounded), rounded);
    memset(block, GUARD_BYTE, rounded);
    memset(block + GUARD, CLI_POISON, bytes);
    pool->blocks[pool->count] = block;
    pool->sizes[pool->count++] = bytes;
    return block + GUARD;
}

bool cli_pool_intact(const cli_pool_t *pool) {
    for (size_t i = 0; i < pool->count; i++) {
        const unsigned char *block = pool->blocks[i];
        for (size_t j = 0; j < GUARD; j++) {
            if (block[j] != GUARD_BYTE || block[GUARD + pool->sizes[i] + j] != GUARD_BYTE) {
                return false;
            }
        }
    }
    return true;
}

void cli_pool_release(cli_pool_t *pool) {
    for (size_t i = 0; i < pool->count; i++) free(pool->blocks[i]);
    *pool = (cli_pool_t){.count = 0};
}
