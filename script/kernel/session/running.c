// SPDX-License-Identifier: MIT
#include "script/kernel/session/running.h"
#include "script/kernel/session/joining.h"

#include "base/clock.h"
#include "base/data/hashmap.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/kernel/effects/glances.h"
#include "script/kernel/process/guard.h"
#include "script/kernel/session/life.h"
#include "script/kernel/session/record.h"
#include "script/kernel/session/sandboxing.h"
#include "script/kernel/session/variables.h"
#include "script/kernel/session/when.h"
#include "script/protocol/message.h"

#include <stdio.h>
#include <string.h>

// Executions that the Lua thread has ready, so that it need not wait for the loop.
enum { AHEAD_MAX = 16 };

static const int64_t cleanup_limit = 60 * CLOCK_SEC; // for a cell without timeout=

struct queue_item {
    char *cell_id;
    bool alone;  // a person asked for this cell: its when= does not count
    bool later;  // queued after an interrupt: failures before it do not count
    int attempt; // 1: the first one
    char *after; // why the attempt before failed; NULL: first attempt
    struct queue_item *next;
};

bool running_busy(const kernel *k)
{
    return k->running || k->queue;
}

void running_say_state(kernel *k, const char *state, const char *message)
{
    cJSON *event = message_new(MESSAGE_kernel);
    json_set_str(event, "state", state);
    if (k->running)
        json_set_str(event, "cell", k->running->turn.cell);
    json_set_str(event, "message", message);
    port_emit(k->port, event);
}

static cJSON *state_event(const char *cell_id, const char *state)
{
    cJSON *event = message_new(MESSAGE_state);
    json_set_str(event, "cell", cell_id);
    json_set_str(event, "state", state);
    return event;
}

// Queues cells at the end, each once.
struct queueing {
    kernel *k;
    hashmap *queued;
    struct queue_item **last;
    cJSON *ids; // of the cells that were reached
};

static struct queueing queueing_begin(kernel *k)
{
    struct queueing q = {
        .k = k, .queued = hashmap_new(), .last = &k->queue, .ids = cJSON_CreateArray()};
    for (; *q.last; q.last = &(*q.last)->next)
        hashmap_set(q.queued, (*q.last)->cell_id, strlen((*q.last)->cell_id), 0);
    return q;
}

static void enqueue(struct queueing *q, const char *cell_id, bool alone)
{
    size_t n = strlen(cell_id), known;
    if (hashmap_get(q->queued, cell_id, n, &known))
        return;
    struct queue_item *item = mem_alloc(sizeof *item);
    *item = (struct queue_item){
        .cell_id = mem_strdup(cell_id), .alone = alone, .later = q->k->interrupted, .attempt = 1};
    *q->last = item;
    q->last = &item->next;
    hashmap_set(q->queued, cell_id, n, 0);
    cJSON_AddItemToArray(q->ids, cJSON_CreateString(cell_id));
}

// Reports which cells wait, and begins the first one.
static void queueing_end(struct queueing *q)
{
    hashmap_free(q->queued);
    if (q->ids->child) {
        cJSON *event = message_new(MESSAGE_queued);
        json_set(event, "cells", q->ids);
        port_emit(q->k->port, event);
    } else
        cJSON_Delete(q->ids);
    running_go_on(q->k);
}

static struct queue_item *dequeue(kernel *k)
{
    struct queue_item *item = k->queue;
    k->queue = item->next;
    return item;
}

static void item_free(struct queue_item *item)
{
    free(item->cell_id);
    free(item->after);
    free(item);
}

// Executions that would follow, and have not begun, go back to the front of the queue.
static void take_back(kernel *k)
{
    struct queue_item **at = &k->queue;
    for (execution *x = k->ahead ? interp_withdraw(k->interp) : NULL, *next; x; x = next) {
        next = x->next;
        struct queue_item *item = STEAL(x->item);
        item->next = *at;
        *at = item;
        at = &item->next;
        execution_free(x);
        k->ahead--;
        k->executed--;
    }
}

void running_catch_up(kernel *k)
{
    k->catching_up = true;
    take_back(k);
    if (k->ahead) // they have begun; the report of that is on its way
        port_flush(k->port);
    k->catching_up = false;
}

