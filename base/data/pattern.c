// SPDX-License-Identifier: MIT
#include "base/data/pattern.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

// Matching an expression may take time that grows with the square of the line's length.
enum { LONGEST = 8 << 10 };

// Has the text capitals outside of escapes? The capital of "\S" does not count.
static bool has_capitals(const char *text)
{
    for (const char *c = text; *c; c++) {
        if (*c == '\\' && c[1])
            c++;
        else if (isupper((unsigned char)*c))
            return true;
    }
    return false;
}

void pattern_done(struct pattern *p)
{
    free(p->text);
    needle_done(&p->needle);
    if (p->compiled)
        regfree(&p->regex);
    *p = (struct pattern){0};
}

static void compile(struct pattern *p)
{
    int flags = REG_EXTENDED | REG_NEWLINE | (p->exact ? 0 : REG_ICASE);
    int code = regcomp(&p->regex, p->text, flags);
    p->compiled = code == 0;
    if (code != 0)
        regerror(code, &p->regex, p->wrong, sizeof p->wrong);
}

void pattern_set(struct pattern *p, const char *text)
{
    pattern_set_case(p, text, has_capitals(text));
}

void pattern_set_case(struct pattern *p, const char *text, bool exact)
{
    char *own = mem_strdup(text); // text may be p->text
    pattern_done(p);
    p->text = own;
    p->n = strlen(own);
    p->exact = exact;
    needle_set(&p->needle, own, p->n);
    if (strpbrk(own, ".*+?[](){}|^$\\"))
        compile(p);
}

void pattern_set_filter(struct pattern *p, const char *text)
{
    bool turned = *text == '!';
    pattern_set(p, text + turned);
    p->turned = turned;
}

bool pattern_is_empty(const struct pattern *p)
{
    return p->n == 0;
}

// In `at` its place and those of the first n_at - 1 groups.
static bool find_expression(
    const struct pattern *p, const char *line, size_t n, size_t from, regmatch_t *at, size_t n_at)
{
    size_t end = n < LONGEST ? n : LONGEST;
    regmatch_t empty = {.rm_so = -1};
    char text[LONGEST + 1]; // with a NUL: REG_STARTEND needs none, but sanitizers do
    if (end)                // if n is 0, line may be NULL
        memcpy(text, line, end);
    text[end] = '\0';
    while (from <= end) {
        at[0] = (regmatch_t){.rm_so = (regoff_t)from, .rm_eo = (regoff_t)end};
        if (regexec(&p->regex, text, n_at, at, REG_STARTEND | (end < n ? REG_NOTEOL : 0)) != 0)
            break;
        if (at[0].rm_eo > at[0].rm_so)
            return true;
        // "x*" matches nothing at every place: a place with an x is preferred
        empty = empty.rm_so < 0 ? at[0] : empty;
        from = (size_t)at[0].rm_so + 1;
    }
    at[0] = empty;
    return empty.rm_so >= 0;
}

const char *pattern_find(
    const struct pattern *p, const char *line, size_t n, size_t from, size_t *length)
{
    regmatch_t at;
    if (p->compiled) {
        bool found = find_expression(p, line, n, from, &at, 1);
        *length = found ? (size_t)(at.rm_eo - at.rm_so) : 0;
        return found ? line + at.rm_so : NULL;
    }
    *length = p->n;
    if (p->n == 0 || from > n)
        return NULL;
    return p->exact ? memmem(line + from, n - from, p->text, p->n)
                    : needle_find(&p->needle, line + from, n - from);
}

bool pattern_match(const struct pattern *p, const char *line, size_t n, size_t from,
    struct pattern_group groups[PATTERN_GROUPS])
{
    regmatch_t at[PATTERN_GROUPS];
    size_t length = 0;
    for (size_t i = 0; i < PATTERN_GROUPS; i++) {
        groups[i] = (struct pattern_group){SIZE_MAX, SIZE_MAX};
        at[i] = (regmatch_t){-1, -1};
    }
    if (!p->compiled) {
        const char *found = pattern_find(p, line, n, from, &length);
        if (found)
            groups[0] =
                (struct pattern_group){(size_t)(found - line), (size_t)(found - line) + length};
        return found != NULL;
    }
    if (!find_expression(p, line, n, from, at, PATTERN_GROUPS))
        return false;
    for (size_t i = 0; i < PATTERN_GROUPS; i++)
        if (at[i].rm_so >= 0)
            groups[i] = (struct pattern_group){(size_t)at[i].rm_so, (size_t)at[i].rm_eo};
    return true;
}

bool pattern_passes(const struct pattern *p, const char *line, size_t n)
{
    size_t ignored;
    return p->n == 0 || (pattern_find(p, line, n, 0, &ignored) != NULL) != p->turned;
}
