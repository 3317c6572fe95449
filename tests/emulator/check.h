// SPDX-License-Identifier: MIT
//
// The small harness of the emulator's tests. A test is a function; a failed check throws, which
// unwinds C++ frames properly (cmocka would jump over them). expect_fault runs a kernel that has a
// bug.
#pragma once
#include "launch.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <new>
#include <stdexcept>
#include <string>
#include <vector>

namespace check {

struct Test {
    const char *name;
    void (*run)();
};

inline std::vector<Test> &tests() {
    static std::vector<Test> all;
    return all;
}

struct Register {
    Register(const char *name, void (*run)()) { tests().push_back({name, run}); }
};

#define TEST(name)                                                                                 \
    static void name();                                                                            \
    static const check::Register name##_registered(#name, name);                                   \
    static void name()

inline void require(bool condition, const char *text, const char *file, int line) {
    if (!condition)
        throw std::runtime_error(std::string(file) + ":" + std::to_string(line) + ": " + text);
}

#define REQUIRE(condition) check::require((condition), #condition, __FILE__, __LINE__)

constexpr size_t SEEDS = 5;
inline int only_seed = -1; // one of the schedules by itself; -1 for all

// Five schedules for everything that depends on one: in order with immediate effects, at random
// with random delays, at random with effects as late as possible.
inline std::vector<emu::Config> schedules() {
    std::vector<emu::Config> all(SEEDS);
    all[0].order = emu::Order::Fifo;
    all[0].delay = emu::Delay::None;
    for (size_t i = 1; i < all.size(); i++) all[i].seed = i;
    all[4].delay = emu::Delay::Longest;
    for (emu::Config &config : all) config.polls_until_livelock = 20000;
    if (only_seed >= 0) all = {all[static_cast<size_t>(only_seed)]};
    return all;
}

// The kind of fault that running `body` raises; "" for none.
inline std::string fault_of(const std::function<void()> &body) {
    try {
        body();
    } catch (const emu::Error &e) {
        return e.kind;
    }
    return "";
}

// The bug must show under every schedule, as one of the kinds listed ("RACE|PROXY").
inline void expect_fault(const char *kinds, const std::function<void(const emu::Config &)> &run) {
    for (const emu::Config &config : schedules()) {
        const std::string kind = fault_of([&] { run(config); });
        const std::string list = std::string("|") + kinds + "|";
        if (kind.empty() || list.find("|" + kind + "|") == std::string::npos)
            throw std::runtime_error("seed " + std::to_string(config.seed) + ": expected " + kinds +
                                     ", got " + (kind.empty() ? "no fault" : kind));
    }
}

// A buffer of global memory, registered for its lifetime and filled with 0xFF.
template <class T> struct Buffer {
    T *data;
    size_t count;
    explicit Buffer(size_t n, bool read_only = false) : count(n) {
        const size_t bytes = (n * sizeof(T) + 255) & ~size_t{255};
        data = static_cast<T *>(aligned_alloc(256, bytes));
        if (!data) throw std::bad_alloc();
        memset(static_cast<void *>(data), 0xFF, bytes);
        emu::register_global(data, n * sizeof(T), read_only);
    }
    ~Buffer() {
        emu::unregister_global(data);
        free(data);
    }
    Buffer(const Buffer &) = delete;
    Buffer &operator=(const Buffer &) = delete;
    T &operator[](size_t i) { return data[i]; }
};

inline int run_all(int argc, char **argv) {
    int failed = 0;
    for (const Test &test : tests()) {
        if (argc > 1 && !strstr(test.name, argv[1])) continue;
        try {
            test.run();
            printf("ok    %s\n", test.name);
        } catch (const std::exception &e) {
            failed++;
            printf("FAIL  %s: %s\n", test.name, e.what());
        }
        fflush(stdout);
    }
    return failed != 0;
}

} // namespace check
