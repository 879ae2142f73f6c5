// SPDX-License-Identifier: MIT
// The record does not contain the Lua state, so the values that a cell needs are made again by the
// cells that made them. Names decide which cells these are: a cell can only use a global whose name
// occurs in its text, or in that of a function that it uses, which another cell has written.
#include "script/journal/stale/staleplan.h"

#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/fold/fold_private.h"
#include "script/journal/stale/stale.h"

#include <string.h>

enum does { KEEP, REBUILD, VERIFY, ANEW };
static const char *const words_of[] = {"keep", "rebuild", "verify", "anew"};
static const char restless[] = "it leaves another value each time";

struct plan {
    const fold *fold;
    const notebook *nb;
    enum does *does; // by the cell's index
    char **why;
};

static const struct run_cell *recorded(const struct plan *p, size_t i)
{
    const struct run_cell *c = fold_cell_by_id(p->fold, notebook_cell(p->nb, i)->id, NULL);
    return c && c->ran && (c->state == STATE_OK || c->state == STATE_FAILED) ? c : NULL;
}

static bool is_part(const cell *c)
{
    return c->kind == CELL_CODE && !cell_has_tag(c, "skip") && !cell_has_tag(c, "skip-execution");
}

static void decide(struct plan *p, size_t i, enum does does, char *why)
{
    if (p->does[i] >= does) {
        free(why);
        return;
    }
    free(p->why[i]);
    p->does[i] = does;
    p->why[i] = why;
}

// May the cell use globals whose names do not occur in its text?
static bool may_use_any(const struct plan *p, size_t i)
{
    static const char *const words[] = {
        "_G", "_ENV", "load", "loadfile", "dofile", "require", "debug"};
    const struct run_cell *c = recorded(p, i);
    if (json_bool_or(c ? c->used : NULL, "unknown", false))
        return true;
    for (size_t k = 0; k < ARRAY_LEN(words); k++)
        if (fold_has_word(notebook_cell(p->nb, i)->source, words[k]))
            return true;
    return false;
}

// What cell `user` needs from an earlier cell; NULL: nothing. New.
static char *need(const struct plan *p, size_t user, size_t giver)
{
    static const char *const lists[] = {"writes", "touched"};
    const char *text = notebook_cell(p->nb, user)->source;
    const struct run_cell *from = recorded(p, giver), *to = recorded(p, user);
    const cJSON *used = from ? from->used : NULL, *item;
    const char *source = notebook_cell(p->nb, giver)->source;
    bool any = may_use_any(p, user);
    const char *first = NULL; // the first by name: their order in the record means nothing
    for (size_t k = 0; k < ARRAY_LEN(lists); k++)
        cJSON_ArrayForEach(item, json_get(used, lists[k]))
        {
            const char *name = k == 0 ? item->string : cJSON_GetStringValue(item);
            bool needed = name && (any || fold_has_word(text, fold_field(name)) ||
                                      fold_names(json_get(to ? to->used : NULL, "reads"), name));
            first = needed && (!first || strcmp(name, first) < 0) ? name : first;
        }
    if (first)
        return mem_strdup(first);
    if (json_bool_or(used, "unknown", false))
        return mem_strdup("what it may have set");
    bool random =
        fold_has_word(text, "random") || json_bool_or(to ? to->used : NULL, "random", false);
    if (random && json_bool_or(used, "random", false))
        return mem_strdup("the order of math.random");
    if (strstr(source, "%env"))
        return mem_strdup("its %env");
    return NULL;
}

static void add_needs_of(struct plan *p, size_t user, bool *more)
{
    for (size_t i = 0; i < user; i++) {
        if (p->does[i] != KEEP || !is_part(notebook_cell(p->nb, i)))
            continue;
        AUTO_FREE char *what = need(p, user, i);
        if (!what)
            continue;
        AUTO_BUF name = {0};
        const char *title = notebook_cell(p->nb, user)->title;
        if (title)
            buf_str(&name, title);
        else
            notebook_cell_name(p->nb, user, &name);
        decide(p, i, REBUILD, str_fmt("%s needs %s", buf_cstr(&name), what));
        *more = true;
    }
}

// A thing that the cell may have changed after an earlier cell left it: a global that it set or
// changed, or one that it read whose value is more than its digest says (a function, an object).
// The change may reach others under another name, or through a function. NULL: nothing. Borrowed.
static const char *may_change(const struct plan *p, size_t i, size_t giver)
{
    const struct run_cell *from = recorded(p, giver), *c = recorded(p, i);
    const cJSON *used = c ? c->used : NULL, *item;
    const cJSON *touched = json_get(used, "touched"), *writes = json_get(used, "writes");
    cJSON_ArrayForEach(item, json_get(from ? from->used : NULL, "writes"))
    {
        const char *digest = cJSON_GetStringValue(item);
        bool more = !digest || !*digest;
        if (json_get(writes, item->string) || fold_names(touched, item->string) ||
            (more && fold_names(json_get(used, "reads"), item->string)))
            return item->string;
    }
    cJSON_ArrayForEach(item, json_get(from ? from->used : NULL, "touched"))
    {
        const char *name = cJSON_GetStringValue(item);
        if (name && (json_get(writes, name) || fold_names(touched, name)))
            return name;
    }
    return NULL;
}

