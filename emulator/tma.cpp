// SPDX-License-Identifier: MIT
//
// Implementation of tma.h on top of bulk.h: a box is visited in 16-byte pieces, each of which goes
// to its swizzled place. What lies outside the tensor is zero on the way in; on the way out, pieces
// that lie outside are skipped and the others are written whole.
#include "tma.h"
#include "bulk.h"
#include "global_memory.h"
#include "number.h"
#include "shared_memory.h"
#include "tensor_map.h"
#include "tensor_map_edit.h"

#include <algorithm>
#include <array>
#include <cstring>

namespace emu {

using Coordinates = std::array<int, 5>;

static Coordinates keep(const int *coordinates, uint32_t rank) {
    Coordinates kept{};
    std::copy(coordinates, coordinates + rank, kept.begin());
    return kept;
}

static void check_alignment(uint32_t address, const char *what) {
    if ((address & 0xffffff) % 128)
        fail("ALIGN", "%s: shared address 0x%x is not 128-byte aligned", what, address);
}

// The hardware traps on anything else ("an illegal instruction was encountered").
static void check_coordinates(const TensorMap &map, const Coordinates &at, const char *what) {
    if (static_cast<int64_t>(at[0]) * static_cast<int64_t>(map.stride[0]) % 16)
        fail("ALIGN", "%s: coordinate %d of the fastest dimension is not a multiple of 16 bytes",
            what, at[0]);
}

// So it does on a store that begins before the tensor; loads may.
static void check_start(const TensorMap &map, const Coordinates &at, const char *what) {
    for (uint32_t i = 0; i < map.rank; i++)
        if (at[i] < 0) fail("TRAP", "%s: coordinate %u is negative (%d)", what, i, at[i]);
}

// What leaves shared memory leaves in whole pieces: a row that ends inside one is written to the
// end of the piece, beyond the tensor.
static void check_whole_pieces(const TensorMap &map, const Coordinates &at, const char *what) {
    for_each_piece(map, at.data(), [&](const BoxPiece &piece) {
        if (piece.inside) global_bounds(piece.inside, 16, true, what);
    });
}

// whole: a store; loads touch only what lies inside.
static void check_pieces(const TensorMap &map, const Coordinates &at, bool whole, Access access,
    const Clocks &clocks, const char *what) {
    for_each_piece(map, at.data(), [&](const BoxPiece &piece) {
        if (piece.inside)
            global_access_by(piece.inside, whole ? 16 : piece.inside_bytes, access, clocks, what);
    });
}

static void load_into(Cta *d, uint32_t destination, const TensorMap &map, const Coordinates &at) {
    for_each_piece(map, at.data(), [&](const BoxPiece &piece) {
        uint8_t *to = d->shared + shared_offset(swizzled(destination + piece.offset, map.swizzle));
        memset(to, 0, 16);
        if (piece.inside) memcpy(to, piece.inside, piece.inside_bytes);
    });
}

void tma_load(uint32_t destination, const dg_tensor_map_t *encoded, uint32_t barrier, uint32_t rank,
    const int *coordinates, uint32_t ranks) {
    const TensorMap map = decode_tensor_map(encoded, rank);
    const Coordinates at = keep(coordinates, rank);
    const char *what = ranks ? "TMA multicast load" : "TMA load";
    check_alignment(destination, what);
    check_coordinates(map, at, what);
    Cluster *cluster = current->cta->cluster;
    if (ranks >> cluster->ctas.size())
        fail("BOUNDS", "%s: mask 0x%x names CTAs outside the cluster", what, ranks);
    for (uint32_t r = 0; r < cluster->ctas.size(); r++) {
        Cta *d = ranks ? cluster->ctas[r].get() : current->cta;
        if (ranks ? !(ranks >> r & 1) : r > 0) continue;
        start_copy(
            d, destination, box_bytes(map), barrier, what,
            [&](const Access &a) {
                tensormap_check_use(encoded, a, what);
                check_pieces(map, at, false, a, current->clocks, what);
            },
            [=] { load_into(d, destination, map, at); });
    }
}

static std::vector<uint8_t> read_box(const Cta *c, uint32_t source, const TensorMap &map) {
    std::vector<uint8_t> data(box_bytes(map));
    for (uint32_t o = 0; o < data.size(); o += 16)
        memcpy(&data[o], c->shared + shared_offset(swizzled(source + o, map.swizzle)), 16);
    return data;
}

static void start_box_store(const dg_tensor_map_t *encoded, uint32_t source, uint32_t rank,
    const int *coordinates, const char *what,
    void (*put)(const TensorMap &map, uint8_t *to, const uint8_t *from, uint32_t bytes)) {
    const TensorMap map = decode_tensor_map(encoded, rank);
    const Coordinates at = keep(coordinates, rank);
    check_alignment(source, what);
    check_coordinates(map, at, what);
    check_start(map, at, what);
    check_whole_pieces(map, at, what);
    const Cta *c = current->cta;
    start_store(
        source, box_bytes(map), what,
        [&](const Access &a) {
            tensormap_check_use(encoded, a, what);
            check_pieces(map, at, true, a, current->clocks, what);
        },
        [=] { return read_box(c, source, map); },
        [=](const std::vector<uint8_t> &data) {
            for_each_piece(map, at.data(), [&](const BoxPiece &piece) {
                if (piece.inside) put(map, piece.inside, &data[piece.offset], 16);
            });
        });
}

void tma_store(const dg_tensor_map_t *map, uint32_t source, uint32_t rank, const int *coordinates) {
    start_box_store(map, source, rank, coordinates, "TMA store",
        [](const TensorMap &, uint8_t *to, const uint8_t *from, uint32_t bytes) {
            memcpy(to, from, bytes);
        });
}

static void add_f32(uint8_t *to, const uint8_t *from) {
    float sum, term;
    memcpy(&sum, to, 4);
    memcpy(&term, from, 4);
    sum += term;
    memcpy(to, &sum, 4);
}

static void add_bf16(uint8_t *to, const uint8_t *from) {
    uint16_t sum, term;
    memcpy(&sum, to, 2);
    memcpy(&term, from, 2);
    sum = bf16_from_f32(f32_from_bf16(sum) + f32_from_bf16(term));
    memcpy(to, &sum, 2);
}

void tma_reduce_add(
    const dg_tensor_map_t *map, uint32_t source, uint32_t rank, const int *coordinates) {
    start_box_store(map, source, rank, coordinates, "TMA reduce",
        [](const TensorMap &m, uint8_t *to, const uint8_t *from, uint32_t bytes) {
            const uint32_t size = element_size(m.type);
            if (m.type == ElementType::Byte) fail("TENSORMAP", "reduction of bytes");
            for (uint32_t i = 0; i < bytes; i += size)
                m.type == ElementType::F32 ? add_f32(to + i, from + i) : add_bf16(to + i, from + i);
        });
}

} // namespace emu
