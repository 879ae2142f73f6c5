// SPDX-License-Identifier: MIT
// Checks an object against the schema of its kind, as a server with strict field validation does:
// unknown fields, wrong types, values that are not allowed, fields that are missing.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/schema/kindprivate.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct checking {
    const cJSON *picked;
    const struct kindschema_ask *ask;
};

// The way from the object to a value, for messages.
struct step {
    const struct step *up;
    const cJSON *value;
    long index; // in a list; -1: a member
};

static void print_path(const struct step *s, buf *out)
{
    if (!s->up)
        return;
    print_path(s->up, out);
    if (s->index >= 0)
        buf_fmt(out, "[%ld]", s->index);
    else
        buf_fmt(out, "%s%s", out->len ? "." : "", s->value->string);
}

static void tell(const struct checking *c, const cJSON *at, bool key, const char *fmt, ...)
    __attribute__((format(printf, 4, 5)));
static void tell(const struct checking *c, const cJSON *at, bool key, const char *fmt, ...)
{
    AUTO_BUF text = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&text, fmt, args);
    va_end(args);
    c->ask->found(c->ask->arg, at, key, buf_cstr(&text));
}

static bool is_unknown(const struct checking *c, const char *text)
{
    return text && c->ask->unknown && c->ask->unknown(text);
}

enum type { STRING = 1, INTEGER = 2, NUMBER = 4, BOOLEAN = 8, OBJECT = 16, ARRAY = 32 };
static const struct {
    enum type type;
    const char *name, *words;
} types[] = {{STRING, "string", "a string"}, {INTEGER, "integer", "an integer"},
    {NUMBER, "number", "a number"}, {BOOLEAN, "boolean", "true or false"},
    {OBJECT, "object", "a map of fields"}, {ARRAY, "array", "a list"}};

static unsigned type_by_name(const char *name)
{
    for (size_t i = 0; name && i < ARRAY_LEN(types); i++)
        if (str_eq(types[i].name, name))
            return types[i].type;
    return 0;
}

// The types that a schema allows; 0: any.
static unsigned allowed(const cJSON *s)
{
    static const char *const lists[] = {"oneOf", "anyOf"};
    unsigned own = type_by_name(json_str(s, "type")), any = 0;
    const cJSON *one;
    if (json_bool_or(s, "x-kubernetes-int-or-string", false) ||
        str_eq(json_str(s, "format"), "int-or-string"))
        return INTEGER | STRING;
    for (size_t i = 0; !own && i < ARRAY_LEN(lists); i++) {
        cJSON_ArrayForEach(one, json_get(s, lists[i]))
        {
            unsigned type = type_by_name(json_str(one, "type"));
            if (!type)
                return 0;
            any |= type;
        }
    }
    return own ? own : any;
}

static unsigned type_of(const cJSON *v)
{
    double number;
    if (cJSON_IsString(v))
        return STRING;
    if (cJSON_IsBool(v))
        return BOOLEAN;
    if (cJSON_IsObject(v))
        return OBJECT;
    if (cJSON_IsArray(v))
        return ARRAY;
    return json_number(v, &number) && floor(number) == number ? INTEGER : NUMBER;
}

static bool fits(unsigned type, unsigned may)
{
    return !may || type & may || (type == INTEGER && may & NUMBER);
}

static void add_types(buf *out, unsigned may)
{
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (may & types[i].type)
            buf_fmt(out, "%s%s", out->len ? " or " : "", types[i].words);
}

static void wrong_type(const struct checking *c, const struct step *at, unsigned type, unsigned may)
{
    AUTO_BUF path = {0}, wanted = {0}, is = {0};
    print_path(at, &path);
    add_types(&wanted, may);
    add_types(&is, type);
    bool quotes = may & STRING && type & (INTEGER | NUMBER | BOOLEAN);
    tell(c, at->value, false, "%s must be %s, and is %s%s",
        path.len ? buf_cstr(&path) : "the object", buf_cstr(&wanted), buf_cstr(&is),
        quotes ? ": put it in quotes" : "");
}

static void check_values(const struct checking *c, const struct step *at, const cJSON *values)
{
    enum { SHOWN = 12 };
    AUTO_BUF list = {0}, path = {0};
    const cJSON *one;
    const char **names = mem_array((size_t)cJSON_GetArraySize(values) + 1, sizeof *names);
    size_t n = 0;
    bool is = !values || !values->child;
    cJSON_ArrayForEach(one, values)
    {
        AUTO_FREE char *text =
            cJSON_IsString(one) ? mem_strdup(one->valuestring) : json_to_str(one);
        is = is || json_equal(one, at->value);
        if (cJSON_IsString(one))
            names[n++] = one->valuestring;
        if (n <= SHOWN)
            buf_fmt(&list, "%s%s", list.len ? ", " : "", *text ? text : "\"\"");
    }
    const char *own = cJSON_IsString(at->value) ? at->value->valuestring : NULL;
    const char *near = own && !is ? str_nearest(own, names) : NULL;
    print_path(at, &path);
    if (!is)
        tell(c, at->value, false, "%s is none of %s%s%s%s%s", buf_cstr(&path), buf_cstr(&list),
            n > SHOWN ? ", …" : "", near ? "; did you mean " : "", near ? near : "",
            near ? "?" : "");
    free(names);
}

