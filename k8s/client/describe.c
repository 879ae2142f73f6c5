// SPDX-License-Identifier: MIT
#include "k8s/client/describe.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describestate.h"
#include "k8s/client/events.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

// How many letters "UID", "IPs" and the "API" of "APIVersion" take.
static size_t capitals(const char *c)
{
    size_t n = 1;
    while (isupper((unsigned char)c[n]) && !islower((unsigned char)c[n + 1]))
        n++;
    bool many =
        isupper((unsigned char)c[n]) && c[n + 1] == 's' && !islower((unsigned char)c[n + 2]);
    return many ? n + 2 : n;
}

// kubectl's headings for keys: "creationTimestamp" → "Creation Timestamp", "apiURL" → "API URL".
static char *words_of(const char *key)
{
    static const char *const whole[] = {"api", "uid", "url", "ip", "dns", "id", "cpu", "gpu", "ui"};
    AUTO_BUF out = {0};
    bool machine = strpbrk(key, "./-_") != NULL; // a label or annotation, not a field's name
    for (const char *c = key; *c && !machine;) {
        size_t n = 1;
        if (isupper((unsigned char)c[0]) && isupper((unsigned char)c[1]))
            n = capitals(c);
        else
            while (c[n] && !isupper((unsigned char)c[n]))
                n++;
        bool upper = false;
        for (size_t i = 0; i < ARRAY_LEN(whole); i++)
            upper = upper || (strlen(whole[i]) == n && strncasecmp(whole[i], c, n) == 0);
        if (out.len)
            buf_char(&out, ' ');
        for (size_t i = 0; i < n; i++)
            buf_char(&out, i == 0 || upper ? (char)toupper((unsigned char)c[i]) : c[i]);
        c += n;
    }
    return machine ? mem_strdup(key) : buf_take(&out);
}

static void indent(buf *out, int level)
{
    buf_fmt(out, "%*s", level * 2, "");
}

static void scalar(buf *out, const cJSON *j)
{
    if (cJSON_IsString(j)) {
        buf_str(out, j->valuestring);
    } else if (!cJSON_IsNull(j)) {
        AUTO_FREE char *text = json_to_str(j);
        buf_str(out, text);
    }
}

static bool is_tree(const cJSON *j)
{
    return (cJSON_IsObject(j) || cJSON_IsArray(j)) && j->child;
}

static void list_items(buf *out, const cJSON *array, int level);
static void fields(buf *out, const cJSON *object, int level, const char *const *skip);

static int by_key(const void *a, const void *b)
{
    return strcmp((*(const cJSON *const *)a)->string, (*(const cJSON *const *)b)->string);
}

// The members of an object, sorted by key, without those to skip; a new array that ends with NULL.
static const cJSON **sorted(const cJSON *object, const char *const *skip)
{
    const cJSON **members = mem_array((size_t)cJSON_GetArraySize(object) + 1, sizeof(cJSON *));
    size_t n = 0;
    const cJSON *j;
    if (!cJSON_IsObject(object))
        return members; // the items of an array have no names
    cJSON_ArrayForEach(j, object)
    {
        bool skipped = false;
        for (const char *const *s = skip; s && *s; s++)
            skipped = skipped || str_eq(*s, j->string);
        if (!skipped)
            members[n++] = j;
    }
    qsort(members, n, sizeof *members, by_key);
    return members;
}

static void field(buf *out, const cJSON *j, int level, size_t widest)
{
    AUTO_FREE char *name = words_of(j->string);
    indent(out, level);
    buf_fmt(out, "%s:", name);
    if (!cJSON_IsObject(j) && !cJSON_IsArray(j)) {
        buf_fmt(out, "%*s", (int)(widest - strlen(name) + 2), "");
        scalar(out, j);
    }
    buf_char(out, '\n');
    if (cJSON_IsObject(j))
        fields(out, j, level + 1, NULL);
    else if (cJSON_IsArray(j))
        list_items(out, j, level + 1);
}

static void fields(buf *out, const cJSON *object, int level, const char *const *skip)
{
    const cJSON **members = sorted(object, skip);
    size_t widest = 0;
    for (const cJSON **m = members; *m; m++) {
        AUTO_FREE char *name = words_of((*m)->string);
        if (!is_tree(*m) && strlen(name) > widest)
            widest = strlen(name);
    }
    for (const cJSON **m = members; *m; m++)
        field(out, *m, level, widest);
    free(members);
}

static void list_items(buf *out, const cJSON *array, int level)
{
    const cJSON *j;
    cJSON_ArrayForEach(j, array)
    {
        if (is_tree(j)) {
            if (cJSON_IsObject(j))
                fields(out, j, level, NULL);
            else
                list_items(out, j, level + 1);
            if (j->next && is_tree(j->next))
                buf_char(out, '\n');
        } else {
            indent(out, level);
            scalar(out, j);
            buf_char(out, '\n');
        }
    }
}

static void heading(buf *out, const char *name, const char *value)
{
    buf_fmt(out, "%-14s%s\n", name, value && *value ? value : "<none>");
}

