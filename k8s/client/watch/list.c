// SPDX-License-Identifier: MIT
// Lists, page by page. What is only shown is read row by row, without the objects.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/private.h"
#include "k8s/client/watch/listing.h"

#include <string.h>

// A page of rows without objects is small, so there are few of them: each costs the server a
// request.
enum { PAGE = 500, PAGE_CELLS = 2500, EMPTY_PAGES = 3, PAGES_MOST = 20000 };
// For all pages of a list that are kept whole; for one entry of a list that is read row by row.
static const size_t list_limit = (size_t)256 << 20, entry_limit = (size_t)16 << 20;

const char request_table_type[] = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json";

// A list while it is read.
struct reading {
    const struct list_query *query;
    size_t room;     // bytes that all pages may still have, when they are kept whole
    size_t n;        // entries so far, of finished pages
    bool namespaces; // of objects of all namespaces
    // Row by row:
    listing *listing;
    cJSON *entries; // of this page
    size_t seen;    // entries of this page; those beyond `most` are only counted
};

static char *list_path(
    const struct resource *r, const char *ns, const struct reading *l, const char *next)
{
    const struct list_query *q = l->query;
    AUTO_FREE char *path = resource_path(r, ns, NULL, NULL);
    AUTO_BUF full = {0};
    buf_fmt(&full, "%s?limit=%d", path, q->limit ? q->limit : q->cells ? PAGE_CELLS : PAGE);
    request_query(&full, "labelSelector", q->labels);
    request_query(&full, "fieldSelector", q->fields);
    request_query(&full, "continue", next);
    if (q->table || q->cells)
        request_query(&full, "includeObject",
            q->objects                   ? "Object"
            : q->cells && !l->namespaces ? "None"
                                         : "Metadata");
    return buf_take(&full);
}

// The entries of a page, or of all pages so far: at the end of `to`'s they are spliced, so that
// many pages stay linear.
static void splice(cJSON *to, cJSON *from)
{
    if (!cJSON_IsArray(from) || !cJSON_IsArray(to) || !from->child)
        return;
    cJSON *first = from->child;
    from->child = NULL;
    if (to->child) {
        cJSON *last = to->child->prev, *new_last = first->prev;
        last->next = first;
        first->prev = last;
        to->child->prev = new_last;
    } else {
        to->child = first;
    }
}

