// SPDX-License-Identifier: MIT
#include "script/notebook/properties.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/plan.h"
#include "script/notebook/private.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

static const char *const names[] = {
#define X(symbol, name, about) name,
    PROPERTIES(X)
#undef X
};
static const char *const abouts[] = {
#define X(symbol, name, about) about,
    PROPERTIES(X)
#undef X
};

const char *property_name(property p)
{
    return names[p];
}

const char *property_about(property p)
{
    return abouts[p];
}

// How each kind is written in the file. Other kinds are named "toml file", "sql template", "sh".
static const struct form {
    const char *name;
    cell_kind kind;
    const char *language; // NULL: Lua
    const char *option;   // the option with the path: "file", "template", or NULL
    const char *suggested;
} forms[] = {
    {"Lua", CELL_CODE, NULL, NULL, NULL},
    {"bash", CELL_CODE, "bash", NULL, NULL},
    {"trainer", CELL_CODE, NULL, "file", "trainer.lua"},
    {"YAML template", CELL_CODE, "yaml", "template", "app.yaml"},
    {"YAML file", CELL_CODE, "yaml", "file", "app.yaml"},
    {"Dockerfile template", CELL_CODE, "dockerfile", "template", "Dockerfile"},
    {"Dockerfile", CELL_CODE, "dockerfile", "file", "Dockerfile"},
    {"Python file", CELL_CODE, "python", "file", "main.py"},
    {"JSON file", CELL_CODE, "json", "file", "data.json"},
    {"text file", CELL_CODE, "text", "file", "notes.txt"},
    {"markdown", CELL_MARKDOWN, NULL, NULL, NULL},
    {"raw", CELL_RAW, NULL, NULL, NULL},
};
static const char *const kinds[] = {"Lua", "bash", "trainer", "YAML template", "YAML file",
    "Dockerfile template", "Dockerfile", "Python file", "JSON file", "text file", "markdown", "raw",
    NULL};

const char *const *property_choices(property p)
{
    static const char *const effects[] = {
        "", "pure", "local", "cluster", "destructive", "cluster, destructive", NULL};
    return p == PROPERTY_KIND ? kinds : p == PROPERTY_EFFECTS ? effects : NULL;
}

bool property_is_list(property p)
{
    return p == PROPERTY_TAGS || p == PROPERTY_INPUTS || p == PROPERTY_OUTPUTS;
}

// The form of a kind by its name; *own keeps the language of a kind that is not in the table.
static struct form form_of(const char *name, char **own)
{
    *own = NULL;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (strcasecmp(forms[i].name, name) == 0)
            return forms[i];
    const char *blank = strrchr(name, ' ');
    *own = blank ? mem_strndup(name, (size_t)(blank - name)) : mem_strdup(name);
    return (struct form){.name = name,
        .kind = CELL_CODE,
        .language = str_eq(*own, "lua") ? NULL : *own,
        .option = blank ? blank + 1 : NULL,
        .suggested = blank ? "" : NULL};
}

const char *property_suggested_file(const char *kind)
{
    AUTO_FREE char *own = NULL;
    return form_of(kind, &own).suggested;
}

bool property_applies(property p, const char *kind)
{
    AUTO_FREE char *own = NULL;
    struct form f = form_of(kind, &own);
    if (p == PROPERTY_TITLE || p == PROPERTY_KIND || p == PROPERTY_TAGS)
        return true;
    if (p == PROPERTY_FILE)
        return f.option != NULL;
    bool executes = str_eq(f.language, "bash") || str_eq(f.language, "sh");
    if (p == PROPERTY_INPUTS || p == PROPERTY_OUTPUTS)
        return executes && !f.option;
    return f.kind == CELL_CODE;
}

// A %%magic in the first line, which does the same as an option.
struct magic {
    property sets; // KIND: bash; FILE; CAPTURE; COUNT: none, or one without an option
    char *argument;
    size_t n; // bytes of its line
};

