// SPDX-License-Identifier: MIT
#include "k8s/client/watch.h"

#include "base/clock.h"
#include "base/digest.h"
#include "base/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/frames.h"
#include "k8s/client/listing.h"
#include "k8s/client/request.h"
#include "k8s/client/status.h"
#include "k8s/client/watch_table.h"

#include <search.h>
#include <string.h>

enum {
    WATCH_S = 300,
    PAGE = 500,
    STEADY_MS = 2000,      // a watch that has lasted this long counts as well begun
    REFILL_MS = 10 * 1000, // after this time a list is read again, when rows have become free
    WORD_MAX = 253,        // for names and uids: Kubernetes' own limit
    TURNS = 4,             // a server may lead nowhere this many times before it is reported
    EMPTY_PAGES = 3,       // this many pages of a list in a row may bring nothing new
};
// The longest frame and the longest page that are read. Kubernetes accepts no object of more than 3
// MiB; large objects come in smaller pages.
static const size_t frame_limit = (size_t)8 << 20, page_limit = (size_t)16 << 20;

// What we keep of an object: enough to notice a change, and to report its end.
struct known {
    char *version;
    const char *uid, *name, *ns; // in `words`
    unsigned round;
    char words[];
};

struct watch {
    client *client;
    struct resource resource;
    char *ns, *labels, *fields, *what;
    const struct watch_ops *ops;
    void *arg;

    char *version;    // the version to watch from; NULL: list first
    char *next_page;  // of the current list
    unsigned round;   // number of the current list: objects not seen in it are gone
    int page;         // objects per page
    listing *listing; // reads it
    size_t bytes;     // of it, so far
    int fresh;        // of its objects: new in this list
    bool headed;      // its columns are known
    int empty;        // of the current list: how many of its last pages brought nothing new
    void *tree;       // of struct known, by uid (tsearch)
    void *names;      // the same, by namespace and name
    size_t count, most;
    hashmap *others, *listed; // hashes of uids beyond `most`; `listed`: those in the current list
    size_t told_more;
    struct watch_table table;
    const cJSON *cells; // of the object that is being told of
    operation *operation;
    loop_timer *timer;  // waits for the next try; during a watch: for it to be steady
    loop_timer *refill; // waits for the next list, when rows have become free
    unsigned attempt;   // failures in a row
    unsigned turns;     // answers in a row that led nowhere
    bool is_away;
    int64_t heard, started;
    struct frames frames;
    err error;         // the error from a frame
    bool busy, closed; // busy: in a callback; closed: by a callback
};

static void begin(watch *w);

static int by_uid(const void *a, const void *b)
{
    return strcmp(((const struct known *)a)->uid, ((const struct known *)b)->uid);
}

static int by_name(const void *a, const void *b)
{
    const struct known *x = a, *y = b;
    int order = strcmp(x->ns, y->ns);
    return order ? order : strcmp(x->name, y->name);
}

static void known_free(void *p)
{
    struct known *k = p;
    free(k->version);
    free(k);
}

static void leave(void *known)
{
}

static void watch_free(watch *w)
{
    tdestroy(w->names, leave);
    tdestroy(w->tree, known_free);
    hashmap_free(w->others);
    hashmap_free(w->listed);
    frames_done(&w->frames);
    listing_free(w->listing);
    watch_table_done(&w->table);
    free(w->ns);
    free(w->labels);
    free(w->fields);
    free(w->what);
    free(w->version);
    free(w->next_page);
    free(w);
}

void watch_close(watch *w)
{
    if (!w || w->closed)
        return;
    operation_cancel(STEAL(w->operation));
    loop_timer_free(STEAL(w->timer));
    loop_timer_free(STEAL(w->refill));
    w->closed = true;
    if (!w->busy)
        watch_free(w);
}

// Calls the owner. -1: the owner closed the watch, which must not be used any more.
static int tell(watch *w, enum watch_change change, const cJSON *object)
{
    w->ops->event(w->arg, change, object);
    return w->closed ? -1 : 0;
}

