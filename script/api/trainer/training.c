// SPDX-License-Identifier: MIT
#include "script/api/trainer/training.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/api/trainer/keras.h"

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
    struct keras keras;
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
    t->epochs = json_int_or(event, "epochs", t->epochs);
    t->first = json_int_or(event, "first", t->first);
    t->step = json_int_or(event, "step", t->step);
    t->steps = json_int_or(event, "steps", t->steps);
    if (cJSON_IsNumber(json_get(event, "elapsed")))
        t->elapsed = json_get(event, "elapsed")->valuedouble;
}

// Keras 3 tells the end of an epoch a second time, with its validation.
static void note_epoch(training *t, const cJSON *event)
{
    cJSON *epoch = cJSON_Duplicate(event, true);
    if (json_bool_or(event, "again", false) && t->history->child)
        cJSON_Delete(cJSON_DetachItemViaPointer(t->history, t->history->child->prev));
    cJSON_DeleteItemFromObjectCaseSensitive(epoch, "again");
    cJSON_AddItemToArray(t->history, epoch);
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
    t->step = t->steps;
    note_metrics(t, metrics);
    note_epoch(t, event);
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
        buf_fmt(text, "epoch %lld", (long long)t->epoch);
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
    json_set_str(rich, "label", "epoch");
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

enum training_said training_read(training *t, const char *line, size_t n, double now)
{
    bool passing = true;
    cJSON *event = training_line(line, n);
    t->marked |= event != NULL;
    if (!event && t->marked)
        return SAID_NOTHING;
    if (!event)
        event = keras_line(&t->keras, line, n, now, &passing);
    bool told = event && training_event(t, event);
    cJSON_Delete(event);
    return passing ? SAID_PASSING : told ? SAID_MORE : SAID_NOTHING;
}
