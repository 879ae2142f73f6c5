// SPDX-License-Identifier: MIT
// Reads Dockerfiles line by line. Source: BuildKit, parser/parser.go.
#include "k8s/image/dockerfile/dockerfile.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>
#include <strings.h>

struct reader {
    const char *next;
    int line; // of `next`
    char escape;
    bool directives; // may lines still be "# escape=`"?
};

// The next line without its end, new; NULL at the end of the file.
static char *read_line(struct reader *r)
{
    if (!*r->next)
        return NULL;
    size_t n = strcspn(r->next, "\n");
    char *line = mem_strndup(r->next, n);
    r->next += n + (r->next[n] == '\n');
    r->line++;
    while (n && line[n - 1] == '\r')
        line[--n] = '\0';
    return line;
}

// Removes the escape that continues a line, with the blanks after it. An escaped escape continues
// nothing.
static bool cut_continuation(const struct reader *r, char *line)
{
    size_t n = strlen(line);
    while (n && (line[n - 1] == ' ' || line[n - 1] == '\t'))
        n--;
    if (!n || line[n - 1] != r->escape || (n > 1 && line[n - 2] == r->escape))
        return false;
    line[n - 1] = '\0';
    return true;
}

static const char *skip_blanks(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

// "# escape=`", "# syntax=…" and "# check=…" must come first, each at most once.
static int read_directive(struct reader *r, const char *line, err *e)
{
    const char *name = *line == '#' ? skip_blanks(line + 1) : "";
    size_t n = 0;
    while (isalnum((unsigned char)name[n]))
        n++;
    const char *p = skip_blanks(name + n), *value = *p == '=' ? skip_blanks(p + 1) : "";
    bool escape = n == 6 && strncasecmp(name, "escape", n) == 0;
    r->directives = *value && (escape || (n == 6 && strncasecmp(name, "syntax", n) == 0) ||
                                  (n == 5 && strncasecmp(name, "check", n) == 0));
    if (!r->directives || !escape)
        return 0;
    AUTO_FREE char *text = str_trim(value, strlen(value));
    if (!str_eq(text, "\\") && !str_eq(text, "`"))
        return err_set(
            e, ERR_INVALID, "%d: escape is \\ or `, not “%s”", r->line, str_short(text, 20).text);
    r->escape = *text;
    return 0;
}

// Reads a whole step: joins continued lines, drops comments and empty lines between them. 1; 0: the
// end of the file; -1.
static int read_step(struct reader *r, buf *text, int *begin, err *e)
{
    bool more = true;
    buf_clear(text);
    *begin = 0;
    while (more) {
        AUTO_FREE char *line = read_line(r);
        if (!line)
            break;
        const char *from = skip_blanks(line);
        if (r->directives && read_directive(r, from, e) != 0)
            return -1;
        if (*from == '#' || !*from)
            continue;
        more = cut_continuation(r, line);
        if (!*begin) {
            *begin = r->line;
            buf_str(text, skip_blanks(line));
        } else
            buf_str(text, line);
        more = more || !*skip_blanks(buf_cstr(text));
    }
    return *begin && *skip_blanks(buf_cstr(text)) ? 1 : 0;
}

static const char *unset(void *arg, const char *name)
{
    return NULL;
}

// The word that ends a here-document, if the step's word begins one, as in "2<<-EOF"; new. *tabs:
// it may be indented with tabs.
static char *here_word(const char *word, bool *tabs)
{
    struct dockerfile_values none = {unset, NULL, 0, '\\'};
    word += strspn(word, "0123456789");
    if (!str_starts(word, "<<"))
        return NULL;
    *tabs = word[2] == '-';
    word += 2 + *tabs;
    AUTO_FREE char *name = *word && !strchr(word, '<') ? dockerfile_text(word, &none, NULL) : NULL;
    return name && *name ? STEAL(name) : NULL;
}

static int skip_here(struct reader *r, const char *word, bool tabs, int line, err *e)
{
    char *one;
    bool ends = false;
    while (!ends && (one = read_line(r))) {
        ends = str_eq(one + (tabs ? strspn(one, "\t") : 0), word);
        free(one);
    }
    return ends ? 0
                : err_set(e, ERR_INVALID, "%d: the here-document has no end: a line “%s”", line,
                      str_short(word, 40).text);
}

// Skips the step's here-documents.
static int take_here(struct dockerfile_step *s, struct reader *r, err *e)
{
    char **words = dockerfile_split(s->rest, '\\');
    int status = 0;
    for (char **w = words; *w && status == 0; w++) {
        bool tabs;
        AUTO_FREE char *word = here_word(*w, &tabs);
        s->here = s->here || word;
        if (word)
            status = skip_here(r, word, tabs, s->line, e);
    }
    strv_free(words);
    return status;
}

// Reads an option without its quotes and escapes; returns the text after it.
static const char *take_flag(struct dockerfile_step *s, const char *p)
{
    AUTO_BUF flag = {0};
    char quote = '\0';
    for (; *p && (quote || !isspace((unsigned char)*p)); p++) {
        if (quote ? *p == quote : *p == '"' || *p == '\'')
            quote = quote ? '\0' : *p;
        else if (*p != '\\' || *++p)
            buf_char(&flag, *p);
        else
            break;
    }
    if (!str_eq(buf_cstr(&flag), "--"))
        s->flags = strv_add(s->flags, buf_cstr(&flag));
    return skip_blanks(p);
}

static int add_step(struct dockerfile *d, struct reader *r, const char *text, int line, err *e)
{
    d->steps = mem_resize(d->steps, d->n + 1, sizeof *d->steps);
    struct dockerfile_step *s = &d->steps[d->n++];
    text = skip_blanks(text);
    size_t n = strcspn(text, " \t\v\f\r");
    const char *p = skip_blanks(text + n);
    *s = (struct dockerfile_step){
        .line = line, .name = mem_strndup(text, n), .flags = mem_array(1, sizeof *s->flags)};
    for (char *c = s->name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    while (str_starts(p, "--")) {
        bool ends = !p[2] || isspace((unsigned char)p[2]);
        p = take_flag(s, p);
        if (ends)
            break;
    }
    s->rest = str_trim(p, strlen(p));
    bool may = str_eq(s->name, "RUN") || str_eq(s->name, "COPY") || str_eq(s->name, "ADD") ||
               str_eq(s->name, "ONBUILD");
    return may && strstr(s->rest, "<<") ? take_here(s, r, e) : 0;
}

static const char *const native[] = {"FROM", "ARG", "ENV", "COPY", "ADD", "WORKDIR", "ENTRYPOINT",
    "CMD", "USER", "EXPOSE", "LABEL", "VOLUME", "STOPSIGNAL", "MAINTAINER", NULL};
static const char *const foreign[] = {"RUN", "SHELL", "HEALTHCHECK", "ONBUILD", NULL};

static bool is_among(const char *name, const char *const *names)
{
    while (*names && !str_eq(*names, name))
        names++;
    return *names != NULL;
}

int dockerfile_parse(const char *text, struct dockerfile *d, err *e)
{
    struct reader r = {.next = text + (str_starts(text, "\xef\xbb\xbf") ? 3 : 0),
        .escape = '\\',
        .directives = true};
    AUTO_BUF step = {0};
    int line = 0, got;
    *d = (struct dockerfile){0};
    while ((got = read_step(&r, &step, &line, e)) > 0)
        if ((got = add_step(d, &r, buf_cstr(&step), line, e)) < 0)
            break;
    d->escape = r.escape;
    if (got < 0) {
        dockerfile_done(d);
        return -1;
    }
    for (size_t i = 0; i < d->n; i++) {
        const struct dockerfile_step *s = &d->steps[i];
        if (is_among(s->name, native) || is_among(s->name, foreign))
            continue;
        const char *near = str_nearest(s->name, native);
        err_set(e, ERR_INVALID, "%d: “%s” is no instruction%s%s", s->line,
            str_short(s->name, 40).text, near ? ": did you mean " : "", near ? near : "");
        dockerfile_done(d);
        return -1;
    }
    return 0;
}

void dockerfile_done(struct dockerfile *d)
{
    for (size_t i = 0; i < d->n; i++) {
        free(d->steps[i].name);
        strv_free(d->steps[i].flags);
        free(d->steps[i].rest);
    }
    free(d->steps);
    *d = (struct dockerfile){0};
}

const struct dockerfile_step *dockerfile_foreign(const struct dockerfile *d)
{
    for (size_t i = 0; i < d->n; i++)
        if (is_among(d->steps[i].name, foreign) || d->steps[i].here)
            return &d->steps[i];
    return NULL;
}
