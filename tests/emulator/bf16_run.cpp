// SPDX-License-Identifier: MIT
//
// Implementation of bf16_run.h.
#include "bf16_run.h"
#include "args/bf16_gemm.h"
#include "check.h"
#include "tensor_map.h"

static int32_t round_up_quotient(int32_t a, int32_t b) {
    return (a + b - 1) / b;
}

// [matrices, mn, k] with either axis fastest; rows: of a k-fastest box
static dg_tensor_map_t operand_map(uint16_t *data, int32_t mn, int32_t k, int32_t matrices,
    int32_t pitch, int64_t stride, bool mn_fastest, int rows) {
    const uint64_t inner = static_cast<uint64_t>(mn_fastest ? mn : k);
    const uint64_t outer = static_cast<uint64_t>(mn_fastest ? k : mn);
    const uint64_t extents[3] = {inner, outer, static_cast<uint64_t>(matrices)};
    const uint64_t strides[2] = {
        static_cast<uint64_t>(pitch) * 2, static_cast<uint64_t>(stride) * 2};
    const uint32_t box[3] = {64, mn_fastest ? 64 : static_cast<uint32_t>(rows), 1};
    return emu::encode_tensor_map(
        emu::ElementType::Bf16, 3, data, extents, strides, box, emu::Swizzle::B128);
}

static dg_sm90_bf16_gemm_args_t make_args(
    const emu::Specialisation &s, const dg_bf16_gemm_case_t &c) {
    const dg_bf16_shape_t &shape = c.shape;
    const int block_m = s.value("BLOCK_M"), block_n = s.value("BLOCK_N"), share = s.value("SHARE");
    const int cluster_m = share == DG_SHARE_B ? 2 : 1, cluster_n = share == DG_SHARE_A ? 2 : 1;
    dg_sm90_bf16_gemm_args_t args{};
    args.a = operand_map(
        c.a, shape.m, shape.k, 1, c.a_pitch, c.a_pitch, shape.a_mn, block_m / cluster_n);
    args.b = operand_map(c.b, shape.n, shape.k, c.b_matrices, c.b_pitch, c.b_stride, shape.b_mn,
        block_n / cluster_m);
    args.out.d = c.d;
    args.out.c = shape.accumulates ? c.c : nullptr;
    args.out.d_pitch = args.out.c_pitch = c.d_pitch;
    args.out.d_stride = args.out.c_stride = c.d_stride;
    args.out.f32 = shape.f32;
    args.out.wide = !shape.narrow && shape.n % 8 == 0;
    args.k = shape.k;
    args.tiles.m = shape.m;
    args.tiles.n = shape.n;
    args.tiles.tiles_m = round_up_quotient(shape.m, block_m * cluster_m);
    args.tiles.tiles_n = round_up_quotient(shape.n, block_n * cluster_n);
    args.tiles.band = 2;
    args.tiles.group_count = shape.sum ? 1 : shape.group_count;
    args.sum_groups = shape.sum ? shape.group_count : 0;
    return args;
}

// Tiles of block_m rows, groups in order. The header, then the tiles.
static std::vector<dg_group_tile_t> row_tiles(const dg_bf16_shape_t &shape, int block_m) {
    std::vector<dg_group_tile_t> tiles(1);
    for (int32_t g = 0; g < shape.group_count; g++)
        for (int32_t row = shape.groups[g].begin; row < shape.groups[g].end; row += block_m) {
            const int32_t left = shape.groups[g].end - row;
            tiles.push_back({row, left < block_m ? left : block_m, g});
        }
    const dg_group_tiles_t header = {static_cast<int64_t>(tiles.size()) - 1, 0};
    memcpy(&tiles[0], &header, sizeof header);
    return tiles;
}

static std::vector<dg_k_segment_t> k_segments(const dg_bf16_shape_t &shape) {
    std::vector<dg_k_segment_t> segments;
    for (int32_t g = 0; g < shape.group_count; g++) {
        dg_k_segment_t segment{};
        segment.token_begin = shape.groups[g].begin;
        segment.token_count = shape.groups[g].end - shape.groups[g].begin;
        segments.push_back(segment);
    }
    return segments;
}

// A vector's elements, where kernels may read them.
template <class T> struct ReadOnly {
    check::Buffer<T> buffer;
    explicit ReadOnly(const std::vector<T> &values) : buffer(values.size() + 1, true) {
        for (size_t i = 0; i < values.size(); i++) buffer[i] = values[i];
    }
};

std::string run_bf16(const emu::Specialisation &s, const dg_bf16_shape_t &wanted,
    const emu::Config &config, uint32_t grid) {
    dg_bf16_shape_t shape = wanted;
    shape.family = static_cast<dg_bf16_family_t>(s.value("SCHEDULE") + 1);
    shape.a_mn = s.value("A_MN") != 0;
    shape.b_mn = s.value("B_MN") != 0;
    dg_bf16_gemm_case_t c;
    std::string result = "out of memory";
    if (dg_make_bf16_gemm_case(&c, &shape)) {
        emu::register_global(c.a, c.a_bytes, true);
        emu::register_global(c.b, c.b_bytes, true);
        emu::register_global(c.d, c.d_bytes);
        if (c.c != c.d) emu::register_global(c.c, c.d_bytes, true);
        const ReadOnly<dg_group_tile_t> tiles(row_tiles(shape, s.value("BLOCK_M")));
        const ReadOnly<dg_k_segment_t> segments(k_segments(shape));
        try {
            dg_sm90_bf16_gemm_args_t args = make_args(s, c);
            args.tiles.row_tiles = reinterpret_cast<const dg_group_tiles_t *>(tiles.buffer.data);
            args.tiles.segments = segments.buffer.data;
            emu::launch(config, emu::make_launch(s, grid, &args));
            char text[200];
            const size_t wrong = dg_check_bf16_gemm_case(&c, text, sizeof text);
            result = wrong ? "WRONG: " + std::to_string(wrong) + ", first " + text : "";
        } catch (const emu::Error &e) {
            result = e.what();
        }
        for (const void *p : {static_cast<const void *>(c.a), static_cast<const void *>(c.b),
                 static_cast<const void *>(c.d)})
            emu::unregister_global(p);
        if (c.c != c.d) emu::unregister_global(c.c);
    }
    dg_free_bf16_gemm_case(&c);
    return result;
}
