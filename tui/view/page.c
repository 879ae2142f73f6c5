// SPDX-License-Identifier: MIT
// A long text on the full screen: all outputs of a cell, one display, or a given text. It can be
// paged, followed, searched and filtered. Spooled output stays in the spool; only the visible part
// is read.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/journal/text.h"
#include "tui/bench/cluster/objectlogs.h"
#include "tui/bench/remote.h"
#include "tui/bench/views.h"
#include "tui/part/filter.h"
#include "tui/part/lines/pane.h"
#include "tui/view/find/origin.h"
#include "tui/view/open.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum { SLICE_MS = 3 }; // time for filter, search and count between two checks for keys
enum { SAY_MS = 200 }; // a count that goes on is shown so often
#define LOG "application/vnd.firesteel.log+json"

struct page_view {
    view head;
    char *title;
    char *cell;      // the cell with the outputs, or
    int64_t display; // a display's id, or
    char *words;     // a given text
    int64_t peek;    // its peek, dropped with the view; 0: none
    cJSON *wish;     // what a table's log was asked for with (objectlogs.h); NULL: another text
    unsigned version;
    const char *spools; // the folder of the outputs' spools
    struct pane pane;
    struct filter filter;
    char *applied; // the pattern that the lines are filtered by
    struct pattern searched, filtered;
    bool follow, working;
    bool placing; // the last row says which of how many places was found
    int64_t said; // mono ns: when it did
    int again;    // searches requested during a search: so many more; negative: backwards
};

// A display that is a log gives the log's bytes; any other display gives its text.
static void add_display(struct page_view *v, const struct output *o)
{
    const cJSON *log = json_get(o->data, LOG);
    if (json_str(log, "spool")) {
        struct linestream stream = {.text = "",
            .dir = v->spools,
            .spool = json_str(log, "spool"),
            .from = (uint64_t)json_int_or(log, "from", 0),
            .to = (uint64_t)json_int_or(log, "to", 0)};
        lines_add_stream(v->pane.lines, &stream, (style){0});
        const char *note = json_str_or(log, "note", "");
        lines_add_text(v->pane.lines, note, strlen(note), LOOK_WARN);
        return;
    }
    uint64_t version = ((uint64_t)o->id << 32 | o->updates) + 1;
    if (lines_keep(v->pane.lines, version))
        return;
    AUTO_BUF shown = {0};
    output_text(o, v->spools, 0, &shown, NULL);
    lines_add_text(v->pane.lines, buf_cstr(&shown), shown.len, (style){0});
    lines_set_version(v->pane.lines, version);
}

// A stream that began as a text may go on in a spool. Returns how many outputs it is.
static size_t add_stream(struct page_view *v, const struct output *o, size_t n)
{
    style base = str_eq(o->name, "stderr") ? LOOK_WARN : (style){0};
    bool goes_on = !o->spool && n > 1 && o[1].kind == OUTPUT_STREAM && o[1].spool &&
                   str_eq(o->name, o[1].name) && str_eq(o->branch, o[1].branch);
    const struct output *spooled = o->spool ? o : goes_on ? &o[1] : NULL;
    struct linestream stream = {.text = o->spool ? "" : o->text, .n = o->spool ? 0 : o->text_n};
    if (spooled) {
        stream.dir = v->spools;
        stream.spool = spooled->spool;
        stream.from = spooled->from;
        stream.to = spooled->to;
    }
    lines_add_stream(v->pane.lines, &stream, base);
    return 1 + goes_on;
}

// Adds the first of n outputs, or more; returns how many.
static size_t add_output(struct page_view *v, const struct output *o, size_t n)
{
    if (o->kind == OUTPUT_STREAM)
        return add_stream(v, o, n);
    if (o->kind == OUTPUT_DISPLAY) {
        add_display(v, o);
    } else {
        AUTO_BUF shown = {0};
        output_text(o, NULL, 0, &shown, NULL);
        lines_add_text(v->pane.lines, buf_cstr(&shown), shown.len, LOOK_ERROR);
    }
    return 1;
}

static unsigned version_now(const struct page_view *v)
{
    const bench *b = v->head.bench;
    const struct slot *s = v->cell ? slot_by_id(v->head.bench, v->cell, NULL) : NULL;
    const struct output *o = v->display ? bench_display(b, v->display) : NULL;
    return s ? slot_version(s) : o ? 1 + o->updates : v->words ? 1 : 0;
}

