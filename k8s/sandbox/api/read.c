// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/selector.h"
#include "k8s/sandbox/api/verbs.h"

#include <string.h>

bool selectors_read(struct request *r, struct selectors *s)
{
    const char *labels = http_query(r->x, "labelSelector");
    const char *fields = http_query(r->x, "fieldSelector");
    err e = {0};
    *s = (struct selectors){.labels = selector_parse_labels(labels, &e)};
    if (e.code == ERR_NONE)
        s->fields = selector_parse_fields(r->stored, fields, &e);
    if (e.code == ERR_NONE)
        return true;
    selectors_done(s);
    reply_failure(r, 400, NULL, "%s", e.text);
    return false;
}

bool selectors_match(const struct selectors *s, const cJSON *object)
{
    return selector_matches(s->labels, object) && selector_matches(s->fields, object);
}

void selectors_done(struct selectors *s)
{
    selector_free(s->labels);
    selector_free(s->fields);
    *s = (struct selectors){0};
}

// A continue token holds the place to go on from, and the version at which the first page was read:
// a watch from the list then misses nothing that changed between pages. It is base64 of
// "version namespace/name".
static char *token_new(int64_t version, const snapshot *last)
{
    AUTO_FREE char *text = str_fmt("%lld %s/%s", (long long)version, last->ns, last->name);
    buf b = {0};
    base64_encode(&b, text, strlen(text));
    return buf_take(&b);
}

struct page_start {
    int64_t version;
    char *ns, *name;
};

static bool token_read(const char *token, struct page_start *p)
{
    AUTO_BUF b = {0};
    if (base64_decode(&b, token, strlen(token), NULL) != 0)
        return false;
    const char *text = buf_cstr(&b), *space = strchr(text, ' ');
    const char *slash = space ? strchr(space, '/') : NULL;
    if (!slash)
        return false;
    AUTO_FREE char *version = mem_strndup(text, (size_t)(space - text));
    if (!str_to_int(version, &p->version))
        return false;
    p->ns = mem_strndup(space + 1, (size_t)(slash - space - 1));
    p->name = mem_strdup(slash + 1);
    return true;
}

static bool is_after(const snapshot *s, const struct page_start *p)
{
    int by_ns = p->ns ? strcmp(s->ns, p->ns) : 1;
    return by_ns ? by_ns > 0 : strcmp(s->name, p->name) > 0;
}

static bool read_start(struct request *r, struct page_start *p)
{
    const char *token = http_query(r->x, "continue");
    if (!token || !*token || token_read(token, p))
        return true;
    reply_failure(r, 400, NULL, "invalid continue token: continue key is not valid: %s", token);
    return false;
}

static bool refuse_future(struct request *r, int64_t wanted, int64_t now)
{
    AUTO_FREE char *text = str_fmt("Timeout: Too large resource version: %lld, current: %lld",
        (long long)wanted, (long long)now);
    cJSON *causes = NULL;
    causes_add(&causes, "ResourceVersionTooLarge", NULL, "Too large resource version");
    cJSON *status = status_failure(504, NULL, text, NULL, NULL, causes);
    json_set_int(json_object_at(status, "details"), "retryAfterSeconds", 1);
    reply_json(r, 504, status);
    return false;
}

static bool check_version(struct request *r)
{
    int64_t wanted = 0, now = store_version(r->api->store);
    const char *text = http_query(r->x, "resourceVersion");
    if (!text || !*text)
        return true;
    if (!str_to_int(text, &wanted) || wanted < 0) {
        reply_failure(r, 400, NULL,
            "invalid resource version: resourceVersion: Invalid value: \"%s\": "
            "strconv.ParseUint: parsing \"%s\": invalid syntax",
            text, text);
        return false;
    }
    if (*(http_query(r->x, "continue") ?: "")) {
        reply_failure(
            r, 400, NULL, "specifying resource version is not allowed when using continue");
        return false;
    }
    if (wanted > now)
        return refuse_future(r, wanted, now);
    if (wanted && wanted < now && str_eq(http_query(r->x, "resourceVersionMatch"), "Exact")) {
        reply_failure(r, 410, NULL, "The resourceVersion for the provided list is too old.");
        return false;
    }
    return true;
}

void verb_get(struct request *r)
{
    if (!check_version(r))
        return;
    const snapshot *s = store_get(r->api->store, r->stored, r->ns, r->name);
    if (s) {
        reply_object(r, 200, s);
        return;
    }
    AUTO_FREE char *q = kind_qualified(r->kind);
    reply_failure(r, 404, NULL, "%s \"%s\" not found", q, r->name);
}

static void list_page(struct request *r, const struct selectors *sel, const struct page_start *p)
{
    AUTO_LIST all = store_list(r->api->store, r->stored, r->ns);
    int64_t limit = 0;
    str_to_int(http_query(r->x, "limit") ?: "", &limit);
    snapshot **page = mem_array(all.n + 1, sizeof *page);
    size_t n = 0, rest = 0;
    for (size_t i = 0; i < all.n; i++) {
        if (!is_after(all.items[i], p) || !selectors_match(sel, all.items[i]->json))
            continue;
        if (limit > 0 && n == (size_t)limit)
            rest++;
        else
            page[n++] = all.items[i];
    }
    int64_t version = p->version ? p->version : all.version;
    AUTO_FREE char *next = rest ? token_new(version, page[n - 1]) : NULL;
    bool selected = sel->labels || sel->fields;
    AUTO_BUF b = {0};
    render_list(&b, &r->render, page, n,
        &(struct render_page){version, next, selected ? -1 : (int64_t)rest});
    buf_char(&b, '\n');
    reply_text(r, 200, "application/json", buf_cstr(&b), b.len);
    free(page);
}

void verb_list(struct request *r)
{
    struct selectors sel;
    struct page_start start = {0};
    if (r->render.form == FORM_METADATA) {
        r->render.form = FORM_OBJECT;
        reply_failure(r, 406, NULL,
            "you requested PartialObjectMetadata, but the requested object is a list "
            "(*core.%sList)",
            r->kind->kind);
        return;
    }
    if (read_start(r, &start) && check_version(r) && selectors_read(r, &sel)) {
        list_page(r, &sel, &start);
        selectors_done(&sel);
    }
    free(start.ns);
    free(start.name);
}
