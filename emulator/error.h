// SPDX-License-Identifier: MIT
//
// How the emulator reports what is wrong with a kernel: an Error with a kind (RACE, DEADLOCK,
// BOUNDS ...) and a text that names the thread. Raised by fail() in any primitive, rethrown by
// launch().
#pragma once
#include <stdexcept>
#include <string>

namespace emu {

struct Error : std::runtime_error {
    std::string kind;
    Error(const std::string &kind_, const std::string &text)
        : std::runtime_error(kind_ + ": " + text), kind(kind_) {}
};

[[noreturn]] void fail(const char *kind, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

} // namespace emu
