// SPDX-License-Identifier: MIT
#include "tui/part/lines/rewrites.h"

#include "base/mem.h"
#include "base/text/ansi.h"

#include <string.h>

enum {
    PIECE = 64 << 10,
    COSTS = 4,               // settling a byte takes so many times as long as looking at it
    CALM = 2 * ANSI_WINDOW,  // after so many lines a program is done with rewriting
    SEQUENCE = 32,           // no sequence that goes up is longer
    CUT = REWRITES_KEPT / 2, // what stays when there is too much
};

// Bytes [from, to) of the stream have become this text.
struct region {
    uint64_t from, to;
    linesource *text;
    style first, after; // looks before and behind it
};

struct rewrites {
    struct region *regions; // the last one may be open
    size_t n;
    uint64_t read; // so far of the stream
    ansi_text *open;
    buf window, settled; // of the open one; settled: for a moment
    uint64_t lines;      // settled in the open one, also those that were given up
    uint64_t given_up;   // of them
    struct {
        uint64_t at, line; // where in the stream a line began, and which; 0: not set
    } mark;                // from here on the open one is kept when there is too much
    bool gave_up;
    linesource **retired; // texts of which slices may still be compared, until it reads on
    size_t n_retired;
};

static void retire(rewrites *r, linesource *text)
{
    r->retired = mem_resize(r->retired, r->n_retired + 1, sizeof(linesource *));
    r->retired[r->n_retired++] = text;
}

static void free_retired(rewrites *r)
{
    while (r->n_retired > 0)
        linesource_free(r->retired[--r->n_retired]);
}

rewrites *rewrites_new(void)
{
    return mem_alloc(sizeof(rewrites));
}

void rewrites_free(rewrites *r)
{
    if (!r)
        return;
    for (size_t i = 0; i < r->n; i++)
        linesource_free(r->regions[i].text);
    free(r->regions);
    free_retired(r);
    free(r->retired);
    ansi_text_free(r->open);
    buf_done(&r->window);
    buf_done(&r->settled);
    free(r);
}

// Does a sequence that begins here go up, or clear what stands there? -1: it may, if more comes.
static int goes_up(const char *at, size_t n)
{
    size_t i = 2;
    if (n < 2)
        return -1;
    if (at[1] == '8') // back to where DEC's 7 was
        return 1;
    if (at[1] != '[')
        return 0;
    while (i < n && i < SEQUENCE && ((at[i] >= '0' && at[i] <= '9') || at[i] == ';'))
        i++;
    if (i == n && n < SEQUENCE)
        return -1;
    bool clears = i < n && at[i] == 'J' && at[i - 1] != '[' && at[i - 1] != '0';
    return i < n && i < SEQUENCE && (clears || (at[i] && strchr("AFu", at[i])));
}

// The first place that goes up; SIZE_MAX: none. *good: so far it is certain.
static size_t find_rewrite(const char *bytes, size_t n, size_t *good)
{
    const char *end = bytes + n;
    *good = n;
    for (const char *at = bytes; (at = memchr(at, '\033', (size_t)(end - at))); at++) {
        int up = goes_up(at, (size_t)(end - at));
        if (up > 0)
            return (size_t)(at - bytes);
        if (up < 0) {
            *good = (size_t)(at - bytes);
            return SIZE_MAX;
        }
    }
    return SIZE_MAX;
}

static uint64_t plain_from(const rewrites *r)
{
    return r->n ? r->regions[r->n - 1].to : 0;
}

static style look_at(linesource *stream, uint64_t offset)
{
    AUTO_BUF before = {0};
    size_t reach = ansi_reach(offset);
    linesource_read(stream, offset - reach, reach, &before);
    return ansi_after((style){0}, buf_cstr(&before), before.len);
}

// Begins so many lines above a place as can be reached from there.
static void open_region(rewrites *r, linesource *stream, uint64_t at)
{
    uint64_t line = linesource_line_at(stream, at), plain = plain_from(r);
    uint64_t from = linesource_find_line(stream, line > ANSI_WINDOW ? line - ANSI_WINDOW : 0);
    from = from > plain ? from : plain;
    style first = look_at(stream, from);
    AUTO_BUF look = {0};
    ansi_select(&look, first);
    r->regions = mem_resize(r->regions, r->n + 1, sizeof *r->regions);
    r->regions[r->n++] = (struct region){
        .from = from, .to = from, .text = linesource_of_text("", 0), .first = first};
    r->open = ansi_text_new(0);
    ansi_text_feed(r->open, look.data, look.len);
    r->lines = r->given_up = 0;
    r->mark.at = 0;
    r->read = from;
}

// A line as bytes that look like it, wherever they stand.
static void add_line(buf *out, struct ansi_line line)
{
    bool plain = true;
    for (size_t i = 0; i < line.spans_n; i++) {
        bool bare = style_equal(line.spans[i].style, (style){0});
        if (!bare || !plain)
            ansi_select(out, line.spans[i].style);
        plain = bare;
        buf_add(out, line.text + line.spans[i].from, line.spans[i].to - line.spans[i].from);
    }
    if (!plain)
        ansi_select(out, (style){0});
}

static void settle_line(void *r_, struct ansi_line line)
{
    rewrites *r = r_;
    add_line(&r->settled, line);
    buf_char(&r->settled, '\n');
    r->lines++;
}

