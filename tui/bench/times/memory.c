// SPDX-License-Identifier: MIT
// What earlier runs have left below the cells, until these run again: the newest run that has
// executed a cell counts. Runs are looked for after the first picture, a few milliseconds at a
// time, and of each only the cells that are drawn are read.
//
//   runs     newest ── replay, outline ── cells as they are drawn
//            older  ── …                                its cell for each of ours: `cells`
//
// Whether that still holds is asked of the run's facts, which are without outputs.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/jupyter.h"
#include "script/journal/runs/earlier.h"
#include "script/journal/stale/outside.h"
#include "script/journal/stale/stale.h"
#include "tui/bench/bench_private.h"

#include <string.h>
#include <sys/stat.h>

enum { RUNS_MOST = 8, WORK_MS = 4, PIECE = 1 << 20 };

struct known {
    struct earlier_run of; // without a replay: the outline has all of it
    hashmap *cells;        // by the id of a cell here: its number among the run's cells
    bool *added;           // by that number
    cJSON *found;          // its stale cells, as of `turns` of this run, …
    uint64_t turns;
    unsigned typed, looked;
};
struct memory {
    char *folder;
    char **given;
    earlier *search; // NULL: not begun, or done
    bool wanted;     // it is to be begun
    struct known *runs;
    size_t n;
    uint64_t turns;    // counts the changes of these
    size_t file;       // the place of what the .ipynb itself brought along; n: it brought nothing
    int64_t file_time; // when it was written
    // Of a kernel that is left for another one.
    char *left_run, *left_spools;
};

static void known_done(struct known *k)
{
    earlier_done(&k->of);
    hashmap_free(k->cells);
    free(k->added);
    cJSON_Delete(k->found);
}

void memory_free(bench *b)
{
    struct memory *m = b->memory;
    if (!m)
        return;
    for (size_t i = 0; i < m->n; i++)
        known_done(&m->runs[i]);
    earlier_free(m->search);
    if (m->given)
        strv_free(m->given);
    free(m->runs);
    free(m->folder);
    free(m->left_run);
    free(m->left_spools);
    free(STEAL(b->memory));
}

static struct memory *memory_of(bench *b)
{
    if (!b->memory)
        b->memory = mem_alloc(sizeof *b->memory);
    return b->memory;
}

void bench_remember(bench *b, const char *folder, const char *const *given)
{
    if (b->forgets)
        return;
    struct memory *m = memory_of(b);
    free(m->folder);
    strv_free(m->given);
    m->folder = mem_strdup(folder);
    m->given = given ? strv_dup(given) : NULL;
    m->wanted = true;
}

// Which of a run's cells each of ours is: by their ids, else by what they have in common.
static void find_cells(bench *b, struct known *k)
{
    AUTO_BUF words = {0};
    notebook_print(fold_notebook(b->fold), &words);
    notebook *copy = notebook_parse(buf_cstr(&words), words.len, NULL);
    size_t n = copy ? notebook_count(copy) : 0, at;
    if (copy && n == b->n_slots)
        notebook_adopt_ids(copy, fold_notebook(k->of.outline));
    hashmap_free(k->cells);
    k->cells = hashmap_new();
    cJSON_Delete(STEAL(k->found));
    b->memory->turns++;
    for (size_t i = 0; i < b->n_slots; i++) {
        const char *own = b->slots[i]->id;
        const char *id = n == b->n_slots ? notebook_cell(copy, i)->id : own;
        if (fold_cell_by_id(k->of.outline, own, &at) || fold_cell_by_id(k->of.outline, id, &at))
            hashmap_set(k->cells, own, strlen(own), at);
    }
    notebook_free(copy);
}

static void draw_anew(bench *b)
{
    for (size_t i = 0; i < b->n_slots; i++)
        b->slots[i]->version++;
    b->dirty = true;
}

static void add(bench *b, size_t at, const struct earlier_run *run)
{
    struct memory *m = b->memory;
    m->runs = mem_resize(m->runs, m->n + 1, sizeof *m->runs);
    memmove(m->runs + at + 1, m->runs + at, (m->n - at) * sizeof *m->runs);
    m->n++;
    m->runs[at] =
        (struct known){.of = *run, .added = mem_array(fold_count(run->outline) + 1, sizeof(bool))};
    find_cells(b, &m->runs[at]);
    draw_anew(b);
}

