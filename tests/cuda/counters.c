/* SPDX-License-Identifier: MIT
 *
 * See counters.h.
 */
#include "counters.h"

#include <pthread.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void *__real_malloc(size_t size);
void *__real_calloc(size_t count, size_t size);
void *__real_realloc(void *memory, size_t size);
void *__real_aligned_alloc(size_t alignment, size_t size);
int __real_pthread_mutex_lock(pthread_mutex_t *mutex);
int __real_pthread_once(pthread_once_t *once, void (*call)(void));
char *__real_getenv(const char *name);
void *__wrap_malloc(size_t size);
void *__wrap_calloc(size_t count, size_t size);
void *__wrap_realloc(void *memory, size_t size);
void *__wrap_aligned_alloc(size_t alignment, size_t size);
int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex);
int __wrap_pthread_once(pthread_once_t *once, void (*call)(void));
char *__wrap_getenv(const char *name);
int __wrap_vsnprintf(char *text, size_t size, const char *format, va_list values);
int __wrap_snprintf(char *text, size_t size, const char *format, ...);

counters_t counters;

void *__wrap_malloc(size_t size) {
    counters.requests++;
    return __real_malloc(size);
}

void *__wrap_calloc(size_t count, size_t size) {
    counters.requests++;
    return __real_calloc(count, size);
}

void *__wrap_realloc(void *memory, size_t size) {
    counters.requests++;
    return __real_realloc(memory, size);
}

void *__wrap_aligned_alloc(size_t alignment, size_t size) {
    counters.requests++;
    return __real_aligned_alloc(alignment, size);
}

int __wrap_pthread_mutex_lock(pthread_mutex_t *mutex) {
    counters.locks++;
    return __real_pthread_mutex_lock(mutex);
}

int __wrap_pthread_once(pthread_once_t *once, void (*call)(void)) {
    counters.locks++;
    return __real_pthread_once(once, call);
}

char *__wrap_getenv(const char *name) {
    counters.lookups++;
    return __real_getenv(name);
}

int __real_vsnprintf(char *text, size_t size, const char *format, va_list values);

int __wrap_vsnprintf(char *text, size_t size, const char *format, va_list values) {
    counters.texts++;
    return __real_vsnprintf(text, size, format, values);
}

int __wrap_snprintf(char *text, size_t size, const char *format, ...) {
    va_list values;
    counters.texts++;
    va_start(values, format);
    const int length = __real_vsnprintf(text, size, format, values);
    va_end(values);
    return length;
}
