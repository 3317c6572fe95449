// SPDX-License-Identifier: MIT
//
// Implementation of matrix.h, each as one collective of the warp.
#include "matrix.h"
#include "operand.h"
#include "product.h"
#include "shared_memory.h"
#include "warp.h"

#include <cstring>

namespace emu {

// The 16-bit elements of register `lane` of a matrix: (row, column) of the first; the second
// follows in the row, or in the column if transposed.
static uint8_t *element(
    const WarpExchange &w, uint32_t matrix, uint32_t row, uint32_t column, const char *what) {
    const uint32_t address = static_cast<uint32_t>(w.in[matrix * 8 + row][0]);
    return shared_pointer(current->cta, address, 16, 16, what) + column * 2;
}

template <class Visitor>
static void for_each_element(uint32_t count, bool transposed, Visitor visit) {
    for (uint32_t matrix = 0; matrix < count; matrix++)
        for (uint32_t lane = 0; lane < 32; lane++)
            for (uint32_t half = 0; half < 2; half++) {
                const uint32_t major = lane / 4, minor = lane % 4 * 2 + half;
                visit(matrix, lane, half, transposed ? minor : major, transposed ? major : minor);
            }
}

// The lane that names a row stands for the lanes that touch it.
static void check_row(uint32_t address, uint32_t count, uint8_t flags, const char *what) {
    Cta *c = current->cta;
    if (current->lane >= count * 8) return;
    shared_pointer(c, address, 16, 16, what);
    if (config.check_races)
        check_shared(
            c, shared_offset(address), 16, access_by_thread(current, flags), current->clocks, what);
}

void ldmatrix(uint32_t *values, uint32_t row_address, uint32_t count, bool transposed) {
    check_row(row_address, count, ACCESS_READ, "ldmatrix");
    const uint64_t in = row_address;
    uint64_t out[4];
    warp_exchange("ldmatrix", &in, 1, out, count, [=](WarpExchange &w) {
        for (auto &o : w.out) std::fill(o, o + 4, 0);
        for_each_element(count, transposed,
            [&](uint32_t matrix, uint32_t lane, uint32_t half, uint32_t row, uint32_t column) {
                uint16_t bits;
                memcpy(&bits, element(w, matrix, row, column, "ldmatrix"), 2);
                w.out[lane][matrix] |= static_cast<uint64_t>(bits) << 16 * half;
            });
    });
    for (uint32_t i = 0; i < count; i++) values[i] = static_cast<uint32_t>(out[i]);
}

void stmatrix(uint32_t row_address, const uint32_t *values, uint32_t count, bool transposed) {
    check_row(row_address, count, ACCESS_WRITE, "stmatrix");
    uint64_t in[5] = {row_address};
    for (uint32_t i = 0; i < count; i++) in[1 + i] = values[i];
    warp_exchange("stmatrix", in, count + 1, nullptr, 0, [=](WarpExchange &w) {
        for_each_element(count, transposed,
            [&](uint32_t matrix, uint32_t lane, uint32_t half, uint32_t row, uint32_t column) {
                const uint16_t bits = static_cast<uint16_t>(w.in[lane][1 + matrix] >> 16 * half);
                memcpy(element(w, matrix, row, column, "stmatrix"), &bits, 2);
            });
    });
}

// ---- mma.sync

static void gather(const WarpExchange &w, OperandType type, float *a, float *b, float *d) {
    const uint32_t depth = k_of(type), per_register = depth / 8;
    float values[4];
    for (uint32_t lane = 0; lane < 32; lane++) {
        const uint32_t g = lane / 4, t = lane % 4;
        for (uint32_t r = 0; r < 4; r++) {
            const uint32_t k = t * per_register + (r >> 1) * depth / 2;
            operand_decode_register(
                type, static_cast<uint32_t>(w.in[lane][r]), a + (g + (r & 1) * 8) * depth + k);
            const uint32_t bits = static_cast<uint32_t>(w.in[lane][6 + r / 2] >> 32 * (r & 1));
            memcpy(&d[(g + (r >> 1) * 8) * 8 + t * 2 + (r & 1)], &bits, 4);
        }
        for (uint32_t r = 0; r < 2; r++) {
            const uint32_t k = t * per_register + r * depth / 2;
            const uint32_t count =
                operand_decode_register(type, static_cast<uint32_t>(w.in[lane][4 + r]), values);
            for (uint32_t i = 0; i < count; i++) b[(k + i) * 8 + g] = values[i];
        }
    }
}

void mma_sync(float *d, OperandType type, const uint32_t *a, const uint32_t *b) {
    uint64_t in[8] = {a[0], a[1], a[2], a[3], b[0], b[1]}, out[2];
    memcpy(&in[6], d, 16);
    warp_exchange("mma.sync", in, 8, out, 2, [type](WarpExchange &w) {
        float a_tile[16 * 32], b_tile[32 * 8], d_tile[16 * 8];
        gather(w, type, a_tile, b_tile, d_tile);
        multiply_add(a_tile, b_tile, d_tile, 16, 8, k_of(type));
        for (uint32_t lane = 0; lane < 32; lane++) {
            float mine[4];
            for (uint32_t r = 0; r < 4; r++)
                mine[r] = d_tile[(lane / 4 + (r >> 1) * 8) * 8 + lane % 4 * 2 + (r & 1)];
            memcpy(w.out[lane], mine, 16);
        }
    });
    memcpy(d, out, 16);
}

} // namespace emu
