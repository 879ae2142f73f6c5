// SPDX-License-Identifier: MIT
#include "script/api/trainer/training.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/api/trainer/keras.h"
#include "script/api/trainer/printed.h"

#include <string.h>

#define PROGRESS "application/vnd.firesteel.progress+json"
#define MARK     "@firesteel {"
enum { SHOWN = 300, LATEST = 50 }; // epochs in a bundle, which is sent with every step

struct training {
    cJSON *metrics, *history;
    cJSON *shown;     // the last reported step or epoch
    cJSON *evaluated; // of the last evaluation, or NULL
    int64_t epoch, epochs, first, step, steps;
    double elapsed; // seconds
    bool by_step;   // what it calls epochs are steps
    struct keras keras;
    struct printed printed;
    bool marked; // lines of ours tell it: what stands beside them in words is the same once more
};

training *training_new(void)
{
    training *t = mem_alloc(sizeof *t);
    t->metrics = cJSON_CreateObject();
    t->history = cJSON_CreateArray();
    return t;
}

void training_free(training *t)
{
    if (!t)
        return;
    cJSON_Delete(t->metrics);
    cJSON_Delete(t->history);
    cJSON_Delete(t->shown);
    cJSON_Delete(t->evaluated);
    printed_done(&t->printed);
    free(t);
}

bool training_is_told(const training *t)
{
    return t->epoch || t->shown || t->evaluated;
}

static void keep(cJSON **at, const cJSON *metrics)
{
    cJSON_Delete(*at);
    *at = cJSON_Duplicate(metrics, true);
}

static void note_metrics(training *t, const cJSON *metrics)
{
    for (const cJSON *m = metrics ? metrics->child : NULL; m; m = m->next)
        json_set(t->metrics, m->string, cJSON_Duplicate(m, true));
}

static void note_place(training *t, const cJSON *event)
{
    t->epoch = json_int_or(event, "epoch", t->epoch);
    t->by_step = str_eq(json_str(event, "label"), "step");
    t->epochs = json_int_or(event, "epochs", t->epochs);
    t->first = json_int_or(event, "first", t->first);
    t->step = json_int_or(event, "step", t->step);
    t->steps = json_int_or(event, "steps", t->steps);
    if (cJSON_IsNumber(json_get(event, "elapsed")))
        t->elapsed = json_get(event, "elapsed")->valuedouble;
}

static bool shares_a_name(const cJSON *a, const cJSON *b)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, a)
    {
        if (json_get(b, m->string))
            return true;
    }
    return false;
}

// The epoch of which this one tells more: by Keras 3 with its validation, by scripts line by line.
// Two streams may come out of order. But an earlier epoch that tells what it has told begins
// another training.
static cJSON *told_before(const training *t, const cJSON *event)
{
    cJSON *last = t->history->child ? t->history->child->prev : NULL;
    int64_t epoch = json_int_or(event, "epoch", 0);
    for (cJSON *e = last; e; e = e == t->history->child ? NULL : e->prev)
        if (json_int_or(e, "epoch", -1) == epoch)
            return e == last || !shares_a_name(json_get(event, "metrics"), json_get(e, "metrics"))
                       ? e
                       : NULL;
    return NULL;
}

// Returns the metrics of the epoch that are known now.
static const cJSON *note_epoch(training *t, const cJSON *event)
{
    cJSON *epoch = json_bool_or(event, "again", false) ? told_before(t, event) : NULL;
    if (!epoch) {
        epoch = cJSON_Duplicate(event, true);
        cJSON_DeleteItemFromObjectCaseSensitive(epoch, "again");
        cJSON_DeleteItemFromObjectCaseSensitive(epoch, "open");
        cJSON_AddItemToArray(t->history, epoch);
        return json_get(epoch, "metrics");
    }
    cJSON *metrics = json_object_at(epoch, "metrics");
    const cJSON *m;
    cJSON_ArrayForEach(m, json_get(event, "metrics"))
    {
        json_set(metrics, m->string, cJSON_Duplicate(m, true));
    }
    return metrics;
}

bool training_event(training *t, const cJSON *event)
{
    const char *kind = json_str_or(event, "event", "");
    const cJSON *metrics = json_get(event, "metrics");
    if (str_eq(kind, "evaluate")) {
        note_metrics(t, metrics);
        keep(&t->evaluated, metrics);
        return true;
    }
    bool epoch = str_eq(kind, "epoch");
    if (!epoch && !str_eq(kind, "progress"))
        return false;
    note_place(t, event);
    keep(&t->shown, metrics);
    if (!epoch)
        return true;
    if (!json_bool_or(event, "open", false))
        t->step = t->steps;
    note_metrics(t, metrics);
    keep(&t->shown, note_epoch(t, event));
    return true;
}

