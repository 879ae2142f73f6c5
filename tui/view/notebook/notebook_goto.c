// SPDX-License-Identifier: MIT
// To the cells of a run that are looked for: what runs or asks, what failed.
#include "base/mem.h"
#include "tui/bench/document/problems.h"
#include "tui/bench/questions.h"
#include "tui/view/cell/cellview.h"
#include "tui/view/notebook/names.h"
#include "tui/view/notebook/notebook.h"

// The one that asks, else the one that runs, else the first that waits for its turn.
static size_t find_running(bench *b)
{
    size_t found = SIZE_MAX, best = 0;
    for (size_t i = 0; i < slot_count(b); i++) {
        const struct run_cell *r = slot_run(b, i);
        size_t worth = question_of_cell(b, slot_id(slot_at(b, i))) ? 3
                       : !r                                        ? 0
                       : r->state == STATE_RUNNING                 ? 2
                       : r->state == STATE_QUEUED                  ? 1
                                                                   : 0;
        if (worth > best) {
            found = i;
            best = worth;
        }
    }
    return found;
}

static size_t find_last(bench *b)
{
    size_t found = SIZE_MAX;
    int64_t last = 0;
    for (size_t i = 0; i < slot_count(b); i++) {
        const struct run_cell *r = slot_run(b, i);
        bool ended = r && r->count && (r->state == STATE_OK || r->state == STATE_FAILED);
        if (ended && r->mono_end > last) {
            found = i;
            last = r->mono_end;
        }
    }
    return found;
}

// It failed, or wrote the file in which another one did.
static bool has_failed(bench *b, size_t i)
{
    const struct run_cell *r = slot_run(b, i);
    return (r && r->state == STATE_FAILED) || cellsource_failed(b, i) > 0;
}

static void go(struct notebook_view *v, size_t i)
{
    notebook_select(v, i, false);
    notebook_anchor(v); // it is kept when the document is followed
    v->error = has_failed(v->head.bench, i);
}

void notebook_land(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t running = find_running(b), at = running == SIZE_MAX ? find_last(b) : running;
    if (v->landed || v->editing || at == SIZE_MAX)
        return;
    go(v, at);
    v->follow = running != SIZE_MAX;
}

void notebook_go_running(struct notebook_view *v)
{
    size_t at = find_running(v->head.bench);
    if (at == SIZE_MAX) {
        bench_say(v->head.bench, "nothing runs");
        return;
    }
    go(v, at);
    v->follow = true;
}

void notebook_go_failed(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t n = slot_count(b), i = 1;
    while (i <= n && !has_failed(b, (v->at + i) % n))
        i++;
    if (i > n)
        bench_say(b, "no cell has failed");
    else
        go(v, (v->at + i) % n);
}

void notebook_go_changed(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t n = slot_count(b), i = 1;
    while (i <= n && slot_head(b, (v->at + i) % n) == HEAD_SAME)
        i++;
    if (i > n)
        bench_say(b, "no cell differs from git's HEAD");
    else
        notebook_select(v, (v->at + i) % n, false);
}

// Does place a come before b?
static bool is_before(size_t cell_a, pos a, size_t cell_b, pos b)
{
    return cell_a != cell_b ? cell_a < cell_b : pos_compare(a, b) < 0;
}

struct found {
    size_t cell;
    struct problem problem;
    bool any;
};

static void keep(struct found *f, size_t i, const struct problem *p)
{
    *f = (struct found){i, *p, true};
}

// The nearest one behind or before the cursor, else around the end.
static struct found find_problem(const struct notebook_view *v, bool back)
{
    bench *b = v->head.bench;
    struct found best = {0}, around = {0};
    struct problem p;
    pos from = v->editing ? edit_cursor(slot_edit(slot_at(b, v->at))) : (pos){0};
    for (size_t i = 0; i < slot_count(b); i++)
        for (size_t k = 0; slot_problem(b, i, k, &p); k++) {
            pos at = {p.line, p.from};
            bool first = !v->editing && i == v->at && !back; // its own first one
            bool behind = first || is_before(v->at, from, i, at);
            bool before = is_before(i, at, v->at, from);
            if (back ? before : behind && !best.any)
                keep(&best, i, &p);
            if (back || !around.any)
                keep(&around, i, &p);
        }
    return best.any ? best : around;
}

static void go_found(struct notebook_view *v, bool back)
{
    struct found f = slot_count(v->head.bench) ? find_problem(v, back) : (struct found){0};
    if (!f.any) {
        bench_say(v->head.bench, "nothing is wrong, as far as anybody can tell without running it");
        return;
    }
    notebook_go_to(v, f.cell, (pos){f.problem.line, f.problem.from});
    if (!v->editing)
        bench_say(v->head.bench, "%s", f.problem.text);
}

void notebook_go_problem(struct notebook_view *v, bool back)
{
    if (!problems_want_all(v->head.bench, back ? ACT_PROBLEM_PREVIOUS : ACT_PROBLEM_NEXT))
        go_found(v, back);
}

void notebook_go_definition(struct notebook_view *v)
{
    bench *b = v->head.bench;
    size_t set_in;
    pos from, to, at = edit_cursor(slot_edit(slot_at(b, v->at)));
    AUTO_FREE char *name = name_at(b, v->at, at, &from);
    if (!name) {
        bench_say(b, "there is no name of Lua or Python at the cursor");
    } else if (!name_definition(b, v->at, from, name, &set_in, &to)) {
        bench_say(b, "no cell sets %s", name);
    } else {
        free(v->came);
        v->came = mem_strdup(slot_id(slot_at(b, v->at)));
        v->came_at = at;
        notebook_go_to(v, set_in, to);
    }
}

bool notebook_come_back(struct notebook_view *v)
{
    size_t i;
    AUTO_FREE char *id = STEAL(v->came);
    if (!slot_by_id(v->head.bench, id, &i))
        return false;
    notebook_go_to(v, i, text_clamp(edit_text(slot_edit(slot_at(v->head.bench, i))), v->came_at));
    return true;
}