static int tell_away(watch *w, const err *reason)
{
    w->is_away = reason->code != ERR_NONE;
    if (w->ops->away)
        w->ops->away(w->arg, reason);
    return w->closed ? -1 : 0;
}

// Marks the server as heard; but after answers that led nowhere, the next one does not yet mean
// that it is back.
static int heard(watch *w)
{
    static const err none = {0};
    w->heard = clock_mono();
    return w->is_away && w->turns < TURNS ? tell_away(w, &none) : 0;
}

static int steady(watch *w)
{
    w->turns = w->attempt = 0;
    return heard(w);
}

static struct known *find(watch *w, const char *uid)
{
    struct known key = {.uid = (char *)uid};
    struct known **at = tfind(&key, &w->tree, by_uid);
    return at ? *at : NULL;
}

// The object that has this one's name; its uid may be another one.
static struct known *find_name(watch *w, const cJSON *object)
{
    const cJSON *m = json_get(object, "metadata");
    struct known key = {.name = json_str_or(m, "name", ""), .ns = json_str_or(m, "namespace", "")};
    struct known **at = tfind(&key, &w->names, by_name);
    return at ? *at : NULL;
}

// An object that is gone: kind and metadata.
static cJSON *stub_of(const watch *w, const struct known *k)
{
    cJSON *stub = cJSON_CreateObject(), *metadata = json_object_at(stub, "metadata");
    json_set_str(stub, "apiVersion", w->resource.api_version);
    json_set_str(stub, "kind", w->resource.kind);
    json_set_str(metadata, "name", k->name);
    json_set_str(metadata, "namespace", *k->ns ? k->ns : NULL);
    json_set_str(metadata, "uid", k->uid);
    json_set_str(metadata, "resourceVersion", k->version);
    return stub;
}

static struct known *known_new(const char *uid, const cJSON *metadata)
{
    const char *name = json_str_or(metadata, "name", ""),
               *ns = json_str_or(metadata, "namespace", "");
    size_t uid_n = strlen(uid) + 1, name_n = strlen(name) + 1, ns_n = strlen(ns) + 1;
    struct known *k = mem_alloc(sizeof *k + uid_n + name_n + ns_n);
    k->uid = memcpy(k->words, uid, uid_n);
    k->name = memcpy(k->words + uid_n, name, name_n);
    k->ns = memcpy(k->words + uid_n + name_n, ns, ns_n);
    return k;
}

static void remember(watch *w, struct known *k, const char *uid, const cJSON *object)
{
    const cJSON *metadata = json_get(object, "metadata");
    bool is_new = !k;
    if (is_new)
        k = known_new(uid, metadata);
    free(k->version);
    k->version = mem_strdup(json_str(metadata, "resourceVersion"));
    k->round = w->round;
    if (!is_new)
        return;
    tsearch(k, &w->tree, by_uid);
    tsearch(k, &w->names, by_name);
    w->count++;
}

static void forget(watch *w, struct known *k)
{
    tdelete(k, &w->names, by_name);
    tdelete(k, &w->tree, by_uid);
    known_free(k);
    w->count--;
}

static int tell_more(watch *w)
{
    size_t n = hashmap_count(w->others);
    if (n == w->told_more || !w->ops->more)
        return 0;
    w->told_more = n;
    w->ops->more(w->arg, n);
    return w->closed ? -1 : 0;
}

// Of objects beyond `most` we keep only a hash of the uid.
static uint64_t hash_of(const char *uid)
{
    uint64_t h = UINT64_C(14695981039346656037); // FNV-1a
    for (; *uid; uid++)
        h = (h ^ (unsigned char)*uid) * UINT64_C(1099511628211);
    return h;
}

static int count_other(watch *w, const char *uid)
{
    uint64_t hash = hash_of(uid);
    if (hashmap_count(w->others) < WATCH_COUNTED)
        hashmap_set(w->others, &hash, sizeof hash, 0);
    if (w->listed && hashmap_count(w->listed) < WATCH_COUNTED)
        hashmap_set(w->listed, &hash, sizeof hash, 0);
    return tell_more(w);
}

static int uncount_other(watch *w, const char *uid)
{
    uint64_t hash = hash_of(uid);
    hashmap_remove(w->others, &hash, sizeof hash);
    return tell_more(w);
}

