// SPDX-License-Identifier: MIT
//
// Operands of wgmma and tcgen05 in shared memory: where a descriptor says that each 16-byte piece
// lies, and what it holds. A piece is 16 bytes of k of one row (K-major), or 16 bytes of mn of one
// k (MN-major).
#pragma once
#include "machine.h"

namespace emu {

struct Operand {
    uint32_t start, leading, stride, span; // span: bytes of the swizzle, 0 without
    bool mn_major;
    OperandType type;
};

uint32_t k_of(OperandType type); // elements of k per instruction

// Decodes and checks a descriptor: wgmma's, and tcgen05's.
Operand decode_operand(uint64_t descriptor, OperandType type, bool mn_major);
Operand decode_tcgen05_operand(uint64_t descriptor, OperandType type, bool mn_major);

// Shared addresses of all pieces that rows [first, first + count) consist of, in an order that
// operand_load understands. Rows count m or n.
void operand_pieces(
    const Operand &operand, uint32_t first, uint32_t count, std::vector<uint32_t> &addresses);

// out: [rows x k] if k_outer is false, [k x rows] if true
void operand_load(const Cta *c, const Operand &operand, uint32_t rows, bool k_outer, float *out);

// The elements of one 32-bit register of an operand in registers; returns how many.
uint32_t operand_decode_register(OperandType type, uint32_t bits, float *out);

} // namespace emu
