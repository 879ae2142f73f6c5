// SPDX-License-Identifier: MIT
#include "k8s/client/text/jsonpath.h"

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

// The first character from p on that is one of `ends` and stands outside of quotes and brackets.
static const char *end_of(const char *p, const char *ends)
{
    int open = 0;
    char quote = '\0';
    for (; *p; p++) {
        if (quote)
            quote = *p == quote ? '\0' : quote;
        else if (!open && strchr(ends, *p))
            return p;
        else if (*p == '\'' || *p == '"')
            quote = *p;
        else
            open += *p == '[' || *p == '(' ? 1 : *p == ']' || *p == ')' ? -1 : 0;
    }
    return NULL;
}

// The text between a word's quotes, new; NULL: the word has no quotes.
static char *unquoted(const char *word)
{
    size_t n = strlen(word);
    bool quoted = n >= 2 && (*word == '\'' || *word == '"') && word[n - 1] == *word;
    return quoted ? mem_strndup(word + 1, n - 2) : NULL;
}

static int each(struct walk *w, const cJSON *node, const char *rest)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, node)
    {
        if (step(w, item, rest) != 0)
            return -1;
    }
    return 0;
}

// from:to:every, of which each may be missing.
static int slice(struct walk *w, const cJSON *node, const char *word, const char *rest)
{
    char **parts = strv_split(word, ':');
    int64_t n = cJSON_GetArraySize(node), bounds[3] = {0, n, 1};
    bool good = strv_len(parts) <= 3;
    for (size_t i = 0; good && parts[i]; i++)
        good = !*parts[i] || str_to_int(parts[i], &bounds[i]);
    strv_free(parts);
    if (!good || bounds[2] < 1)
        return wrong(w, word, "[from:to:every] takes numbers");
    int64_t from = bounds[0] < 0 ? bounds[0] + n : bounds[0],
            to = bounds[1] < 0 ? bounds[1] + n : bounds[1];
    for (int64_t i = from < 0 ? 0 : from; cJSON_IsArray(node) && i < to && i < n; i += bounds[2])
        if (step(w, cJSON_GetArrayItem(node, (int)i), rest) != 0)
            return -1;
    return 0;
}

// One of [0,-1,'name',*,1:3].
static int element(struct walk *w, const cJSON *node, const char *word, const char *rest)
{
    AUTO_FREE char *name = unquoted(word);
    int64_t i;
    if (name)
        return step(w, json_get(node, name), rest);
    if (str_eq(word, "*"))
        return each(w, node, rest);
    if (strchr(word, ':'))
        return slice(w, node, word, rest);
    if (!str_to_int(word, &i))
        return wrong(w, word, "only [number], [from:to], [*], ['name'] and [?(@.x==y)] are known");
    int n = cJSON_GetArraySize(node);
    if (i < 0)
        i += n;
    return step(
        w, cJSON_IsArray(node) && i >= 0 && i < n ? cJSON_GetArrayItem(node, (int)i) : NULL, rest);
}

// What stands on one side of a comparison: a value of the item's, or one that is written there.
struct side {
    const cJSON *value;
    cJSON *own;
};

static void take_side(void *arg, const cJSON *node)
{
    struct side *s = arg;
    s->value = node;
}

static int read_side(const struct walk *w, const cJSON *item, const char *text, struct side *side)
{
    *side = (struct side){0};
    if (*text == '@') {
        struct walk inner = {w->whole, take_side, side, w->e, w->depth + 1};
        return step(&inner, item, text + 1);
    }
    AUTO_FREE char *quoted = unquoted(text);
    side->own = quoted ? cJSON_CreateString(quoted) : json_parse(text, strlen(text), NULL);
    side->value = side->own;
    return side->own ? 0 : wrong(w, text, "a value, or @.path, is expected");
}

