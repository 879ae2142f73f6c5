// SPDX-License-Identifier: MIT
// Streams whose programs go up and rewrite lines: the numbered lines are those that a whole pass
// over the stream leaves, while it grows and moves from memory to a spool.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "tests/support/tap.h"
#include "tui/part/lines/lines.h"
#include "tui/part/lines/rewrites.h"

static uint32_t random_state;

static uint32_t roll(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(random_state >> 4) * n >> 28);
}

struct stream {
    buf all;        // all that was printed
    size_t heard;   // so much of it has come
    size_t in_text; // so much of that at most is a text; the rest is in the spool
    spool *spool;
    size_t spooled;
    lines *lines;
    unsigned n; // of lines, to tell one from another
};

static void open_stream(struct stream *s, const char *name)
{
    err e = {0};
    *s = (struct stream){.lines = lines_new(), .spool = spool_create(tap_dir(), name, &e)};
    CHECK_OK(s->spool, e);
}

static void close_stream(struct stream *s)
{
    lines_free(s->lines);
    spool_close(s->spool);
    buf_done(&s->all);
}

static void print_lines(struct stream *s, uint32_t n)
{
    static const char *const words[] = {"plain", "\033[32mgreen\033[0m", "0%\r50%\r100%", "",
        "\033[1mbold goes on", "\033[0mends", "wide \xe6\xbc\xa2"};
    while (n-- > 0)
        buf_fmt(&s->all, "%u %s\n", s->n++, words[roll(ARRAY_LEN(words))]);
}

// Several bars that are drawn again and again, as rich and docker do; or a list of lines above one.
static void print_bars(struct stream *s)
{
    uint32_t bars = 1 + roll(6), times = roll(40);
    for (uint32_t t = 0; t <= times; t++) {
        if (t)
            buf_fmt(&s->all, "\033[%uA", bars);
        if (roll(4) == 0)
            buf_fmt(&s->all, "\033[2K\033[33m%u above the bars\033[0m\n", s->n++);
        for (uint32_t i = 0; i < bars; i++)
            buf_fmt(&s->all, "\033[2K\r%u: %u%%\n", i, t * 100 / (times + 1));
    }
}

// A nested bar of tqdm: down, drawn, and up again, without a newline at its end.
static void print_nested(struct stream *s)
{
    for (uint32_t t = roll(30); t > 0; t--)
        buf_fmt(&s->all, "\router %u\n\rinner %u\033[A", t, t * 7);
    buf_str(&s->all, roll(2) ? "\n\n" : "\n");
}

static void print_some(struct stream *s)
{
    uint32_t what = roll(10);
    if (what < 4)
        print_lines(s, roll(20));
    else if (what < 5)
        print_lines(s, 200 + roll(400));
    else if (what < 7)
        print_bars(s);
    else if (what < 8)
        print_nested(s);
    else if (what < 9)
        buf_str(&s->all, "half a line \033[2J");
    else
        buf_str(&s->all, "no end");
}

static void load(struct stream *s)
{
    err e = {0};
    size_t in_text = s->in_text < s->heard ? s->in_text : s->heard, behind = s->heard - in_text;
    if (behind > s->spooled)
        CHECK_OK(spool_append(
                     s->spool, s->all.data + in_text + s->spooled, behind - s->spooled, 1, &e) == 0,
            e);
    s->spooled = behind;
    struct linestream now = {.text = buf_cstr(&s->all),
        .n = in_text,
        .dir = tap_dir(),
        .spool = behind ? spool_name(s->spool) : NULL,
        .to = behind};
    do {
        lines_begin(s->lines);
        lines_add_stream(s->lines, &now, (style){0});
        lines_end(s->lines);
    } while (lines_reading(s->lines));
}

static style look_of(const struct ansi_line *line, size_t byte)
{
    for (size_t i = 0; i < line->spans_n; i++)
        if (byte < line->spans[i].to)
            return line->spans[i].style;
    return (style){0};
}

static bool equal(const struct ansi_line *a, const struct ansi_line *b)
{
    if (a->n != b->n || (a->n && memcmp(a->text, b->text, a->n) != 0))
        return false;
    for (size_t i = 0; i < a->n; i++)
        if (!style_equal(look_of(a, i), look_of(b, i)))
            return false;
    return true;
}

static void compare(struct stream *s)
{
    struct numbered_line line;
    ansi_text *whole = ansi_text_new(0);
    ansi_text_feed(whole, buf_cstr(&s->all), s->heard);
    size_t n = ansi_text_lines(whole);
    // A last line that has bytes, but shows nothing yet, may count already.
    uint64_t total = lines_total(s->lines);
    if (total == n + 1 && lines_get(s->lines, n, &line) && !line.text.n)
        CHECK(s->all.data[s->heard - 1] != '\n');
    else
        CHECK_INT(total, n);
    for (size_t i = 0; i < n; i++) {
        struct ansi_line wanted = ansi_text_line(whole, i);
        CHECK(lines_get(s->lines, i, &line));
        if (!equal(&line.text, &wanted)) {
            printf("# line %zu of %zu\n", i, n);
            CHECK_STR(line.text.text, wanted.text);
            CHECK(false);
        }
        CHECK_INT(line.number, i);
    }
    ansi_text_free(whole);
}