static bool is_object(const cJSON *object)
{
    static const char *const words[] = {"uid", "name", "namespace", "resourceVersion"};
    const cJSON *m = json_get(object, "metadata");
    for (size_t i = 0; i < ARRAY_LEN(words); i++)
        if (strlen(json_str_or(m, words[i], "")) > WORD_MAX)
            return false;
    return json_str(m, "uid") != NULL;
}

static int tell_gone(watch *w, struct known *k)
{
    AUTO_JSON *stub = stub_of(w, k);
    forget(w, k);
    return tell(w, WATCH_DELETED, stub);
}

// Handles an object that exists, from a list or a frame.
static int present(watch *w, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    const char *version = json_path_str(object, "metadata.resourceVersion");
    if (!is_object(object))
        return 0;
    struct known *k = find(w, uid), *before = k ? NULL : find_name(w, object);
    // Made again while nobody watched: who knows objects by their names hears of the end first.
    if (before && tell_gone(w, before) != 0)
        return -1;
    if (!k && w->count >= w->most)
        return count_other(w, uid);
    if (!k && uncount_other(w, uid) != 0)
        return -1;
    bool changed = !k || !str_eq(k->version, version);
    enum watch_change change = k ? WATCH_MODIFIED : WATCH_ADDED;
    if (k)
        k->round = w->round;
    if (!changed)
        return 0;
    remember(w, k, uid, object);
    return tell(w, change, object);
}

static int absent(watch *w, const cJSON *object)
{
    const char *uid = json_path_str(object, "metadata.uid");
    struct known *k = uid ? find(w, uid) : NULL;
    if (!uid)
        return 0;
    if (!k)
        return uncount_other(w, uid);
    forget(w, k);
    if (hashmap_count(w->others) > 0 && w->count == w->most - w->most / 4 - 1)
        loop_timer_start(w->refill, REFILL_MS, 0);
    return tell(w, WATCH_DELETED, object);
}

static void forget_version(const void *node, VISIT visit, void *arg)
{
    struct known *k = *(struct known *const *)node;
    if (visit == postorder || visit == leaf)
        free(STEAL(k->version));
}

// Tells a list's columns if they are others than before: then what is known of objects is no more
// what has been shown of them.
static int take_columns(watch *w, const cJSON *list)
{
    if (!watch_table_take(&w->table, list))
        return 0;
    twalk_r(w->tree, forget_version, NULL);
    if (w->ops->columns)
        w->ops->columns(w->arg, w->table.columns);
    return w->closed ? -1 : 0;
}

// Lists leave out of their items what they are.
static void name_kind(const watch *w, cJSON *item)
{
    if (item && !json_str(item, "kind"))
        json_set_str(item, "kind", w->resource.kind);
    if (item && !json_str(item, "apiVersion"))
        json_set_str(item, "apiVersion", w->resource.api_version);
}

struct outdated {
    unsigned round;
    struct known **all;
    size_t n;
};

static void look_outdated(const void *node, VISIT visit, void *arg)
{
    struct outdated *o = arg;
    struct known *k = *(struct known *const *)node;
    if ((visit == postorder || visit == leaf) && k->round != o->round)
        o->all[o->n++] = k;
}

// Drops objects that the list that has just ended did not contain.
static int drop_outdated(watch *w)
{
    AUTO_FREE struct known **all = mem_array(w->count + 1, sizeof *all);
    struct outdated o = {.round = w->round, .all = all};
    twalk_r(w->tree, look_outdated, &o);
    for (size_t i = 0; i < o.n; i++) {
        if (tell_gone(w, all[i]) != 0)
            return -1;
    }
    hashmap_free(w->others);
    w->others = STEAL(w->listed);
    if (hashmap_count(w->others) > 0 && w->count < w->most - w->most / 4)
        loop_timer_start(w->refill, REFILL_MS, 0);
    return tell_more(w);
}

static void set_version(watch *w, const char *version)
{
    free(w->version);
    w->version = mem_strdup(version);
}

static void again(watch *w, int64_t ns)
{
    loop_timer_start(w->timer, (uint64_t)(ns / CLOCK_MS), 0);
}

