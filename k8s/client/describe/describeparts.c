// SPDX-License-Identifier: MIT
#include "k8s/client/describe/describeparts.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>
#include <time.h>

enum { ANNOTATION = 140, DEPTH = 100 };

void describe_time(buf *out, const char *heading, const char *time)
{
    static const char *const days[] = {"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
    static const char *const months[] = {
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
    int64_t ns;
    struct tm tm;
    if (heading)
        buf_fmt(out, "%s:\t", heading);
    if (!time || clock_parse_rfc3339(time, &ns, NULL) != 0) {
        buf_str(out, "Mon, 01 Jan 0001 00:00:00 +0000"); // Go's zero
    } else {
        time_t seconds = (time_t)(ns / CLOCK_SEC);
        localtime_r(&seconds, &tm);
        long zone = tm.tm_gmtoff / 60, minutes = zone < 0 ? -zone : zone;
        buf_fmt(out, "%s, %02d %s %d %02d:%02d:%02d %c%02ld%02ld", days[tm.tm_wday], tm.tm_mday,
            months[tm.tm_mon], tm.tm_year + 1900, tm.tm_hour, tm.tm_min, tm.tm_sec,
            zone < 0 ? '-' : '+', minutes / 60, minutes % 60);
    }
    if (heading)
        buf_char(out, '\n');
}

void describe_age(buf *out, const char *time, int64_t now)
{
    int64_t at;
    if (time && clock_parse_rfc3339(time, &at, NULL) == 0)
        duration_age(out, now > at ? now - at : 0);
    else
        buf_str(out, "<unknown>");
}

void describe_labels(buf *out, const char *heading, const cJSON *labels)
{
    AUTO_FREE const cJSON **sorted = json_sorted(labels);
    buf_fmt(out, "%s:\t%s", heading, *sorted ? "" : "<none>\n");
    for (const cJSON **l = sorted; *l; l++)
        buf_fmt(out, "%s%s=%s\n", l == sorted ? "" : "\t", (*l)->string,
            cJSON_IsString(*l) ? (*l)->valuestring : "");
}

// At most n bytes, in whole characters.
static void shortened(buf *out, const char *text, size_t n, size_t most)
{
    bool cut = n > most;
    if (cut)
        for (n = most; n && ((unsigned char)text[n] & 0xc0) == 0x80;)
            n--;
    buf_add(out, text, n);
    buf_str(out, cut ? "..." : "");
}

static void annotation(buf *out, const char *key, const char *value)
{
    size_t n = strlen(value);
    n -= n && value[n - 1] == '\n';
    if (strlen(key) + n + 2 <= ANNOTATION && !memchr(value, '\n', n)) {
        buf_fmt(out, "%s: %.*s\n", key, (int)n, value);
        return;
    }
    buf_fmt(out, "%s:\n", key);
    for (const char *at = value, *end = value + n; at <= end;) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t length = (size_t)((stop ? stop : end) - at);
        buf_str(out, "\t  ");
        shortened(out, at, length, ANNOTATION - 2);
        buf_char(out, '\n');
        at += length + 1;
    }
}

void describe_annotations(buf *out, const char *heading, const cJSON *annotations)
{
    AUTO_FREE const cJSON **sorted = json_sorted(annotations);
    bool any = false;
    buf_fmt(out, "%s:\t", heading);
    for (const cJSON **a = sorted; *a; a++) {
        if (str_eq((*a)->string, "kubectl.kubernetes.io/last-applied-configuration"))
            continue;
        buf_str(out, any ? "\t" : "");
        annotation(out, (*a)->string, cJSON_IsString(*a) ? (*a)->valuestring : "");
        any = true;
    }
    buf_str(out, any ? "" : "<none>\n");
}

static void toleration(buf *out, const cJSON *t)
{
    const char *key = json_str_or(t, "key", ""), *value = json_str_or(t, "value", ""),
               *effect = json_str_or(t, "effect", "");
    buf_str(out, key);
    if (*value)
        buf_fmt(out, "=%s", value);
    if (*effect)
        buf_fmt(out, ":%s", effect);
    if (str_eq(json_str(t, "operator"), "Exists") && !*value)
        buf_str(out, *key || *effect ? " op=Exists" : "op=Exists");
    if (json_get(t, "tolerationSeconds"))
        buf_fmt(out, " for %llds", (long long)json_int_or(t, "tolerationSeconds", 0));
    buf_char(out, '\n');
}

void describe_tolerations(buf *out, const char *heading, const cJSON *tolerations)
{
    size_t n = 0;
    AUTO_FREE const cJSON **sorted =
        mem_array((size_t)cJSON_GetArraySize(tolerations) + 1, sizeof *sorted);
    const cJSON *t;
    cJSON_ArrayForEach(t, tolerations)
    {
        size_t at = n++; // those with the same key stay in order
        for (; at && strcmp(json_str_or(sorted[at - 1], "key", ""), json_str_or(t, "key", "")) > 0;
             at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = t;
    }
    buf_fmt(out, "%s:\t%s", heading, n ? "" : "<none>\n");
    for (size_t i = 0; i < n; i++) {
        buf_str(out, i ? "\t" : "");
        toleration(out, sorted[i]);
    }
}

void describe_name(buf *out, const cJSON *object)
{
    const cJSON *m = json_get(object, "metadata");
    buf_fmt(out, "Name:\t%s\nNamespace:\t%s\n", json_str_or(m, "name", ""),
        json_str_or(m, "namespace", ""));
}

long long describe_number(const cJSON *object, const char *path)
{
    int64_t value = 0;
    json_int(json_path(object, path), &value);
    return (long long)value;
}

const char *describe_name_of(const cJSON *object)
{
    const char *name = json_path_str(object, "metadata.name");
    return name ? name : "";
}

void describe_meta(buf *out, const cJSON *object)
{
    describe_labels(out, "Labels", json_path(object, "metadata.labels"));
    describe_annotations(out, "Annotations", json_path(object, "metadata.annotations"));
}

void describe_controller(buf *out, const cJSON *object)
{
    const cJSON *owner;
    cJSON_ArrayForEach(owner, json_path(object, "metadata.ownerReferences"))
    {
        if (json_bool_or(owner, "controller", false)) {
            buf_fmt(out, "Controlled By:\t%s/%s\n", json_str_or(owner, "kind", ""),
                json_str_or(owner, "name", ""));
            return;
        }
    }
}

static void requirement(buf *out, const cJSON *r)
{
    const char *key = json_str_or(r, "key", ""), *how = json_str_or(r, "operator", "");
    AUTO_JSON *values = cJSON_CreateObject();
    const cJSON *v;
    if (str_eq(how, "Exists") || str_eq(how, "DoesNotExist")) {
        buf_fmt(out, "%s%s", str_eq(how, "Exists") ? "" : "!", key);
        return;
    }
    cJSON_ArrayForEach(v, json_get(r, "values"))
    {
        if (cJSON_IsString(v))
            json_set_bool(values, v->valuestring, true);
    }
    AUTO_FREE const cJSON **sorted = json_sorted(values);
    buf_fmt(out, "%s %s (", key, str_eq(how, "In") ? "in" : "notin");
    for (const cJSON **s = sorted; *s; s++)
        buf_fmt(out, "%s%s", s == sorted ? "" : ",", (*s)->string);
    buf_char(out, ')');
}

// Labels and requirements, sorted by their keys.
void describe_selector(buf *out, const cJSON *selector)
{
    AUTO_JSON *all = cJSON_CreateObject();
    AUTO_FREE const cJSON **labels = json_sorted(json_get(selector, "matchLabels"));
    const cJSON *item;
    for (const cJSON **l = labels; *l; l++) {
        AUTO_FREE char *text =
            str_fmt("%s=%s", (*l)->string, cJSON_IsString(*l) ? (*l)->valuestring : "");
        json_set_str(all, (*l)->string, text);
    }
    cJSON_ArrayForEach(item, json_get(selector, "matchExpressions"))
    {
        AUTO_BUF text = {0};
        requirement(&text, item);
        AUTO_FREE char *key = str_fmt("%s %s", json_str_or(item, "key", ""), buf_cstr(&text));
        json_set_str(all, key, buf_cstr(&text));
    }
    AUTO_FREE const cJSON **sorted = json_sorted(all);
    if (!*sorted)
        buf_str(out, "<none>");
    for (const cJSON **s = sorted; *s; s++)
        buf_fmt(out, "%s%s", s == sorted ? "" : ",", (*s)->valuestring);
}

void describe_labels_in_line(buf *out, const char *heading, const cJSON *labels)
{
    AUTO_JSON *wrapped = cJSON_CreateObject();
    json_set(wrapped, "matchLabels", cJSON_Duplicate(labels, true));
    buf_fmt(out, "%s:\t", heading);
    describe_selector(out, wrapped);
    buf_char(out, '\n');
}

static void value_at(buf *out, const cJSON *value, int depth)
{
    if (depth > DEPTH)
        return;
    if (cJSON_IsString(value)) {
        buf_str(out, value->valuestring);
    } else if (!value || cJSON_IsNull(value)) {
        buf_str(out, "<nil>");
    } else if (cJSON_IsArray(value)) {
        const cJSON *item;
        buf_char(out, '[');
        cJSON_ArrayForEach(item, value)
        {
            buf_str(out, item == value->child ? "" : " ");
            value_at(out, item, depth + 1);
        }
        buf_char(out, ']');
    } else if (cJSON_IsObject(value)) {
        AUTO_FREE const cJSON **members = json_sorted(value);
        buf_str(out, "map[");
        for (const cJSON **m = members; *m; m++) {
            buf_fmt(out, "%s%s:", m == members ? "" : " ", (*m)->string);
            value_at(out, *m, depth + 1);
        }
        buf_char(out, ']');
    } else {
        json_print(out, value);
    }
}

void describe_value(buf *out, const cJSON *value)
{
    value_at(out, value, 0);
}

void describe_member(
    buf *out, const char *heading, const cJSON *object, const char *path, const char *none)
{
    const cJSON *value = json_path(object, path);
    if (!value && !none)
        return;
    buf_fmt(out, "%s:\t%s", heading, value ? "" : none);
    if (value)
        describe_value(out, value);
    buf_char(out, '\n');
}

// "5s (x3 over 2m)"; "2m" when it was seen once.
static void seen(buf *out, const cJSON *event, int64_t now)
{
    const char *exact = json_str(event, "eventTime"), *first = json_str(event, "firstTimestamp");
    const cJSON *series = json_get(event, "series");
    const char *last = json_str(event, "lastTimestamp");
    int64_t count = json_int_or(event, "count", 0);
    if (cJSON_IsObject(series)) {
        last = json_str(series, "lastObservedTime");
        count = json_int_or(series, "count", 0);
    }
    bool several = cJSON_IsObject(series) || count > 1;
    if (several) {
        describe_age(out, last, now);
        buf_fmt(out, " (x%lld over ", (long long)count);
    }
    describe_age(out, exact ? exact : first, now);
    buf_str(out, several ? ")" : "");
}

void describe_conditions(buf *out, const cJSON *conditions, const char *looked)
{
    static const char dashes[] = "--------------------";
    const cJSON *c;
    AUTO_FREE char *field = str_fmt("l%s", looked + 1); // "lastProbeTime"
    if (conditions && conditions->child)
        buf_fmt(out,
            "Conditions:\n"
            "  Type\tStatus\t%s\tLastTransitionTime\tReason\tMessage\n"
            "  ----\t------\t%.*s\t------------------\t------\t-------\n",
            looked, (int)strlen(looked), dashes);
    cJSON_ArrayForEach(c, conditions)
    {
        buf_fmt(out, "  %s \t%s \t", json_str_or(c, "type", ""), json_str_or(c, "status", ""));
        describe_time(out, NULL, json_str(c, field));
        buf_str(out, " \t");
        describe_time(out, NULL, json_str(c, "lastTransitionTime"));
        buf_fmt(out, " \t%s \t%s\n", json_str_or(c, "reason", ""), json_str_or(c, "message", ""));
    }
}

void describe_events(buf *out, const cJSON *events, int64_t now)
{
    const cJSON *e;
    if (!events->child) {
        buf_str(out, "Events:\t<none>\n");
        return;
    }
    buf_str(
        out, "Events:\n  Type\tReason\tAge\tFrom\tMessage\n  ----\t------\t----\t----\t-------\n");
    cJSON_ArrayForEach(e, events)
    {
        const char *from = json_path_str(e, "source.component"),
                   *message = json_str_or(e, "message", "");
        AUTO_FREE char *text = str_trim(message, strlen(message));
        buf_fmt(out, "  %s\t%s\t", json_str_or(e, "type", ""), json_str_or(e, "reason", ""));
        seen(out, e, now);
        buf_fmt(out, "\t%s\t%s\n", from && *from ? from : json_str_or(e, "reportingComponent", ""),
            text);
    }
}
