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
    check("a\x1b[31\x18m\x1b[1\x1am\n", "amm|"); // CAN and SUB end a sequence
    check("a\x1b[10;20Hb\x1b[5dc\x1b[?1049hd\x1b[?25l\x1b[?2Ke\n", "abcde|");
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
    check("ab\tc\r\x1b[C漢\n", "a漢     c|"); // the rest of the tab becomes blanks
}

TEST(a_line_is_erased_where_its_program_says)
{
    check("loading 10 MB\r\x1b[2Kdone\n", "done|"); // npm, pip
    check("loading\x1b[2K\rdone\n", "done|");
    check("abcdef\x1b[3D\x1b[0Kx\n", "abcx|");
    check("abcdef\x1b[3D\x1b[1Kx\n", "   xef|");
    check("abc\x1b[1Kx\n", "   x|");
    check("漢字\x1b[2D\x1b[Kx\n", "漢x|");
    check("漢字\x1b[3D\x1b[Kx\n", " x|"); // half of a wide character is a blank
    check("a\x1b[2K\x1b[1Gb\n", "b|");
    check("\x1b[31mabc\x1b[m\x1b[2K\n", "|");
}

TEST(columns_are_gone_to)
{
    check("ab\x1b[3Cc\n", "ab   c|");
    check("abc\x1b[2Dx\n", "axc|");
    check("abc\x1b[9Dx\n", "xbc|");
    check("abc\x1b[2Gx\x1b[`y\n", "yxc|");
    check("漢字漢\x1b[3GX\n", "漢X 漢|");
    check("漢字漢\x1b[4GX\n", "漢 X漢|");
    check("a\tb\x1b[2Gxy\n", "axy     b|");    // over a tab
    check("abcdefghij\r\tx\n", "abcdefghxj|"); // a tab over text only moves
    check("ab\r\tx\n", "ab\tx|");
    check("e\x1b[D\xcc\x81x\t\xcc\x81\n", "x\t|"); // a mark needs something to stand on
    AUTO_BUF edge = {0};
    buf_fmt(&edge, "%79s[|", "");
    check("\x1b[999C[\n", buf_cstr(&edge));
}

TEST(lines_above_are_rewritten)
{
    // tqdm with two bars, as it writes them when their output is no terminal's
    check("a:   0%\n\rb:   0%\x1b[A\ra:  50%\n\rb:  50%\x1b[A\ra: 100%\n\rb: 100%\n",
        "a: 100%|b: 100%|");
    // docker pull
    check("one: wait\ntwo: wait\n\x1b[2A\x1b[2K\rone: done\x1b[2B\r\x1b[1A\x1b[2K\rtwo: done"
          "\x1b[1B\rend\n",
        "one: done|two: done|end|");
    // rich: it erases its lines one by one, and draws them anew
    check("A 1\nB 1\x1b[2K\x1b[1A\x1b[2K\rA 2\nB 2\n", "A 2|B 2|");
    check("gone 1\ngone 2\n\x1b[1A\x1b[2K\x1b[1A\x1b[2Kafter\n", "after|");
    check("gone 1\ngone 2\n\x1b[1A\x1b[2K\x1b[1A\x1b[2K", "");
    check("a\nb\nc\n\x1b[2F\x1b[Jx\n", "a|x|");
    check("a\nb\nc\x1b[1A\x1b[1Jx\n", "| x|c|");
    check("a\nb\nc\x1b[2Fx\x1b[Ey\x1b[9Ez\n", "x|y|z|");
    check("a\x1b[5Ab\n", "ab|"); // there is nothing above
    check("a\n\x1b[sb\nc\x1b[ud\n\x1b[1Ae\x1b"
          "7f\ng\x1b"
          "8h\n",
        "a|eh|g|");
}

TEST(what_is_cleared_from_a_screen_stays_above)
{
    check("one\n\x1b[H\x1b[2J\x1b[3Jtwo\n\x1b[5Athree\n", "one|three|");
    check("half\x1b[2Jnext\n", "half|next|");
}

TEST(lines_that_are_far_above_are_settled)
{
    AUTO_BUF out = {0};
    for (int i = 0; i < 100; i++)
        buf_fmt(&out, "line %d\n", i);
    buf_str(&out, "\x1b[500Ahere");
    const char *all = lines(out.data, out.len, 0, 7);
    CHECK(strstr(all, "line 36|here 37|line 38|")); // the window's first
    AUTO_BUF tail = {0};
    buf_str(&tail, lines(out.data, out.len, 0, 1) + strlen(all) - strlen("line 98|line 99|"));
    CHECK_STR(lines(out.data, out.len, 2, 1), buf_cstr(&tail)); // a limit does not move the window
    ansi_text *t = ansi_text_new(2);
    ansi_text_feed(t, out.data, out.len);
    CHECK_INT(ansi_text_calm(t), 0);
    CHECK(!ansi_text_is_open(t));
    CHECK_INT(ansi_text_lines(t) + ansi_text_dropped(t), 100);
    ansi_text_free(t);
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