static struct magic magic_in(const cell *c)
{
    static const struct {
        const char *name;
        property sets;
    } known[] = {{"%%bash", PROPERTY_KIND}, {"%%sh", PROPERTY_KIND}, {"%%writefile", PROPERTY_FILE},
        {"%%file", PROPERTY_FILE}, {"%%capture", PROPERTY_CAPTURE}};
    struct magic none = {.sets = PROPERTY_COUNT};
    const struct cell_options *o = &c->options;
    if (c->kind != CELL_CODE || o->language || o->file || o->template_)
        return none;
    size_t n = strcspn(c->source, "\n"), word = strcspn(c->source, " \t\n");
    for (size_t i = 0; i < ARRAY_LEN(known); i++) {
        if (strlen(known[i].name) != word || strncmp(c->source, known[i].name, word) != 0)
            continue;
        char *argument = str_trim(c->source + word, n - word);
        bool plain = known[i].sets == PROPERTY_KIND ||
                     (*argument && !strpbrk(argument, " \t\"'${}") && *argument != '-');
        if (plain)
            return (struct magic){known[i].sets, argument, n + (c->source[n] == '\n')};
        free(argument);
    }
    return none;
}

// "a, b" for a list; a text as it is; any other value as JSON.
static char *value_text(const cJSON *value)
{
    AUTO_BUF out = {0};
    bool words = cJSON_IsArray(value);
    for (const cJSON *item = words ? value->child : NULL; item; item = item->next) {
        words = words && cJSON_IsString(item) && !strchr(item->valuestring, ',');
        buf_fmt(&out, "%s%s", out.len ? ", " : "", words ? item->valuestring : "");
    }
    if (cJSON_IsString(value))
        buf_str(&out, value->valuestring);
    if (value && !words && !cJSON_IsString(value)) {
        buf_clear(&out);
        json_print(&out, value);
    }
    return mem_strdup(buf_cstr(&out));
}

static char *kind_text(const cell *c)
{
    const struct cell_options *o = &c->options;
    const char *option = o->file ? "file" : o->template_ ? "template" : NULL;
    const char *language = json_str(c->kept->metadata, "language");
    if (str_eq(language, "lua"))
        language = NULL;
    for (size_t i = 0; i < ARRAY_LEN(forms); i++)
        if (forms[i].kind == c->kind &&
            (c->kind != CELL_CODE ||
                (str_eq(forms[i].option, option) && str_eq(forms[i].language, language))))
            return mem_strdup(forms[i].name);
    return option ? str_fmt("%s %s", language ? language : "lua", option) : mem_strdup(language);
}

// The kind of a file that %%writefile writes.
static const char *kind_of_file(const char *path)
{
    static const char *const endings[][2] = {{".lua", "trainer"}, {".py", "Python file"},
        {".yaml", "YAML file"}, {".yml", "YAML file"}, {".json", "JSON file"},
        {"Dockerfile", "Dockerfile"}};
    for (size_t i = 0; i < ARRAY_LEN(endings); i++)
        if (str_ends(path, endings[i][0]))
            return endings[i][1];
    return "text file";
}

static void set(struct properties *p, property which, char *value)
{
    free(p->values[which]);
    p->values[which] = value;
}

static void read_cell(const cell *c, struct properties *out)
{
    const cJSON *metadata = c->kept->metadata;
    *out = (struct properties){0};
    for (property p = 0; p < PROPERTY_COUNT; p++)
        out->values[p] = value_text(json_get(metadata, names[p]));
    set(out, PROPERTY_TITLE, mem_strdup(c->title ? c->title : ""));
    set(out, PROPERTY_KIND, kind_text(c));
    if (!json_get(metadata, "file"))
        set(out, PROPERTY_FILE, value_text(json_get(metadata, "template")));
    struct magic m = magic_in(c);
    if (m.sets == PROPERTY_KIND) {
        set(out, PROPERTY_KIND, mem_strdup("bash"));
    } else if (m.sets == PROPERTY_FILE) {
        set(out, PROPERTY_KIND, mem_strdup(kind_of_file(m.argument)));
        set(out, PROPERTY_FILE, mem_strdup(m.argument));
    } else if (m.sets == PROPERTY_CAPTURE && !*out->values[PROPERTY_CAPTURE]) {
        set(out, PROPERTY_CAPTURE, mem_strdup(m.argument));
    }
    free(m.argument);
}

static cell *scratch_cell(const char *marker, const char *source)
{
    cell *c = cell_new();
    cell_mark(c, marker);
    free(c->source);
    c->source = mem_strdup(source);
    return c;
}

