/* SPDX-License-Identifier: MIT
 *
 * See inflate.h. Data comes in blocks, each stored as it is or coded: literals, and copies of what
 * came before, given by length and distance. Their codes have up to 15 bits, the first of them lowest, so one look
 * into a table of 2^15 entries finds a symbol and how many bits it took. Data that is damaged may
 * decode to nonsense, but is never read or written beyond its ends.
 */
#include "base/inflate.h"

#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

enum {
    MAX_BITS = 15,
    ENTRIES = 1 << MAX_BITS,
    LITERALS = 288, /* 256 bytes, the end of the block, 29 lengths of copies, 2 unused */
    DISTANCES = 32,
    ORDERS = 19, /* codes of the lengths of codes */
    END_OF_BLOCK = 256
};

/* [symbol << 4 | bits]; 0: no symbol has this code */
typedef uint16_t table_t[ENTRIES];

typedef struct inflate_t {
    const uint8_t *packed, *packed_end;
    uint64_t bits; /* read, not used yet: the next one lowest */
    unsigned bit_count;
    bool bad;
    uint8_t *begin, *to, *end;
    table_t literals, distances;
} inflate_t;

/* Makes at least 32 bits ready; past the end of the data they are zeros, which use_bits() refuses. */
static void read_bits(inflate_t *s) {
    while (s->bit_count <= 32 && s->packed < s->packed_end) {
        s->bits |= (uint64_t)*s->packed++ << s->bit_count;
        s->bit_count += 8;
    }
}

static uint32_t use_bits(inflate_t *s, unsigned count) {
    const uint32_t value = (uint32_t)(s->bits & ((UINT64_C(1) << count) - 1));
    if (count > s->bit_count) {
        s->bad = true;
        return 0;
    }
    s->bits >>= count;
    s->bit_count -= count;
    return value;
}

static uint32_t take_bits(inflate_t *s, unsigned count) {
    read_bits(s);
    return use_bits(s, count);
}

static unsigned take_symbol(inflate_t *s, const table_t table) {
    read_bits(s);
    const uint16_t entry = table[s->bits & (ENTRIES - 1)];
    if (entry == 0) s->bad = true;
    use_bits(s, entry & 15);
    return s->bad ? 0 : entry >> 4;
}

static unsigned reversed(unsigned code, unsigned bits) {
    unsigned result = 0;
    for (unsigned i = 0; i < bits; i++) result |= (code >> i & 1) << (bits - 1 - i);
    return result;
}

/* The canonical code: shorter codes first, then by symbol. lengths: [count], 0: unused */
static void make_table(inflate_t *s, table_t table, const uint8_t *lengths, unsigned count) {
    unsigned code = 0;
    memset(table, 0, sizeof(table_t));
    for (unsigned bits = 1; bits <= MAX_BITS; bits++, code <<= 1) {
        for (unsigned symbol = 0; symbol < count; symbol++) {
            if (lengths[symbol] != bits) continue;
            if (code >> bits != 0) { /* more codes than there are */
                s->bad = true;
                return;
            }
            for (unsigned i = reversed(code++, bits); i < ENTRIES; i += 1u << bits)
                table[i] = (uint16_t)(symbol << 4 | bits);
        }
    }
}

static void make_fixed_tables(inflate_t *s) {
    uint8_t lengths[LITERALS];
    for (int i = 0; i < LITERALS; i++) lengths[i] = i < 144 ? 8 : i < 256 ? 9 : i < 280 ? 7 : 8;
    make_table(s, s->literals, lengths, LITERALS);
    memset(lengths, 5, DISTANCES);
    make_table(s, s->distances, lengths, DISTANCES);
}