static void load(struct page_view *v)
{
    bench *b = v->head.bench;
    unsigned now = version_now(v);
    if (now == v->version && !lines_reading(v->pane.lines))
        return;
    v->version = now;
    struct slot_past past = {0};
    size_t at;
    bool known = v->cell && slot_by_id(b, v->cell, &at);
    const struct run_cell *r = known ? slot_outputs(b, at, &past) : NULL;
    v->spools = past.run ? past.spools : bench_spool_dir(b);
    const struct output *display = v->display ? bench_display(b, v->display) : NULL;
    lines_begin(v->pane.lines);
    for (size_t i = 0; r && i < r->n_outputs;) {
        AUTO_BUF heading = {0};
        output_heading(r, i, &heading);
        lines_add_text(v->pane.lines, buf_cstr(&heading), heading.len, LOOK_BOLD);
        i += add_output(v, &r->outputs[i], r->n_outputs - i);
    }
    if (display)
        add_display(v, display);
    if (v->words)
        lines_add_text(v->pane.lines, v->words, strlen(v->words), (style){0});
    lines_end(v->pane.lines);
}

// Searches from the last match, if that is still on the screen, else from the first row.
static void search_on(struct page_view *v, bool backwards)
{
    struct pane *p = &v->pane;
    uint64_t n = lines_count(p->lines), from = p->hit;
    if (!pane_shows(p, from) && p->top != from)
        from = backwards ? p->top : p->top ? p->top - 1 : n ? n - 1 : 0;
    lines_search(p->lines, bench_searched(v->head.bench), from, backwards);
    v->working = true;
}

static void tell_found(struct page_view *v)
{
    uint64_t hit;
    enum searched what = lines_searched(v->pane.lines, &hit);
    if (what == SEARCH_NOWHERE) {
        bench_say(v->head.bench, "“%s” is nowhere", bench_searched(v->head.bench));
        v->again = 0;
    }
    if (what != SEARCH_FOUND)
        return;
    v->placing = true;
    v->said = 0;
    if (!pane_shows(&v->pane, hit))
        pane_to(&v->pane, hit);
    v->pane.hit = hit;
    if (v->again == 0)
        return;
    bool backwards = v->again < 0;
    v->again += backwards ? 1 : -1;
    search_on(v, backwards);
}

// "“loss” 3 of 12 lines"; "3 of 1204+" while they are counted.
static void say_place(struct page_view *v)
{
    int64_t now = clock_mono();
    struct lines_place p = lines_found(v->pane.lines);
    if (p.more && v->said && now - v->said < SAY_MS * CLOCK_MS)
        return;
    const char *words = bench_searched(v->head.bench), *more = p.more ? "+" : "",
               *s = p.count == 1 && !p.more ? "" : "s";
    if (p.at)
        bench_say(v->head.bench, "“%s” %llu of %llu%s line%s", words, (unsigned long long)p.at,
            (unsigned long long)p.count, more, s);
    else
        bench_say(
            v->head.bench, "“%s” in %llu%s line%s", words, (unsigned long long)p.count, more, s);
    v->said = now;
    v->placing = p.more;
}

// Continues filter, search and count for a while.
static void work(struct page_view *v)
{
    int64_t until = clock_mono() + SLICE_MS * CLOCK_MS;
    do {
        v->working = lines_work(v->pane.lines);
        tell_found(v);
    } while (v->working && clock_mono() < until);
    if (v->placing && !lines_looking(v->pane.lines))
        say_place(v);
}

