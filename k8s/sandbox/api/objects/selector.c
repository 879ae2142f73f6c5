// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/objects/selector.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/object.h"

#include <ctype.h>
#include <string.h>

enum operation { IN, NOT_IN, EXISTS, NOT_EXISTS };

// One condition. A selector is a list of them; all must hold.
struct selector {
    bool is_field;
    char *key;
    enum operation op;
    char **values;
    selector *next;
};

void selector_free(selector *s)
{
    while (s) {
        selector *next = s->next;
        free(s->key);
        strv_free(s->values);
        free(s);
        s = next;
    }
}

static selector *add(selector ***end, const char *key, size_t n, enum operation op)
{
    selector *s = mem_alloc(sizeof *s);
    s->key = str_trim(key, n);
    s->op = op;
    **end = s;
    *end = &s->next;
    return s;
}

static const char *skip_space(const char *p)
{
    while (isspace((unsigned char)*p))
        p++;
    return p;
}

static size_t word(const char *p)
{
    return strcspn(p, " \t\n,=!()<>");
}

static const char *parse_set(const char *p, selector *s)
{
    p = skip_space(p);
    if (*p++ != '(')
        return NULL;
    for (;;) {
        p = skip_space(p);
        size_t n = word(p);
        AUTO_FREE char *value = mem_strndup(p, n);
        s->values = strv_add(s->values, value);
        p = skip_space(p + n);
        if (*p == ')')
            return p + 1;
        if (*p++ != ',')
            return NULL;
    }
}

static const char *parse_value(const char *p, selector *s)
{
    p = skip_space(p);
    size_t n = word(p);
    AUTO_FREE char *value = mem_strndup(p, n);
    s->values = strv_add(NULL, value);
    return p + n;
}

// Parses what follows a key: the operator and its values; NULL when there is no operator.
static const char *parse_operator(const char *p, selector *s)
{
    p = skip_space(p);
    size_t n = word(p);
    if (n == 2 && memcmp(p, "in", 2) == 0)
        return s->op = IN, parse_set(p + 2, s);
    if (n == 5 && memcmp(p, "notin", 5) == 0)
        return s->op = NOT_IN, parse_set(p + 5, s);
    if (p[0] == '!' && p[1] == '=')
        return s->op = NOT_IN, parse_value(p + 2, s);
    if (p[0] == '=')
        return s->op = IN, parse_value(p + (p[1] == '=' ? 2 : 1), s);
    return *p == ',' || !*p ? p : NULL;
}

selector *selector_parse_labels(const char *text, err *e)
{
    selector *list = NULL, **end = &list;
    const char *p = text ? text : "";
    while (*(p = skip_space(p))) {
        bool negated = *p == '!';
        p = skip_space(p + negated);
        size_t n = word(p);
        selector *s = add(&end, p, n, negated ? NOT_EXISTS : EXISTS);
        const char *after = n ? (negated ? skip_space(p + n) : parse_operator(p + n, s)) : NULL;
        after = after ? skip_space(after) : NULL;
        if (!after || (*after && *after != ',') || (*after == ',' && !*skip_space(after + 1))) {
            err_set(e, ERR_INVALID,
                "unable to parse requirement: found '%s', expected: a label "
                "selector such as app=web,tier in (a,b),!old",
                str_short(p, 40).text);
            selector_free(list);
            return NULL;
        }
        p = *after ? after + 1 : after;
    }
    return list;
}

static const struct {
    int kind; // KIND_COUNT: any
    const char *field;
    const char *path; // the path, where it differs from the field's name
} known_fields[] = {
    {KIND_COUNT, "metadata.name", NULL},
    {KIND_COUNT, "metadata.namespace", NULL},
    {KIND_PODS, "spec.nodeName", NULL},
    {KIND_PODS, "spec.restartPolicy", NULL},
    {KIND_PODS, "spec.schedulerName", NULL},
    {KIND_PODS, "spec.serviceAccountName", NULL},
    {KIND_PODS, "spec.hostNetwork", NULL},
    {KIND_PODS, "status.phase", NULL},
    {KIND_PODS, "status.podIP", NULL},
    {KIND_PODS, "status.nominatedNodeName", NULL},
    {KIND_EVENTS, "involvedObject.kind", NULL},
    {KIND_EVENTS, "involvedObject.namespace", NULL},
    {KIND_EVENTS, "involvedObject.name", NULL},
    {KIND_EVENTS, "involvedObject.uid", NULL},
    {KIND_EVENTS, "involvedObject.apiVersion", NULL},
    {KIND_EVENTS, "involvedObject.resourceVersion", NULL},
    {KIND_EVENTS, "involvedObject.fieldPath", NULL},
    {KIND_EVENTS, "reason", NULL},
    {KIND_EVENTS, "reportingComponent", NULL},
    {KIND_EVENTS, "source", "source.component"},
    {KIND_EVENTS, "type", NULL},
    {KIND_JOBS, "status.successful", "status.succeeded"},
    {KIND_NAMESPACES, "status.phase", NULL},
    {KIND_NODES, "spec.unschedulable", NULL},
    {KIND_SECRETS, "type", NULL},
};

