// SPDX-License-Identifier: MIT
#include "k8s/image/dockerfile.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

// Words

struct lexer {
    struct dockerfile_values *values;
    bool split;
    int depth;
};

struct words {
    char **at; // ended by NULL
    size_t n, room;
};

enum { DEPTH = 20 };

static int lex(const struct lexer *x, const char *p, const char *end, struct words *words, err *e);

static size_t name_length(const char *p)
{
    size_t n = 0;
    while (isalpha((unsigned char)p[n]) || p[n] == '_' || (n && isdigit((unsigned char)p[n])))
        n++;
    return n;
}

// The "}" that ends "${…", where p is behind "${"; NULL: there is none.
static const char *closing(const char *p, const char *end)
{
    int open = 1;
    for (; p < end; p++) {
        open += *p == '{' ? 1 : *p == '}' ? -1 : 0;
        if (open == 0)
            return p;
    }
    return NULL;
}

static int put(const struct lexer *x, const char *name, const char *value, buf *out, err *e)
{
    size_t n = value ? strlen(value) : 0;
    if (n > x->values->left)
        return err_set(e, ERR_LIMIT,
            "with $%s, variables of this file stand for more than %zu bytes, which is the most "
            "here: does one have another one many times over?",
            str_short(name, 60).text, DOCKERFILE_VALUES_MOST);
    x->values->left -= n;
    buf_add(out, value, n);
    return 0;
}

// ":-word" and its like; adds what they stand for.
static int substitute(const struct lexer *x, const char *name, const char *value, const char *p,
    const char *end, buf *out, err *e)
{
    bool colon = *p == ':', set = value && (!colon || *value);
    char kind = p[colon];
    if (p < end && kind != '-' && kind != '+')
        return err_set(e, ERR_INVALID, "${…%.*s} is not known", (int)(end - p), p);
    if (p == end || (kind == '-' && set))
        return put(x, name, value, out, e);
    if (set != (kind == '+'))
        return 0;
    struct words word = {0};
    struct lexer inner = {x->values, false, x->depth + 1};
    if (lex(&inner, p + colon + 1, end, &word, e))
        return -1;
    buf_str(out, word.at[0] ? word.at[0] : "");
    strv_free(word.at);
    return 0;
}

// p is at "$"; returns what follows the variable, or NULL.
static const char *variable(const struct lexer *x, const char *p, const char *end, buf *out, err *e)
{
    bool braces = p + 1 < end && p[1] == '{',
         deep = x->depth > DEPTH; // then its end is not looked for
    const char *name = p + 1 + braces, *stop = braces && !deep ? closing(name, end) : NULL;
    size_t n = name_length(name);
    if (braces && !deep && (!stop || !n)) {
        err_set(e, ERR_INVALID, "“%s” is no variable", str_short(p, 60).text);
        return NULL;
    }
    if (!n || deep) {
        buf_char(out, '$');
        return p + 1;
    }
    AUTO_FREE char *key = mem_strndup(name, n);
    const struct dockerfile_values *v = x->values;
    const char *value = v->lookup ? v->lookup(v->arg, key) : NULL;
    if (braces ? substitute(x, key, value, name + n, stop, out, e) : put(x, key, value, out, e))
        return NULL;
    return braces ? stop + 1 : name + n;
}

static void push(struct words *words, buf *word)
{
    if (words->n + 1 >= words->room)
        words->at = mem_resize(words->at, words->room = 2 * words->room + 2, sizeof *words->at);
    words->at[words->n++] = mem_strdup(buf_cstr(word));
    words->at[words->n] = NULL;
    buf_clear(word);
}

static int lex(const struct lexer *x, const char *p, const char *end, struct words *words, err *e)
{
    AUTO_BUF word = {0};
    bool any = false;
    char quote = '\0';
    *words = (struct words){.at = mem_array(1, sizeof *words->at), .room = 1};
    while (p && p < end) {
        if (!quote && x->split && isspace((unsigned char)*p)) {
            if (any)
                push(words, &word);
            any = false;
            p++;
            continue;
        }
        any = true;
        bool literal = quote == '"' && p + 1 < end && !strchr("\"\\$", p[1]);
        if (*p == '\\' && quote != '\'' && p + 1 < end && !literal) {
            buf_char(&word, p[1]);
            p += 2;
        } else if ((*p == '"' || *p == '\'') && (!quote || quote == *p)) {
            quote = quote ? '\0' : *p;
            p++;
        } else if (*p == '$' && quote != '\'')
            p = variable(x, p, end, &word, e);
        else
            buf_char(&word, *p++);
    }
    if (p && !quote) {
        if (any)
            push(words, &word);
        return 0;
    }
    strv_free(words->at);
    *words = (struct words){0};
    return p ? err_set(e, ERR_INVALID, "a quote is not closed") : -1;
}

