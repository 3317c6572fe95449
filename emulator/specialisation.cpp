// SPDX-License-Identifier: MIT
//
// Implementation of specialisation.h.
#include "specialisation.h"

#include <algorithm>
#include <cstring>
#include <map>

namespace emu {

// A function, so that it exists before the first static object registers itself.
static std::map<std::string, Specialisation> &registered() {
    static std::map<std::string, Specialisation> all;
    return all;
}

RegisterSpecialisation::RegisterSpecialisation(const Specialisation &s) : name(s.name) {
    registered().emplace(s.name, s);
}

RegisterSpecialisation::~RegisterSpecialisation() {
    registered().erase(name);
}

std::vector<Specialisation> specialisations(const char *kernel) {
    std::vector<Specialisation> found;
    for (const auto &[name, s] : registered())
        if (!kernel || strcmp(s.kernel, kernel) == 0) found.push_back(s);
    return found;
}

const Specialisation &find_specialisation(const std::string &name) {
    const auto found = registered().find(name);
    if (found == registered().end())
        fail("TEST",
            "no specialisation is named %s: dg_emulate_kernel makes it, and the program links it",
            name.c_str());
    return found->second;
}

int Specialisation::value(const char *macro) const {
    for (size_t i = 0; i < value_count; i++)
        if (strcmp(values[i].macro, macro) == 0) return static_cast<int>(values[i].value);
    fail("TEST", "specialisation %s has no macro %s", name, macro);
}

Launch make_launch(const Specialisation &s, uint32_t grid, const void *args, size_t args_bytes) {
    if (args_bytes != s.args_bytes)
        fail("TEST", "%s takes arguments of %zu bytes, not %zu", s.name, s.args_bytes, args_bytes);
    Launch launch{};
    launch.grid = grid;
    launch.block = s.threads;
    launch.cluster = s.cluster;
    launch.shared_bytes = s.shared_bytes;
    // as many as ptxas may give with one CTA on each SM
    launch.registers = std::min(65536 / s.threads / s.per_sm, 255u) / 8 * 8;
    launch.kernel = [entry = s.entry, args] { entry(args); };
    return launch;
}

} // namespace emu
