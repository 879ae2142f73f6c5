// SPDX-License-Identifier: MIT
#include "k8s/client/jsonpath.h"

#include "base/mem.h"
#include "base/str.h"

#include <string.h>

typedef void node_fn(void *arg, const cJSON *node);

struct walk {
    const char *whole;
    node_fn *fn;
    void *arg;
    err *e;
    int depth;
};

static int wrong(const struct walk *w, const char *at, const char *what)
{
    return err_set(w->e, ERR_USAGE, "jsonpath %s: %s at \"%s\"", w->whole, what, at);
}

static int step(struct walk *w, const cJSON *node, const char *path);

// [0], [-1], [*], ['name']
static int bracket(struct walk *w, const cJSON *node, const char *path)
{
    const char *end = strchr(path, ']');
    if (path[1] == '\'' || path[1] == '"') {
        const char *quote = strchr(path + 2, path[1]);
        if (!quote || quote[1] != ']')
            return wrong(w, path, "a name without its end");
        AUTO_FREE char *name = mem_strndup(path + 2, (size_t)(quote - path - 2));
        return step(w, json_get(node, name), quote + 2);
    }
    if (!end)
        return wrong(w, path, "no ]");
    AUTO_FREE char *word = str_trim(path + 1, (size_t)(end - path - 1));
    int64_t i;
    if (str_eq(word, "*")) {
        const cJSON *item;
        cJSON_ArrayForEach(item, node)
        {
            if (step(w, item, end + 1) != 0)
                return -1;
        }
        return 0;
    }
    if (!str_to_int(word, &i))
        return wrong(w, path, "only [number], [*] and ['name'] are known");
    int n = cJSON_GetArraySize(node);
    if (i < 0)
        i += n;
    return step(w, cJSON_IsArray(node) && i >= 0 && i < n ? cJSON_GetArrayItem(node, (int)i) : NULL,
        end + 1);
}

static int step(struct walk *w, const cJSON *node, const char *path)
{
    if (*path == '.' && !path[1])
        path++;
    if (!*path) {
        if (node)
            w->fn(w->arg, node);
        return 0;
    }
    if (++w->depth > 1000)
        return wrong(w, path, "too deep");
    if (*path == '[')
        return bracket(w, node, path);
    if (*path != '.')
        return wrong(w, path, "a . or [ is expected");
    AUTO_BUF name = {0};
    for (path++; *path && *path != '.' && *path != '['; path++) {
        if (*path == '\\' && path[1])
            path++; // metadata.labels.app\.kubernetes\.io/name
        buf_char(&name, *path);
    }
    if (!name.len)
        return *path == '[' ? step(w, node, path) : wrong(w, path, "a name is expected");
    return step(w, json_get(node, buf_cstr(&name)), path);
}

int jsonpath_each(const cJSON *root, const char *path, node_fn *fn, void *arg, err *e)
{
    struct walk w = {.whole = path, .fn = fn, .arg = arg, .e = e};
    AUTO_FREE char *text = str_trim(path, strlen(path));
    size_t n = strlen(text);
    bool braces = n >= 2 && text[0] == '{' && text[n - 1] == '}';
    AUTO_FREE char *bare = mem_strndup(text + braces, n - 2 * braces);
    const char *start = *bare == '$' ? bare + 1 : bare;
    AUTO_FREE char *dotted =
        *start == '.' || *start == '[' ? mem_strdup(start) : str_fmt(".%s", start);
    return step(&w, root, dotted);
}

struct comparison {
    const char *value;
    bool found;
};

static void compare(void *arg, const cJSON *node)
{
    struct comparison *c = arg;
    AUTO_FREE char *text = cJSON_IsString(node) ? mem_strdup(node->valuestring) : json_to_str(node);
    c->found = c->found || !c->value || str_eq(text, c->value);
}

int jsonpath_is(const cJSON *root, const char *path, const char *value, err *e)
{
    struct comparison c = {.value = value};
    return jsonpath_each(root, path, compare, &c, e) == 0 ? c.found : -1;
}