static void settle(watch *w)
{
    w->busy = false;
    if (w->closed)
        watch_free(w);
}

static void on_timer(void *arg)
{
    watch *w = arg;
    if (!w->operation) {
        begin(w);
        return;
    }
    w->busy = true;
    steady(w);
    settle(w);
}

// Rows have become free since objects were left out: a new list shows these.
static void on_refill(void *arg)
{
    watch *w = arg;
    if (w->count >= w->most || hashmap_count(w->others) == 0 || !w->version)
        return;
    operation_cancel(STEAL(w->operation));
    set_version(w, NULL);
    begin(w);
}

static int failed(watch *w, const err *reason)
{
    if (tell_away(w, reason) != 0)
        return -1;
    again(w, back_off(w->attempt++));
    return 0;
}

// The server has answered, but we have got no further. Once does not matter; then the pauses grow,
// and after some time it counts as away.
static int led_nowhere(watch *w, const char *how)
{
    err why = {0};
    w->turns++;
    err_set(&why, ERR_UNAVAILABLE, "%s: the server %s (%s)", w->what, how, client_who(w->client));
    if (w->turns >= TURNS && tell_away(w, &why) != 0)
        return -1;
    again(w, back_off(w->turns));
    return 0;
}

// The version is too old: a new list shows what we missed.
static int too_old(watch *w)
{
    set_version(w, NULL);
    free(STEAL(w->next_page));
    if (w->turns > 0)
        return led_nowhere(w, "says again and again that what it has just listed is too old");
    w->turns++;
    again(w, 0);
    return 0;
}

// Is the object new in the current list?
static bool is_fresh(watch *w, const cJSON *object)
{
    size_t ignored;
    const char *uid = json_path_str(object, "metadata.uid");
    const struct known *k = uid ? find(w, uid) : NULL;
    uint64_t hash = uid ? hash_of(uid) : 0;
    return uid &&
           (k ? k->round != w->round : !hashmap_get(w->listed, &hash, sizeof hash, &ignored));
}

// The page's columns come before its objects.
static int take_head(watch *w, const cJSON *head)
{
    if (w->headed)
        return 0;
    w->headed = true;
    return heard(w) != 0 || take_columns(w, head) != 0 ? -1 : 0;
}

// Reports an object of a page. Non-zero: the owner closed the watch.
static int on_entry(void *arg, cJSON *entry)
{
    watch *w = arg;
    AUTO_JSON *whole = entry, *head = w->headed ? NULL : listing_head(w->listing);
    if (take_head(w, head) != 0)
        return -1;
    bool is_row = watch_table_asks(&w->table) && w->table.columns;
    cJSON *item = (cJSON *)(is_row ? json_get(whole, "object") : whole);
    name_kind(w, item);
    w->cells = is_row ? json_get(whole, "cells") : NULL;
    w->fresh += is_fresh(w, item);
    int result = present(w, item);
    w->cells = NULL;
    return result;
}

static int list_ended(watch *w, const char *version)
{
    free(STEAL(w->next_page));
    set_version(w, version);
    w->attempt = 0;
    if (drop_outdated(w) != 0)
        return 1;
    if (w->ops->synced)
        w->ops->synced(w->arg);
    if (w->closed)
        return 1;
    begin(w);
    return 0;
}

// -1 with *e: the body is neither an answer nor a refusal; it may have been cut in the middle.
static int list_done(watch *w, err *e)
{
    AUTO_JSON *list = listing_end(w->listing, e);
    if (!list) {
        e->code = ERR_UNAVAILABLE;
        return err_wrap(e, "%s: the server's answer is no JSON", w->what);
    }
    if (take_head(w, list) != 0)
        return 1;
    const char *version = json_path_str(list, "metadata.resourceVersion");
    const char *next = json_path_str(list, "metadata.continue");
    if (!version)
        return err_set(e, ERR_UNAVAILABLE, "%s: the list has no resourceVersion", w->what);
    if (!next || !*next || hashmap_count(w->listed) >= WATCH_COUNTED)
        return list_ended(w, version);
    w->empty = w->fresh ? 0 : w->empty + 1;
    if (w->empty >= EMPTY_PAGES || str_eq(next, w->next_page)) {
        free(STEAL(w->next_page));
        w->turns = TURNS;
        return led_nowhere(w, "goes on with its list for ever: its pages bring nothing new") != 0;
    }
    free(w->next_page);
    w->next_page = mem_strdup(next);
    begin(w);
    return 0;
}

