// SPDX-License-Identifier: MIT
//
// Leaves out one primitive of the vocabulary after the other and runs the tests of primitives, those
// that call it, with each seed by itself: one of them has to fail with all five. So every primitive
// has a test, and a bug of its own that is found. The list of primitives comes from the headers
// (leave_out.py), a new one cannot be forgotten.
//
//     emulator_left_out [part of a primitive's name]
#include "check.h"
#include "left_out.h"
#include "primitives.h"

using check::Test;

// What a test says against a run, "" for nothing.
static std::string complaint(const Test &test) {
    try {
        test.run();
    } catch (const std::exception &e) {
        return e.what();
    }
    return "";
}

// [test][primitive]: who calls whom. Without anything left out every test passes.
static std::vector<std::vector<bool>> find_callers() {
    std::vector<std::vector<bool>> calls;
    for (const Test &test : check::tests()) {
        left_out::called.clear();
        const std::string wrong = complaint(test);
        if (!wrong.empty()) throw std::runtime_error(std::string(test.name) + ": " + wrong);
        left_out::called.resize(std::size(PRIMITIVES));
        calls.push_back(left_out::called);
    }
    return calls;
}

// With how many seeds the test fails; first: what it says then.
static size_t count_failures(const Test &test, std::string *first) {
    size_t found = 0;
    for (size_t seed = 0; seed < check::SEEDS; seed++) {
        check::only_seed = static_cast<int>(seed);
        const std::string wrong = complaint(test);
        if (found == 0) *first = wrong;
        found += !wrong.empty();
    }
    check::only_seed = -1;
    return found;
}

static bool is_bug(const Test &test) {
    return strncmp(test.name, "bug_", 4) == 0;
}

// Tests of right use first; a hint's misuse may be all that can be noticed.
static bool find(size_t primitive, const std::vector<std::vector<bool>> &calls) {
    const std::vector<Test> &tests = check::tests();
    const char *name = PRIMITIVES[primitive].name;
    size_t callers = 0;
    left_out::chosen = primitive;
    for (const bool bugs : {false, true})
        for (size_t i = 0; i < tests.size(); i++) {
            std::string first;
            if (!calls[i][primitive] || is_bug(tests[i]) != bugs) continue;
            callers++;
            if (count_failures(tests[i], &first) < check::SEEDS) continue;
            printf("found  %-28s %zu of %zu  %s: %.*s\n", name, check::SEEDS, check::SEEDS,
                tests[i].name, static_cast<int>(first.find('\n')), first.c_str());
            return true;
        }
    const bool fine = PRIMITIVES[primitive].hint && callers > 0;
    printf("%s %-28s called by %zu tests, none of them fails with every seed\n",
        fine ? "hint  " : "MISSED", name, callers);
    return fine;
}

int main(int argc, char **argv) {
    size_t missed = 0, tried = 0;
    const std::vector<std::vector<bool>> calls = find_callers();
    for (size_t i = 0; i < std::size(PRIMITIVES); i++) {
        if (argc > 1 && !strstr(PRIMITIVES[i].name, argv[1])) continue;
        missed += !find(i, calls);
        tried++;
        fflush(stdout);
    }
    printf("%zu of %zu primitives cannot be left out unnoticed\n", tried - missed, tried);
    return missed != 0 || tried == 0;
}
