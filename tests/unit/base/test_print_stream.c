// SPDX-License-Identifier: MIT
// What `firesteel run` prints of a stream, whatever the pieces that it comes in.
#include "cli/print/print_stream.h"
#include "tests/support/tap.h"

static void put(void *arg, const char *text, size_t n)
{
    buf_add(arg, text, n);
}

static const char *printed(const char *bytes, size_t chunk)
{
    static buf out;
    print_stream *s = print_stream_new();
    buf_clear(&out);
    for (size_t i = 0, n = strlen(bytes); i < n; i += chunk)
        print_stream_feed(s, bytes + i, n - i < chunk ? n - i : chunk, put, &out);
    print_stream_end(s, put, &out);
    print_stream_free(s);
    return buf_cstr(&out);
}

static void check(const char *bytes, const char *want)
{
    CHECK_STR(printed(bytes, 1), want);
    CHECK_STR(printed(bytes, strlen(bytes)), want);
}

TEST(lines_go_out_as_they_are_done)
{
    AUTO_BUF out = {0}, open = {0};
    print_stream *s = print_stream_new();
    print_stream_feed(s, "one\ntwo\rTW\nthr\xe6", 15, put, &out);
    CHECK_STR(buf_cstr(&out), "one\nTWo\n");
    print_stream_open(s, &open);
    CHECK_STR(buf_cstr(&open), "thr");
    print_stream_end(s, put, &out);
    CHECK_STR(buf_cstr(&out), "one\nTWo\nthr\n");
    print_stream_feed(s, "new\n", 4, put, &out);
    CHECK_STR(buf_cstr(&out), "one\nTWo\nthr\nnew\n");
    print_stream_free(s);
    check("a\n\nb", "a\n\nb\n");
    check("", "");
}

TEST(of_bars_that_are_redrawn_the_last_state_follows)
{
    check("a:   0%\n\rb:   0%\x1b[A\ra:  50%\n\rb:  50%\x1b[A\ra: 100%\n\rb: 100%\ndone\n",
        "a:   0%\na: 100%\nb: 100%\ndone\n");
    // What comes after them is not held back.
    AUTO_BUF out = {0};
    print_stream *s = print_stream_new();
    static const char more[] = "a: 0%\n\x1b[Aa: 9%\n1\n2\n3\n4\n";
    print_stream_feed(s, more, sizeof more - 1, put, &out);
    CHECK_STR(buf_cstr(&out), "a: 0%\na: 9%\n1\n2\n3\n4\n");
    print_stream_free(s);
}

TEST(nothing_is_lost_of_many_lines)
{
    AUTO_BUF in = {0};
    for (int i = 0; i < 1000; i++)
        buf_fmt(&in, "line %d\n%s", i, i % 2 ? "\x1b[A" : ""); // the next writes over every second
    const char *out = printed(in.data, 7);
    CHECK_HAS(out, "line 0\n");
    CHECK_HAS(out, "line 500\nline 502\nline 504\n");
    CHECK_HAS(out, "line 996\nline 998\nline 999\n");
}

// The same, whether it comes line by line or in blocks, of which plain lines go out as they are.
TEST(blocks_of_plain_lines_go_out_as_single_lines_do)
{
    AUTO_BUF in = {0}, want = {0};
    for (int i = 0; i < 300; i++)
        buf_fmt(&in, "line %d\n%s", i, i % 50 == 7 ? "\n" : "");
    buf_add(&want, in.data, in.len);
    check(in.data, buf_cstr(&want));
    // The last 64 can still be written over; what is older cannot.
    buf_str(&in, "\x1b[2A\rLINE 298\nLINE 299\n");
    buf_str(&want, "LINE 298\nLINE 299\n");
    check(in.data, buf_cstr(&want));
    // Empty lines at the end, a title that has no end, and a block behind each.
    for (int i = 0; i < 200; i++)
        buf_fmt(&in, "%sx %d\n", i == 0 ? "\n\n" : i == 100 ? "\x1b]0;title" : "", i);
    for (int i = 0; i < 200; i++)
        if (i == 0 || i == 100) // the sequence takes its line's text
            buf_str(&want, i ? "\n" : "\n\nx 0\n");
        else
            buf_fmt(&want, "x %d\n", i);
    check(in.data, buf_cstr(&want));
}

int main(void)
{
    return tap_run();
}
