// SPDX-License-Identifier: MIT
#include "tui/view/notebook/names.h"

#include "base/mem.h"
#include "base/str.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || (unsigned char)c >= 0x80;
}

static bool has_names(syntax_language language)
{
    return language == SYNTAX_LUA || language == SYNTAX_PYTHON;
}

bool name_shared(bench *b, size_t i, size_t with)
{
    syntax_language l = slot_language(slot_at(b, i));
    return slot_cell(b, i)->kind == CELL_CODE && has_names(l) &&
           l == slot_language(slot_at(b, with));
}

char *name_at(bench *b, size_t i, pos at, pos *from)
{
    size_t n, to = at.byte, begin = at.byte;
    const char *line = text_line(edit_text(slot_edit(slot_at(b, i))), at.line, &n);
    if (!name_shared(b, i, i))
        return NULL;
    while (begin > 0 && is_word(line[begin - 1]))
        begin--;
    while (to < n && is_word(line[to]))
        to++;
    *from = (pos){at.line, begin};
    return begin < to && !isdigit((unsigned char)line[begin])
               ? mem_strndup(line + begin, to - begin)
               : NULL;
}

static bool is_prose(enum syntax_class c)
{
    return c == CLASS_STRING || c == CLASS_ESCAPE || c == CLASS_COMMENT;
}

static bool in_prose(const struct span *spans, size_t n, size_t byte)
{
    for (size_t k = 0; k < n; k++)
        if (spans[k].from <= byte && byte < spans[k].to)
            return is_prose(spans[k].class);
    return false;
}

// The word that ends before a place.
static bool follows_word(const char *line, size_t at, const char *word)
{
    size_t n = strlen(word);
    while (at > 0 && isspace((unsigned char)line[at - 1]))
        at--;
    return at >= n && memcmp(line + at - n, word, n) == 0 &&
           (at == n || !is_word(line[at - n - 1]));
}

static int open_brackets(const char *line, size_t n)
{
    int open = 0;
    for (size_t i = 0; i < n; i++)
        open += (strchr("([{", line[i]) != NULL) - (strchr(")]}", line[i]) != NULL);
    return open;
}

// Is the name at [at, to) of a line set there: local x, function x, x = 1, x, y = 1, 2, for x in.
static bool sets(const char *line, size_t n, size_t at, size_t to)
{
    static const char *const words[] = {"local", "function", "def", "class", "import", "as", "for"};
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (follows_word(line, at, words[i]))
            return true;
    if (open_brackets(line, at) != 0 || (n && line[n - 1] == ',')) // a field of a table, an option
        return false;
    size_t p = to;
    while (p < n && (is_word(line[p]) || strchr(", .<>", line[p])))
        p++;
    if (p < n && line[p] == ':' && to == p) // a type of Python
        p += strcspn(line + p, "=");
    return p < n && line[p] == '=' && line[p + 1] != '=';
}

void name_places(bench *b, size_t i, const char *name, name_found *fn, void *arg)
{
    const struct slot *s = slot_at(b, i);
    const text *t = edit_text(slot_edit(s));
    size_t n, length = strlen(name), count;
    syntax_state state = 0;
    struct span spans[SYNTAX_SPANS];
    for (size_t line = 0; line < text_lines(t); line++) {
        const char *words = text_line(t, line, &n);
        state = syntax_line(slot_language(s), state, words, n, spans, &count);
        for (const char *at = words; (at = strstr(at, name)); at += length) {
            size_t from = (size_t)(at - words), to = from + length;
            bool whole = (!from || !is_word(words[from - 1])) && !is_word(words[to]);
            bool range = from > 1 && words[from - 1] == '.' && words[from - 2] == '.';
            bool field = from && (words[from - 1] == '.' || words[from - 1] == ':') && !range;
            if (whole && !field && !in_prose(spans, count, from))
                fn(arg, i, (pos){line, from}, sets(words, n, from, to));
        }
    }
}

struct seeking_definition {
    size_t i; // the cell in which it is used, and where
    pos at;
    bool before, after;
    size_t cell, cell_after;
    pos pos, pos_after;
};

static void keep(void *arg, size_t i, pos at, bool set)
{
    struct seeking_definition *s = arg;
    bool before = i != s->i ? i < s->i : pos_compare(at, s->at) < 0;
    bool here = i == s->i && pos_compare(at, s->at) == 0;
    if (!set || here)
        return;
    if (before) {
        s->before = true;
        s->cell = i;
        s->pos = at;
    } else if (!s->after) {
        s->after = true;
        s->cell_after = i;
        s->pos_after = at;
    }
}

bool name_definition(bench *b, size_t i, pos at, const char *name, size_t *where, pos *out)
{
    struct seeking_definition s = {.i = i, .at = at};
    for (size_t k = 0; k < slot_count(b); k++) {
        if (!name_shared(b, k, i))
            continue;
        if (str_eq(slot_cell(b, k)->options.capture, name))
            keep(&s, k, (pos){0}, true);
        name_places(b, k, name, keep, &s);
    }
    *where = s.before ? s.cell : s.cell_after;
    *out = s.before ? s.pos : s.pos_after;
    return s.before || s.after;
}
