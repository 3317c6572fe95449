/* SPDX-License-Identifier: MIT
 *
 * The GEMM that takes everything: dense, M-grouped and K-grouped; E4M3, E2M1X2 and BF16 in any
 * strides and alignment; factors of every type, layout and granularity; gathered rows; BF16 or FP32
 * results with or without c. It runs on any GPU from sm_80 on and is what the library falls back on
 * where no faster kernel takes a call. Parameters: args/any_gemm.h.
 *
 * Persistent: CTAs walk over tiles of BLOCK_M x BLOCK_N, which a raster numbers (dense, K-grouped)
 * or a list in workspace tells (M-grouped). For each tile, for each of its segments of k:
 *
 *     slab s + 1 of a:  global memory -> registers, raw                        (operand.cuh)
 *     slab s:           shared memory -> ldmatrix, mma.sync for its first half (multiply.cuh)
 *     slab s + 1 of a:  registers -> 16-bit values -> the other buffer
 *
 * and the same with b and the second half, then a barrier. Where a block of k ends, total += sa * sb *
 * part. At the end c is added and the tile is stored (store.cuh). One operand at a time keeps 16
 * registers for raw values instead of 32, which is what makes the large tile fit without spills.
 *
 * Shared memory:
 *
 *     A        2 x slab of BLOCK_M        two buffers, by turns
 *     B        2 x slab of BLOCK_N
 *     FACTORS  2 x 2 x [BLOCK_M + BLOCK_N] f32: of each buffer, of each half of 32 k
 *     ROWS     [BLOCK_M] int32: row of a that each row of the tile is, where rows are gathered
 *
 * The order of all additions is fixed by k alone: neither the grid nor the place of a row in its
 * tile changes a bit of it. */
#include "any/store.cuh"
#include "device/barrier.cuh"

#define SLAB_BYTES (ROWS * SLAB * 2)
#define FACTOR_BYTES ((BLOCK_M + BLOCK_N) * 4)
#define AT_B (2 * SLAB_BYTES)
#define AT_FACTORS (AT_B + 2 * SLAB_BYTES)
#define AT_ROWS (AT_FACTORS + 4 * FACTOR_BYTES)
#define SHARED_BYTES (AT_ROWS + BLOCK_M * 4)

static_assert(SHARED_BYTES == DG_ANY_GEMM_SHARED_BYTES(BLOCK_M, BLOCK_N), "as the host counts");
static_assert(THREADS == BLOCK_M + BLOCK_N, "each thread has the factors of one row");
static_assert(THREADS == BLOCK_M / 32 * 64, "a warp has 32 x BLOCK_N / 2 of the tile");

/* One tile: rows [row, row + rows) x columns [column, column + columns) of a group's d. */
typedef struct tile {
    int64_t row, column, group; /* group -1: to be cleared */
    int32_t rows, columns;
} tile_t;

DEVICE int64_t round_up_quotient(int64_t a, int64_t b) {
    return (a + b - 1) / b;
}

DEVICE int32_t at_most(int64_t value, int32_t limit) {
    return value < limit ? (int32_t)value : limit;
}

DEVICE int64_t count_row_tiles(const dg_any_gemm_args_t *args) {
    if (args->tiles) return (int64_t)ld_global_u64(&args->tiles->count);
    return round_up_quotient(args->m, BLOCK_M);
}

/* Tile `index` of a product of tiles_m x tiles_n: bands of `band` tiles in m, m fastest inside a band,
 * so that the tiles in flight form a rough square and share operands in L2. */