static void settle(rewrites *r)
{
    linesource_append(r->regions[r->n - 1].text, buf_cstr(&r->settled), r->settled.len);
    buf_clear(&r->settled);
}

static void draw_window(rewrites *r)
{
    size_t n = ansi_text_lines(r->open);
    buf_clear(&r->window);
    for (size_t i = 0; i < n; i++) {
        add_line(&r->window, ansi_text_line(r->open, i));
        if (i + 1 < n || !ansi_text_is_open(r->open))
            buf_char(&r->window, '\n');
    }
}

static void close_region(rewrites *r)
{
    struct region *last = &r->regions[r->n - 1];
    for (size_t i = 0; i < ansi_text_lines(r->open); i++)
        settle_line(r, ansi_text_line(r->open, i));
    settle(r);
    last->after = ansi_text_style(r->open);
    ansi_text_free(STEAL(r->open));
    buf_clear(&r->window);
}

static uint64_t kept_bytes(const rewrites *r)
{
    uint64_t n = 0;
    for (size_t i = 0; i < r->n; i++)
        n += linesource_size(r->regions[i].text);
    return n;
}

// Keeps of the only region what is below the mark.
static void cut_region(rewrites *r)
{
    struct region *only = &r->regions[0];
    AUTO_BUF rest = {0};
    uint64_t size = linesource_size(only->text), lines = linesource_lines(only->text);
    uint64_t line = r->mark.at ? r->mark.line - r->given_up : lines;
    line = line < lines ? line : lines;
    uint64_t from = linesource_find_line(only->text, line);
    linesource_read(only->text, from, (size_t)(size - from), &rest);
    retire(r, only->text);
    only->text = linesource_of_text(buf_cstr(&rest), rest.len);
    only->from = r->mark.at ? r->mark.at : only->to;
    r->given_up += line;
    r->mark.at = 0;
}

// The oldest region goes, or the older part of the only one.
static void give_up(rewrites *r)
{
    r->gave_up = true;
    if (r->n == 1 && r->open) {
        cut_region(r);
        return;
    }
    retire(r, r->regions[0].text);
    memmove(r->regions, r->regions + 1, --r->n * sizeof *r->regions);
}

static void set_mark(rewrites *r)
{
    struct region *last = &r->regions[r->n - 1];
    if (r->mark.at || linesource_size(last->text) < CUT)
        return;
    r->mark.at = last->to;
    r->mark.line = r->lines + ansi_text_lines(r->open);
}

// Settles the next piece, of whole lines where there is a newline in it.
static size_t settle_on(rewrites *r, const buf *piece)
{
    const char *end = piece->len ? memrchr(piece->data, '\n', piece->len) : NULL;
    size_t n = end ? (size_t)(end + 1 - piece->data) : piece->len;
    ansi_text_feed(r->open, buf_cstr(piece), n);
    ansi_text_take(r->open, settle_line, r);
    settle(r);
    r->regions[r->n - 1].to += n;
    size_t calm = ansi_text_calm(r->open);
    if (end)
        set_mark(r);
    if (end && !ansi_text_is_open(r->open) && calm >= CALM &&
        (calm != SIZE_MAX || r->lines >= CALM))
        close_region(r);
    while (kept_bytes(r) > REWRITES_KEPT)
        give_up(r);
    return n;
}

// How far it came; *cost: what that took.
static size_t read_on(rewrites *r, linesource *stream, size_t *cost)
{
    AUTO_BUF piece = {0};
    size_t good;
    linesource_read(stream, r->read, PIECE, &piece);
    *cost = piece.len * (r->open ? COSTS : 1);
    if (r->open)
        return settle_on(r, &piece);
    size_t up = find_rewrite(buf_cstr(&piece), piece.len, &good);
    if (up == SIZE_MAX)
        return good;
    open_region(r, stream, r->read + up);
    return 0;
}

bool rewrites_read(rewrites *r, linesource *stream, size_t bytes)
{
    size_t spent = 0;
    bool more = true;
    free_retired(r);
    while (more && spent < bytes && r->read < linesource_size(stream)) {
        size_t cost;
        bool was_open = r->open != NULL;
        size_t n = read_on(r, stream, &cost);
        r->read += n;
        spent += cost;
        more = n > 0 || (r->open && !was_open);
    }
    if (r->open)
        draw_window(r);
    return more && r->read < linesource_size(stream);
}

// Each region has its text and, if it is open, its window; before each is a range, and behind all.
enum { OF_REGION = 3 };

size_t rewrites_pieces(const rewrites *r, uint64_t stream_size)
{
    return r->n * OF_REGION + (plain_from(r) < stream_size);
}

struct rewrites_piece rewrites_piece(const rewrites *r, size_t i, uint64_t stream_size)
{
    size_t at = i / OF_REGION;
    const struct region *before = at ? &r->regions[at - 1] : NULL;
    const struct region *here = at < r->n ? &r->regions[at] : NULL;
    struct rewrites_piece p = {.from = before ? before->to : 0,
        .to = here ? here->from : stream_size,
        .first = before ? before->after : (style){0}};
    if (i % OF_REGION == 0)
        return p;
    p = (struct rewrites_piece){0};
    if (i % OF_REGION == 1)
        p.text = here->text;
    else if (r->open && at + 1 == r->n) {
        p.window = buf_cstr(&r->window);
        p.window_n = r->window.len;
    }
    return p;
}

bool rewrites_gave_up(const rewrites *r)
{
    return r->gave_up;
}
