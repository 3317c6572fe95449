// SPDX-License-Identifier: MIT
//
// What a test calls: run a kernel, or a sequence of dependent kernels, on the emulated GPU. Kernels
// are callables that use the device vocabulary. A fault in the kernel is thrown as an Error.
#pragma once
#include "error.h"

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace emu {

enum class Order { Fifo, Random };          // which thread that can run goes next
enum class Delay { None, Random, Longest }; // when an asynchronous operation takes effect

struct Config {
    Order order = Order::Random;
    Delay delay = Delay::Random;
    uint64_t seed = 1;
    bool check_races = true;    // happens-before checks; costs about twice the time
    uint32_t resident_ctas = 4; // CTAs alive at once, as if the GPU had so many SMs
    uint64_t polls_until_livelock = 200000;
};

struct Launch {
    uint32_t grid, block;    // CTAs, threads of each
    uint32_t cluster = 1;    // CTAs of a cluster; divides grid
    size_t shared_bytes = 0; // dynamic shared memory
    std::function<void()> kernel;
    uint32_t registers = 168;  // per thread at start, as ptxas reports; setmaxnreg starts from it
    bool programmatic = false; // may start when all CTAs of the launch before allow it
};

struct Statistics {
    uint64_t switches = 0, wgmma = 0, copies = 0, granules_checked = 0;
};

void launch(const Config &config, const Launch &one);
void launch_sequence(const Config &config, const std::vector<Launch> &launches);
const Statistics &last_statistics();

// Buffers the kernels may touch. Once one is registered, every access outside all of them is an
// error; a write to a read-only one too. Reads of read-only buffers need no race check and are
// fast.
void register_global(const void *buffer, size_t bytes, bool read_only = false);
void unregister_global(const void *buffer);

} // namespace emu
