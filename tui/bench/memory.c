// SPDX-License-Identifier: MIT
// What earlier runs have left below the cells, until these run again: the newest run that has
// executed a cell counts. Runs are looked for after the first picture, a few milliseconds at a
// time, and of each only the cells that are drawn are read.
//
//   runs     newest ── replay, outline ── cells as they are drawn
//            older  ── …                                its cell for each of ours: `cells`
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/earlier.h"
#include "script/journal/jupyter.h"
#include "tui/bench/bench_private.h"

#include <string.h>
#include <sys/stat.h>

enum { RUNS_MOST = 8, WORK_MS = 4, PIECE = 1 << 20 };

struct known {
    struct earlier_run of; // without a replay: the outline has all of it
    hashmap *cells;        // by the id of a cell here: its number among the run's cells
    bool *added;           // by that number
};
struct memory {
    char *folder;
    char **given;
    earlier *search; // NULL: not begun, or done
    bool wanted;     // it is to be begun
    struct known *runs;
    size_t n;
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
        *e = why;
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