static void pairs(buf *out, const char *name, const cJSON *map, const char *between)
{
    if (!cJSON_IsObject(map) || !map->child) {
        heading(out, name, NULL);
        return;
    }
    const cJSON *j;
    const char *first = name;
    cJSON_ArrayForEach(j, map)
    {
        if (str_eq(j->string, "kubectl.kubernetes.io/last-applied-configuration"))
            continue;
        buf_fmt(out, "%-14s%s%s%s\n", first, j->string, between,
            cJSON_IsString(j) ? j->valuestring : "");
        first = "";
    }
}

// The data of a Secret: only the keys and the lengths of the values.
static void secret_data(buf *out, const cJSON *data)
{
    buf_str(out, "Data:\n");
    const cJSON *j;
    cJSON_ArrayForEach(j, data)
    {
        AUTO_BUF bytes = {0};
        if (cJSON_IsString(j))
            base64_decode(&bytes, j->valuestring, strlen(j->valuestring), NULL);
        buf_fmt(out, "  %s:  %zu bytes\n", j->string, bytes.len);
    }
}

struct event_widths {
    int type, reason, age, from;
};

static void event_cells(const cJSON *event, int64_t now, buf *age, const char **from)
{
    int64_t at = event_time(event), first = 0;
    const char *text = json_str(event, "firstTimestamp");
    if (at)
        duration_age(age, now > at ? now - at : 0);
    else
        buf_str(age, "<unknown>");
    int64_t count = json_int_or(event, "count", 1);
    if (count > 1 && text && clock_parse_rfc3339(text, &first, NULL) == 0) {
        buf_fmt(age, " (x%lld over ", (long long)count);
        duration_age(age, now > first ? now - first : 0);
        buf_char(age, ')');
    }
    *from = json_path_str(event, "source.component");
    if (!*from || !**from)
        *from = json_str_or(event, "reportingComponent", "");
}

static void widen(int *width, const char *text)
{
    if ((int)strlen(text) > *width)
        *width = (int)strlen(text);
}

static void event_table(buf *out, const cJSON *events, int64_t now)
{
    if (!events || !events->child) {
        buf_fmt(out, "%-14s<none>\n", "Events:");
        return;
    }
    struct event_widths w = {4, 6, 3, 4};
    const cJSON *e;
    const char *from;
    cJSON_ArrayForEach(e, events)
    {
        AUTO_BUF age = {0};
        event_cells(e, now, &age, &from);
        widen(&w.type, json_str_or(e, "type", ""));
        widen(&w.reason, json_str_or(e, "reason", ""));
        widen(&w.age, buf_cstr(&age));
        widen(&w.from, from);
    }
    buf_fmt(out, "Events:\n  %-*s  %-*s  %-*s  %-*s  Message\n  %-*s  %-*s  %-*s  %-*s  -------\n",
        w.type, "Type", w.reason, "Reason", w.age, "Age", w.from, "From", w.type, "----", w.reason,
        "------", w.age, "----", w.from, "----");
    cJSON_ArrayForEach(e, events)
    {
        AUTO_BUF age = {0};
        event_cells(e, now, &age, &from);
        AUTO_FREE char *message =
            str_trim(json_str_or(e, "message", ""), strlen(json_str_or(e, "message", "")));
        buf_fmt(out, "  %-*s  %-*s  %-*s  %-*s  %s\n", w.type, json_str_or(e, "type", ""), w.reason,
            json_str_or(e, "reason", ""), w.age, buf_cstr(&age), w.from, from, message);
    }
}

// The parts of an object that its first lines have shown are left out of the rest.
static cJSON *rest_of(const cJSON *object)
{
    static const char *const shown[] = {
        "conditions", "containerStatuses", "initContainerStatuses", "ephemeralContainerStatuses"};
    cJSON *rest = cJSON_Duplicate(object, true);
    cJSON *status = (cJSON *)json_get(rest, "status");
    for (size_t i = 0; i < ARRAY_LEN(shown) && cJSON_IsObject(status); i++)
        cJSON_DeleteItemFromObjectCaseSensitive(status, shown[i]);
    return rest;
}

// What happens to the object stands before what it is.
void describe(buf *out, const cJSON *object, const cJSON *events, int64_t now)
{
    const cJSON *m = json_get(object, "metadata");
    AUTO_JSON *rest = rest_of(object);
    heading(out, "Name:", json_str(m, "name"));
    if (json_str(m, "namespace"))
        heading(out, "Namespace:", json_str(m, "namespace"));
    heading(out, "Kind:", json_str(object, "kind"));
    describe_state(out, object, now);
    event_table(out, events, now);
    heading(out, "API Version:", json_str(object, "apiVersion"));
    pairs(out, "Labels:", json_get(m, "labels"), "=");
    pairs(out, "Annotations:", json_get(m, "annotations"), ": ");
    buf_str(out, "Metadata:\n");
    fields(out, m, 1,
        (const char *const[]){"name", "namespace", "labels", "annotations", "managedFields", NULL});
    bool secret = str_eq(json_str(object, "kind"), "Secret");
    if (secret)
        secret_data(out, json_get(object, "data"));
    fields(out, rest, 0,
        (const char *const[]){"apiVersion", "kind", "metadata", secret ? "data" : "metadata",
            secret ? "stringData" : "metadata", NULL});
}
