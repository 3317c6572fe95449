// SPDX-License-Identifier: MIT
//
// The list of kernels with a bug, filled by the sources that mutate.py makes and run by
// test_bugs.cpp.
#pragma once
#include "gemm_run.h"

#include <vector>

struct Bug {
    const char *name;
    GemmSpecialisation kernel;
};

inline std::vector<Bug> &bugs() {
    static std::vector<Bug> all;
    return all;
}

struct RegisterBug {
    RegisterBug(const char *name, const GemmSpecialisation &kernel) {
        bugs().push_back({name, kernel});
    }
};