// Does it run after a failure?
static bool is_cleanup(const kernel *k, const struct queue_item *item)
{
    const notebook *nb = document_notebook(k->document);
    size_t i;
    return notebook_find(nb, item->cell_id, &i) && when_runs(notebook_cell(nb, i), true);
}

// Clears the queue, but keeps clean-ups if they are wanted. Returns whether anything was cleared.
static bool forget_queue(kernel *k, bool cleanups)
{
    bool any = false;
    for (struct queue_item **at = &k->queue; *at;) {
        struct queue_item *item = *at;
        if (cleanups && is_cleanup(k, item)) {
            at = &item->next;
            continue;
        }
        *at = item->next;
        k->counts.cancelled++;
        port_emit(k->port, state_event(item->cell_id, "cancelled"));
        item_free(item);
        any = true;
    }
    return any;
}

static void forget_failure(kernel *k)
{
    cJSON_Delete(STEAL(k->failure.what));
    k->interrupted = k->cut = false;
}

void running_free(kernel *k)
{
    take_back(k);
    while (k->queue)
        item_free(dequeue(k));
    forget_failure(k);
    execution_free(STEAL(k->running));
}

// Text cells and the like have nothing to run. A cell whose plan is wrong is run all the same, so
// that its failure shows where people look.
static bool is_executable(const notebook *nb, const cell *c)
{
    struct plan p = {0};
    bool executable = c->kind == CELL_CODE &&
                      (c->problem || plan_cell(nb, c, &p, NULL) < 0 || p.kind != PLAN_NOTHING);
    plan_done(&p);
    return executable;
}

int running_queue(kernel *k, const cJSON *ids, err *e)
{
    const notebook *nb = document_notebook(k->document);
    size_t i;
    for (const cJSON *id = ids->child; id; id = id->next)
        if (!cJSON_IsString(id) || !notebook_find(nb, id->valuestring, &i))
            return err_set(e, ERR_NOT_FOUND, "there is no cell %s",
                cJSON_IsString(id) ? id->valuestring : "of that id");
    bool alone = cJSON_GetArraySize(ids) == 1;
    struct queueing q = queueing_begin(k);
    for (const cJSON *id = ids->child; id; id = id->next)
        if (notebook_find(nb, id->valuestring, &i) && is_executable(nb, notebook_cell(nb, i)) &&
            (alone || !when_skipped(notebook_cell(nb, i))))
            enqueue(&q, id->valuestring, alone);
    queueing_end(&q);
    return 0;
}

static bool has_id(const char *const *ids, const char *id)
{
    for (; ids && *ids; ids++)
        if (str_eq(*ids, id))
            return true;
    return false;
}

int running_queue_all(kernel *k, err *e)
{
    const notebook *nb = document_notebook(k->document);
    if (gate_check_notebook(k->effects->gate, nb, NULL, e) < 0)
        return -1;
    struct queueing q = queueing_begin(k);
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (is_executable(nb, notebook_cell(nb, i)) && !when_skipped(notebook_cell(nb, i)) &&
            !has_id(k->options->keep, notebook_cell(nb, i)->id))
            enqueue(&q, notebook_cell(nb, i)->id, false);
    queueing_end(&q);
    return 0;
}

static void stop_running(kernel *k, enum failure why)
{
    if (turn_stopped(&k->running->turn) == FAILURE_NONE)
        running_say_state(k, "interrupting", NULL);
    interp_stop(k->interp, k->running, why);
}

static void on_cell_timeout(void *arg)
{
    kernel *k = arg;
    if (k->running)
        stop_running(k, FAILURE_TIMEOUT);
}

static void limit_cell(kernel *k, int64_t ns)
{
    if (!k->cell_timer)
        k->cell_timer = loop_timer_new(k->loop, on_cell_timeout, k);
    loop_timer_start(k->cell_timer, (uint64_t)(ns / CLOCK_MS), 0);
}