static void draw_title(const struct page_view *v, grid *g, rect area)
{
    AUTO_BUF words = {0};
    const struct pane *p = &v->pane;
    const char *pattern = filter_text(&v->filter);
    unsigned long long n = lines_count(p->lines), all = lines_total(p->lines);
    unsigned long long top = p->top + 1, last = p->last + 1;
    AUTO_BUF which = {0};
    object_logs_say(v->wish, &which);
    buf_str(&words, v->title);
    if (which.len)
        buf_fmt(&words, " (%s)", which.data);
    if (n < 2)
        buf_fmt(&words, "  %s", n ? "1 line" : "no line");
    else
        buf_fmt(&words, "  %llu–%llu of %llu lines", top, last, n);
    if (*pattern)
        buf_fmt(&words, " %s “%s”, of %llu", *pattern == '!' ? "without" : "with",
            pattern + (*pattern == '!'), all);
    if (lines_looking(p->lines))
        buf_fmt(&words, "  looking %d%%", lines_percent(p->lines));
    else if (n)
        buf_fmt(&words, "  %llu%%", last * 100 / n);
    if (lines_gave_up(p->lines))
        buf_str(&words, "  older lines as they were written");
    buf_fmt(&words, "%s%s", v->follow ? "  following" : "", p->wrap ? "  wrapped" : "");
    if (!v->words)
        open_place(v->head.bench, v->cell, v->display, &words);
    grid_put_short(g, area, area.x + 1, area.y, area.w - 1, buf_cstr(&words), words.len, LOOK_BOLD);
}

static void settle(view *view_, rect area)
{
    struct page_view *v = (struct page_view *)view_;
    rect body = {area.x, area.y + 1, area.w, area.h - 1 - v->filter.typing};
    load(v);
    work(v);
    v->pane.area = body;
    if (v->follow)
        pane_to_end(&v->pane);
    pane_settle(&v->pane, body);
}

static void draw(const view *view_, grid *g, rect area)
{
    const struct page_view *v = (const struct page_view *)view_;
    rect body = v->pane.area;
    pane_draw(&v->pane, g);
    grid_park_cursor(g, body.x, body.y);
    draw_title(v, g, area);
    if (lines_count(v->pane.lines) == 0 && !lines_looking(v->pane.lines))
        grid_print(g, body, body.x + 1, body.y, LOOK_DIM, "%s",
            lines_total(v->pane.lines) ? "no line matches" : "nothing yet");
    filter_draw(&v->filter, g, (rect){area.x, area.y + area.h - 1, area.w, 1});
}

static void search(struct page_view *v, bool backwards)
{
    const char *words = bench_searched(v->head.bench);
    bool same = v->searched.text && str_eq(v->searched.text, words);
    v->follow = false;
    if (same && lines_searching(v->pane.lines)) {
        v->again += backwards ? -1 : 1;
        return;
    }
    pattern_set(&v->searched, words);
    v->pane.marked[0] = &v->searched;
    v->again = 0;
    search_on(v, backwards);
}

// When all lines are shown again, the line on top stays there.
static void refilter(struct page_view *v)
{
    struct pane *p = &v->pane;
    struct numbered_line at;
    const char *pattern = filter_text(&v->filter);
    bool turned = *pattern == '!';
    if (str_eq(pattern, v->applied))
        return;
    uint64_t top = lines_get(p->lines, p->top, &at) ? at.number : 0;
    free(v->applied);
    v->applied = mem_strdup(pattern);
    pattern_set_filter(&v->filtered, pattern);
    p->marked[1] = turned ? NULL : &v->filtered;
    p->hit = UINT64_MAX;
    lines_filter(p->lines, pattern);
    pane_to(p, pattern[turned] ? 0 : top);
}

static bool move(struct page_view *v, enum action a)
{
    struct pane *p = &v->pane;
    int page = p->area.h > 2 ? p->area.h - 1 : 1;
    switch ((int)a) {
    case ACT_ROW_NEXT:
        pane_scroll(p, 1);
        break;
    case ACT_ROW_PREVIOUS:
        pane_scroll(p, -1);
        break;
    case ACT_PAGE_DOWN:
        pane_scroll(p, page);
        break;
    case ACT_PAGE_UP:
        pane_scroll(p, -page);
        break;
    case ACT_ROW_FIRST:
        pane_to(p, 0);
        break;
    case ACT_ROW_LAST:
        pane_to_end(p);
        return true; // from here on it follows again
    default:
        return false;
    }
    v->follow = false;
    return true;
}

static void pin(struct page_view *v)
{
    if (!v->peek)
        bench_say(v->head.bench, "this stands below its cell already");
    else if (remote_pin(v->head.bench, v->peek))
        v->peek = 0;
}

// The line that was found last, as long as it is shown; else the lines that are.
static void clip(struct page_view *v)
{
    struct pane *p = &v->pane;
    bool found = pane_shows(p, p->hit);
    uint64_t first = found ? p->hit : p->top, last = found ? p->hit : p->last;
    struct numbered_line l;
    AUTO_BUF words = {0};
    for (uint64_t i = first; i <= last && lines_get(p->lines, i, &l); i++) {
        buf_add(&words, l.text.text, l.text.n);
        buf_char(&words, '\n');
    }
    bench_clip(v->head.bench, buf_cstr(&words), words.len,
        found ? "the line that was found" : "the lines on the screen");
}

