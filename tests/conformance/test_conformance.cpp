// SPDX-License-Identifier: MIT
//
// Runs the conformance programs on the emulator and compares with what real hardware did, as the
// golden file says. Without the file the programs still run, under the race checker and several
// schedules, which must all agree; then the test counts as skipped.
#include "cases.h"
#include "check.h"
#include "golden.h"
#include "tensor_map.h"

#include "conform_digest.h"
#include "programs.cu"

#include <map>

using Program = void (*)(conform_args_t);

static const std::map<std::string, Program> programs = {
#define PROGRAM(name)                                                                              \
    { #name, name }
    PROGRAM(load_2d),
    PROGRAM(load_3d),
    PROGRAM(load_multicast),
    PROGRAM(load_3d_multicast),
    PROGRAM(store_2d),
    PROGRAM(store_3d),
    PROGRAM(reduce_add_2d),
    PROGRAM(bulk_round_trip),
    PROGRAM(send_to_peer),
    PROGRAM(read_from_peer),
    PROGRAM(copy_pieces),
    PROGRAM(word_widths),
    PROGRAM(hand_over),
    PROGRAM(edit_map),
    PROGRAM(load_matrix),
    PROGRAM(store_matrix),
    PROGRAM(warp_product),
    PROGRAM(warp_words),
    PROGRAM(convert),
    PROGRAM(pick_bytes),
    PROGRAM(barrier_steps),
    PROGRAM(barrier_early_bytes),
    PROGRAM(wgmma_e4m3_8),
    PROGRAM(wgmma_e4m3_32),
    PROGRAM(wgmma_e4m3_96),
    PROGRAM(wgmma_e4m3_128),
    PROGRAM(wgmma_e4m3_192),
    PROGRAM(wgmma_e4m3_248),
    PROGRAM(wgmma_e4m3_256),
    PROGRAM(wgmma_e4m3_rs_32),
    PROGRAM(wgmma_bf16_32),
    PROGRAM(wgmma_bf16_a_mn_32),
    PROGRAM(wgmma_bf16_b_mn_32),
    PROGRAM(wgmma_bf16_b_mn_128),
    PROGRAM(wgmma_bf16_ab_mn_128),
    PROGRAM(wgmma_bf16_rs_32),
    PROGRAM(wgmma_bf16_rs_b_mn_32),
    PROGRAM(wgmma_tf32_32),
    PROGRAM(wgmma_tf32_rs_32),
#undef PROGRAM
};

static dg_tensor_map_t encode(const conform_map_t &m, void *base) {
    if (!m.rank) return dg_tensor_map_t{};
    const uint64_t extents[3] = {m.extent[0], m.extent[1], m.extent[2]};
    const uint64_t pitches[2] = {m.pitch, static_cast<uint64_t>(m.pitch) * m.extent[1]};
    const auto type = m.element == CONFORM_BYTES_2 ? emu::ElementType::Bf16 : emu::ElementType::F32;
    const auto swizzle = m.swizzle == 128  ? emu::Swizzle::B128
                         : m.swizzle == 64 ? emu::Swizzle::B64
                         : m.swizzle == 32 ? emu::Swizzle::B32
                                           : emu::Swizzle::None;
    return emu::encode_tensor_map(type, m.rank, base, extents, pitches, m.box, swizzle);
}

static std::vector<uint32_t> run_case(const conform_case_t &c, const emu::Config &config) {
    check::Buffer<uint32_t> input(CONFORM_INPUT_WORDS, true), output(c.words);
    check::Buffer<dg_tensor_map_t> ring(2);
    conform_fill_input(&c, input.data);
    conform_fill_output(&c, output.data);
    conform_args_t args{};
    args.in = encode(c.in, input.data);
    args.out = encode(c.out, output.data);
    args.input = input.data;
    args.output = output.data;
    args.ring = ring.data;
    std::copy(c.p, c.p + 5, args.p);
    emu::Launch launch{};
    launch.grid = launch.cluster = c.cluster;
    launch.block = 128;
    launch.shared_bytes = CONFORM_SHARED_BYTES;
    launch.kernel = [&] { programs.at(c.program)(args); };
    emu::launch(config, launch);
    return std::vector<uint32_t>(output.data, output.data + c.words);
}

// All schedules must give the same words. None: the program does what the hardware stops it
// for.
static std::vector<uint32_t> run_all_schedules(const conform_case_t &c) {
    std::vector<uint32_t> first;
    bool stopped = false;
    for (const emu::Config &config : check::schedules()) {
        std::vector<uint32_t> words;
        try {
            words = run_case(c, config);
        } catch (const emu::Error &e) {
            if (e.kind != "ALIGN" && e.kind != "TRAP") throw;
            stopped = true;
        }
        if (first.empty()) first = words;
        if (words != first) throw std::runtime_error("two schedules give different words");
    }
    if (stopped && !first.empty()) throw std::runtime_error("stopped in some schedules only");
    return first;
}

int main(int argc, char **argv) {
    const std::string golden = argc > 1 ? argv[1] : "";
    char digest[17] = "";
    const bool have_golden = golden_read_digest(golden.c_str(), digest);
    if (have_golden && std::string(digest) != CONFORM_DIGEST) {
        printf("FAIL  %s was made by other programs (digest %s, not %s): take it anew on a GPU\n",
            golden.c_str(), digest, CONFORM_DIGEST);
        return 1;
    }
    int failed = 0;
    for (size_t i = 0; i < conform_case_count; i++) {
        const conform_case_t &c = conform_cases[i];
        char text[200] = "";
        bool good = true;
        try {
            const std::vector<uint32_t> words = run_all_schedules(c);
            if (have_golden)
                good = golden_compare(
                    golden.c_str(), &c, words.empty() ? nullptr : words.data(), text, sizeof text);
        } catch (const std::exception &e) {
            snprintf(text, sizeof text, "%.199s", e.what());
            good = false;
        }
        printf("%s %s%s%s\n", good ? "ok   " : "FAIL ", c.name, good ? "" : ": ", text);
        failed += !good;
    }
    if (!have_golden) printf("no golden file: nothing compared with hardware\n");
    return failed ? 1 : have_golden ? 0 : 77;
}
