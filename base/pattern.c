// SPDX-License-Identifier: MIT
#include "base/pattern.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

// The time for an expression may grow with the square of the length that it is compared with.
enum { LONGEST = 8 << 10 };

// Has the text capitals outside of escapes? "\S" is not meant as one.
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
    char *own = mem_strdup(text); // text may be p->text
    pattern_done(p);
    p->text = own;
    p->n = strlen(own);
    p->exact = has_capitals(own);
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

static const char *find_expression(
    const struct pattern *p, const char *line, size_t n, size_t from, size_t *length)
{
    size_t end = n < LONGEST ? n : LONGEST;
    const char *empty = NULL;
    char text[LONGEST + 1]; // with a NUL: REG_STARTEND needs none, but sanitizers do
    if (end)                // if n is 0, line may be NULL
        memcpy(text, line, end);
    text[end] = '\0';
    while (from <= end) {
        regmatch_t at = {.rm_so = (regoff_t)from, .rm_eo = (regoff_t)end};
        if (regexec(&p->regex, text, 1, &at, REG_STARTEND | (end < n ? REG_NOTEOL : 0)) != 0)
            break;
        *length = (size_t)(at.rm_eo - at.rm_so);
        if (*length)
            return line + at.rm_so;
        // "x*" matches nothing at every place: a place with an x is preferred
        empty = empty ? empty : line + at.rm_so;
        from = (size_t)at.rm_so + 1;
    }
    *length = 0;
    return empty;
}

const char *pattern_find(
    const struct pattern *p, const char *line, size_t n, size_t from, size_t *length)
{
    if (p->compiled)
        return find_expression(p, line, n, from, length);
    *length = p->n;
    if (p->n == 0 || from > n)
        return NULL;
    return p->exact ? memmem(line + from, n - from, p->text, p->n)
                    : needle_find(&p->needle, line + from, n - from);
}

bool pattern_passes(const struct pattern *p, const char *line, size_t n)
{
    size_t ignored;
    return p->n == 0 || (pattern_find(p, line, n, 0, &ignored) != NULL) != p->turned;
}
