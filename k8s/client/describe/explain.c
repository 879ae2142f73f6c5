// SPDX-License-Identifier: MIT
#include "k8s/client/describe/explain.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/text/wordwrap.h"

#include <string.h>
#include <strings.h>

// Documents come from servers: what they say is bounded, whatever refers to what.
enum { DEPTH = 100, OUTPUT = 8 << 20, WIDTH = 78, ENUM_SHORT = 4, LISTED = 60 };

struct explaining {
    const cJSON *document;
    buf *out;
    bool recursive;
};

// The schemas that a walk has gone through by name, so that it does not go round in circles.
struct history {
    const char *ref;
    const struct history *before;
};

static bool has(const struct history *h, const char *ref)
{
    while (h && !str_eq(h->ref, ref))
        h = h->before;
    return h != NULL;
}

// The schema of "#/components/schemas/NAME"; NULL.
static const cJSON *resolve(const struct explaining *x, const char *ref)
{
    static const char prefix[] = "#/components/schemas/";
    return ref && str_starts(ref, prefix)
               ? json_get(json_path(x->document, "components.schemas"), ref + strlen(prefix))
               : NULL;
}

static const cJSON *resolved(const struct explaining *x, const cJSON *schema)
{
    const cJSON *named = resolve(x, json_str(schema, "$ref"));
    return named ? named : schema;
}

static const cJSON *items_of(const cJSON *schema)
{
    const cJSON *items = json_get(schema, "items");
    return items && items->child ? items : NULL;
}

static const cJSON *values_of(const cJSON *schema)
{
    const cJSON *values = json_get(schema, "additionalProperties");
    return cJSON_IsObject(values) && values->child ? values : NULL;
}

static const char *last_part(const char *name, char separator)
{
    const char *last = strrchr(name, separator);
    return last ? last + 1 : name;
}

// "string", "[]Object", "map[string]string", "PodSpec".
static void print_type(const struct explaining *x, const cJSON *schema, int depth, buf *out)
{
    const cJSON *all = json_get(schema, "allOf"), *fields = json_get(schema, "properties");
    const char *ref = json_str(schema, "$ref"), *type = json_str_or(schema, "type", "");
    if (depth > DEPTH)
        return;
    if (items_of(schema)) {
        buf_str(out, "[]");
        print_type(x, items_of(schema), depth + 1, out);
    } else if (values_of(schema)) {
        buf_str(out, "map[string]");
        print_type(x, values_of(schema), depth + 1, out);
    } else if (cJSON_GetArraySize(all) == 1 && !(fields && fields->child)) {
        print_type(x, all->child, depth + 1, out);
    } else if (ref) {
        const char *known = json_str_or(resolve(x, ref), "type", "");
        bool is_object = !*known || str_eq(known, "object");
        buf_str(out, is_object ? last_part(last_part(ref, '/'), '.') : known);
    } else {
        buf_str(out, !*type || str_eq(type, "object") ? "Object" : type);
    }
}

static void print_value(buf *out, const cJSON *value)
{
    if (cJSON_IsString(value))
        buf_str(out, *value->valuestring ? value->valuestring : "\"\"");
    else
        json_print(out, value);
}

// Of one field: each value on a line of its own. In a list of fields: the first ones.
static void print_enum(buf *out, const cJSON *schema)
{
    const cJSON *values = json_get(schema, "enum"), *value;
    if (values && values->child)
        buf_str(out, "ENUM:");
    cJSON_ArrayForEach(value, values)
    {
        buf_str(out, "\n    ");
        print_value(out, value);
    }
}

static void print_enum_short(buf *out, const cJSON *schema, int indent)
{
    const cJSON *values = json_get(schema, "enum");
    const cJSON *value = values ? values->child : NULL;
    if (value)
        buf_fmt(out, "\n%*senum: ", indent, "");
    for (int i = 0; value; i++, value = value->next) {
        if (i == ENUM_SHORT) {
            buf_str(out, ", ....");
            return;
        }
        buf_str(out, i ? ", " : "");
        print_value(out, value);
    }
}

static void print_wrapped(buf *out, const char *text, int width, int indent)
{
    AUTO_BUF lines = {0};
    wordwrap(&lines, text, (size_t)(width > 1 ? width : 1));
    buf_fmt(out, "%*s", indent, "");
    for (const char *c = buf_cstr(&lines); *c; c++) {
        buf_char(out, *c);
        if (*c == '\n')
            buf_fmt(out, "%*s", indent, "");
    }
    buf_char(out, '\n');
}

