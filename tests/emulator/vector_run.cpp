// SPDX-License-Identifier: MIT
//
// Implementation of vector_run.h.
#include "vector_run.h"
#include "check.h"
#include "tensor_map.h"

#include <cstring>

static dg_tensor_map_t map_codes(const uint8_t *base, int64_t inner, int64_t outer, int64_t pitch,
    int box_inner, int box_outer) {
    const uint64_t extents[2] = {static_cast<uint64_t>(inner), static_cast<uint64_t>(outer)};
    const uint64_t strides[1] = {static_cast<uint64_t>(pitch)};
    const uint32_t box[2] = {static_cast<uint32_t>(box_inner), static_cast<uint32_t>(box_outer)};
    return emu::encode_tensor_map(emu::ElementType::Byte, 2, const_cast<uint8_t *>(base), extents,
        strides, box, emu::Swizzle::B128);
}

// Registers memory as something that kernels may read for as long as this lives.
struct ReadOnly {
    const void *data;
    ReadOnly(const void *p, size_t bytes) : data(p) {
        if (p) emu::register_global(p, bytes, true);
    }
    ~ReadOnly() {
        if (data) emu::unregister_global(data);
    }
    ReadOnly(const ReadOnly &) = delete;
    ReadOnly &operator=(const ReadOnly &) = delete;
};

// One operand's map, or for FLAT those of all groups. rows: m or n; half: the other CTA loads the rest
static void map_operand(const dg_vector_case_t &c, const dg_vector_operand_t &o,
    dg_case_form_t form, int32_t rows, int block, bool half, dg_tensor_map_t *map,
    dg_tensor_map_t *flat) {
    const int box = half ? block / 2 : block;
    const bool half_of_k = half && block == 128;
    if (c.tokens == 0) return;
    if (form == DG_CASE_TOKENS_FIRST)
        *map = map_codes(o.data, rows, c.tokens, o.pitch, 128, half_of_k ? 64 : 128);
    else if (form == DG_CASE_TOKENS_LAST)
        *map = map_codes(o.data, c.tokens, rows, o.pitch, 128, box);
    else
        for (int32_t g = 0; g < c.shape.group_count; g++)
            if (c.shape.sizes[g] > 0 && c.shape.sizes[g] % 16 == 0 &&
                static_cast<int64_t>(c.flat_begin[g]) * rows % 16 == 0) // else the kernel gathers
                flat[g] = map_codes(o.data + static_cast<int64_t>(c.flat_begin[g]) * rows,
                    c.shape.sizes[g], rows, c.shape.sizes[g], 128, box);
}

static int32_t round_up_quotient(int32_t a, int32_t b) {
    return (a + b - 1) / b;
}

static void run_case(const emu::Specialisation &s, const dg_vector_case_t &c,
    const emu::Config &config, uint32_t grid, void *d) {
    const int block_m = s.value("BLOCK_M"), block_n = s.value("BLOCK_N"), share = s.value("SHARE");
    const int element = c.shape.out_f32 ? 4 : 2;
    check::Buffer<dg_tensor_map_t> flat_a(DG_CASE_MAX_GROUPS), flat_b(DG_CASE_MAX_GROUPS);
    check::Buffer<dg_k_segment_t> segments(DG_CASE_MAX_GROUPS, true);
    dg_sm90_fp8_gemm_vector_args_t args{};
    map_operand(
        c, c.a, c.shape.form_a, c.shape.m, block_m, share == DG_SHARE_A, &args.a, flat_a.data);
    map_operand(
        c, c.b, c.shape.form_b, c.shape.n, block_n, share == DG_SHARE_B, &args.b, flat_b.data);
    if (c.shape.form_a == DG_CASE_FLAT) args.flat_a = flat_a.data;
    if (c.shape.form_b == DG_CASE_FLAT) args.flat_b = flat_b.data;
    args.scale_a = {
        c.a.scale, c.a.scale_mn_stride * 4, c.a.scale_k_stride * 4, 0, DG_FACTORS_F32, 0};
    args.scale_b = {
        c.b.scale, c.b.scale_mn_stride * 4, c.b.scale_k_stride * 4, 0, DG_FACTORS_F32, 0};
    args.data_a = c.a.data;
    args.data_b = c.b.data;
    args.pitch_a = c.a.pitch;
    args.pitch_b = c.b.pitch;
    args.out.d = d;
    args.out.c = c.c;
    args.out.pitch = args.out.c_pitch = c.pitch;
    args.out.slab_stride = args.out.c_slab_stride = c.slab_stride;
    args.out.alignment = args.out.c_alignment = c.pitch * element % 16 ? element : 16;
    args.tiles.m = c.shape.m;
    args.tiles.n = c.shape.n;
    args.tiles.tiles_m = round_up_quotient(c.shape.m, block_m * (share == DG_SHARE_B ? 2 : 1));
    args.tiles.tiles_n = round_up_quotient(c.shape.n, block_n * (share == DG_SHARE_A ? 2 : 1));
    args.tiles.band = 2;
    args.tiles.group_count = c.shape.group_count;
    args.tiles.sum = c.shape.sum;
    args.tiles.segments = segments.data;
    args.tiles.k_blocks = round_up_quotient(c.shape.sizes[0], 128);
    for (int32_t g = 0; g < c.shape.group_count; g++)
        segments[static_cast<size_t>(g)] = {c.begin[g], c.shape.sizes[g], c.scale_row[g],
            c.scale_row[g], c.flat_begin[g], c.flat_begin[g]};
    emu::launch(config, emu::make_launch(s, grid, &args));
}

std::string run_vector(const emu::Specialisation &s, const dg_vector_shape_t &shape,
    const emu::Config &config, uint32_t grid) {
    dg_vector_case_t c;
    std::string result = "out of memory";
    if (dg_make_vector_case(&c, &shape, 7)) {
        const ReadOnly a(c.a.data, c.a.bytes), b(c.b.data, c.b.bytes), in(c.c, c.d_bytes);
        const ReadOnly scale_a(c.a.scale, c.a.scale_bytes), scale_b(c.b.scale, c.b.scale_bytes);
        check::Buffer<uint8_t> d(c.d_bytes);
        try {
            run_case(s, c, config, grid, d.data);
            char text[200];
            result = dg_check_vector_case(&c, d.data, 1.0 / (1 << 20), text, sizeof text)
                         ? std::string("WRONG: ") + text
                         : "";
        } catch (const emu::Error &e) {
            result = e.what();
        }
    }
    dg_free_vector_case(&c);
    return result;
}