int dockerfile_words(const char *text, struct dockerfile_values *values, char ***words, err *e)
{
    struct words list;
    int status = lex(&(struct lexer){values, true, 0}, text, text + strlen(text), &list, e);
    *words = list.at;
    return status;
}

char *dockerfile_text(const char *text, struct dockerfile_values *values, err *e)
{
    struct words list;
    if (lex(&(struct lexer){values, false, 0}, text, text + strlen(text), &list, e))
        return NULL;
    char *result = mem_strdup(list.at[0] ? list.at[0] : "");
    strv_free(list.at);
    return result;
}

// Steps

struct reader {
    const char *next;
    int line; // of `next`
};

// The next line without its end and blanks around it, new; NULL at the end.
static char *read_line(struct reader *r)
{
    if (!*r->next)
        return NULL;
    size_t n = strcspn(r->next, "\n");
    char *line = str_trim(r->next, n);
    r->next += n + (r->next[n] == '\n');
    r->line++;
    return line;
}

// A whole step: continued lines joined, comments between them left out.
static bool read_step(struct reader *r, buf *text, int *begin)
{
    buf_clear(text);
    char *line;
    while ((line = read_line(r))) {
        size_t n = strlen(line);
        bool more = n && line[n - 1] == '\\', comment = *line == '#';
        if (!comment && n) {
            if (!text->len)
                *begin = r->line;
            buf_add(text, line, n - more);
        }
        free(line);
        if (text->len && !more && !comment && n)
            return true;
    }
    return text->len > 0;
}

// The word that ends a here-document, new; NULL: there is none in the text.
static char *here_word(const char *text)
{
    const char *mark = strstr(text, "<<");
    if (!mark)
        return NULL;
    mark += 2 + (mark[2] == '-');
    mark += *mark == '"' || *mark == '\'';
    size_t n = name_length(mark);
    return n ? mem_strndup(mark, n) : NULL;
}

static void skip_here(struct reader *r, const char *word)
{
    char *line;
    bool ends = false;
    while (!ends && (line = read_line(r))) {
        ends = str_eq(line, word);
        free(line);
    }
}

static void take_flags(struct dockerfile_step *s, const char **p)
{
    while (str_starts(*p, "--")) {
        size_t n = strcspn(*p, " \t");
        AUTO_FREE char *flag = mem_strndup(*p, n);
        s->flags = strv_add(s->flags, flag);
        *p += n;
        *p += strspn(*p, " \t");
    }
}

static void add_step(struct dockerfile *d, struct reader *r, const char *text, int line)
{
    d->steps = mem_resize(d->steps, d->n + 1, sizeof *d->steps);
    struct dockerfile_step *s = &d->steps[d->n++];
    size_t n = strcspn(text, " \t");
    const char *p = text + n + strspn(text + n, " \t");
    *s = (struct dockerfile_step){
        .line = line, .name = mem_strndup(text, n), .flags = mem_array(1, sizeof *s->flags)};
    for (char *c = s->name; *c; c++)
        *c = (char)toupper((unsigned char)*c);
    take_flags(s, &p);
    s->rest = mem_strdup(p);
    bool may = str_eq(s->name, "RUN") || str_eq(s->name, "COPY") || str_eq(s->name, "ADD");
    AUTO_FREE char *word = may ? here_word(p) : NULL;
    s->here = word != NULL;
    if (word)
        skip_here(r, word);
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
    struct reader r = {.next = text};
    AUTO_BUF step = {0};
    int line = 0;
    *d = (struct dockerfile){0};
    while (read_step(&r, &step, &line))
        add_step(d, &r, buf_cstr(&step), line);
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
