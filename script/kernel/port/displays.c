// SPDX-License-Identifier: MIT
#include "script/kernel/port/displays.h"

#include "base/clock.h"
#include "base/json/rowset.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/port/displays_private.h"
#include "script/kernel/port/logdisplay.h"
#include "script/protocol/message.h"

#include <string.h>

// The interval at which a display is sent, and its rows per second after the first ROWSET_TABLE.
// Faster changes are merged. A row takes 0.4 KB in the journal.
enum { UPDATE_MS = 100, ROWS_A_SECOND = 1000 };

// Limits while nobody watches.
enum { ALONE_MS = 10 * 1000, ALONE_BYTES_A_DAY = 16 << 20, ALONE_LOG = 256 << 20 };

// Work on a display for the loop's thread. Bindings pass a pointer, which is valid until they close
// the display; Lua passes a number.
struct task {
    displays *all;
    display *display;
    int64_t id;
    void (*fn)(display *d, struct task *t);
    cJSON *data;
    bool complete;
    void (*on_end)(void *arg);
    cJSON *(*now)(void *arg);
    void *on_end_arg;
};

display *displays_find(const displays *all, int64_t id)
{
    display *d = all->first;
    while (d && d->id != id)
        d = d->next;
    return d;
}

static void perform(void *arg)
{
    struct task *t = arg;
    display *d = t->display, *of_lua = d ? NULL : displays_find(t->all, t->id);
    if (of_lua && !of_lua->held) // a binding's display ends only when the binding says so
        d = of_lua;
    if (d)
        t->fn(d, t);
    cJSON_Delete(t->data);
    free(t);
}

static void post(struct task task)
{
    struct task *t = mem_dup(&task, sizeof task);
    if (loop_is_current(t->all->loop))
        perform(t);
    else
        loop_post(t->all->loop, perform, t);
}

static void drop_changes(display *d)
{
    rowset_free(STEAL(d->by_uid));
    cJSON_Delete(STEAL(d->rows));
    cJSON_Delete(STEAL(d->table));
}

// Remembers that clients which get this bundle have the rows of its table.
static void note_sent(hashset *sent_uids, const cJSON *data)
{
    const cJSON *part, *row;
    hashset_clear(sent_uids);
    cJSON_ArrayForEach(part, data)
    {
        cJSON_ArrayForEach(row, json_get(part, "rows"))
        {
            const char *uid = json_str(row, "uid");
            if (uid)
                hashset_add(sent_uids, uid);
        }
    }
}

static void tell_row(display *d, const cJSON *row)
{
    const char *uid = json_str(row, "uid");
    if (uid && json_bool_or(row, "deleted", false))
        hashset_remove(d->sent_uids, uid);
    else if (uid)
        hashset_add(d->sent_uids, uid);
}

static void count_allowance(display *d)
{
    int64_t now = clock_mono(), more = (now - d->counted) / (CLOCK_SEC / ROWS_A_SECOND);
    d->counted += more * (CLOCK_SEC / ROWS_A_SECOND);
    d->rows_left = more < ROWSET_TABLE - d->rows_left ? d->rows_left + more : ROWSET_TABLE;
}

// Takes the rows that may be sent now; NULL: none. `all`: it is the last time.
static cJSON *take_rows(display *d, bool all)
{
    if (!d->rows)
        return NULL;
    count_allowance(d);
    cJSON *rows = cJSON_CreateArray();
    for (cJSON *row; (all || d->rows_left > 0) && (row = rowset_take_first(d->by_uid));) {
        tell_row(d, row);
        cJSON_AddItemToArray(rows, row);
        d->rows_left -= d->rows_left > 0;
    }
    if (rows->child)
        return rows;
    cJSON_Delete(rows);
    return NULL;
}

static void schedule(display *d);

// Sends no event about a peek that its client has dropped.
static void tell(display *d, cJSON *event)
{
    displays *all = d->all;
    if (!d->client) {
        port_emit(all->port, event);
        return;
    }
    port_private(all->port, event);
    if (d->unwanted)
        cJSON_Delete(event);
    else
        all->ops->tell(all->arg, d->client, event);
}

