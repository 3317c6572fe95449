/* SPDX-License-Identifier: MIT
 *
 * See image.h.
 */
#include "jit/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "jit/compiler.h"
#include "jit/images.h"
#include "jit/options.h"

const char *dg_origin_name(dg_origin_t origin) {
    static const char *const names[] = {"embedded", "cached", "compiled"};
    return names[origin];
}

void dg_release_image(dg_jit_image_t *image) {
    free(image->owned);
    *image = (dg_jit_image_t){.cubin = NULL};
}

static bool find_embedded(const dg_program_t *program, dg_jit_image_t *image) {
    if (!dg_jit_options()->use_embedded) return false;
    for (int32_t i = 0; i < dg_image_count; i++) {
        const dg_image_t *candidate = &dg_images[i];
        if (candidate->architecture != program->architecture ||
            memcmp(&candidate->specialisation, &program->specialisation,
                sizeof candidate->specialisation) != 0)
            continue;
        *image = (dg_jit_image_t){candidate->cubin, candidate->bytes, DG_ORIGIN_EMBEDDED, NULL};
        return true;
    }
    return false;
}

static dg_status_t compile(const dg_program_t *program, dg_jit_image_t *image) {
    const dg_compiler_t *compiler = NULL;
    dg_binary_t binary;
    DG_TRY(dg_find_compiler(&compiler));
    DG_TRY(dg_compile_program(compiler, program, &binary));
    *image = (dg_jit_image_t){binary.cubin, binary.bytes, DG_ORIGIN_COMPILED, binary.cubin};
    binary.cubin = NULL;
    dg_free_binary(&binary);
    return DG_STATUS_OK;
}

dg_status_t dg_find_image(
    const dg_program_t *program, dg_origin_t first, bool may_compile, dg_jit_image_t *image) {
    if (first <= DG_ORIGIN_EMBEDDED && find_embedded(program, image)) return DG_STATUS_OK;
    DG_REQUIRE(may_compile, DG_STATUS_NOT_COMPILED, "", "",
        "kernel %s is not compiled, and the stream is capturing; make this call once before the "
        "capture, or precompile it",
        program->name);
    return compile(program, image);
}
