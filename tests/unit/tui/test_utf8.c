// SPDX-License-Identifier: MIT
#include "base/text/utf8.h"

#include "base/mem.h"
#include "tests/support/tap.h"
#include "tui/grid/layout.h"

#include <locale.h>
#include <string.h>
#include <utf8proc.h>
#include <wchar.h>

TEST(points_survive_a_round_trip)
{
    static const uint32_t points[] = {'a', 0x7F, 0x80, 0x7FF, 0x800, 0xFFFD, 0x10000, 0x10FFFF};
    for (size_t i = 0; i < sizeof points / sizeof points[0]; i++) {
        char bytes[4];
        size_t n = utf8_encode(points[i], bytes), len;
        CHECK_INT(utf8_decode(bytes, n, &len), points[i]);
        CHECK_INT(len, n);
    }
}

TEST(invalid_bytes_are_replaced_one_by_one)
{
    size_t len;
    CHECK_INT(utf8_decode("\xff", 1, &len), 0xFFFD);
    CHECK_INT(len, 1);
    CHECK_INT(utf8_decode("\xc3", 1, &len), 0xFFFD);
    CHECK_INT(utf8_decode("\xed\xa0\x80", 3, &len), 0xFFFD); // a surrogate
    CHECK_INT(len, 1);
}

TEST(widths_are_those_of_the_c_library)
{
    if (!setlocale(LC_CTYPE, "C.UTF-8"))
        SKIP("no locale C.UTF-8");
    int differ = 0;
    for (uint32_t c = 0x20; c < 0x30000; c++) {
        int theirs = wcwidth((wchar_t)c);
        differ += theirs >= 0 && theirs != point_width(c);
    }
    CHECK(differ < 200); // a newer C library knows newer characters
    CHECK_INT(point_width(0x6F22), 2);
    CHECK_INT(point_width(0x301), 0);
    CHECK_INT(point_width(0x1F600), 2);
    CHECK_INT(point_width(0x1B), -1);
    CHECK_INT(point_width(0x9B), -1);
}

TEST(a_grapheme_takes_its_marks_along)
{
    const char *s = "e\xcc\x81x"; // e, combining acute, x
    CHECK_INT(utf8_cluster(s, 4), 3);
    CHECK_INT(utf8_cluster_before(s, 3), 3);
    CHECK_INT(utf8_cluster_before(s, 4), 1);
    CHECK_INT(utf8_cluster_before("a\xff", 2), 1);
    CHECK_INT(utf8_cluster_before("\n\xcc\x81", 3), 2);
    CHECK_INT(utf8_cluster_before("", 0), 0);
}

#define MAN    "\U0001F468"
#define WOMAN  "\U0001F469"
#define GIRL   "\U0001F467"
#define BOY    "\U0001F466"
#define ZWJ    "\u200D"
#define FAMILY MAN ZWJ WOMAN ZWJ GIRL
#define D      "\U0001F1E9"
#define E      "\U0001F1EA"
#define THUMB  "\U0001F44D"
#define TONE   "\U0001F3FD"

// Each case is written with "|" where a cluster ends.
static const char *const cut[] = {"a|b|c", FAMILY "|x", FAMILY "|" FAMILY, "a|" D E "|b",
    D E "|" D, // three indicators: a flag, and a letter
    D E "|" E D "|" D, "e\u0301|e", "x|e\u0301\u0323|\u00E9|y",
    "\u1100\u1161\u11A8|\u1100\u1161|\uAC01|\uAC00\u11A8", // Hangul, of jamo and composed
    "a|\u0915\u093F|\u0915\u094D",                         // ka i, ka virama
    THUMB TONE "|" THUMB, "a| |" TONE "| |" TONE "|" TONE, // tones of an emoji, in a list
    "\u261D\uFE0F" TONE "|.", "\u2764\uFE0F|1\uFE0F\u20E3|2", "a\u200B|b", "a|\t|\u0301|b",
    "\u0301|a", "\r|\n", "\xff|\xff|a", "\u6F22|\u5B57|" MAN, // not joined
    "\u0600a|b",                                              // a sign that stands before a number
    MAN ZWJ WOMAN ZWJ GIRL ZWJ BOY "|."};

