// SPDX-License-Identifier: MIT
// Beside a plain list of the same lines: whatever is asked for, in whatever order, while it grows.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "tests/support/tap.h"
#include "tui/part/lines/lines.h"

#include <regex.h>

static uint32_t random_state;

static uint32_t roll(uint32_t n)
{
    random_state = random_state * 1664525 + 1013904223;
    return (uint32_t)((uint64_t)(random_state >> 4) * n >> 28);
}

// The content: part 0 is a text, part 1 a spool that grows, part 2 a text.
struct world {
    buf parts[3];
    spool *spool;
    uint64_t from; // of the range, in the spool
    lines *lines;
    char **model; // the lines as they are shown
    size_t n;
};

static void add_line(buf *out, uint32_t number)
{
    static const char *const words[] = {"alpha", "Beta step", "gamma\tray", "d\xc3\xa9j\xc3\xa0 vu",
        "\033[31mred\033[0m step", "0%\r50%\r100% done", "", "\033]0;title\astep"};
    buf_fmt(out, "%u %s", number, words[roll(ARRAY_LEN(words))]);
    if (roll(50) == 0)
        for (uint32_t i = roll(20000); i > 0; i--)
            buf_char(out, (char)('a' + i % 26));
    buf_char(out, '\n');
}

static void model_part(struct world *w, const buf *part)
{
    const char *at = buf_cstr(part), *end = at + part->len;
    while (at < end) {
        const char *line = memchr(at, '\n', (size_t)(end - at));
        size_t n = line ? (size_t)(line - at) : (size_t)(end - at);
        ansi_text *t = ansi_text_new(0);
        ansi_text_feed(t, at, n);
        struct ansi_line shown = ansi_text_line(t, 0);
        w->model = mem_resize(w->model, w->n + 1, sizeof *w->model);
        w->model[w->n++] = mem_strndup(shown.text, shown.n);
        ansi_text_free(t);
        at += n + (line != NULL);
    }
}

static void forget_model(struct world *w)
{
    while (w->n > 0)
        free(w->model[--w->n]);
}

static void add_spool(lines *l, const char *name, uint64_t from, uint64_t to, style base)
{
    struct linestream s = {.text = "", .dir = tap_dir(), .spool = name, .from = from, .to = to};
    lines_add_stream(l, &s, base);
}

static void show(struct world *w)
{
    const style base = {.fg = COLOR_INDEX(3)};
    lines_begin(w->lines);
    lines_add_text(w->lines, buf_cstr(&w->parts[0]), w->parts[0].len, base);
    add_spool(w->lines, "log", w->from, w->from + w->parts[1].len, base);
    lines_add_text(w->lines, buf_cstr(&w->parts[2]), w->parts[2].len, base);
    lines_end(w->lines);
    forget_model(w);
    for (size_t i = 0; i < 3; i++)
        model_part(w, &w->parts[i]);
}

static void grow(struct world *w, size_t part, uint32_t n, bool unfinished)
{
    err e = {0};
    AUTO_BUF more = {0};
    while (n-- > 0)
        add_line(&more, (uint32_t)w->parts[part].len);
    if (unfinished)
        buf_str(&more, "no end to this ste");
    buf_add(&w->parts[part], buf_cstr(&more), more.len);
    if (part == 1)
        CHECK_OK(spool_append(w->spool, buf_cstr(&more), more.len, 1, &e) == 0, e);
}

static void begin(struct world *w, uint32_t seed)
{
    err e = {0};
    random_state = seed;
    *w = (struct world){.lines = lines_new(), .spool = spool_create(tap_dir(), "log", &e)};
    CHECK_OK(w->spool, e);
    CHECK_OK(spool_append(w->spool, "of another\noutput ", 18, 1, &e) == 0, e);
    w->from = 18;
    grow(w, 0, 20, true);
    grow(w, 1, TAP_SANITIZED ? 400 : 5000, false);
    grow(w, 2, 3, false);
    show(w);
}

static void end(struct world *w)
{
    lines_free(w->lines);
    spool_close(w->spool);
    forget_model(w);
    free(w->model);
    for (size_t i = 0; i < 3; i++)
        buf_done(&w->parts[i]);
}

static void work(struct world *w)
{
    while (lines_work(w->lines))
        continue;
}

