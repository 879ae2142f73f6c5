// SPDX-License-Identifier: MIT
#include "k8s/client/watch/watch_private.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/connect/status.h"

#include <string.h>

enum {
    WATCH_S = 300,
    PAGE = 500,
    FIRST = 50, // rows of a first page of metadata: it may have to be read again with its objects
    STEADY_MS = 2000, // a watch that has lasted this long counts as well begun
    TURNS = 4,        // a server may lead nowhere this many times before it is reported
    EMPTY_PAGES = 3,  // this many pages of a list in a row may bring nothing new
};
// The longest frame and the longest page that are read. Kubernetes accepts no object of more than 3
// MiB; large objects come in smaller pages.
static const size_t frame_limit = (size_t)8 << 20, page_limit = (size_t)16 << 20;

static void begin(watch *w);
static void begin_look(watch *w);

static void forget_looks(watch *w)
{
    for (int i = 0; i < w->looks.n && i < LOOKS_MOST; i++)
        free(w->looks.paths[i]);
    w->looks.n = 0;
    free(STEAL(w->ends_at));
}

static void watch_free(watch *w)
{
    watch_forget_all(w);
    frames_done(&w->frames);
    listing_free(w->listing);
    watch_table_done(&w->table);
    free(w->ns);
    free(w->labels);
    free(w->fields);
    free(w->what);
    free(w->version);
    free(w->next_page);
    forget_looks(w);
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

// Reports a list's columns if they have changed. The versions of objects are then forgotten, since
// all of them must be shown anew.
static int take_columns(watch *w, const cJSON *list)
{
    if (!watch_table_take(&w->table, list))
        return 0;
    watch_forget_versions(w);
    if (w->ops->columns)
        w->ops->columns(w->arg, w->table.columns);
    return w->closed ? -1 : 0;
}

// Items of a list do not say their kind, and metadata alone has a kind of its own
// (PartialObjectMetadata).
static void name_kind(const watch *w, cJSON *item)
{
    if (item && (w->bare || !json_str(item, "kind")))
        json_set_str(item, "kind", w->resource.kind);
    if (item && (w->bare || !json_str(item, "apiVersion")))
        json_set_str(item, "apiVersion", w->resource.api_version);
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
    if (w->count >= w->most || hashset_count(w->others) == 0 || !w->version)
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
static int fail_without_progress(watch *w, const char *how)
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
        return fail_without_progress(
            w, "says again and again that what it has just listed is too old");
    w->turns++;
    again(w, 0);
    return 0;
}

// The page's columns come before its objects.
static int take_head(watch *w, const cJSON *head)
{
    if (w->headed)
        return 0;
    w->headed = true;
    return heard(w) != 0 || take_columns(w, head) != 0 ? -1 : 0;
}

// Notes the object of a row if the whole object is wanted.
static void note_look(watch *w, const cJSON *item)
{
    struct looks *l = &w->looks;
    const cJSON *m = json_get(item, "metadata");
    if (!w->cells || l->n > LOOKS_MOST || !watch_tells(w, item) ||
        !w->ops->wants_object(w->arg, w->cells))
        return;
    if (l->n < LOOKS_MOST)
        l->paths[l->n] =
            resource_path(&w->resource, json_str(m, "namespace"), json_str_or(m, "name", ""), NULL);
    l->n++;
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
    w->in_list++;
    w->fresh += watch_is_fresh(w, item);
    int result = watch_present(w, item);
    if (result == 0 && w->bare)
        note_look(w, item);
    w->cells = NULL;
    return result;
}

static int list_ended(watch *w, const char *version)
{
    free(STEAL(w->next_page));
    set_version(w, version);
    w->attempt = 0;
    if (watch_drop_outdated(w) != 0)
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
    ERR_GUARD(e);
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
    bool ends = !next || !*next || hashset_count(w->listed) >= WATCH_COUNTED;
    if (w->looks.n > LOOKS_MOST) { // they are too many: the whole page is read again
        forget_looks(w);
        w->looks.whole = w->again = true;
        begin(w);
        return 0;
    }
    w->again = false;
    if (ends && !w->looks.n)
        return list_ended(w, version);
    if (ends) {
        w->ends_at = mem_strdup(version);
        begin_look(w);
        return 0;
    }
    w->empty = w->fresh ? 0 : w->empty + 1;
    if (w->empty >= EMPTY_PAGES || str_eq(next, w->next_page)) {
        free(STEAL(w->next_page));
        w->turns = TURNS;
        return fail_without_progress(
                   w, "goes on with its list for ever: its pages bring nothing new") != 0;
    }
    free(w->next_page);
    w->next_page = mem_strdup(next);
    if (w->looks.n)
        begin_look(w);
    else
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
    ERR_GUARD(why);
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
    if (is_news && w->turns >= TURNS) // the watch does get on: from here the pauses stay short
        w->turns = TURNS - 1;
    if (heard(w) != 0)
        return -1;
    int result = 0;
    w->cells = cells;
    if (str_eq(type, "ADDED") || str_eq(type, "MODIFIED"))
        result = watch_present(w, object);
    else if (str_eq(type, "DELETED"))
        result = watch_absent(w, object);
    w->cells = NULL;
    return result;
}

// The server has accepted the watch: nothing has happened since, or a frame will tell.
static void on_head(void *arg)
{
    watch *w = arg;
    w->busy = w->open = true;
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
        fail_without_progress(w, "ends every watch at once");
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

// If the answer was cut, nothing else had happened until then. If the connection fell silent (the
// idle time in start), nobody knows.
static void note_cut(watch *w)
{
    if (w->open && clock_mono() - w->heard < (WATCH_S + 256) * CLOCK_SEC)
        w->heard = clock_mono();
}

static void on_done(void *arg, struct http_response *r, const err *e)
{
    watch *w = arg;
    w->operation = NULL;
    w->busy = true;
    note_cut(w);
    judge(w, r, e);
    settle(w);
}

static const struct http_stream_ops list_ops = {.data = on_list_data, .done = on_done};
static const struct http_stream_ops frame_ops = {.head = on_head, .data = on_data, .done = on_done};

static void begin_list(watch *w)
{
    w->round++;
    w->empty = 0;
    w->in_list = 0;
    w->looks.whole = w->looks.whole && w->again;
    hashset_free(w->listed);
    w->listed = hashset_new();
}

static void start(watch *w, const char *path, const struct http_stream_ops *ops)
{
    listing_restart(w->listing);
    w->bytes = 0;
    w->fresh = 0;
    w->headed = w->open = false;
    frames_done(&w->frames);
    w->frames.limit = frame_limit;
    loop_timer_stop(w->timer);
    w->started = clock_mono();
    w->error = (err){0};
    w->operation = operation_start(w->client,
        &(struct request){.path = path,
            .accept = watch_table_asks(&w->table) ? request_table_type : NULL,
            .pool = HTTP_POOL_WATCHES,
            .idle_timeout_ms = w->version ? (WATCH_S + 256 + 30) * 1000 : 60000,
            .least_speed = w->version ? 0 : HTTP_LEAST_SPEED,
            .limit = page_limit,
            .what = w->what},
        ops, w);
}

static void begin(watch *w)
{
    AUTO_FREE char *base = resource_path(&w->resource, w->ns, NULL, NULL);
    AUTO_BUF path = {0};
    w->bare = false;
    if (w->version) {
        uint8_t dice;
        random_bytes(&dice, 1);
        int seconds = WATCH_S + dice; // so that the many watches of a server do not end together
        buf_fmt(&path, "%s?watch=1&allowWatchBookmarks=true&timeoutSeconds=%d", base, seconds);
        request_query(&path, "resourceVersion", w->version);
    } else {
        if (!w->next_page)
            begin_list(w);
        forget_looks(w);
        w->bare = w->ops->wants_object && watch_table_asks(&w->table) && !w->looks.whole &&
                  w->in_list >= w->whole;
        bool tries = w->bare && !w->next_page && w->page > FIRST;
        buf_fmt(&path, "%s?limit=%d", base, tries ? FIRST : w->page);
        request_query(&path, "continue", w->next_page);
    }
    request_query(&path, "labelSelector", w->labels);
    request_query(&path, "fieldSelector", w->fields);
    if (watch_table_asks(&w->table))
        request_query(&path, "includeObject", w->bare ? "Metadata" : "Object");
    start(w, buf_cstr(&path), w->version ? &frame_ops : &list_ops);
}

// One look is over: the next one, or what comes after all of them.
static void next_look(watch *w)
{
    AUTO_FREE char *version = w->looks.n ? NULL : STEAL(w->ends_at);
    w->again = false;
    if (w->looks.n)
        begin_look(w);
    else if (version)
        list_ended(w, version);
    else
        begin(w);
}

// If the answer is no object, or the object is gone, its row stays: the watch will report its end.
static void on_look_data(void *arg, const char *bytes, size_t n)
{
    watch *w = arg;
    err why = {0};
    w->busy = true;
    if (listing_feed(w->listing, bytes, n, &why) != 0 && !w->closed) {
        operation_cancel(STEAL(w->operation));
        next_look(w);
    }
    settle(w);
}

// We may list objects, but not look at one: a new list has them whole.
static void list_whole(watch *w)
{
    forget_looks(w);
    free(STEAL(w->next_page));
    watch_forget_versions(w); // so that it tells of all of them again, on all of its pages
    w->looks.whole = w->again = true;
    begin(w);
}

// The server is away, or wants us to wait: begins again with a new list.
static void look_failed(watch *w, const err *why)
{
    forget_looks(w);
    free(STEAL(w->next_page));
    w->again = false;
    failed(w, why);
}

static void judge_look(watch *w, struct http_response *r, const err *e)
{
    err why = *e;
    if (why.code == ERR_NONE && r->status == 403) {
        list_whole(w);
        return;
    }
    bool waits = why.code == ERR_NONE && (r->status == 401 || r->status == 429 || r->status >= 500);
    if (waits)
        status_error(r, w->what, client_who(w->client), &why);
    else if (why.code != ERR_NONE)
        err_wrap(&why, "%s", w->what);
    if (why.code != ERR_NONE)
        look_failed(w, &why);
    else
        next_look(w);
}

static void on_look_done(void *arg, struct http_response *r, const err *e)
{
    watch *w = arg;
    w->operation = NULL;
    w->busy = true;
    judge_look(w, r, e);
    settle(w);
}

static void begin_look(watch *w)
{
    static const struct http_stream_ops ops = {.data = on_look_data, .done = on_look_done};
    AUTO_BUF path = {0};
    AUTO_FREE char *object = w->looks.paths[--w->looks.n];
    buf_fmt(&path, "%s?includeObject=Object", object);
    w->again = true;
    w->bare = false;
    start(w, buf_cstr(&path), &ops);
    w->headed = true; // the columns are those of the list
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
    w->whole = spec->whole;
    w->page = PAGE;
    w->listing = listing_new(spec->table ? LISTING_SHOWN : LISTING_WHOLE, frame_limit, on_entry, w);
    w->uids = hashmap_new_borrowing();
    w->names = hashmap_new_borrowing();
    w->others = hashset_new();
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

void watch_cause(const watch *w, const err *reason, err *out)
{
    size_t n = strlen(w->what);
    bool named = str_starts(reason->text, w->what) && str_starts(reason->text + n, ": ");
    err_set(out, reason->code, "%s", reason->text + (named ? n + 2 : 0));
}
