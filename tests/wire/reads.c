// SPDX-License-Identifier: MIT
// How we read files, to be compared with tests/support/reads: reads MODE <PATHS. A line
// "PATH<tab>JSON" for each path of the standard input.
#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"
#include "base/yaml.h"
#include "k8s/client/kubeconfig.h"

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

static const struct mode {
    const char *name;
    int (*read)(const char *path, const buf *text, cJSON *result, err *e);
} modes[] = {{"yaml", read_yaml}, {"kubeconfig", read_kubeconfig}};

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
