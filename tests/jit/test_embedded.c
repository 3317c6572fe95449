/* SPDX-License-Identifier: MIT
 *
 * What the build put into the library: the texts are what their digests say, and each embedded
 * kernel is a cubin for the architecture it names, with its symbol, found without any compiler.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/digest.h"
#include "fake_device.h"
#include "jit/images.h"
#include "jit/jit.h"
#include "jit/text.h"
#include "scene.h"

static const char *const no_compiler[] = {
    "DG_NVRTC=/nowhere/libnvrtc.so", "DG_JIT_USE_NVRTC=1", NULL};

static void texts_have_their_digests(void **state) {
    (void)state;
    int present = 0;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        const dg_kernel_text_t *text = &dg_kernel_texts[id];
        if (text->bytes == 0) continue;
        dg_digest_t digest;
        dg_begin_digest(&digest);
        size_t bytes = 0;
        for (const char *const *segment = text->segments; *segment != NULL; segment++) {
            dg_digest_bytes(&digest, *segment, strlen(*segment));
            bytes += strlen(*segment);
            assert_null(strstr(*segment, "#include \"")); /* each is in its place by now */
        }
        uint8_t result[32];
        char hexadecimal[65];
        dg_end_digest(&digest, result);
        dg_format_digest(result, hexadecimal);
        assert_int_equal(bytes, text->bytes);
        assert_string_equal(hexadecimal, text->digest);
        present++;
    }
    assert_true(present > 0);
}

static void load_all(void) {
    dg_cuda_device_t *device = fake_device(0, 90);
    for (int32_t i = 0; i < dg_image_count; i++) {
        dg_cuda_function_t *function = NULL;
        CHECK(dg_jit_function(device, &dg_images[i].specialisation, 0, NULL, &function) ==
              DG_STATUS_OK);
        CHECK(function->bytes == dg_images[i].bytes);
        CHECK(memcmp(function->start, "\177ELF\2\1", 6) == 0);
        CHECK(function->names_symbol);
    }
    CHECK(fake_loads() == dg_image_count);
}

static void embedded_kernels_load_without_a_compiler(void **state) {
    (void)state;
    if (dg_image_count == 0) {
        print_message("no kernels are embedded in this build\n");
        skip();
    }
    assert_string_not_equal(dg_image_compiler, "");
    assert_true(in_child(load_all, no_compiler));
}

/* The planner's list and the images come from the same file. */
static void images_are_the_catalogue(void **state) {
    (void)state;
    if (dg_image_count == 0) skip();
    int32_t found = 0;
    for (int32_t id = 0; id < DG_KERNEL_COUNT; id++) {
        const dg_specialisation_t *entry;
        for (int32_t i = 0; (entry = dg_catalogue_entry(id, i)) != NULL; i++) {
            int32_t image = 0;
            while (image < dg_image_count &&
                   memcmp(&dg_images[image].specialisation, entry, sizeof *entry) != 0)
                image++;
            if (image == dg_image_count) {
                char name[DG_SPECIALISATION_TEXT];
                dg_format_specialisation(entry, name, sizeof name);
                fail_msg("%s is not built in: the build's warning says why", name);
            }
            found++;
        }
    }
    assert_int_equal(found, dg_image_count);
}

static void ask_without_compiler(void) {
    const dg_specialisation_t spec = some_specialisation(1);
    dg_cuda_function_t *function = NULL;
    CHECK(dg_jit_function(fake_device(0, 90), &spec, 0, NULL, &function) == DG_STATUS_UNSUPPORTED);
    CHECK(strstr(dg_last_error(), "no run-time compiler") != NULL);
    CHECK(strstr(dg_last_error(), "/nowhere/libnvrtc.so") != NULL);
}

static void without_a_compiler_the_error_says_what_to_install(void **state) {
    (void)state;
    assert_true(in_child(ask_without_compiler, no_compiler));
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_have_their_digests),
        cmocka_unit_test(embedded_kernels_load_without_a_compiler),
        cmocka_unit_test(images_are_the_catalogue),
        cmocka_unit_test(without_a_compiler_the_error_says_what_to_install),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
