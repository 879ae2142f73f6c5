// SPDX-License-Identifier: MIT
#include "cli/parameters.h"

#include "base/buf.h"
#include "base/json/secret.h"
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/say.h"
#include "script/notebook/params.h"

#include <stdio.h>
#include <string.h>

enum { VALUE_LIMIT = 1 << 20, FILE_LIMIT = 16 << 20 };

// The file in "NAME@FILE"; NULL: none. A name cannot contain "@", so this is unambiguous.
static const char *file_of(const char *given)
{
    static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = strspn(given, name);
    return n > 0 && given[n] == '@' ? given + n + 1 : NULL;
}

static int read_value(char **given, const char *file, err *e)
{
    ERR_GUARD(e);
    AUTO_BUF text = {0};
    const char *path = str_eq(file, "-") ? "/dev/stdin" : file;
    int name = (int)(file - *given - 1);
    if (path_read(path, &text, VALUE_LIMIT, e) < 0) {
        e->code = ERR_USAGE;
        return err_wrap(e, "-p %.*s", name, *given);
    }
    while (text.len > 0 && strchr("\r\n", text.data[text.len - 1]))
        text.len--;
    if (text.len > 0 && memchr(text.data, '\0', text.len))
        return err_set(e, ERR_USAGE, "-p %.*s: %s is not a text", name, *given, path);
    char *whole = str_fmt("%.*s=%.*s", name, *given, (int)text.len, buf_cstr(&text));
    explicit_bzero(text.data, text.len);
    free(*given);
    *given = whole;
    return 0;
}

int parameters_read(char **list, err *e)
{
    for (; list && *list; list++) {
        const char *file = file_of(*list);
        if (file && read_value(list, file, e) < 0)
            return -1;
    }
    return 0;
}

// The mapping in a text; an empty text has no document, and counts as an empty mapping.
static cJSON *read_mapping(const char *text, size_t n, const char *from, err *e)
{
    AUTO_JSON *documents = yaml_parse_letters(text, n, e); // JSON is YAML, too
    if (!documents) {
        err_wrap(e, "%s", from);
        return NULL;
    }
    int count = cJSON_GetArraySize(documents);
    if (count == 0)
        return cJSON_CreateObject();
    if (count > 1 || !cJSON_IsObject(documents->child)) {
        err_set(
            e, ERR_USAGE, "%s: it is no mapping of names to values, such as \"epochs: 3\"", from);
        return NULL;
    }
    return cJSON_DetachItemFromArray(documents, 0);
}

static cJSON *read_file(const char *path, err *e)
{
    AUTO_BUF text = {0};
    if (path_read(str_eq(path, "-") ? "/dev/stdin" : path, &text, FILE_LIMIT, e) < 0)
        return NULL;
    return read_mapping(buf_cstr(&text), text.len, path, e);
}

// values: taken; NULL: *e says why there are none.
static int give_mapping(struct params *params, cJSON *given, const char *from, char ***list, err *e)
{
    ERR_GUARD(e);
    AUTO_JSON *values = given;
    int result = values ? 0 : -1;
    for (const cJSON *v = values ? values->child : NULL; v && result == 0; v = v->next) {
        if ((result = params_give_value(params, v->string, v, e)) < 0)
            err_wrap(e, "%s", from);
        AUTO_FREE char *whole = params_assignment(params, v);
        *list = strv_add(*list, whole);
    }
    if (result < 0)
        e->code = ERR_USAGE;
    return result;
}

int parameters_settle(
    const notebook *nb, char *const *files, char *const *yaml, char ***list, err *e)
{
    struct params params;
    char **all = NULL;
    int result = params_find(nb, &params, e);
    for (char *const *file = files; result == 0 && file && *file; file++)
        result = give_mapping(&params, read_file(*file, e), *file, &all, e);
    for (char *const *y = yaml; result == 0 && y && *y; y++)
        result = give_mapping(&params, read_mapping(*y, strlen(*y), "-y", e), "-y", &all, e);
    for (char **p = *list; result == 0 && p && *p; p++) {
        result = params_give(&params, *p, e);
        all = strv_add(all, *p);
    }
    if (result == 0 && params.open && params.n)
        say(stderr, "firesteel: no cell of the notebook is tagged \"parameters\": the values stand "
                    "in a cell at its top\n");
    params_done(&params);
    char **unused = result == 0 ? *list : all;
    if (result == 0)
        *list = all;
    if (unused)
        strv_free(unused);
    return result;
}