// How long a display must rest after this event, so that one day stays within the limit.
static int64_t rest_after(const cJSON *event)
{
    AUTO_BUF line = {0};
    json_print(&line, event);
    int64_t rest = (int64_t)line.len * (24 * 3600 * CLOCK_SEC / ALONE_BYTES_A_DAY);
    return rest > ALONE_MS * CLOCK_MS ? rest : ALONE_MS * CLOCK_MS;
}

static void send_pending(display *d, bool closed)
{
    if (d->ended)
        return;
    if (d->client && !closed && !d->all->ops->keeps_up(d->all->arg, d->client)) {
        d->sent = clock_mono();
        schedule(d);
        return;
    }
    if (d->grown || (closed && d->log)) {
        cJSON_Delete(d->data);
        d->data = log_display_bundle(d->log);
        d->grown = false;
    }
    cJSON *rows = take_rows(d, closed);
    if (!d->data && !rows && !d->table && !closed)
        return;
    cJSON *event = message_new(MESSAGE_update);
    json_set_int(event, "id", d->id);
    followed_note(d, d->data);
    if (d->data)
        json_set(event, "data", STEAL(d->data));
    if (rows)
        json_set(event, "rows", rows);
    if (d->table)
        json_set(event, "table", STEAL(d->table));
    if (closed)
        json_set_bool(event, "closed", true);
    d->sent = clock_mono();
    if (d->all->alone)
        d->rests = rest_after(event);
    tell(d, event);
    if (d->rows && d->rows->child)
        schedule(d);
}

static void on_timer(void *arg)
{
    display *d = arg;
    d->scheduled = false;
    send_pending(d, false);
}

static void schedule(display *d)
{
    if (d->scheduled)
        return;
    d->scheduled = true;
    int64_t passed = (clock_mono() - d->sent) / CLOCK_MS;
    int64_t rests = d->all->alone && !d->client ? d->rests / CLOCK_MS : UPDATE_MS;
    rests = rests > UPDATE_MS ? rests : UPDATE_MS;
    loop_timer_start(d->timer, passed >= rests ? 0 : (uint64_t)(rests - passed), 0);
}

void displays_enter(display *d, cJSON *event)
{
    d->timer = loop_timer_new(d->all->loop, on_timer, d);
    d->sent = d->counted = clock_mono();
    d->rows_left = ROWSET_TABLE;
    d->next = d->all->first;
    d->all->first = d;
    if (event)
        tell(d, event);
    if (d->client)
        peeks_make_room(d->all, d->client);
}

static void enter(display *d, struct task *t)
{
    displays_enter(d, STEAL(t->data));
}

void displays_tell_anew(display *d, const cJSON *data)
{
    cJSON_Delete(STEAL(d->data));
    drop_changes(d);
    note_sent(d->sent_uids, data);
}

static void replace(display *d, struct task *t)
{
    displays_tell_anew(d, t->data);
    d->data = STEAL(t->data);
    schedule(d);
}

// A row's newer state replaces the one that waits to be sent. A row that goes before clients knew
// of it needs no event at all. A row that comes again goes to the end, after the removals that make
// room for it.
static void change_row(display *d, cJSON *row)
{
    const char *uid = json_str(row, "uid");
    const cJSON *waits = rowset_get(d->by_uid, uid);
    bool deleted = json_bool_or(row, "deleted", false);
    if (waits && json_bool_or(waits, "deleted", false) && !deleted)
        rowset_drop(d->by_uid, uid);
    if (uid && deleted && !hashset_has(d->sent_uids, uid)) {
        rowset_drop(d->by_uid, uid);
        cJSON_Delete(row);
        return;
    }
    rowset_put(d->by_uid, row);
}

