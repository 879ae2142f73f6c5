// SPDX-License-Identifier: MIT
#include "base/data/seal.h"
#include "base/mem.h"
#include "tests/support/tap.h"

#include <stdlib.h>

static const char salt[] = "salt";

// Two ends, and what one of them has sent.
struct ends {
    seal caller, other;
    buf wire, got;
};

static struct ends meet(const char *a, const char *b, const char *text)
{
    struct ends e = {0};
    seal_init(&e.caller, a, salt, sizeof salt, true);
    seal_init(&e.other, b, salt, sizeof salt, false);
    seal_put(&e.caller, text, strlen(text), &e.wire);
    return e;
}

static void part(struct ends *e)
{
    buf_done(&e->wire);
    buf_done(&e->got);
}

TEST(both_directions_arrive)
{
    err e;
    struct ends s = meet("s3cret", "s3cret", "hello");
    CHECK_OK(seal_take(&s.other, &s.wire, &s.got, &e) == 0, e);
    CHECK_STR(buf_cstr(&s.got), "hello");
    CHECK_INT(s.wire.len, 0);
    buf_clear(&s.got);
    seal_put(&s.other, "answer", 6, &s.wire);
    CHECK_OK(seal_take(&s.caller, &s.wire, &s.got, &e) == 0, e);
    CHECK_STR(buf_cstr(&s.got), "answer");
    part(&s);
}

TEST(nothing_is_readable_and_nothing_looks_alike)
{
    struct ends s = meet("s3cret", "s3cret", "hello hello hello");
    size_t one = s.wire.len;
    CHECK(!memmem(s.wire.data, s.wire.len, "hello", 5));
    seal_put(&s.caller, "hello hello hello", 17, &s.wire);
    CHECK_INT(s.wire.len, 2 * one);
    CHECK(memcmp(s.wire.data + SEAL_HEADER, s.wire.data + one + SEAL_HEADER, 17) != 0);
    part(&s);
}

TEST(another_salt_is_another_key)
{
    err e;
    struct ends s = meet("s3cret", "s3cret", "hello");
    seal_init(&s.other, "s3cret", "pepper", 6, false);
    CHECK_INT(seal_take(&s.other, &s.wire, &s.got, &e), -1);
    part(&s);
}

TEST(another_secret_opens_nothing)
{
    err e;
    struct ends s = meet("s3cret", "guess", "hello");
    CHECK_INT(seal_take(&s.other, &s.wire, &s.got, &e), -1);
    CHECK_INT(e.code, ERR_INVALID);
    CHECK_INT(s.got.len, 0);
    part(&s);
}

TEST(an_end_does_not_open_what_it_has_sent)
{
    err e;
    struct ends s = meet("s3cret", "s3cret", "hello");
    CHECK_INT(seal_take(&s.caller, &s.wire, &s.got, &e), -1);
    part(&s);
}

TEST(every_changed_bit_is_noticed)
{
    err e;
    for (size_t bit = 0; bit < 8 * (SEAL_HEADER + 5 + SEAL_TAG); bit++) {
        struct ends s = meet("s3cret", "s3cret", "hello");
        s.wire.data[bit / 8] ^= (char)(1 << bit % 8);
        int result = seal_take(&s.other, &s.wire, &s.got, &e);
        CHECK_INT(s.got.len, 0);
        // A greater length waits for more bytes; that those do not fit is noticed then.
        CHECK(result == -1 || bit / 8 < SEAL_HEADER);
        for (int i = 0; result == 0 && i < SEAL_RECORD_MOST / 8 + 8; i++)
            buf_add(&s.wire, "????????", 8);
        CHECK(result == -1 || seal_take(&s.other, &s.wire, &s.got, &e) == -1);
        CHECK_INT(s.got.len, 0);
        part(&s);
    }
}

