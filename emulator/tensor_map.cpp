// SPDX-License-Identifier: MIT
//
// Implementation of tensor_map.h: the rules of cuTensorMapEncodeTiled. Used by tests to make maps,
// and by tma.cpp and tensor_map_edit.cpp.
#include "tensor_map.h"
#include "error.h"
#include "global_memory.h"

#include <cstring>

#include "device/swizzle.cuh"

namespace emu {

constexpr uint64_t MAGIC = 0x7e5054a97e5054a9ull;

uint32_t element_size(ElementType type) {
    return type == ElementType::Byte ? 1 : type == ElementType::Bf16 ? 2 : 4;
}

uint32_t box_bytes(const TensorMap &map) {
    uint32_t bytes = element_size(map.type);
    for (uint32_t i = 0; i < map.rank; i++) bytes *= map.box[i];
    return bytes;
}

uint32_t swizzled(uint32_t address, Swizzle swizzle) {
    switch (swizzle) {
    case Swizzle::B128: return swizzle_128(address);
    case Swizzle::B64: return swizzle_64(address);
    case Swizzle::B32: return swizzle_32(address);
    case Swizzle::None: break;
    }
    return address;
}

static void require(bool condition, const char *rule) {
    if (!condition) throw Error("TENSORMAP", rule);
}

static uint32_t swizzle_span(Swizzle swizzle) {
    return swizzle == Swizzle::None ? 0 : 16u << static_cast<uint32_t>(swizzle);
}

dg_tensor_map_t encode_tensor_map(ElementType type, uint32_t rank, void *base,
    const uint64_t *extents, const uint64_t *strides, const uint32_t *box, Swizzle swizzle) {
    TensorMap map{};
    map.magic = MAGIC;
    map.base = static_cast<uint8_t *>(base);
    map.rank = static_cast<uint16_t>(rank);
    map.type = type;
    map.swizzle = swizzle;
    const uint32_t size = element_size(type);
    require(rank >= 1 && rank <= 5, "rank must be 1 to 5");
    require(reinterpret_cast<uintptr_t>(base) % 16 == 0, "the address must be 16-byte aligned");
    uint64_t reach = extents[0] * size;
    for (uint32_t i = 0; i < rank; i++) {
        require(extents[i] >= 1 && extents[i] < 1ull << 32, "extents must be 1 to 2^32 - 1");
        require(box[i] >= 1 && box[i] <= 256, "box extents must be 1 to 256");
        map.extent[i] = static_cast<uint32_t>(extents[i]);
        map.box[i] = static_cast<uint16_t>(box[i]);
        map.stride[i] = i ? strides[i - 1] : size;
        require(i == 0 || (map.stride[i] % 16 == 0 && map.stride[i] < 1ull << 40),
            "strides must be multiples of 16 below 2^40");
        if (i) reach += (extents[i] - 1) * strides[i - 1];
    }
    const uint32_t inner = box[0] * size, span = swizzle_span(swizzle);
    require(inner % 16 == 0, "the inner box must be a multiple of 16 bytes");
    require(!span || inner <= span, "the inner box exceeds the swizzle span");
    require(!span || inner == span, "emulator: the inner box must fill the swizzle span");
    try {
        global_bounds(base, reach, false, "tensor map");
    } catch (const Error &e) {
        throw Error("TENSORMAP", e.what());
    }
    dg_tensor_map_t encoded{};
    memcpy(&encoded, &map, sizeof map);
    return encoded;
}

TensorMap decode_tensor_map(const dg_tensor_map_t *encoded, uint32_t rank) {
    TensorMap map;
    memcpy(&map, encoded, sizeof map);
    if (map.magic != MAGIC || map.rank != rank)
        fail("TENSORMAP", "not a tensor map of rank %u", rank);
    return map;
}

} // namespace emu
