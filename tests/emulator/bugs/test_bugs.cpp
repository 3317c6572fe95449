// SPDX-License-Identifier: MIT
//
// Every bug of fp8_gemm_block_bugs.py must show, as a fault or as wrong results, under five seeds of
// five, with exact inputs. Prints what the first seed reported.
//
//     emulator_bugs [part of a name]
#include "bug_test.h"
#include "check.h"

// Several tiles a CTA, several trips round the ring, edges in m and n.
static GemmShape shape_for(const GemmSpecialisation &s) {
    if (s.share == DG_SHARE_NONE) return {200, 232, 640};
    return s.store_buffers == 0 ? GemmShape{130, 131, 256} : GemmShape{300, 520, 512};
}

int main(int argc, char **argv) {
    size_t missed = 0, tried = 0;
    for (const Bug &bug : bugs()) {
        if (argc > 1 && !strstr(bug.name, argv[1])) continue;
        std::string first;
        size_t found = 0;
        const std::vector<emu::Config> schedules = check::schedules();
        for (const emu::Config &config : schedules) {
            const std::string wrong = run_gemm(bug.kernel, shape_for(bug.kernel), true, config, 2);
            if (first.empty()) first = wrong;
            found += !wrong.empty();
        }
        const bool good = found == schedules.size();
        printf("%s %-52s %zu of %zu  %.*s\n", good ? "found " : "MISSED", bug.name, found,
            schedules.size(), static_cast<int>(first.find('\n')), first.c_str());
        fflush(stdout);
        tried++;
        missed += !good;
    }
    printf("%zu of %zu bugs found\n", tried - missed, tried);
    return missed != 0 || tried == 0;
}
