/* SPDX-License-Identifier: MIT
 *
 * SHA-256 against the examples of the standard (FIPS 180-2, appendix B), whole and in pieces.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

#include "base/digest.h"

static void expect(const char *data, size_t bytes, size_t piece, const char *expected) {
    dg_digest_t digest;
    uint8_t result[32];
    char text[65];
    dg_begin_digest(&digest);
    for (size_t at = 0; at < bytes; at += piece)
        dg_digest_bytes(&digest, data + at, bytes - at < piece ? bytes - at : piece);
    dg_end_digest(&digest, result);
    dg_format_digest(result, text);
    assert_string_equal(text, expected);
}

static void examples_of_the_standard(void **state) {
    (void)state;
    static const char two_blocks[] = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    expect("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    char *million = malloc(1000000);
    assert_non_null(million);
    memset(million, 'a', 1000000);
    static const size_t pieces[] = {1, 3, 63, 64, 65, 1000};
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++) {
        expect(two_blocks, 56, pieces[i],
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
        expect(million, 1000000, pieces[i],
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    }
    free(million);
}

static void texts_do_not_run_together(void **state) {
    (void)state;
    uint8_t one[32], two[32];
    dg_digest_t digest;
    dg_begin_digest(&digest);
    dg_digest_text(&digest, "ab");
    dg_digest_text(&digest, "c");
    dg_end_digest(&digest, one);
    dg_begin_digest(&digest);
    dg_digest_text(&digest, "a");
    dg_digest_text(&digest, "bc");
    dg_end_digest(&digest, two);
    assert_memory_not_equal(one, two, 32);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(examples_of_the_standard),
        cmocka_unit_test(texts_do_not_run_together),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