// For each cell that runs, the last cell that runs and uses something of it; new.
static size_t *last_users(const struct plan *p)
{
    size_t n = notebook_count(p->nb), *last = mem_array(n + 1, sizeof *last);
    for (size_t user = n; user-- > 0;) {
        last[user] = last[user] > user ? last[user] : user;
        for (size_t i = 0; p->does[user] != KEEP && i < user; i++) {
            AUTO_FREE char *what = p->does[i] != KEEP ? need(p, user, i) : NULL;
            if (what && last[i] < last[user])
                last[i] = last[user];
        }
    }
    return last;
}

static void add_changes(struct plan *p, bool *more)
{
    AUTO_FREE size_t *last = last_users(p);
    for (size_t giver = 0; giver < notebook_count(p->nb); giver++) {
        for (size_t i = giver + 1; p->does[giver] != KEEP && i < last[giver]; i++) {
            bool kept = p->does[i] == KEEP && is_part(notebook_cell(p->nb, i));
            const char *what = kept ? may_change(p, i, giver) : NULL;
            if (!what)
                continue;
            decide(p, i, REBUILD, str_fmt("it may have changed %s", what));
            *more = true;
        }
    }
}

static void add_needs(struct plan *p)
{
    for (bool more = true; more;) {
        more = false;
        for (size_t i = 0; i < notebook_count(p->nb); i++)
            if (p->does[i] != KEEP)
                add_needs_of(p, i, &more);
        if (!more)
            add_changes(p, &more);
    }
}

// A cell that made things elsewhere, or an image, is valid only as long as these exist: verifying
// checks that.
static void add_effects(struct plan *p)
{
    bool lost = json_bool_or(fold_first(p->fold), "sandbox", false);
    for (size_t k = 0; k < fold_ledger_count(p->fold); k++) {
        const struct ledger_entry *e = fold_ledger(p->fold, k);
        bool elsewhere = str_eq(e->effect, "cluster") || str_eq(e->effect, "destructive");
        bool image = e->binding && str_starts(e->binding, "image.");
        size_t i;
        if ((!elsewhere && !image) || e->failed || !e->cell || !notebook_find(p->nb, e->cell, &i))
            continue;
        if (elsewhere && lost)
            decide(p, i, ANEW, mem_strdup("its private sandbox is gone"));
        else if (!e->undone)
            decide(p, i, VERIFY,
                mem_strdup(
                    elsewhere ? "is what it made still there?" : "is its image still the same?"));
    }
}

static bool is_edited(void *arg, const char *id, const char *hash)
{
    const struct plan *p = arg;
    const notebook *then = fold_notebook(p->fold);
    char hex[SHA256_HEX];
    size_t i, k;
    if (!notebook_find(p->nb, id, &i) || !notebook_find(then, id, &k))
        return true;
    const cell *c = notebook_cell(p->nb, i);
    cell_digest(c->source, strlen(c->source), hex);
    return !str_eq(hex, hash) || !str_eq(c->marker, notebook_cell(then, k)->marker);
}

// Parameters whose values have changed.
static cJSON *moved_params(const fold *f, const cJSON *params)
{
    AUTO_JSON *then = fold_params(f);
    cJSON *moved = cJSON_CreateObject();
    const cJSON *value;
    cJSON_ArrayForEach(value, params)
    {
        const cJSON *was = json_get(then, value->string);
        if (was && !json_equal(was, value))
            json_set_bool(moved, value->string, true);
    }
    return moved;
}

static bool is_nothing(const cell *c)
{
    return !c->options.file && !c->options.template_ && !c->source[strspn(c->source, " \t\r\n")];
}

// Did the last start only rebuild the cell, and did the cell leave a different value?
static bool is_restless(const fold *f, const char *id)
{
    const cJSON *again = json_get(f->resumed, "again");
    int64_t start = json_int_or(f->resumed, "seq", 0);
    if (!again || fold_names(again, id))
        return false;
    for (size_t i = 0; i < f->n_globals; i++) {
        const struct fold_own *own = fold_own_of(&f->globals[i], id);
        if (own && (int64_t)own->changed > start)
            return true;
    }
    return false;
}