static void on_owing(void *arg, execution *x)
{
    kernel *k = arg;
    limit_cell(k, x->owed_ns);
    if (turn_why(&x->turn) == FAILURE_NONE)
        return;
    // So that no person sends a second interrupt too early.
    cJSON *event = message_new(MESSAGE_kernel);
    json_set_str(event, "state", "interrupting");
    json_set_str(event, "cell", x->turn.cell);
    json_set_int(event, "limit", x->owed_ns / CLOCK_MS);
    port_emit(k->port, event);
}

static void emit_running(kernel *k, const execution *x)
{
    cJSON *event = state_event(x->turn.cell, "running");
    json_set_int(event, "count", x->count);
    json_set_str(event, "hash", x->turn.source);
    json_set_str(event, "title", x->chunk);
    if (x->cleanup)
        json_set_int(event, "limit", x->timeout_ns / CLOCK_MS);
    port_emit(k->port, event);
}

// Does the run change a cluster other than its private sandbox?
static bool reaches_cluster(const struct kernel_options *o)
{
    return !o->sandbox && o->allow && strstr(o->allow, "cluster");
}

static bool names_secret(const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++)
        if (strstr(notebook_cell(nb, i)->source, "secret"))
            return true;
    return false;
}

// A cell for the preflight; NULL: it has nothing to check.
static cJSON *preflight_cell(const notebook *nb, size_t i)
{
    struct plan p = {0};
    const cell *c = notebook_cell(nb, i);
    if (c->kind != CELL_CODE || when_skipped(c) || plan_cell(nb, c, &p, NULL) < 0)
        return NULL;
    cJSON *one = cJSON_CreateObject();
    AUTO_BUF name = {0};
    notebook_cell_name(nb, i, &name);
    json_set_str(one, "name", buf_cstr(&name));
    json_set_str(one, "text", p.text ? p.text : "");
    json_set_str(one, "path", p.path);
    json_set_bool(one, "lua", p.kind == PLAN_LUA);
    json_set_bool(one, "template", p.kind == PLAN_TEMPLATE);
    json_set_bool(one, "always", !c->options.when || str_eq(c->options.when, "always"));
    plan_done(&p);
    return one;
}

// What the preflight checks before the first cell of a headless run; NULL: nothing. A resumed run
// has made its objects already.
static cJSON *preflight_of(const kernel *k)
{
    const struct kernel_options *o = k->options;
    const notebook *nb = document_notebook(k->document);
    if (!o->headless || o->resume || o->no_preflight || !(reaches_cluster(o) || names_secret(nb)))
        return NULL;
    cJSON *all = cJSON_CreateObject(), *cells = json_array_at(all, "cells");
    for (size_t i = 0; i < notebook_count(nb); i++) {
        cJSON *one = preflight_cell(nb, i);
        if (one)
            cJSON_AddItemToArray(cells, one);
    }
    json_set_bool(all, "cluster", reaches_cluster(o));
    json_set(all, "parameters", cJSON_Duplicate(k->parameters, 1));
    return all;
}

static bool is_named(const char *const *names, const execution *x)
{
    for (; names && *names; names++)
        if (str_eq(*names, x->turn.cell) || str_eq(*names, x->chunk))
            return true;
    return false;
}

static void tell_attempt(kernel *k, const execution *x)
{
    if (x->attempt == 1)
        return;
    AUTO_FREE char *text = str_fmt("attempt %d of %d%s%s\n", x->attempt, x->retries + 1,
        x->after ? ", after: " : "", x->after ? x->after : "");
    port_text(k->port, x->turn.cell, NULL, "stderr", text, strlen(text));
}

// A clean-up after a failure has a time limit.
static void begin_cleanup(kernel *k, execution *x)
{
    if (!x->cleanup)
        return;
    x->earlier = cJSON_Duplicate(k->failure.what, true);
    if (!x->timeout_ns)
        x->timeout_ns = cleanup_limit;
}

// A cell without code is not counted by a kernel of Jupyter.
static bool is_counted(const struct plan *p)
{
    return p->kind != PLAN_KERNEL || p->text[strspn(p->text, " \t\r\n")];
}