void memory_follow(bench *b)
{
    for (size_t i = 0; b->memory && i < b->memory->n; i++)
        find_cells(b, &b->memory->runs[i]);
}

void memory_keep(bench *b)
{
    if (!b->run || b->read_only || b->forgets)
        return;
    struct memory *m = memory_of(b);
    free(m->left_run);
    free(m->left_spools);
    m->left_run = mem_strdup(b->run);
    m->left_spools = mem_strdup(b->spool_dir);
}

static bool has_run(const fold *f)
{
    for (size_t i = 0; i < fold_count(f); i++)
        if (fold_cell(f, i)->count)
            return true;
    return fold_gone_count(f) > 0;
}

// Has the cell run in the run that is left, and was that not removed?
static bool has_left(const fold *f, const char *id)
{
    const struct run_cell *c = fold_cell_by_id(f, id, NULL);
    return c && c->count && !c->cleared;
}

void memory_take(bench *b, fold *f)
{
    struct memory *m = b->memory;
    for (size_t i = 0; m && i < b->n_slots; i++)
        b->slots[i]->forgotten = b->slots[i]->forgotten && !has_left(f, b->slots[i]->id);
    if (!m || !m->left_run || !has_run(f)) {
        fold_free(f);
    } else {
        struct earlier_run run = {
            .run = STEAL(m->left_run), .spools = STEAL(m->left_spools), .outline = f};
        add(b, 0, &run);
        m->file++;
        if (m->n > RUNS_MOST)
            known_done(&m->runs[--m->n]);
    }
}

// A cell that has left the run's document and is back in ours.
static const struct run_cell *recall_gone(const fold *f, const char *id)
{
    for (size_t i = 0; i < fold_gone_count(f); i++)
        if (str_eq(fold_gone(f, i)->id, id))
            return fold_gone(f, i)->count ? fold_gone(f, i) : NULL;
    return NULL;
}

// Its cell that is ours, with what it has left; NULL: it did not run there.
static const struct run_cell *recall(struct known *k, const char *id)
{
    size_t at;
    bool known = hashmap_get(k->cells, id, strlen(id), &at) ||
                 fold_cell_by_id(k->of.outline, id, &at); // it has come back since
    if (!known || at >= fold_count(k->of.outline))
        return k->of.replay ? NULL : recall_gone(k->of.outline, id);
    const struct run_cell *c = fold_cell(k->of.outline, at);
    if (k->of.replay && !k->added[at])
        replay_add_cell(k->of.replay, k->of.outline, c->id);
    k->added[at] = true;
    c = fold_cell(k->of.outline, at);
    return c->count ? c : NULL;
}

const struct run_cell *slot_outputs(bench *b, size_t i, struct slot_past *past)
{
    const struct run_cell *now = slot_run(b, i);
    struct slot *s = b->slots[i];
    if (past)
        *past = (struct slot_past){0};
    bool fresh = !now || (!now->count && !now->n_outputs);
    for (size_t k = 0; fresh && !s->forgotten && b->memory && k < b->memory->n; k++) {
        struct known *run = &b->memory->runs[k];
        const struct run_cell *was = recall(run, s->id);
        if (!was)
            continue;
        if (past)
            *past = (struct slot_past){run->of.run, run->of.spools};
        return was;
    }
    return now;
}

// What is known of a run without its outputs; NULL: the .ipynb has none.
static const fold *facts_of(const struct known *k)
{
    bool whole = !k->of.replay && !str_eq(k->of.run, FROM_FILE);
    return whole ? k->of.outline : k->of.facts;
}

// The same as recall, but without its outputs.
static const struct run_cell *ran_in(struct known *k, const char *id)
{
    size_t at;
    if (!k->of.replay || !k->of.facts)
        return recall(k, id);
    bool known =
        hashmap_get(k->cells, id, strlen(id), &at) || fold_cell_by_id(k->of.outline, id, &at);
    if (!known || at >= fold_count(k->of.outline))
        return NULL;
    const struct run_cell *c = fold_cell_by_id(k->of.facts, fold_cell(k->of.outline, at)->id, NULL);
    return c && c->count ? c : NULL;
}