// Of the lines on the screen the last one counts that names a cell: that is where it failed.
static void go_to_source(struct page_view *v)
{
    struct pane *p = &v->pane;
    bool found = pane_shows(p, p->hit);
    uint64_t first = found ? p->hit : p->top, at = found ? p->hit : p->last;
    struct numbered_line l;
    size_t where, place;
    for (; at >= first && at != UINT64_MAX; at--)
        if (lines_get(p->lines, at, &l) &&
            origin_of(v->head.bench, l.text.text, l.text.n, &where, &place)) {
            origin_go(v->head.bench, where, place);
            return;
        }
    bench_say(v->head.bench, "no line here names a cell, or a file that a cell has written");
}

// How much of a log is read: the option and its value.
static const struct {
    enum action action;
    const char *since;
    int tail;
} extents[] = {
    {ACT_LOG_HEAD, NULL, -1},
    {ACT_LOG_TAIL, NULL, 100},
    {ACT_LOG_1M, "1m", -1},
    {ACT_LOG_5M, "5m", -1},
    {ACT_LOG_15M, "15m", -1},
    {ACT_LOG_30M, "30m", -1},
    {ACT_LOG_1H, "1h", -1},
};

static void turn(cJSON *with, const char *field)
{
    json_set_bool(with, field, !json_bool_or(with, field, false));
}

static bool is_of_logs(enum action a)
{
    return a >= ACT_LOG_HEAD && a <= ACT_LOG_PREVIOUS;
}

// The log is read anew, with other options.
static void read_anew(struct page_view *v, enum action a)
{
    if (!v->wish) {
        bench_say(v->head.bench, "only the log of a table's row is read anew: l there opens it");
        return;
    }
    cJSON *wish = cJSON_Duplicate(v->wish, true), *with = json_object_at(wish, "with");
    if (a == ACT_LOG_TIMES || a == ACT_LOG_PREVIOUS)
        turn(with, a == ACT_LOG_TIMES ? "timestamps" : "previous");
    for (size_t i = 0; i < ARRAY_LEN(extents); i++) {
        if (extents[i].action != a)
            continue;
        cJSON_DeleteItemFromObjectCaseSensitive(with, "since");
        cJSON_DeleteItemFromObjectCaseSensitive(with, "tail");
        json_set_str(with, "since", extents[i].since);
        if (extents[i].tail >= 0)
            json_set_int(with, "tail", extents[i].tail);
    }
    object_logs(v->head.bench, wish);
}

// ":logs --since=2h" over a log: the same rows, with these options alone.
static void request(view *view_, const char *action, const char *words)
{
    struct page_view *v = (struct page_view *)view_;
    if (!v->wish || !str_eq(action, "logs")) {
        bench_complain(view_->bench, "%s works on a row of a table", action);
        return;
    }
    cJSON *wish = cJSON_Duplicate(v->wish, true);
    cJSON_DeleteItemFromObjectCaseSensitive(wish, "with");
    if (object_logs_options(view_->bench, wish, words) == 0)
        object_logs(view_->bench, wish);
    else
        cJSON_Delete(wish);
}

// "web-1-20260102-030405.log": what stands for nothing in a file's name becomes '-'.
static char *file_name(const struct page_view *v)
{
    AUTO_BUF name = {0}, now = {0};
    bool yaml = v->words && syntax_by_file(v->title) == SYNTAX_YAML;
    for (const char *at = v->title; *at; at++)
        buf_char(&name, isalnum((unsigned char)*at) || *at == '.' || *at == '_' ? *at : '-');
    if (name.data && *name.data == '.')
        *name.data = '-';
    clock_rfc3339(&now, clock_wall(), CLOCK_SECONDS);
    buf_char(&name, '-');
    for (const char *at = buf_cstr(&now); *at && *at != 'Z'; at++)
        if (isdigit((unsigned char)*at) || *at == 'T')
            buf_char(&name, *at == 'T' ? '-' : *at);
    buf_str(&name, yaml ? ".yaml" : ".log");
    return buf_take(&name);
}