// It comes in pieces of any length: in the middle of a sequence, or of a character.
TEST(lines_are_as_they_became)
{
    for (uint32_t seed = 0; seed < (TAP_SANITIZED ? 30 : 150); seed++) {
        struct stream s;
        AUTO_FREE char *name = str_fmt("stream-%u", seed);
        random_state = seed;
        open_stream(&s, name);
        for (int step = 0; step < 12; step++)
            print_some(&s);
        s.in_text = roll((uint32_t)s.all.len + 1);
        while (s.heard < s.all.len) {
            uint32_t more = 1 + roll(roll(2) ? 12 : 4000);
            s.heard += more < s.all.len - s.heard ? more : s.all.len - s.heard;
            load(&s);
            compare(&s);
        }
        CHECK(!lines_gave_up(s.lines));
        close_stream(&s);
    }
}

TEST(a_search_and_a_filter_see_what_is_left)
{
    struct stream s;
    uint64_t hit;
    random_state = 7;
    open_stream(&s, "searched");
    print_lines(&s, 300);
    buf_str(&s.all,
        "first: waiting\nsecond: waiting\n\033[2A\033[2Kfirst: done\n\033[2Ksecond: done\n");
    print_lines(&s, 300);
    s.heard = s.all.len;
    load(&s);
    lines_search(s.lines, "waiting", 0, false);
    while (lines_work(s.lines))
        continue;
    CHECK_INT(lines_searched(s.lines, &hit), SEARCH_NOWHERE);
    lines_filter(s.lines, ": done");
    while (lines_work(s.lines))
        continue;
    CHECK_INT(lines_count(s.lines), 2);
    struct numbered_line line;
    CHECK(lines_get(s.lines, 1, &line));
    CHECK_STR(line.text.text, "second: done");
    CHECK_INT(line.number, 301);
    lines_filter(s.lines, "");
    lines_search(s.lines, "second: done", 0, false);
    while (lines_work(s.lines))
        continue;
    CHECK_INT(lines_searched(s.lines, &hit), SEARCH_FOUND);
    CHECK_INT(hit, 301);
    close_stream(&s);
}

// 300,000 lines above a bar that is drawn again after each: what comes costs what it is, and memory
// has a bound.
TEST(a_long_stream_that_never_rests)
{
    enum { LINES = 300000 };
    struct stream s;
    struct numbered_line line;
    int64_t longest = 0, start = clock_mono();
    open_stream(&s, "restless");
    buf_str(&s.all, "bar 0%\n");
    for (unsigned i = 0; i < LINES; i++) {
        buf_fmt(&s.all, "\033[1A\033[2Kstep %u: loss 0.123456 and some words more\nbar %u\n", i, i);
        if (i % 1000)
            continue;
        int64_t before = clock_mono();
        s.heard = s.all.len;
        load(&s);
        int64_t took = clock_mono() - before;
        longest = took > longest ? took : longest;
    }
    s.heard = s.all.len;
    load(&s);
    int64_t all = clock_mono() - start, before = clock_mono();
    uint64_t n = lines_total(s.lines);
    CHECK(lines_get(s.lines, n - 1, &line));
    CHECK_STR(line.text.text, "bar 299999");
    CHECK(lines_get(s.lines, n - 2, &line));
    CHECK_HAS(line.text.text, "step 299999: loss");
    CHECK(lines_get(s.lines, n - 20000, &line));
    CHECK_HAS(line.text.text, "step 280001: loss");
    CHECK(lines_gave_up(s.lines));
    load(&s); // nothing is new
    printf("# %d lines that are rewritten: %.0f ms in all, %.1f ms at most for 1,000 of them; "
           "%.2f ms when nothing is new\n",
        LINES, (double)all / (double)CLOCK_MS, (double)longest / (double)CLOCK_MS,
        (double)(clock_mono() - before) / (double)CLOCK_MS);
    close_stream(&s);
}

// Without rewriting nothing is kept, and the stream is looked through once, a piece at each load.
TEST(a_long_stream_of_plain_lines)
{
    enum { LINES = 300000 };
    struct stream s;
    struct numbered_line line;
    open_stream(&s, "plain");
    for (unsigned i = 0; i < LINES; i++)
        buf_fmt(&s.all, "\033[2mstep\033[0m %u: loss 0.123456 and some words more\n", i);
    s.heard = s.all.len;
    int64_t start = clock_mono();
    load(&s);
    int64_t first = clock_mono() - start;
    start = clock_mono();
    load(&s);
    int64_t again = clock_mono() - start;
    CHECK_INT(lines_total(s.lines), LINES);
    CHECK(lines_get(s.lines, 123456, &line));
    CHECK_HAS(line.text.text, "step 123456: loss");
    CHECK(!lines_gave_up(s.lines));
    printf("# %d lines of %zu MiB: %.0f ms with writing them, %.2f ms when nothing is new\n", LINES,
        s.all.len >> 20, (double)first / (double)CLOCK_MS, (double)again / (double)CLOCK_MS);
    CHECK(again < CLOCK_SEC);
    close_stream(&s);
}

int main(void)
{
    return tap_run();
}