// The case without its bars; ends[i]: a cluster ends before byte i.
static size_t without_bars(const char *s, char *out, bool *ends)
{
    size_t n = 0;
    memset(ends, 0, 100);
    for (; *s; s++)
        if (*s == '|')
            ends[n] = true;
        else
            out[n++] = *s;
    ends[n] = true;
    return n;
}

static void check_cut(const char *s, size_t n, const bool *ends)
{
    for (size_t at = 0, from = 0; at < n; from = at) {
        at += utf8_cluster(s + at, n - at);
        for (size_t i = from + 1; i <= at; i++)
            CHECK_INT(ends[i], i == at);
        CHECK_INT(utf8_cluster_before(s, at), at - from);
        for (size_t i = from; i < at; i++)
            CHECK_INT(utf8_cluster_start(s, n, i), from);
    }
    CHECK_INT(utf8_cluster_start(s, n, n), n);
}

TEST(clusters_end_where_a_person_sees_them_end)
{
    for (size_t i = 0; i < ARRAY_LEN(cut); i++) {
        char s[100];
        bool ends[100];
        size_t n = without_bars(cut[i], s, ends);
        check_cut(s, n, ends);
    }
    CHECK_INT(utf8_cluster("", 0), 0);
}

// utf8proc knows the rule since Unicode 15.1: before, the consonant behind a virama stands alone.
TEST(a_conjunct_is_one_where_utf8proc_knows_it)
{
    static const char kshi[] = "\u0915\u094D\u0937\u093F"; // ka virama ssa i
    bool knows = strverscmp(utf8proc_unicode_version(), "15.1") >= 0;
    CHECK_INT(utf8_cluster(kshi, 12), knows ? 12 : 6);
    CHECK_INT(utf8_cluster_before(kshi, 12), knows ? 12 : 6);
    CHECK_INT(text_width(kshi, 12, 0), 3);
}

// Forwards and backwards agree on any text, and no cluster is too wide to be wrapped.
TEST(clusters_are_the_same_from_both_sides)
{
    static const char *const pieces[] = {"a", " ", ZWJ, MAN, GIRL, D, E, TONE, "\u0301", "\u0915",
        "\u094D", "\u093F", "\u1100", "\u1161", "\u11A8", "\uAC00", "\u0600", "\u200B", "\uFE0F",
        "\t", "\xff", "\xe2\x82", "\u6F22"};
    unsigned seed = 7;
    for (int round = 0; round < 5000; round++) {
        char s[100];
        size_t n = 0, ends[100], count = 0;
        while (n < 60) {
            seed = seed * 1103515245u + 12345u;
            const char *piece = pieces[(seed >> 16) % (round % 2 ? ARRAY_LEN(pieces) : 9)];
            memcpy(s + n, piece, strlen(piece));
            n += strlen(piece);
        }
        for (size_t at = 0; at < n; ends[count++] = at) {
            size_t len = utf8_cluster(s + at, n - at);
            CHECK(len > 0 && text_width(s + at, len, 0) <= CLUSTER_COLUMNS);
            at += len;
        }
        for (size_t at = n; count--; at -= utf8_cluster_before(s, at))
            CHECK_INT(at, ends[count]);
    }
}

TEST(nothing_is_cut_or_wrapped_inside_a_cluster)
{
    int width;
    CHECK_INT(text_width(FAMILY, strlen(FAMILY), 0), 6); // what a terminal without joining advances
    CHECK_INT(text_fit("a" FAMILY "b", strlen(FAMILY) + 2, 6, &width), 1);
    CHECK_INT(width, 1);
    CHECK_INT(text_fit("a" FAMILY "b", strlen(FAMILY) + 2, 7, &width), 1 + strlen(FAMILY));
    CHECK_INT(width, 7);
    CHECK_INT(text_fit(D E D, 12, 1, &width), 0);
    CHECK_INT(text_fit(D E D, 12, 2, &width), 8);
    CHECK_INT(text_fit(THUMB TONE, 8, 3, &width), 0);
    CHECK_INT(text_fit("\u0915\u093F", 6, 1, &width), 0);
    CHECK_INT(layout_wrap("ab" D E, 10, 3), 2);
    CHECK_INT(layout_wrap(FAMILY "x", strlen(FAMILY) + 1, 2), strlen(FAMILY)); // always something
    CHECK_INT(layout_wrap("a \u0301bc", 7, 3), 5); // a blank with a mark is none
}

