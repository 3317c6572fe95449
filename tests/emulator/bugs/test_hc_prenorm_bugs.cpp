// SPDX-License-Identifier: MIT
//
// The bugs of hc_prenorm_bugs.py, with small integers, whose sums are exact: several parts a CTA,
// several trips round the ring, edges in m, n and k, NaN in what pads the rows.
//
//     emulator_hc_prenorm_bugs [part of a name]
#include "args/tf32_hc_prenorm_gemm.h"
#include "find_bugs.h"

enum { M = 70, N = 20, K = 795, SPLITS = 3, A_STRIDE = 800, B_STRIDE = 796, D_STRIDE = 24 };

struct Numbers {
    uint32_t state = 12345;
    int between(int low, int high) {
        state = state * 1664525u + 1013904223u;
        return low + static_cast<int>((state >> 16) % static_cast<uint32_t>(high - low + 1));
    }
};

// k of a split: 13 blocks of 64 in all, the first split has one more.
static int split_begin(int split) {
    const int begin = (split * 4 + (split < 1 ? split : 1)) * 64;
    return begin < K ? begin : K;
}

static std::string compare(const char *what, int row, int column, float got, double want) {
    if (static_cast<double>(got) == want) return "";
    return std::string("WRONG: ") + what + " " + std::to_string(row) + ", " +
           std::to_string(column) + ": " + std::to_string(got) + ", expected " +
           std::to_string(want);
}

static std::string run(const emu::Specialisation &bug, const emu::Config &config) {
    check::Buffer<uint16_t> a(M * A_STRIDE, true);
    check::Buffer<float> b(N * B_STRIDE, true);
    check::Buffer<float> d(SPLITS * M * D_STRIDE), sums(SPLITS * M);
    static int left[M][K], right[N][K];
    Numbers numbers;
    for (int k = 0; k < K; k++) {
        for (int i = 0; i < M; i++) {
            left[i][k] = numbers.between(-3, 3);
            const float value = static_cast<float>(left[i][k]);
            uint32_t bits;
            memcpy(&bits, &value, 4);
            a[static_cast<size_t>(i * A_STRIDE + k)] = static_cast<uint16_t>(bits >> 16);
        }
        for (int j = 0; j < N; j++) {
            right[j][k] = numbers.between(-1023, 1023);
            b[static_cast<size_t>(j * B_STRIDE + k)] = static_cast<float>(right[j][k]);
        }
    }
    dg_any_tf32_hc_prenorm_gemm_args_t args{};
    args.a = a.data, args.b = b.data, args.d = d.data, args.sqr_sum = sums.data;
    args.m = M, args.n = N, args.k = K, args.splits = SPLITS;
    args.a_stride = A_STRIDE, args.b_stride = B_STRIDE, args.d_stride = D_STRIDE;
    args.d_split_stride = M * D_STRIDE, args.sqr_sum_split_stride = M;
    try {
        emu::launch(config, emu::make_launch(bug, 2, &args));
    } catch (const emu::Error &e) {
        return e.what();
    }
    for (int s = 0; s < SPLITS; s++) {
        for (int i = 0; i < M; i++) {
            for (int j = -1; j < D_STRIDE; j++) {
                const size_t at = static_cast<size_t>((s * M + i) * D_STRIDE + j);
                if (j >= N) {
                    if (d[at] == d[at]) return "WRONG: written between rows";
                    continue;
                }
                double sum = 0;
                for (int k = split_begin(s); k < split_begin(s + 1); k++)
                    sum += left[i][k] * (j < 0 ? left[i][k] : right[j][k]);
                const std::string wrong =
                    j < 0 ? compare("square", i, s, sums[static_cast<size_t>(s * M + i)], sum)
                          : compare("d", i, j, d[at], sum);
                if (!wrong.empty()) return wrong;
            }
        }
    }
    return "";
}

int main(int argc, char **argv) {
    return check::find_bugs(argc, argv, run);
}
