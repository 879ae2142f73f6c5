// SPDX-License-Identifier: MIT
#include "tui/config/settings.h"

#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "tui/config/presets.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum kind { KIND_CHOICE, KIND_SWITCH };
static const struct setting {
    const char *name, *values, *usual, *words;
    enum kind kind;
    size_t at; // of its member
} table[] = {
#define CHOICE(symbol, name, values, usual, words)                                                 \
    {name, values, usual, words, KIND_CHOICE, offsetof(struct settings, symbol)},
#define SWITCH(symbol, name, usual, words)                                                         \
    {name, "true false", #usual, words, KIND_SWITCH, offsetof(struct settings, symbol)},
#include "tui/config/settings.def"
#undef CHOICE
#undef SWITCH
};

static const struct place {
    const char *name, *view;
    unsigned modes;
} places[] = {
#define X(place, view, modes) {place, view, modes},
    KEY_PLACES(X)
#undef X
};

struct view_keymap {
    const char *view;
    struct binding *bindings; // their keys are owned
    struct keymap map;
};

struct reading {
    struct settings *s;
    const char *text;
    size_t n;
};

__attribute__((format(printf, 3, 4))) static void fault(
    struct reading *r, const struct yaml_step *at, const char *fmt, ...)
{
    size_t line = 0, column;
    AUTO_BUF words = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&words, fmt, args);
    va_end(args);
    if (!at || !yaml_place(r->text, r->n, at, &line, &column))
        line = 0;
    cJSON *one = cJSON_CreateObject();
    json_set_int(one, "line", (int64_t)line);
    json_set_str(one, "text", buf_cstr(&words));
    cJSON_AddItemToArray(r->s->faults, one);
}

// What keeps all of the file from being read: "line 3, column 7: why".
static void add_broken(struct settings *s, const char *words)
{
    unsigned line = 0;
    int n = 0;
    if (sscanf(words, "line %u, column %*u: %n", &line, &n) != 1 || !n)
        line = 0, n = 0;
    cJSON *one = cJSON_CreateObject();
    json_set_int(one, "line", line);
    json_set_str(one, "text", words + n);
    cJSON_AddItemToArray(s->faults, one);
}

// The index of a word among words; SIZE_MAX: it is none of them.
static size_t index_in(const char *words, const char *word)
{
    size_t n = strlen(word), i = 0;
    for (const char *at = words; *at && n; i++) {
        size_t length = strcspn(at, " ");
        if (length == n && memcmp(at, word, n) == 0)
            return i;
        at += length + strspn(at + length, " ");
    }
    return SIZE_MAX;
}

static void set_choice(struct settings *s, const struct setting *what, size_t index)
{
    *(int *)((char *)s + what->at) = (int)index;
}

static void set_switch(struct settings *s, const struct setting *what, bool on)
{
    *(bool *)((char *)s + what->at) = on;
}

static void read_setting(struct reading *r, const struct setting *what, const struct yaml_step *at)
{
    const cJSON *value = at->value;
    if (what->kind == KIND_SWITCH && cJSON_IsBool(value)) {
        set_switch(r->s, what, cJSON_IsTrue(value));
        return;
    }
    size_t index = cJSON_IsString(value) ? index_in(what->values, value->valuestring) : SIZE_MAX;
    if (what->kind == KIND_CHOICE && index != SIZE_MAX)
        set_choice(r->s, what, index);
    else
        fault(r, at, "%s is one of: %s", what->name, what->values);
}

static struct view_keymap *keys_of(struct settings *s, const char *view)
{
    for (size_t i = 0; i < s->n_keys; i++)
        if (str_eq(s->keys[i].view, view))
            return &s->keys[i];
    s->keys = mem_resize(s->keys, s->n_keys + 1, sizeof *s->keys);
    s->keys[s->n_keys] = (struct view_keymap){.view = view};
    return &s->keys[s->n_keys++];
}

static const struct place *place_of(const char *name)
{
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        if (str_eq(places[i].name, name))
            return &places[i];
    return NULL;
}

static void bind_keys(
    struct settings *s, const struct place *place, const char *keys, enum action a)
{
    struct view_keymap *m = keys_of(s, place->view);
    m->bindings = mem_resize(m->bindings, m->map.n + 1, sizeof *m->bindings);
    m->bindings[m->map.n++] = (struct binding){place->modes, mem_strdup(keys), a};
    m->map.bindings = m->bindings;
}

