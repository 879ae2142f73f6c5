// SPDX-License-Identifier: MIT
#include "cli/parameters.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
#include "base/secret.h"
#include "base/str.h"
#include "base/yaml.h"
#include "script/notebook/params.h"

#include <string.h>

enum { VALUE_LIMIT = 1 << 20, FILE_LIMIT = 16 << 20 };

// The file in "NAME@FILE"; NULL: there is none. A name cannot contain "@", so this is unambiguous.
static const char *file_of(const char *given)
{
    static const char name[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_";
    size_t n = strspn(given, name);
    return n > 0 && given[n] == '@' ? given + n + 1 : NULL;
}

static int read_value(char **given, const char *file, err *e)
{
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

// The mapping in a file; an empty file has none, which is an empty one.
static cJSON *read_file(const char *path, err *e)
{
    AUTO_BUF text = {0};
    if (path_read(str_eq(path, "-") ? "/dev/stdin" : path, &text, FILE_LIMIT, e) < 0)
        return NULL;
    AUTO_JSON *documents = yaml_parse(buf_cstr(&text), text.len, e); // JSON is YAML, too
    if (!documents) {
        err_wrap(e, "%s", path);
        return NULL;
    }
    int n = cJSON_GetArraySize(documents);
    if (n == 0)
        return cJSON_CreateObject();
    if (n > 1 || !cJSON_IsObject(documents->child)) {
        err_set(
            e, ERR_USAGE, "%s: it is no mapping of names to values, such as \"epochs: 3\"", path);
        return NULL;
    }
    return cJSON_DetachItemFromArray(documents, 0);
}

static int give_file(struct params *params, const char *path, char ***list, err *e)
{
    AUTO_JSON *values = read_file(path, e);
    int result = values ? 0 : -1;
    for (const cJSON *v = values ? values->child : NULL; v && result == 0; v = v->next) {
        AUTO_FREE char *text = param_text(v);
        AUTO_FREE char *whole = str_fmt("%s=%s", v->string, text);
        *list = strv_add(*list, whole);
        if ((result = params_give_value(params, v->string, v, e)) < 0)
            err_wrap(e, "%s", path);
    }
    if (result < 0)
        e->code = ERR_USAGE;
    return result;
}

int parameters_settle(const notebook *nb, char *const *files, char ***list, err *e)
{
    struct params params;
    char **all = NULL;
    int result = params_find(nb, &params, e);
    for (char *const *file = files; result == 0 && file && *file; file++)
        result = give_file(&params, *file, &all, e);
    for (char **p = *list; result == 0 && p && *p; p++) {
        result = params_give(&params, *p, e);
        all = strv_add(all, *p);
    }
    params_done(&params);
    char **unused = result == 0 ? *list : all;
    if (result == 0)
        *list = all;
    if (unused)
        strv_free(unused);
    return result;
}

// Where the assignment NAME=VALUE of -p is in a word: "-pNAME=VALUE", "--param=NAME=VALUE"; NULL:
// it is another word.
static const char *assignment_in(const char *word)
{
    static const char *const begins[] = {"--param=", "-p"};
    for (size_t i = 0; i < ARRAY_LEN(begins); i++)
        if (str_starts(word, begins[i]) && word[strlen(begins[i])])
            return word + strlen(begins[i]);
    return NULL;
}

static char *hidden(const char *word, const char *assignment)
{
    const char *equals = strchr(assignment, '=');
    AUTO_FREE char *name = equals ? mem_strndup(assignment, (size_t)(equals - assignment)) : NULL;
    if (!name || !secret_name(name))
        return mem_strdup(word);
    return str_fmt("%.*s=[secret]", (int)(equals - word), word);
}

char **parameters_hidden(int argc, char *const *argv)
{
    char **words = strv_add(NULL, "firesteel");
    bool follows = false; // an assignment of its own
    for (int i = 0; i < argc; i++) {
        const char *in = follows ? argv[i] : assignment_in(argv[i]);
        AUTO_FREE char *word = in ? hidden(argv[i], in) : mem_strdup(argv[i]);
        words = strv_add(words, word);
        follows = str_eq(argv[i], "-p") || str_eq(argv[i], "--param");
    }
    return words;
}
