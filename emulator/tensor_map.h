// SPDX-License-Identifier: MIT
//
// Tensor maps: what cuTensorMapEncodeTiled makes, with the same rules, kept in the same 128 bytes.
// A map names a tensor of rank 1 to 5 in global memory and the box that one copy moves.
#pragma once
#include "args/types.h"

#include <cstdint>

namespace emu {

enum class Swizzle : uint32_t { None, B32, B64, B128 };
enum class ElementType : uint32_t { Byte, Bf16, F32 };

struct TensorMap {
    uint64_t magic;
    uint8_t *base;
    uint64_t stride[5]; // bytes; [0] is the element size
    uint32_t extent[5];
    uint16_t box[5];
    uint16_t rank;
    Swizzle swizzle;
    ElementType type;
};
static_assert(sizeof(TensorMap) <= sizeof(dg_tensor_map_t), "must fit the hardware's 128 bytes");

// extents, box: [rank], fastest first; strides: [rank - 1] bytes, of dimensions 1 and up.
dg_tensor_map_t encode_tensor_map(ElementType type, uint32_t rank, void *base,
    const uint64_t *extents, const uint64_t *strides, const uint32_t *box, Swizzle swizzle);

uint32_t element_size(ElementType type);
uint32_t box_bytes(const TensorMap &map);
uint32_t swizzled(uint32_t address, Swizzle swizzle);

// Reads the fields; an error if it is no tensor map of this rank.
TensorMap decode_tensor_map(const dg_tensor_map_t *map, uint32_t rank);

// One 16-byte piece of a box. inside: global address of the piece, null if no byte of it lies in the
// tensor; inside_bytes: how many do. offset: place in the dense box.
struct BoxPiece {
    uint8_t *inside;
    uint32_t inside_bytes, offset;
};

// The first coordinate is a multiple of 16 bytes, so a piece is cut off only at the far end.
template <class Visitor>
void for_each_piece(const TensorMap &map, const int *coordinates, Visitor visit) {
    const uint32_t inner = map.box[0] * static_cast<uint32_t>(map.stride[0]);
    const int64_t limit = static_cast<int64_t>(map.extent[0]) * static_cast<int64_t>(map.stride[0]);
    uint32_t rows = 1;
    for (uint32_t i = 1; i < map.rank; i++) rows *= map.box[i];
    for (uint32_t r = 0; r < rows; r++) {
        int64_t row_offset = 0;
        bool row_inside = true;
        uint32_t rest = r;
        for (uint32_t i = 1; i < map.rank; i++) {
            const int64_t x = static_cast<int64_t>(coordinates[i]) + rest % map.box[i];
            rest /= map.box[i];
            row_inside &= x >= 0 && x < static_cast<int64_t>(map.extent[i]);
            row_offset += x * static_cast<int64_t>(map.stride[i]);
        }
        for (uint32_t o = 0; o < inner; o += 16) {
            const int64_t first =
                static_cast<int64_t>(coordinates[0]) * static_cast<int64_t>(map.stride[0]) + o;
            const int64_t bytes = limit - first > 16 ? 16 : limit - first;
            const bool any = row_inside && first >= 0 && bytes > 0;
            visit(BoxPiece{any ? map.base + row_offset + first : nullptr,
                static_cast<uint32_t>(any ? bytes : 0), r * inner + o});
        }
    }
}

} // namespace emu