// By the C library alone: a text is an expression, too.
static bool model_has(const struct world *w, size_t i, const char *text)
{
    static char compiled[40];
    static regex_t regex;
    if (strcmp(compiled, text) != 0) {
        bool exact = strpbrk(text, "ABCDEFGHIJKLMNOPQRSTUVWXYZ");
        if (*compiled)
            regfree(&regex);
        snprintf(compiled, sizeof compiled, "%s", text);
        CHECK(regcomp(&regex, text, REG_EXTENDED | REG_NOSUB | (exact ? 0 : REG_ICASE)) == 0);
    }
    return regexec(&regex, w->model[i], 0, NULL, 0) == 0;
}

static bool model_matches(const struct world *w, size_t i, const char *pattern)
{
    bool turned = *pattern == '!';
    return !pattern[turned] || model_has(w, i, pattern + turned) != turned;
}

// Checks all lines that are shown under a pattern, from the start, and then a few at random.
static void check_all(struct world *w, const char *pattern)
{
    size_t shown = 0, wrong = 0;
    AUTO_FREE size_t *numbers = mem_array(w->n + 1, sizeof *numbers);
    for (size_t i = 0; i < w->n; i++)
        if (model_matches(w, i, pattern))
            numbers[shown++] = i;
    CHECK_INT(lines_total(w->lines), w->n);
    CHECK_INT(lines_count(w->lines), shown);
    for (size_t step = 0; step < shown + 100 && shown; step++) {
        size_t i = step < shown ? step : roll((uint32_t)shown);
        struct numbered_line line;
        bool got = lines_get(w->lines, i, &line);
        wrong += !got || line.number != numbers[i] || line.cut ||
                 line.text.n != strlen(w->model[numbers[i]]) ||
                 memcmp(line.text.text, w->model[numbers[i]], line.text.n) != 0;
        if (i > 2 && step % 3 == 0)
            lines_get(w->lines, i - 2, &line); // upwards, too
    }
    struct numbered_line line;
    CHECK(!lines_get(w->lines, shown, &line));
    CHECK_INT(wrong, 0);
}

TEST(any_line_is_the_one_of_its_number)
{
    struct world w;
    begin(&w, 1);
    check_all(&w, "");
    grow(&w, 1, 300, true);
    show(&w);
    check_all(&w, "");
    grow(&w, 1, 300, false);
    grow(&w, 2, 7, true);
    show(&w);
    check_all(&w, "");
    end(&w);
}

TEST(a_filter_shows_what_matches_while_it_grows)
{
    static const char *const patterns[] = {"step", "STEP", "!step", "done", "nothing has this", "!",
        "1", "^[0-9]*[13] red|d[aeiou]ne", "!st(e|a)p"};
    struct world w;
    begin(&w, 2);
    for (size_t i = 0; i < ARRAY_LEN(patterns); i++) {
        lines_filter(w.lines, patterns[i]);
        work(&w);
        check_all(&w, patterns[i]);
        for (int round = 0; round < (TAP_SANITIZED ? 1 : 3); round++) {
            grow(&w, 1, roll(200), round % 2 == 0);
            show(&w);
            work(&w);
            check_all(&w, patterns[i]);
        }
    }
    lines_filter(w.lines, "");
    CHECK(!lines_work(w.lines));
    check_all(&w, "");
    end(&w);
}

static size_t model_search(
    const struct world *w, const size_t *shown, size_t n, size_t from, const char *text, bool back)
{
    for (size_t step = 1; step <= n; step++) {
        size_t i = (from + (back ? n - step : step)) % n;
        if (model_has(w, shown[i], text))
            return i;
    }
    return SIZE_MAX;
}

// What was found is the n-th of so many, as long as it may be one.
static bool model_places(
    const struct world *w, const size_t *shown, size_t n, size_t hit, const char *text)
{
    struct lines_place place = lines_found(w->lines);
    size_t count = 0, at = 0;
    for (size_t i = 0; i < n; i++) {
        count += model_has(w, shown[i], text);
        at = i == hit ? count : at;
    }
    return place.at == at && !place.more && (hit == SIZE_MAX || place.count == count);
}

static void check_searches(struct world *w, const char *pattern, size_t times)
{
    static const char *const texts[] = {
        "step", "RED", "red", "done", "50%", "title", "vu", "17 ", "3", "[0-9]7 ", "^s.*p"};
    size_t n = 0, wrong = 0;
    AUTO_FREE size_t *shown = mem_array(w->n + 1, sizeof *shown);
    for (size_t i = 0; i < w->n; i++)
        if (model_matches(w, i, pattern))
            shown[n++] = i;
    lines_filter(w->lines, pattern);
    work(w);
    while (times-- > 0) {
        const char *text = texts[roll(ARRAY_LEN(texts))];
        size_t from = roll((uint32_t)n);
        bool back = roll(2);
        uint64_t hit = SIZE_MAX;
        lines_search(w->lines, text, from, back);
        work(w);
        lines_searched(w->lines, &hit);
        // Text that a return has overwritten is neither shown nor found; so both sides see
        // "100% done".
        wrong += hit != model_search(w, shown, n, from, text, back);
        wrong += !model_places(w, shown, n, hit, text);
    }
    CHECK_INT(wrong, 0);
}

