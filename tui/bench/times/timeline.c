// SPDX-License-Identifier: MIT
// The time of a run that has ended, as the last row: which time is shown, where that is between
// beginning and end, and where cells began and ended.
//
//   21 Nov 14:03:12 ━━━┷━━━━━━┷━━●────┴────────┴───── 2m13s of 12m
#include "base/clock.h"
#include "base/text/utf8.h"
#include "tui/bench/bench_private.h"

#include <string.h>
#include <time.h>

// LENGTH: the bar stays as long as it is while the time goes from "999ms" to "1h59m".
enum { WITH_LENGTH = 60, WITH_DAY = 70, LENGTH = 6 };

static int columns_of(const buf *words)
{
    return text_width(buf_cstr(words), words->len, 0);
}

// "14:03:12", with its day where there is room.
static void add_time(const bench *b, int columns, buf *out)
{
    time_t at = (time_t)(bench_now(b) / CLOCK_SEC);
    struct tm tm;
    char words[40];
    localtime_r(&at, &tm);
    strftime(words, sizeof words, columns >= WITH_DAY ? "%d %b %H:%M:%S" : "%H:%M:%S", &tm);
    buf_fmt(out, " %s ", words);
}

static void add_length(const bench *b, int columns, buf *out)
{
    const struct replaying *p = b->replaying;
    AUTO_BUF since = {0}, all = {0};
    int64_t now = bench_now(b);
    if (columns < WITH_LENGTH)
        return;
    duration_format(&since, now > p->began ? now - p->began : 0);
    duration_format(&all, p->ended > p->began ? p->ended - p->began : 0);
    int w = all.len > LENGTH ? (int)all.len : LENGTH;
    buf_fmt(out, " %*s of %s ", w, buf_cstr(&since), buf_cstr(&all));
}

rect timeline_bar(const bench *b, rect row)
{
    AUTO_BUF left = {0}, right = {0};
    add_time(b, row.w, &left);
    add_length(b, row.w, &right);
    int x = columns_of(&left), w = row.w - x - columns_of(&right);
    return (rect){row.x + x, row.y, w > 0 ? w : 0, 1};
}

static int column_of(const struct replaying *p, rect bar, int64_t wall)
{
    double all = (double)(p->ended - p->began), part = (double)(wall - p->began);
    double at = all > 0 ? part / all : 1;
    at = at < 0 ? 0 : at > 1 ? 1 : at;
    return bar.x + (int)(at * (bar.w - 1) + 0.5);
}

void timeline_draw(const bench *b, grid *g, rect row)
{
    const struct replaying *p = b->replaying;
    AUTO_BUF left = {0}, right = {0};
    add_time(b, row.w, &left);
    add_length(b, row.w, &right);
    grid_put(g, row, row.x, row.y, buf_cstr(&left), left.len, LOOK_BOLD);
    rect bar = timeline_bar(b, row);
    if (bar.w < 2)
        return;
    bool plain = b->ascii;
    int now = column_of(p, bar, bench_now(b));
    now = p->at + 1 == replay_count(p->run) ? bar.x + bar.w - 1 : p->at ? now : bar.x;
    for (int x = bar.x; x < bar.x + bar.w; x++)
        grid_print(g, row, x, row.y, x <= now ? LOOK_ACCENT : LOOK_DIM, "%s",
            plain      ? (x <= now ? "=" : "-")
            : x <= now ? "━"
                       : "─");
    for (size_t i = 0; i < p->n_marks; i++) {
        int x = column_of(p, bar, p->marks[i]);
        grid_print(g, row, x, row.y, x <= now ? LOOK_ACCENT : LOOK_DIM, "%s",
            plain      ? "+"
            : x <= now ? "┷"
                       : "┴");
    }
    grid_print(g, row, now, row.y, style_over(LOOK_ACCENT, LOOK_BOLD), "%s", plain ? "o" : "●");
    grid_put(g, row, bar.x + bar.w, row.y, buf_cstr(&right), right.len, LOOK_DIM);
}
