// SPDX-License-Identifier: MIT
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/reader.h"
#include "script/journal/runs/runs_private.h"

#include <fcntl.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// A file that was changed this shortly before it was read may change again without new times:
// clocks of file systems are coarse.
#define SETTLED (2 * CLOCK_SEC)

// Larger journals are left to the first list: the end of their run must not be delayed.
enum { END_MOST = 8 << 20 };

enum { END_LINE = 16384 }; // the last line of a run that was received is not longer

struct item {
    char *run;
    const struct runs_brief *known; // in the index, or `read`; NULL: the journal was not read yet
    struct read {
        struct runs_brief brief;
        char *parts[RUNS_PARTS];
    } * read; // what its journal said; NULL: not read yet
};

struct runs_list {
    char *folder;
    int dir;
    runs_index *index;
    struct item *items;
    size_t n;
};

static int64_t ns_of(struct timespec t)
{
    return t.tv_sec * CLOCK_SEC + t.tv_nsec;
}

static bool key_in(int dir, const char *run, struct runs_key *key)
{
    char file[NAME_MAX + 1];
    struct stat st;
    size_t n = strlen(run);
    if (n + sizeof ".jsonl" > sizeof file)
        return false;
    memcpy(file, run, n);
    memcpy(file + n, ".jsonl", sizeof ".jsonl");
    if (fstatat(dir, file, &st, AT_SYMLINK_NOFOLLOW) < 0)
        return false;
    *key = (struct runs_key){st.st_size, (int64_t)st.st_ino, ns_of(st.st_mtim), ns_of(st.st_ctim)};
    return true;
}

static bool key_of(const runs_list *l, const char *run, struct runs_key *key)
{
    return key_in(l->dir, run, key);
}

static bool is_settled(const struct runs_key *key, int64_t now)
{
    return key->mtime < now - SETTLED && key->ctime < now - SETTLED;
}

// A run without an end is still running if its journal is being written, which the file alone does
// not show.
static bool may_go_on(const runs_list *l, const struct runs_brief *b)
{
    return b->open && runs_written(l->folder, b->run);
}

static void look_up(runs_list *l, struct item *it)
{
    struct runs_key key;
    runs_index_keep(l->index, it->run);
    // its start time was read
    const struct runs_brief *b = runs_index_believed(l->index, it->run);
    if (!b && key_of(l, it->run, &key))
        b = runs_index_find(l->index, it->run, &key);
    it->known = b && !may_go_on(l, b) ? b : NULL;
}

static const char *wall_of(const char *run, const void *list)
{
    const runs_list *l = list;
    struct runs_key key;
    const struct runs_brief *b = key_of(l, run, &key) ? runs_index_find(l->index, run, &key) : NULL;
    return b ? b->wall : NULL;
}

runs_list *runs_list_open(const char *folder, err *e)
{
    runs_list *l = mem_alloc(sizeof *l);
    err why = {0};
    l->folder = mem_strdup(folder);
    l->dir = hidden_look(folder, &why);
    l->index = l->dir >= 0 ? runs_index_open(l->dir) : NULL;
    char **runs = journal_list_by(folder, l->index ? wall_of : NULL, l, e);
    if (!runs) {
        runs_list_close(l);
        return NULL;
    }
    l->n = l->index ? strv_len(runs) : 0;
    l->items = mem_array(l->n + 1, sizeof *l->items);
    for (size_t i = 0; i < l->n; i++) {
        l->items[i].run = STEAL(runs[i]);
        look_up(l, &l->items[i]);
    }
    free(runs);
    return l;
}

static void read_done(struct read *r)
{
    runs_brief_done(&r->brief);
    for (size_t k = 0; k < RUNS_PARTS; k++)
        free(r->parts[k]);
}

static void read_free(struct read *r)
{
    if (r)
        read_done(r);
    free(r);
}

void runs_list_close(runs_list *l)
{
    if (!l)
        return;
    runs_index_close(l->index);
    for (size_t i = 0; i < l->n; i++) {
        free(l->items[i].run);
        read_free(l->items[i].read);
    }
    fd_close_at(&l->dir);
    free(l->items);
    free(l->folder);
    free(l);
}

size_t runs_list_count(const runs_list *l)
{
    return l->n;
}

const char *runs_list_run(const runs_list *l, size_t i)
{
    return l->items[i].run;
}

bool runs_list_ran(const runs_list *l, size_t i)
{
    const struct item *it = &l->items[i];
    return it->known ? it->known->ran : journal_ran(l->folder, it->run);
}

char *runs_list_notebook(const runs_list *l, size_t i)
{
    const struct item *it = &l->items[i];
    if (it->known)
        return mem_strdup(it->known->notebook);
    AUTO_FREE char *file = journal_file(l->folder, it->run);
    AUTO_JSON *first = journal_first(file);
    return mem_strdup(json_str_or(first, "path", ""));
}