/* The lengths of a block's codes, themselves coded, with runs. */
static void read_tables(inflate_t *s) {
    static const uint8_t order[ORDERS] = {
        16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    uint8_t lengths[LITERALS + DISTANCES + 138] = {0}, order_lengths[ORDERS] = {0};
    const unsigned literals = 257 + take_bits(s, 5), distances = 1 + take_bits(s, 5);
    const unsigned orders = 4 + take_bits(s, 4);
    for (unsigned i = 0; i < orders; i++) order_lengths[order[i]] = (uint8_t)take_bits(s, 3);
    make_table(s, s->literals, order_lengths, ORDERS);
    for (unsigned i = 0; i < literals + distances && !s->bad;) {
        const unsigned symbol = take_symbol(s, s->literals);
        unsigned run = 1;
        uint8_t value = (uint8_t)symbol;
        if (symbol >= 16) {
            run = symbol == 16   ? 3 + take_bits(s, 2)
                  : symbol == 17 ? 3 + take_bits(s, 3)
                                 : 11 + take_bits(s, 7);
            value = symbol == 16 && i > 0 ? lengths[i - 1] : 0;
            if (symbol == 16 && i == 0) s->bad = true;
        }
        memset(lengths + i, value, run);
        i += run;
        if (i > literals + distances) s->bad = true;
    }
    if (literals > LITERALS || s->bad) {
        s->bad = true;
        return;
    }
    make_table(s, s->literals, lengths, literals);
    make_table(s, s->distances, lengths + literals, distances);
}

static void copy_stored(inflate_t *s) {
    use_bits(s, s->bit_count % 8);
    const uint32_t count = take_bits(s, 16), inverted = take_bits(s, 16);
    if ((count ^ inverted) != 0xFFFF || count > (size_t)(s->end - s->to)) s->bad = true;
    for (uint32_t i = 0; i < count && !s->bad; i++) *s->to++ = (uint8_t)take_bits(s, 8);
}

/* Copies begin where numbers of extra bits, two or four codes each, have led to. */
static unsigned take_length(inflate_t *s, unsigned symbol) {
    if (symbol < 8) return 3 + symbol;
    if (symbol >= 28) return 258;
    const unsigned extra = symbol / 4 - 1;
    return 3 + ((4 + symbol % 4) << extra) + take_bits(s, extra);
}

static unsigned take_distance(inflate_t *s) {
    const unsigned symbol = take_symbol(s, s->distances);
    if (symbol < 2) return 1 + symbol;
    const unsigned extra = symbol / 2 - 1;
    if (extra > 13) s->bad = true;
    return s->bad ? 1 : 1 + ((2 + symbol % 2) << extra) + take_bits(s, extra);
}

static void copy_earlier(inflate_t *s, unsigned symbol) {
    const unsigned length = take_length(s, symbol), distance = take_distance(s);
    if (distance > (size_t)(s->to - s->begin) || length > (size_t)(s->end - s->to)) {
        s->bad = true;
        return;
    }
    for (unsigned i = 0; i < length; i++, s->to++) *s->to = *(s->to - distance);
}

static void unpack_coded(inflate_t *s) {
    while (!s->bad) {
        const unsigned symbol = take_symbol(s, s->literals);
        if (symbol == END_OF_BLOCK) return;
        if (symbol > END_OF_BLOCK) {
            copy_earlier(s, symbol - END_OF_BLOCK - 1);
        } else if (s->to < s->end && !s->bad) {
            *s->to++ = (uint8_t)symbol;
        } else {
            s->bad = true;
        }
    }
}

static void unpack(inflate_t *s) {
    bool last = false;
    while (!last && !s->bad) {
        last = take_bits(s, 1) != 0;
        const unsigned kind = take_bits(s, 2);
        if (kind == 0) {
            copy_stored(s);
        } else if (kind == 3) {
            s->bad = true;
        } else {
            if (kind == 1) make_fixed_tables(s);
            if (kind == 2) read_tables(s);
            unpack_coded(s);
        }
    }
}

dg_status_t dg_inflate(const void *packed, size_t packed_bytes, void *bytes, size_t count) {
    inflate_t *s = malloc(sizeof *s);
    DG_REQUIRE(s != NULL, DG_STATUS_OUT_OF_MEMORY, "", "",
        "no memory to unpack %zu bytes; free some", count);
    s->packed = packed;
    s->packed_end = s->packed + packed_bytes;
    s->bits = 0;
    s->bit_count = 0;
    s->bad = false;
    s->begin = s->to = bytes;
    s->end = s->begin + count;
    unpack(s);
    const bool whole = !s->bad && s->to == s->end;
    free(s);
    DG_REQUIRE(whole, DG_STATUS_IO, "", "", "packed data is damaged; install the library again");
    return DG_STATUS_OK;
}
