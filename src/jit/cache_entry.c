/* SPDX-License-Identifier: MIT
 *
 * See cache_entry.h.
 */
#include "jit/cache_entry.h"

#include <stdio.h>
#include <string.h>

#include "base/digest.h"

static const char magic[8] = {'D', 'G', 'K', 'E', 'R', 'N', 'E', 'L'};
enum { VERSION = 1 };

static void find_checksum(
    const dg_cache_header_t *header, const void *image, size_t bytes, uint8_t checksum[32]) {
    dg_digest_t digest;
    dg_begin_digest(&digest);
    dg_digest_bytes(&digest, header, offsetof(dg_cache_header_t, checksum));
    dg_digest_bytes(&digest, image, bytes);
    dg_end_digest(&digest, checksum);
}

dg_cache_header_t dg_make_cache_header(
    const dg_program_t *program, const char *compiler, const void *image, size_t bytes) {
    dg_cache_header_t header;
    memset(&header, 0, sizeof header);
    memcpy(header.magic, magic, sizeof magic);
    header.version = VERSION;
    header.architecture = program->architecture;
    header.image_bytes = bytes;
    memcpy(header.key, program->key, sizeof header.key);
    memcpy(header.target, program->target, sizeof header.target);
    snprintf(header.compiler, sizeof header.compiler, "%s", compiler);
    memcpy(header.name, program->name, sizeof header.name);
    find_checksum(&header, image, bytes, header.checksum);
    return header;
}

/* Texts end inside their fields, and would not do harm in a terminal or a file's name. */
static int is_text(const char *text, size_t size) {
    const size_t length = strnlen(text, size);
    if (length == size) return 0;
    for (size_t i = 0; i < length; i++)
        if (text[i] < ' ' || text[i] > '~' || text[i] == '/') return 0;
    return 1;
}

const char *dg_check_cache_entry(
    const void *bytes, size_t count, int more_may_follow, dg_cache_header_t *header, size_t *size) {
    if (count < sizeof *header) return "cut off";
    memcpy(header, bytes, sizeof *header);
    if (memcmp(header->magic, magic, sizeof magic) != 0) return "not a kernel";
    if (header->version != VERSION) return "of another version";
    const size_t rest = count - sizeof *header;
    if (header->image_bytes > rest) return "cut off";
    if (header->image_bytes < rest && !more_may_follow) return "too long";
    const size_t image_bytes = (size_t)header->image_bytes;
    uint8_t checksum[32];
    find_checksum(header, (const char *)bytes + sizeof *header, image_bytes, checksum);
    if (memcmp(checksum, header->checksum, sizeof checksum) != 0) return "damaged";
    if (!is_text(header->key, sizeof header->key) || strlen(header->key) != 64 ||
        !is_text(header->target, sizeof header->target) ||
        !is_text(header->compiler, sizeof header->compiler) ||
        !is_text(header->name, sizeof header->name))
        return "damaged";
    *size = sizeof *header + image_bytes;
    return NULL;
}
