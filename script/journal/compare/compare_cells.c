// SPDX-License-Identifier: MIT
// Matches the cells of two documents, and compares their outputs.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"
#include "script/journal/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define UNMATCHED SIZE_MAX
#define PODS      "application/vnd.firesteel.pods+json"
#define TABLE     "application/vnd.firesteel.table+json"
#define PROGRESS  "application/vnd.firesteel.progress+json"

static bool counts(const notebook *nb, size_t i)
{
    return !cell_has_tag(notebook_cell(nb, i), "injected-parameters");
}

struct matching {
    const notebook *a, *b;
    size_t *partner; // of a's cells
    bool *taken;     // b's cells
};

static void pair(struct matching *m, size_t i, size_t k)
{
    m->partner[i] = k;
    m->taken[k] = true;
}

static void match_ids(struct matching *m)
{
    for (size_t i = 0, k; i < notebook_count(m->a); i++)
        if (counts(m->a, i) && notebook_find(m->b, notebook_cell(m->a, i)->id, &k) &&
            counts(m->b, k) && !m->taken[k])
            pair(m, i, k);
}

static void match_titles(struct matching *m)
{
    for (size_t i = 0; i < notebook_count(m->a); i++) {
        const char *title = notebook_cell(m->a, i)->title;
        bool open = counts(m->a, i) && m->partner[i] == UNMATCHED && title;
        for (size_t k = 0; open && k < notebook_count(m->b); k++) {
            if (m->taken[k] || !counts(m->b, k) || !str_eq(title, notebook_cell(m->b, k)->title))
                continue;
            pair(m, i, k);
            open = false;
        }
    }
}

// Pairs the cells that are left between two pairs in their order, as long as they are of one kind.
static void match_places(struct matching *m)
{
    size_t k = 0, n = notebook_count(m->b);
    for (size_t i = 0; i < notebook_count(m->a); i++) {
        if (m->partner[i] != UNMATCHED) {
            k = m->partner[i] + 1;
            continue;
        }
        while (k < n && !counts(m->b, k))
            k++;
        const cell *c = notebook_cell(m->a, i);
        if (counts(m->a, i) && k < n && !m->taken[k] && notebook_cell(m->b, k)->kind == c->kind &&
            !c->title == !notebook_cell(m->b, k)->title)
            pair(m, i, k++);
    }
}

size_t *compare_match(const notebook *a, const notebook *b)
{
    struct matching m = {a, b, mem_array(notebook_count(a) + 1, sizeof *m.partner),
        mem_array(notebook_count(b) + 1, sizeof *m.taken)};
    for (size_t i = 0; i < notebook_count(a); i++)
        m.partner[i] = UNMATCHED;
    match_ids(&m);
    match_titles(&m);
    match_places(&m);
    free(m.taken);
    return m.partner;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static char **add_branches(char **names, const struct run_cell *c)
{
    for (size_t i = 0; c && i < c->n_outputs; i++) {
        const char *branch = c->outputs[i].branch;
        bool known = !branch || (i && str_eq(branch, c->outputs[i - 1].branch));
        for (char **n = names; !known && *n; n++)
            known = str_eq(*n, branch);
        if (!known)
            names = strv_add(names, branch);
    }
    return names;
}

char **compare_branches(const struct run_cell *a, const struct run_cell *b)
{
    char **names = add_branches(add_branches(strv_add(NULL, ""), a), b);
    qsort(names, strv_len(names), sizeof *names, by_name);
    return names;
}

bool compare_is_of(const struct output *o, const char *branch)
{
    return str_eq(o->branch ? o->branch : "", branch);
}

char *compare_branch_title(const char *title, const char *branch)
{
    return *branch ? str_fmt("%s: %s", title, branch) : mem_strdup(title);
}

bool compare_is_progress(const struct output *o)
{
    return o->kind == OUTPUT_DISPLAY && json_get(o->data, PROGRESS);
}

// Is the table a list of cluster objects? Such a list has a column AGE.
static bool has_ages(const cJSON *table)
{
    const cJSON *column;
    cJSON_ArrayForEach(column, json_get(table, "columns"))
    {
        const char *name = cJSON_GetStringValue(column);
        if (str_eq(name ? name : json_str(column, "name"), "AGE"))
            return true;
    }
    return false;
}

bool compare_is_of_cluster(const struct output *o)
{
    return o->kind == OUTPUT_DISPLAY &&
           (json_get(o->data, PODS) || has_ages(json_get(o->data, TABLE)));
}

// A training's progress and its lines arrive on two paths, so their order means nothing.
void compare_output(
    const struct compared *run, const struct run_cell *c, const char *branch, buf *out)
{
    for (int progress = 0; progress < 2; progress++)
        for (size_t i = 0; c && i < c->n_outputs; i++)
            if (compare_is_of(&c->outputs[i], branch) &&
                compare_is_progress(&c->outputs[i]) == progress)
                output_text(&c->outputs[i], run->spool_dir, 0, out, NULL);
}

#define DIGITS "0123456789"

// "1m43s", "2h03m": durations of a minute or more. Returns the length; 0: no duration.
static size_t long_time(const char *s)
{
    size_t n = 0, parts = 0;
    for (const char *unit = "hms"; *unit; unit++) {
        size_t digits = strspn(s + n, DIGITS);
        if (digits && s[n + digits] == *unit)
            n += digits + 1, parts++;
    }
    return parts > 1 ? n : 0;
}

// "12ms", "4.7 s"
static size_t short_time(const char *s)
{
    static const char *const units[] = {"ms", "us", "µs", "ns", "s"};
    size_t n = strspn(s, DIGITS), fraction = s[n] == '.' ? strspn(s + n + 1, DIGITS) : 0;
    if (!n)
        return 0;
    n += fraction ? fraction + 1 : 0;
    n += s[n] == ' ';
    for (size_t i = 0; i < ARRAY_LEN(units); i++)
        if (str_starts(s + n, units[i]))
            return n + strlen(units[i]);
    return 0;
}

// A word at s that has a part which differs in each run and means nothing: "0x55d0c0ffee", "12ms".
// Returns its length, and its replacement; 0: no such word.
static size_t passing_word(const char *s, bool begins, const char **as)
{
    size_t hex = str_starts(s, "0x") ? strspn(s + 2, DIGITS "abcdef") : 0;
    *as = "0x…";
    if (begins && hex >= 6)
        return 2 + hex;
    *as = "…s";
    size_t n = begins ? long_time(s) : 0;
    if (begins && !n)
        n = short_time(s);
    return isalnum((unsigned char)s[n]) || s[n] == '_' ? 0 : n;
}

// A file cell's message, which depends on whether the file existed: "Overwrote t.lua (4 lines)".
static size_t other_verb(const char *line)
{
    static const char *const verbs[] = {"Overwrote ", "Kept "};
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (str_starts(line, verbs[i]))
            return strlen(verbs[i]);
    return 0;
}

void compare_settle(const char *text, const char *run, buf *out)
{
    size_t name = run ? strlen(run) : 0;
    bool begins = true; // a word does
    while (*text) {
        size_t verb = !out->len || out->data[out->len - 1] == '\n' ? other_verb(text) : 0;
        if (verb) {
            buf_str(out, "Wrote ");
            text += verb;
        }
        const char *as;
        size_t n = passing_word(text, begins, &as);
        if (name && strncmp(text, run, name) == 0)
            n = name, as = "RUN";
        if (n) {
            buf_str(out, as);
            text += n;
            begins = false;
            continue;
        }
        begins = !isalnum((unsigned char)*text) && *text != '_' && *text != '.';
        buf_char(out, *text++);
    }
}
