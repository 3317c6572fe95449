/* SPDX-License-Identifier: MIT
 *
 * See dump.h. SASS comes from cuobjdump of the CUDA toolkit, which is looked for where nvcc is.
 */
#include "jit/dump.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "jit/cache_folder.h"
#include "jit/child.h"
#include "jit/options.h"

/* Replaces the file by a text. */
static void write_text(const char *stem, const char *end, const char *text) {
    char path[DG_PATH_BYTES];
    if (!dg_format_path(path, "%s%s", stem, end)) return;
    if (dg_publish_file(path, text, strlen(text)) == DG_STATUS_OK) {
        dg_log_wanted("jit=dump file=\"%s\"", path);
    } else {
        dg_log_wanted("jit=dump error=\"%s\"", dg_last_error());
    }
}

static void dump_sass(const char *stem, const dg_binary_t *binary) {
    char program[DG_PATH_BYTES], cubin[DG_PATH_BYTES];
    if (!dg_find_tool("cuobjdump", program)) {
        dg_log_wanted("jit=dump error=\"cuobjdump was not found; set CUDA_HOME\"");
        return;
    }
    if (!dg_format_path(cubin, "%s.cubin", stem) ||
        dg_publish_file(cubin, binary->cubin, binary->bytes) != DG_STATUS_OK) {
        dg_log_wanted("jit=dump error=\"%s\"", dg_last_error());
        return;
    }
    const char *arguments[] = {program, "-sass", cubin, NULL};
    char *text = NULL;
    int exit_status = 0;
    if (dg_run_child(arguments, &text, &exit_status) == DG_STATUS_OK && exit_status == 0) {
        write_text(stem, ".sass", text);
    } else {
        dg_log_wanted(
            "jit=dump error=\"%s -sass %s ended with status %d\"", program, cubin, exit_status);
    }
    unlink(cubin);
    free(text);
}

void dg_dump_kernel(const dg_program_t *program, const char *compiler, const dg_binary_t *binary) {
    const dg_jit_options_t *options = dg_jit_options();
    const dg_cache_folder_t *folder = dg_user_cache();
    char stem[DG_PATH_BYTES];
    if (!options->dump_ptx && !options->dump_sass) return;
    if (!folder->writable ||
        !dg_format_cache_path(folder, program->name, program->key, compiler, stem)) {
        dg_log_wanted("jit=dump error=\"no folder to write to; set DG_JIT_CACHE_DIR\"");
        return;
    }
    if (options->dump_ptx && binary->ptx != NULL) write_text(stem, ".ptx", binary->ptx);
    if (options->dump_sass) dump_sass(stem, binary);
}