// A page was too large: asks again for smaller ones.
static bool shrink_page(watch *w, const err *why)
{
    if (why->code != ERR_LIMIT || w->version || w->page == 1)
        return false;
    w->page = w->page / 10 > 1 ? w->page / 10 : 1;
    free(STEAL(w->next_page));
    begin(w);
    return true;
}

// A page that cannot be read to its end.
static void no_list(watch *w, err *why)
{
    if (why->code == ERR_INVALID) {
        why->code = ERR_UNAVAILABLE;
        err_wrap(why, "the server's answer is no JSON");
    }
    err_wrap(why, "%s", w->what);
    if (!shrink_page(w, why))
        failed(w, why);
}

static void on_list_data(void *arg, const char *bytes, size_t n)
{
    watch *w = arg;
    err why = {0};
    w->busy = true;
    w->bytes += n;
    int result = w->bytes > page_limit
                     ? err_set(&why, ERR_LIMIT, "a page of more than %zu bytes", page_limit)
                     : listing_feed(w->listing, bytes, n, &why);
    if (result != 0 && !w->closed) {
        operation_cancel(STEAL(w->operation));
        no_list(w, &why);
    }
    settle(w);
}

static int on_frame(void *arg, const char *text, size_t n)
{
    watch *w = arg;
    AUTO_JSON *frame = json_parse(text, n, &w->error);
    if (!frame) {
        w->error.code = ERR_UNAVAILABLE;
        err_wrap(&w->error, "%s: a frame is no JSON", w->what);
        return 1;
    }
    const char *type = json_str_or(frame, "type", "");
    cJSON *answer = (cJSON *)json_get(frame, "object");
    const cJSON *cells;
    if (str_eq(type, "ERROR")) {
        status_object_error(answer, w->what, client_who(w->client), &w->error);
        return 1;
    }
    if (watch_table_changes(&w->table, answer)) { // a list tells all rows as they are now
        err_set(&w->error, ERR_GONE, "%s: the columns have changed", w->what);
        return 1;
    }
    cJSON *object = watch_table_object(&w->table, answer, &cells);
    name_kind(w, object);
    const char *version = json_path_str(object, "metadata.resourceVersion");
    if (version)
        set_version(w, version);
    bool is_news = !str_eq(type, "BOOKMARK");
    if (is_news && w->turns >= TURNS) // it does lead somewhere; from here the pauses stay short
        w->turns = TURNS - 1;
    if (heard(w) != 0)
        return -1;
    int result = 0;
    w->cells = cells;
    if (str_eq(type, "ADDED") || str_eq(type, "MODIFIED"))
        result = present(w, object);
    else if (str_eq(type, "DELETED"))
        result = absent(w, object);
    w->cells = NULL;
    return result;
}

// The server has accepted the watch: nothing has happened since, or a frame will tell.
static void on_head(void *arg)
{
    watch *w = arg;
    w->busy = true;
    again(w, STEADY_MS * CLOCK_MS);
    heard(w);
    settle(w);
}

static void on_data(void *arg, const char *bytes, size_t n)
{
    watch *w = arg;
    w->busy = true;
    int result = frames_feed(&w->frames, bytes, n, on_frame, w, &w->error);
    if (result != 0 && !w->closed) { // this frame ends the watch: 410, or nonsense
        operation_cancel(STEAL(w->operation));
        if (w->error.code == ERR_LIMIT)
            err_wrap(&w->error, "%s", w->what);
        if (w->error.code == ERR_GONE)
            too_old(w);
        else
            failed(w, &w->error);
    }
    settle(w);
}