static bool find_action(const char *name, enum action *a)
{
    *a = ACT_NONE;
    if (str_eq(name, "none"))
        return true;
    for (enum action i = 1; i < ACTION_COUNT; i++)
        if (str_eq(action_name(i), name))
            *a = i;
    return *a != ACT_NONE;
}

static const char *near_action(const char *name)
{
    const char *names[ACTION_COUNT + 1] = {0};
    for (enum action i = 1; i < ACTION_COUNT; i++)
        names[i - 1] = action_name(i);
    return str_nearest(name, names);
}

static bool are_keys(const char *keys)
{
    const struct binding one = {MODE_VIEW, keys, ACT_HELP};
    const struct keymap map = {&one, 1};
    AUTO_BUF why = {0};
    return keymap_check(&map, &why);
}

static void read_key(struct reading *r, const struct place *place, const struct yaml_step *at)
{
    const char *keys = at->value->string, *name = cJSON_GetStringValue(at->value);
    enum action a;
    if (!are_keys(keys)) {
        fault(r, at,
            "\"%s\" names no keys: they are written as in the help, \"C-e\", \"g s\", \"S-Enter\"",
            keys);
    } else if (!name || !find_action(name, &a)) {
        const char *near = name ? near_action(name) : NULL;
        fault(r, at, "there is no action \"%s\" for %s%s%s; none: these keys mean nothing there",
            name ? name : "", keys, near ? "; did you mean " : "", near ? near : "");
    } else {
        bind_keys(r->s, place, keys, a);
    }
}

static void read_places(struct reading *r, const struct yaml_step *at)
{
    const cJSON *one, *keys;
    cJSON_ArrayForEach(one, at->value)
    {
        const struct yaml_step step = {at, one};
        const struct place *place = place_of(one->string ? one->string : "");
        if (!place || !cJSON_IsObject(one)) {
            AUTO_BUF names = {0};
            for (size_t i = 0; i < ARRAY_LEN(places); i++)
                buf_fmt(&names, "%s%s", i ? ", " : "", places[i].name);
            fault(r, &step, "keys: \"%s\" is no place with keys; there are %s",
                one->string ? one->string : "", buf_cstr(&names));
            continue;
        }
        cJSON_ArrayForEach(keys, one)
        {
            const struct yaml_step inner = {&step, keys};
            read_key(r, place, &inner);
        }
    }
}

static bool is_word(const char *name)
{
    size_t n = 0;
    while (isalnum((unsigned char)name[n]) || (n && name[n] && strchr("-_", name[n])))
        n++;
    return *name && !name[n];
}

static void read_aliases(struct reading *r, const struct yaml_step *at)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, at->value)
    {
        const struct yaml_step step = {at, one};
        const char *name = one->string ? one->string : "", *line = cJSON_GetStringValue(one);
        if (!is_word(name))
            fault(r, &step, "\"%s\" is no alias: letters, digits, - and _", name);
        else if (!line || !*line)
            fault(r, &step, "alias %s: a text is needed, what is typed after : in its place", name);
        else
            json_set_str(r->s->aliases, name, line + (*line == ':'));
    }
}

// A text or a list of texts, as a list; NULL: it is neither.
static cJSON *words_in(const cJSON *value)
{
    const cJSON *one;
    AUTO_JSON *words = cJSON_CreateArray();
    if (cJSON_IsString(value)) {
        char **all = strv_split(value->valuestring, ' ');
        for (size_t i = 0; all[i]; i++)
            if (*all[i])
                cJSON_AddItemToArray(words, cJSON_CreateString(all[i]));
        strv_free(all);
        return words->child ? STEAL(words) : NULL;
    }
    const cJSON *list = cJSON_IsArray(value) ? value : NULL;
    cJSON_ArrayForEach(one, list)
    {
        if (!cJSON_IsString(one))
            return NULL;
        cJSON_AddItemToArray(words, cJSON_CreateString(one->valuestring));
    }
    return words->child ? STEAL(words) : NULL;
}