// The parts of a cell that the Lua thread reads.
static void set_up(kernel *k, execution *x)
{
    x->count = is_counted(&x->plan) ? ++k->executed : 0;
    x->turn.redo = is_named(k->options->redo, x);
    x->turn.anew = has_id(k->options->again, x->turn.cell);
    displays_end_of(k->displays, x->turn.cell); // from its last execution
    glances_drop(k->effects->glances, x->turn.cell);
}

// May the cell follow another one without the loop? Only if nothing but its source decides whether
// and how it runs.
static execution *follower_of(kernel *k, const struct queue_item *item)
{
    const notebook *nb = document_notebook(k->document);
    size_t i;
    if (item->alone || item->later || item->attempt > 1 || !notebook_find(nb, item->cell_id, &i) ||
        notebook_cell(nb, i)->options.when)
        return NULL;
    execution *x = execution_new(nb, i, NULL);
    if (x && !x->timeout_ns && !x->plan.capture)
        return x;
    execution_free(x);
    return NULL;
}

// Prepares the next cells of a headless run to follow the running one.
static void look_ahead(kernel *k)
{
    bool may = k->started_all && !k->catching_up && k->running && !k->running->cleanup &&
               !k->failure.what && !k->interrupted && !k->stopping && !k->options->resume &&
               !port_error(k->port)->code;
    while (may && k->queue && k->ahead < AHEAD_MAX) {
        execution *x = follower_of(k, k->queue);
        if (!x)
            return;
        x->item = dequeue(k);
        set_up(k, x);
        k->ahead++;
        interp_follow(k->interp, x);
    }
}

static void begin(kernel *k, execution *x)
{
    begin_cleanup(k, x);
    set_up(k, x);
    k->running = x;
    if (x->count == 1) {
        x->preflight = preflight_of(k);
        record_ask_git(k, false); // in the workbench: when something is run
    }
    if (!k->options->headless)
        execution_call_by_count(x);
    x->started = clock_mono();
    x->turn.deadline = x->timeout_ns ? x->started + x->timeout_ns : 0;
    emit_running(k, x);
    port_begin_cell(k->port, x->turn.cell, x->plan.capture != NULL);
    tell_attempt(k, x);
    if (x->timeout_ns)
        limit_cell(k, x->timeout_ns);
    look_ahead(k);
    port_expect(k->port);
    interp_execute(k->interp, x);
}

// The frames of a traceback, with the cells that wrote their files.
static cJSON *explain_frames(const kernel *k, const cJSON *traceback)
{
    cJSON *frames = cJSON_CreateArray();
    const char *from;
    int line;
    for (const cJSON *frame = traceback->child; frame; frame = frame->next) {
        AUTO_BUF text = {0};
        origins_explain(k->origins, frame->valuestring, &text, &from, &line);
        cJSON_AddItemToArray(frames, cJSON_CreateString(buf_cstr(&text)));
    }
    return frames;
}

static void emit_failure(kernel *k, const execution *x)
{
    cJSON *event = message_new(MESSAGE_error);
    AUTO_BUF message = {0};
    const char *origin;
    int line = 0;
    origins_explain(k->origins, x->message ? x->message : "", &message, &origin, &line);
    json_set_str(event, "cell", x->turn.cell);
    json_set_str(event, "name", x->name ? x->name : failure_name(x->failure));
    json_set_str(event, "message", buf_cstr(&message));
    if (x->line > 0)
        json_set_int(event, "line", x->line);
    json_set_str(event, "origin", origin);
    if (origin)
        json_set_int(event, "origin_line", line);
    if (x->traceback)
        json_set(event, "traceback", explain_frames(k, x->traceback));
    if (failure_exit(x->failure) != 1)
        json_set_int(event, "exit", failure_exit(x->failure));
    port_emit(k->port, event);
}

static char *stop_message(const kernel *k, const execution *x, enum failure why)
{
    AUTO_BUF limit = {0};
    if (why == FAILURE_INTERRUPTED)
        return mem_strdup("interrupted");
    if (why == FAILURE_ERROR) {
        const err *lost = port_error(k->port);
        return mem_strdup(k->given_up && !lost->code ? k->given_up : lost->text);
    }
    if (k->run_timed_out && !x->cleanup) {
        duration_format(&limit, k->options->timeout_ns);
        return str_fmt("the run took longer than its --timeout of %s", buf_cstr(&limit));
    }
    duration_format(&limit, x->timeout_ns);
    return str_fmt("the cell ran longer than its timeout=\"%s\"", buf_cstr(&limit));
}