void properties_read(const char *marker, const char *source, struct properties *out)
{
    cell *c = scratch_cell(marker, source);
    read_cell(c, out);
    cell_free(c);
}

void properties_done(struct properties *p)
{
    for (property i = 0; i < PROPERTY_COUNT; i++)
        free(p->values[i]);
    *p = (struct properties){0};
}

// Words with commas between them, in quotes or not; or ["a", "b"], as the file has them. NULL:
// neither.
static cJSON *list_of(const char *text)
{
    if (*text == '[')
        return json_parse(text, strlen(text), NULL);
    AUTO_JSON *list = cJSON_CreateArray();
    bool good = true;
    char **parts = strv_split(text, ',');
    for (char **part = parts; *part; part++) {
        AUTO_FREE char *word = str_trim(*part, strlen(*part));
        size_t n = strlen(word);
        bool opens = *word == '"', closes = n > 0 && word[n - 1] == '"', quoted = opens && closes;
        good = good && opens == closes && !(quoted && n == 1);
        AUTO_FREE char *plain = quoted && n > 1 ? mem_strndup(word + 1, n - 2) : STEAL(word);
        if (*plain)
            cJSON_AddItemToArray(list, cJSON_CreateString(plain));
    }
    strv_free(parts);
    return good ? STEAL(list) : NULL;
}

// Sets an option to the value in the form; "" removes the option.
static void put_option(cJSON *metadata, const char *name, const char *text, bool list)
{
    AUTO_FREE char *trimmed = str_trim(text, strlen(text));
    cJSON_DeleteItemFromObjectCaseSensitive(metadata, name);
    AUTO_JSON *words = list ? list_of(trimmed) : NULL;
    if (list && cJSON_GetArraySize(words))
        json_set(metadata, name, STEAL(words));
    else if (!list && *trimmed)
        json_set_str(metadata, name, trimmed);
}

// What is no number is refused as a text, by the check of the option.
static void put_number(cJSON *metadata, const char *name, const char *text)
{
    AUTO_FREE char *trimmed = str_trim(text, strlen(text));
    char *end = trimmed;
    double number = strtod(trimmed, &end);
    if (!*trimmed || *end)
        put_option(metadata, name, text, false);
    else
        json_set(metadata, name, cJSON_CreateNumber(number));
}

static void put_property(cJSON *metadata, property p, const char *text)
{
    if (p == PROPERTY_RETRIES || p == PROPERTY_TOLERANCE) {
        put_number(metadata, names[p], text);
        return;
    }
    bool several = p == PROPERTY_EFFECTS && strchr(text, ',');
    put_option(metadata, names[p], text, several || property_is_list(p));
}

static void put_kind(cell *c, const struct form *f, const char *file)
{
    cJSON *metadata = c->kept->metadata;
    c->kind = f->kind;
    put_option(metadata, "language", f->language ? f->language : "", false);
    put_option(metadata, "file", str_eq(f->option, "file") ? file : "", false);
    put_option(metadata, "template", str_eq(f->option, "template") ? file : "", false);
}

// Replaces the magic by the option, keeping what the form does not show of it.
static void drop_magic(cell *c, const struct magic *m, const struct properties *p)
{
    char *rest = mem_strdup(c->source + m->n);
    free(c->source);
    c->source = rest;
    if (m->sets == PROPERTY_KIND && str_eq(p->values[PROPERTY_KIND], "bash"))
        put_option(c->kept->metadata, "magic_args", m->argument, false);
}

static bool differs(const struct properties *a, const struct properties *b, property p)
{
    return !str_eq(a->values[p], b->values[p]);
}

