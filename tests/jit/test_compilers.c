/* SPDX-License-Identifier: MIT
 *
 * The compilers themselves: real ones compile a real kernel where they are installed, and both say
 * what is wrong with a bad one; the wrong nvcc is refused with a remedy; spills are refused if asked.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fake_device.h"
#include "jit/compiler.h"
#include "jit/jit.h"
#include "scene.h"

static const char *const real_nvcc[] = {
    "/usr/local/cuda/bin/nvcc", "/usr/local/bin/nvcc", "/usr/bin/nvcc"};

/* A kernel of the catalogue, and one that its own assertions refuse. */
static dg_specialisation_t good_kernel(void) {
    const dg_specialisation_t *entry = dg_catalogue_entry(DG_KERNEL_SM90_FP8_GEMM_BLOCK, 0);
    CHECK(entry != NULL);
    return *entry;
}

static dg_specialisation_t bad_kernel(void) {
    dg_specialisation_t spec = good_kernel();
    const int32_t field = dg_find_field(dg_find_kernel(spec.kernel), "BLOCK_N", strlen("BLOCK_N"));
    spec.values[field] = 100;
    return spec;
}

static void compile_real_kernel(void) {
    const dg_specialisation_t good = good_kernel(), bad = bad_kernel();
    dg_cuda_device_t *device = fake_device(0, 90);
    dg_cuda_function_t *function = NULL;
    CHECK(dg_jit_function(device, &good, 0, NULL, &function) == DG_STATUS_OK);
    CHECK(memcmp(function->start, "\177ELF\2\1", 6) == 0 && function->bytes > 10000);
    CHECK(dg_jit_function(device, &bad, 0, NULL, &function) == DG_STATUS_COMPILER);
    CHECK(strstr(dg_last_error(), "BLOCK_N=100") != NULL);
    CHECK(strstr(dg_last_error(), "fp8_gemm_block.cu") != NULL); /* the compiler's own words */
}

static void nvrtc_compiles(void **state) {
    (void)state;
    if (INSTALLED_NVRTC[0] == '\0') {
        print_message("NVRTC is not installed (tools/install_nvrtc.sh)\n");
        skip();
    }
    const char *const variables[] = {
        "DG_NVRTC=" INSTALLED_NVRTC, "DG_JIT_USE_NVRTC=1", "DG_JIT_USE_EMBEDDED=0", NULL};
    assert_true(in_child(compile_real_kernel, variables));
}

static void nvcc_compiles(void **state) {
    (void)state;
    for (size_t i = 0; i < sizeof real_nvcc / sizeof *real_nvcc; i++) {
        if (access(real_nvcc[i], X_OK) != 0) continue;
        char variable[128];
        snprintf(variable, sizeof variable, "DG_JIT_NVCC_COMPILER=%s", real_nvcc[i]);
        const char *const variables[] = {variable, "DG_JIT_USE_EMBEDDED=0", NULL};
        assert_true(in_child(compile_real_kernel, variables));
        return;
    }
    print_message("nvcc is not installed\n");
    skip();
}

static void meet_old_nvcc(void) {
    CHECK(ask_for(1) == DG_STATUS_UNSUPPORTED);
    CHECK(strstr(dg_last_error(), "12.1, expected 12.9 or later") != NULL);
    CHECK(strstr(dg_last_error(), "pip install nvidia-cuda-nvrtc") != NULL);
}

static void meet_missing_nvcc(void) {
    CHECK(ask_for(1) == DG_STATUS_UNSUPPORTED);
    CHECK(strstr(dg_last_error(), "/nowhere/nvcc is no program") != NULL);
}

static void meet_empty_cubin(void) {
    CHECK(ask_for(1) == DG_STATUS_COMPILER);
    CHECK(strstr(dg_last_error(), "empty file") != NULL);
}

static void meet_spill(void) {
    CHECK(ask_for(1) == DG_STATUS_COMPILER);
    CHECK(strstr(dg_last_error(), "16 bytes spill stores") != NULL);
    CHECK(strstr(dg_last_error(), "DG_JIT_PTXAS_CHECK") != NULL);
}

static void succeed(void) {
    CHECK(ask_for(1) == DG_STATUS_OK);
}

/* Sees nothing left behind in TMPDIR. */
static void leave_no_files(void) {
    CHECK(ask_for(1) == DG_STATUS_OK);
    CHECK(rmdir("scratch") == 0);
}

static void bad_compilers_are_told_apart(void **state) {
    (void)state;
    const char *const old[] = {FAKE_COMPILER, "FAKE_NVCC=old", NULL};
    const char *const missing[] = {"DG_JIT_NVCC_COMPILER=/nowhere/nvcc", NULL};
    const char *const empty[] = {FAKE_COMPILER, "FAKE_NVCC=empty", NULL};
    assert_true(in_child(meet_old_nvcc, old));
    assert_true(in_child(meet_missing_nvcc, missing));
    assert_true(in_child(meet_empty_cubin, empty));
}

static void spills_are_refused_if_asked(void **state) {
    (void)state;
    const char *const checked[] = {FAKE_COMPILER, "FAKE_NVCC=spill", "DG_JIT_PTXAS_CHECK=1", NULL};
    const char *const unchecked[] = {FAKE_COMPILER, "FAKE_NVCC=spill", NULL};
    const char *const clean[] = {FAKE_COMPILER, "DG_JIT_PTXAS_CHECK=1", NULL};
    clear_scene();
    assert_true(in_child(meet_spill, checked));
    assert_true(in_child(succeed, unchecked));
    clear_scene();
    assert_true(in_child(succeed, clean));
}

static void temporary_files_are_removed(void **state) {
    (void)state;
    clear_scene();
    char scratch[96], variable[112];
    snprintf(scratch, sizeof scratch, "%s/scratch", scene_folder());
    snprintf(variable, sizeof variable, "TMPDIR=%s", scratch);
    assert_int_equal(mkdir(scratch, 0755), 0);
    const char *const variables[] = {FAKE_COMPILER, variable, NULL};
    assert_true(in_child(leave_no_files, variables));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nvrtc_compiles),
        cmocka_unit_test(nvcc_compiles),
        cmocka_unit_test(bad_compilers_are_told_apart),
        cmocka_unit_test(spills_are_refused_if_asked),
        cmocka_unit_test(temporary_files_are_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
