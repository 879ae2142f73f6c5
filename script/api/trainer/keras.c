// SPDX-License-Identifier: MIT
#include "script/api/trainer/keras.h"

#include "base/str.h"
#include "script/api/trainer/plain.h"

#include <stdlib.h>
#include <string.h>

// " [=====>....]", " ━━━━" or " - 2s": what follows the steps in Keras's lines, and in no others.
static bool is_keras_s(const char *rest, bool *bar3)
{
    static const char heavy[] = "\xe2\x94\x81"; // ━
    *bar3 = false;
    if (str_starts(rest, " - ")) {
        const char *at = rest + 3;
        size_t digits = strspn(at, "0123456789");
        return digits > 0 && at[digits] == 's';
    }
    rest += strspn(rest, " ");
    *bar3 = str_starts(rest, heavy);
    if (*rest != '[')
        return *bar3;
    size_t n = strspn(rest + 1, "=>.");
    return n > 0 && rest[1 + n] == ']';
}

// The numbers of " - loss: 0.3 - val_loss: 0.2"; NULL: there are none.
static cJSON *read_metrics(const char *rest)
{
    cJSON *metrics = NULL;
    for (const char *at = rest; (at = strstr(at, " - "));) {
        at += 3;
        size_t n = strcspn(at, ": ");
        if (n == 0 || at[n] != ':' || at[n + 1] != ' ' || str_starts(at, "ETA:"))
            continue;
        char *end, *name = strndup(at, n);
        double value = strtod(at + n + 2, &end);
        if (end > at + n + 2 && (*end == '\0' || *end == ' ')) {
            if (!metrics)
                metrics = cJSON_CreateObject();
            json_set(metrics, name, cJSON_CreateNumber(value));
        }
        free(name);
    }
    return metrics;
}

static cJSON *event_of(const struct keras *k, const char *kind, double now)
{
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", kind);
    json_set_int(event, "epoch", k->epoch);
    json_set_int(event, "epochs", k->epochs);
    json_set_int(event, "first", k->first);
    json_set(event, "elapsed", cJSON_CreateNumber(now - k->started));
    return event;
}

static cJSON *begin_epoch(struct keras *k, int64_t epoch, int64_t epochs, double now)
{
    if (!k->began || epoch <= k->epoch) { // the first, or another training's
        k->began = true;
        k->started = now;
        k->first = epoch;
    }
    k->epoch = epoch;
    k->epochs = epochs;
    k->ended = k->repeats = false;
    cJSON *event = event_of(k, "progress", now);
    json_set_int(event, "step", 0);
    return event;
}

// A training of one epoch does not announce it. Only a training tells its validation or its rate.
static bool is_training_s(const cJSON *metrics)
{
    const cJSON *m;
    cJSON_ArrayForEach(m, metrics)
    {
        if (str_starts(m->string, "val_") || str_eq(m->string, "lr") ||
            str_eq(m->string, "learning_rate"))
            return true;
    }
    return false;
}

static cJSON *evaluation(cJSON *metrics)
{
    if (!metrics) // of a prediction, which has none
        return NULL;
    cJSON *event = cJSON_CreateObject();
    json_set_str(event, "event", "evaluate");
    json_set(event, "metrics", metrics);
    return event;
}

cJSON *keras_line(struct keras *k, const char *line, size_t n, double now, bool *passing)
{
    AUTO_BUF text = {0};
    int64_t step, steps;
    bool bar3;
    *passing = false;
    const char *at = plain_line(line, n, &text);
    if (!at)
        return NULL;
    if (str_starts(at, "Epoch ")) {
        at += strlen("Epoch ");
        bool whole = plain_pair(&at, &step, &steps) && steps && !at[strspn(at, " ")];
        return whole ? begin_epoch(k, step, steps, now) : NULL;
    }
    if (!plain_pair(&at, &step, &steps) || !is_keras_s(at, &bar3))
        return NULL;
    *passing = strstr(at, "- ETA:") || (steps && step < steps);
    bool evaluates = k->ended || k->epoch == 0;
    if (*passing && evaluates) {
        k->repeats = false;
        return NULL;
    }
    cJSON *metrics = read_metrics(at);
    if (evaluates && !(k->repeats && bar3)) {
        if (!is_training_s(metrics))
            return evaluation(metrics);
        cJSON_Delete(begin_epoch(k, 1, 1, now));
        evaluates = false;
    }
    cJSON *event = event_of(k, *passing ? "progress" : "epoch", now);
    json_set_int(event, "step", step);
    json_set_int(event, "steps", steps ? steps : step);
    json_set(event, "metrics", metrics);
    if (k->repeats && evaluates)
        json_set_bool(event, "again", true);
    k->ended = !*passing;
    k->repeats = !*passing && bar3;
    return event;
}
