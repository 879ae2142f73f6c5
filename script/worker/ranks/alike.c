// SPDX-License-Identifier: MIT
// At the start of fit, ranks that train together compare their steps and their models: gradients
// are not compared later, and a rank with a step more would wait for ever.
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/str.h"
#include "script/worker/ranks/collective.h"
#include "trainer/nn/config.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// What of a model is compared, each with its word in an error.
//  X(name, text)
#define TOPICS(X)                                                                                  \
    X(LAYERS, "models")                                                                            \
    X(LOSSES, "losses")                                                                            \
    X(METRICS, "metrics")                                                                          \
    X(OPTIMIZER, "optimizers")

enum topic {
#define X(name, text) TOPIC_##name,
    TOPICS(X)
#undef X
        TOPIC_COUNT
};

static const char *const topic_names[] = {
#define X(name, text) text,
    TOPICS(X)
#undef X
};

// What must be the same on all ranks, in a plan's shape.
struct fit_plan {
    int64_t steps, epochs, initial_epoch, validates, weights;
    int64_t model;                      // a digest of all topics
    int64_t whole_state, agree_batches; // a rank may want them that the others do not
};

static int64_t digest(const void *data, size_t n)
{
    uint8_t all[SHA256_SIZE];
    int64_t first;
    sha256 h;
    sha256_init(&h);
    sha256_update(&h, data, n);
    sha256_final(&h, all);
    memcpy(&first, all, sizeof first);
    return first;
}

// A layer, without its name.
static int64_t layer_digest(cJSON *layer)
{
    AUTO_BUF text = {0};
    cJSON_DeleteItemFromObject(layer, "name");
    json_print(&text, layer);
    return digest(text.data, text.len);
}

// " learning_rate 0.1", with as many digits as it takes.
static void add_number(buf *out, const char *name, double value)
{
    char text[32];
    snprintf(text, sizeof text, "%.9g", value);
    if (strtod(text, NULL) != value)
        snprintf(text, sizeof text, "%.17g", value);
    buf_fmt(out, " %s %s", name, text);
}

static void add_losses(const model *m, buf *out)
{
    for (size_t k = 0; k < model_output_count(m); k++) {
        compile_spec h = compile_head(model_compiled(m), k);
        buf_fmt(out, "%s%s", k ? ", " : "", h.own ? "a function" : loss_name(h.loss));
        buf_str(out, h.from_logits ? " from_logits" : "");
        if (h.label_smoothing > 0)
            add_number(out, "label_smoothing", h.label_smoothing);
        if (h.loss == LOSS_HUBER)
            add_number(out, "delta", h.delta > 0 ? h.delta : 1);
        if (h.loss_weight > 0)
            add_number(out, "loss_weight", h.loss_weight);
    }
}

static void add_metrics(const model *m, const fit_spec *spec, buf *out)
{
    const char *between = "";
    for (size_t k = 0; k < model_output_count(m); k++) {
        compile_spec h = compile_head(model_compiled(m), k);
        for (metric i = 0; i < METRIC_COUNT; i++)
            if (h.metrics & (metric_set)1 << i) {
                buf_fmt(out, "%s%s of output %zu", between, metric_name(i), k + 1);
                between = ", ";
            }
    }
    for (size_t i = 0; i < spec->watch_n; i++, between = ", ")
        buf_fmt(
            out, "%s%s of output %zu", between, spec->watches[i].name, spec->watches[i].output + 1);
    buf_str(out, out->len ? "" : "none");
}

static void add_optimizer(const model *m, const cJSON *config, buf *out)
{
    const optimizer_spec *o = &model_compiled(m)->optimizer;
    const declaration *d = optimizer_declaration(o->kind);
    buf_str(out, d->name);
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a)) {
        const double *value = attribute_number(a, o);
        bool rate = a->type == ATTRIBUTE_RATE;
        if (value && (rate ? o->schedule.kind == SCHEDULE_NONE : *value != 0))
            add_number(out, a->name, *value);
        if (a->type == ATTRIBUTE_BOOL && *(const bool *)attribute_of(a, o))
            buf_fmt(out, " %s", a->name);
    }
    const cJSON *optimizer = json_get(config, "optimizer");
    const char *const more[] = {"schedule", "groups"};
    const cJSON *const in[] = {optimizer, config};
    for (size_t i = 0; i < ARRAY_LEN(more); i++)
        if (json_get(in[i], more[i])) {
            buf_fmt(out, ", %s ", more[i]);
            json_print(out, json_get(in[i], more[i]));
        }
}

// "Flatten(28, 28), Dense(128) relu, Dense(10) softmax"
static void add_layers(const model *m, buf *out)
{
    for (size_t i = 0; i < model_layer_count(m); i++) {
        const layer_spec *l = model_layer(m, i);
        buf_str(out, i ? ", " : "");
        layer_text(l, out);
        if (l->kind == LAYER_DENSE && layer_activation(l) != ACTIVATION_LINEAR)
            buf_fmt(out, " %s", activation_name(layer_activation(l)));
    }
}

enum { TEXT = 240, LAYERS_TOLD = 1000 };

// What ranks tell each other of their models.
struct told {
    int64_t layer[LAYERS_TOLD]; // digests; 0: there is none
    int64_t topic[TOPIC_COUNT]; // digests
    char text[TOPIC_COUNT][TEXT];
};

static void tell_topic(struct told *t, enum topic topic, buf *text)
{
    t->topic[topic] = digest(text->data, text->len);
    str_fit(t->text[topic], TEXT, buf_cstr(text));
    buf_done(text);
}