// After an interrupt or a time-out, that is the reason, whatever the last error was.
static void explain_stop(const kernel *k, execution *x)
{
    enum failure why = turn_why(&x->turn);
    if (why == FAILURE_NONE || x->failure == FAILURE_NONE)
        return;
    x->failure = why;
    free(STEAL(x->name));
    free(x->message);
    x->message = stop_message(k, x, why);
}

// For a resumed run: reports "verified" only if effects were checked.
static void tell_how(cJSON *event, const turn *t)
{
    long long calls = t->effects, verified = t->verified;
    bool all = verified == calls, none_new = verified + t->repeated == calls;
    if (all)
        json_set_bool(event, "resumed", true);
    json_set_str(event, "how", all ? "verified" : none_new ? "repeated" : "done");
}

static bool is_error(enum failure f)
{
    return f == FAILURE_ERROR || f == FAILURE_ASSERTION || f == FAILURE_MEMORY;
}

// Is its error the expected one? A time-out that the cell's code has raised is an error like
// others; a time-out of the cell itself is not expected.
static bool is_expected(const kernel *k, const execution *x)
{
    bool raised = x->failure == FAILURE_TIMEOUT && turn_stopped(&x->turn) == FAILURE_NONE;
    return (x->tolerant || k->options->allow_errors) && (is_error(x->failure) || raised);
}

static void emit_finished(kernel *k, const execution *x)
{
    bool stopped = x->failure == FAILURE_INTERRUPTED;
    const char *state = x->skipped                                        ? "idle"
                        : x->failure == FAILURE_NONE || is_expected(k, x) ? "ok"
                        : stopped                                         ? "cancelled"
                                                                          : "failed";
    cJSON *event = state_event(x->turn.cell, state);
    double ms = (double)((x->ended ? x->ended : clock_mono()) - x->started) / CLOCK_MS;
    json_set(event, "ms", cJSON_CreateNumber(ms));
    if (x->failure == FAILURE_NONE && k->options->resume && x->turn.effects > 0)
        tell_how(event, &x->turn);
    variables_note(k, x);
    if (x->used)
        json_set(event, "used", cJSON_Duplicate(x->used, true));
    port_emit(k->port, event);
    guard_went_on();
}

// Its output could not be kept completely.
static void fail_by_journal(const kernel *k, execution *x)
{
    const err *lost = port_error(k->port);
    if (!lost->code || x->failure != FAILURE_NONE || (x->cleanup && port_keeps(k->port)))
        return;
    free(x->message);
    x->failure = FAILURE_ERROR;
    x->message = mem_strdup(lost->text);
}

// Its error in one line. It is masked as a whole first: half a secret would not be recognised.
static char *failure_line(const kernel *k, const execution *x)
{
    AUTO_BUF message = {0}, masked = {0};
    const char *origin;
    int line = 0;
    origins_explain(k->origins, x->message ? x->message : "", &message, &origin, &line);
    mask_text(port_mask(k->port), buf_cstr(&message), message.len, &masked);
    AUTO_FREE char *first = mem_strndup(buf_cstr(&masked), strcspn(buf_cstr(&masked), "\r\n"));
    return x->line > 0 ? str_fmt("line %d: %s", x->line, first) : mem_strdup(first);
}

// Runs a failed cell again, as the next one. A failure before it still counts.
static bool retry(kernel *k, const execution *x)
{
    bool late = x->failure == FAILURE_TIMEOUT && !k->run_timed_out;
    if (x->attempt > x->retries || x->preflight || k->interrupted ||
        !(is_error(x->failure) || late) || port_error(k->port)->code)
        return false;
    struct queue_item *item = mem_alloc(sizeof *item);
    *item = (struct queue_item){.cell_id = mem_strdup(x->turn.cell),
        .alone = true,
        .later = !x->cleanup,
        .attempt = x->attempt + 1,
        .after = failure_line(k, x),
        .next = k->queue};
    k->queue = item;
    return true;
}

