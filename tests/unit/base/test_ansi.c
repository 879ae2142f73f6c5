// SPDX-License-Identifier: MIT
#include "base/text/ansi.h"
#include "tests/support/tap.h"

static const char *lines(const char *bytes, size_t n, size_t limit, size_t chunk)
{
    static buf out;
    buf_clear(&out);
    ansi_text *t = ansi_text_new(limit);
    for (size_t i = 0; i < n; i += chunk)
        ansi_text_feed(t, bytes + i, n - i < chunk ? n - i : chunk);
    for (size_t i = 0; i < ansi_text_lines(t); i++) {
        struct ansi_line l = ansi_text_line(t, i);
        for (size_t s = 0; s < l.spans_n; s++) {
            style st = l.spans[s].style;
            if (st.fg || st.bg || st.attrs)
                buf_fmt(&out, "<%x,%x,%x>", st.fg, st.bg, st.attrs);
            buf_add(&out, l.text + l.spans[s].from, l.spans[s].to - l.spans[s].from);
        }
        buf_char(&out, '|');
    }
    ansi_text_free(t);
    return buf_cstr(&out);
}

// The same in pieces of one byte, since output arrives in any pieces.
static void check(const char *bytes, const char *want)
{
    CHECK_STR(lines(bytes, strlen(bytes), 0, strlen(bytes)), want);
    CHECK_STR(lines(bytes, strlen(bytes), 0, 1), want);
}

TEST(colours_and_attributes)
{
    check("a\x1b[31mb\x1b[0mc\n", "a<1000001,0,0>bc|");
    check("\x1b[1;4;38;5;208mx\x1b[22mx\n", "<10000d0,0,9>x<10000d0,0,8>x|");
    check("\x1b[38;2;1;2;3;44mx\x1b[39;49mx\n", "<2010203,1000004,0>xx|");
    check("\x1b[38:2::1:2:3mx\x1b[m\x1b[48:5:7mx\n", "<2010203,0,0>x<0,1000007,0>x|");
    check("\x1b[97;100mx\x1b[mx\n", "<100000f,1000008,0>xx|");
    check("\x1b[31mred\nstill\x1b[m\n", "<1000001,0,0>red|<1000001,0,0>still|");
}

TEST(a_selected_look_is_read_back)
{
    static const style looks[] = {{0}, {.fg = COLOR_INDEX(3)}, {.attrs = ATTR_BOLD | ATTR_STRIKE},
        {COLOR_INDEX(200), COLOR_INDEX(0), ATTR_REVERSE | ATTR_DIM | ATTR_ITALIC},
        {COLOR_RGB(1, 2, 3), COLOR_RGB(250, 0, 9), ATTR_UNDERLINE | ATTR_BLINK}};
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        AUTO_BUF bytes = {0};
        buf_str(&bytes, "\x1b[1;31;44m"); // all that was goes
        ansi_select(&bytes, looks[i]);
        buf_char(&bytes, 'x');
        ansi_text *t = ansi_text_new(0);
        ansi_text_feed(t, bytes.data, bytes.len);
        CHECK(style_equal(ansi_text_line(t, 0).spans[0].style, looks[i]));
        ansi_text_free(t);
    }
}

TEST(what_is_left_on_is_found_in_any_bytes)
{
    static const char text[] = "a\x1b[1mb\nc\x1b]0;\x1b[2m\nd\x1b[31me\x1b[\n\xc3";
    const style want = {.fg = COLOR_INDEX(1), .attrs = ATTR_BOLD | ATTR_DIM};
    CHECK(style_equal(ansi_after((style){0}, text, sizeof text - 1), want));
    CHECK(style_equal(ansi_after(want, "no change", 9), want));
    CHECK(style_equal(ansi_after(want, "x\x1b[my", 5), (style){0}));
    for (uint64_t at = 0; at < 200000; at += 777)
        CHECK(ansi_reach(at) <= at && ansi_reach(at) < 32 << 10 &&
              (ansi_reach(at) == at || ansi_reach(at) >= 16 << 10));
}

TEST(everything_else_is_dropped)
{
    check("a\x1b[2Jb\x1b[10;20Hc\x1b[?1049hd\n", "abcd|");
    check("a\x1b]0;title\x07"
          "b\x1b]52;c;aGk=\x1b\\c\n",
        "abc|");
    check("a\x1bP1$r0m\x1b\\b\x1b(0c\x1b"
          "7d\x1b#8e\n",
        "abcde|");
    check("a\x07\x00\x0e\x0f\x7f"
          "b\n",
        "a|"); // (C strings end at the NUL; see below)
    check("a\xc2\x9b"
          "31mb\xc2\x85\n",
        "a31mb|");                  // C1
    check("a\x1b[31\nb\n", "a|b|"); // cut off in mid-sequence
    check("a\x1b]0;x\nb\n", "a|b|");
    check("a\x1bPq\x1b\nb\x1b\nc\n", "a|b|c|");
    check("\x1b[999999999999999999;;;;;;;;;;;;;;;;;;;;;;;;;1mx\n", "x|");
    const char nul[] = "a\0b\x07"
                       "c\n";
    CHECK_STR(lines(nul, sizeof nul - 1, 0, 1), "abc|");
}

TEST(broken_utf8_is_replaced_and_split_is_not)
{
    check("漢\xff"
          "a\xe6\n",
        "漢\xef\xbf\xbd"
        "a\xef\xbf\xbd|");
}

TEST(returns_and_backspaces_write_over)
{
    check("10%\r20%\r100%\n", "100%|");
    check("hello\rHE\n", "HEllo|");
    check("hello\r\x1b[Kab\n", "ab|");
    check("abc\b\bX\n", "aXc|");
    check("漢字\rab\n", "ab字|");
    check("\x1b[31mabc\x1b[m\rx\n", "x<1000001,0,0>bc|");
    check("a\r\nb\r\n", "a|b|");
    check("\b\b\ba\tb\n", "a\tb|");
}

TEST(a_last_line_counts_when_it_has_something)
{
    check("a\nb", "a|b|");
    check("a\n\n", "a||");
    check("", "");
}

TEST(only_the_newest_lines_are_kept)
{
    AUTO_BUF out = {0};
    for (int i = 0; i < 1000; i++)
        buf_fmt(&out, "line %d\n", i);
    CHECK_STR(lines(out.data, out.len, 3, 7), "line 997|line 998|line 999|");
    ansi_text *t = ansi_text_new(3);
    ansi_text_feed(t, out.data, out.len);
    CHECK_INT(ansi_text_lines(t) + ansi_text_dropped(t), 1000);
    ansi_text_free(t);
}

int main(void)
{
    return tap_run();
}
