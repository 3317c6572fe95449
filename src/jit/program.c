/* SPDX-License-Identifier: MIT
 *
 * See program.h.
 */
#include "jit/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/digest.h"
#include "base/error.h"
#include "jit/options.h"
#include "jit/text.h"

/* Architecture 90 is always compiled for as sm_90a: wgmma and setmaxnreg exist nowhere else. */
static void format_target(int32_t architecture, char target[16]) {
    snprintf(target, 16, architecture == 90 ? "sm_%da" : "sm_%d", architecture);
}

static void make_key(dg_program_t *program) {
    uint8_t digest[32];
    dg_digest_t state;
    dg_begin_digest(&state);
    dg_digest_text(&state, dg_kernel_texts[program->specialisation.kernel].digest);
    dg_digest_text(&state, program->name);
    dg_digest_text(&state, program->target);
    dg_digest_text(&state, dg_jit_options()->line_info ? "line info" : "");
    dg_end_digest(&state, digest);
    dg_format_digest(digest, program->key);
}

dg_status_t dg_describe_program(
    const dg_specialisation_t *specialisation, int32_t architecture, dg_program_t *program) {
    *program = (dg_program_t){.specialisation = *specialisation, .architecture = architecture};
    program->kernel = dg_find_kernel(specialisation->kernel);
    const dg_kernel_t *kernel = program->kernel;
    format_target(architecture, program->target);
    snprintf(program->symbol, sizeof program->symbol, "dg_%s", kernel->name);
    dg_format_specialisation(specialisation, program->name, sizeof program->name);
    DG_REQUIRE(kernel->architecture == 0 || kernel->architecture == architecture,
        DG_STATUS_UNSUPPORTED, "", "",
        "kernel %s is for architecture %d, the device has %d; use another device, or CPU tensors",
        kernel->name, kernel->architecture, architecture);
    DG_REQUIRE(dg_kernel_texts[specialisation->kernel].bytes > 0, DG_STATUS_UNSUPPORTED, "", "",
        "this build lacks kernel %s; rebuild with kernels/%s", kernel->name, kernel->source);
    make_key(program);
    return DG_STATUS_OK;
}

char *dg_program_source(const dg_program_t *program, size_t *bytes) {
    const dg_kernel_t *kernel = program->kernel;
    const dg_kernel_text_t *text = &dg_kernel_texts[program->specialisation.kernel];
    size_t room = text->bytes + 1;
    for (int32_t i = 0; i < kernel->field_count; i++) room += strlen(kernel->fields[i]) + 32;
    char *source = malloc(room);
    if (source == NULL) return NULL;
    size_t at = 0;
    for (int32_t i = 0; i < kernel->field_count; i++) {
        const int length = snprintf(source + at, room - at, "#define %s %d\n", kernel->fields[i],
            program->specialisation.values[i]);
        at += (size_t)length;
    }
    for (const char *const *segment = text->segments; *segment != NULL; segment++) {
        const size_t length = strlen(*segment);
        memcpy(source + at, *segment, length);
        at += length;
    }
    source[at] = '\0';
    *bytes = at;
    return source;
}

void dg_free_binary(dg_binary_t *binary) {
    free(binary->cubin);
    free(binary->log);
    free(binary->ptx);
    *binary = (dg_binary_t){.cubin = NULL};
}
