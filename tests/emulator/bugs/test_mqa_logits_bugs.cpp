// SPDX-License-Identifier: MIT
//
// The bugs of mqa_logits_bugs.py: three requests of three queries, so two groups each, with one
// block of tokens or three in pages of 64, one of which does not exist; small integers, so that
// results are exact.
//
//     emulator_mqa_logits_bugs [part of a name]
#include "args/mqa_logits.h"
#include "find_bugs.h"
#include "tensor_map.h"

#include <cmath>

constexpr int REQUESTS = 3, NEXT = 3, HEADS = 64, DIM = 32, PAGE = 64, TABLE = 5, COLUMNS = 320;
constexpr int PAGES = REQUESTS * TABLE + 1, ROWS = REQUESTS * NEXT, TOKEN = DIM + 4;
constexpr uint8_t CODES[4] = {0xB8, 0x00, 0x38, 0x40}; // -1, 0, 1, 2 in e4m3
constexpr uint8_t NAN_CODE = 0x7F;

struct Case {
    check::Buffer<uint8_t> q{ROWS * HEADS * DIM, true}, cache{PAGES * PAGE * TOKEN, true};
    check::Buffer<float> weights{ROWS * HEADS, true}, logits{ROWS * COLUMNS};
    check::Buffer<int32_t> lens{ROWS, true}, table{REQUESTS * TABLE, true};

    static int value(size_t i) { return static_cast<int>(i * 2654435761u >> 13 & 3) - 1; }

    Case() {
        for (size_t i = 0; i < ROWS * HEADS * DIM; i++) q[i] = CODES[value(i) + 1];
        for (size_t i = 0; i < ROWS * HEADS; i++) weights[i] = static_cast<float>(value(i + 77));
        memset(cache.data, NAN_CODE, PAGES * PAGE * TOKEN);
        for (int r = 0; r < REQUESTS; r++)
            for (int p = 0; p < TABLE; p++)
                table[static_cast<size_t>(r * TABLE + p)] = (p * REQUESTS + r) * 7 % (PAGES - 1);
        table[TABLE + 2] = -1;
        for (int row = 0; row < ROWS; row++)
            lens[static_cast<size_t>(row)] = (row < NEXT ? 100 : 290) + 3 * row;
        for (int r = 0; r < REQUESTS; r++)
            for (int j = 0; j < lens[static_cast<size_t>(r * NEXT + NEXT - 1)]; j++) {
                uint8_t *page = page_of(r, j);
                if (!page) continue;
                for (int k = 0; k < DIM; k++) page[j % PAGE * DIM + k] = CODES[kv(r, j, k) + 1];
                const float scale = static_cast<float>(j % 3 + 1);
                memcpy(page + PAGE * DIM + j % PAGE * 4, &scale, 4);
            }
    }

    static int kv(int r, int j, int k) {
        return value(static_cast<size_t>((r * 400 + j) * DIM + k));
    }

    uint8_t *page_of(int r, int j) {
        const int page = table[static_cast<size_t>(r * TABLE + j / PAGE)];
        return page < 0 ? nullptr : cache.data + page * PAGE * TOKEN;
    }

    float expect(int row, int j) {
        const int r = row / NEXT;
        int sum = 0;
        if (j >= lens[static_cast<size_t>(row)] || !page_of(r, j)) return -INFINITY;
        for (int h = 0; h < HEADS; h++) {
            int dot = 0;
            for (int k = 0; k < DIM; k++)
                dot += value(static_cast<size_t>((row * HEADS + h) * DIM + k)) * kv(r, j, k);
            sum += (dot > 0 ? dot : 0) * value(static_cast<size_t>(row * HEADS + h + 77));
        }
        return static_cast<float>(sum * (j % 3 + 1));
    }
};

static dg_tensor_map_t map_rows(const uint8_t *base, uint64_t rows, uint64_t matrices,
    uint64_t stride, uint32_t box_rows, uint32_t box_matrices) {
    const uint64_t extents[3] = {DIM, rows, matrices}, strides[2] = {DIM, stride};
    const uint32_t box[3] = {DIM, box_rows, box_matrices};
    return emu::encode_tensor_map(emu::ElementType::Byte, 3, const_cast<uint8_t *>(base), extents,
        strides, box, emu::Swizzle::B32);
}

static std::string run(const emu::Specialisation &s, const emu::Config &config) {
    Case c;
    dg_sm90_mqa_logits_args_t args{};
    args.q = map_rows(c.q.data, HEADS, ROWS, HEADS * DIM, HEADS, DG_MQA_COLUMNS / HEADS);
    args.kv = map_rows(c.cache.data, PAGE, PAGES, PAGE * TOKEN, PAGE, 1);
    dg_mqa_problem_t &p = args.problem;
    p.weights = c.weights.data;
    p.weights_row_stride = HEADS, p.weights_head_stride = 1;
    p.scales = c.cache.data + PAGE * DIM;
    p.page_stride = PAGE * TOKEN, p.scale_stride = 4;
    p.table = c.table.data;
    p.table_request_stride = TABLE, p.table_column_stride = 1;
    p.ends = c.lens.data;
    p.ends_request_stride = NEXT, p.ends_query_stride = 1;
    p.logits = c.logits.data;
    p.row_stride = p.columns = p.capacity = COLUMNS;
    p.requests = REQUESTS, p.next = NEXT, p.heads = HEADS, p.pages = PAGES;
    p.page_tokens = args.box_tokens = PAGE;
    p.clean = 1;
    try {
        emu::launch(config, emu::make_launch(s, 2, &args));
    } catch (const emu::Error &e) {
        return e.what();
    }
    for (int row = 0; row < ROWS; row++)
        for (int j = 0; j < COLUMNS; j++) {
            const float got = c.logits[static_cast<size_t>(row * COLUMNS + j)];
            if (!(got == c.expect(row, j)))
                return "WRONG: row " + std::to_string(row) + ", token " + std::to_string(j);
        }
    return "";
}

// The text without a bug is among them, and has to be right.
int main(int argc, char **argv) {
    return check::find_bugs(
        argc, argv, [](const emu::Specialisation &bug, const emu::Config &config) {
            const std::string wrong = run(bug, config);
            if (std::string(bug.name) != "mqa_logits_ring") return wrong;
            return std::string(wrong.empty() ? "right, as it has no bug" : "");
        });
}