DEVICE tile_t find_tile(
    const dg_any_gemm_args_t *args, int64_t index, int64_t tiles_m, int64_t tiles_n) {
    tile_t tile;
    tile.group = 0;
    if (args->segments && !args->sum) {
        tile.group = index / (tiles_m * tiles_n);
        index -= tile.group * tiles_m * tiles_n;
    }
    const int64_t per_band = args->band * tiles_n, band = index / per_band;
    const int64_t inside = index - band * per_band;
    const int64_t height = at_most(tiles_m - band * args->band, args->band);
    const int64_t tile_n = inside / height, tile_m = band * args->band + inside - tile_n * height;
    tile.row = tile_m * BLOCK_M;
    tile.rows = at_most(args->m - tile.row, BLOCK_M);
    tile.column = tile_n * BLOCK_N;
    tile.columns = at_most(args->n - tile.column, BLOCK_N);
    if (args->tiles) {
        uint32_t words[4];
        ld_global_x4(words, DG_GROUP_TILES(args->tiles) + tile_m);
        tile.row = (int64_t)(words[0] | (uint64_t)words[1] << 32);
        tile.rows = (int32_t)words[2];
        tile.group = (int32_t)words[3];
    }
    return tile;
}

/* Segment `group`, or all of k. */
DEVICE dg_k_segment_t find_segment(const dg_any_gemm_args_t *args, int64_t group) {
    if (!args->segments) return {0, args->k, 0, 0, 0, 0};
    const dg_k_segment_t *from = args->segments + group;
    dg_k_segment_t s;
    s.token_begin = (int64_t)ld_global_u64(&from->token_begin);
    s.token_count = (int64_t)ld_global_u64(&from->token_count);
    s.scale_begin_a = (int64_t)ld_global_u64(&from->scale_begin_a);
    s.scale_begin_b = (int64_t)ld_global_u64(&from->scale_begin_b);
    s.flat_begin_a = (int64_t)ld_global_u64(&from->flat_begin_a);
    s.flat_begin_b = (int64_t)ld_global_u64(&from->flat_begin_b);
    return s;
}

DEVICE target_t find_target(const dg_any_gemm_args_t *args, const tile_t *tile) {
    const bool wide = args->d_dtype == DG_CODE_F32;
    const int64_t size = wide ? 4 : 2;
    const bool stacked = args->stacked_a || (args->segments && !args->sum && !args->d_list);
    const int64_t group = stacked ? tile->group : 0;
    target_t to;
    to.d = (uint8_t *)args->d;
    to.c = (const uint8_t *)args->c;
    if (args->d_list) to.d = (uint8_t *)ld_global_u64(args->d_list + tile->group);
    if (args->c_list) to.c = (const uint8_t *)ld_global_u64(args->c_list + tile->group);
    to.d += (group * args->d_group_stride + tile->row * args->d_row_stride + tile->column) * size;
    if (to.c)
        to.c +=
            (group * args->c_group_stride + tile->row * args->c_row_stride + tile->column) * size;
    to.d_stride = args->d_row_stride;
    to.c_stride = args->c_row_stride;
    to.rows = tile->rows;
    to.columns = tile->columns;
    to.wide = wide;
    return to;
}

/* Which row of a each row of the tile is, for a gathered a: 0, or where that is in shared memory. */
DEVICE uint32_t gather_rows(const dg_any_gemm_args_t *args, const tile_t *tile) {
    if (args->segments || !args->a.rows.data) return 0;
    const uint32_t at = shared_base() + AT_ROWS;
    cta_sync(); /* the tile before may still be stored */
    for (int32_t r = (int32_t)thread_index(); r < tile->rows; r += THREADS)
        st_shared_u32(at + (uint32_t)r * 4, (uint32_t)list_entry(&args->a.rows, tile->row + r));
    cta_sync();
    return at;
}