TEST(a_cut_record_is_not_opened)
{
    err e;
    struct ends s = meet("s3cret", "s3cret", "hello");
    buf in = {0};
    for (size_t i = 0; i < s.wire.len; i++) {
        CHECK_INT(s.got.len, 0);
        buf_add(&in, s.wire.data + i, 1);
        CHECK_OK(seal_take(&s.other, &in, &s.got, &e) == 0, e);
    }
    CHECK_STR(buf_cstr(&s.got), "hello");
    buf_done(&in);
    part(&s);
}

TEST(a_repeated_record_is_refused)
{
    err e;
    struct ends s = meet("s3cret", "s3cret", "hello");
    buf copy = {0};
    buf_add(&copy, s.wire.data, s.wire.len);
    buf_add(&s.wire, copy.data, copy.len);
    buf_done(&copy);
    CHECK_INT(seal_take(&s.other, &s.wire, &s.got, &e), -1);
    CHECK_STR(buf_cstr(&s.got), "hello"); // the first one was right
    CHECK_HAS(e.text, "repeated");
    part(&s);
}

TEST(a_record_that_was_left_out_is_noticed)
{
    err e;
    struct ends s = meet("s3cret", "s3cret", "hello");
    buf_clear(&s.wire);
    seal_put(&s.caller, "world", 5, &s.wire);
    CHECK_INT(seal_take(&s.other, &s.wire, &s.got, &e), -1);
    CHECK_INT(s.got.len, 0);
    part(&s);
}

TEST(lengths_are_bounded_before_anything_is_kept)
{
    err e;
    static const uint8_t lengths[][4] = {{0, 0, 0, 0}, {1, 0, 1, 0}, {0, 0, 0, 0x80}};
    for (size_t i = 0; i < ARRAY_LEN(lengths); i++) {
        struct ends s = meet("s3cret", "s3cret", "hello");
        buf_clear(&s.wire);
        buf_add(&s.wire, lengths[i], sizeof lengths[i]);
        CHECK_INT(seal_take(&s.other, &s.wire, &s.got, &e), -1);
        CHECK_HAS(e.text, "no record has so many");
        part(&s);
    }
}

TEST(much_is_cut_into_records_and_comes_in_any_pieces)
{
    err e;
    enum { N = 3 * SEAL_RECORD_MOST + 17 };
    struct ends s = meet("s3cret", "s3cret", "");
    char *much = malloc(N);
    for (int i = 0; i < N; i++)
        much[i] = (char)(i * 7 + i / 251);
    buf wire = {0};
    seal_put(&s.caller, much, N, &wire);
    CHECK_INT(wire.len, N + 4 * (SEAL_HEADER + SEAL_TAG));
    for (size_t at = 0; at < wire.len; at += 1009) {
        size_t left = wire.len - at;
        buf_add(&s.wire, wire.data + at, left < 1009 ? left : 1009);
        CHECK_OK(seal_take(&s.other, &s.wire, &s.got, &e) == 0, e);
    }
    CHECK_INT(s.got.len, N);
    CHECK(memcmp(s.got.data, much, N) == 0);
    buf_done(&wire);
    free(much);
    part(&s);
}

// RFC 8439 itself is nettle's to test; this is our framing, as another program would make it:
// Python's cryptography, HKDF(SHA256, 32, b"salt", b"firesteel from the caller"), nonce 0.
TEST(the_format_stays)
{
    struct ends s = {0};
    seal_init(&s.caller, "s3cret", "salt", 4, true);
    seal_put(&s.caller, "hello", 5, &s.wire);
    static const uint8_t want[] = {0x05, 0x00, 0x00, 0x00, 0x98, 0x58, 0x7b, 0xc9, 0xda, 0x7d, 0xa9,
        0xde, 0x23, 0x08, 0xe0, 0x04, 0xfc, 0xfb, 0x27, 0x85, 0x8b, 0x98, 0x28, 0x6e, 0xe4};
    CHECK_INT(s.wire.len, sizeof want);
    CHECK(memcmp(s.wire.data, want, sizeof want) == 0);
    part(&s);
}

int main(void)
{
    return tap_run();
}
