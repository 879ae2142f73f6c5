// SPDX-License-Identifier: MIT
// A run that has ended, from its journal: the fold is its state at a time, and keys go through that
// time. All views show it as they show a kernel's run.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { MARKS = 500, PIECE = 64 << 20 };

int64_t bench_now(const bench *b)
{
    return b->replaying ? fold_last(b->fold) : clock_wall();
}

// A drawing of any cell may be another one now.
static void draw_anew(bench *b)
{
    slots_follow(b);
    for (size_t i = 0; i < b->n_slots; i++)
        b->slots[i]->version++;
    for (view *v = b->top; v; v = v->below)
        if (v->ops->heard)
            v->ops->heard(v, NULL);
    b->dirty = true;
}

static void name_state(bench *b)
{
    enum run_state now = fold_state(b->fold);
    free(b->state);
    b->state = mem_strdup(now == RUN_RUNNING ? "busy" : run_state_name(now));
}

// The cell that the last record is about is looked at.
static void show_at(bench *b, size_t at)
{
    struct replaying *p = b->replaying;
    const char *id = replay_cell(p->run, at);
    p->at = at;
    b->fold = replay_at(p->run, at);
    name_state(b);
    draw_anew(b);
    if (!at && b->n_slots)
        bench_select(b, b->slots[0]->id);
    else if (id && slot_by_id(b, id, NULL))
        bench_select(b, id);
}

static void find_marks(struct replaying *p)
{
    size_t at = 0, last = replay_count(p->run) - 1, room = MARKS;
    p->marks = mem_array(room, sizeof *p->marks);
    while (at < last && p->n_marks < room) {
        at = replay_step(p->run, at, 1, true);
        p->marks[p->n_marks++] = replay_time(p->run, at);
    }
}

static void say_run(bench *b)
{
    AUTO_BUF took = {0};
    enum run_state how = fold_state(b->fold);
    duration_format(&took, fold_duration(b->fold));
    bench_say(b, "%s: %s after %s", b->run ? b->run : "a run",
        how == RUN_RUNNING ? "goes on" : run_state_name(how), buf_cstr(&took));
}

void bench_show_run(bench *b, replay *run, const char *journal)
{
    while (replay_look(run, PIECE))
        ;
    struct replaying *p = mem_alloc(sizeof *p);
    size_t last = replay_count(run) - 1, n = strlen(journal);
    *p = (struct replaying){.run = run, .at = last, .began = replay_time(run, 0)};
    p->ended = replay_time(run, last);
    fold_free(b->fold);
    b->replaying = p;
    b->read_only = true;
    find_marks(p);
    show_at(b, last);
    free(STEAL(b->select)); // one lands where it failed
    free(b->spool_dir);
    b->spool_dir = mem_strndup(journal, n > 6 ? n - 6 : n); // without ".jsonl"
    free(b->path);
    b->path = mem_strdup(json_str(fold_first(b->fold), "path"));
    free(b->run);
    b->run = mem_strdup(fold_run(b->fold));
    say_run(b);
    if (fold_corrupt(b->fold))
        bench_complain(
            b, "%zu records of its journal are damaged and left out", fold_corrupt(b->fold));
}

void replaying_free(bench *b)
{
    if (!b->replaying)
        return;
    b->fold = NULL; // the replay's own
    replay_free(b->replaying->run);
    free(b->replaying->marks);
    free(STEAL(b->replaying));
}

static void go(bench *b, size_t to)
{
    const struct replaying *p = b->replaying;
    if (to == p->at)
        bench_say(b, to ? "the run ends here" : "the run begins here");
    else
        show_at(b, to);
}

bool replaying_act(bench *b, enum action a)
{
    if (a < ACT_EARLIER || a > ACT_TIME_LAST)
        return false;
    if (!b->replaying) {
        bench_complain(b, "a run that has ended has a past to go to: `firesteel show --open RUN`");
        return true;
    }
    const struct replaying *p = b->replaying;
    size_t last = replay_count(p->run) - 1;
    bool back = a == ACT_EARLIER || a == ACT_CELL_EARLIER;
    bool cells = a == ACT_CELL_EARLIER || a == ACT_CELL_LATER;
    go(b, a == ACT_TIME_FIRST  ? 0
          : a == ACT_TIME_LAST ? last
                               : replay_step(p->run, p->at, back ? -1 : 1, cells));
    return true;
}

// A time of day is the first one in the run, "14:03" or "14:03:12"; else that of the day on which
// it began.
static bool time_of_day(const struct replaying *p, const char *words, int64_t *wall)
{
    int hour, minute, second = 0, n = 0;
    if (sscanf(words, "%2d:%2d%n:%2d%n", &hour, &minute, &n, &second, &n) < 2 || words[n])
        return false;
    time_t began = (time_t)(p->began / CLOCK_SEC);
    struct tm tm;
    localtime_r(&began, &tm);
    tm.tm_hour = hour;
    tm.tm_min = minute;
    tm.tm_sec = second;
    tm.tm_isdst = -1;
    *wall = (int64_t)mktime(&tm) * CLOCK_SEC + CLOCK_SEC - 1; // to the end of that second
    if (*wall < p->began) {
        tm.tm_mday++;
        int64_t next = (int64_t)mktime(&tm) * CLOCK_SEC + CLOCK_SEC - 1;
        if (next < p->ended + CLOCK_SEC)
            *wall = next;
    }
    return true;
}

static bool understand(const struct replaying *p, const char *words, int64_t *wall)
{
    char *end;
    double percent = strtod(words, &end);
    int64_t since;
    if (end > words && str_eq(end, "%") && percent >= 0 && percent <= 100) {
        *wall = p->began + (int64_t)((double)(p->ended - p->began) * percent / 100);
        return true;
    }
    if (time_of_day(p, words, wall))
        return true;
    if (duration_parse(words, &since, NULL) < 0)
        return false;
    *wall = clock_add(p->began, since);
    return true;
}

static void clock_time(int64_t wall, char out[16])
{
    time_t seconds = (time_t)(wall / CLOCK_SEC);
    struct tm tm;
    strftime(out, 16, "%H:%M:%S", localtime_r(&seconds, &tm));
}

// A time before or after the run is its beginning or end, and that is said.
static void go_to_time(bench *b, int64_t wall)
{
    const struct replaying *p = b->replaying;
    char began[16], ended[16];
    if (wall >= p->began && wall < p->ended + CLOCK_SEC) {
        go(b, replay_find(p->run, wall));
        return;
    }
    clock_time(p->began, began);
    clock_time(p->ended, ended);
    show_at(b, wall < p->began ? 0 : replay_count(p->run) - 1);
    bench_say(b, "the run was %s to %s", began, ended);
}

void replaying_go(bench *b, const char *words)
{
    int64_t wall;
    if (!b->replaying)
        bench_complain(b, "a run that has ended has a past to go to: `firesteel show --open RUN`");
    else if (!understand(b->replaying, words, &wall))
        bench_complain(b, "\"%s\" is no time: 14:03, 2m30s, 50%%", words);
    else
        go_to_time(b, wall);
}

void replaying_point(bench *b, int x)
{
    const struct replaying *p = b->replaying;
    rect bar = timeline_bar(b, (rect){0, b->h - 1, b->w, 1});
    if (bar.w < 2 || x < bar.x || x >= bar.x + bar.w)
        return;
    double part = (double)(x - bar.x) / (bar.w - 1);
    go(b, replay_find(p->run, p->began + (int64_t)((double)(p->ended - p->began) * part)));
}
