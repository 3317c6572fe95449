// SPDX-License-Identifier: MIT
//
// Compiling while the program runs: fp8_gemm_block built with the program and the same
// specialisation compiled from the text that NVRTC gets must give the same bits. With arguments,
// runs any line of the catalogue for that kernel:
//
//     emulator_compile TEXT                              the tests
//     emulator_compile TEXT BLOCK_M=128 BLOCK_N=64 ...   that specialisation, five schedules
#include "check.h"
#include "compile.h"
#include "gemm_run.h"

#include <fstream>
#include <sstream>

static std::string kernel_text; // of fp8_gemm_block
static const char *const KERNEL = "sm90_fp8_gemm_block";

static std::vector<std::string> macros_of(const emu::Specialisation &s) {
    std::vector<std::string> macros;
    for (size_t i = 0; i < s.value_count; i++)
        macros.push_back(std::string(s.values[i].macro) + "=" + std::to_string(s.values[i].value));
    return macros;
}

static void require_right(const std::string &wrong) {
    if (!wrong.empty()) throw std::runtime_error(wrong);
}

TEST(compiled_now_equals_compiled_before) {
    const emu::Specialisation &before = emu::find_specialisation("block_plain");
    const auto compiled = emu::compile(kernel_text, KERNEL, macros_of(before));
    const emu::Specialisation &now = compiled->specialisation();
    REQUIRE(now.entry != before.entry);
    REQUIRE(now.threads == before.threads && now.cluster == before.cluster);
    REQUIRE(now.shared_bytes == before.shared_bytes && now.args_bytes == before.args_bytes);
    for (const emu::Config &config : check::schedules()) {
        std::vector<uint16_t> one, other;
        GemmOptions options;
        options.output = &one;
        require_right(run_gemm(before, {200, 232, 640}, false, config, 2, options));
        options.output = &other;
        require_right(run_gemm(now, {200, 232, 640}, false, config, 2, options));
        REQUIRE(!one.empty() && one == other);
    }
}

TEST(a_compiled_kernel_is_forgotten_with_its_owner) {
    const std::vector<std::string> macros = macros_of(emu::find_specialisation("block_plain"));
    std::string name;
    {
        const auto compiled = emu::compile(kernel_text, KERNEL, macros);
        name = compiled->specialisation().name;
    }
    REQUIRE(check::fault_of([&] { emu::find_specialisation(name); }) == "TEST");
}

TEST(bug_text_that_does_not_compile) {
    REQUIRE(
        check::fault_of([] { emu::compile(kernel_text, KERNEL, {"BLOCK_M=128"}); }) == "COMPILE");
}

static int run_line(const std::vector<std::string> &macros) {
    const auto compiled = emu::compile(kernel_text, KERNEL, macros);
    const emu::Specialisation &s = compiled->specialisation();
    const GemmShape shape = {
        2 * s.value("BLOCK_M") + 9, 2 * s.value("BLOCK_N") + 24, s.value("STAGES") * 128 + 144};
    int failed = 0;
    for (const emu::Config &config : check::schedules()) {
        const std::string wrong = run_gemm(s, shape, true, config, 2);
        printf("seed %llu: %s\n", static_cast<unsigned long long>(config.seed),
            wrong.empty() ? "right" : wrong.c_str());
        failed |= !wrong.empty();
    }
    return failed;
}

int main(int argc, char **argv) {
    if (argc < 2) {
        printf("usage: emulator_compile TEXT [MACRO=VALUE...]\n");
        return 2;
    }
    std::stringstream text;
    text << std::ifstream(argv[1]).rdbuf();
    kernel_text = text.str();
    if (argc > 2) return run_line(std::vector<std::string>(argv + 2, argv + argc));
    return check::run_all(1, argv);
}
