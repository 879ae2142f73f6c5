// SPDX-License-Identifier: MIT
#include "script/notebook/lua/locals.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/plan.h"

#include <ctype.h>
#include <string.h>

// Words and marks of a source, without its texts and comments.
struct token {
    const char *at;
    size_t n;
    int line;
    bool name; // not a keyword
};

struct source {
    struct token *list;
    size_t n;
};

static bool is_word(const struct token *t, const char *word)
{
    return t->n == strlen(word) && memcmp(t->at, word, t->n) == 0;
}

static bool is_keyword(const char *p, size_t n)
{
    static const char *const words[] = {"and", "break", "do", "else", "elseif", "end", "false",
        "for", "function", "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return",
        "then", "true", "until", "while"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (n == strlen(words[i]) && memcmp(p, words[i], n) == 0)
            return true;
    return false;
}

// The end of "[[…]]" or "[=[…]=]" at p; NULL: none begins there.
static const char *long_end(const char *p)
{
    size_t level = 0;
    if (*p != '[')
        return NULL;
    while (p[1 + level] == '=')
        level++;
    if (p[1 + level] != '[')
        return NULL;
    for (p += 2 + level; *p; p++)
        if (*p == ']' && strspn(p + 1, "=") == level && p[1 + level] == ']')
            return p + 2 + level;
    return p;
}

static const char *short_end(const char *p)
{
    char quote = *p++;
    while (*p && *p != quote && *p != '\n')
        p += p[0] == '\\' && p[1] ? 2 : 1;
    return *p == quote ? p + 1 : p;
}

// The end of what is no token at p: a blank, a comment, a text, a number; p: it is one.
static const char *passed(const char *p)
{
    if (isspace((unsigned char)*p))
        return p + 1;
    if (p[0] == '-' && p[1] == '-') {
        const char *end = long_end(p + 2);
        return end ? end : p + strcspn(p, "\n");
    }
    if (*p == '"' || *p == '\'')
        return short_end(p);
    const char *end = long_end(p);
    if (end)
        return end;
    while (isdigit((unsigned char)*p))
        for (p++; isalnum((unsigned char)*p) || (*p == '.' && p[1] != '.');)
            p++;
    return p;
}

static void cut(const char *text, struct source *s)
{
    size_t cap = 0;
    int line = 1;
    for (const char *p = text; *p;) {
        const char *end = passed(p);
        if (end > p) {
            for (; p < end; p++)
                line += *p == '\n';
            continue;
        }
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        bool word = n > 0;
        if (!word)
            n = strspn(p, ".") > 1 ? strspn(p, ".") : strchr("=~<>", *p) && p[1] == '=' ? 2 : 1;
        if (s->n == cap)
            s->list = mem_resize(s->list, cap = cap ? 2 * cap : 128, sizeof *s->list);
        s->list[s->n++] = (struct token){p, n, line, word && !is_keyword(p, n)};
        p += n;
    }
}

static void add(cJSON *names, const struct token *t)
{
    AUTO_FREE char *name = mem_strndup(t->at, t->n);
    if (!json_get(names, name))
        json_set_int(names, name, t->line);
}

// What a source does with names: the first line of each.
struct names {
    cJSON *top;    // locals of its top
    cJSON *own;    // locals, arguments and loops' names, anywhere
    cJSON *reads;  // used, and none of these
    cJSON *writes; // made a global
};

static void names_done(struct names *n)
{
    cJSON_Delete(n->top);
    cJSON_Delete(n->own);
    cJSON_Delete(n->reads);
    cJSON_Delete(n->writes);
}

static int deeper(const struct token *t)
{
    static const char *const more[] = {"function", "do", "then", "repeat"};
    static const char *const less[] = {"end", "until", "elseif"};
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        if (is_word(t, more[i]))
            return 1;
    for (size_t i = 0; i < ARRAY_LEN(less); i++)
        if (is_word(t, less[i]))
            return -1;
    return 0;
}

// The names of a list "a, b <const>, c" from token i on.
static size_t add_list(const struct source *s, size_t i, cJSON *names, cJSON *others)
{
    for (; i < s->n && s->list[i].name; i++) {
        add(names, &s->list[i]);
        if (others)
            add(others, &s->list[i]);
        if (i + 3 < s->n && is_word(&s->list[i + 1], "<"))
            i += 3;
        if (i + 1 >= s->n || !is_word(&s->list[++i], ","))
            break;
    }
    return i;
}

// `local x = x`, `local json = require "json"`: another name of what is there for all cells.
static bool is_alias(const struct source *s, size_t i)
{
    const struct token *t = s->list + i;
    return i + 2 < s->n && is_word(t + 1, "=") &&
           (is_word(t + 2, "require") || (t[2].n == t->n && memcmp(t[2].at, t->at, t->n) == 0));
}

static void find_own(const struct source *s, struct names *n)
{
    int depth = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct token *t = &s->list[i];
        size_t next = i + 1;
        bool named = next < s->n && s->list[next].name;
        if (is_word(t, "local")) {
            bool function = next < s->n && is_word(&s->list[next], "function");
            bool top = depth == 0 && !is_alias(s, next + function);
            add_list(s, next + function, n->own, top ? n->top : NULL);
        } else if (is_word(t, "for") && named) {
            add_list(s, next, n->own, NULL);
        } else if (is_word(t, "function")) {
            while (next < s->n && !is_word(&s->list[next], "("))
                next++;
            add_list(s, next + 1, n->own, NULL);
        }
        depth += deeper(t);
    }
}