static void change_rows(display *d, struct task *t)
{
    if (!d->rows) {
        d->rows = cJSON_CreateArray();
        d->by_uid = rowset_new(d->rows, 0);
    }
    while (t->data->child)
        change_row(d, cJSON_DetachItemViaPointer(t->data, t->data->child));
    schedule(d);
}

static void change_table(display *d, struct task *t)
{
    const cJSON *field;
    if (!d->table)
        d->table = cJSON_CreateObject();
    cJSON_ArrayForEach(field, t->data)
    {
        json_set(d->table, field->string, cJSON_Duplicate(field, true));
    }
    schedule(d);
}

void displays_drop(display *d)
{
    display **at = &d->all->first;
    while (*at != d)
        at = &(*at)->next;
    *at = d->next;
    if (d->client)
        d->all->ops->dropped(d->all->arg, d->id);
    if (d->client)
        log_display_discard(d->log);
    else
        log_display_free(d->log);
    loop_timer_free(d->timer);
    cJSON_Delete(d->data);
    drop_changes(d);
    hashset_free(d->sent_uids);
    free(d->cell);
    free(d->branch);
    free(d);
}

static bool is_drained(const displays *all)
{
    for (const display *d = all->first; d; d = d->next)
        if (d->on_drain && !d->ended && !d->client)
            return false;
    return true;
}

static void tell_drained(displays *all)
{
    void (*drained)(void *arg) = all->drained;
    if (!drained || !is_drained(all))
        return;
    all->drained = NULL;
    drained(all->drained_arg);
}

static void finish(display *d, struct task *t)
{
    displays *all = d->all;
    cJSON *last = d->client && t->data ? cJSON_Duplicate(t->data, true) : NULL;
    if (t->data)
        replace(d, t);
    if (d->log)
        log_display_end(d->log);
    send_pending(d, true);
    d->on_end = NULL;
    d->now = NULL;
    d->ended = true;
    if (!d->client || d->unwanted)
        displays_drop(d);
    else
        d->data = STEAL(last);
    cJSON_Delete(last);
    tell_drained(all);
}

void displays_end_one(display *d)
{
    displays *all = d->all;
    int64_t id = d->id;
    void (*on_end)(void *arg) = STEAL(d->on_end);
    if (on_end)
        on_end(d->on_end_arg);
    d = displays_find(all, id);
    if (d && !d->ended)
        display_close(d, NULL);
}

static void set_on_end(display *d, struct task *t)
{
    d->on_end = t->on_end;
    d->now = t->now;
    d->on_end_arg = t->on_end_arg;
    if (d->all->over || d->unwanted) // all earlier displays have ended
        displays_end_one(d);
}

displays *displays_new(loop *l, port *p, const struct displays_ops *ops, void *arg)
{
    displays *all = mem_alloc(sizeof *all);
    *all = (displays){.loop = l, .port = p, .ops = ops, .arg = arg};
    return all;
}

void displays_free(displays *all)
{
    for (display *d = all ? all->first : NULL, *next; d; d = next) {
        next = d->next;
        if (d->ended)
            displays_drop(d);
    }
    if (all)
        followed_free(all);
    free(all);
}

void displays_skip(displays *all, int64_t id)
{
    atomic_store(&all->last, id);
}

int64_t displays_next_id(displays *all)
{
    return atomic_fetch_add(&all->last, 1) + 1;
}

static cJSON *display_event(
    int64_t id, const char *in_cell, const char *branch, cJSON *data, const char *flag)
{
    cJSON *event = message_new(MESSAGE_display);
    json_set_str(event, "cell", in_cell);
    json_set_str(event, "branch", branch);
    json_set_int(event, "id", id);
    json_set(event, "data", data);
    if (flag)
        json_set_bool(event, flag, true);
    return event;
}

void displays_emit(displays *all, int64_t id, const char *in_cell, const char *branch, cJSON *data,
    const char *flag)
{
    port_emit(all->port, display_event(id, in_cell, branch, data, flag));
}