TEST(what_two_texts_have_in_common_ends_between_clusters)
{
    CHECK_INT(utf8_common("loss", "lower"), 2);
    CHECK_INT(utf8_common("loss", "loss"), 4);
    CHECK_INT(utf8_common("", "x"), 0);
    CHECK_INT(utf8_common("x\u00E4", "x\u00E5"), 1); // one byte more is the same
    CHECK_INT(utf8_common("caf"
                          "e",
                  "caf"
                  "e\u0301"),
        3);                                      // e is not é
    CHECK_INT(utf8_common("a" D E, "a" D D), 1); // two flags
    CHECK_INT(utf8_common("a" FAMILY "b", "a" FAMILY "c"), 1 + strlen(FAMILY));
}

TEST(text_is_measured_with_tabs)
{
    CHECK_INT(text_width("a\tb", 3, 0), 9);
    CHECK_INT(text_width("\t", 1, 3), 5);
    CHECK_INT(text_width("漢é", 5, 0), 3);
    int width;
    CHECK_INT(text_fit("a漢b", 5, 2, &width), 1); // half of a wide character does not fit
    CHECK_INT(width, 1);
    CHECK_INT(text_fit("abc", 3, 10, &width), 3);
}

TEST(a_row_that_goes_on_is_indented_as_its_line_and_more)
{
    int indent = -1;
    const char *line = "    INFO a message of some words";
    size_t n = strlen(line), from = layout_wrap_on(line, n, 0, 20, &indent);
    CHECK_INT(from, 19); // "    INFO a message "
    CHECK_INT(indent, 0);
    from += layout_wrap_on(line, n, from, 20, &indent);
    CHECK_INT(indent, 6);
    CHECK_INT(from, n);
    CHECK_INT(layout_wrap_on("abcdefghij", 10, 4, 4, &indent), 3); // no more than a third of it
    CHECK_INT(indent, 1);
    CHECK_INT(layout_wrap_on("abc", 3, 2, 1, &indent), 1);
    CHECK_INT(indent, 0);
    CHECK_INT(layout_wrap_on("\tx yyyyyyyyyyyyyyyy", 19, 3, 30, &indent), 16);
    CHECK_INT(indent, 10);
}

TEST(lines_wrap_behind_blanks)
{
    CHECK_INT(layout_wrap("hello world", 11, 8), 6);
    CHECK_INT(layout_wrap("hello world", 11, 5), 6); // the blank may stand over the edge
    CHECK_INT(layout_wrap("helloworld", 10, 4), 4);
    CHECK_INT(layout_wrap("漢字", 6, 1), 3); // always something
    CHECK_INT(layout_wrap("hi", 2, 8), 2);
}

TEST(columns_share_the_room)
{
    const struct column columns[] = {{4, 10, 0}, {4, 20, 1}, {3, 6, 0}};
    int w[3];
    layout_columns(columns, 3, 1, 50, w);
    CHECK(w[0] == 10 && w[1] == 32 && w[2] == 6); // all of it, to the one with a weight
    layout_columns(columns, 3, 1, 28, w);
    CHECK_INT(w[0] + w[1] + w[2], 26);
    CHECK(w[0] == 10 && w[1] == 10 && w[2] == 6); // the widest gave
    layout_columns(columns, 3, 1, 10, w);
    CHECK(w[0] == 4 && w[1] == 5 && w[2] == 0); // the last is hidden, its room is used
    layout_columns(columns, 3, 1, 2, w);
    CHECK(w[0] == 2 && w[1] == 0 && w[2] == 0);
}

int main(void)
{
    return tap_run();
}