static void judge(watch *w, struct http_response *r, const err *e)
{
    err why = *e;
    if (why.code == ERR_NONE && r->status / 100 != 2)
        status_error(r, w->what, client_who(w->client), &why);
    else if (why.code != ERR_NONE)
        err_wrap(&why, "%s", w->what);
    else if (!w->version) {
        if (list_done(w, &why) >= 0)
            return;
    } else if (clock_mono() - w->started > STEADY_MS * CLOCK_MS) {
        begin(w); // the server ends each watch after some time; that is no failure
        return;
    } else {
        led_nowhere(w, "ends every watch at once");
        return;
    }
    if (watch_table_asks(&w->table) && r->status == 406) {
        w->table.refused = true;
        begin(w);
    } else if (why.code == ERR_GONE)
        too_old(w);
    else if (!shrink_page(w, &why))
        failed(w, &why);
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    watch *w = arg;
    w->operation = NULL;
    w->busy = true;
    judge(w, r, e);
    settle(w);
}

static const struct http_stream_ops list_ops = {.data = on_list_data, .done = on_done};
static const struct http_stream_ops frame_ops = {.head = on_head, .data = on_data, .done = on_done};

static void begin_list(watch *w)
{
    w->round++;
    w->empty = 0;
    hashmap_free(w->listed);
    w->listed = hashmap_new();
}

static void begin(watch *w)
{
    AUTO_FREE char *base = resource_path(&w->resource, w->ns, NULL, NULL);
    AUTO_BUF path = {0};
    if (w->version) {
        uint8_t dice;
        random_bytes(&dice, 1);
        int seconds = WATCH_S + dice; // so that the many watches of a server do not end together
        buf_fmt(&path, "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d", base, seconds);
        request_query(&path, "resourceVersion", w->version);
    } else {
        if (!w->next_page)
            begin_list(w);
        buf_fmt(&path, "%s?limit=%d", base, w->page);
        request_query(&path, "continue", w->next_page);
    }
    request_query(&path, "labelSelector", w->labels);
    request_query(&path, "fieldSelector", w->fields);
    request_query(&path, "includeObject", watch_table_asks(&w->table) ? "Object" : NULL);
    listing_restart(w->listing);
    w->bytes = 0;
    w->fresh = 0;
    w->headed = false;
    frames_done(&w->frames);
    w->frames.limit = frame_limit;
    loop_timer_stop(w->timer);
    w->started = clock_mono();
    w->error = (err){0};
    w->operation = operation_start(w->client,
        &(struct request){.path = buf_cstr(&path),
            .accept = watch_table_asks(&w->table) ? request_table_type : NULL,
            .pool = HTTP_POOL_WATCHES,
            .idle_timeout_ms = w->version ? (WATCH_S + 256 + 30) * 1000 : 60000,
            .least_speed = w->version ? 0 : HTTP_LEAST_SPEED,
            .limit = page_limit,
            .what = w->what},
        w->version ? &frame_ops : &list_ops, w);
}

watch *watch_open(client *c, const struct watch_spec *spec, const struct watch_ops *ops, void *arg)
{
    watch *w = mem_alloc(sizeof *w);
    w->client = c;
    w->resource = *spec->resource;
    w->ns = mem_strdup(spec->ns);
    w->labels = mem_strdup(spec->labels);
    w->fields = mem_strdup(spec->fields);
    AUTO_FREE char *resource = resource_name(spec->resource);
    w->what = str_fmt(
        "watch %s%s%s", resource, spec->ns ? " in namespace " : "", spec->ns ? spec->ns : "");
    w->ops = ops;
    w->arg = arg;
    w->table.wanted = spec->table;
    w->most = spec->most ? spec->most : WATCH_MOST;
    w->page = PAGE;
    w->listing = listing_new(spec->table ? LISTING_SHOWN : LISTING_WHOLE, frame_limit, on_entry, w);
    w->others = hashmap_new();
    w->timer = loop_timer_new(client_loop(c), on_timer, w);
    w->refill = loop_timer_new(client_loop(c), on_refill, w);
    begin(w);
    return w;
}

const cJSON *watch_cells(const watch *w)
{
    return w->cells;
}

int64_t watch_heard(const watch *w)
{
    return w->heard;
}