static void metric_text(buf *text, const cJSON *metrics)
{
    double number;
    for (const cJSON *m = metrics ? metrics->child : NULL; m; m = m->next)
        if (json_number(m, &number)) {
            buf_fmt(text, " - %s: ", m->string);
            buf_metric(text, number);
        }
}

// "epoch 1/5 - 120/938 - loss: 0.3325 - accuracy: 0.9046"
static void print(const training *t, buf *text)
{
    if (t->epoch)
        buf_fmt(text, "%s %lld", t->by_step ? "step" : "epoch", (long long)t->epoch);
    if (t->epochs)
        buf_fmt(text, "/%lld", (long long)t->epochs);
    if (t->steps)
        buf_fmt(text, " - %lld/%lld", (long long)t->step, (long long)t->steps);
    metric_text(text, t->shown);
    if (t->evaluated)
        buf_str(text, text->len ? " - evaluated" : "evaluated");
    metric_text(text, t->evaluated);
}

// Of a long history the latest epochs are all there, so that who looks now and then misses none
// (tune's rungs), and of the others as many as curves need.
static cJSON *some_of(const cJSON *history)
{
    cJSON *some = cJSON_CreateArray();
    int n = cJSON_GetArraySize(history), old = n > SHOWN ? n - LATEST : 0;
    int step = 1 + old / (SHOWN - LATEST), i = 0;
    const cJSON *e;
    cJSON_ArrayForEach(e, history)
    {
        if (i >= old || i % step == 0) {
            cJSON *point = cJSON_CreateObject();
            json_set(point, "epoch", cJSON_Duplicate(json_get(e, "epoch"), true));
            json_set(point, "metrics", cJSON_Duplicate(json_get(e, "metrics"), true));
            cJSON_AddItemToArray(some, point);
        }
        i++;
    }
    return some;
}

cJSON *training_bundle(const training *t)
{
    AUTO_BUF text = {0};
    cJSON *data = cJSON_CreateObject(), *rich = json_object_at(data, PROGRESS);
    print(t, &text);
    json_set_str(data, "text/plain", buf_cstr(&text));
    json_set_str(rich, "label", t->by_step ? "step" : "epoch");
    json_set_int(rich, "epoch", t->epoch);
    json_set_int(rich, "epochs", t->epochs);
    json_set_int(rich, "done", t->step);
    json_set_int(rich, "total", t->steps);
    json_set_int(rich, "first", t->first);
    json_set(rich, "elapsed", cJSON_CreateNumber(t->elapsed));
    if (t->shown)
        json_set(rich, "metrics", cJSON_Duplicate(t->shown, true));
    if (t->evaluated)
        json_set(rich, "evaluated", cJSON_Duplicate(t->evaluated, true));
    if (t->history->child)
        json_set(rich, "history", some_of(t->history));
    return data;
}

const cJSON *training_metrics(const training *t)
{
    return t->metrics;
}

const cJSON *training_history(const training *t)
{
    return t->history;
}

cJSON *training_line(const char *line, size_t n)
{
    const char *mark = memmem(line, n, MARK, strlen(MARK));
    if (!mark || (mark > line && (mark < line + 3 || memcmp(mark - 3, " | ", 3) != 0)))
        return NULL;
    const char *json = mark + strlen(MARK) - 1;
    cJSON *event = json_parse(json, (size_t)(line + n - json), NULL);
    if (json_str(event, "event"))
        return event;
    cJSON_Delete(event);
    return NULL;
}

// scripts: also the forms that scripts of others print.
static enum training_said hear(training *t, const char *line, size_t n, double now, bool scripts)
{
    bool passing = true;
    cJSON *event = training_line(line, n);
    t->marked |= event != NULL;
    if (!event && t->marked)
        return SAID_NOTHING;
    if (!event)
        event = keras_line(&t->keras, line, n, now, &passing);
    if (!event && !passing && scripts)
        event = printed_line(&t->printed, line, n, &passing);
    bool told = event && training_event(t, event);
    cJSON_Delete(event);
    return passing ? SAID_PASSING : told ? SAID_MORE : SAID_NOTHING;
}

enum training_said training_read(training *t, const char *line, size_t n, double now)
{
    return hear(t, line, n, now, false);
}

enum training_said training_read_script(training *t, const char *line, size_t n, double now)
{
    return hear(t, line, n, now, true);
}
