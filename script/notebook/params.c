// SPDX-License-Identifier: MIT
#include "script/notebook/params.h"

#include "base/json/secret.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/faults.h"
#include "script/notebook/literal.h"
#include "script/notebook/lua_lines.h"
#include "script/notebook/private.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const type_names[] = {
#define X(name, text) text,
    PARAM_TYPES(X)
#undef X
};

static const struct literals lua = {literal_read, literal_print, "--", "nil"},
                             python = {pyliteral_read, pyliteral_print, "#", "None", true};

static const char *skip_space(const char *p)
{
    return p + strspn(p, " \t");
}

const char *param_type_name(enum param_type type)
{
    return type_names[type];
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

// Behind a name: an annotation, "x: int = 3".
static const char *skip_type(const char *p)
{
    return *p == ':' ? p + strcspn(p, "=\n") : p;
}

// Reads `name = literal` at the start of a line, perhaps with ";" and a comment. Returns the end of
// its last line; NULL: there is none. A local variable is no parameter: only its own cell can see
// it.
static const char *read_param(const char *line, const struct literals *as, struct param *out)
{
    const char *p = as == &lua ? skip_space(line) : line, *name = p;
    while (isalnum((unsigned char)*p) || *p == '_')
        p++;
    size_t n = (size_t)(p - name);
    p = as == &lua ? skip_space(p) : skip_type(skip_space(p));
    if (n == 0 || isdigit((unsigned char)*name) || *p != '=' || p[1] == '=')
        return NULL;
    const char *literal = skip_space(p + 1), *end = as->read(literal, &out->type, &out->value);
    const char *rest = end ? skip_space(end) : NULL;
    if (rest && *rest == ';')
        rest = skip_space(rest + 1);
    if (!rest || (*rest && *rest != '\n' && !str_starts(rest, as->comment))) {
        param_done(out);
        return NULL;
    }
    size_t left = strcspn(rest, "\n");
    out->as = as;
    out->name = mem_strndup(name, n);
    out->literal = mem_strndup(literal, (size_t)(end - literal));
    if (left)
        out->comment = str_trim(rest + strlen(as->comment), left - strlen(as->comment));
    return rest + left;
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

// Where the value begins that a line gives this name behind another statement, "n = 1; m = 2", or
// as its first; NULL: it gives none.
static const char *value_of(const char *line, const char *name)
{
    size_t n = strlen(name);
    for (const char *p = line; (p = strstr(p, name)); p += n) {
        const char *after = skip_space(p + n), *before = p;
        while (before > line && (before[-1] == ' ' || before[-1] == '\t'))
            before--;
        if ((before == line || before[-1] == ';') && *after == '=' && after[1] != '=')
            return skip_space(after + 1);
    }
    return NULL;
}

// Why a value makes no parameter.
static const char *why_no_value(const struct params *ps, const char *value)
{
    enum param_type type;
    cJSON *read = NULL;
    const char *end = (ps->python ? &python : &lua)->read(value, &type, &read);
    cJSON_Delete(read);
    if (end)
        return "another statement stands in its line; give it a line of its own";
    if (ps->python)
        return "its value is not a number, a string, True, False, None, or a list or dict of these";
    if (value[0] == '[' && (value[1] == '[' || value[1] == '='))
        return "its value is a text in long brackets, which is not read; write \"…\", with \\n for "
               "a "
               "line break";
    return "its value is not a number, a string, a boolean, nil, or a table of these";
}

// Why a line of the cell that assigns to this name makes no parameter; NULL: there is none.
static const char *why_none(const struct params *ps, const char *name)
{
    for (const char *line = ps->others; line && *line; line = strchr(line, '\n') + 1) {
        AUTO_FREE char *text = mem_strndup(line, strcspn(line, "\n"));
        bool local, several, first = assigns(text, name, &local, &several);
        const char *value = value_of(text, name);
        if (first && local)
            return "it is local, so no other cell would see it; leave out \"local\"";
        if (first && several)
            return "it shares its line with other names; give it a line of its own";
        if (value)
            return why_no_value(ps, value);
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

// Goes over whole lines, from `line` to the one that ends at `stop`; returns the next one.
static const char *feed(lua_lines *state, const char *line, const char *stop)
{
    while (line <= stop && *line) {
        size_t n = strcspn(line, "\n");
        lua_lines_feed(state, line, n);
        line += n + (line[n] == '\n');
    }
    return line;
}

// Does a line begin a text in three quotes, or end one? *open: the quote, 0: none.
static void feed_quotes(const char *line, const char *stop, char *open)
{
    for (const char *p = line; p + 2 < stop; p++)
        if ((*p == '"' || *p == '\'') && p[1] == *p && p[2] == *p && (!*open || *open == *p)) {
            *open = *open ? 0 : *p;
            p += 2;
        }
}

// Lines of Python: what is indented is no parameter, nor what stands in a longer text.
static void read_python(const char *source, struct params *out)
{
    buf others = {0};
    char quote = 0;
    for (const char *line = source; *line;) {
        const char *stop = line + strcspn(line, "\n"), *end = NULL;
        struct param p = {0};
        if (!quote && (end = read_param(line, &python, &p)))
            add(out, &p);
        else if (!quote && memchr(line, '=', (size_t)(stop - line)))
            buf_fmt(&others, "%.*s\n", (int)(stop - line), line);
        if (!end)
            feed_quotes(line, stop, &quote);
        line = end ? end : stop;
        line += *line == '\n';
    }
    out->others = others.len ? buf_take(&others) : NULL;
}

static void read_source(const char *source, struct params *out)
{
    if (out->python) {
        read_python(source, out);
        return;
    }
    lua_lines state = {0};
    buf others = {0};
    for (const char *line = source; *line;) {
        const char *stop = line + strcspn(line, "\n"), *end = NULL;
        struct param p = {0};
        bool statement = !state.inside && state.braces <= 0;
        if (statement && (end = read_param(line, &lua, &p)))
            add(out, &p);
        else if (statement && memchr(line, '=', (size_t)(stop - line)))
            buf_fmt(&others, "%.*s\n", (int)(stop - line), line);
        line = feed(&state, line, end ? end : stop);
    }
    out->others = others.len ? buf_take(&others) : NULL;
}

bool params_cell(const notebook *nb, size_t *i)
{
    for (*i = 0; *i < notebook_count(nb); ++*i)
        if (cell_has_tag(notebook_cell(nb, *i), "parameters"))
            return true;
    return false;
}

static bool is_python(const notebook *nb)
{
    return nb && notebook_language(nb) && strcasecmp(notebook_language(nb), "python") == 0;
}

// Why there are none. The first marker with a mistake may be that of their cell.
static char *no_cell(const notebook *nb, bool *open)
{
    buf why = {0};
    *open = is_python(nb);
    buf_str(&why, "no cell is tagged \"parameters\"");
    for (size_t i = 0; i < notebook_count(nb); i++) {
        char *problem = notebook_cell(nb, i)->problem;
        if (!problem)
            continue;
        buf_str(&why, "; ");
        *open = false;
        faults_say(&(struct fault){.cell = (long)i, .text = problem}, nb, &why);
        break;
    }
    return buf_take(&why);
}

int params_find(const notebook *nb, struct params *out, err *e)
{
    size_t i;
    *out = (struct params){.cell = -1};
    out->python = is_python(nb);
    if (notebook_language(nb) && !out->python) {
        out->none = str_fmt("those of one in %s are not read", notebook_language(nb));
        return 0;
    }
    if (!params_cell(nb, &i)) {
        out->none = no_cell(nb, &out->open);
        return 0;
    }
    const cell *c = notebook_cell(nb, i);
    out->cell = (long)i;
    if (cell_is_commented(c))
        return err_set(
            e, ERR_INVALID, "line %d: the cell tagged \"parameters\" is not Lua", c->line);
    read_source(c->source, out);
    return 0;
}

const char *params_literal(const char *p, cJSON **value)
{
    enum param_type type;
    return literal_read(p, &type, value);
}

cJSON *params_said(const notebook *nb, const cell *c)
{
    struct params params = {.cell = -1, .python = is_python(nb)};
    if (!cell_is_commented(c))
        read_source(c->source, &params);
    cJSON *values = params_values(&params);
    params_done(&params);
    return values;
}

void params_done(struct params *p)
{
    for (size_t i = 0; i < p->n; i++)
        param_done(&p->list[i]);
    free(p->list);
    free(p->none);
    free(p->others);
    *p = (struct params){.cell = -1};
}

static int unknown(const struct params *ps, const char *name, err *e)
{
    if (ps->open)
        return err_set(e, ERR_USAGE, "\"%s\" is no name of a variable in Python", name);
    if (ps->cell < 0)
        return err_set(e, ERR_USAGE, "%s: the notebook has no parameters (%s)", name, ps->none);
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

cJSON *param_hidden(const struct param *p)
{
    enum param_type type;
    cJSON *value; // of a default that is nil or "" nothing is told
    AUTO_JSON *all = cJSON_CreateObject();
    if (!(p->as ? p->as : &lua)->read(p->literal, &type, &value))
        return NULL;
    json_set(all, p->name, value);
    const char *text = cJSON_GetStringValue(value);
    if (cJSON_IsNull(value) || (text && !*text) || !secret_hide(NULL, all, NULL))
        return NULL;
    return cJSON_DetachItemFromObjectCaseSensitive(all, p->name);
}

char *param_shown(const struct param *p)
{
    AUTO_JSON *hidden = param_hidden(p);
    return hidden ? param_text(hidden) : mem_strdup(p->literal);
}

// What was given instead, for messages.
static const char *shown_value(const struct param *p, const char *value)
{
    return secret_name(p->name) ? SECRET_TOLD : value;
}

// "{4, 5}", Lua's list, which YAML takes for a mapping of 4 and 5 to nothing.
static bool list_in_braces(const char *text)
{
    return text && *skip_space(text) == '{' && !strchr(text, ':') && strlen(skip_space(text)) > 2;
}

// The list or the mapping that stands for a parameter of one of these types: of an empty one, {},
// nobody knows which it is.
static int check_table(const struct param *p, const cJSON *value, const char *text, err *e)
{
    AUTO_FREE char *shown = param_shown(p);
    bool list = cJSON_IsArray(value), none = p->type == PARAM_LIST && !p->value->child;
    if (!list && !cJSON_IsObject(value))
        return err_set(e, ERR_USAGE, "%s: it is a %s, as %s: write %s", p->name,
            type_names[p->type], str_short(shown, 60).text,
            p->type == PARAM_LIST ? "[1, 2]" : "{units: 64}");
    if (list_in_braces(text))
        return err_set(e, ERR_USAGE, "%s: a list is written [4, 5], not {4, 5}", p->name);
    if (!p->as->nulls && literal_has_null(value))
        return err_set(e, ERR_USAGE, "%s: a null in it has no place in a table of Lua", p->name);
    if (!none && value->child && list != (p->type == PARAM_LIST))
        return err_set(e, ERR_USAGE, "%s: it is a %s, as %s, not a %s", p->name,
            type_names[p->type], str_short(shown, 60).text, list ? "list" : "mapping");
    return 0;
}

static void take(struct param *p, cJSON *value)
{
    buf literal = {0};
    p->as->print(value, &literal);
    free(p->given);
    p->given = buf_take(&literal);
    cJSON_Delete(p->value);
    p->value = value;
}

static int give_table(struct param *p, const char *text, err *e)
{
    err why = {0};
    AUTO_JSON *documents = yaml_parse_letters(text, strlen(text), &why);
    if (!documents || cJSON_GetArraySize(documents) != 1)
        return err_set(e, ERR_USAGE, "%s: it is a %s, and the value is no YAML: %s", p->name,
            type_names[p->type], why.code ? why.text : "it is empty");
    if (check_table(p, documents->child, text, e) < 0)
        return -1;
    take(p, cJSON_DetachItemFromArray(documents, 0));
    return 0;
}

// For a default that is nil nothing tells the type: a number or a boolean is one if it is printed
// as it was given, so that "3.10" and "007" stay texts, and so does a secret.
static cJSON *plain_value(const struct param *p, const char *value)
{
    enum param_type type = PARAM_NIL;
    cJSON *read = NULL;
    AUTO_BUF printed = {0};
    const char *end = p->as->read(value, &type, &read);
    AUTO_JSON *new = read;
    if (!end || *end || secret_name(p->name) || !(type == PARAM_NUMBER || type == PARAM_BOOLEAN))
        return NULL;
    p->as->print(new, &printed);
    return str_eq(buf_cstr(&printed), value) ? STEAL(new) : NULL;
}

// A name that nobody declares, as papermill's: what is a literal of Python is one, anything else is
// a text. A list or a mapping may be YAML, too.
static void give_undeclared(struct param *p, const char *value)
{
    enum param_type type = PARAM_NIL;
    cJSON *new = NULL;
    const char *end = secret_name(p->name) ? NULL : p->as->read(value, &type, &new);
    bool spelled = end && !*end && !(*value == '0' && isdigit((unsigned char)value[1]));
    if (!spelled)
        cJSON_Delete(STEAL(new));
    AUTO_JSON *documents = !spelled && (*value == '[' || *value == '{')
                               ? yaml_parse_letters(value, strlen(value), NULL)
                               : NULL;
    if (cJSON_GetArraySize(documents) == 1)
        new = cJSON_DetachItemFromArray(documents, 0);
    take(p, new ? new : cJSON_CreateString(value));
    if (!spelled)
        return;
    free(p->given);
    p->given = mem_strdup(value);
}

static int give(struct param *p, const char *value, err *e)
{
    cJSON *new = NULL;
    enum param_type type = PARAM_NIL;
    if (!utf8_valid(value, strlen(value)))
        return err_set(e, ERR_USAGE, "%s: the value is not UTF-8", p->name);
    if (p->undeclared) {
        give_undeclared(p, value);
        return 0;
    }
    if (p->type == PARAM_LIST || p->type == PARAM_TABLE)
        return give_table(p, value, e);
    bool text = p->type == PARAM_STRING || p->type == PARAM_NIL;
    const char *end = text ? NULL : p->as->read(value, &type, &new);
    bool fits = end && *end == '\0' && type == p->type, spelled = fits;
    if (!fits)
        cJSON_Delete(STEAL(new));
    if (p->type == PARAM_BOOLEAN && !fits && (str_eq(value, "true") || str_eq(value, "false"))) {
        new = cJSON_CreateBool(*value == 't');
        fits = true;
    }
    if (p->type == PARAM_BOOLEAN && !fits)
        return err_set(e, ERR_USAGE, "%s: it is a boolean, true or false, not \"%s\"", p->name,
            shown_value(p, value));
    AUTO_FREE char *shown = param_shown(p);
    if (p->type == PARAM_NUMBER && !fits)
        return err_set(e, ERR_USAGE, "%s: it is a number, as %s, not \"%s\"", p->name, shown,
            shown_value(p, value));
    if (p->type == PARAM_NIL)
        new = str_eq(value, p->as->none) ? cJSON_CreateNull() : plain_value(p, value);
    take(p, new ? new : cJSON_CreateString(value));
    if (spelled) { // as it was written: 1e-3, 0x10
        free(p->given);
        p->given = mem_strdup(value);
    }
    return 0;
}

static bool is_identifier(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || name[n] == '_')
        n++;
    return n && !name[n] && !isdigit((unsigned char)*name);
}

// The parameter of this name, a new one where any can be given; NULL: there is none.
static struct param *wanted(struct params *ps, const char *name)
{
    struct param *p = find(ps, name);
    if (p || !ps->open || !is_identifier(name))
        return p;
    struct param new = {.as = &python,
        .name = mem_strdup(name),
        .type = PARAM_NIL,
        .literal = mem_strdup(python.none),
        .value = cJSON_CreateNull(),
        .undeclared = true};
    add(ps, &new);
    return find(ps, name);
}

int params_give(struct params *ps, const char *assignment, err *e)
{
    const char *equals = strchr(assignment, '=');
    if (!equals)
        return err_set(e, ERR_USAGE, "-p %s: a parameter is given as NAME=VALUE", assignment);
    AUTO_FREE char *name = str_trim(assignment, (size_t)(equals - assignment));
    struct param *p = wanted(ps, name);
    err why = {0};
    if ((p ? give(p, equals + 1, &why) : unknown(ps, name, &why)) < 0)
        return err_set(e, why.code, "-p %s", why.text);
    return 0;
}

enum param_type param_type_of(const cJSON *value)
{
    // a long integer is raw
    return cJSON_IsBool(value)                           ? PARAM_BOOLEAN
           : cJSON_IsNumber(value) || cJSON_IsRaw(value) ? PARAM_NUMBER
           : cJSON_IsString(value)                       ? PARAM_STRING
           : cJSON_IsArray(value)                        ? PARAM_LIST
           : cJSON_IsObject(value)                       ? PARAM_TABLE
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

// Where nobody declares the type, the literal has it.
char *params_assignment(const struct params *ps, const cJSON *value)
{
    AUTO_BUF quoted = {0};
    AUTO_FREE char *text = param_text(value);
    if (ps->open && !secret_name(value->string))
        python.print(value, &quoted);
    return str_fmt("%s=%s", value->string, quoted.len ? buf_cstr(&quoted) : text);
}

int params_give_value(struct params *ps, const char *name, const cJSON *value, err *e)
{
    struct param *p = wanted(ps, name);
    if (!p)
        return unknown(ps, name, e);
    if (p->undeclared) {
        take(p, cJSON_Duplicate(value, true));
        return 0;
    }
    if (p->type == PARAM_LIST || p->type == PARAM_TABLE) {
        if (check_table(p, value, NULL, e) < 0)
            return -1;
        take(p, cJSON_Duplicate(value, true));
        return 0;
    }
    enum param_type type = param_type_of(value);
    AUTO_FREE char *shown = param_shown(p);
    if (type != p->type && !(p->type == PARAM_NIL && type == PARAM_STRING))
        return err_set(e, ERR_USAGE, "%s: it is a %s, as %s, not %s%s%s", name, type_names[p->type],
            shown, type == PARAM_NIL ? "" : "a ", type == PARAM_NIL ? "null" : type_names[type],
            p->type == PARAM_STRING && (type == PARAM_NUMBER || type == PARAM_BOOLEAN)
                ? "; put the value in quotes"
                : "");
    AUTO_FREE char *text = cJSON_IsNull(value) ? mem_strdup(p->as->none) : param_text(value);
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
    if (ps->python) { // papermill's first line
        AUTO_BUF whole = {0};
        buf_fmt(&whole, "# Parameters\n%s", source.data);
        buf_clear(&source);
        buf_add(&source, whole.data, whole.len);
    }
    for (size_t i = 0; i < notebook_count(nb); i++) {
        if (!cell_has_tag(notebook_cell(nb, i), "injected-parameters"))
            continue;
        notebook_replace(nb, i, source.data);
        return 0;
    }
    const char *marker = ps->python ? "tags=[\"injected-parameters\"]"
                                    : "Parameters given tags=[\"injected-parameters\"]";
    notebook_insert(nb, (size_t)ps->cell + 1, marker, source.data);
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