static int write_lines(struct page_view *v, FILE *file)
{
    struct numbered_line l;
    uint64_t i = 0;
    for (; lines_get(v->pane.lines, i, &l); i++) {
        fwrite(l.text.text, 1, l.text.n, file);
        if (l.cut)
            fprintf(file, " … %llu more bytes", (unsigned long long)l.cut);
        fputc('\n', file);
    }
    return fflush(file) == 0 && !ferror(file) ? 0 : -1;
}

// All lines that are shown: with a filter those that match.
static void save_lines(struct page_view *v)
{
    bench *b = v->head.bench;
    AUTO_FREE char *folder = bench_folder(b), *name = file_name(v),
                   *path = path_join(folder ? folder : ".", name);
    while (lines_looking(v->pane.lines) && lines_work(v->pane.lines))
        ;
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    FILE *file = fd < 0 ? NULL : fdopen(fd, "w");
    bool done = file && write_lines(v, file) == 0;
    int why = errno;
    if (file)
        done = fclose(file) == 0 && done;
    uint64_t n = lines_count(v->pane.lines);
    if (done)
        bench_say(b, "%llu line%s saved to %s", (unsigned long long)n, n == 1 ? "" : "s", name);
    else
        bench_complain(b, "%s was not saved: %s", name, strerror(why));
}

static bool act(view *view_, enum action a)
{
    struct page_view *v = (struct page_view *)view_;
    struct pane *p = &v->pane;
    load(v);
    v->placing = false; // the last row is another action's now
    if (is_of_logs(a)) {
        read_anew(v, a);
        return true;
    }
    switch ((int)a) {
    case ACT_SOURCE:
        go_to_source(v);
        return true;
    case ACT_SAVE_LINES:
        save_lines(v);
        return true;
    case ACT_SHIFT_LEFT:
    case ACT_SHIFT_RIGHT:
        pane_shift(p, a == ACT_SHIFT_LEFT ? -1 : 1);
        return true;
    case ACT_FOLLOW:
        v->follow = !v->follow;
        return true;
    case ACT_WRAP:
        p->wrap = !p->wrap;
        p->shift = p->row = 0;
        return true;
    case ACT_LINE_NUMBERS:
        p->numbers = !p->numbers;
        return true;
    case ACT_SEARCH:
        prompt_push(view_->bench, PROMPT_SEARCH, "");
        return true;
    case ACT_SEARCH_NEXT:
    case ACT_SEARCH_PREVIOUS:
        search(v, a == ACT_SEARCH_PREVIOUS);
        return true;
    case ACT_VIEW_NEXT:
    case ACT_VIEW_PREVIOUS:
        return !v->words && open_turn(view_, v->cell, v->display, a == ACT_VIEW_NEXT ? 1 : -1);
    case ACT_PIN:
        pin(v);
        return true;
    case ACT_CLIP:
        clip(v);
        return true;
    case ACT_INTERRUPT:
        remote_interrupt(view_->bench);
        return true;
    }
    return move(v, a);
}

static void filtered(view *view_)
{
    struct page_view *v = (struct page_view *)view_;
    load(v);
    v->placing = false; // the last row is the filter's now
    refilter(v);
}

static int wait_ms(const view *v)
{
    const struct page_view *p = (const struct page_view *)v;
    return p->working || lines_reading(p->pane.lines) ? 1 : -1;
}

static void hint(const view *v, buf *out)
{
    const struct page_view *p = (const struct page_view *)v;
    if (p->peek && !p->wish)
        buf_str(out, "P pin below the cell  ");
    buf_str(out, p->wish ? "P pin  t times  2-6 since  p previous  S save  / search  q back"
                         : "/ search  & filter  f follow  w wrap  q back");
}

static void done(view *view_)
{
    struct page_view *v = (struct page_view *)view_;
    if (v->peek)
        remote_drop(view_->bench, v->peek);
    cJSON_Delete(v->wish);
    lines_free(v->pane.lines);
    filter_done(&v->filter);
    pattern_done(&v->searched);
    pattern_done(&v->filtered);
    free(v->applied);
    free(v->title);
    free(v->cell);
    free(v->words);
}

