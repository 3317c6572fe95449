/* SPDX-License-Identifier: MIT
 *
 * Facts about the processor, from /proc, the compiler's feature test and the auxiliary vector.
 * Called by info.c, run.c and bench.c.
 */
#include "machine.h"

#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>
#include <unistd.h>

#if defined(__aarch64__)
#    include <sys/auxv.h>
#endif

void cli_cpu_model(char *text, size_t size) {
    struct utsname system;
    snprintf(text, size, "%s", uname(&system) == 0 ? system.machine : "unknown");
    FILE *file = fopen("/proc/cpuinfo", "r");
    if (file == NULL) return;
    char line[256];
    while (fgets(line, sizeof line, file) != NULL) {
        const char *colon = strchr(line, ':');
        if (strncmp(line, "model name", 10) != 0 || colon == NULL) continue;
        colon += strspn(colon, ": \t");
        snprintf(text, size, "%.*s", (int)strcspn(colon, "\n"), colon);
        break;
    }
    fclose(file);
}

size_t cli_cpu_features(const char **names, size_t max) {
    size_t count = 0;
#if defined(__x86_64__)
#    define TEST(name)                                                                             \
        if (count < max && __builtin_cpu_supports(name)) names[count++] = name
    __builtin_cpu_init();
    TEST("sse4.2");
    TEST("avx");
    TEST("fma");
    TEST("avx2");
    TEST("avx512f");
    TEST("avx512bw");
    TEST("avx512dq");
    TEST("avx512vl");
    TEST("avx512vnni");
    TEST("avx512bf16");
#    undef TEST
#elif defined(__aarch64__)
    static const struct {
        unsigned long bit;
        const char *name;
    } table[] = {{1UL << 1, "asimd"}, {1UL << 9, "fphp"}, {1UL << 10, "asimdhp"},
        {1UL << 20, "asimddp"}, {1UL << 22, "sve"}};
    const unsigned long bits = getauxval(AT_HWCAP);
    for (size_t i = 0; i < sizeof table / sizeof table[0] && count < max; i++) {
        if (bits & table[i].bit) names[count++] = table[i].name;
    }
#else
    (void)names, (void)max;
#endif
    return count;
}

int cli_count_cores(void) {
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0) return CPU_COUNT(&set);
    return (int)sysconf(_SC_NPROCESSORS_ONLN);
}

void cli_date(char *text, size_t size) {
    const time_t now = time(NULL);
    struct tm parts;
    if (gmtime_r(&now, &parts) == NULL || strftime(text, size, "%Y-%m-%d %H:%M UTC", &parts) == 0) {
        snprintf(text, size, "unknown");
    }
}