static void write_cell(cell *c, const struct properties *p)
{
    AUTO_FREE char *own = NULL;
    struct form f = form_of(p->values[PROPERTY_KIND], &own);
    struct properties was;
    read_cell(c, &was);
    struct magic m = magic_in(c);
    bool shape = differs(p, &was, PROPERTY_KIND) || differs(p, &was, PROPERTY_FILE);
    bool unmagic = m.sets == PROPERTY_CAPTURE ? differs(p, &was, PROPERTY_CAPTURE)
                                              : m.sets != PROPERTY_COUNT && shape;
    if (unmagic)
        drop_magic(c, &m, p);
    if (shape)
        put_kind(c, &f, p->values[PROPERTY_FILE]);
    if (!str_eq(f.language, "bash") && shape)
        put_option(c->kept->metadata, "magic_args", "", false);
    for (property i = PROPERTY_EFFECTS; i < PROPERTY_COUNT; i++) {
        bool applies = property_applies(i, p->values[PROPERTY_KIND]);
        if (differs(p, &was, i) || !applies)
            put_property(c->kept->metadata, i, applies ? p->values[i] : "");
    }
    free(c->title);
    AUTO_FREE char *title = str_trim(p->values[PROPERTY_TITLE], strlen(p->values[PROPERTY_TITLE]));
    c->title = *title ? STEAL(title) : NULL;
    free(m.argument);
    properties_done(&was);
}

void properties_write(const char *marker, const char *source, const struct properties *p,
    char **new_marker, char **new_source)
{
    cell *c = scratch_cell(marker, source);
    write_cell(c, p);
    AUTO_BUF out = {0};
    marker_print(c, marker_is_json(marker), &out);
    *new_marker = mem_strdup(buf_cstr(&out));
    *new_source = mem_strdup(c->source);
    cell_free(c);
}

// Checks the value alone, in a cell that has nothing else.
static char *problem_of(property p, const char *text)
{
    AUTO_FREE char *trimmed = str_trim(text, strlen(text));
    AUTO_JSON *list = property_is_list(p) ? list_of(trimmed) : NULL;
    if (property_is_list(p) && !list)
        return mem_strdup("a quote or a bracket is open; write a, b or [\"a\", \"b\"]");
    cell *c = cell_new();
    put_property(c->kept->metadata, p, text);
    options_read(c);
    AUTO_FREE char *prefix = str_fmt("option %s: ", names[p]);
    const char *words = c->problem;
    if (words && str_starts(words, prefix))
        words += strlen(prefix);
    char *problem = mem_strdup(words);
    cell_free(c);
    return problem;
}

// A title must be read back unchanged: no word of it may be taken for an option or a kind.
static char *problem_of_title(const cell *c, const char *marker)
{
    cell *again = scratch_cell(marker, "");
    bool same = str_eq(again->title, c->title) && again->kind == c->kind;
    cell_free(again);
    return same
               ? NULL
               : mem_strdup("the file could not tell it from options: no =, {, %% and [kind] here");
}

// When no single value is wrong: adds the error that running the cell would give.
static void check_whole(const cell *c, char *problems[PROPERTY_COUNT])
{
    struct plan plan = {0};
    err e = {0};
    const struct cell_options *o = &c->options;
    if (plan_cell(NULL, c, &plan, &e) == 0) {
        plan_done(&plan);
        return;
    }
    if (plan.line) // the fault is in the text, not here
        return;
    property at = o->inputs ? PROPERTY_INPUTS : o->outputs ? PROPERTY_OUTPUTS : PROPERTY_KIND;
    problems[at] = mem_strdup(e.text);
}

bool properties_check(const char *marker, const char *source, const struct properties *p,
    char *problems[PROPERTY_COUNT])
{
    AUTO_FREE char *new_marker = NULL, *new_source = NULL;
    const char *kind = p->values[PROPERTY_KIND], *suggested = property_suggested_file(kind);
    bool good = true;
    cell *c = scratch_cell(marker, source);
    write_cell(c, p);
    properties_write(marker, source, p, &new_marker, &new_source);
    for (property i = 0; i < PROPERTY_COUNT; i++)
        problems[i] = i > PROPERTY_KIND && property_applies(i, kind) && *p->values[i]
                          ? problem_of(i, p->values[i])
                          : NULL;
    problems[PROPERTY_TITLE] = problem_of_title(c, new_marker);
    if (suggested && !*p->values[PROPERTY_FILE])
        problems[PROPERTY_FILE] = str_fmt("a %s cell needs the name of the file it writes", kind);
    cell_free(c);
    for (property i = 0; i < PROPERTY_COUNT; i++)
        good = good && !problems[i];
    if (!good)
        return false;
    c = scratch_cell(new_marker, new_source);
    check_whole(c, problems);
    cell_free(c);
    for (property i = 0; i < PROPERTY_COUNT; i++)
        good = good && !problems[i];
    return good;
}