static void tell(struct told *t, const model *m, const fit_spec *spec)
{
    AUTO_JSON *config = config_of(m);
    cJSON *layer;
    buf text = {0};
    *t = (struct told){0};
    size_t i = 0;
    cJSON_ArrayForEach(layer, json_get(config, "layers"))
    {
        int64_t one = layer_digest(layer);
        if (i < LAYERS_TOLD)
            t->layer[i++] = one;
    }
    add_layers(m, &text);
    tell_topic(t, TOPIC_LAYERS, &text);
    t->topic[TOPIC_LAYERS] = digest(t->layer, sizeof t->layer);
    add_losses(m, &text);
    tell_topic(t, TOPIC_LOSSES, &text);
    add_metrics(m, spec, &text);
    tell_topic(t, TOPIC_METRICS, &text);
    add_optimizer(m, config, &text);
    tell_topic(t, TOPIC_OPTIMIZER, &text);
}

// How rank r's model differs from rank 0's.
static int say_difference(
    const model *m, const struct told *first, const struct told *other, int r, err *e)
{
    enum topic t = 0;
    while (t + 1 < TOPIC_COUNT && first->topic[t] == other->topic[t])
        t++;
    size_t i = 0, n = model_layer_count(m);
    while (t == TOPIC_LAYERS && i < LAYERS_TOLD && first->layer[i] == other->layer[i])
        i++;
    AUTO_BUF where = {0};
    if (t == TOPIC_LAYERS && i < n)
        buf_fmt(&where, "; the first difference is in layer %zu, %s", i, model_layer(m, i)->name);
    return err_set(e, ERR_USAGE,
        "fit: the ranks have different %s: rank 0 has %.*s, but rank %d has %.*s%s", topic_names[t],
        TEXT, first->text[t], r, TEXT, other->text[t], buf_cstr(&where));
}

// All ranks know that rank r's model differs from rank 0's; now they say how.
static int models_differ(const worker *w, const model *m, const struct told *mine, int r, err *e)
{
    size_t size = (size_t)w->place.size, *counts = mem_array(size, sizeof *counts);
    struct told *all = mem_array(size, sizeof *all);
    for (size_t i = 0; i < size; i++)
        counts[i] = sizeof *mine;
    if (w->comm->allgather(mine, all, counts, e) == 0)
        say_difference(m, &all[0], &all[r], r, e);
    free(counts);
    free(all);
    return -1;
}

static int compare_fit(const struct fit_plan *a, const struct fit_plan *b, int r, err *e)
{
    const struct {
        const char *what;
        int64_t a, b;
    } parts[] = {{"epochs", a->epochs, b->epochs},
        {"as its initial_epoch", a->initial_epoch, b->initial_epoch},
        {"as its validation_data", a->validates, b->validates}};
    int64_t fewer = a->steps < b->steps ? a->steps : b->steps;
    if (a->steps != b->steps)
        return err_set(e, ERR_USAGE,
            "fit: the ranks have different numbers of steps: rank 0 has %lld in an epoch, but rank "
            "%d has %lld. Give each rank as many rows, or all of them steps_per_epoch = %lld",
            (long long)a->steps, r, (long long)b->steps, (long long)fewer);
    for (size_t i = 0; i < ARRAY_LEN(parts); i++)
        if (parts[i].a != parts[i].b)
            return err_set(e, ERR_USAGE,
                "fit: the ranks do not train alike: rank 0 has %lld %s, but rank %d has %lld",
                (long long)parts[i].a, parts[i].what, r, (long long)parts[i].b);
    return 0;
}

int collective_fit(worker *w, const model *m, fit_spec *spec, err *e)
{
    int size = w->place.size, result;
    size_t weights = 0;
    model_weight_values((model *)m, &weights);
    AUTO_FREE struct told *told = mem_alloc(sizeof *told);
    tell(told, m, spec);
    struct fit_plan mine = {(int64_t)fit_steps(spec), spec->epochs ? spec->epochs : 1,
        spec->initial_epoch, spec->val_x != NULL, (int64_t)weights,
        digest(told->topic, sizeof told->topic), spec->whole_state, spec->callbacks.agree_batches};
    struct collective c = collective_of(COLLECTIVE_FIT, NULL, 0, 0, NULL);
    _Static_assert(sizeof mine <= sizeof c.plan.shape, "a plan has room for it");
    struct plan *plans = mem_array((size_t)size, sizeof *plans);
    memcpy(c.plan.shape, &mine, sizeof mine);
    result = collective_begin(w, &c, plans, e);
    for (int r = 1; r < size && result == 0; r++) {
        struct fit_plan first, other;
        memcpy(&first, plans[0].shape, sizeof first);
        memcpy(&other, plans[r].shape, sizeof other);
        spec->whole_state |= first.whole_state || other.whole_state;
        spec->callbacks.agree_batches |= first.agree_batches || other.agree_batches;
        if (first.model != other.model || first.weights != other.weights)
            result = models_differ(w, m, told, r, e);
        else
            result = compare_fit(&first, &other, r, e);
    }
    collective_end(w, &c);
    free(plans);
    return result;
}

int collective_end_of_training(worker *w, bool wanted, err *e)
{
    AUTO_FREE struct plan *plans = mem_array((size_t)w->place.size, sizeof *plans);
    struct collective c = collective_of(COLLECTIVE_END, NULL, 0, 0, NULL);
    c.plan.integer = wanted;
    if (collective_begin(w, &c, plans, e))
        return -1;
    collective_enter(w, STALL_COMPARED, NULL);
    for (int r = 0; r < w->place.size; r++)
        wanted |= plans[r].integer != 0;
    return wanted;
}
