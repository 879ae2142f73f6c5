// SPDX-License-Identifier: MIT
// What cells read of a cluster is an input of theirs: objects and lists, with a digest of what was
// handed to the cell. What is another each time, though nobody has changed the object, is left out;
// and an object of this run is told by that alone: what is in it came from cells.
#include "base/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/manifest.h"
#include "script/bind/k8s.h"

#include <string.h>

enum { DIGITS = 16 };
static const char hidden[] = "***";

static bool is_own(const char *run, const cJSON *object)
{
    return *run && str_eq(json_str(json_path(object, "metadata.labels"), LABEL_RUN), run);
}

static bool is_kept(const char *name)
{
    static const char *const others[] = {
        "managedFields", "resourceVersion", "uid", "creationTimestamp", "generation", "selfLink"};
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        if (str_eq(name, others[i]))
            return false;
    return true;
}

static void add_members(buf *text, const cJSON *members)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, members)
    {
        bool metadata = str_eq(m->string, "metadata");
        if (!is_kept(m->string))
            continue;
        buf_fmt(text, "%s=", m->string);
        if (metadata)
            add_members(text, m);
        else
            json_print(text, m);
        buf_char(text, '\n');
    }
}

static void digest(const buf *text, char out[DIGITS + 1])
{
    char hex[SHA256_HEX];
    sha256_hex(text->data, text->len, hex);
    memcpy(out, hex, DIGITS);
    out[DIGITS] = '\0';
}

void k8s_note_read(call *c, const struct target *t, const cJSON *object, const char *state)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    const char *ns = json_path_str(object, "metadata.namespace");
    const char *name = json_path_str(object, "metadata.name"), *kind = t->resource->kind;
    AUTO_BUF text = {0};
    char hex[DIGITS + 1];
    if (!name || call_is_action(c))
        return;
    AUTO_FREE char *what =
        str_fmt("%s %s%s%s", kind, name, ns ? " in namespace " : "", ns ? ns : "");
    bool ours = is_own(run, object), secret = str_eq(kind, "Secret");
    if (!ours && !secret && !state)
        add_members(&text, object);
    digest(&text, hex);
    call_recorded(c, "object", what,
        ours ? cJSON_CreateTrue()
             : cJSON_CreateString(secret  ? hidden
                                  : state ? state
                                          : hex));
}

static void add_items(buf *text, const char *run, const cJSON *items)
{
    const cJSON *item;
    cJSON_ArrayForEach(item, items)
    {
        if (!is_own(run, item))
            add_members(text, item);
    }
}

char *k8s_note_list(call *c, const struct target *t, const cJSON *args, const cJSON *items)
{
    AUTO_FREE char *run = manifest_label_value(call_run(c));
    const char *labels = json_str(args, "selector"), *fields = json_str(args, "field_selector");
    bool all = json_bool_or(args, "all_namespaces", false);
    bool secret = str_eq(t->resource->kind, "Secret");
    AUTO_BUF name = {0}, text = {0};
    char hex[DIGITS + 1];
    buf_str(&text, json_str_or(args, "read", ""));
    if (!secret)
        add_items(&text, run, items);
    digest(&text, hex);
    buf_str(&name, t->resource->plural);
    if (t->resource->namespaced)
        buf_fmt(&name, " in %s%s", all ? "all namespaces" : "namespace ", all ? "" : t->ns);
    buf_fmt(&name, "%s%s%s%s", labels ? ", " : "", labels ? labels : "", fields ? ", " : "",
        fields ? fields : "");
    if (!call_is_action(c))
        call_recorded(c, "object", buf_cstr(&name), cJSON_CreateString(secret ? hidden : hex));
    return mem_strdup(hex);
}