// What somebody writes, or has just written, is not for the index: it is read again.
static int read_item(runs_list *l, struct item *it, err *e)
{
    struct runs_key before = {0}, after = {0};
    int64_t now = clock_wall();
    bool lasts = key_of(l, it->run, &before) && is_settled(&before, now);
    read_free(it->read);
    it->read = mem_alloc(sizeof *it->read);
    bool written = runs_written(l->folder, it->run);
    if (runs_read(l->folder, it->run, written, &it->read->brief, it->read->parts, e) < 0)
        return -1;
    it->known = &it->read->brief;
    it->read->brief.key = before;
    if (lasts && !runs_written(l->folder, it->run) && key_of(l, it->run, &after) &&
        runs_key_same(&before, &after))
        runs_index_add(l->index, it->known, (const char *const *)it->read->parts);
    return 0;
}

void runs_ended(const char *journal)
{
    AUTO_FREE char *hidden = path_dirname(journal), *folder = path_dirname(hidden);
    AUTO_FREE char *file = path_basename(journal);
    AUTO_FREE char *run = mem_strndup(file, strlen(file) - strlen(".jsonl"));
    struct runs_key key = {0}, after = {0};
    struct read r = {0};
    AUTO_FD dir = hidden_look(folder, NULL);
    if (dir < 0 || !key_in(dir, run, &key) || key.size > END_MOST)
        return;
    if (runs_read(folder, run, false, &r.brief, r.parts, NULL) == 0 && key_in(dir, run, &after) &&
        runs_key_same(&key, &after) && !r.brief.open) {
        r.brief.key = key;
        runs_index_append(dir, &r.brief, (const char *const *)r.parts);
    }
    read_done(&r);
}

// Is the last line of a journal the record with this number? A full disk may have lost it.
static bool ends_with(const char *path, int64_t size, uint64_t seq)
{
    char tail[END_LINE];
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
    int64_t from = size > END_LINE ? size - END_LINE : 0;
    ssize_t n = fd < 0 ? -1 : pread(fd, tail, sizeof tail, from);
    if (n < 2 || from + n != size || tail[n - 1] != '\n')
        return false;
    const char *before = memrchr(tail, '\n', (size_t)n - 1), *line = before ? before + 1 : tail;
    AUTO_JSON *record = json_parse(line, (size_t)(tail + n - 1 - line), NULL);
    return record && json_int_or(record, "seq", -1) == (int64_t)seq;
}

struct runs_entry {
    struct read heard;
    uint64_t seq;
};

struct runs_entry *runs_entry_new(const fold *f)
{
    if (!fold_run(f) || fold_state(f) == RUN_RUNNING)
        return NULL;
    struct runs_entry *entry = mem_alloc(sizeof *entry);
    entry->heard.brief.ran = true;
    entry->seq = fold_seq(f);
    runs_of(f, fold_run(f), &entry->heard.brief, entry->heard.parts);
    return entry;
}

void runs_entry_free(struct runs_entry *entry)
{
    if (entry)
        read_done(&entry->heard);
    free(entry);
}

void runs_heard(struct runs_entry *entry, const char *folder)
{
    if (!entry)
        return;
    struct runs_brief *b = &entry->heard.brief;
    AUTO_FREE char *path = journal_file(folder, b->run);
    AUTO_FD dir = hidden_look(folder, NULL);
    if (dir >= 0 && key_in(dir, b->run, &b->key) && ends_with(path, b->key.size, entry->seq))
        runs_index_append(dir, b, (const char *const *)entry->heard.parts);
    runs_entry_free(entry);
}

static bool has_all(const cJSON *row, const char *const *fields)
{
    for (; fields && *fields; fields++)
        if (!runs_field(row, *fields))
            return false;
    return fields != NULL;
}

// A part's JSON text, new; NULL: the index is damaged.
static char *part_of(const runs_list *l, const struct item *it, enum runs_part p)
{
    return it->read ? mem_strdup(it->read->parts[p]) : runs_index_part(l->index, it->known, p);
}

// Adds the parts that are needed. Errors: the index is damaged.
static int add_parts(
    const runs_list *l, const struct item *it, const char *const *fields, cJSON *row)
{
    for (enum runs_part p = 0; p < RUNS_LINEAGE && !has_all(row, fields); p++) {
        AUTO_FREE char *text = part_of(l, it, p);
        if (!text || runs_row_add(row, text) < 0)
            return -1;
    }
    return 0;
}

const struct runs_brief *runs_list_brief(runs_list *l, size_t i, err *e)
{
    struct item *it = &l->items[i];
    if (!it->known && read_item(l, it, e) < 0)
        return &it->read->brief;
    return it->known;
}

cJSON *runs_list_row(runs_list *l, size_t i, const char *const *fields, err *e)
{
    struct item *it = &l->items[i];
    for (;;) {
        cJSON *row = runs_row_of(runs_list_brief(l, i, e), fields);
        if (!it->known || add_parts(l, it, fields, row) == 0 || it->read)
            return row;
        cJSON_Delete(row);
        it->known = NULL; // the journal has it
    }
}

cJSON *runs_list_lineage(runs_list *l, size_t i)
{
    struct item *it = &l->items[i];
    for (;;) {
        runs_list_brief(l, i, NULL);
        AUTO_FREE char *text = it->known ? part_of(l, it, RUNS_LINEAGE) : NULL;
        cJSON *lineage = text ? json_parse(text, strlen(text), NULL) : NULL;
        if (lineage || it->read)
            return lineage;
        it->known = NULL; // the journal has it
    }
}
