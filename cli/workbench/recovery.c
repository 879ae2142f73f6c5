// SPDX-License-Identifier: MIT
#include "cli/workbench/recovery.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/journal/file/hidden.h"
#include "script/journal/file/reader.h"
#include "script/journal/file/writer.h"
#include "script/journal/fold/fold.h"
#include "script/journal/mask/mask.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// STAMP: the part of a run's name "20260102-030405-1a2b".
enum { LAST_RECORD = 4096, RUNS_MAX = 16, STAMP = 20 };

// Does the journal end with an end record which says that the file is up to date? That record is
// short, and the last one.
static bool has_ended_saved(const char *jsonl)
{
    char tail[LAST_RECORD + 1];
    struct stat st;
    int fd = hidden_open(jsonl, O_RDONLY, 0, NULL);
    ssize_t n = -1;
    if (fd >= 0 && fstat(fd, &st) == 0)
        n = pread(fd, tail, LAST_RECORD, st.st_size > LAST_RECORD ? st.st_size - LAST_RECORD : 0);
    if (fd >= 0)
        close(fd);
    while (n > 0 && tail[n - 1] == '\n')
        n--;
    tail[n > 0 ? n : 0] = '\0';
    const char *newline = n > 0 ? memrchr(tail, '\n', (size_t)n) : NULL;
    AUTO_JSON *record = cJSON_Parse(newline ? newline + 1 : tail);
    return str_eq(json_str(record, "type"), "end") && !json_bool_or(record, "unsaved", false);
}

struct candidate {
    const char *run;
    struct timespec written;
};

static int last_written_first(const void *a, const void *b)
{
    const struct timespec *x = &((const struct candidate *)a)->written;
    const struct timespec *y = &((const struct candidate *)b)->written;
    return x->tv_sec != y->tv_sec     ? (x->tv_sec < y->tv_sec ? 1 : -1)
           : x->tv_nsec != y->tv_nsec ? (x->tv_nsec < y->tv_nsec ? 1 : -1)
                                      : 0;
}

// The newest runs of this name. A name has only the second in which a run began, so there may be
// several.
static size_t newest_runs(char **runs, const char *name, const char *cwd, struct candidate *out)
{
    AUTO_FREE char *like = journal_run_name(name, 0);
    size_t n = 0, length = strlen(like);
    for (char **run = runs; run && *run && n < RUNS_MAX; run++) {
        if (strlen(*run) != length || strncmp(*run, like, length - STAMP) != 0)
            continue;
        AUTO_FREE char *jsonl = journal_file(cwd, *run);
        struct stat st;
        if (stat(jsonl, &st) == 0)
            out[n++] = (struct candidate){*run, st.st_mtim};
    }
    qsort(out, n, sizeof *out, last_written_first);
    return n;
}

// The newest of them that belonged to a workbench, if it may have unsaved text; *first is its first
// record.
static char *unsaved_run(const char *name, const char *cwd, cJSON **first)
{
    struct candidate newest[RUNS_MAX];
    char **runs = journal_list(cwd, NULL), *found = NULL;
    size_t n = newest_runs(runs, name, cwd, newest);
    bool headless = true;
    for (size_t i = 0; i < n && headless; i++) {
        AUTO_FREE char *jsonl = journal_file(cwd, newest[i].run);
        cJSON *record = journal_first(jsonl);
        headless = json_bool_or(record, "headless", true);
        if (!headless && !has_ended_saved(jsonl) && !journal_is_written(jsonl)) {
            found = mem_strdup(newest[i].run);
            *first = STEAL(record);
        }
        cJSON_Delete(record);
    }
    if (runs)
        strv_free(runs);
    return found;
}

static bool is_newer(const char *file, const char *jsonl)
{
    struct stat f, j;
    if (stat(file, &f) < 0 || stat(jsonl, &j) < 0)
        return false;
    return f.st_mtim.tv_sec > j.st_mtim.tv_sec ||
           (f.st_mtim.tv_sec == j.st_mtim.tv_sec && f.st_mtim.tv_nsec > j.st_mtim.tv_nsec);
}

// The document of a journal; NULL if it has become another file's. *touched: that file has changed
// since the document last equalled it.
static fold *read_document(const char *jsonl, const char *path, bool *touched)
{
    reader *r = reader_open(jsonl, NULL);
    fold *f = fold_new();
    bool ours = r != NULL;
    int result;
    for (cJSON *record; r && (result = reader_next(r, &record, NULL)) != 0;) {
        if (result < 0)
            continue;
        bool saved = str_eq(json_str(record, "change"), "save");
        ours = saved ? str_eq(json_str_or(record, "path", path), path) : ours;
        if (str_eq(json_str(record, "type"), "touched"))
            *touched = true;
        else if (saved || str_eq(json_str(record, "type"), "document"))
            *touched = false;
        fold_event(f, record, NULL);
        cJSON_Delete(record);
    }
    reader_close(r);
    if (ours && fold_notebook(f))
        return f;
    fold_free(f);
    return NULL;
}

