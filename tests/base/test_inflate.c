/* SPDX-License-Identifier: MIT
 *
 * Unpacking: data that zlib packed, one array for each kind of block, comes out bit for bit; data
 * that was cut off, damaged or is of another size is refused or nonsense, and nothing beyond the output is
 * written. (The sanitizer build sees what is read.)
 */
#include "base/inflate.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
/* last: it needs those above */
#include <cmocka.h>

/* Python: c = zlib.compressobj(9, zlib.DEFLATED, -15); c.compress(data) + c.flush(), for `fixed` with
 * strategy Z_FIXED, for `stored` with level 0. The data: make_data() below. */
static const char fixed[] =
    "\053\311\127\110\112\125\310\057\122\310\313\057\121\050\001\161\164\040\024\124\014\000";
static const char stored[] =
    "\001\050\000\327\377\013\060\125\172\237\304\351\016\063\130\175\242\307\354\021\066\133"
    "\200\245\312\357\024\071\136\203\250\315\362\027\074\141\206\253\320\365\032\077\144\211"
    "\256";
static const char far_apart[] =
    "\355\301\261\012\001\141\000\000\340\077\352\050\203\072\205\305\142\272\351\154\312\142"
    "\273\351\312\152\272\062\233\054\267\053\243\262\336\003\130\224\305\013\110\131\255\026"
    "\345\001\344\005\030\275\207\276\357\013\041\324\352\121\263\325\356\364\007\303\144\064"
    "\236\146\263\371\142\131\256\267\325\376\164\276\075\136\337\106\057\231\344\305\152\123"
    "\035\057\367\167\350\246\131\121\356\016\327\347\047\116\363\000\000\000\000\000\000\000"
    "\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000\000"
    "\000\000\000\377\243\126\217\232\255\166\247\077\030\046\243\361\064\233\315\027\313\162"
    "\275\255\366\247\363\355\361\372\066\172\311\044\057\126\233\352\170\271\277\103\067\315"
    "\212\162\167\270\076\077\161\232\377\000";
static const char squares[] =
    "\045\222\311\001\003\061\010\003\133\161\011\346\130\216\376\033\313\310\371\304\144\055"
    "\140\020\276\307\116\236\075\126\307\277\023\165\162\117\345\031\073\166\357\061\347\314"
    "\344\026\305\042\101\343\037\347\354\011\117\364\144\243\313\344\234\074\237\357\371\272"
    "\116\241\053\316\346\177\363\175\270\137\164\133\252\113\242\135\052\230\121\312\124\323"
    "\234\342\026\352\222\152\367\251\157\011\240\104\322\020\331\244\030\040\364\053\012\023"
    "\261\337\075\036\067\217\347\065\310\310\360\122\324\372\066\272\135\164\241\214\240\276"
    "\240\041\017\352\105\122\071\324\043\232\156\061\364\215\205\040\057\054\051\252\014\370"
    "\062\041\315\202\071\133\323\152\214\357\062\317\147\032\070\064\061\067\347\323\314\137"
    "\053\132\276\325\345\226\054\303\115\062\352\043\267\232\052\065\324\353\373\311\034\062"
    "\232\236\247\077\372\166\103\320\013\313\310\372\161\370\046\265\213\202\171\006\372\325"
    "\034\050\210\240\304\115\246\334\271\157\127\062\353\372\213\363\312\340\102\201\315\210"
    "\315\224\147\346\241\070\345\243\225\054\265\221\273\376\337\164\310\163\377\144\277\267"
    "\066\341\373\226\362\366\023\371\275\005\151\153\261\132\140\132\275\267\241\134\050\025"
    "\317\150\165\344\361\033\030\141\317\023\373\106\161\275\357\025\322\324\323\227\254\264"
    "\176\165\072\125\263\137\375\136\365\232\327\227\245\053\176\074\173\305\266\217\163\337"
    "\343\130\361\063\063\263\370\325\134\176\133\017\304\376\057\044\364\104\114\076\270\222"
    "\171\056\150\177";

enum { ROOM = 40000, GUARD = 64 };