/* mn: first row of the tile in this side's matrix; flat_begin: of the segment */
DEVICE view_t find_view(const dg_any_gemm_args_t *args, bool is_a, int64_t group, int64_t mn,
    int32_t mn_count, uint32_t gathered_rows, const dg_k_segment_t *segment) {
    const dg_any_side_t *side = is_a ? &args->a : &args->b;
    view_t v;
    v.side = side;
    v.mn_count = mn_count;
    v.mn_before = at_most(mn, 8);
    v.mn_after = at_most((is_a ? args->m : args->n) - mn - mn_count, 8);
    v.k_count = segment->token_count;
    v.gathered_rows = gathered_rows;
    v.tokens = &side->rows;
    v.other_tokens = is_a ? &args->b.rows : &args->a.rows;
    v.token_begin = segment->token_begin;
    v.listed_tokens = args->segments && (args->a.rows.data || args->b.rows.data);
    v.mn_stride = side->mn_stride;
    v.origin = group * side->group_stride;
    if (side->flat) {
        const int64_t pair = side->dtype == DG_CODE_E2M1X2 ? 2 : 1; /* codes of an element */
        const int64_t all = is_a ? args->m : args->n;
        v.mn_stride = round_up_quotient(segment->token_count, pair) * pair;
        v.origin = all * (is_a ? segment->flat_begin_a : segment->flat_begin_b) * pair;
        if (v.listed_tokens)
            v.origin -= segment->token_begin; /* lists count tokens of all groups */
    } else if (!v.listed_tokens) {
        v.origin += segment->token_begin * side->k_stride;
    }
    if (!gathered_rows) v.origin += mn * v.mn_stride;
    return v;
}

/* The factors of one row of a or of one of b: each thread brings those of one. */
typedef struct factor_row {
    const dg_any_side_t *side;
    int64_t origin; /* factor of the row's first block of k; below 0: no such row */
} factor_row_t;

DEVICE factor_row_t find_factor_row(
    const dg_any_gemm_args_t *args, const tile_t *tile, uint32_t gathered_rows) {
    const bool is_a = thread_index() < BLOCK_M;
    const int32_t r = (int32_t)(is_a ? thread_index() : thread_index() - BLOCK_M);
    const dg_any_side_t *side = is_a ? &args->a : &args->b;
    factor_row_t f = {side, -1};
    if (r >= (is_a ? tile->rows : tile->columns)) return f;
    int64_t mn = (is_a ? tile->row : tile->column) + r;
    if (is_a && gathered_rows) mn = (int32_t)ld_shared_u32(gathered_rows + (uint32_t)r * 4);
    if (mn < 0) return f;
    const bool stacked = !args->segments && (!is_a || args->stacked_a);
    f.origin = (stacked ? tile->group * side->scale_group_stride : 0) +
               (side->scale ? mn / side->gran_mn * side->scale_mn_stride : 0);
    return f;
}

/* The factor of the block that k lies in. begin: of the segment */
DEVICE float load_factor(const factor_row_t *f, int64_t begin, int64_t k) {
    const dg_any_side_t *side = f->side;
    if (f->origin < 0) return 0;
    if (!side->scale) return 1;
    const int64_t block = side->gran_k == 32 ? k >> 5 : k >> 7;
    const bool packed = side->scale_dtype == DG_CODE_I32;
    const int64_t at = f->origin + (begin + (packed ? block >> 2 : block)) * side->scale_k_stride;
    if (side->scale_dtype == DG_CODE_F32) return ld_global_f32((const float *)side->scale + at);
    const uint32_t code =
        packed ? ld_global_u32((const uint32_t *)side->scale + at) >> (block & 3) * 8 & 255
               : ld_global_u8((const uint8_t *)side->scale + at);
    return f32_from_bits(code == 255 ? 0x7FC00000u : code == 0 ? 0x00400000u : code << 23);
}

/* Both halves of a slab's factors: where blocks are 128 long the first half has them, and only slabs
 * that end a block need any. factors: [2] */
DEVICE void load_factors(const dg_any_gemm_args_t *args, const factor_row_t *f,
    const dg_k_segment_t *segment, int64_t slab_k, float *factors) {
    const int64_t begin =
        thread_index() < BLOCK_M ? segment->scale_begin_a : segment->scale_begin_b;
    factors[0] = load_factor(f, begin, slab_k);
    factors[1] = 0;
    if (args->block_k == 32 && slab_k + 32 < segment->token_count)
        factors[1] = load_factor(f, begin, slab_k + 32);
}

