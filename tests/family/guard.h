/* SPDX-License-Identifier: MIT
 *
 * Guarded memory for tests. Every block is filled with NaN patterns that differ from place to place
 * and is surrounded by more of them. After the arguments are ready guard_seal() takes a copy of all
 * blocks; after the call guard_allow() names the bytes that the call was documented to write, and
 * guard_check() compares everything else, inputs included, byte for byte. Blocks are kept in a list
 * of the calling thread and freed together by guard_release(), also after a failed test.
 *
 * label() says what is being tested; every failure message starts with it.
 */
#ifndef DG_TESTS_FAMILY_GUARD_H
#define DG_TESTS_FAMILY_GUARD_H

#include <stddef.h>
#include <stdint.h>

#include "deep_gemm/status.h"

/* `bytes` of guarded memory whose address is `skew` bytes past a multiple of 64. Every aligned
 * 16-bit word of it is a BF16 NaN, every aligned 32-bit word an FP32 NaN. `name` appears in failure
 * messages and must outlive the block. In a build with AddressSanitizer the surroundings belong to
 * the sanitizer, so that reading there is found as well. */
void *guard_take(size_t bytes, size_t skew, const char *name);

/* Zeroed memory for the test itself, freed by guard_release() like the rest, not compared. */
void *guard_scratch(size_t bytes);

void guard_seal(void);
void guard_allow(const void *begin, size_t bytes);
void guard_check(void);
void guard_release(void);

/* cmocka teardown: frees what the test left. */
int guard_teardown(void **state);

void label(const char *format, ...) __attribute__((format(printf, 1, 2)));
const char *label_text(void);

/* Fails the running test with "<label>: <message>". */
_Noreturn void label_fail(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Fails unless status is DG_STATUS_OK; prints the library's message. */
void expect_ok(dg_status_t status);

/* Fails unless a call returned `want`. */
void expect_status(dg_status_t status, dg_status_t want);

#endif
