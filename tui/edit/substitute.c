// SPDX-License-Identifier: MIT
#include "tui/edit/substitute.h"

#include "base/mem.h"
#include "base/str.h"
#include "base/text/utf8.h"

#include <ctype.h>
#include <string.h>

void substitute_done(struct substitute *s)
{
    pattern_done(&s->what);
    buf_done(&s->with);
}

// One part, up to the separator, which stays text behind a backslash. Other backslashes stay.
static const char *take_part(const char *p, char separator, buf *out)
{
    for (; *p && *p != separator; p++) {
        if (*p == '\\' && p[1] == separator)
            p++;
        else if (*p == '\\' && p[1])
            buf_char(out, *p++);
        buf_char(out, *p);
    }
    return p;
}

int substitute_set(struct substitute *s, const char *words, const char *searched, err *e)
{
    static const char usage[] =
        "s/old/new/ puts new in the place of old; behind it g: everywhere on a line, c: asks each "
        "time, n: only counts, i: in either case, I: in this one";
    AUTO_BUF old = {0};
    char separator = *words;
    if (!ispunct((unsigned char)separator) || separator == '\\')
        return err_set(e, ERR_USAGE, "%s", usage);
    const char *p = take_part(words + 1, separator, &old);
    if (*p != separator)
        return err_set(e, ERR_USAGE, "%s", usage);
    p = take_part(p + 1, separator, &s->with);
    const char *flags = p + (*p == separator);
    const char *what = old.len ? buf_cstr(&old) : searched;
    if (!*what)
        return err_set(e, ERR_USAGE, "nothing was searched for yet, so s//new/ has no old");
    pattern_set(&s->what, what);
    for (; *flags && *flags != ' '; flags++) {
        if (!strchr("gcniI", *flags))
            return err_set(e, ERR_USAGE, "%c is no flag: %s", *flags, usage);
        s->all |= *flags == 'g';
        s->asks |= *flags == 'c';
        s->counts |= *flags == 'n';
        if (*flags == 'i' || *flags == 'I')
            pattern_set_case(&s->what, s->what.text, *flags == 'I');
    }
    return 0;
}

// Text that is added in capitals, in small letters, or as it is. Letters of ASCII alone have case
// here, as they have in a search.
struct writing {
    buf *out;
    char next, until; // 'u', 'l': the next letter; 'U', 'L': all; 0: as it is
};

static void write_text(struct writing *w, const char *s, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        char how = w->next ? w->next : w->until;
        unsigned char c = (unsigned char)s[i];
        buf_char(w->out, (char)(c >= 0x80 || !how          ? c
                                : how == 'u' || how == 'U' ? toupper(c)
                                                           : tolower(c)));
        w->next = 0;
    }
}

static void write_group(struct writing *w, const char *line, struct pattern_group group)
{
    if (group.from != SIZE_MAX)
        write_text(w, line + group.from, group.to - group.from);
}

// The text that replaces a match.
static void expand(
    const struct substitute *s, const char *line, const struct pattern_group *groups, buf *out)
{
    struct writing w = {.out = out};
    for (const char *p = buf_cstr(&s->with); *p; p++) {
        if (*p == '&') {
            write_group(&w, line, groups[0]);
            continue;
        }
        if (*p != '\\' || !p[1]) {
            write_text(&w, p, 1);
            continue;
        }
        p++;
        if (isdigit((unsigned char)*p))
            write_group(&w, line, groups[*p - '0']);
        else if (*p == 'n' || *p == 'r' || *p == 't')
            buf_char(out, *p == 't' ? '\t' : '\n');
        else if (*p == 'u' || *p == 'l')
            w.next = *p;
        else if (*p == 'U' || *p == 'L' || *p == 'E')
            w.until = *p == 'E' ? 0 : *p;
        else
            write_text(&w, p, 1);
    }
}

static void add_place(struct replacements *out, size_t line, struct pattern_group at, char *with)
{
    out->list = mem_resize(out->list, out->n + 1, sizeof *out->list);
    out->list[out->n++] = (struct replacement){{line, at.from}, {line, at.to}, with};
}

// An empty place is one only where the pattern says where, at the start or the end of a line, and
// not right behind another one. last: where that ends.
static bool is_place(const struct substitute *s, struct pattern_group at, size_t n, size_t last)
{
    const char *what = s->what.text;
    size_t length = s->what.n;
    if (at.to > at.from)
        return true;
    return at.from != last && ((at.from == 0 && what[0] == '^') ||
                                  (at.from == n && length && what[length - 1] == '$'));
}

static void find_in_line(
    const struct substitute *s, const char *words, size_t n, size_t line, struct replacements *out)
{
    struct pattern_group groups[PATTERN_GROUPS];
    size_t from = 0, before = out->n, last = SIZE_MAX;
    while (from <= n && pattern_match(&s->what, words, n, from, groups)) {
        bool place = is_place(s, groups[0], n, last);
        if (place && !s->all && out->n > before) {
            out->left++;
        } else if (place) {
            AUTO_BUF with = {0};
            expand(s, words, groups, &with);
            add_place(out, line, groups[0], mem_strdup(buf_cstr(&with)));
        }
        last = groups[0].to;
        from = last + (last == groups[0].from);
    }
}

void substitute_find(
    const struct substitute *s, const text *t, size_t lo, size_t hi, struct replacements *out)
{
    hi = hi < text_lines(t) ? hi : text_lines(t);
    for (size_t line = lo; line < hi; line++) {
        size_t n;
        const char *words = text_line(t, line, &n);
        find_in_line(s, words, n, line, out);
    }
}

void replacements_done(struct replacements *r)
{
    for (size_t i = 0; i < r->n; i++)
        free(r->list[i].with);
    free(r->list);
    *r = (struct replacements){0};
}

void replacements_apply(
    const text *t, const struct replacement *list, size_t n, const bool *wanted, buf *out)
{
    pos at = {0};
    for (size_t i = 0; i < n; i++) {
        if (wanted && !wanted[i])
            continue;
        text_copy(t, at, list[i].from, out);
        buf_str(out, list[i].with);
        at = list[i].to;
    }
    text_copy(t, at, text_end(t), out);
}
