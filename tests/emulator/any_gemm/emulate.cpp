// SPDX-License-Identifier: MIT
//
// The C++ side of backend.h: finds emulated specialisations and launches them.
#include "../check.h"
#include "backend.h"
#include "specialisation.h"

#include <cstring>

static bool is_it(
    const emu::Specialisation &s, const char *const *fields, const int32_t *values, int32_t count) {
    for (int32_t i = 0; i < count; i++)
        if (s.value(fields[i]) != values[i]) return false;
    return true;
}

const char *emulate_launch(const char *kernel, const char *const *fields, const int32_t *values,
    int32_t count, uint32_t grid, uint32_t threads, size_t shared_bytes, const void *args,
    uint32_t schedule) {
    static std::string wrong;
    const auto schedules = check::schedules();
    for (const emu::Specialisation &s : emu::specialisations(kernel)) {
        if (!is_it(s, fields, values, count)) continue;
        if (s.threads != threads || s.shared_bytes != shared_bytes)
            return "the plan and the kernel's text count other threads or shared memory";
        try {
            emu::launch(schedules[schedule % schedules.size()],
                emu::make_launch(s, grid, args, s.args_bytes));
            return nullptr;
        } catch (const std::exception &e) {
            wrong = e.what();
            return wrong.c_str();
        }
    }
    wrong = std::string("this program has no such specialisation of ") + kernel;
    return wrong.c_str();
}

void emulate_memory(const void *begin, size_t bytes, int read_only) {
    emu::register_global(begin, bytes, read_only != 0);
}

void forget_memory(const void *begin) {
    emu::unregister_global(begin);
}