static void read_command(struct reading *r, const struct yaml_step *at)
{
    const char *name = at->value->string ? at->value->string : "";
    cJSON *command = cJSON_CreateObject();
    const cJSON *one;
    cJSON_ArrayForEach(one, at->value)
    {
        const struct yaml_step step = {at, one};
        const char *field = one->string ? one->string : "", *keys = cJSON_GetStringValue(one);
        bool list = str_eq(field, "run") || str_eq(field, "kinds");
        cJSON *words = list ? words_in(one) : NULL;
        if (words)
            json_set(command, field, words);
        else if (list)
            fault(r, &step, "command %s: %s is a text or a list of texts", name, field);
        else if (str_eq(field, "key") && keys && are_keys(keys) && !strchr(keys, ' '))
            json_set_str(command, "key", keys);
        else if (str_eq(field, "key"))
            fault(r, &step, "command %s: its key is one key, as \"C-x\" or \"D\"", name);
        else
            fault(r, &step, "command %s: there is no \"%s\"; there are run, kinds and key", name,
                field);
    }
    if (json_get(command, "run")) {
        json_set(r->s->commands, name, command);
        return;
    }
    fault(r, at, "command %s: run is needed, the command with its words", name);
    cJSON_Delete(command);
}

static void read_commands(struct reading *r, const struct yaml_step *at)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, at->value)
    {
        const struct yaml_step step = {at, one};
        if (!is_word(one->string ? one->string : ""))
            fault(r, &step, "\"%s\" is no command: letters, digits, - and _", one->string);
        else if (!cJSON_IsObject(one))
            fault(r, &step, "command %s: run, kinds and key are expected", one->string);
        else
            read_command(r, &step);
    }
}

const cJSON *settings_command(const struct settings *s, const char *name)
{
    return s ? json_get(s->commands, name) : NULL;
}

const char *settings_command_key(const struct settings *s, key k)
{
    const cJSON *one;
    size_t n;
    const cJSON *all = s ? s->commands : NULL;
    cJSON_ArrayForEach(one, all)
    {
        const char *keys = json_str(one, "key");
        if (keys && key_normal(key_parse(keys, strlen(keys), &n)) == k)
            return one->string;
    }
    return NULL;
}

static void unknown(struct reading *r, const struct yaml_step *at)
{
    const char *names[ARRAY_LEN(table) + 4] = {"keys", "aliases", "commands"};
    const char *name = at->value->string ? at->value->string : "";
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        names[i + 3] = table[i].name;
    const char *near = str_nearest(name, names);
    fault(r, at, "there is no setting \"%s\"%s%s", name, near ? "; did you mean " : "",
        near ? near : "");
}

static void read_all(struct reading *r, const cJSON *root)
{
    const struct yaml_step top = {.value = root};
    const cJSON *one;
    if (!cJSON_IsObject(root)) {
        fault(r, &top, "settings are written NAME: VALUE");
        return;
    }
    cJSON_ArrayForEach(one, root)
    {
        const struct yaml_step step = {&top, one};
        size_t i = 0;
        while (i < ARRAY_LEN(table) && !str_eq(table[i].name, one->string))
            i++;
        if (i < ARRAY_LEN(table))
            read_setting(r, &table[i], &step);
        else if (str_eq(one->string, "keys") && (cJSON_IsObject(one) || cJSON_IsNull(one)))
            read_places(r, &step);
        else if (str_eq(one->string, "aliases") && (cJSON_IsObject(one) || cJSON_IsNull(one)))
            read_aliases(r, &step);
        else if (str_eq(one->string, "commands") && (cJSON_IsObject(one) || cJSON_IsNull(one)))
            read_commands(r, &step);
        else
            unknown(r, &step);
    }
}

static void add_preset(struct settings *s)
{
    size_t n;
    const struct preset_key *keys = preset_keys((enum setting_preset)s->preset, &n);
    for (size_t i = 0; i < n; i++)
        bind_keys(s, place_of(keys[i].place), keys[i].keys, keys[i].action);
    if (settings_vi(s))
        bind_keys(s, place_of("edit"), "C-r", ACT_REDO);
}

bool settings_vi(const struct settings *s)
{
    return s->vi || s->preset == PRESET_VIM;
}

struct settings *settings_new(const char *text, size_t n)
{
    err e = {0};
    struct settings *s = mem_alloc(sizeof *s);
    struct reading r = {s, text, n};
    s->aliases = cJSON_CreateObject();
    s->commands = cJSON_CreateObject();
    s->faults = cJSON_CreateArray();
    for (size_t i = 0; i < ARRAY_LEN(table); i++)
        if (table[i].kind == KIND_CHOICE)
            set_choice(s, &table[i], index_in(table[i].values, table[i].usual));
        else
            set_switch(s, &table[i], str_eq(table[i].usual, "true"));
    AUTO_JSON *documents = text ? yaml_parse_letters(text, n, &e) : NULL;
    if (e.code)
        add_broken(s, e.text);
    else if (cJSON_GetArraySize(documents) > 0)
        read_all(&r, cJSON_GetArrayItem(documents, 0));
    add_preset(s);
    return s;
}