static struct page_view *push(bench *b, const char *title)
{
    struct page_view *v = view_push(b, &page_view_ops, sizeof *v);
    v->title = mem_strdup(title);
    v->pane = (struct pane){.lines = lines_new(), .wrap = true, .hit = UINT64_MAX};
    v->applied = mem_strdup("");
    v->filter.mark = "&";
    v->filter.past = bench_past(b);
    return v;
}

void page_push(bench *b, size_t at)
{
    const struct run_cell *r = slot_run(b, at);
    struct page_view *v = push(b, "Output");
    v->cell = mem_strdup(slot_id(slot_at(b, at)));
    v->follow = r && r->state == STATE_RUNNING;
}

static struct page_view *push_display(bench *b, int64_t display)
{
    const struct output *o = bench_display(b, display);
    const cJSON *log = o ? json_get(o->data, LOG) : NULL;
    struct page_view *v = push(b, json_str_or(log, "title", "Output"));
    v->display = display;
    v->pane.prefixed = log != NULL;
    v->follow = o && o->live;
    return v;
}

void page_push_display(bench *b, int64_t display)
{
    push_display(b, display);
}

static struct page_view *push_text(bench *b, const char *title, const char *words)
{
    struct page_view *v = push(b, title);
    bool yaml = str_starts(words, "apiVersion:") || syntax_by_file(title) == SYNTAX_YAML;
    AUTO_BUF shown = {0};
    syntax_colour(yaml ? SYNTAX_YAML : SYNTAX_PLAIN, words, &shown);
    v->words = mem_strdup(buf_cstr(&shown));
    return v;
}

void page_push_peek(bench *b, int64_t display, const char *title, const char *words)
{
    struct page_view *v = words ? push_text(b, title, words) : push_display(b, display);
    v->peek = display;
}

void page_push_log(bench *b, int64_t display, cJSON *wish)
{
    struct page_view *v = (struct page_view *)bench_top(b);
    if (v->head.ops != &page_view_ops || !v->wish) {
        v = push_display(b, display);
    } else {
        if (v->peek)
            remote_drop(b, v->peek);
        cJSON_Delete(v->wish);
        v->display = display;
        v->version = 0;
        v->follow = true;
        v->pane.hit = UINT64_MAX;
    }
    v->peek = display;
    v->wish = wish;
}

static const struct binding bindings[] = {
    {MODE_VIEW, "/", ACT_SEARCH},
    {MODE_VIEW, "n", ACT_SEARCH_NEXT},
    {MODE_VIEW, "N", ACT_SEARCH_PREVIOUS},
    {MODE_VIEW, "&", ACT_FILTER},
    {MODE_VIEW, "f", ACT_FOLLOW},
    {MODE_VIEW, "Y", ACT_CLIP},
    {MODE_VIEW, "w", ACT_WRAP},
    {MODE_VIEW, "L", ACT_LINE_NUMBERS},
    {MODE_VIEW, "P", ACT_PIN},
    {MODE_VIEW, "S", ACT_SAVE_LINES},
    {MODE_VIEW, "Enter", ACT_SOURCE},
    {MODE_VIEW, "t", ACT_LOG_TIMES},
    {MODE_VIEW, "p", ACT_LOG_PREVIOUS},
    {MODE_VIEW, "0", ACT_LOG_TAIL},
    {MODE_VIEW, "1", ACT_LOG_HEAD},
    {MODE_VIEW, "2", ACT_LOG_1M},
    {MODE_VIEW, "3", ACT_LOG_5M},
    {MODE_VIEW, "4", ACT_LOG_15M},
    {MODE_VIEW, "5", ACT_LOG_30M},
    {MODE_VIEW, "6", ACT_LOG_1H},
    {MODE_VIEW, "Left", ACT_SHIFT_LEFT},
    {MODE_VIEW, "Right", ACT_SHIFT_RIGHT},
    {MODE_VIEW, "Tab", ACT_VIEW_NEXT},
    {MODE_VIEW, "S-Tab", ACT_VIEW_PREVIOUS},
    {MODE_VIEW, "C-c", ACT_INTERRUPT},
};
static const struct keymap keys = KEYMAP(bindings);
const struct view_ops page_view_ops = {.name = "output",
    .keys = &keys,
    .more = &scroll_keys,
    .settle = settle,
    .draw = draw,
    .act = act,
    .request = request,
    .filter = offsetof(struct page_view, filter),
    .filtered = filtered,
    .wait_ms = wait_ms,
    .hint = hint,
    .done = done};