typedef struct sample_t {
    const char *name;
    const char *packed;
    size_t packed_bytes;
    size_t (*make_data)(uint8_t *data); /* [ROOM]; returns how many bytes */
} sample_t;

static size_t make_text(uint8_t *data) {
    static const char text[] = "to be or not to be, to be or not";
    memcpy(data, text, sizeof text - 1);
    return sizeof text - 1;
}

static size_t make_steps(uint8_t *data) {
    for (int i = 0; i < 40; i++) data[i] = (uint8_t)(i * 37 + 11);
    return 40;
}

/* The same 60 bytes as far apart as a copy can reach, zeros between them. */
static size_t make_distant_twins(uint8_t *data) {
    memset(data, 0, ROOM);
    for (int i = 0; i < 60; i++) data[i] = data[32768 + i] = (uint8_t)(i * i * 31 >> 7);
    return 32768 + 60;
}

static size_t make_squares(uint8_t *data) {
    size_t at = 0;
    for (int i = 0; i < 150; i++)
        at += (size_t)snprintf((char *)data + at, ROOM - at, i == 0 ? "%d" : " %d", i * i);
    return at;
}

static const sample_t samples[] = {
    {"fixed", fixed, sizeof fixed - 1, make_text},
    {"stored", stored, sizeof stored - 1, make_steps},
    {"far_apart", far_apart, sizeof far_apart - 1, make_distant_twins},
    {"squares", squares, sizeof squares - 1, make_squares},
};
enum { SAMPLES = sizeof samples / sizeof *samples };

static uint8_t data[ROOM], unpacked[ROOM + GUARD];

/* Unpacks a copy that ends where its memory ends, so that a sanitizer sees a read beyond it. */
static dg_status_t unpack(const void *packed, size_t packed_bytes, size_t count) {
    uint8_t *copy = malloc(packed_bytes + 1);
    assert_non_null(copy);
    memcpy(copy + 1, packed, packed_bytes);
    memset(unpacked, 0xA5, sizeof unpacked);
    const dg_status_t status = dg_inflate(copy + 1, packed_bytes, unpacked, count);
    free(copy);
    for (size_t i = count; i < count + GUARD; i++) assert_int_equal(unpacked[i], 0xA5);
    return status;
}

static void what_zlib_packed_comes_out(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        const size_t count = samples[i].make_data(data);
        assert_int_equal(unpack(samples[i].packed, samples[i].packed_bytes, count), DG_STATUS_OK);
        assert_memory_equal(unpacked, data, count);
    }
}

static void another_size_is_refused(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        const size_t count = samples[i].make_data(data), bytes = samples[i].packed_bytes;
        const size_t wrong[] = {0, 1, count - 1, count + 1};
        for (size_t k = 0; k < sizeof wrong / sizeof *wrong; k++)
            assert_int_equal(unpack(samples[i].packed, bytes, wrong[k]), DG_STATUS_IO);
    }
}

static void what_was_cut_off_is_refused(void **state) {
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        const size_t count = samples[i].make_data(data);
        for (size_t bytes = 0; bytes < samples[i].packed_bytes; bytes++)
            assert_int_equal(unpack(samples[i].packed, bytes, count), DG_STATUS_IO);
    }
}

/* A bit of a literal changes a byte and nothing more: no status is expected, but good behaviour. */
static void damage_stays_inside(void **state) {
    int refused = 0;
    (void)state;
    for (int i = 0; i < SAMPLES; i++) {
        const size_t count = samples[i].make_data(data), bytes = samples[i].packed_bytes;
        uint8_t damaged[1024];
        assert_true(bytes <= sizeof damaged);
        for (size_t bit = 0; bit < 8 * bytes; bit++) {
            memcpy(damaged, samples[i].packed, bytes);
            damaged[bit / 8] ^= (uint8_t)(1u << bit % 8);
            refused += unpack(damaged, bytes, count) != DG_STATUS_OK;
        }
    }
    assert_true(refused > 1000);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_zlib_packed_comes_out),
        cmocka_unit_test(another_size_is_refused),
        cmocka_unit_test(what_was_cut_off_is_refused),
        cmocka_unit_test(damage_stays_inside),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