// A YAML value as a word of a command line; one that does not parse is hidden as a whole.
static char *hidden_yaml(const char *text, const char *name)
{
    AUTO_JSON *documents = yaml_parse_letters(text, strlen(text), NULL);
    cJSON *first = documents ? documents->child : NULL;
    if (!first)
        return mem_strdup(SECRET_TOLD);
    return secret_hide(documents, first, name) ? json_to_str(documents->child) : mem_strdup(text);
}

// Masks NAME=VALUE of -p after the first `skip` bytes of a word.
static char *hidden_assignment(const char *word, size_t skip)
{
    const char *equals = strchr(word + skip, '='), *value = equals ? equals + 1 : "";
    AUTO_FREE char *name = mem_strndup(word + skip, equals ? (size_t)(equals - word) - skip : 0);
    if (!equals || (!secret_name(name) && *value != '{' && *value != '['))
        return mem_strdup(word);
    AUTO_FREE char *shown = secret_name(name) ? mem_strdup(SECRET_TOLD) : hidden_yaml(value, name);
    return str_fmt("%.*s=%s", (int)(equals - word), word, shown);
}

static char *hidden_mapping(const char *word, size_t skip)
{
    AUTO_FREE char *shown = hidden_yaml(word + skip, NULL);
    return str_fmt("%.*s%s", (int)skip, word, shown);
}

static const struct {
    const char *option; // its value is a word of its own, or follows "=" of a long option
    char *(*hidden)(const char *word, size_t skip);
} hiding[] = {{"--param", hidden_assignment}, {"-p", hidden_assignment},
    {"--parameters-yaml", hidden_mapping}, {"-y", hidden_mapping}};

static char *hidden_word(const char *word, const char *before)
{
    for (size_t i = 0; i < ARRAY_LEN(hiding); i++) {
        size_t n = strlen(hiding[i].option), skip = n + (hiding[i].option[1] == '-');
        if (str_eq(before, hiding[i].option))
            return hiding[i].hidden(word, 0);
        if (str_starts(word, hiding[i].option) && (skip == n || word[n] == '=') && word[n])
            return hiding[i].hidden(word, skip);
    }
    return mem_strdup(word);
}

char **parameters_hidden(int argc, char *const *argv)
{
    char **words = strv_add(NULL, "firesteel");
    for (int i = 0; i < argc; i++) {
        AUTO_FREE char *word = hidden_word(argv[i], i ? argv[i - 1] : "");
        words = strv_add(words, word);
    }
    return words;
}

static void help_json(const struct params *params)
{
    AUTO_JSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < params->n; i++) {
        const struct param *p = &params->list[i];
        cJSON *j = cJSON_CreateObject();
        json_set_str(j, "name", p->name);
        json_set_str(j, "type", param_type_name(p->type));
        cJSON *hidden = param_hidden(p);
        json_set(j, "default", hidden ? hidden : cJSON_Duplicate(p->value, true));
        json_set_str(j, "help", p->comment);
        cJSON_AddItemToArray(list, j);
    }
    say_json(list, 2);
}

// The default on one line, as in the notebook; if it has a secret in it, as masked YAML.
static char *default_of(const struct param *p)
{
    AUTO_FREE char *shown = param_shown(p);
    buf text = {0};
    for (const char *s = shown; *s; s++)
        if (!strchr(" \t\n", *s) || (text.len && !strchr(" \t\n", s[-1])))
            buf_char(&text, strchr("\t\n", *s) ? ' ' : *s);
    return buf_take(&text);
}

static void help_plain(const struct params *params, const char *path)
{
    if (params->n == 0)
        say(stdout, "%s has no parameters%s%s%s\n", path, params->none ? ": " : "",
            params->none ? params->none : "",
            params->open ? "; -p NAME=VALUE gives any name a value, in a cell at its top" : "");
    else
        say(stdout, "Parameters of %s, given with -p NAME=VALUE, -y YAML or -f FILE:\n", path);
    for (size_t i = 0; i < params->n; i++) {
        const struct param *p = &params->list[i];
        AUTO_FREE char *value = default_of(p);
        AUTO_FREE char *left =
            str_fmt("%s: %s (default %s)", p->name, param_type_name(p->type), value);
        say(stdout, p->comment ? "  %-42s  %s\n" : "  %s\n", left, p->comment);
    }
}

int parameters_help(const notebook *nb, const char *path, bool json, err *e)
{
    struct params params;
    int result = params_find(nb, &params, e);
    if (result == 0 && json)
        help_json(&params);
    else if (result == 0)
        help_plain(&params, path);
    params_done(&params);
    return result;
}
