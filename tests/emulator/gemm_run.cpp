// SPDX-License-Identifier: MIT
//
// Implementation of gemm_run.h.
#include "gemm_run.h"
#include "check.h"
#include "tensor_map.h"

static int32_t round_up_quotient(int32_t a, int32_t b) {
    return (a + b - 1) / b;
}

static dg_tensor_map_t map_2d(emu::ElementType type, void *base, int32_t inner, int32_t outer,
    size_t pitch_bytes, int box_inner, int box_outer, emu::Swizzle swizzle) {
    const uint64_t extents[2] = {static_cast<uint64_t>(inner), static_cast<uint64_t>(outer)};
    const uint64_t strides[1] = {pitch_bytes};
    const uint32_t box[2] = {static_cast<uint32_t>(box_inner), static_cast<uint32_t>(box_outer)};
    return emu::encode_tensor_map(type, 2, base, extents, strides, box, swizzle);
}

static dg_tensor_map_t map_3d(emu::ElementType type, void *base, const uint64_t (&extents)[3],
    const uint64_t (&strides)[2], int box_inner, int box_middle, emu::Swizzle swizzle) {
    const uint32_t box[3] = {
        static_cast<uint32_t>(box_inner), static_cast<uint32_t>(box_middle), 1};
    return emu::encode_tensor_map(type, 3, base, extents, strides, box, swizzle);
}

static dg_sm90_fp8_gemm_block_args_t make_args(const emu::Specialisation &s,
    const dg_fp8_gemm_case_t &c, uint16_t *d, const GemmOptions &options) {
    const int block_m = s.value("BLOCK_M"), block_n = s.value("BLOCK_N");
    const int store_n = s.value("STORE_N"), share = s.value("SHARE");
    const uint64_t pitch = static_cast<uint64_t>(c.pitch) * 2;
    const int cluster_m = share == DG_SHARE_B ? 2 : 1, cluster_n = share == DG_SHARE_A ? 2 : 1;
    const size_t k_pitch = static_cast<size_t>(c.k_pitch);
    dg_sm90_fp8_gemm_block_args_t args{};
    args.a = map_2d(emu::ElementType::Byte, c.a, c.k, c.m, k_pitch, 128, block_m / cluster_n,
        options.a_swizzle);
    args.b = map_2d(emu::ElementType::Byte, c.b, c.k, c.n, k_pitch, 128, block_n / cluster_m,
        emu::Swizzle::B128);
    args.scale_a = map_2d(emu::ElementType::F32, c.scale_a, c.m, c.k_blocks,
        static_cast<size_t>(c.scale_a_pitch) * 4, block_m, 1, emu::Swizzle::None);
    if (options.by_tma)
        args.out.map = map_3d(emu::ElementType::Bf16, d,
            {static_cast<uint64_t>(c.n), static_cast<uint64_t>(c.m), 1},
            {pitch, pitch * static_cast<uint64_t>(c.m)}, store_n, s.value("STORE_ROWS"),
            store_n == 64 ? emu::Swizzle::B128 : emu::Swizzle::B64);
    args.out.by_tma = options.by_tma;
    args.out.alignment = c.pitch % 8 == 0 ? 16 : c.pitch % 2 == 0 ? 4 : 2;
    args.out.d = d;
    args.out.pitch = c.pitch;
    args.scale_a_by_tma = 1;
    args.scale_b = c.scale_b;
    args.scale_b_rows = c.scale_b_rows;
    args.scale_b_n_stride = c.k_blocks;
    args.scale_b_k_stride = 1;
    args.tiles.m = c.m;
    args.tiles.n = c.n;
    args.tiles.k_blocks = c.k_blocks;
    args.tiles.tiles_m = round_up_quotient(c.m, block_m * cluster_m);
    args.tiles.tiles_n = round_up_quotient(c.n, block_n * cluster_n);
    args.tiles.band = 2;
    return args;
}

std::string run_gemm(const emu::Specialisation &s, const GemmShape &shape, bool exact,
    const emu::Config &config, uint32_t grid, const GemmOptions &options) {
    dg_fp8_gemm_case_t c;
    std::string result = "out of memory";
    if (dg_make_fp8_gemm_case(&c, shape.m, shape.n, shape.k, exact, 7)) {
        if (options.odd_pitch) c.pitch = c.n + 3 - c.n % 2;
        emu::register_global(c.a, dg_fp8_gemm_case_a_bytes(&c), true);
        emu::register_global(c.b, dg_fp8_gemm_case_b_bytes(&c), true);
        emu::register_global(c.scale_a, dg_fp8_gemm_case_scale_a_bytes(&c), true);
        emu::register_global(c.scale_b, dg_fp8_gemm_case_scale_b_bytes(&c), true);
        check::Buffer<uint16_t> d(dg_fp8_gemm_case_d_bytes(&c) / 2);
        try {
            const dg_sm90_fp8_gemm_block_args_t args = make_args(s, c, d.data, options);
            emu::launch(config, emu::make_launch(s, grid, &args));
            if (options.output) options.output->assign(d.data, d.data + d.count);
            char text[200];
            const double slack = 1.0 / (1 << 20);
            result = dg_check_fp8_gemm_case(&c, d.data, 1, slack, text, sizeof text)
                         ? std::string("WRONG: ") + text
                         : "";
        } catch (const emu::Error &e) {
            result = e.what();
        }
        for (const void *p : {static_cast<const void *>(c.a), static_cast<const void *>(c.b),
                 static_cast<const void *>(c.scale_a), static_cast<const void *>(c.scale_b)})
            emu::unregister_global(p);
    }
    dg_free_fp8_gemm_case(&c);
    return result;
}