// The earlier run whose outputs stand below the cell, and its cell there; NULL: none.
static struct known *shown_of(bench *b, size_t i, const struct run_cell **was)
{
    const struct run_cell *now = slot_run(b, i);
    bool fresh = (!now || (!now->count && !now->n_outputs)) && !b->slots[i]->forgotten;
    for (size_t k = 0; fresh && b->memory && k < b->memory->n; k++)
        if ((*was = ran_in(&b->memory->runs[k], b->slots[i]->id)))
            return &b->memory->runs[k];
    return NULL;
}

struct texts {
    struct slot **slots; // by the number of the run's cell
    const fold *facts;
};

// A cell that is not here any more counts as it was.
static bool is_edited(void *arg, const char *id, const char *hash)
{
    const struct texts *t = arg;
    size_t at;
    struct slot *s = fold_cell_by_id(t->facts, id, &at) ? t->slots[at] : NULL;
    return s && *hash && slot_changed(s, hash);
}

static const cJSON *stale_in(bench *b, struct known *k)
{
    const fold *facts = facts_of(k);
    unsigned looked = staleness_looked(b);
    if (k->found && k->turns == fold_turns(b->fold) && k->typed == b->typed && k->looked == looked)
        return k->found;
    AUTO_FREE struct slot **slots = mem_array(fold_count(facts) + 1, sizeof(struct slot *));
    for (size_t i = 0; i < b->n_slots; i++) {
        const struct run_cell *was = ran_in(k, b->slots[i]->id);
        size_t at;
        if (was && fold_cell_by_id(facts, was->id, &at))
            slots[at] = b->slots[i];
    }
    AUTO_JSON *outside = staleness_outside(b, k->of.run);
    struct texts texts = {slots, facts};
    const struct stale_now now = {.edited = is_edited,
        .arg = &texts,
        .outside = outside,
        .from_top = json_bool_or(fold_first(facts), "headless", false)};
    cJSON_Delete(k->found);
    k->found = stale_find(facts, &now);
    k->turns = fold_turns(b->fold);
    k->typed = b->typed;
    k->looked = looked;
    return k->found;
}

bool memory_stale(bench *b, size_t i, const char **why)
{
    const struct run_cell *was;
    struct known *k = shown_of(b, i, &was);
    if (k && facts_of(k))
        *why = json_str(json_get(stale_in(b, k), was->id), "why");
    else if (k && was->hash[0] && slot_changed(b->slots[i], was->hash))
        *why = "its text has changed";
    return k;
}

// Does a text, or what the cell read when it ran, have the name of a global that this one set?
static bool gives(const struct run_cell *giver, const struct run_cell *was, const char *source)
{
    static const char *const lists[] = {"writes", "touched"};
    const cJSON *item, *read;
    bool any = json_bool_or(was->used, "unknown", false), found = false;
    for (size_t k = 0; k < ARRAY_LEN(lists); k++)
        cJSON_ArrayForEach(item, json_get(giver->used, lists[k]))
        {
            const char *name = k == 0 ? item->string : cJSON_GetStringValue(item);
            found |= name && (any || fold_has_word(source, name));
            cJSON_ArrayForEach(read, json_get(was->used, "reads")) found |=
                str_eq(cJSON_GetStringValue(read), name);
        }
    return found;
}

void memory_add_needed(bench *b, bool *wanted)
{
    for (size_t i = b->n_slots; i-- > 0;) {
        const struct run_cell *was, *giver;
        if (!wanted[i] || !shown_of(b, i, &was))
            continue;
        AUTO_BUF source = {0};
        text_all(edit_text(b->slots[i]->edit), &source);
        for (size_t j = 0; j < i; j++)
            wanted[j] =
                wanted[j] || (shown_of(b, j, &giver) && gives(giver, was, buf_cstr(&source)));
    }
}

uint64_t memory_turns(const bench *b)
{
    return b->memory ? b->memory->turns : 0;
}

static bool is_any_shown(bench *b, const struct known *k)
{
    const struct run_cell *was;
    for (size_t i = 0; i < b->n_slots; i++)
        if (shown_of(b, i, &was) == k)
            return true;
    return false;
}

