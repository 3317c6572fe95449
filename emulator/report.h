// SPDX-License-Identifier: MIT
//
// The texts of errors: who was running, and for a deadlock, what everybody waits for.
#pragma once
#include "machine.h"

namespace emu {

std::string deadlock_report(const std::vector<std::unique_ptr<Cluster>> &live);

} // namespace emu