// Was the cell valid in the last `run --stale`, which ended before it, or with its failure?
static bool held(const struct plan *p, const cell *c)
{
    const cJSON *again = json_get(p->fold->resumed, "again");
    const notebook *then = fold_notebook(p->fold);
    size_t k;
    if (!again || fold_names(again, c->id) || !notebook_find(then, c->id, &k))
        return false;
    const cell *was = notebook_cell(then, k);
    return !is_nothing(c) && str_eq(was->source, c->source) && str_eq(was->marker, c->marker);
}

static void decide_unfinished(struct plan *p, size_t i, bool more_stale)
{
    const cell *c = notebook_cell(p->nb, i);
    bool failed = recorded(p, i), still = !more_stale && held(p, c);
    if (failed)
        decide(p, i, still ? VERIFY : ANEW, mem_strdup("it failed"));
    else if (still)
        decide(p, i, VERIFY, mem_strdup("the run ended before it"));
    else
        decide(p, i, ANEW,
            mem_strdup(cell_has_tag(c, "injected-parameters") ? "a parameter is given"
                                                              : "it has not run yet"));
}

// Cells that the last `run --stale` counted as valid although cells before them ran anew stay valid
// as long as no other cell above them is stale.
static void add_stale(struct plan *p, const cJSON *outside, const cJSON *params)
{
    bool more_stale = false;
    AUTO_JSON *moved = moved_params(p->fold, params);
    const struct stale_now now = {
        .edited = is_edited, .arg = p, .outside = outside, .params = moved, .from_top = true};
    AUTO_JSON *found = stale_find(p->fold, &now);
    for (size_t i = 0; i < notebook_count(p->nb); i++) {
        const cell *c = notebook_cell(p->nb, i);
        const char *why = json_str(json_get(found, c->id), "why");
        if (!is_part(c))
            continue;
        if (why)
            decide(p, i, str_eq(why, restless) ? REBUILD : ANEW, mem_strdup(why));
        else if (recorded(p, i) && recorded(p, i)->state == STATE_FAILED)
            decide_unfinished(p, i, more_stale);
        else if (c->options.when)
            decide(p, i, REBUILD, str_fmt("when=\"%s\"", c->options.when));
        else if (!recorded(p, i))
            decide_unfinished(p, i, more_stale);
        more_stale |= p->does[i] == ANEW && !is_nothing(c) &&
                      !fold_names(json_get(p->fold->resumed, "again"), c->id);
    }
}

// Adds to `outside` the cells that run only to rebuild values, and give different ones each time:
// their readers must run with them, in the same round.
static bool add_restless(const struct plan *p, cJSON *outside)
{
    bool more = false;
    for (size_t i = 0; i < notebook_count(p->nb); i++) {
        const char *id = notebook_cell(p->nb, i)->id;
        bool rebuilt = p->does[i] == REBUILD || p->does[i] == VERIFY;
        if (!rebuilt || json_get(outside, id) || !is_restless(p->fold, id))
            continue;
        json_set_str(outside, id, restless);
        more = true;
    }
    return more;
}

static void decide_all(struct plan *p, const cJSON *outside, const cJSON *params)
{
    AUTO_JSON *all = outside ? cJSON_Duplicate(outside, true) : cJSON_CreateObject();
    do {
        for (size_t i = 0; i < notebook_count(p->nb); i++) {
            p->does[i] = KEEP;
            free(STEAL(p->why[i]));
        }
        add_stale(p, all, params);
        add_effects(p);
        add_needs(p);
    } while (add_restless(p, all));
}

cJSON *stale_plan(const fold *f, const notebook *now, const cJSON *outside, const cJSON *params)
{
    size_t n = notebook_count(now);
    struct plan p = {f, now, mem_array(n + 1, sizeof *p.does), mem_array(n + 1, sizeof *p.why)};
    cJSON *plan = cJSON_CreateArray();
    decide_all(&p, outside, params);
    for (size_t i = 0; i < n; i++) {
        const cell *c = notebook_cell(now, i);
        if (is_part(c) && !(p.does[i] == ANEW && !recorded(&p, i) && is_nothing(c))) {
            cJSON *one = cJSON_CreateObject();
            AUTO_BUF name = {0};
            notebook_cell_name(now, i, &name);
            json_set_str(one, "cell", c->id);
            json_set_str(one, "title", c->title ? c->title : buf_cstr(&name));
            json_set_str(one, "does", words_of[p.does[i]]);
            json_set_str(one, "why", p.why[i] ? p.why[i] : "it holds");
            cJSON_AddItemToArray(plan, one);
        }
        free(p.why[i]);
    }
    free(p.does);
    free(p.why);
    return plan;
}

size_t stale_plan_count(const cJSON *plan, const char *does)
{
    const cJSON *one;
    size_t n = 0;
    cJSON_ArrayForEach(one, plan) n += str_eq(json_str(one, "does"), does);
    return n;
}