static void add_description(const struct explaining *x, const cJSON *schema, int depth, buf *out)
{
    const cJSON *s = resolved(x, schema), *one;
    const char *text = json_str_or(s, "description", "");
    if (depth > DEPTH)
        return;
    if (*text)
        buf_fmt(out, "%s\n", text);
    cJSON_ArrayForEach(one, json_get(s, "allOf"))
    {
        add_description(x, one, depth + 1, out);
    }
    if (items_of(s))
        add_description(x, items_of(s), depth + 1, out);
    if (values_of(s))
        add_description(x, values_of(s), depth + 1, out);
}

static bool is_required(const cJSON *schema, const char *name)
{
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(schema, "required"))
    {
        if (cJSON_IsString(one) && str_eq(one->valuestring, name))
            return true;
    }
    return false;
}

static void print_field(
    const struct explaining *x, const cJSON *schema, const cJSON *field, int level)
{
    int indent = 2 * level;
    buf_fmt(x->out, "%*s%s\t<", indent, "", field->string);
    print_type(x, field, 0, x->out);
    buf_str(x->out, is_required(schema, field->string) ? "> -required-" : ">");
    print_enum_short(x->out, field, indent);
    buf_char(x->out, '\n');
    if (x->recursive)
        return;
    const char *text = json_str_or(field, "description", "");
    print_wrapped(x->out, *text ? text : "<no description>", WIDTH - indent, indent + 2);
    buf_char(x->out, '\n');
}

// Calls print_field for the fields of a schema, whatever they are behind: a reference, a list's
// items, a map's values, parts.
static void print_fields(
    const struct explaining *x, const cJSON *schema, int level, const struct history *before)
{
    const char *ref = json_str(schema, "$ref");
    const cJSON *s = resolved(x, schema), *one;
    struct history here = {ref, before};
    if ((ref && has(before, ref)) || level > DEPTH || x->out->len > OUTPUT)
        return;
    AUTO_FREE const cJSON **fields = json_sorted(json_get(s, "properties"));
    for (const cJSON **f = fields; *f; f++) {
        print_field(x, s, *f, level);
        if (x->recursive)
            print_fields(x, *f, level + 1, &here);
    }
    cJSON_ArrayForEach(one, json_get(s, "allOf"))
    {
        print_fields(x, one, level, &here);
    }
    if (items_of(s))
        print_fields(x, items_of(s), level, &here);
    if (values_of(s))
        print_fields(x, values_of(s), level, &here);
}

// The schema of the field in what a schema stands for; NULL.
static const cJSON *find_field(
    const struct explaining *x, const cJSON *schema, const char *name, int depth)
{
    const cJSON *s = resolved(x, schema), *one;
    const cJSON *field = depth > DEPTH ? NULL : json_get(json_get(s, "properties"), name);
    if (field || depth > DEPTH)
        return field;
    if (items_of(s))
        return find_field(x, items_of(s), name, depth + 1);
    if (values_of(s))
        return find_field(x, values_of(s), name, depth + 1);
    cJSON_ArrayForEach(one, json_get(s, "allOf"))
    {
        field = find_field(x, one, name, depth + 1);
        if (field)
            return field;
    }
    return NULL;
}

static char **add_names(const struct explaining *x, const cJSON *schema, int depth, char **names)
{
    const cJSON *s = resolved(x, schema), *one;
    if (depth > DEPTH)
        return names;
    AUTO_FREE const cJSON **fields = json_sorted(json_get(s, "properties"));
    for (const cJSON **f = fields; *f; f++)
        names = strv_add(names, (*f)->string);
    cJSON_ArrayForEach(one, json_get(s, "allOf"))
    {
        names = add_names(x, one, depth + 1, names);
    }
    if (items_of(s))
        names = add_names(x, items_of(s), depth + 1, names);
    if (values_of(s))
        names = add_names(x, values_of(s), depth + 1, names);
    return names;
}

static int unknown_field(
    const struct explaining *x, const cJSON *schema, const char *where, const char *name, err *e)
{
    char **names = add_names(x, schema, 0, mem_array(1, sizeof *names));
    const char *near = str_nearest(name, (const char *const *)names);
    AUTO_BUF list = {0};
    for (size_t i = 0; names[i] && i < LISTED; i++)
        buf_fmt(&list, "%s%s", i ? ", " : ": it has ", names[i]);
    err_set(e, ERR_NOT_FOUND, "%s has no field \"%s\"%s%s%s%s", where, name,
        near ? "; did you mean " : "", near ? near : "", near ? "?" : "",
        list.len ? buf_cstr(&list) : ", and no fields that are described");
    strv_free(names);
    return -1;
}