// From now on the loop's thread owns the display. It sends a peek right away; other displays take
// their place among this thread's events.
static display *start(const display *like, cJSON *data)
{
    display *d = mem_dup(like, sizeof *like);
    cJSON *event = display_event(d->id, d->cell, d->branch, data, "live");
    d->sent_uids = hashset_new();
    note_sent(d->sent_uids, data);
    if (!d->client)
        port_emit(d->all->port, STEAL(event));
    post((struct task){.all = d->all, .display = d, .fn = enter, .data = event});
    return d;
}

static display *make(displays *all, int64_t id, int64_t client, const char *in_cell,
    const char *branch, bool held, cJSON *data)
{
    return start(&(display){.all = all,
                     .id = id,
                     .client = client,
                     .cell = mem_strdup(in_cell),
                     .branch = mem_strdup(branch),
                     .held = held},
        data);
}

int64_t displays_add(displays *all, const char *in_cell, const char *branch, cJSON *data, bool live)
{
    int64_t id = displays_next_id(all);
    if (live)
        make(all, id, 0, in_cell, branch, false, data);
    else
        displays_emit(all, id, in_cell, branch, data, NULL);
    return live ? id : 0;
}

display *displays_add_held(
    displays *all, int64_t client, const char *in_cell, const char *branch, cJSON *data, bool live)
{
    int64_t id = displays_next_id(all);
    if (live)
        return make(all, id, client, in_cell, branch, true, data);
    displays_emit(all, id, in_cell, branch, data, NULL);
    return NULL;
}

display *display_beside(const display *d, cJSON *data)
{
    return displays_add_held(d->all, d->client, d->cell, d->branch, data, true);
}

display *displays_add_log(displays *all, int64_t client, const char *in_cell, const char *branch,
    const char *title, bool folded, err *e)
{
    int64_t id = displays_next_id(all);
    log_display *log =
        log_display_new(port_journal(all->port), id, title, folded, port_mask(all->port), e);
    if (!log)
        return NULL;
    return start(&(display){.all = all,
                     .id = id,
                     .client = client,
                     .cell = mem_strdup(in_cell),
                     .branch = mem_strdup(branch),
                     .held = true,
                     .log = log},
        log_display_bundle(log));
}

void displays_add_result(displays *all, const char *in_cell, const char *branch, cJSON *data)
{
    displays_emit(all, displays_next_id(all), in_cell, branch, data, "result");
}

int64_t display_id(const display *d)
{
    return d->id;
}

char *display_file(const display *d)
{
    return d->log ? log_display_file(d->log) : NULL;
}

static void update(display *d, struct task *t)
{
    d->complete = t->complete;
    if (t->data)
        replace(d, t);
}

void displays_update(displays *all, int64_t id, cJSON *data, enum display_end end)
{
    post((struct task){.all = all,
        .id = id,
        .fn = end == DISPLAY_CLOSES ? finish : update,
        .data = data,
        .complete = end == DISPLAY_COMPLETE});
}

void display_replace(display *d, cJSON *data)
{
    post((struct task){.all = d->all, .display = d, .fn = replace, .data = data});
}

void display_rows(display *d, cJSON *rows)
{
    post((struct task){.all = d->all, .display = d, .fn = change_rows, .data = rows});
}

void display_table(display *d, cJSON *fields)
{
    post((struct task){.all = d->all, .display = d, .fn = change_table, .data = fields});
}

void display_text(display *d, const char *bytes, size_t n)
{
    if (d->log) {
        log_display_add(d->log, bytes, n);
        d->grown = true;
        schedule(d);
        return;
    }
    port_text(d->all->port, d->cell, d->branch, "stdout", bytes, n);
}

void display_note(display *d, const char *note)
{
    if (d->log)
        log_display_note(d->log, note);
}

void display_away(display *d, const err *reason, int64_t heard_wall)
{
    d->all->ops->away(d->all->arg, reason, heard_wall);
}

void display_close(display *d, cJSON *last_data)
{
    post((struct task){.all = d->all, .display = d, .fn = finish, .data = last_data});
}

