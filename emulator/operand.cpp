// SPDX-License-Identifier: MIT
//
// Implementation of operand.h: the canonical layouts of the PTX ISA, as device/descriptor.cuh
// states them. Checked against hardware by the conformance programs of tests/gpu.
#include "operand.h"
#include "number.h"
#include "shared_memory.h"

#include <cstring>

#include "device/swizzle.cuh"

namespace emu {

uint32_t k_of(OperandType type) {
    switch (type) {
    case OperandType::E4M3:
    case OperandType::E5M2: return 32;
    case OperandType::F16:
    case OperandType::BF16: return 16;
    default: return 8;
    }
}

// Elements in a piece of 16 bytes.
static uint32_t per_piece(OperandType type) {
    return k_of(type) / 2;
}

static Operand decode_fields(uint64_t d, OperandType type, bool mn_major) {
    Operand o{};
    auto field = [d](int bit) { return static_cast<uint32_t>(d >> bit & 0x3fff) << 4; };
    o.start = field(0);
    o.leading = field(16);
    o.stride = field(32);
    o.type = type;
    o.mn_major = mn_major;
    if (d >> 49 & 7) fail("DESC", "a matrix base offset is not supported: align the tile instead");
    return o;
}

static void check_start(const Operand &o) {
    if (!o.span) return;
    const uint32_t tile = o.span * 8;
    const uint32_t inside = o.mn_major ? 0 : o.start & (o.span - 1); // advance along k
    if ((o.start - inside) % tile)
        fail(
            "DESC", "swizzled operand at 0x%x does not start on a %u-byte boundary", o.start, tile);
    if (!o.mn_major && inside + 32 > o.span)
        fail("DESC", "operand at 0x%x: 32 bytes of k leave the %u-byte swizzle row", o.start,
            o.span);
}

Operand decode_operand(uint64_t d, OperandType type, bool mn_major) {
    Operand o = decode_fields(d, type, mn_major);
    const uint32_t mode = static_cast<uint32_t>(d >> 62);
    o.span = mode ? 256u >> mode : 0;
    if (mn_major && type != OperandType::BF16) fail("DESC", "only 16-bit types can be MN-major");
    check_start(o);
    return o;
}

Operand decode_tcgen05_operand(uint64_t d, OperandType type, bool mn_major) {
    const uint32_t mode = static_cast<uint32_t>(d >> 61);
    if ((d >> 46 & 7) != 1) fail("DESC", "tcgen05: bits 46..48 of a descriptor must be 1");
    if (d >> 52 & 1) fail("DESC", "tcgen05: absolute leading offsets are not supported");
    if (mode & 1) fail("DESC", "tcgen05: swizzle mode %u is not supported", mode);
    Operand o = decode_fields(d, type, mn_major);
    o.span = mode ? 256u >> mode / 2 : 0;
    check_start(o);
    return o;
}

static uint32_t swizzled(const Operand &o, uint32_t address) {
    switch (o.span) {
    case 128: return swizzle_128(address);
    case 64: return swizzle_64(address);
    case 32: return swizzle_32(address);
    default: return address;
    }
}

// Piece `half` (0, 1) of row r: k bytes 16 * half ...
static uint32_t k_major_piece(const Operand &o, uint32_t r, uint32_t half) {
    const uint32_t group = o.start + r / 8 * o.stride;
    if (!o.span) return group + r % 8 * 16 + half * o.leading;
    return swizzled(o, group + r % 8 * o.span + half * 16);
}

// The 16 bytes number `block` of mn at one k.
static uint32_t mn_major_piece(const Operand &o, uint32_t block, uint32_t k) {
    if (!o.span) return o.start + block * o.stride + k / 8 * o.leading + k % 8 * 16;
    const uint32_t per_span = o.span / 16;
    const uint32_t atom = o.start + block / per_span * o.leading + k / 8 * o.stride;
    return swizzled(o, atom + k % 8 * o.span + block % per_span * 16);
}

void operand_pieces(
    const Operand &o, uint32_t first, uint32_t count, std::vector<uint32_t> &addresses) {
    addresses.clear();
    if (o.mn_major) {
        const uint32_t per = per_piece(o.type);
        for (uint32_t block = first / per; block < (first + count) / per; block++)
            for (uint32_t k = 0; k < k_of(o.type); k++)
                addresses.push_back(mn_major_piece(o, block, k));
    } else {
        for (uint32_t r = first; r < first + count; r++)
            for (uint32_t half = 0; half < 2; half++)
                addresses.push_back(k_major_piece(o, r, half));
    }
}

uint32_t operand_decode_register(OperandType type, uint32_t bits, float *out) {
    if (type == OperandType::E4M3 || type == OperandType::E5M2) {
        const auto decode = type == OperandType::E4M3 ? f32_from_e4m3 : f32_from_e5m2;
        for (int i = 0; i < 4; i++) out[i] = decode(static_cast<uint8_t>(bits >> 8 * i));
        return 4;
    }
    if (type == OperandType::BF16 || type == OperandType::F16) {
        const auto decode = type == OperandType::BF16 ? f32_from_bf16 : f32_from_f16;
        out[0] = decode(static_cast<uint16_t>(bits));
        out[1] = decode(static_cast<uint16_t>(bits >> 16));
        return 2;
    }
    float value;
    memcpy(&value, &bits, 4);
    out[0] = tf32_from_f32(value);
    return 1;
}

static uint32_t decode_piece(OperandType type, const uint8_t *piece, float *out) {
    uint32_t count = 0;
    for (int word = 0; word < 4; word++) {
        uint32_t bits;
        memcpy(&bits, piece + word * 4, 4);
        count += operand_decode_register(type, bits, out + count);
    }
    return count;
}

void operand_load(const Cta *c, const Operand &o, uint32_t rows, bool k_outer, float *out) {
    const uint32_t depth = k_of(o.type);
    std::vector<uint32_t> addresses;
    operand_pieces(o, 0, rows, addresses);
    for (uint32_t i = 0; i < addresses.size(); i++) {
        float values[16];
        const uint32_t count =
            decode_piece(o.type, shared_pointer(c, addresses[i], 16, 16, "wgmma operand"), values);
        for (uint32_t j = 0; j < count; j++) {
            const uint32_t row = o.mn_major ? i / depth * count + j : i / 2;
            const uint32_t k = o.mn_major ? i % depth : i % 2 * count + j;
            out[k_outer ? k * rows + row : row * depth + k] = values[j];
        }
    }
}

} // namespace emu
