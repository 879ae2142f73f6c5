// SPDX-License-Identifier: MIT
#include "script/notebook/params.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/lua_lines.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

static const char *const type_names[] = {
#define X(name, text) text,
    PARAM_TYPES(X)
#undef X
};

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t");
}

// Reads a short Lua string at p into `out`. Returns its end; NULL if it is none or has other
// escapes.
static const char *read_string(const char *p, buf *out)
{
    char quote = *p++;
    for (; *p && *p != quote; p++) {
        if (*p != '\\') {
            buf_char(out, *p);
            continue;
        }
        static const char from[] = "nrt\\\"'", to[] = "\n\r\t\\\"'";
        const char *escape = *++p ? strchr(from, *p) : NULL;
        if (!escape)
            return NULL;
        buf_char(out, to[escape - from]);
    }
    return *p ? p + 1 : NULL;
}

// Lua's numbers are C's, without "inf", "nan" and suffixes.
static const char *read_number(const char *p, double *value)
{
    const char *digits = p + (*p == '-');
    if (!isdigit((unsigned char)*digits) && !(*digits == '.' && isdigit((unsigned char)digits[1])))
        return NULL;
    char *end;
    *value = strtod(p, &end);
    return end;
}

static cJSON *number(const char *text, double value)
{
    int64_t whole;
    return str_to_int(text, &whole) ? json_new_int(whole) : cJSON_CreateNumber(value);
}

// Reads the literal at p: type and value. Returns its end; NULL when it is no literal.
static const char *read_literal(const char *p, struct param *out)
{
    static const struct {
        const char *word;
        enum param_type type;
        int kind;
    } words[] = {{"nil", PARAM_NIL, cJSON_NULL}, {"true", PARAM_BOOLEAN, cJSON_True},
        {"false", PARAM_BOOLEAN, cJSON_False}};
    for (size_t i = 0; i < ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i].word);
        if (strncmp(p, words[i].word, n) || isalnum((unsigned char)p[n]) || p[n] == '_')
            continue;
        out->type = words[i].type;
        out->value = i == 0 ? cJSON_CreateNull() : cJSON_CreateBool(i == 1);
        return p + n;
    }
    if (*p == '"' || *p == '\'') {
        AUTO_BUF text = {0};
        const char *end = read_string(p, &text);
        if (!end)
            return NULL;
        out->type = PARAM_STRING;
        out->value = cJSON_CreateString(buf_cstr(&text));
        return end;
    }
    double value;
    const char *end = read_number(p, &value);
    if (!end)
        return NULL;
    AUTO_FREE char *text = mem_strndup(p, (size_t)(end - p));
    out->type = PARAM_NUMBER;
    out->value = number(text, value);
    return end;
}

static void param_done(struct param *p)
{
    free(p->name);
    free(p->literal);
    free(p->comment);
    free(p->given);
    cJSON_Delete(p->value);
    *p = (struct param){0};
}

// Reads `name = literal`, perhaps with ";" and a comment. A local variable is no parameter: only
// its own cell can see it.
static bool read_param(const char *line, struct param *out)
{
    const char *p = skip_space(line), *name = p;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    size_t n = (size_t)(p - name);
    p = skip_space(p);
    if (n == 0 || isdigit((unsigned char)*name) || *p != '=' || p[1] == '=')
        return false;
    const char *literal = skip_space(p + 1), *end = read_literal(literal, out);
    const char *rest = end ? skip_space(end) : NULL;
    if (rest && *rest == ';')
        rest = skip_space(rest + 1);
    if (!rest || (*rest && !str_starts(rest, "--"))) {
        param_done(out);
        return false;
    }
    out->name = mem_strndup(name, n);
    out->literal = mem_strndup(literal, (size_t)(end - literal));
    if (*rest)
        out->comment = str_trim(rest + 2, strlen(rest + 2));
    return true;
}

// Is the name among those that a line assigns to, "local a, b = …"? *local, *several: how.
static bool assigns(const char *line, const char *name, bool *local, bool *several)
{
    const char *p = skip_space(line);
    *local = str_starts(p, "local ");
    *several = false;
    p = skip_space(p + (*local ? strlen("local ") : 0));
    bool found = false;
    for (;;) {
        size_t n = 0;
        while (isalnum((unsigned char)p[n]) || p[n] == '_')
            n++;
        found = found || (n == strlen(name) && strncmp(p, name, n) == 0);
        p = skip_space(p + n);
        if (n == 0 || *p != ',')
            return found && *p == '=' && p[1] != '=';
        *several = true;
        p = skip_space(p + 1);
    }
}

