// SPDX-License-Identifier: MIT
#include "base/text/utf8.h"
#include "tests/support/tap.h"
#include "tui/grid/layout.h"

#include <locale.h>
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
    CHECK_INT(grapheme_len(s, 4), 3);
    CHECK_INT(grapheme_len_before(s, 3), 3);
    CHECK_INT(grapheme_len_before(s, 4), 1);
    CHECK_INT(grapheme_len_before("a\xff", 2), 1);
    CHECK_INT(grapheme_len_before("\n\xcc\x81", 3), 2);
    CHECK_INT(grapheme_len_before("", 0), 0);
}

TEST(text_is_measured_with_tabs)
{
    CHECK_INT(text_width("a\tb", 3, 0), 5);
    CHECK_INT(text_width("\t", 1, 3), 1);
    CHECK_INT(text_width("漢é", 5, 0), 3);
    int width;
    CHECK_INT(text_fit("a漢b", 5, 2, &width), 1); // half of a wide character does not fit
    CHECK_INT(width, 1);
    CHECK_INT(text_fit("abc", 3, 10, &width), 3);
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