static void remember(kernel *k, const execution *x, enum failure failure, const char *message)
{
    if (k->failure.what)
        return;
    k->failure.what = cJSON_CreateObject();
    json_set_str(k->failure.what, "cell", x->chunk);
    json_set_str(k->failure.what, "name", failure_name(failure));
    json_set_str(k->failure.what, "message", message);
    k->failure.exit = failure_exit(failure);
    k->failure.stopped = turn_why(&x->turn) != FAILURE_NONE;
}

// The execution ended well before it noticed the stop, but the stop kept others from running:
// remembers that as the run's failure.
static void remember_stop(kernel *k, const execution *x)
{
    enum failure why = turn_why(&x->turn);
    if (!k->cut || why == FAILURE_NONE)
        return;
    AUTO_FREE char *message = stop_message(k, x, why);
    remember(k, x, why, message);
}

static void finish(kernel *k, execution *x)
{
    if (k->cell_timer)
        loop_timer_stop(k->cell_timer);
    explain_stop(k, x);
    port_end_cell(k->port, x->turn.cell);
    displays_end_complete(k->displays);
    fail_by_journal(k, x);
    origins_note(k->origins, x);
    if (x->failure != FAILURE_NONE)
        emit_failure(k, x);
    emit_finished(k, x);
    bool good = x->failure == FAILURE_NONE || is_expected(k, x);
    if (x->skipped || (!good && retry(k, x)))
        return;
    *(good                                  ? &k->counts.ok
        : x->failure == FAILURE_INTERRUPTED ? &k->counts.cancelled
                                            : &k->counts.failed) += !x->given;
    if (good) {
        remember_stop(k, x);
        return;
    }
    AUTO_FREE char *words = x->name ? str_fmt("%s: %s", x->name, x->message) : NULL;
    remember(k, x, x->failure, words ? words : x->message);
    take_back(k);
    // An interrupt has cleared the queue already; these cells were queued later. What a preflight
    // has refused left nothing to clean up.
    if (!k->interrupted)
        forget_queue(k, !x->preflight);
}

// A headless run has executed all its cells.
static void end_run(kernel *k)
{
    const char *message = json_str(k->failure.what, "message");
    if (!k->failure.what)
        life_finish(k, 0, NULL);
    else if (k->failure.stopped)
        life_end(k, k->failure.exit, message);
    else
        life_finish(k, k->failure.exit, message);
}

static void end(kernel *k, execution *x)
{
    finish(k, x);
    free(k->last_cell);
    k->last_cell = mem_strdup(x->turn.cell);
    k->last_deadline = x->turn.deadline;
    k->running = NULL;
    k->wedged = false;
    execution_free(x);
}

static void on_executed(void *arg, execution *x)
{
    kernel *k = arg;
    take_back(k);
    port_hold(k->port); // reports its end and the next one's beginning together
    end(k, x);
    running_go_on(k);
}

void running_passed(kernel *k, execution *ended)
{
    execution *x = ended->next;
    end(k, ended);
    k->ahead--;
    k->running = x;
    interp_passed(k->interp, x);
    item_free(STEAL(x->item));
    emit_running(k, x);
    port_begin_cell(k->port, x->turn.cell, false);
    look_ahead(k);
}

// A cell whose plan is wrong fails without running.
static void fail_unplanned(kernel *k, size_t i, const err *why)
{
    const cell *c = notebook_cell(document_notebook(k->document), i);
    execution x = {.turn.cell = c->id,
        .chunk = (char *)"",
        .failure = FAILURE_SYNTAX,
        .message = mem_strdup(why->text),
        .started = clock_mono(),
        .count = ++k->executed,
        .attempt = 1};
    sscanf(why->text, "line %d", &x.line);
    glances_drop(k->effects->glances, c->id);
    emit_running(k, &x);
    finish(k, &x);
    free(x.message);
}

