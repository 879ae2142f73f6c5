// SPDX-License-Identifier: MIT
#include "script/kernel/session/file/origin.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct written {
    char *path, *cell;
    long count;  // execution count, as in the cell's title
    int skipped; // number of cell lines before the file's first
};
struct origins {
    struct written *list;
    size_t n;
};

origins *origins_new(void)
{
    return mem_alloc(sizeof(origins));
}

void origins_free(origins *o)
{
    for (size_t i = 0; o && i < o->n; i++) {
        free(o->list[i].path);
        free(o->list[i].cell);
    }
    if (o)
        free(o->list);
    free(o);
}

static struct written *find(const origins *o, const char *path)
{
    for (size_t i = 0; i < o->n; i++)
        if (str_eq(o->list[i].path, path))
            return &o->list[i];
    return NULL;
}

static const char *plain(const char *path)
{
    while (str_starts(path, "./"))
        path += 2;
    return path;
}

// Notes only files that have the cell's own lines. Left out are templates, which may have moved
// lines; names with ${…}, which are unknown here; and appended text, which does not begin at line
// 1.
void origins_note(origins *o, const execution *x)
{
    const struct plan *p = &x->plan;
    if (p->kind != PLAN_FILE || p->path_lua || p->append || x->failure != FAILURE_NONE)
        return;
    struct written *w = find(o, plain(p->path));
    if (!w) {
        o->list = mem_resize(o->list, o->n + 1, sizeof *o->list);
        w = &o->list[o->n++];
        *w = (struct written){.path = mem_strdup(plain(p->path))};
    }
    free(w->cell);
    w->cell = mem_strdup(x->turn.cell);
    w->count = x->count;
    w->skipped = p->skipped;
}

// "tt.lua:3", or Python's `File "main.py", line 3`: its length and the line; 0: neither.
static size_t place_at(const char *text, const char *path, long *line)
{
    static const char *const middles[] = {":", "\", line "};
    size_t n = strlen(path);
    if (strncmp(text, path, n) != 0)
        return 0;
    for (size_t i = 0; i < ARRAY_LEN(middles); i++) {
        if (!str_starts(text + n, middles[i]))
            continue;
        const char *digits = text + n + strlen(middles[i]);
        char *end;
        *line = isdigit((unsigned char)*digits) ? strtol(digits, &end, 10) : 0;
        if (*line > 0 && *line < 10000000)
            return (size_t)(end - text);
    }
    return 0;
}

// Is this the end of another file's name?
static bool is_in_name(const char *text, const char *at)
{
    if (at >= text + 2 && at[-1] == '/' && at[-2] == '.' &&
        (at == text + 2 || isspace((unsigned char)at[-3])))
        return false;
    return at > text && (isalnum((unsigned char)at[-1]) || strchr("_-./", at[-1]));
}

void origins_explain(const origins *o, const char *text, buf *out, const char **from, int *line)
{
    *from = NULL;
    for (const char *at = text; *at;) {
        const struct written *w = NULL;
        size_t n = 0;
        long found = 0;
        for (size_t i = 0; i < o->n && !n && !is_in_name(text, at); i++)
            if ((n = place_at(at, o->list[i].path, &found)))
                w = &o->list[i];
        if (!w) {
            buf_char(out, *at++);
            continue;
        }
        if (!*from) {
            *from = w->cell;
            *line = (int)found + w->skipped;
        }
        if (out->len >= 6 && str_ends(buf_cstr(out), "File \"")) // Python's words for a place
            out->data[out->len -= 6] = '\0';
        buf_fmt(out, "cell [%ld] line %ld (%s:%ld)", w->count, found + w->skipped, w->path, found);
        at += n;
    }
}
