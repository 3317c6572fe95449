/* SPDX-License-Identifier: MIT
 *
 * The public functions of deep_gemm/kernels.h over src/jit: what is compiled, where it lies, and
 * compiling ahead. None of them touches a GPU.
 */
#include "deep_gemm/kernels.h"

#include <stdlib.h>

#include "api/context.h"
#include "base/error.h"
#include "jit/archive.h"
#include "jit/cache_walk.h"
#include "jit/compiler.h"
#include "jit/images.h"
#include "jit/jit.h"

enum { ALL_ORIGINS = DG_KERNEL_EMBEDDED | DG_KERNEL_CACHED | DG_KERNEL_SYSTEM };

typedef struct visitor_t {
    dg_kernel_fn visit;
    void *user;
    dg_kernel_origin_t origin;
} visitor_t;

static void visit_file(void *user, const dg_cache_file_t *file) {
    const visitor_t *visitor = user;
    const bool good = file->fault == NULL;
    const dg_kernel_info_t info = {.origin = visitor->origin,
        .name = good ? file->header.name : "",
        .target = good ? file->header.target : "",
        .compiler = good ? file->header.compiler : "",
        .path = file->path,
        .fault = file->fault,
        .bytes = file->bytes,
        .last_used = file->seconds};
    visitor->visit(visitor->user, &info);
}

static void visit_embedded(const visitor_t *visitor) {
    for (int32_t i = 0; i < dg_image_count; i++) {
        dg_program_t program;
        const dg_image_t *image = &dg_images[i];
        if (dg_describe_program(&image->specialisation, image->architecture, &program) !=
            DG_STATUS_OK)
            continue;
        const dg_kernel_info_t info = {.origin = DG_KERNEL_EMBEDDED,
            .name = program.name,
            .target = program.target,
            .compiler = dg_image_compiler,
            .bytes = (int64_t)image->bytes};
        visitor->visit(visitor->user, &info);
    }
}

/* Looking through folders fails in parts, a file here, a folder there, and a call that succeeds all
 * the same leaves the last error as it was. Ends every function below. */
static dg_status_t finish(const dg_kept_error_t *before, dg_status_t status) {
    if (status == DG_STATUS_OK) dg_restore_error(before);
    return status;
}

static void begin(const char *function, dg_kept_error_t *before) {
    dg_enter_function(function);
    dg_keep_error(before);
}

static dg_status_t list(int32_t origins, dg_kernel_fn visit, void *user) {
    DG_REQUIRE(visit != NULL, DG_STATUS_NULL_POINTER, "visit", "",
        "NULL, expected the function to call for each kernel");
    DG_REQUIRE(origins > 0 && (origins & ~ALL_ORIGINS) == 0, DG_STATUS_BAD_ENUM, "origins", "",
        "%d, expected a sum of DG_KERNEL_EMBEDDED, DG_KERNEL_CACHED and DG_KERNEL_SYSTEM", origins);
    visitor_t visitor = {visit, user, DG_KERNEL_CACHED};
    if ((origins & DG_KERNEL_EMBEDDED) != 0) visit_embedded(&visitor);
    if ((origins & DG_KERNEL_CACHED) != 0)
        DG_TRY(dg_walk_cache(dg_user_cache(), visit_file, &visitor));
    visitor.origin = DG_KERNEL_SYSTEM;
    if ((origins & DG_KERNEL_SYSTEM) != 0)
        DG_TRY(dg_walk_cache(dg_system_cache(), visit_file, &visitor));
    return DG_STATUS_OK;
}

dg_status_t dg_list_kernels(int32_t origins, dg_kernel_fn visit, void *user) {
    dg_kept_error_t before;
    begin("dg_list_kernels", &before);
    return finish(&before, list(origins, visit, user));
}

static dg_status_t describe(dg_kernel_cache_t *cache) {
    DG_TRY(dg_check_args(cache, sizeof *cache, "cache", "dg_kernel_cache_t"));
    const dg_compiler_t *compiler = NULL;
    cache->folder = dg_user_cache()->path;
    cache->system_folder = dg_system_cache()->path;
    cache->writable = dg_user_cache()->writable;
    cache->embedded = dg_image_count;
    cache->max_bytes = dg_cache_bound();
    cache->embedded_by = dg_image_compiler;
    cache->no_compiler = dg_look_for_compiler(&compiler);
    cache->compiler = compiler != NULL ? compiler->version : "";
    return DG_STATUS_OK;
}

dg_status_t dg_describe_kernel_cache(dg_kernel_cache_t *cache) {
    dg_kept_error_t before;
    begin("dg_describe_kernel_cache", &before);
    return finish(&before, describe(cache));
}

static dg_status_t prune(int64_t max_bytes, int32_t *removed) {
    DG_REQUIRE(max_bytes >= -1, DG_STATUS_BAD_VALUE, "max_bytes", "",
        "%lld, expected 0 (remove everything), a size, or -1 for the bound of the folder",
        (long long)max_bytes);
    const dg_cache_folder_t *folder = dg_user_cache();
    DG_REQUIRE(folder->writable || folder->path[0] == '\0', DG_STATUS_IO, "", "",
        "folder %s cannot be written; remove its files as its owner", folder->path);
    *removed = dg_remove_bad_entries(folder);
    *removed += dg_bound_cache(folder, max_bytes < 0 ? dg_cache_bound() : max_bytes, 0);
    return DG_STATUS_OK;
}

dg_status_t dg_prune_kernel_cache(int64_t max_bytes, int32_t *removed) {
    dg_kept_error_t before;
    int32_t count = 0;
    begin("dg_prune_kernel_cache", &before);
    DG_TRY(prune(max_bytes, &count));
    if (removed != NULL) *removed = count;
    return finish(&before, DG_STATUS_OK);
}

static dg_status_t carry(
    const char *path, int32_t *count, dg_status_t (*archive)(const char *, int32_t *)) {
    int32_t kernels = 0;
    DG_REQUIRE(path != NULL && path[0] != '\0', DG_STATUS_NULL_POINTER, "path", "",
        "NULL or empty, expected the name of the file");
    DG_TRY(archive(path, &kernels));
    if (count != NULL) *count = kernels;
    return DG_STATUS_OK;
}

dg_status_t dg_export_kernels(const char *path, int32_t *count) {
    dg_kept_error_t before;
    begin("dg_export_kernels", &before);
    return finish(&before, carry(path, count, dg_write_archive));
}

dg_status_t dg_import_kernels(const char *path, int32_t *count) {
    dg_kept_error_t before;
    begin("dg_import_kernels", &before);
    return finish(&before, carry(path, count, dg_read_archive));
}
