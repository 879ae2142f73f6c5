// SPDX-License-Identifier: MIT
#include "k8s/client/kinds/known.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/builtin.h"

#include <string.h>

size_t known_group(const char *api_version)
{
    const char *slash = strchr(api_version, '/');
    return slash ? (size_t)(slash - api_version) : 0;
}

// "" and NULL are the core's group.
static bool is_group(const char *group, const char *text, size_t n)
{
    group = group ? group : "";
    return strlen(group) == n && memcmp(group, text, n) == 0;
}

// group NULL: any.
static const struct known *find(const char *group, size_t n, const char *kind)
{
    const struct known *row;
    for (size_t i = 0; (row = known_at(i)); i++)
        if (str_eq(row->kind, kind) && (!group || is_group(row->group, group, n)))
            return row;
    return NULL;
}

const struct known *known_find(const char *group, const char *kind)
{
    return find(group, strlen(group), kind);
}

const struct known *known_of(const cJSON *object)
{
    const char *version = json_str(object, "apiVersion"), *kind = json_str(object, "kind");
    return kind ? find(version, version ? known_group(version) : 0, kind) : NULL;
}

bool known_is(const cJSON *object, const char *group, const char *kind)
{
    const char *version = json_str(object, "apiVersion");
    return str_eq(json_str(object, "kind"), kind) &&
           (!version || is_group(group, version, known_group(version)));
}

bool known_is_suspended(const cJSON *object)
{
    const struct known *row = known_of(object);
    return row && row->suspend && cJSON_IsTrue(json_path(object, row->suspend));
}

const char *known_name(const cJSON *object)
{
    const char *name = json_path_str(object, "metadata.name");
    return name ? name : "?";
}

size_t known_part(const char **at, const char **part)
{
    if (!*at)
        return 0;
    *part = *at + strspn(*at, ", ");
    size_t n = strcspn(*part, ",");
    *at = *part + n;
    while (n && (*part)[n - 1] == ' ')
        n--;
    return n;
}

bool known_has(const char *list, const char *word)
{
    const char *part;
    for (size_t n; (n = known_part(&list, &part));)
        if (strlen(word) == n && memcmp(part, word, n) == 0)
            return true;
    return false;
}

static void add_labels(buf *text, const cJSON *labels)
{
    const cJSON *l;
    cJSON_ArrayForEach(l, labels)
    {
        if (cJSON_IsString(l))
            buf_fmt(text, "%s%s=%s", text->len ? "," : "", l->string, l->valuestring);
    }
}

// {"key", "operator": "In", "values": […]} as "key in (a,b)".
static void add_expression(buf *text, const cJSON *expression)
{
    const char *key = json_str_or(expression, "key", ""),
               *operator= json_str_or(expression, "operator", "");
    const char *comma = text->len ? "," : "";
    bool in = str_eq(operator, "In");
    if (str_eq(operator, "Exists") || str_eq(operator, "DoesNotExist")) {
        buf_fmt(text, "%s%s%s", comma, str_eq(operator, "Exists") ? "" : "!", key);
        return;
    }
    buf_fmt(text, "%s%s %s (", comma, key, in ? "in" : "notin");
    const cJSON *value;
    cJSON_ArrayForEach(value, json_get(expression, "values"))
    {
        if (cJSON_IsString(value))
            buf_fmt(text, "%s%s", value->prev->next ? "," : "", value->valuestring);
    }
    buf_str(text, ")");
}

char *known_selector(const cJSON *object)
{
    AUTO_BUF text = {0};
    const cJSON *selector = json_path(object, "spec.selector"), *expression;
    const cJSON *labels = json_get(selector, "matchLabels"),
                *expressions = json_get(selector, "matchExpressions");
    add_labels(&text, labels || expressions ? labels : selector);
    cJSON_ArrayForEach(expression, expressions)
    {
        add_expression(&text, expression);
    }
    return text.len ? buf_take(&text) : NULL;
}

char *known_fill(const char *text, const cJSON *object)
{
    AUTO_BUF out = {0};
    for (const char *at = text; *at;) {
        const char *open = strchr(at, '{'), *end = open ? strchr(open, '}') : NULL;
        if (!end) {
            buf_str(&out, at);
            break;
        }
        AUTO_FREE char *path = mem_strndup(open + 1, (size_t)(end - open - 1));
        const char *value = json_path_str(object, path);
        if (!value || !*value)
            return NULL;
        buf_add(&out, at, (size_t)(open - at));
        buf_str(&out, value);
        at = end + 1;
    }
    return out.len ? buf_take(&out) : NULL;
}

// The parts as one selector, each further one narrows it; "selector" counts alone when there is
// one.
char *known_pods(const cJSON *object)
{
    const struct known *row = known_of(object);
    AUTO_BUF all = {0};
    const char *at = row ? row->pods : NULL, *part;
    for (size_t n; (n = known_part(&at, &part));) {
        AUTO_FREE char *text = mem_strndup(part, n);
        bool own = str_eq(text, "selector");
        AUTO_FREE char *filled = own ? known_selector(object) : known_fill(text, object);
        if (own && filled)
            return STEAL(filled);
        if (filled)
            buf_fmt(&all, "%s%s", all.len ? "," : "", filled);
        else if (!own)
            return NULL;
    }
    return all.len ? buf_take(&all) : known_selector(object);
}

static const char *label(const cJSON *pod, const char *name)
{
    return json_str(json_path(pod, "metadata.labels"), name);
}

const char *known_role(const cJSON *pod)
{
    const struct known *row;
    for (size_t i = 0; (row = known_at(i)); i++) {
        const char *role = row->role ? label(pod, row->role) : NULL;
        if (role)
            return role;
    }
    return NULL;
}

// Has the pod the labels of a selector "a=b,c=d"?
static bool has_labels(const cJSON *pod, const char *selector)
{
    const char *part;
    for (size_t n; (n = known_part(&selector, &part));) {
        AUTO_FREE char *one = mem_strndup(part, n);
        char *equals = strchr(one, '=');
        if (!equals)
            return false;
        *equals = '\0';
        if (!str_eq(label(pod, one), equals + 1))
            return false;
    }
    return true;
}

bool known_is_main(const cJSON *pod)
{
    const struct known *row;
    for (size_t i = 0; (row = known_at(i)); i++)
        if (row->main && has_labels(pod, row->main))
            return true;
    return false;
}
