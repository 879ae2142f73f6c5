// SPDX-License-Identifier: MIT
#include "script/kernel/cells/datacheck.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/cells/bounded.h"
#include "script/kernel/cells/filecheck.h"
#include "script/notebook/params.h"

#include <stdlib.h>
#include <string.h>

struct datacheck {
    bounded *state;
};

datacheck *datacheck_new(const notebook *nb)
{
    datacheck *d = mem_alloc(sizeof *d);
    struct params params;
    params_find(nb, &params, NULL);
    AUTO_JSON *values = params_values(&params);
    params_done(&params);
    d->state = bounded_new(values);
    if (d->state)
        return d;
    datacheck_free(d);
    return NULL;
}

void datacheck_free(datacheck *d)
{
    if (d)
        bounded_free(d->state);
    free(d);
}

static size_t count_lines(const char *text, size_t n)
{
    size_t lines = 0;
    for (size_t i = 0; i < n; i++)
        lines += text[i] == '\n';
    return lines;
}

static bool has_expression(const char *text, int line)
{
    while (--line > 0 && *text)
        text += strcspn(text, "\n") + (text[strcspn(text, "\n")] == '\n');
    AUTO_FREE char *one = mem_strndup(text, strcspn(text, "\n"));
    return strstr(one, "${") != NULL;
}

// Translates a line in the filled-in text to the cell's.
static void settle(const struct plan *p, const char *filled, size_t n, int *line, err *e)
{
    ERR_GUARD(e);
    if (count_lines(filled, n) != count_lines(p->text, strlen(p->text))) {
        err why = *e;
        err_set(e, why.code, "line %d of the filled-in text, %s", *line, why.text);
        *line = 0;
    } else if (has_expression(p->text, *line) && str_starts(e->text, "column ")) {
        err why = *e; // the column differs in the cell's text
        err_set(e, why.code, "%s", why.text + strcspn(why.text, ":") + strlen(": "));
    }
}

// Checks the text with one kind of blanks. 1: it parses, or cannot be made; 0: it is wrong and had
// no blanks, so other kinds change nothing; -1: it is wrong.
static int try_blank(const datacheck *d, const struct plan *p, const char *name,
    enum template_blank blank, int *line, err *e)
{
    int blanks = 0;
    AUTO_FREE char *filled = bounded_sketch(d->state, p->text, blank, &blanks);
    if (!filled || filecheck_data(name, filled, strlen(filled), line, e) == 0)
        return 1;
    if (*line)
        settle(p, filled, strlen(filled), line, e);
    return blanks ? -1 : 0;
}

// The text is wrong if it is wrong with each kind of blanks; then reports the error with the first
// kind.
static int check_template(
    const datacheck *d, const struct plan *p, const char *name, int *line, err *e)
{
    for (int blank = 0; blank < BLANKS; blank++) {
        err why = {0};
        int at = 0;
        int result = try_blank(d, p, name, (enum template_blank)blank, &at, &why);
        if (result == 1)
            return 0;
        if (blank == 0) {
            err_give(e, &why);
            *line = at;
        }
        if (result == 0)
            break;
    }
    return -1;
}

// The file name that decides the format; NULL: neither JSON nor YAML.
static const char *form(const struct plan *p)
{
    const char *dot = p->path ? strrchr(p->path, '.') : NULL;
    if (dot && (str_eq(dot, ".json") || str_eq(dot, ".yaml") || str_eq(dot, ".yml")))
        return p->path;
    return str_eq(p->language, "json") ? "x.json" : str_eq(p->language, "yaml") ? "x.yaml" : NULL;
}

int datacheck_cell(const datacheck *d, const struct plan *p, int *line, err *e)
{
    const char *name = form(p);
    int result = 0;
    *line = 0;
    if (!name || p->append)
        return 0;
    if (p->kind == PLAN_FILE)
        result = filecheck_data(name, p->text, strlen(p->text), line, e);
    else if (p->kind == PLAN_TEMPLATE && d && !strstr(p->text, "{{"))
        result = check_template(d, p, name, line, e);
    if (*line)
        *line += p->skipped;
    return result;
}
