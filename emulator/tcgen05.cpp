// SPDX-License-Identifier: MIT
//
// Implementation of tcgen05.h. What an operation touches is checked when it is started; what it
// does is one entry of the CTA's queue, executed as a delayed effect. Emulated are 128 rows for
// each CTA and f32 sums; formats of the scales' layout are a reading of the documentation that no
// hardware has confirmed.
#include "tcgen05.h"
#include "mbarrier.h"
#include "number.h"
#include "operand.h"
#include "product.h"
#include "scheduler.h"
#include "shared_memory.h"
#include "tensor_memory.h"

#include <cmath>
#include <cstring>

namespace emu {

constexpr uint32_t ROWS = 128; // of a and d in each CTA

// The CTAs whose memories an operation of the running thread touches.
static std::vector<Cta *> members(uint32_t ctas) {
    Cta *c = current->cta;
    tensor_memory(c, ctas);
    if (ctas == 1) return {c};
    if (c->rank % 2) fail("TMEM", "of a pair, the CTA of even rank starts products");
    return {c, c->cluster->ctas[c->rank + 1].get()};
}

static Clock next_clock() {
    return ++current->cta->tensor->products[current->warp];
}

static Access product_access(Clock clock, uint8_t flags) {
    const Cta *c = current->cta;
    return access_by_agent(c, agent_of_wgmma(c, current->warp), clock, flags);
}

static void push(const std::vector<Cta *> &touched, std::function<void()> run) {
    TensorMemory *tensor = current->cta->tensor.get();
    for (Cta *c : touched) c->copies_in_flight++;
    tensor->queue.push_back([touched, run = std::move(run)] {
        for (Cta *c : touched) c->copies_in_flight--;
        run();
    });
    const uint32_t end = tensor->executed + static_cast<uint32_t>(tensor->queue.size());
    start_effect(Engine::Product, current->cta->cluster, [tensor, end] {
        while (tensor->executed < end) {
            const std::function<void()> front = std::move(tensor->queue.front());
            tensor->queue.pop_front();
            tensor->executed++;
            front();
        }
    });
}

// 16-byte pieces of c's shared memory that an operation reads.
static void check_pieces(
    Cta *c, const std::vector<uint32_t> &addresses, Clock clock, const char *what) {
    if (c->exited) fail("EXITED", "%s in CTA rank %u, which has exited", what, c->rank);
    const Access access = product_access(clock, ACCESS_ASYNC);
    for (const uint32_t address : addresses) {
        shared_pointer(c, address, 16, 16, what);
        if (config.check_races)
            check_shared(c, shared_offset(address), 16, access, current->clocks, what);
    }
    note_remote(c, access.agent, clock);
}

// ---- products

struct Product {
    ProductKind kind;
    uint32_t n, d;
    Operand a, b;
    bool accumulate;
    uint32_t scale_a, scale_b, byte_a, byte_b;
};

static OperandType type_of(ProductKind kind, uint32_t code) {
    if (code > 1) fail("IDESC", "operand type %u is not emulated", code);
    if (kind == ProductKind::F16) return code ? OperandType::BF16 : OperandType::F16;
    return code ? OperandType::E5M2 : OperandType::E4M3;
}

static Product decode(ProductKind kind, uint32_t ctas, uint64_t a, uint64_t b, uint32_t bits) {
    const auto field = [bits](int first, uint32_t mask) { return bits >> first & mask; };
    const bool scaled = kind == ProductKind::MXF8F6F4;
    const uint32_t m = field(24, 31) * 16;
    Product p{};
    p.kind = kind;
    p.n = field(17, 63) * 8;
    if (m != ROWS * ctas) fail("IDESC", "m is %u; %u is emulated", m, ROWS * ctas);
    if (!p.n || p.n > 256 || p.n % (16 * ctas))
        fail("IDESC", "n is %u; it must be a multiple of %u up to 256", p.n, 16 * ctas);
    if (field(0, 15) || field(6, 1) || field(13, 3) || field(31, 1))
        fail("IDESC", "0x%x: sparsity, saturation and negation are not emulated", bits);
    if (scaled ? !field(23, 1) : field(4, 3) != 1 || field(23, 1) || field(29, 3))
        fail("IDESC", "0x%x: %s", bits,
            scaled ? "scales must be ue8m0" : "sums must be f32, and reserved bits zero");
    p.byte_b = field(4, 3);
    p.byte_a = field(29, 3);
    const OperandType type_a = type_of(kind, field(7, 7)), type_b = type_of(kind, field(10, 7));
    if (kind == ProductKind::F16 && type_a != type_b)
        fail("IDESC", "0x%x: f16 and bf16 do not mix", bits);
    p.a = decode_tcgen05_operand(a, type_a, field(15, 1));
    p.b = decode_tcgen05_operand(b, type_b, field(16, 1));
    return p;
}

static void check_product(
    const Product &p, const std::vector<Cta *> &pair, uint32_t rows_of_b, Clock clock) {
    std::vector<uint32_t> a, b;
    operand_pieces(p.a, 0, ROWS, a);
    operand_pieces(p.b, 0, rows_of_b, b);
    for (Cta *c : pair) {
        check_pieces(c, a, clock, "tcgen05.mma operand a");
        check_pieces(c, b, clock, "tcgen05.mma operand b");
        if (p.kind == ProductKind::MXF8F6F4) {
            const Access reads = product_access(clock, ACCESS_READ);
            check_tensor(c, p.scale_a, ROWS / 32, ALL_QUARTERS, reads, clock, "scales of a");
            check_tensor(c, p.scale_b, (p.n + 31) / 32, ALL_QUARTERS, reads, clock, "scales of b");
        }
        const uint8_t flags = ACCESS_WRITE;
        if (p.accumulate && config.check_races)
            check_tensor(c, p.d, p.n, ALL_QUARTERS, product_access(clock, ACCESS_READ), clock,
                "tcgen05.mma adding to d");
        check_tensor(c, p.d, p.n, ALL_QUARTERS, product_access(clock, flags), clock, "tcgen05.mma");
    }
}

// out: [k, n] of b, whose rows lie in equal parts in the CTAs
static std::vector<float> load_b(const Product &p, const std::vector<Cta *> &pair) {
    const uint32_t k = k_of(p.b.type), part = p.n / static_cast<uint32_t>(pair.size());
    std::vector<float> out(k * p.n), rows(k * part);
    for (uint32_t i = 0; i < pair.size(); i++) {
        operand_load(pair[i], p.b, part, true, rows.data());
        for (uint32_t x = 0; x < k; x++)
            std::copy(&rows[x * part], &rows[x * part] + part, &out[x * p.n + i * part]);
    }
    return out;
}

static float scale(const Cta *c, uint32_t address, uint32_t row, uint32_t byte) {
    const uint32_t word =
        c->tensor->words[row % 32 * TENSOR_COLUMNS + (address & 0xffff) + row / 32];
    return f32_from_ue8m0(static_cast<uint8_t>(word >> 8 * byte));
}

// sums: [ROWS, n] += scaled products. A block of k is summed before it is scaled; the scales are
// powers of two, so that makes no difference short of overflow.
static void add_scaled(
    const Cta *c, const Product &p, const float *a, const float *b, float *sums) {
    std::vector<float> block(ROWS * p.n, 0.f);
    multiply_add(a, b, block.data(), ROWS, p.n, k_of(p.a.type));
    for (uint32_t i = 0; i < ROWS; i++) {
        const float row = scale(c, p.scale_a, i, p.byte_a);
        for (uint32_t j = 0; j < p.n; j++)
            sums[i * p.n + j] += block[i * p.n + j] * row * scale(c, p.scale_b, j, p.byte_b);
    }
}

static void execute(const Product &p, const std::vector<Cta *> &pair) {
    const uint32_t k = k_of(p.a.type);
    const std::vector<float> b = load_b(p, pair);
    std::vector<float> a(ROWS * k), sums(ROWS * p.n);
    for (Cta *c : pair) {
        operand_load(c, p.a, ROWS, false, a.data());
        uint32_t *d = &c->tensor->words[p.d & 0xffff];
        for (uint32_t i = 0; i < ROWS; i++)
            if (p.accumulate)
                memcpy(&sums[i * p.n], d + i * TENSOR_COLUMNS, p.n * 4);
            else
                std::fill(&sums[i * p.n], &sums[i * p.n] + p.n, 0.f);
        if (p.kind == ProductKind::MXF8F6F4)
            add_scaled(c, p, a.data(), b.data(), sums.data());
        else
            multiply_add(a.data(), b.data(), sums.data(), ROWS, p.n, k);
        for (uint32_t i = 0; i < ROWS; i++) memcpy(d + i * TENSOR_COLUMNS, &sums[i * p.n], p.n * 4);
    }
}

void tcgen05_mma(ProductKind kind, uint32_t ctas, uint32_t d, uint64_t a, uint64_t b,
    uint32_t instruction, bool accumulate, uint32_t scale_a, uint32_t scale_b) {
    const std::vector<Cta *> pair = members(ctas);
    Product p = decode(kind, ctas, a, b, instruction);
    if (d >> 16 || scale_a >> 16 || scale_b >> 16)
        fail("TMEM", "tcgen05.mma: sums and scales begin in lane 0");
    p.d = d;
    p.accumulate = accumulate;
    p.scale_a = scale_a;
    p.scale_b = scale_b;
    check_product(p, pair, p.n / ctas, next_clock());
    push(pair, [p, pair] { execute(p, pair); });
}

// ---- scales

void tcgen05_copy_scales(uint32_t ctas, uint32_t address, uint64_t source) {
    const std::vector<Cta *> pair = members(ctas);
    const Operand from = decode_tcgen05_operand(source, OperandType::E4M3, false);
    if (from.span) fail("DESC", "tcgen05.cp of scales: the descriptor must be without swizzle");
    if (address >> 16) fail("TMEM", "tcgen05.cp of scales begins in lane 0");
    const Clock clock = next_clock();
    std::vector<uint32_t> pieces;
    for (uint32_t row = 0; row < 32; row++)
        pieces.push_back(from.start + row / 8 * from.stride + row % 8 * 16);
    for (Cta *c : pair) {
        check_pieces(c, pieces, clock, "tcgen05.cp");
        check_tensor(
            c, address, 4, ALL_QUARTERS, product_access(clock, ACCESS_WRITE), clock, "tcgen05.cp");
    }
    push(pair, [pair, pieces, address] {
        for (Cta *c : pair)
            for (uint32_t lane = 0; lane < 128; lane++)
                memcpy(&c->tensor->words[lane * TENSOR_COLUMNS + (address & 0xffff)],
                    shared_pointer(c, pieces[lane % 32], 16, 16, "tcgen05.cp"), 16);
    });
}

// ---- commits

void tcgen05_commit(uint32_t ctas, uint32_t barrier, uint32_t ranks) {
    const char *what = "tcgen05.commit";
    members(ctas);
    Cta *c = current->cta;
    Cluster *cluster = c->cluster;
    const uint32_t agent = agent_of_wgmma(c, current->warp);
    const Clock clock = c->tensor->products[current->warp];
    if (ranks >> cluster->ctas.size())
        fail("BOUNDS", "%s: mask 0x%x names CTAs outside the cluster", what, ranks);
    std::vector<Cta *> targets;
    if (!ranks) targets.push_back(cta_of(barrier));
    for (uint32_t r = 0; r < cluster->ctas.size(); r++)
        if (ranks >> r & 1) targets.push_back(cluster->ctas[r].get());
    std::vector<Mbarrier *> barriers;
    for (Cta *target : targets) {
        if (target->exited)
            fail("EXITED", "%s to CTA rank %u, which has exited", what, target->rank);
        barriers.push_back(&mbarrier_at(target, barrier & 0xffffff, what));
        note_remote(target, agent, clock);
    }
    Clocks released;
    if (config.check_races) {
        released = current->clocks;
        released.rows[0].seen[agent] = std::max(released.rows[0].seen[agent], clock);
        released.rows[0].proxied[agent] = std::max(released.rows[0].proxied[agent], clock);
    }
    push(targets, [barriers, released] {
        for (Mbarrier *b : barriers) mbarrier_arrive_from(*b, released);
    });
}

} // namespace emu
