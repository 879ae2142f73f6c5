// SPDX-License-Identifier: MIT
// How we read files, to be compared with tests/support/reads: reads MODE <PATHS. A line
// "PATH<tab>JSON" for each path of the standard input.
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/connect/kubeconfig.h"
#include "k8s/image/dockerfile/dockerfile.h"
#include "k8s/image/ignore.h"

#include <stdio.h>
#include <string.h>

static int read_yaml(const char *path, const buf *text, cJSON *result, err *e)
{
    cJSON *documents = yaml_parse(text->data, text->len, e);
    json_set(result, "documents", documents);
    return documents ? 0 : -1;
}

static int read_kubeconfig(const char *path, const buf *text, cJSON *result, err *e)
{
    AUTO_JSON *config = kubeconfig_parse(path, text->data, text->len, e);
    return config ? 0 : -1;
}

static cJSON *texts(char **list)
{
    cJSON *array = cJSON_CreateArray();
    for (char **t = list; t && *t; t++)
        cJSON_AddItemToArray(array, cJSON_CreateString(*t));
    return array;
}

// The steps: line, name, options, what follows, the words of that, has it here-documents?
static int read_dockerfile(const char *path, const buf *text, cJSON *result, err *e)
{
    struct dockerfile d;
    if (dockerfile_parse(text->data, &d, e) != 0)
        return -1;
    cJSON *steps = json_array_at(result, "steps");
    for (size_t i = 0; i < d.n; i++) {
        cJSON *step = cJSON_CreateArray();
        char **words = dockerfile_split(d.steps[i].rest, d.escape);
        cJSON_AddItemToArray(step, json_new_int(d.steps[i].line));
        cJSON_AddItemToArray(step, cJSON_CreateString(d.steps[i].name));
        cJSON_AddItemToArray(step, texts(d.steps[i].flags));
        cJSON_AddItemToArray(step, cJSON_CreateString(d.steps[i].rest));
        cJSON_AddItemToArray(step, texts(words));
        cJSON_AddItemToArray(step, cJSON_CreateBool(d.steps[i].here));
        cJSON_AddItemToArray(steps, step);
        strv_free(words);
    }
    dockerfile_done(&d);
    return 0;
}

static const char *value_of(void *arg, const char *name)
{
    static const char *const values[][2] = {{"A", "a b"}, {"EMPTY", ""}, {"PWD", "/home"},
        {"SHELL", "bash"}, {"KOREAN", "한국어"}, {"P", "/x/y.tar.gz"}};
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        if (str_eq(values[i][0], name))
            return values[i][1];
    return NULL;
}

static int read_words(const char *path, const buf *text, cJSON *result, err *e)
{
    cJSON *all = json_array_at(result, "texts");
    char **lines = strv_split(text->data, '\n');
    for (char **l = lines; *l && (**l || l[1]); l++) {
        struct dockerfile_values values = {value_of, NULL, DOCKERFILE_VALUES_MOST, '\\'};
        AUTO_FREE char *one = dockerfile_text(*l, &values, NULL);
        cJSON_AddItemToArray(all, one ? cJSON_CreateString(one) : cJSON_CreateNull());
    }
    strv_free(lines);
    return 0;
}

// Which of the names in PATH.names are ignored.
static int read_ignore(const char *path, const buf *text, cJSON *result, err *e)
{
    AUTO_FREE char *beside = str_fmt("%s.names", path);
    AUTO_BUF names = {0};
    char **patterns = ignore_parse(text->data, e);
    if (!patterns || path_read(beside, &names, 0, e) != 0)
        return -1;
    cJSON *ignored = json_array_at(result, "ignored");
    char **lines = strv_split(buf_cstr(&names), '\n');
    for (char **l = lines; *l && (**l || l[1]); l++)
        cJSON_AddItemToArray(
            ignored, cJSON_CreateBool(ignore_matches((const char *const *)patterns, *l)));
    strv_free(lines);
    strv_free(patterns);
    return 0;
}

static const struct mode {
    const char *name;
    int (*read)(const char *path, const buf *text, cJSON *result, err *e);
} modes[] = {{"yaml", read_yaml}, {"kubeconfig", read_kubeconfig}, {"dockerfile", read_dockerfile},
    {"words", read_words}, {"ignore", read_ignore}};

static void read_one(const struct mode *m, const char *path)
{
    err e = {0};
    AUTO_BUF text = {0};
    AUTO_JSON *result = cJSON_CreateObject();
    buf_cstr(&text);
    if (path_read(path, &text, 0, &e) != 0 || m->read(path, &text, result, &e) != 0)
        json_set_str(result, "error", e.text);
    AUTO_FREE char *json = json_to_str(result);
    printf("%s\t%s\n", path, json);
}

int main(int argc, char **argv)
{
    char path[4096];
    const struct mode *m = NULL;
    for (size_t i = 0; argc == 2 && i < ARRAY_LEN(modes); i++)
        if (str_eq(argv[1], modes[i].name))
            m = &modes[i];
    if (!m)
        return 2;
    while (fgets(path, sizeof path, stdin)) {
        path[strcspn(path, "\n")] = '\0';
        read_one(m, path);
    }
    return 0;
}