static bool begins_statement(const struct source *s, size_t i)
{
    static const char *const ends[] = {"do", "then", "else", "repeat", "end", ";", ")"};
    if (i == 0 || s->list[i - 1].line < s->list[i].line)
        return true;
    for (size_t k = 0; k < ARRAY_LEN(ends); k++)
        if (is_word(&s->list[i - 1], ends[k]))
            return true;
    return false;
}

static void find_uses(const struct source *s, struct names *n)
{
    int braces = 0;
    for (size_t i = 0; i < s->n; i++) {
        const struct token *t = &s->list[i], *before = i ? t - 1 : NULL;
        braces += is_word(t, "{") - is_word(t, "}");
        if (!t->name ||
            (before && (is_word(before, ".") || is_word(before, ":") || is_word(before, "goto"))))
            continue;
        AUTO_FREE char *name = mem_strndup(t->at, t->n);
        if (json_get(n->own, name))
            continue;
        const struct token *after = i + 1 < s->n ? t + 1 : NULL;
        bool list = after && is_word(after, ",") && begins_statement(s, i);
        if (after && is_word(after, "=") && braces > 0)
            continue; // a key
        if ((after && is_word(after, "=")) || list || (before && is_word(before, "function")))
            add(n->writes, t);
        else
            add(n->reads, t);
    }
}

static void read_names(const notebook *nb, size_t i, struct names *n)
{
    struct plan p;
    struct source s = {0};
    *n = (struct names){
        cJSON_CreateObject(), cJSON_CreateObject(), cJSON_CreateObject(), cJSON_CreateObject()};
    const cell *c = notebook_cell(nb, i);
    if (c->kind != CELL_CODE || plan_cell(nb, c, &p, NULL) < 0)
        return;
    if (p.kind == PLAN_LUA) {
        cut(p.text, &s);
        find_own(&s, n);
        find_uses(&s, n);
    }
    if (p.capture)
        json_set_int(n->writes, p.capture, 1);
    plan_done(&p);
    free(s.list);
}

// Those of a name that cell i uses: is it lost, and where was it?
static cJSON *lost_name(const notebook *nb, size_t i, const cJSON *use)
{
    cJSON *lost = NULL;
    bool global = false;
    for (size_t k = 0; k < notebook_count(nb) && !global; k++) {
        CLEANUP(names_done) struct names n = {0};
        if (!strstr(notebook_cell(nb, k)->source, use->string) &&
            !str_eq(notebook_cell(nb, k)->options.capture, use->string))
            continue;
        read_names(nb, k, &n);
        global = json_get(n.writes, use->string);
        int64_t line = json_int_or(n.top, use->string, 0);
        if (k >= i || !line)
            continue;
        AUTO_BUF where = {0};
        notebook_cell_name(nb, k, &where);
        buf_fmt(&where, ", line %lld", (long long)line);
        cJSON_Delete(lost);
        lost = cJSON_CreateObject();
        json_set_str(lost, "where", buf_cstr(&where));
        json_set(lost, "line", cJSON_Duplicate(use, false));
    }
    if (global)
        cJSON_Delete(STEAL(lost));
    return lost;
}

// The names that are locals of cells before i, as members; new.
static cJSON *locals_before(const notebook *nb, size_t i)
{
    cJSON *all = cJSON_CreateObject();
    for (size_t k = 0; k < i; k++) {
        CLEANUP(names_done) struct names n = {0};
        if (!strstr(notebook_cell(nb, k)->source, "local"))
            continue;
        read_names(nb, k, &n);
        for (const cJSON *name = n.top->child; name; name = name->next)
            json_set_bool(all, name->string, true);
    }
    return all;
}

cJSON *locals_lost(const notebook *nb, size_t i)
{
    AUTO_JSON *before = notebook_language(nb) ? NULL : locals_before(nb, i);
    if (!before || !before->child)
        return NULL;
    CLEANUP(names_done) struct names n = {0};
    cJSON *all = NULL;
    read_names(nb, i, &n);
    for (const cJSON *use = n.reads->child; use; use = use->next) {
        cJSON *lost = json_get(before, use->string) ? lost_name(nb, i, use) : NULL;
        if (!lost)
            continue;
        all = all ? all : cJSON_CreateObject();
        json_set(all, use->string, lost);
    }
    return all;
}

char *locals_words(const char *name, const cJSON *lost)
{
    return str_fmt("%s is a local of %s, and ends with it: without `local` there, other cells have "
                   "it, too",
        name, json_str_or(lost, "where", "an earlier cell"));
}

void locals_check(const notebook *nb, const bool *wanted, struct faults *out)
{
    for (size_t i = 0; i < notebook_count(nb); i++) {
        AUTO_JSON *lost = !wanted || wanted[i] ? locals_lost(nb, i) : NULL;
        for (const cJSON *one = lost ? lost->child : NULL; one; one = one->next) {
            AUTO_FREE char *words = locals_words(one->string, one);
            const struct fault f = {.cell = (long)i,
                .line = (int)json_int_or(one, "line", 1),
                .text = words,
                .warning = true,
                .source = "lua"};
            faults_note(out, &f);
        }
    }
}