TEST(a_search_goes_around_both_ways)
{
    struct world w;
    begin(&w, 3);
    check_searches(&w, "", TAP_SANITIZED ? 100 : 300);
    check_searches(&w, "step", TAP_SANITIZED ? 30 : 100);
    check_searches(&w, "!a", TAP_SANITIZED ? 30 : 100);
    grow(&w, 1, 300, true);
    grow(&w, 2, 3, true);
    show(&w);
    check_searches(&w, "", 30);
    uint64_t hit;
    lines_filter(w.lines, "");
    lines_search(w.lines, "nothing has this", 7, false);
    CHECK_INT(lines_searched(w.lines, &hit), SEARCH_GOES_ON);
    work(&w);
    CHECK_INT(lines_searched(w.lines, &hit), SEARCH_NOWHERE);
    CHECK_INT(lines_searched(w.lines, &hit), SEARCH_IDLE);
    end(&w);
}

// The spool grows between two searches, and its last line becomes a longer one.
TEST(what_grows_is_counted_by_the_next_search)
{
    struct world w;
    uint64_t hit, before = 0;
    begin(&w, 6);
    for (int round = 0; round < 6; round++) {
        lines_search(w.lines, "ste", 0, round % 2);
        work(&w);
        CHECK_INT(lines_searched(w.lines, &hit), SEARCH_FOUND);
        size_t count = 0, at = 0;
        for (size_t i = 0; i < w.n; i++) {
            count += model_has(&w, i, "ste");
            at = i == hit ? count : at;
        }
        struct lines_place place = lines_found(w.lines);
        CHECK_INT(place.count, count);
        CHECK_INT(place.at, at);
        CHECK(place.count > before);
        before = place.count;
        grow(&w, 1, 20 + roll(3000), round % 3 != 2);
        show(&w);
    }
    end(&w);
}

TEST(a_line_without_end_is_cut_and_passed)
{
    enum { LONG = 3 << 20 };
    struct world w;
    begin(&w, 4);
    AUTO_FREE char *line = mem_array(LONG + 1, 1);
    memset(line, 'x', LONG);
    line[LONG] = '\n';
    err e = {0};
    CHECK_OK(spool_append(w.spool, line, LONG + 1, 1, &e) == 0, e);
    buf_add(&w.parts[1], line, LONG + 1);
    grow(&w, 1, 50, false);
    show(&w);
    struct numbered_line got;
    size_t wrong = 0, cut = 0;
    for (size_t i = w.n; i-- > 0;) {
        CHECK(lines_get(w.lines, i, &got));
        cut += got.cut > 0 && got.cut + got.text.n == LONG + 1; // with its newline
        wrong += !got.cut && strlen(w.model[i]) != got.text.n;
    }
    CHECK_INT(wrong, 0);
    CHECK_INT(cut, 1);
    lines_filter(w.lines, "xx");
    work(&w);
    CHECK_INT(lines_count(w.lines), 1);
    lines_filter(w.lines, "!xx");
    work(&w);
    CHECK_INT(lines_count(w.lines), w.n - 1);
    CHECK(lines_get(w.lines, w.n - 2, &got));
    CHECK_INT(got.number, w.n - 1);
    end(&w);
}

static style look_of(lines *l, uint64_t i)
{
    struct numbered_line line;
    return lines_get(l, i, &line) && line.text.spans_n ? line.text.spans[0].style : (style){0};
}

