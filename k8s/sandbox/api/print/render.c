// SPDX-License-Identifier: MIT
#include "k8s/sandbox/api/print/render.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/alias.h"
#include "k8s/sandbox/api/print/table.h"

static void quoted(buf *out, const char *text)
{
    AUTO_JSON *s = cJSON_CreateString(text);
    json_print(out, s);
}

// Items of a built-in kind in a list have no kind and apiVersion: the list has them.
static void print_json(buf *out, const struct render *r, const cJSON *json, bool in_list)
{
    if (!in_list || r->kind->flags & KIND_IS_CUSTOM) {
        json_print(out, json);
        return;
    }
    const cJSON *member;
    char before = '{';
    cJSON_ArrayForEach(member, json)
    {
        if (str_eq(member->string, "kind") || str_eq(member->string, "apiVersion"))
            continue;
        buf_char(out, before);
        quoted(out, member->string);
        buf_char(out, ':');
        json_print(out, member);
        before = ',';
    }
    buf_char(out, '}');
}

// The object's own text, converted if it was asked for in another version.
static void print_object(buf *out, const struct render *r, const snapshot *s, bool in_list)
{
    AUTO_FREE char *api = kind_api_version(r->kind);
    if (str_eq(api, json_str(s->json, "apiVersion"))) {
        print_json(out, r, s->json, in_list);
        return;
    }
    AUTO_JSON *converted = alias_present(r->kind, s->json);
    print_json(out, r, converted, in_list);
}

static void print_metadata(buf *out, const snapshot *s)
{
    buf_str(
        out, "{\"kind\":\"PartialObjectMetadata\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":");
    json_print(out, json_get(s->json, "metadata"));
    buf_char(out, '}');
}

static void print_row(buf *out, const struct render *r, const snapshot *s)
{
    AUTO_JSON *cells = table_cells(r->kind, s->json, r->now);
    buf_str(out, "{\"cells\":");
    json_print(out, cells);
    buf_str(out, ",\"object\":");
    if (r->include == INCLUDE_OBJECT)
        print_object(out, r, s, false);
    else if (r->include == INCLUDE_METADATA)
        print_metadata(out, s);
    else
        buf_str(out, "null");
    buf_char(out, '}');
}

static void print_item(buf *out, const struct render *r, const snapshot *s, bool in_list)
{
    if (r->form == FORM_TABLE)
        print_row(out, r, s);
    else if (r->form == FORM_METADATA || r->form == FORM_METADATA_LIST)
        print_metadata(out, s);
    else
        print_object(out, r, s, in_list);
}

static void print_columns(buf *out, const struct render *r, bool headers)
{
    AUTO_JSON *columns = headers ? table_columns(r->kind) : cJSON_CreateArray();
    buf_str(out, "\"columnDefinitions\":");
    json_print(out, columns);
}

void render_object(buf *out, const struct render *r, const snapshot *s, bool headers)
{
    if (r->form != FORM_TABLE) {
        print_item(out, r, s, false);
        return;
    }
    buf_fmt(out,
        "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",\"metadata\":{\"resourceVersion\":"
        "\"%lld\"},",
        (long long)s->version);
    print_columns(out, r, headers);
    buf_str(out, ",\"rows\":[");
    print_row(out, r, s);
    buf_str(out, "]}");
}

static void print_head(buf *out, const struct render *r)
{
    AUTO_FREE char *api = kind_api_version(r->kind);
    if (r->form == FORM_TABLE)
        buf_str(out, "{\"kind\":\"Table\",\"apiVersion\":\"meta.k8s.io/v1\",");
    else if (r->form == FORM_METADATA_LIST)
        buf_str(out, "{\"kind\":\"PartialObjectMetadataList\",\"apiVersion\":\"meta.k8s.io/v1\",");
    else
        buf_fmt(out, "{\"kind\":\"%sList\",\"apiVersion\":\"%s\",", r->kind->kind, api);
}

static void print_page(buf *out, const struct render_page *page)
{
    buf_fmt(out, "\"metadata\":{\"resourceVersion\":\"%lld\"", (long long)page->version);
    if (page->next) {
        buf_str(out, ",\"continue\":");
        quoted(out, page->next);
        if (page->remaining >= 0)
            buf_fmt(out, ",\"remainingItemCount\":%lld", (long long)page->remaining);
    }
    buf_str(out, "},");
}

void render_list(buf *out, const struct render *r, snapshot *const *items, size_t n,
    const struct render_page *page)
{
    print_head(out, r);
    print_page(out, page);
    if (r->form == FORM_TABLE) {
        print_columns(out, r, true);
        buf_str(out, ",\"rows\":[");
    } else {
        buf_str(out, "\"items\":[");
    }
    for (size_t i = 0; i < n; i++) {
        if (i)
            buf_char(out, ',');
        print_item(out, r, items[i], true);
    }
    buf_str(out, "]}");
}