void memory_list(bench *b, cJSON *list)
{
    for (size_t k = 0; b->memory && k < b->memory->n; k++) {
        struct known *run = &b->memory->runs[k];
        if (!facts_of(run) || !is_any_shown(b, run))
            continue;
        AUTO_JSON *more = outside_list(facts_of(run));
        cJSON *file, *files = json_array_at(more, "files");
        while ((file = cJSON_DetachItemFromArray(files, 0))) {
            AUTO_FREE char *id = str_fmt("%s/%s", run->of.run, json_str_or(file, "cell", ""));
            json_set_str(file, "cell", id);
            cJSON_AddItemToArray(json_array_at(list, "files"), file);
        }
    }
}

cJSON *memory_outputs(bench *b, const char *id, long *count, err *e)
{
    size_t i;
    struct slot *s = slot_by_id(b, id, &i);
    struct slot_past past = {0};
    const struct run_cell *c = s ? slot_outputs(b, i, &past) : NULL;
    if (s && s->forgotten && (!c || !c->n_outputs)) {
        *count = c && c->count > 0 ? c->count : -1;
        return cJSON_CreateArray();
    }
    for (size_t k = 0; past.run && b->memory && k < b->memory->n; k++)
        if (past.run == b->memory->runs[k].of.run &&
            (b->memory->runs[k].of.replay || str_eq(past.run, FROM_FILE)))
            return NULL; // an earlier session's, or the file's own
    if (!c || !c->count)
        return NULL;
    err why = {0};
    cJSON *outputs = jupyter_outputs(c, past.run ? past.spools : b->spool_dir, 0, &why);
    if (why.code) {
        err_give(e, &why);
        cJSON_Delete(outputs);
        return NULL;
    }
    *count = c->count > 0 ? c->count : -1;
    return outputs;
}

// Not before the kernel has said which run is its own: that has a journal, too, and may have begun
// already.
static bool is_wanted(const bench *b)
{
    return b->memory->wanted && b->run && !b->incoming;
}

bool memory_due(const bench *b)
{
    return b->memory && (is_wanted(b) || b->memory->search);
}

// The file's name without folder and extension.
static char *name_of(const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    return dot && dot > name ? mem_strndup(name, (size_t)(dot - name)) : mem_strdup(name);
}

// An .ipynb's own outputs, as if a run had left them when the file was written. It is older than
// the runs that have ended since.
static void add_file(bench *b)
{
    struct stat st;
    notebook *nb = str_ends(b->path, ".ipynb") ? notebook_load(b->path, NULL) : NULL;
    bool is = nb && stat(b->path, &st) == 0;
    int64_t wall = is ? (int64_t)st.st_mtim.tv_sec * CLOCK_SEC : 0;
    fold *past = is ? jupyter_past(nb, wall) : NULL;
    notebook_free(nb);
    if (!past)
        return;
    b->memory->file = b->memory->n;
    b->memory->file_time = wall;
    add(b, b->memory->n, &(struct earlier_run){.run = mem_strdup(FROM_FILE), .outline = past});
}

// The runs come newest first.
static size_t place_of(const struct memory *m, const struct earlier_run *run)
{
    bool newer = m->file_time && fold_last(run->outline) > m->file_time;
    return newer && m->file < m->n ? m->file : m->n;
}

static void add_run(bench *b, const struct earlier_run *run)
{
    struct memory *m = b->memory;
    size_t at = place_of(m, run);
    m->file += at < m->n;
    add(b, at, run);
}

static void begin(bench *b)
{
    struct memory *m = b->memory;
    m->wanted = false;
    if (!b->path || !b->n_slots)
        return;
    add_file(b);
    AUTO_FREE char *name = name_of(b->path);
    m->search = earlier_new(&(struct earlier_of){.folder = m->folder,
        .path = b->path,
        .name = name,
        .notebook = fold_notebook(b->fold),
        .given = (const char *const *)m->given,
        .own = b->run});
}

void memory_work(bench *b)
{
    struct memory *m = b->memory;
    int64_t until = clock_mono() + WORK_MS * CLOCK_MS;
    if (m && is_wanted(b))
        begin(b);
    while (m && m->search && clock_mono() < until) {
        struct earlier_run run;
        int found = m->n < RUNS_MOST ? earlier_next(m->search, PIECE, &run) : -1;
        if (found > 0 && str_eq(run.run, b->run))
            earlier_done(&run);
        else if (found > 0)
            add_run(b, &run);
        if (found < 0) {
            earlier_free(m->search);
            m->search = NULL;
        }
    }
}