static void check_bounds(const struct checking *c, const struct step *at, const cJSON *s)
{
    double value, least, most;
    AUTO_BUF path = {0};
    if (!json_number(at->value, &value))
        return;
    print_path(at, &path);
    if (json_number(json_get(s, "minimum"), &least) && value < least)
        tell(c, at->value, false, "%s must be at least %g", buf_cstr(&path), least);
    if (json_number(json_get(s, "maximum"), &most) && value > most)
        tell(c, at->value, false, "%s must be at most %g", buf_cstr(&path), most);
}

static void check_value(
    const struct checking *c, const struct step *at, const cJSON *schema, int depth);

static bool is_of_every_object(const struct step *at, const cJSON *s, const char *name)
{
    static const char *const names[] = {"apiVersion", "kind", "metadata", "status"};
    for (size_t i = 0; (!at->up || json_bool_or(s, "x-kubernetes-embedded-resource", false)) &&
                       i < ARRAY_LEN(names);
         i++)
        if (str_eq(name, names[i]))
            return true;
    return false;
}

static void unknown_field(
    const struct checking *c, const struct step *at, const cJSON *s, const cJSON *field)
{
    const cJSON *fields = json_get(s, "properties"), *one;
    const char **names = mem_array((size_t)cJSON_GetArraySize(fields) + 1, sizeof *names);
    size_t n = 0;
    AUTO_BUF path = {0};
    cJSON_ArrayForEach(one, fields)
    {
        names[n++] = one->string;
    }
    const char *near = str_nearest(field->string, names);
    print_path(at, &path);
    tell(c, field, true, "unknown field \"%s\"%s%s%s%s%s", field->string, path.len ? " in " : "",
        buf_cstr(&path), near ? "; did you mean \"" : "", near ? near : "", near ? "\"?" : "");
    free(names);
}

static void check_missing(const struct checking *c, const struct step *at, const cJSON *s)
{
    const cJSON *one;
    AUTO_BUF path = {0};
    print_path(at, &path);
    cJSON_ArrayForEach(one, json_get(s, "required"))
    {
        const char *name = cJSON_IsString(one) ? one->valuestring : NULL;
        if (name && !json_get(at->value, name) &&
            !cJSON_HasObjectItem(json_get(json_get(s, "properties"), name), "default"))
            tell(c, at->value, at->up && at->index < 0, "%s%s%s is missing", buf_cstr(&path),
                path.len ? "." : "", name);
    }
}

static void check_object(const struct checking *c, const struct step *at, const cJSON *s, int depth)
{
    const cJSON *field, *values = kind_values(s);
    bool partial = c->ask->partial;
    cJSON_ArrayForEach(field, at->value)
    {
        const cJSON *known = json_get(json_get(s, "properties"), field->string);
        struct step step = {at, field, -1};
        partial = partial || is_unknown(c, field->string);
        if (is_unknown(c, field->string))
            continue;
        if (known || values)
            check_value(c, &step, known ? known : values, depth + 1);
        else if (!kind_is_open(s) && !is_of_every_object(at, s, field->string))
            unknown_field(c, at, s, field);
    }
    if (!partial)
        check_missing(c, at, s);
}

static void check_value(
    const struct checking *c, const struct step *at, const cJSON *schema, int depth)
{
    const cJSON *s = kind_resolved(c->picked, schema), *item, *v = at->value;
    unsigned may = allowed(s), type = type_of(v);
    long i = 0;
    if (!s || depth > KIND_DEPTH || cJSON_IsNull(v) ||
        (cJSON_IsString(v) && is_unknown(c, v->valuestring)))
        return;
    if (!fits(type, may)) {
        wrong_type(c, at, type, may);
        return;
    }
    check_values(c, at, kindschema_values(c->picked, schema));
    check_bounds(c, at, s);
    if (type == OBJECT)
        check_object(c, at, s, depth);
    const cJSON *items = type == ARRAY && json_get(s, "items") ? v : NULL;
    cJSON_ArrayForEach(item, items)
    {
        struct step step = {at, item, i++};
        check_value(c, &step, json_get(s, "items"), depth + 1);
    }
}

void kindschema_check(const cJSON *picked, const cJSON *object, const struct kindschema_ask *ask)
{
    struct checking c = {picked, ask};
    struct step root = {NULL, object, -1};
    check_value(&c, &root, kind_root(picked), 0);
}
