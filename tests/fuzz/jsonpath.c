// SPDX-License-Identifier: MIT
// A path on the first line, the object below it. A path that exists leads to something.
#include "k8s/client/text/jsonpath.h"
#include "base/mem.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>
#include <string.h>

struct found {
    const cJSON *root;
    int n;
};

static bool is_below(const cJSON *root, const cJSON *node)
{
    const cJSON *child;
    if (root == node)
        return true;
    cJSON_ArrayForEach(child, root) if (is_below(child, node)) return true;
    return false;
}

static void count(void *arg, const cJSON *node)
{
    struct found *f = arg;
    f->n++;
    if (f->n < 20 && !is_below(f->root, node))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *text = (const char *)data, *line = n ? memchr(text, '\n', n) : NULL;
    if (!line)
        return 0;
    AUTO_FREE char *path = mem_strndup(text, (size_t)(line - text));
    AUTO_JSON *object = json_parse(line + 1, n - (size_t)(line + 1 - text), NULL);
    if (!object)
        return 0;
    struct found f = {.root = object};
    err e;
    bool read = jsonpath_each(object, path, count, &f, &e) == 0;
    int is = jsonpath_is(object, path, NULL, &e);
    if (is != (read ? f.n > 0 : -1))
        abort();
    jsonpath_is(object, path, "1", &e);
    return 0;
}
