// SPDX-License-Identifier: MIT
//
// Implementation of wgmma.h. The 128 threads of a warpgroup issue the same sequence of operations
// at their own pace; an operation starts when the last of them has issued it, and operations
// execute in order, each as one delayed effect.
#include "wgmma.h"
#include "operand.h"
#include "product.h"
#include "scheduler.h"
#include "shared_memory.h"

#include <algorithm>
#include <cstring>

namespace emu {

constexpr uint32_t POISON = 0x7fa0dead; // a signalling NaN: any arithmetic on it changes its bits

static float poison() {
    float value;
    memcpy(&value, &POISON, 4);
    return value;
}

static bool is_poison(float value) {
    uint32_t bits;
    memcpy(&bits, &value, 4);
    return bits == POISON;
}

// Place in the [64 x width] tile of register j of thread t.
static uint32_t fragment_place(uint32_t t, uint32_t j, uint32_t width) {
    const uint32_t row = t / 32 * 16 + t % 32 / 4 + (j & 2) * 4;
    return row * width + j / 4 * 8 + t % 4 * 2 + (j & 1);
}

static Warpgroup &my_warpgroup() {
    return current->cta->warpgroups[current->warp / 4];
}

// ---- execution

// out: [64 x k]; register r of thread t holds row t/4 (+8 for r & 1), bytes of k 4*(t%4) (+16 for r
// & 2)
static void load_registers(const WgmmaOperation &op, float *out) {
    const uint32_t depth = k_of(op.type), per_register = depth / 8;
    for (uint32_t t = 0; t < 128; t++)
        for (uint32_t r = 0; r < 4; r++) {
            const uint32_t row = t / 32 * 16 + t % 32 / 4 + (r & 1) * 8;
            const uint32_t k = t % 4 * per_register + (r >> 1) * depth / 2;
            operand_decode_register(op.type, op.a_registers[t][r], out + row * depth + k);
        }
}

static void check_registers(const WgmmaOperation &op) {
    if (!op.a_in_registers) return;
    for (uint32_t t = 0; t < 128; t++)
        if (memcmp(op.a_source[t], op.a_registers[t], sizeof op.a_registers[t]))
            fail("WGMMA", "A registers of thread %u changed while wgmma was in flight", t);
}

static void give_back(Accumulator &accumulator) {
    for (uint32_t t = 0; t < 128; t++)
        for (uint32_t j = 0; j < accumulator.width / 2; j++) {
            float &reg = accumulator.registers[t][j];
            if (!is_poison(reg))
                fail("WGMMA",
                    "accumulator register %u of thread %u was written while wgmma was in flight", j,
                    t);
            reg = accumulator.tile[fragment_place(t, j, accumulator.width)];
        }
}

static void execute_front(const Cta *c, Warpgroup &group) {
    const std::shared_ptr<WgmmaOperation> op = group.queue.front();
    group.queue.pop_front();
    group.first++;
    statistics.wgmma++;
    const uint32_t depth = k_of(op->type);
    std::vector<float> a(64 * depth), b(op->width * depth);
    check_registers(*op);
    if (op->a_in_registers)
        load_registers(*op, a.data());
    else
        operand_load(c, decode_operand(op->a, op->type, op->a_mn_major), 64, false, a.data());
    operand_load(c, decode_operand(op->b, op->type, op->b_mn_major), op->width, true, b.data());
    Accumulator &accumulator = *op->accumulator;
    if (!op->accumulate) std::fill(accumulator.tile.begin(), accumulator.tile.end(), 0.f);
    multiply_add(a.data(), b.data(), accumulator.tile.data(), 64, op->width, depth);
    if (--accumulator.in_flight) return;
    give_back(accumulator);
    group.live.erase(std::find(group.live.begin(), group.live.end(), op->accumulator));
}

static void execute_up_to(const Cta *c, Warpgroup &group, uint32_t end) {
    bool any = false;
    while (group.first < end && !group.queue.empty() && group.queue.front()->arrived == 128) {
        execute_front(c, group);
        any = true;
    }
    if (any) wake(group.waiters);
}

// ---- issue

static void check_same(const WgmmaOperation &op, const WgmmaOperation &mine) {
    if (op.a != mine.a || op.b != mine.b || op.width != mine.width || op.type != mine.type ||
        op.accumulate != mine.accumulate || op.a_in_registers != mine.a_in_registers ||
        op.a_mn_major != mine.a_mn_major || op.b_mn_major != mine.b_mn_major)
        fail("WGMMA", "threads of one warpgroup issue different wgmma (b 0x%llx and 0x%llx)",
            static_cast<unsigned long long>(op.b), static_cast<unsigned long long>(mine.b));
}

// The operation number `index` of the warpgroup, created by the first thread to issue it.
static WgmmaOperation &find_or_create(
    Warpgroup &group, const WgmmaOperation &mine, uint32_t index, const float *d) {
    if (index == group.queue.size()) {
        auto op = std::make_shared<WgmmaOperation>(mine);
        for (const auto &live : group.live)
            if (live->registers[current->linear % 128] == d) op->accumulator = live;
        if (!op->accumulator) {
            op->accumulator = std::make_shared<Accumulator>();
            op->accumulator->width = mine.width;
            op->accumulator->tile.assign(64 * mine.width, 0.f);
            group.live.push_back(op->accumulator);
        }
        op->accumulator->in_flight++;
        group.queue.push_back(op);
    }
    return *group.queue[index];
}

static void take_registers(Accumulator &accumulator, float *d, uint32_t width, bool accumulate) {
    const uint32_t t = current->linear % 128;
    if (accumulator.width != width) fail("WGMMA", "accumulator shape changes while in flight");
    if (accumulator.registers[t]) {
        if (accumulator.registers[t] != d || !is_poison(d[0]))
            fail("WGMMA", "accumulator registers changed while wgmma was in flight");
        return;
    }
    accumulator.registers[t] = d;
    for (uint32_t j = 0; j < width / 2; j++) {
        if (accumulate) accumulator.tile[fragment_place(t, j, width)] = d[j];
        d[j] = poison();
    }
}

static void check_pieces(Cta *c, const Operand &operand, uint32_t first, uint32_t count,
    const Access &access, const char *what, bool record) {
    std::vector<uint32_t> addresses;
    operand_pieces(operand, first, count, addresses);
    for (const uint32_t address : addresses) {
        shared_pointer(c, address, 16, 16, what);
        if (config.check_races)
            check_shared(
                c, shared_offset(address), 16, access, current->clocks, what, true, record);
    }
}

// Each warp reads its 16 rows of A and all of B. All four read B in the same way, so one entry that
// spans their agents is recorded.
static void check_operands(const WgmmaOperation &op) {
    Cta *c = current->cta;
    const uint32_t warp = current->warp, quarter = warp % 4;
    const Clock clock = current->wgmma_issued;
    if (!op.a_in_registers)
        check_pieces(c, decode_operand(op.a, op.type, op.a_mn_major), quarter * 16, 16,
            access_by_agent(c, agent_of_wgmma(c, warp), clock, ACCESS_ASYNC), "wgmma operand A",
            true);
    check_pieces(c, decode_operand(op.b, op.type, op.b_mn_major), 0, op.width,
        access_by_agent(c, agent_of_wgmma(c, warp - quarter), clock, ACCESS_ASYNC, 4),
        "wgmma operand B", quarter == 0);
}

static void issue(float *d, const WgmmaOperation &mine, const uint32_t *a_registers) {
    Thread *t = current;
    Cta *c = t->cta;
    Warpgroup &group = my_warpgroup();
    if (!t->wgmma_fenced) fail("WGMMA", "wgmma without wgmma_fence since the last wait");
    const uint32_t index = t->wgmma_issued++ - group.first;
    WgmmaOperation &op = find_or_create(group, mine, index, d);
    check_same(op, mine);
    if (a_registers) {
        op.a_source[t->linear % 128] = a_registers;
        std::copy(a_registers, a_registers + 4, op.a_registers[t->linear % 128]);
    }
    take_registers(*op.accumulator, d, op.width, op.accumulate);
    if (t->lane == 0) check_operands(op);
    if (++op.arrived < 128) return;
    const uint32_t end = group.first + index + 1;
    start_effect(Engine::Product, c->cluster, [c, &group, end] { execute_up_to(c, group, end); });
}

void wgmma_shared(float *d, uint32_t width, OperandType type, uint64_t a, uint64_t b,
    bool accumulate, bool a_mn_major, bool b_mn_major) {
    WgmmaOperation op{};
    op.type = type;
    op.width = width;
    op.accumulate = accumulate;
    op.a = a;
    op.b = b;
    op.a_mn_major = a_mn_major;
    op.b_mn_major = b_mn_major;
    issue(d, op, nullptr);
}

void wgmma_registers(float *d, uint32_t width, OperandType type, const uint32_t *a, uint64_t b,
    bool accumulate, bool b_mn_major) {
    WgmmaOperation op{};
    op.type = type;
    op.width = width;
    op.accumulate = accumulate;
    op.a_in_registers = true;
    op.b = b;
    op.b_mn_major = b_mn_major;
    issue(d, op, a);
}

// ---- ordering

void wgmma_fence() {
    current->wgmma_fenced = true;
}

void wgmma_commit() {
    current->wgmma_groups.push_back(current->wgmma_issued);
}

void wgmma_wait(uint32_t groups) {
    Thread *t = current;
    Warpgroup &group = my_warpgroup();
    t->wgmma_fenced = false;
    if (t->wgmma_groups.size() <= groups) return;
    const size_t done = t->wgmma_groups.size() - groups;
    const uint32_t target = t->wgmma_groups[done - 1];
    t->wgmma_groups.erase(
        t->wgmma_groups.begin(), t->wgmma_groups.begin() + static_cast<std::ptrdiff_t>(done));
    while (group.first < target) block(group.waiters, "wgmma_wait", group.first, target);
    t->wgmma_done = target;
    raise_clock(t, agent_of_wgmma(t->cta, t->warp), target);
}

} // namespace emu