static void begin_item(kernel *k, const struct queue_item *item)
{
    const notebook *nb = document_notebook(k->document);
    size_t i;
    err e = {0};
    if (!notebook_find(nb, item->cell_id, &i)) // it was deleted meanwhile
        return;
    const cell *c = notebook_cell(nb, i);
    bool failed = k->failure.what && !item->later;
    if (!item->alone && !when_runs(c, failed)) {
        port_emit(k->port, state_event(item->cell_id, "idle"));
        return;
    }
    execution *x = execution_new(nb, i, &e);
    if (!x) {
        fail_unplanned(k, i, &e);
        return;
    }
    x->attempt = item->attempt;
    x->after = mem_strdup(item->after);
    x->cleanup = failed;
    if (!item->alone)
        x->when = mem_strdup(when_expression(c));
    begin(k, x);
}

void running_go_on(kernel *k)
{
    const err *lost = port_error(k->port);
    if (lost->code && !k->running) { // do nothing that cannot be recorded
        port_release(k->port);
        forget_queue(k, k->failure.what && port_keeps(k->port));
        if (!k->queue)
            life_end(k, 1, lost->text);
    }
    if (!k->running)
        joining_take_terminal(k);
    if (!k->running && k->queue && !k->stopping && !k->said_busy) {
        k->said_busy = true;
        running_say_state(k, "busy", NULL);
    }
    while (
        !k->running && k->queue && !k->stopping && !k->waiting_for_sandbox && !k->waiting_for_git) {
        struct queue_item *item = dequeue(k);
        begin_item(k, item);
        item_free(item);
    }
    port_release(k->port);
    if (running_busy(k) || k->stopping)
        return;
    if (k->started_all) {
        end_run(k);
        return;
    }
    forget_failure(k);
    if (k->said_busy) {
        k->said_busy = false;
        running_say_state(k, "idle", NULL);
    }
    if (k->end_when_idle)
        life_end(k, 0, NULL);
    else
        life_settle(k);
}

void running_interrupt(kernel *k, enum failure why)
{
    running_catch_up(k);
    // Clean-ups run unless this is the second interrupt, or nothing can be recorded.
    bool cleanups = k->running && !k->interrupted && port_keeps(k->port);
    k->cut |= forget_queue(k, cleanups);
    if (!k->running) {
        if (k->started_all || (k->waiting_for_sandbox && !sandboxing_starts(k)))
            life_end(k, failure_exit(why), k->given_up ? k->given_up : "interrupted");
        return;
    }
    k->interrupted = true;
    stop_running(k, why);
}

void running_give_up(kernel *k, const char *words)
{
    if (!k->given_up && !k->interrupted)
        k->given_up = mem_strdup(words);
    running_interrupt(k, k->given_up ? FAILURE_ERROR : FAILURE_INTERRUPTED);
}

void running_time_out(kernel *k)
{
    k->run_timed_out = true;
    running_catch_up(k);
    if (!k->running || !k->running->cleanup)
        running_interrupt(k, FAILURE_TIMEOUT);
}

static void on_wedged(void *arg)
{
    kernel *k = arg;
    if (k->wedged)
        return;
    k->wedged = true;
    running_say_state(k, "wedged",
        k->options->headless ? "the cell does not react to the interrupt; the run ends without it"
                             : "the cell does not react to the interrupt; a restart ends it, and "
                               "keeps the document");
    bool over = k->options->headless || (k->options->bound && k->end_when_idle);
    if (over && k->running)
        life_abandon(k, failure_exit(turn_why(&k->running->turn)));
}

const struct interp_ops running_ops = {
    .executed = on_executed, .owing = on_owing, .wedged = on_wedged};

void running_abandon(kernel *k)
{
    execution *x = k->running; // the Lua thread still has it: read only fields that it does not
                               // write
    execution shown = {.turn.cell = x->turn.cell,
        .chunk = x->chunk,
        .attempt = 1, // the last report, as it still runs
        .timeout_ns = x->timeout_ns,
        .started = x->started,
        .failure = FAILURE_ERROR,
        .message = mem_strdup(k->options->headless
                                  ? "it did not react to the interrupt; the run ended without it"
                                  : "ended by a restart of the kernel")};
    atomic_init(&shown.turn.stop, (int)turn_why(&x->turn));
    finish(k, &shown);
    forget_queue(k, false);
    if (k->started_all)
        end_run(k);
    free(shown.message);
}
