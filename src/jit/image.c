/* SPDX-License-Identifier: MIT
 *
 * See image.h.
 */
#include "jit/image.h"

#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/inflate.h"
#include "jit/cache_lock.h"
#include "jit/compiler.h"
#include "jit/disk.h"
#include "jit/dump.h"
#include "jit/images.h"
#include "jit/options.h"

/* Longer than any compilation: who still holds a key's lock after that has come to grief. */
enum { LOCK_SECONDS = 60 };

const char *dg_origin_name(dg_origin_t origin) {
    static const char *const names[] = {"embedded", "cached", "compiled"};
    return names[origin];
}

void dg_release_image(dg_jit_image_t *image) {
    free(image->owned);
    *image = (dg_jit_image_t){.cubin = NULL};
}

/* NULL: none */
static const dg_image_t *find_embedded(const dg_program_t *program) {
    if (!dg_jit_options()->use_embedded) return NULL;
    for (int32_t i = 0; i < dg_image_count; i++) {
        if (dg_images[i].architecture == program->architecture &&
            memcmp(&dg_images[i].specialisation, &program->specialisation,
                sizeof program->specialisation) == 0)
            return &dg_images[i];
    }
    return NULL;
}

static dg_status_t unpack(const dg_image_t *embedded, dg_jit_image_t *image) {
    void *cubin = malloc(embedded->bytes);
    DG_REQUIRE(cubin != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory for a kernel of %zu bytes; free some", embedded->bytes);
    const dg_status_t status =
        dg_inflate(embedded->packed, embedded->packed_bytes, cubin, embedded->bytes);
    if (status != DG_STATUS_OK) {
        free(cubin);
        return status;
    }
    *image = (dg_jit_image_t){cubin, embedded->bytes, DG_ORIGIN_EMBEDDED, cubin};
    return DG_STATUS_OK;
}

static bool find_cached(
    const dg_program_t *program, const dg_compiler_t *compiler, dg_jit_image_t *image) {
    *image = (dg_jit_image_t){.origin = DG_ORIGIN_CACHED};
    return dg_find_on_disk(program, compiler != NULL ? compiler->version : NULL, &image->owned,
        &image->cubin, &image->bytes);
}

static dg_status_t compile(
    const dg_program_t *program, const dg_compiler_t *compiler, dg_jit_image_t *image) {
    dg_binary_t binary;
    DG_TRY(dg_compile_program(compiler, program, &binary));
    dg_store_on_disk(program, compiler->version, binary.cubin, binary.bytes);
    dg_dump_kernel(program, compiler->version, &binary);
    *image = (dg_jit_image_t){binary.cubin, binary.bytes, DG_ORIGIN_COMPILED, binary.cubin};
    binary.cubin = NULL;
    dg_free_binary(&binary);
    return DG_STATUS_OK;
}

/* Of many processes that want the same kernel at the same time one compiles it. */
static dg_status_t compile_once(const dg_program_t *program, const dg_compiler_t *compiler,
    bool look_again, dg_jit_image_t *image) {
    const dg_cache_folder_t *folder = dg_user_cache();
    dg_cache_lock_t lock = {-1};
    dg_status_t status = DG_STATUS_OK;
    if (folder->writable) lock = dg_lock_cache_key(folder, program->key, LOCK_SECONDS);
    if (!look_again || !find_cached(program, compiler, image))
        status = compile(program, compiler, image);
    dg_unlock_cache_key(&lock);
    return status;
}

dg_status_t dg_find_image(
    const dg_program_t *program, dg_origin_t first, bool may_compile, dg_jit_image_t *image) {
    const dg_compiler_t *compiler = NULL;
    const dg_image_t *embedded = first <= DG_ORIGIN_EMBEDDED ? find_embedded(program) : NULL;
    if (embedded != NULL) return unpack(embedded, image);
    dg_look_for_compiler(&compiler);
    if (first <= DG_ORIGIN_CACHED && find_cached(program, compiler, image)) return DG_STATUS_OK;
    DG_REQUIRE(may_compile, DG_STATUS_NOT_COMPILED, "", "",
        "kernel %s is not compiled, and the stream is capturing; make this call once before the "
        "capture, or precompile it",
        program->name);
    DG_TRY(dg_find_compiler(&compiler));
    return compile_once(program, compiler, first <= DG_ORIGIN_CACHED, image);
}