static const cJSON *schema_of(const struct explaining *x, const struct resource *r)
{
    const cJSON *schema, *gvk;
    cJSON_ArrayForEach(schema, json_path(x->document, "components.schemas"))
    {
        cJSON_ArrayForEach(gvk, json_get(schema, "x-kubernetes-group-version-kind"))
        {
            if (str_eq(json_str(gvk, "kind"), r->kind) &&
                str_eq(json_str(gvk, "version"), r->version) &&
                str_eq(json_str_or(gvk, "group", ""), r->group))
                return schema;
        }
    }
    return NULL;
}

static void print_schema(const struct explaining *x, const cJSON *schema)
{
    AUTO_BUF text = {0};
    add_description(x, schema, 0, &text);
    buf_str(x->out, "DESCRIPTION:\n");
    print_wrapped(x->out, text.len ? buf_cstr(&text) : "<empty>", WIDTH - 2, 4);
    size_t before = x->out->len;
    buf_str(x->out, "FIELDS:\n");
    size_t empty = x->out->len;
    print_fields(x, schema, 1, NULL);
    if (x->out->len == empty) {
        x->out->len = before;
        x->out->data[before] = '\0';
    }
}

int explain(buf *out, const cJSON *document, const struct resource *r, char *const *path,
    bool recursive, err *e)
{
    struct explaining x = {document, out, recursive};
    const cJSON *schema = schema_of(&x, r);
    AUTO_BUF where = {0};
    if (!schema)
        return err_set(e, ERR_NOT_FOUND, "the server's OpenAPI document does not describe %s of %s",
            r->kind, r->api_version);
    buf_str(&where, r->plural);
    const char *name = NULL;
    for (; *path; path++) {
        const cJSON *field = find_field(&x, schema, *path, 0);
        if (!field)
            return unknown_field(&x, schema, buf_cstr(&where), *path, e);
        buf_fmt(&where, ".%s", *path);
        name = *path;
        schema = field;
    }
    if (*r->group)
        buf_fmt(out, "GROUP:      %s\n", r->group);
    buf_fmt(out, "KIND:       %s\nVERSION:    %s\n\n", r->kind, r->version);
    if (name) {
        buf_fmt(out, "FIELD: %s <", name);
        print_type(&x, schema, 0, out);
        buf_str(out, ">\n");
        print_enum(out, schema);
        buf_str(out, "\n\n");
    }
    print_schema(&x, schema);
    buf_char(out, '\n');
    return 0;
}

struct search {
    char **words; // "pods", "spec", "containers"
    const char *api_version;
    const struct resource *found;
    size_t used; // how many words name the kind
};

static bool has_name(const struct resource *r, const char *word)
{
    const cJSON *s;
    cJSON_ArrayForEach(s, r->short_names)
    {
        if (cJSON_IsString(s) && strcasecmp(s->valuestring, word) == 0)
            return true;
    }
    return strcasecmp(r->plural, word) == 0 || strcasecmp(r->singular, word) == 0 ||
           strcasecmp(r->kind, word) == 0;
}

// How many of the words are "NAME", "NAME.GROUP" or "NAME.VERSION.GROUP" of the kind; 0: none.
static size_t words_of(const struct resource *r, char *const *words)
{
    if (!has_name(r, words[0]))
        return 0;
    size_t at = 1, n = 0;
    bool version = words[1] && str_eq(words[1], r->version);
    if (!*r->group)
        return version ? 2 : 1;
    char **group = strv_split(r->group, '.');
    at += version;
    while (group[n] && words[at + n] && str_eq(words[at + n], group[n]))
        n++;
    bool whole = !group[n], first = n > 0;
    strv_free(group);
    return whole || first ? at + n : 1;
}

static bool look(void *arg, const struct resource *r)
{
    struct search *s = arg;
    size_t used = words_of(r, s->words);
    if (used > s->used && (!s->api_version || str_eq(s->api_version, r->api_version))) {
        s->found = r;
        s->used = used;
    }
    return true;
}

const struct resource *explain_target(client *c, const struct patience *p, const char *words,
    const char *api_version, char ***path, err *e)
{
    struct search s = {.words = strv_split(words, '.'), .api_version = api_version};
    *path = NULL;
    if (client_resources(c, p, look, &s, e) == 0 && !s.found) {
        if (api_version)
            err_set(
                e, ERR_NOT_FOUND, "the server has no kind \"%s\" in %s", s.words[0], api_version);
        else
            client_resource(c, p, s.words[0], e); // says what is near
    }
    if (s.found)
        *path = strv_dup((const char *const *)s.words + s.used);
    strv_free(s.words);
    return s.found;
}