// Appends a page's items (or rows) to those we have; the page's metadata wins.
static void join_page(cJSON **all, cJSON *page)
{
    static const char *const parts[] = {"items", "rows"};
    if (!*all) {
        *all = page;
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        splice((cJSON *)json_get(*all, parts[i]), (cJSON *)json_get(page, parts[i]));
    json_set(*all, "metadata", cJSON_DetachItemFromObjectCaseSensitive(page, "metadata"));
    cJSON_Delete(page);
}

static cJSON *namespace_of(const cJSON *row)
{
    const char *ns = json_path_str(row, "object.metadata.namespace");
    return cJSON_CreateString(ns ? ns : "");
}

static int on_entry(void *arg, cJSON *entry)
{
    struct reading *l = arg;
    cJSON *cells = cJSON_DetachItemFromObjectCaseSensitive(entry, "cells");
    bool wanted = !l->query->most || l->n + l->seen < l->query->most;
    l->seen++;
    if (cells && l->namespaces)
        cJSON_InsertItemInArray(cells, 0, namespace_of(entry));
    if (cells) {
        cJSON_Delete(entry);
        entry = cells;
    }
    if (wanted)
        cJSON_AddItemToArray(l->entries, entry);
    else
        cJSON_Delete(entry);
    return 0;
}

static int take_bytes(void *arg, const char *bytes, size_t n, err *e)
{
    struct reading *l = arg;
    if (bytes)
        return listing_feed(l->listing, bytes, n, e);
    listing_restart(l->listing);
    cJSON_Delete(l->entries);
    l->entries = cJSON_CreateArray();
    l->seen = 0;
    return 0;
}

static cJSON *page_of_rows(
    client *c, const struct patience *p, struct request *r, struct reading *l, err *e)
{
    struct http_response response;
    r->sink = take_bytes;
    r->sink_arg = l;
    if (request_do(c, p, r, &response, e) != 0)
        return NULL;
    http_response_done(&response);
    cJSON *page = listing_end(l->listing, e);
    const char *part = json_get(page, "rows") ? "rows" : "items";
    if (page)
        json_set(page, part, STEAL(l->entries));
    return page;
}

// A page as it is. Its size counts against the limit that all pages share.
static cJSON *whole_page(
    client *c, const struct patience *p, struct request *r, struct reading *l, err *e)
{
    ERR_GUARD(e);
    struct http_response response;
    r->limit = l->room;
    if (request_do(c, p, r, &response, e) != 0) {
        if (e->code == ERR_LIMIT)
            err_set(e, ERR_LIMIT,
                "%s: it is larger than %zu bytes: a namespace or a selector makes it smaller, and "
                "k8s.each reads it page by page",
                r->what, list_limit);
        return NULL;
    }
    cJSON *page = json_parse(buf_cstr(&response.body), response.body.len, e);
    l->room = response.body.len < l->room ? l->room - response.body.len : 1;
    http_response_done(&response);
    l->seen = (size_t)cJSON_GetArraySize(json_get(page, json_get(page, "rows") ? "rows" : "items"));
    return page;
}

static cJSON *request_page(client *c, const struct patience *p, const struct resource *r,
    const char *ns, struct reading *l, const char *next, err *e)
{
    ERR_GUARD(e);
    const struct list_query *q = l->query;
    AUTO_FREE char *path = list_path(r, ns, l, next);
    AUTO_FREE char *what = client_sentence("list", r, ns, NULL);
    struct request request = {.path = path,
        .accept = q->table || q->cells ? request_table_type : NULL,
        .repeatable = true,
        .what = what};
    cJSON *page = q->cells ? page_of_rows(c, p, &request, l, e) : whole_page(c, p, &request, l, e);
    if (!page && e->code == ERR_INVALID)
        err_wrap(e, "%s: the server's answer is no JSON", what);
    return page;
}

// Only the number of the rest is wanted, and the server says it (but not with selectors).
static bool is_enough(const struct reading *l, const cJSON *page)
{
    int64_t rest = json_int_or(json_get(page, "metadata"), "remainingItemCount", 0);
    return l->query->most && l->n >= l->query->most && rest > 0;
}

static cJSON *finish(struct reading *l, cJSON *all)
{
    cJSON *metadata = json_object_at(all, "metadata");
    size_t most = l->query->most;
    int64_t rest = json_int_or(metadata, "remainingItemCount", 0);
    if (most && l->n > most)
        json_set_int(metadata, "remainingItemCount", rest + (int64_t)(l->n - most));
    return all;
}

static cJSON *read_pages(client *c, const struct patience *p, const struct resource *r,
    const char *ns, struct reading *l, err *e)
{
    AUTO_JSON *all = NULL;
    AUTO_FREE char *next = NULL;
    for (int restarts = 0, pages = 0, empty = 0;;) {
        err why = {0};
        cJSON *page = request_page(c, p, r, ns, l, next, &why);
        if (!page && why.code == ERR_GONE && next && restarts++ < 3) {
            cJSON_Delete(STEAL(all)); // the server has forgotten the list's version: start again
            free(STEAL(next));
            l->n = 0;
            l->room = list_limit; // what was dropped takes none
            continue;
        }
        if (!page) {
            err_set(e, why.code, "%s", why.text);
            return NULL;
        }
        const char *more = json_path_str(page, "metadata.continue");
        l->n += l->seen;
        bool ends = !more || !*more || is_enough(l, page), repeats = str_eq(more, next);
        empty = l->seen ? 0 : empty + 1;
        free(next);
        next = mem_strdup(more);
        join_page(&all, page);
        if (ends)
            return finish(l, STEAL(all));
        if (repeats || empty >= EMPTY_PAGES || pages++ > PAGES_MOST) {
            AUTO_FREE char *what = client_sentence("list", r, ns, NULL);
            err_set(e, ERR_UNAVAILABLE,
                "%s: the server goes on with its list for ever: its pages bring nothing new (%s)",
                what, c->who);
            return NULL;
        }
    }
}

cJSON *client_list(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const struct list_query *query, err *e)
{
    static const struct list_query all_of_them = {0};
    struct reading l = {.query = query ? query : &all_of_them,
        .room = list_limit,
        .namespaces = r->namespaced && !ns};
    if (l.query->cells)
        l.listing = listing_new(LISTING_SHOWN, entry_limit, on_entry, &l);
    cJSON *list = read_pages(c, p, r, ns, &l, e);
    listing_free(l.listing);
    cJSON_Delete(l.entries);
    return list;
}

cJSON *client_page(client *c, const struct patience *p, const struct resource *r, const char *ns,
    const struct list_query *query, const char *next, err *e)
{
    struct reading l = {.query = query, .room = list_limit};
    return request_page(c, p, r, ns, &l, next, e);
}