/* Adds one segment's products to the totals; all threads. */
DEVICE void multiply_segment(const dg_any_gemm_args_t *args, const tile_t *tile,
    const dg_k_segment_t *segment, uint32_t gathered_rows, sums_t *sums) {
    const uint32_t base = shared_base(), factors_at = base + AT_FACTORS;
    const uint32_t row = warp_index() / 2 * 32, column = warp_index() % 2 * WARP_N;
    const uint32_t piece = lane_index() / 8;
    const bool scaled = args->a.scale || args->b.scale;
    const int64_t group = args->segments ? 0 : tile->group;
    const view_t a = find_view(
        args, true, args->stacked_a ? group : 0, tile->row, tile->rows, gathered_rows, segment);
    const view_t b = find_view(args, false, group, tile->column, tile->columns, 0, segment);
    const factor_row_t factor_row = find_factor_row(args, tile, gathered_rows);
    lane_matrix_t a_matrix =
        find_matrix(args->a.k_contiguous, base, BLOCK_M, row, piece & 1, piece >> 1);
    lane_matrix_t b_matrix =
        find_matrix(args->b.k_contiguous, base + AT_B, BLOCK_N, column, piece >> 1, piece & 1);

    uint32_t raw[CHUNKS * WORDS];
    float factors[2] = {0, 0};
    const int64_t slabs = round_up_quotient(segment->token_count, SLAB);
    for (int64_t slab = -1; slab < slabs; slab++) {
        const bool loads = slab + 1 < slabs;
        const uint32_t next = (uint32_t)(slab + 1) & 1, buffer = next ^ 1;
        UNROLL_BY(1)
        for (uint32_t half = 0; half < 2; half++) {
            const view_t v = half ? b : a;
            const int64_t begin = slab * SLAB + half * 32;
            if (loads) load_slab(&v, (slab + 1) * SLAB, raw);
            if (loads && scaled && half == 0)
                load_factors(args, &factor_row, segment, (slab + 1) * SLAB, factors);
            if (slab >= 0 && begin < segment->token_count && (int32_t)row < tile->rows) {
                lane_matrix_t am = a_matrix, bm = b_matrix;
                am.base += buffer * SLAB_BYTES;
                bm.base += buffer * SLAB_BYTES;
                multiply_step(&am, &bm, half * 2, sums);
                multiply_step(&am, &bm, half * 2 + 1, sums);
                const bool ends = begin + 32 >= segment->token_count || (half && slab & 1);
                if (ends || args->block_k == 32) {
                    const uint32_t slot = buffer * 2 + (args->block_k == 32 ? half : 0);
                    const uint32_t at = factors_at + slot * FACTOR_BYTES;
                    promote(row, column, at, at + BLOCK_M * 4, scaled, sums);
                }
            }
            if (loads) store_slab(v.side, raw, base + half * AT_B + next * SLAB_BYTES);
        }
        if (loads) {
            const uint32_t at = factors_at + next * 2 * FACTOR_BYTES + thread_index() * 4;
            st_shared_f32(at, factors[0]);
            st_shared_f32(at + FACTOR_BYTES, factors[1]);
        }
        cta_sync();
    }
}

KERNEL(THREADS)
dg_any_gemm(KERNEL_PARAMETER dg_any_gemm_args_t args) {
    dependency_wait();
    const int64_t tiles_m = count_row_tiles(&args);
    const int64_t tiles_n = round_up_quotient(args.n, BLOCK_N);
    const int64_t products = args.segments && !args.sum ? args.groups : 1;
    const int64_t count = products * tiles_m * tiles_n;
    for (int64_t index = block_index(); index < count; index += block_count()) {
        const tile_t tile = find_tile(&args, index, tiles_m, tiles_n);
        const target_t target = find_target(&args, &tile);
        if (tile.group < 0) {
            clear_tile(&target);
            continue;
        }
        const uint32_t gathered_rows = gather_rows(&args, &tile);
        const int64_t segments = args.sum ? args.groups : 1;
        sums_t sums;
        clear_parts(&sums);
        clear_totals(&sums);
        for (int64_t i = 0; i < segments; i++) {
            const dg_k_segment_t segment = find_segment(&args, args.sum ? i : tile.group);
            multiply_segment(&args, &tile, &segment, gathered_rows, &sums);
        }
        store_tile(&target, warp_index() / 2 * 32, warp_index() % 2 * WARP_N, gathered_rows, &sums);
    }
}
