// SPDX-License-Identifier: MIT
//
// The C++ side of backend.h: finds emulated specialisations and launches them.
#include "../check.h"
#include "backend.h"
#include "specialisation.h"
#include "tensor_map.h"

#include <cstring>

static bool is_it(
    const emu::Specialisation &s, const char *const *fields, const int32_t *values, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (s.value(fields[i]) != values[i]) return false;
    return true;
}

// The first few numbers are the schedules that all tests of the emulator use, others are seeds.
static emu::Config config_of(uint32_t schedule) {
    const auto usual = check::schedules();
    if (schedule < usual.size()) return usual[schedule];
    emu::Config config;
    config.seed = schedule;
    config.delay = schedule % 4 ? emu::Delay::Random : emu::Delay::Longest;
    config.polls_until_livelock = 100000;
    return config;
}

const char *emulate_launch(const char *kernel, const char *const *fields, const int32_t *values,
    int32_t count, uint32_t grid, uint32_t threads, uint32_t cluster, size_t shared_bytes,
    const void *args, uint32_t schedule) {
    static std::string wrong;
    for (const emu::Specialisation &s : emu::specialisations(kernel)) {
        if (!is_it(s, fields, values, count)) continue;
        if (s.threads != threads || s.shared_bytes != shared_bytes)
            return "the plan and the kernel's text count other threads or shared memory";
        try {
            emu::Launch launch = emu::make_launch(s, grid, args, s.args_bytes);
            launch.cluster = cluster; /* a kernel may leave it open */
            emu::launch(config_of(schedule), launch);
            return nullptr;
        } catch (const std::exception &e) {
            wrong = e.what();
            return wrong.c_str();
        }
    }
    wrong = std::string("this program has no such specialisation of ") + kernel;
    return wrong.c_str();
}

const char *emulate_map(const void *data, int32_t rank, const uint64_t *extents,
    const uint64_t *strides, const uint32_t *box, int32_t element_bytes, int32_t swizzle_bytes,
    dg_tensor_map_t *map) {
    static std::string wrong;
    const emu::Swizzle swizzle = swizzle_bytes == 128  ? emu::Swizzle::B128
                                 : swizzle_bytes == 64 ? emu::Swizzle::B64
                                 : swizzle_bytes == 32 ? emu::Swizzle::B32
                                                       : emu::Swizzle::None;
    const emu::ElementType type = element_bytes == 1   ? emu::ElementType::Byte
                                  : element_bytes == 2 ? emu::ElementType::Bf16
                                                       : emu::ElementType::F32;
    try {
        *map = emu::encode_tensor_map(type, static_cast<uint32_t>(rank), const_cast<void *>(data),
            extents, strides, box, swizzle);
        return nullptr;
    } catch (const std::exception &e) {
        wrong = e.what();
        return wrong.c_str();
    }
}

void emulate_memory(const void *begin, size_t bytes, int read_only) {
    emu::register_global(begin, bytes, read_only != 0);
}

void forget_memory(const void *begin) {
    emu::unregister_global(begin);
}
