// SPDX-License-Identifier: MIT
// YAML and manifests: each document is printed so that it reads back as the same tree, and an
// accepted object can be labelled.
#include "base/json/yaml.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/manifest.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

static void check_again(const cJSON *document)
{
    AUTO_BUF text = {0};
    err e;
    yaml_print(&text, document);
    AUTO_JSON *again = yaml_parse(buf_cstr(&text), text.len, &e);
    if (!again || cJSON_GetArraySize(again) != 1 || !json_equal(document, again->child))
        abort();
}

static void label(const char *text, size_t n)
{
    err e;
    AUTO_JSON *objects = manifest_parse("fuzz.yaml", text, n, &e);
    cJSON *o;
    cJSON_ArrayForEach(o, objects)
    {
        manifest_label(o, "run-1", true);
        if (!json_path(o, "metadata.labels"))
            abort();
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data;
    err e;
    AUTO_JSON *documents = yaml_parse(text, n, &e);
    const cJSON *document;
    cJSON_ArrayForEach(document, documents) check_again(document);
    label(text, n);
    AUTO_FREE char *copy = mem_strndup(text, n);
    AUTO_FREE char *value = manifest_label_value(copy);
    if (strlen(value) > 63)
        abort();
    return 0;
}
