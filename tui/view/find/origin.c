// SPDX-License-Identifier: MIT
#include "tui/view/find/origin.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/view.h"
#include "tui/bench/views.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *base_name(const char *path)
{
    const char *slash = strrchr(path, '/');
    return slash ? slash + 1 : path;
}

static bool is_of_name(char c)
{
    return isalnum((unsigned char)c) || strchr("._-", c);
}

// The file that a cell writes, new; *skipped: the lines of the cell before its text.
static char *file_of(const cell *c, size_t *skipped)
{
    static const char magic[] = "%%writefile";
    const char *own = c->options.file ? c->options.file : c->options.template_;
    *skipped = 0;
    if (own)
        return mem_strdup(base_name(own));
    if (!str_starts(c->source, magic))
        return NULL;
    AUTO_FREE char *first =
        mem_strndup(c->source + strlen(magic), strcspn(c->source + strlen(magic), "\n"));
    AUTO_FREE char *words = str_trim(first, strlen(first));
    const char *path = strrchr(words, ' ');
    *skipped = 1;
    return mem_strdup(base_name(path ? path + 1 : words));
}

// The line's number behind a file's name: `:3`, or `", line 3`; 0: none.
static long number_behind(const char *p)
{
    long line = 0;
    if (sscanf(p, ":%ld", &line) == 1 || sscanf(p, "\", line %ld", &line) == 1)
        return line;
    return 0;
}

static long line_in_file(const char *words, const char *file)
{
    size_t n = strlen(file);
    for (const char *at = words; n && (at = strstr(at, file)); at += n)
        if ((at == words || !is_of_name(at[-1])) && number_behind(at + n) > 0)
            return number_behind(at + n);
    return 0;
}

static bool by_number(bench *b, const char *words, size_t *where, size_t *line)
{
    long count = 0, number = 0;
    const char *at = strstr(words, "cell [");
    if (!at || sscanf(at, "cell [%ld] line %ld", &count, &number) != 2 || number < 1)
        return false;
    for (size_t i = 0; i < slot_count(b); i++) {
        const struct run_cell *r = slot_run(b, i);
        if (r && r->count == count) {
            *where = i;
            *line = (size_t)number - 1;
            return true;
        }
    }
    return false;
}

bool origin_of(bench *b, const char *words, size_t n, size_t *where, size_t *line)
{
    AUTO_FREE char *copy = mem_strndup(words, n);
    if (by_number(b, copy, where, line))
        return true;
    for (size_t i = 0; i < slot_count(b); i++) {
        size_t skipped;
        AUTO_FREE char *file = file_of(slot_cell(b, i), &skipped);
        long number = file ? line_in_file(copy, file) : 0;
        if (number < 1)
            continue;
        *where = i;
        *line = (size_t)number - 1 + skipped;
        return true;
    }
    return false;
}

void origin_go(bench *b, size_t where, size_t line)
{
    enum { DEEP = 20 };
    struct slot *s = slot_at(b, where);
    AUTO_FREE char *id = mem_strdup(slot_id(s));
    edit_set_cursor(slot_edit(s), text_clamp(edit_text(slot_edit(s)), (pos){line, 0}));
    for (int i = 0; i < DEEP && bench_top(b)->ops != &notebook_view_ops; i++)
        bench_act(b, ACT_CLOSE);
    if (bench_read_only(b))
        bench_select(b, id);
    else
        bench_select_to_edit(b, id);
}