// Why a line of the cell that assigns to this name makes no parameter; NULL: there is none.
static const char *why_none(const struct params *ps, const char *name)
{
    for (const char *line = ps->others; line && *line; line = strchr(line, '\n') + 1) {
        AUTO_FREE char *text = mem_strndup(line, strcspn(line, "\n"));
        bool local, several;
        if (!assigns(text, name, &local, &several))
            continue;
        return local ? "it is local, so no other cell would see it; leave out \"local\""
               : several
                   ? "it shares its line with other names; give it a line of its own"
                   : "its value is not a number, a string, a boolean or nil, whole on one line";
    }
    return NULL;
}

static void add(struct params *ps, struct param *p)
{
    for (size_t i = 0; i < ps->n; i++) {
        if (!str_eq(ps->list[i].name, p->name))
            continue;
        param_done(&ps->list[i]); // the later one counts
        ps->list[i] = *p;
        return;
    }
    ps->list = mem_resize(ps->list, ps->n + 1, sizeof *ps->list);
    ps->list[ps->n++] = *p;
}

int params_find(const notebook *nb, struct params *out, err *e)
{
    *out = (struct params){.cell = -1};
    for (size_t i = 0; i < notebook_count(nb) && out->cell < 0; i++)
        if (cell_has_tag(notebook_cell(nb, i), "parameters"))
            out->cell = (long)i;
    if (out->cell < 0)
        return 0;
    const cell *c = notebook_cell(nb, (size_t)out->cell);
    if (cell_is_commented(c))
        return err_set(
            e, ERR_INVALID, "line %d: the cell tagged \"parameters\" is not Lua", c->line);
    lua_lines state = {0};
    buf others = {0};
    for (const char *line = c->source; *line;) {
        size_t n = strcspn(line, "\n");
        AUTO_FREE char *text = mem_strndup(line, n);
        struct param p = {0};
        if (!state.inside && read_param(text, &p))
            add(out, &p);
        else if (!state.inside && strchr(text, '='))
            buf_fmt(&others, "%s\n", text);
        lua_lines_feed(&state, text, n);
        line += n + (line[n] == '\n');
    }
    out->others = others.len ? buf_take(&others) : NULL;
    return 0;
}

void params_done(struct params *p)
{
    for (size_t i = 0; i < p->n; i++)
        param_done(&p->list[i]);
    free(p->list);
    free(p->others);
    *p = (struct params){.cell = -1};
}

static int unknown(const struct params *ps, const char *name, err *e)
{
    if (ps->cell < 0)
        return err_set(e, ERR_USAGE,
            "%s: the notebook has no parameters (no cell is tagged \"parameters\")", name);
    const char *why = why_none(ps, name);
    if (why)
        return err_set(e, ERR_USAGE, "%s: %s", name, why);
    AUTO_BUF known = {0};
    for (size_t i = 0; i < ps->n; i++)
        buf_fmt(&known, "%s%s (%s)", i ? ", " : "", ps->list[i].name, type_names[ps->list[i].type]);
    return err_set(
        e, ERR_USAGE, "%s: no such parameter; there are %s", name, known.len ? known.data : "none");
}

static struct param *find(const struct params *ps, const char *name)
{
    for (size_t i = 0; i < ps->n; i++)
        if (str_eq(ps->list[i].name, name))
            return &ps->list[i];
    return NULL;
}

static void give_string(struct param *p, const char *value)
{
    buf literal = {0};
    lua_quote(value, strlen(value), &literal);
    p->given = buf_take(&literal);
    p->value = cJSON_CreateString(value);
}