static const char *field_path(const struct kind *k, const char *field)
{
    for (size_t i = 0; i < ARRAY_LEN(known_fields); i++)
        if ((known_fields[i].kind == KIND_COUNT || &kind_builtin[known_fields[i].kind] == k) &&
            str_eq(known_fields[i].field, field))
            return known_fields[i].path ? known_fields[i].path : known_fields[i].field;
    return NULL;
}

// Kubernetes words the error differently for kinds that have field labels of their own.
static int refuse_field(const struct kind *k, const char *field, err *e)
{
    for (size_t i = 0; i < ARRAY_LEN(known_fields); i++)
        if (known_fields[i].kind != KIND_COUNT && &kind_builtin[known_fields[i].kind] == k)
            return err_set(e, ERR_INVALID, "field label not supported: %s", field);
    if (k->flags & KIND_IS_CUSTOM)
        return err_set(e, ERR_INVALID, "field label not supported: %s", field);
    return err_set(e, ERR_INVALID,
        "\"%s\" is not a known field selector: only \"metadata.name\", \"metadata.namespace\"",
        field);
}

static int parse_field(const struct kind *k, const char *term, selector ***end, err *e)
{
    const char *equals = strchr(term, '=');
    if (!equals || equals == term)
        return err_set(e, ERR_INVALID, "invalid selector: '%s'; can't understand '%s'", term, term);
    bool negated = equals[-1] == '!';
    AUTO_FREE char *field = str_trim(term, (size_t)(equals - term) - negated);
    const char *path = field_path(k, field);
    if (!path)
        return refuse_field(k, field, e);
    selector *s = add(end, path, strlen(path), negated ? NOT_IN : IN);
    s->is_field = true;
    s->values = strv_add(NULL, equals + (equals[1] == '=' ? 2 : 1));
    return 0;
}

selector *selector_parse_fields(const struct kind *k, const char *text, err *e)
{
    selector *list = NULL, **end = &list;
    char **terms = text && *text ? strv_split(text, ',') : NULL;
    int bad = 0;
    for (size_t i = 0; terms && terms[i] && !bad; i++)
        if (*terms[i])
            bad = parse_field(k, terms[i], &end, e);
    strv_free(terms);
    if (bad) {
        selector_free(list);
        return NULL;
    }
    return list;
}

static bool is_among(char **values, const char *value)
{
    for (size_t i = 0; values && values[i]; i++)
        if (str_eq(values[i], value))
            return true;
    return false;
}

// A missing field counts as "", and a number or a boolean as its text.
static bool field_among(const cJSON *object, const selector *s)
{
    const cJSON *value = json_path(object, s->key);
    if (!value)
        return is_among(s->values, "");
    if (cJSON_IsString(value))
        return is_among(s->values, value->valuestring);
    AUTO_FREE char *text = json_to_str(value);
    return is_among(s->values, text);
}

static bool holds(const selector *s, const cJSON *object)
{
    if (s->is_field)
        return field_among(object, s) == (s->op == IN);
    const char *value = object_label(object, s->key);
    switch (s->op) {
    case IN:
        return value && is_among(s->values, value);
    case NOT_IN:
        return !value || !is_among(s->values, value);
    case EXISTS:
        return value;
    default:
        return !value;
    }
}

bool selector_matches(const selector *s, const cJSON *object)
{
    for (; s; s = s->next)
        if (!holds(s, object))
            return false;
    return true;
}