// Red begins in line 10 and bold in line 3000; a line looks the same in whichever way it was
// reached.
TEST(a_look_that_is_left_on_goes_on)
{
    enum { LINES = 6000 };
    err e = {0};
    spool *s = spool_create(tap_dir(), "looks", &e);
    CHECK_OK(s, e);
    AUTO_BUF bytes = {0};
    for (int i = 0; i < LINES; i++)
        buf_fmt(&bytes, "%sline %d of a stream%s\n", i == 3000 ? "\033[1m" : "", i,
            i == 10 ? "\033[31m" : "");
    CHECK_OK(spool_append(s, bytes.data, bytes.len, 1, &e) == 0, e);
    lines *l = lines_new();
    lines_begin(l);
    add_spool(l, "looks", 0, spool_size(s), (style){0});
    lines_add_text(l, "another\n", 8, (style){0});
    lines_end(l);
    static style forwards[LINES];
    for (int i = 0; i < LINES; i++)
        forwards[i] = look_of(l, (uint64_t)i);
    size_t wrong = 0;
    random_state = 5;
    for (int i = LINES; i-- > 0;) {
        uint64_t any = roll(LINES);
        wrong += !style_equal(look_of(l, (uint64_t)i), forwards[i]);
        wrong += !style_equal(look_of(l, any), forwards[any]);
    }
    CHECK_INT(wrong, 0);
    CHECK(forwards[10].fg == 0 && forwards[11].fg == COLOR_INDEX(1));
    CHECK(forwards[700].fg == COLOR_INDEX(1) && forwards[3200].attrs == ATTR_BOLD);
    CHECK(forwards[5999].fg == 0); // too far away to be known
    CHECK(look_of(l, LINES).fg == 0);
    lines_free(l);
    spool_close(s);
}

// The longest time that a key waits: for one piece, and for the place of what was found.
static void count_a_million(lines *l)
{
    int64_t start = clock_mono(), longest = 0;
    uint64_t hit = 0;
    lines_search(l, "worker-(3|4) .*[05]00 ", 500000, false);
    for (bool more = true; more;) {
        int64_t at = clock_mono();
        more = lines_work(l);
        lines_found(l);
        at = clock_mono() - at;
        longest = at > longest ? at : longest;
    }
    struct lines_place place = lines_found(l);
    CHECK_INT(lines_searched(l, &hit), SEARCH_FOUND);
    CHECK_INT(place.count, 571);
    CHECK(!place.more);
    int64_t next = clock_mono();
    lines_search(l, "worker-(3|4) .*[05]00 ", hit, false);
    for (int i = 0; i < 1000 && lines_searching(l); i++)
        lines_work(l);
    lines_work(l);
    CHECK_INT(lines_found(l).at, place.at + 1);
    printf("# an expression is counted in a million lines in %.1f s, %.1f ms at most at once; "
           "the next place takes %.1f ms\n",
        (double)(next - start) / (double)CLOCK_SEC, (double)longest / (double)CLOCK_MS,
        (double)(clock_mono() - next) / (double)CLOCK_MS);
    lines_searched(l, &hit);
}

TEST(a_million_lines_are_searched_and_filtered_at_once)
{
    enum { LINES = 1000000 };
    err e = {0};
    spool *s = spool_create(tap_dir(), "big", &e);
    CHECK_OK(s, e);
    AUTO_BUF chunk = {0};
    for (int i = 0; i < LINES; i++) {
        buf_fmt(&chunk, "2026-01-01T00:00:00Z worker-%d step %d loss 0.123456\n", i % 7, i);
        if (chunk.len > 60000 || i + 1 == LINES) {
            CHECK_OK(spool_append(s, chunk.data, chunk.len, 1, &e) == 0, e);
            buf_clear(&chunk);
        }
    }
    lines *l = lines_new();
    lines_begin(l);
    add_spool(l, "big", 0, spool_size(s), (style){0});
    lines_end(l);
    CHECK_INT(lines_total(l), LINES);
    struct numbered_line line;
    CHECK(lines_get(l, 654321, &line));
    CHECK_HAS(line.text.text, "step 654321 loss");
    uint64_t hit = 0;
    lines_search(l, "step 999999 ", 0, false);
    while (lines_work(l))
        continue;
    CHECK_INT(lines_searched(l, &hit), SEARCH_FOUND);
    CHECK_INT(hit, 999999);
    CHECK_INT(lines_found(l).at, 1);
    CHECK_INT(lines_found(l).count, 1);
    count_a_million(l);
    lines_filter(l, "worker-3");
    while (lines_work(l))
        continue;
    CHECK_INT(lines_count(l), (LINES + 3) / 7);
    CHECK(lines_get(l, 100000, &line));
    CHECK_INT(line.number, 700003);
    int64_t start = clock_mono();
    lines_filter(l, "worker-(3|4) .*[05]00 ");
    while (lines_work(l))
        continue;
    printf("# an expression filters a million lines in %.1f s\n",
        (double)(clock_mono() - start) / (double)CLOCK_SEC);
    CHECK_INT(lines_count(l), 571);
    lines_free(l);
    spool_close(s);
}

int main(void)
{
    return tap_run();
}