// Do the pieces around the masked places of one line occur in the other line, one after another?
static bool fits(const char *line, size_t n, const char *other, size_t m)
{
    const char *end = line + n, *hidden = memmem(line, n, MASK_TEXT, strlen(MASK_TEXT));
    size_t head = (size_t)(hidden - line);
    if (m < head || memcmp(line, other, head) != 0)
        return false;
    other += head, m -= head;
    for (const char *piece = hidden + strlen(MASK_TEXT);;) {
        size_t left = (size_t)(end - piece);
        const char *next = memmem(piece, left, MASK_TEXT, strlen(MASK_TEXT));
        if (!next)
            return m >= left && memcmp(other + m - left, piece, left) == 0;
        size_t part = (size_t)(next - piece);
        const char *at = memmem(other, m, piece, part);
        if (!at)
            return false;
        m -= (size_t)(at - other) + part;
        other = at + part;
        piece = next + strlen(MASK_TEXT);
    }
}

// Restores a line of text before its secrets were masked: if `file`, a text of several lines, has
// exactly one line that differs only there, returns that line; otherwise NULL.
static const char *recovery_unhide(const char *line, size_t n, const char *file, size_t *length)
{
    for (const char *at = file; *at; at += *length + (at[*length] == '\n')) {
        *length = strcspn(at, "\n");
        if (fits(line, n, at, *length))
            return at;
    }
    return NULL;
}

// false: a line has a masked secret that the file's cell does not show.
static bool unhide_cell(const char *source, const char *file, buf *out)
{
    for (const char *line = source; *line;) {
        size_t n = strcspn(line, "\n"), m = n;
        bool hides = memmem(line, n, MASK_TEXT, strlen(MASK_TEXT)) != NULL;
        const char *whole = hides ? recovery_unhide(line, n, file, &m) : line;
        if (!whole)
            return false;
        buf_add(out, whole, m);
        line += n;
        if (*line == '\n')
            buf_char(out, *line++);
    }
    return true;
}

// Restores the parts that the journal masks from the file. If that is impossible for a cell, the
// file's cell is used; if the file does not have the cell at all, the parts stay masked.
static size_t unhide(notebook *nb, const notebook *file)
{
    size_t hidden = 0, at;
    for (size_t i = 0; i < notebook_count(nb); i++) {
        const cell *c = notebook_cell(nb, i);
        if (!strstr(c->source, MASK_TEXT))
            continue;
        bool known = notebook_find(file, c->id, &at);
        const char *was = known ? notebook_cell(file, at)->source : "";
        AUTO_BUF whole = {0};
        bool all = unhide_cell(c->source, was, &whole);
        hidden += !all;
        if (all || known)
            notebook_replace(nb, i, all ? buf_cstr(&whole) : was);
    }
    return hidden;
}

static bool same(const buf *a, const char *b, size_t n)
{
    return a->len == n && memcmp(buf_cstr(a), b, n) == 0;
}

// Has the document changed since it equalled the file, and does it differ from the file now?
static bool is_news(const fold *f, const buf *words, struct recovery *found)
{
    const char *first = json_str_or(fold_first(f), "notebook", "");
    AUTO_BUF last = {0};
    notebook_print(fold_notebook(f), &last);
    bool unsaved = json_bool_or(fold_first(f), "unsaved", false);
    bool changed = unsaved || !same(&last, first, strlen(first));
    notebook *nb = changed ? notebook_copy(fold_notebook(f)) : NULL;
    notebook *file = notebook_parse(buf_cstr(words), words->len, NULL);
    if (nb && file) {
        notebook_adopt_ids(file, nb); // cells that were edited and saved keep their ids in the run
        found->hidden = unhide(nb, file);
        notebook_print(nb, &found->words);
    }
    bool news = nb && file && (found->hidden || !same(&found->words, buf_cstr(words), words->len));
    notebook_free(nb);
    notebook_free(file);
    return news;
}

bool recovery_find(
    const char *path, const char *name, const char *cwd, const buf *words, struct recovery *found)
{
    *found = (struct recovery){0};
    cJSON *first = NULL;
    found->run = unsaved_run(name, cwd, &first);
    AUTO_FREE char *jsonl = found->run ? journal_file(cwd, found->run) : NULL;
    bool may = jsonl && str_eq(json_str(first, "path"), path) && !is_newer(path, jsonl);
    cJSON_Delete(first);
    fold *f = may ? read_document(jsonl, path, &found->touched) : NULL;
    bool news = f && is_news(f, words, found);
    fold_free(f);
    if (!news)
        recovery_done(found);
    return news;
}

void recovery_done(struct recovery *r)
{
    free(r->run);
    buf_done(&r->words);
    *r = (struct recovery){0};
}
