// SPDX-License-Identifier: MIT
//
// The main function of a program of bugs (dg_emulate_bugs): every specialisation it links has one, and
// each must show, as a fault or as wrong results, under five seeds of five. Prints what the first seed
// reported.
#pragma once
#include "check.h"
#include "specialisation.h"

#include <functional>

namespace check {

// run: what was wrong with a run under these settings, "" for nothing. argv[1]: part of a bug's name.
inline int find_bugs(int argc, char **argv,
    const std::function<std::string(const emu::Specialisation &, const emu::Config &)> &run) {
    size_t missed = 0, tried = 0;
    for (const emu::Specialisation &bug : emu::specialisations()) {
        if (argc > 1 && !strstr(bug.name, argv[1])) continue;
        std::string first;
        size_t found = 0;
        const std::vector<emu::Config> schedules = check::schedules();
        for (const emu::Config &config : schedules) {
            const std::string wrong = run(bug, config);
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

} // namespace check