static int give(struct param *p, const char *value, err *e)
{
    struct param new = {0};
    const char *end =
        p->type == PARAM_STRING || p->type == PARAM_NIL ? NULL : read_literal(value, &new);
    bool fits = end && *end == '\0' && new.type == p->type;
    cJSON_Delete(new.value);
    if (p->type == PARAM_BOOLEAN && !fits)
        return err_set(
            e, ERR_USAGE, "%s: it is a boolean, true or false, not \"%s\"", p->name, value);
    if (p->type == PARAM_NUMBER && !fits)
        return err_set(
            e, ERR_USAGE, "%s: it is a number, as %s, not \"%s\"", p->name, p->literal, value);
    if (!utf8_valid(value, strlen(value)))
        return err_set(e, ERR_USAGE, "%s: the value is not UTF-8", p->name);
    free(p->given);
    cJSON_Delete(p->value);
    if (p->type == PARAM_NIL && str_eq(value, "nil")) {
        p->given = mem_strdup("nil");
        p->value = cJSON_CreateNull();
    } else if (fits) {
        p->given = mem_strdup(value);
        read_literal(value, &new);
        p->value = new.value;
    } else {
        give_string(p, value);
    }
    return 0;
}

int params_give(struct params *ps, const char *assignment, err *e)
{
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return err_set(e, ERR_USAGE, "-p %s: a parameter is given as NAME=VALUE", assignment);
    AUTO_FREE char *name = str_trim(assignment, (size_t)(equals - assignment));
    struct param *p = find(ps, name);
    err why = {0};
    if ((p ? give(p, equals + 1, &why) : unknown(ps, name, &why)) < 0)
        return err_set(e, why.code, "-p %s", why.text);
    return 0;
}

static enum param_type type_of(const cJSON *value)
{
    // a long integer is raw
    return cJSON_IsBool(value)                           ? PARAM_BOOLEAN
           : cJSON_IsNumber(value) || cJSON_IsRaw(value) ? PARAM_NUMBER
           : cJSON_IsString(value)                       ? PARAM_STRING
                                                         : PARAM_NIL;
}

// As -p has it.
char *param_text(const cJSON *value)
{
    if (cJSON_IsString(value))
        return mem_strdup(value->valuestring);
    if (cJSON_IsNull(value))
        return mem_strdup("nil");
    buf text = {0};
    json_print(&text, value);
    return buf_take(&text);
}

int params_give_value(struct params *ps, const char *name, const cJSON *value, err *e)
{
    struct param *p = find(ps, name);
    if (!p)
        return unknown(ps, name, e);
    if (cJSON_IsArray(value) || cJSON_IsObject(value))
        return err_set(e, ERR_USAGE,
            "%s: the value is a %s; a parameter is a number, a string, a boolean or nil", name,
            cJSON_IsArray(value) ? "list" : "mapping");
    enum param_type type = type_of(value);
    if (type != p->type && !(p->type == PARAM_NIL && type == PARAM_STRING))
        return err_set(e, ERR_USAGE, "%s: it is a %s, as %s, not %s%s%s", name, type_names[p->type],
            p->literal, type == PARAM_NIL ? "" : "a ",
            type == PARAM_NIL ? "null" : type_names[type],
            p->type == PARAM_STRING && type != PARAM_NIL ? "; put the value in quotes" : "");
    AUTO_FREE char *text = param_text(value);
    return give(p, text, e);
}

int params_inject(const struct params *ps, notebook *nb, err *e)
{
    AUTO_BUF source = {0};
    for (size_t i = 0; i < ps->n; i++)
        if (ps->list[i].given)
            buf_fmt(
                &source, "%s%s = %s", source.len ? "\n" : "", ps->list[i].name, ps->list[i].given);
    if (!source.len)
        return 0;
    for (size_t i = 0; i < notebook_count(nb); i++) {
        if (!cell_has_tag(notebook_cell(nb, i), "injected-parameters"))
            continue;
        notebook_replace(nb, i, source.data);
        return 0;
    }
    notebook_insert(
        nb, (size_t)ps->cell + 1, "Parameters given tags=[\"injected-parameters\"]", source.data);
    return 0;
}

cJSON *params_values(const struct params *ps)
{
    cJSON *values = cJSON_CreateObject();
    for (size_t i = 0; i < ps->n; i++)
        json_set(values, ps->list[i].name, cJSON_Duplicate(ps->list[i].value, true));
    return values;
}

cJSON *params_given(const struct params *ps)
{
    cJSON *values = cJSON_CreateObject();
    for (size_t i = 0; i < ps->n; i++)
        if (ps->list[i].given)
            json_set(values, ps->list[i].name, cJSON_Duplicate(ps->list[i].value, true));
    return values;
}
