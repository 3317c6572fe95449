// SPDX-License-Identifier: MIT
//
// Kernels of this program, each with values for its macros. The build compiles a kernel's text once for
// each specialisation (cmake/emulate_kernel.cmake; at run time emu::compile) and the result registers
// itself here; tests find it by name and launch it.
#pragma once
#include "launch.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace emu {

struct SpecialisationValue {
    const char *macro;
    long value;
};

struct Specialisation {
    const char *name;   // unique in the program
    const char *kernel; // "sm90_fp8_gemm_block"
    const SpecialisationValue *values;
    size_t value_count;
    uint32_t threads, cluster; // THREADS and CLUSTER of the kernel's text
    uint32_t per_sm;           // PER_SM: blocks that share an SM and its registers
    size_t shared_bytes;       // SHARED_BYTES of the kernel's text
    size_t args_bytes;
    void (*entry)(const void *args);

    int value(const char *macro) const; // an error if there is no such macro
};

// Those that were registered, in the order of their names; kernel: only those of this kernel.
std::vector<Specialisation> specialisations(const char *kernel = nullptr);
const Specialisation &find_specialisation(const std::string &name); // an error if there is none

// A launch of so many CTAs; args must live as long as the launch is used.
Launch make_launch(const Specialisation &s, uint32_t grid, const void *args, size_t args_bytes);
template <class Args> Launch make_launch(const Specialisation &s, uint32_t grid, const Args *args) {
    return make_launch(s, grid, args, sizeof *args);
}

// For as long as it lives; a shared object may be unloaded.
struct RegisterSpecialisation {
    const char *name;
    explicit RegisterSpecialisation(const Specialisation &s);
    ~RegisterSpecialisation();
    RegisterSpecialisation(const RegisterSpecialisation &) = delete;
    RegisterSpecialisation &operator=(const RegisterSpecialisation &) = delete;
};

// Calls a kernel with the arguments that a pointer leads to.
template <auto kernel> struct Entry;
template <class Args, void (*kernel)(Args)> struct Entry<kernel> {
    static constexpr size_t args_bytes = sizeof(Args);
    static void call(const void *args) { kernel(*static_cast<const Args *>(args)); }
};

} // namespace emu
