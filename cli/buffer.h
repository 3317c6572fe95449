/* SPDX-License-Identifier: MIT
 *
 * Memory of the command line: allocation that ends the program with a line of text where there is
 * none, and a pool of guarded buffers for the tensors of one problem.
 *
 *     memory of one buffer:   guard 64 bytes | the caller's bytes, 64-byte aligned | guard 64 bytes
 *
 * A call of the library that writes past a tensor changes a guard; cli_pool_intact finds it.
 */
#ifndef CLI_BUFFER_H
#define CLI_BUFFER_H

#include <stdbool.h>
#include <stddef.h>

void *cli_allocate(size_t bytes); /* zeroed; release with free */
void *cli_reallocate(void *memory, size_t bytes);

#define CLI_POISON 0xFF /* as E4M3, BF16 and F32 a NaN, as an index -1 */
#define CLI_MAX_BUFFERS 40

typedef struct cli_pool_t {
    void *blocks[CLI_MAX_BUFFERS];
    size_t sizes[CLI_MAX_BUFFERS];
    size_t count;
} cli_pool_t;

/* A new buffer of the pool, every byte CLI_POISON. */
void *cli_pool_take(cli_pool_t *pool, size_t bytes);
bool cli_pool_intact(const cli_pool_t *pool);
void cli_pool_release(cli_pool_t *pool);

#endif