void display_on_end(display *d, void (*fn)(void *arg), cJSON *(*now)(void *arg), void *arg)
{
    post((struct task){.all = d->all,
        .display = d,
        .fn = set_on_end,
        .on_end = fn,
        .now = now,
        .on_end_arg = arg});
}

void display_on_drain(display *d, void (*fn)(void *arg), void *arg, bool ends)
{
    d->on_drain = fn;
    d->on_drain_arg = arg;
    d->ends = ends;
}

// The first display that is still to be drained. Draining one may end it and others, so the search
// starts again each time.
static display *first_to_drain(const displays *all, const char *awaited)
{
    display *d = all->first;
    while (d && (!d->on_drain || d->draining || d->client ||
                    (d->ends && awaited && str_eq(d->cell, awaited))))
        d = d->next;
    return d;
}

void displays_drain(displays *all, const char *awaited, void (*done)(void *arg), void *arg)
{
    all->drained = NULL;
    for (display *d; (d = first_to_drain(all, awaited));) {
        d->draining = true;
        d->on_drain(d->on_drain_arg);
    }
    all->drained = done;
    all->drained_arg = arg;
    tell_drained(all);
}

void displays_attend(displays *all, bool attended, bool looked_at)
{
    all->unseen = !looked_at;
    if (all->alone == !attended)
        return;
    all->alone = !attended;
    for (display *d = all->first; d; d = d->next) {
        if (d->log)
            log_display_limit(d->log, attended ? 0 : ALONE_LOG);
        d->grown |= d->log && attended;
        if (attended && !d->ended && (d->scheduled || d->grown))
            loop_timer_start(d->timer, 0, 0);
    }
}

bool display_is_looked_at(const display *d)
{
    return !d->all->unseen;
}

void display_keeps_kernel(display *d)
{
    d->keeps = true;
}

bool displays_keep(const displays *all)
{
    const display *d = all->first;
    while (d && !d->keeps)
        d = d->next;
    return d != NULL;
}

size_t displays_live(const displays *all)
{
    size_t n = 0;
    for (const display *d = all->first; d; d = d->next)
        n += !d->client;
    return n;
}

bool displays_any(const displays *all)
{
    return all->first != NULL;
}

bool displays_is_endable(const display *d)
{
    return !d->ended && (d->on_end || !d->held);
}

static display *first_endable(const displays *all)
{
    display *d = all->first;
    while (d && !displays_is_endable(d))
        d = d->next;
    return d;
}

void displays_end(displays *all)
{
    all->over = true;
    for (display *d; (d = first_endable(all));)
        displays_end_one(d);
    for (display *d = all->first, *next; d; d = next) {
        next = d->next;
        if (d->ended)
            displays_drop(d);
        else
            send_pending(d, true);
    }
}

static display *first_endable_of(const displays *all, const char *in_cell)
{
    display *d = all->first;
    while (d && !(displays_is_endable(d) && !d->client && str_eq(d->cell, in_cell)))
        d = d->next;
    return d;
}

void displays_end_of(displays *all, const char *in_cell)
{
    for (display *d; (d = first_endable_of(all, in_cell));) // other displays may end, too
        displays_end_one(d);
}

void displays_end_complete(displays *all)
{
    for (display *d = all->first, *next; d; d = next) {
        next = d->next;
        if (d->complete)
            display_close(d, NULL);
    }
}

int displays_stop(displays *all, int64_t client, int64_t id, err *e)
{
    display *d = displays_find(all, id);
    if (!d || (d->client && d->client != client))
        return err_set(e, ERR_NOT_FOUND, "display %lld is not live any more", (long long)id);
    if (d->client) {
        peeks_unwant(d);
        return 0;
    }
    if (!displays_is_endable(d))
        return err_set(
            e, ERR_USAGE, "display %lld ends with its cell; interrupt that", (long long)id);
    displays_end_one(d);
    return 0;
}