void settings_free(struct settings *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->n_keys; i++) {
        for (size_t k = 0; k < s->keys[i].map.n; k++)
            free((char *)s->keys[i].bindings[k].keys);
        free(s->keys[i].bindings);
    }
    free(s->keys);
    cJSON_Delete(s->aliases);
    cJSON_Delete(s->commands);
    cJSON_Delete(s->faults);
    free(s);
}

const struct keymap *settings_keys(const struct settings *s, const char *view)
{
    for (size_t i = 0; s && i < s->n_keys; i++)
        if (str_eq(s->keys[i].view, view))
            return &s->keys[i].map;
    return NULL;
}

char *settings_alias(const struct settings *s, const char *line)
{
    size_t n = strcspn(line, " ");
    AUTO_FREE char *name = mem_strndup(line, n);
    const char *stands = s ? json_str(s->aliases, name) : NULL;
    return stands ? str_fmt("%s%s", stands, line + n) : NULL;
}

static void add_example(buf *out)
{
    buf_str(out, "# Keys by place, named as in the help (?); actions as after \":\". none: they "
                 "mean nothing.\n"
                 "#keys:\n"
                 "#  cells:\n"
                 "#    \"g t\": outline\n"
                 "#    \"0 0\": none\n"
                 "#  table:\n"
                 "#    \"Z\": sick-first\n"
                 "# Places: ");
    for (size_t i = 0; i < ARRAY_LEN(places); i++)
        buf_fmt(out, "%s%s", i ? ", " : "", places[i].name);
    buf_str(out, "\n\n# What may be typed after \":\" in the place of something longer.\n"
                 "#aliases:\n"
                 "#  dp: deployments\n"
                 "#  mine: pods -n mine -l app=web\n"
                 "\n# Commands of your own on a row of a cluster's table, by \":\" or a key. You "
                 "are asked first.\n"
                 "# No shell reads them. $NAME, $NAMESPACE, $CONTEXT, $KIND, $RESOURCE and "
                 "$CONTAINER are the row's.\n"
                 "#commands:\n"
                 "#  debug:\n"
                 "#    run: kubectl debug -it -n $NAMESPACE $NAME --image=busybox\n"
                 "#    kinds: pods\n"
                 "#    key: D\n");
}

void settings_template(buf *out)
{
    buf_str(out, "# Settings of firesteel. What stands behind a # is the usual value; take the # "
                 "away to change it.\n"
                 "# `firesteel doctor` says what is wrong in this file.\n\n");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        buf_fmt(out, "# %s\n", table[i].words);
        if (table[i].kind == KIND_CHOICE)
            buf_fmt(out, "# One of: %s\n", table[i].values);
        buf_fmt(out, "#%s: %s\n\n", table[i].name, table[i].usual);
    }
    add_example(out);
}

const char *settings_nth(size_t i, const char **values, const char **usual, const char **words)
{
    if (i >= ARRAY_LEN(table))
        return NULL;
    *values = table[i].values;
    *usual = table[i].usual;
    *words = table[i].words;
    return table[i].name;
}

void settings_document(buf *out)
{
    static const char *const names[] = {"jupyter", "vim", "k9s"};
    buf_str(out, "| setting | values | usual | |\n|---|---|---|---|\n");
    for (size_t i = 0; i < ARRAY_LEN(table); i++) {
        AUTO_BUF values = {0};
        for (const char *c = table[i].values; *c; c++)
            buf_str(&values, *c == ' ' ? "`, `" : (char[]){*c, '\0'});
        buf_fmt(out, "| `%s` | `%s` | `%s` | %s |\n", table[i].name, buf_cstr(&values),
            table[i].usual, table[i].words);
    }
    for (size_t p = 0; p < ARRAY_LEN(names); p++) {
        size_t n;
        const struct preset_key *keys = preset_keys((enum setting_preset)p, &n);
        if (n)
            buf_fmt(out, "\n### Keys of the preset %s\n\n| place | keys | |\n|---|---|---|\n",
                names[p]);
        for (size_t i = 0; i < n; i++)
            buf_fmt(out, "| %s | `%s` | %s |\n", keys[i].place, keys[i].keys,
                action_help(keys[i].action));
    }
}