// <0, 0, >0; false: they cannot be compared.
static bool compare_sides(const cJSON *a, const cJSON *b, int *order)
{
    double x, y;
    if (json_number(a, &x) && json_number(b, &y))
        *order = (x > y) - (x < y);
    else if (cJSON_IsString(a) && cJSON_IsString(b))
        *order = strcmp(a->valuestring, b->valuestring);
    else if (cJSON_IsBool(a) && cJSON_IsBool(b))
        *order = cJSON_IsTrue(a) - cJSON_IsTrue(b);
    else
        return false;
    return true;
}

static const struct {
    const char *text;
    bool less, equal, more;
} operators[] = {{"==", false, true, false}, {"!=", true, false, true}, {"<=", true, true, false},
    {">=", false, true, true}, {"<", true, false, false}, {">", false, false, true}};

// Where the comparison's operator is; NULL: there is none, so what is asked is whether it is there.
static const char *operator_in(const char *test, size_t *which)
{
    const char *at = end_of(test, "=!<>");
    for (*which = 0; at && *which < ARRAY_LEN(operators); ++*which)
        if (str_starts(at, operators[*which].text))
            return at;
    return NULL;
}

// 1, 0, or -1.
static int passes(const struct walk *w, const cJSON *item, const char *test)
{
    size_t which;
    const char *at = operator_in(test, &which);
    AUTO_FREE char *left = str_trim(test, at ? (size_t)(at - test) : strlen(test));
    const char *behind = at ? at + strlen(operators[which].text) : "";
    AUTO_FREE char *right = str_trim(behind, strlen(behind));
    struct side a, b = {0};
    int order = 0, status = read_side(w, item, left, &a);
    if (status == 0 && at)
        status = read_side(w, item, right, &b);
    bool good = a.value && (!at || (b.value && compare_sides(a.value, b.value, &order)));
    if (good && at)
        good = order < 0   ? operators[which].less
               : order > 0 ? operators[which].more
                           : operators[which].equal;
    cJSON_Delete(a.own);
    cJSON_Delete(b.own);
    return status == 0 ? good : -1;
}

static int filter(struct walk *w, const cJSON *node, const char *test, const char *rest)
{
    const cJSON *item;
    if (!cJSON_IsArray(node))
        return passes(w, node, test) < 0 ? -1 : 0; // for its errors
    cJSON_ArrayForEach(item, node)
    {
        int good = passes(w, item, test);
        if (good < 0 || (good && step(w, item, rest) != 0))
            return -1;
    }
    return 0;
}

static int bracket(struct walk *w, const cJSON *node, const char *path)
{
    const char *end = end_of(path + 1, "]"), *comma;
    if (!end)
        return wrong(w, path, "no ]");
    AUTO_FREE char *inside = str_trim(path + 1, (size_t)(end - path - 1));
    size_t n = strlen(inside);
    if (n > 3 && str_starts(inside, "?(") && inside[n - 1] == ')') {
        AUTO_FREE char *test = mem_strndup(inside + 2, n - 3);
        return filter(w, node, test, end + 1);
    }
    for (const char *word = inside;; word = comma + 1) {
        comma = end_of(word, ",");
        AUTO_FREE char *one = str_trim(word, comma ? (size_t)(comma - word) : strlen(word));
        if (element(w, node, one, end + 1) != 0)
            return -1;
        if (!comma)
            return 0;
    }
}

// What is behind "..": here, and in all that is below.
static int descend(struct walk *w, const cJSON *node, const char *path)
{
    const cJSON *item;
    int depth = w->depth;
    if (step(w, node, path) != 0)
        return -1;
    cJSON_ArrayForEach(item, node)
    {
        w->depth = depth + 1;
        if ((cJSON_IsObject(item) || cJSON_IsArray(item)) && descend(w, item, path) != 0)
            return -1;
    }
    return 0;
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
    if (path[1] == '.')
        return descend(w, node, path[2] == '[' ? path + 2 : path + 1);
    if (path[1] == '*' && (!path[2] || strchr(".[", path[2])))
        return each(w, node, path + 2);
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

const char *jsonpath_end(const char *text)
{
    const char *end = end_of(text, "=");
    return end ? end : text + strlen(text);
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
