// SPDX-License-Identifier: MIT
#include "trainer/nn/config.h"

#include "base/mem.h"

#include <string.h>

enum { LAYERS_MAX = 1000 };

static cJSON *layer_json(const layer_spec *l)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "type", layer_kind_name(l->kind));
    json_set_str(j, "name", l->name);
    if (l->kind == LAYER_DENSE) {
        json_set_int(j, "units", (int64_t)l->units);
        json_set_int(j, "inputs", (int64_t)l->inputs);
        json_set_str(j, "activation", activation_name(l->activation));
        json_set_bool(j, "use_bias", !l->no_bias);
    } else if (l->kind == LAYER_DROPOUT) {
        json_set(j, "rate", cJSON_CreateNumber((double)l->rate));
    } else {
        cJSON *shape = json_array_at(j, "shape");
        for (int i = 0; i < l->dims; i++)
            cJSON_AddItemToArray(shape, cJSON_CreateNumber((double)l->shape[i]));
    }
    return j;
}

static cJSON *schedule_json(const schedule *s)
{
    cJSON *j = cJSON_CreateObject();
    schedule copy = *s;
    double *value;
    const char *name;
    json_set_str(j, "type", schedule_name(s->kind));
    for (size_t i = 0; (name = schedule_number(&copy, i, &value)); i++)
        json_set(j, name, cJSON_CreateNumber(*value));
    json_set_bool(j, "staircase", s->staircase);
    json_set_bool(j, "cycle", s->cycle);
    for (size_t i = 0; i < s->pieces; i++) {
        cJSON_AddItemToArray(json_array_at(j, "values"), cJSON_CreateNumber(s->value[i]));
        if (i + 1 < s->pieces)
            cJSON_AddItemToArray(
                json_array_at(j, "boundaries"), cJSON_CreateNumber(s->boundary[i]));
    }
    return j;
}

static cJSON *optimizer_json(const optimizer_spec *o)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "type", optimizer_name(o->kind));
    double *value;
    const char *name;
    optimizer_spec copy = *o;
    for (size_t i = 0; (name = optimizer_number(&copy, i, &value)); i++)
        json_set(j, name, cJSON_CreateNumber(*value));
    if (o->kind == OPTIMIZER_SGD)
        json_set_bool(j, "nesterov", o->nesterov);
    if (o->schedule.kind != SCHEDULE_NONE)
        json_set(j, "schedule", schedule_json(&o->schedule));
    return j;
}

cJSON *config_of(const model *m)
{
    cJSON *j = cJSON_CreateObject(), *layers = json_array_at(j, "layers");
    for (size_t i = 0; i < model_layer_count(m); i++)
        cJSON_AddItemToArray(layers, layer_json(model_layer(m, i)));
    json_set(j, "seed", json_new_int((int64_t)model_seed(m)));
    const compile_spec *c = model_compiled(m);
    if (!c)
        return j;
    json_set_int(j, "steps", model_steps(m));
    json_set_int(j, "epochs", model_epochs(m));
    json_set_str(j, "loss", loss_name(c->loss));
    json_set_bool(j, "from_logits", c->from_logits);
    if (c->label_smoothing > 0)
        json_set(j, "label_smoothing", cJSON_CreateNumber(c->label_smoothing));
    if (c->loss == LOSS_HUBER)
        json_set(j, "delta", cJSON_CreateNumber(c->delta));
    cJSON *metrics = json_array_at(j, "metrics");
    for (metric i = 0; i < METRIC_COUNT; i++)
        if (c->metrics & (metric_set)1 << i)
            cJSON_AddItemToArray(metrics, cJSON_CreateString(metric_name(i)));
    json_set(j, "optimizer", optimizer_json(&c->optimizer));
    return j;
}

static double number_or(const cJSON *j, const char *key, double otherwise)
{
    const cJSON *n = json_get(j, key);
    return cJSON_IsNumber(n) ? n->valuedouble : otherwise;
}

// A size within sane bounds, or 0.
static size_t size_of(const cJSON *j)
{
    int64_t n;
    return j && json_int(j, &n) && n > 0 && n <= UINT32_MAX ? (size_t)n : 0;
}

static int read_shape(const cJSON *j, layer_spec *l, err *e)
{
    const cJSON *item, *shape = json_get(j, "shape");
    cJSON_ArrayForEach(item, shape)
    {
        if (l->dims == TENSOR_MAX_DIMS || !(l->shape[l->dims++] = size_of(item)))
            return err_set(
                e, ERR_INVALID, "\"shape\" is not a list of at most %d sizes", TENSOR_MAX_DIMS);
    }
    return 0;
}

static int read_layer(const cJSON *j, layer_spec *l, err *e)
{
    const char *type = json_str_or(j, "type", ""), *name = json_str_or(j, "name", "");
    if (layer_kind_parse(type, &l->kind, e) < 0)
        return -1;
    if (strlen(name) >= sizeof l->name)
        return err_set(e, ERR_INVALID, "the name is too long");
    memcpy(l->name, name, strlen(name) + 1);
    l->units = size_of(json_get(j, "units"));
    l->inputs = size_of(json_get(j, "inputs"));
    l->rate = (float)number_or(j, "rate", 0);
    l->no_bias = !json_bool_or(j, "use_bias", true);
    if (activation_parse(json_str_or(j, "activation", "linear"), &l->activation, e) < 0)
        return -1;
    return read_shape(j, l, e);
}

static int read_schedule(const cJSON *j, schedule *s, err *e)
{
    schedule_kind kind;
    const cJSON *item;
    double *value;
    const char *name;
    size_t boundaries = 0;
    if (!j)
        return 0;
    if (schedule_parse(json_str_or(j, "type", ""), &kind, e) < 0)
        return -1;
    *s = schedule_default(kind);
    for (size_t i = 0; (name = schedule_number(s, i, &value)); i++)
        *value = number_or(j, name, *value);
    s->staircase = json_bool_or(j, "staircase", false);
    s->cycle = json_bool_or(j, "cycle", false);
    cJSON_ArrayForEach(item, json_get(j, "values")) if (s->pieces < SCHEDULE_PIECES)
        s->value[s->pieces++] = item->valuedouble;
    cJSON_ArrayForEach(item, json_get(j, "boundaries")) if (boundaries < SCHEDULE_PIECES)
        s->boundary[boundaries++] = item->valuedouble;
    return 0;
}

static int read_optimizer(const cJSON *j, optimizer_spec *o, err *e)
{
    optimizer_kind kind;
    if (optimizer_parse(json_str_or(j, "type", ""), &kind, e) < 0)
        return -1;
    *o = optimizer_default(kind);
    double *value;
    const char *name;
    for (size_t i = 0; (name = optimizer_number(o, i, &value)); i++)
        *value = number_or(j, name, *value);
    o->nesterov = json_bool_or(j, "nesterov", false);
    return read_schedule(json_get(j, "schedule"), &o->schedule, e);
}

static int compile(model *m, const cJSON *config, err *e)
{
    compile_spec c = {.from_logits = json_bool_or(config, "from_logits", false),
        .label_smoothing = number_or(config, "label_smoothing", 0),
        .delta = number_or(config, "delta", 0)};
    const char *loss = json_str(config, "loss");
    const cJSON *item;
    if (!loss)
        return 0;
    cJSON_ArrayForEach(item, json_get(config, "metrics"))
    {
        metric known;
        if (metric_parse(cJSON_IsString(item) ? item->valuestring : "", &known, e) < 0)
            return -1;
        c.metrics |= (metric_set)1 << known;
    }
    if (loss_parse(loss, &c.loss, e) < 0 ||
        read_optimizer(json_get(config, "optimizer"), &c.optimizer, e) < 0 ||
        model_compile(m, &c, e) < 0)
        return -1;
    int64_t steps = json_int_or(config, "steps", 0), epochs = json_int_or(config, "epochs", 0);
    model_set_steps(m, steps < 0 ? 0 : steps);
    model_set_epochs(m, epochs < 0 ? 0 : epochs);
    return 0;
}

model *config_model(const cJSON *config, err *e)
{
    const cJSON *item, *layers = json_get(config, "layers");
    int n = cJSON_GetArraySize(layers), i = 0;
    if (!cJSON_IsArray(layers) || n < 1 || n > LAYERS_MAX) {
        err_set(e, ERR_INVALID, "the configuration has no list \"layers\"");
        return NULL;
    }
    AUTO_FREE layer_spec *specs = mem_array((size_t)n, sizeof *specs);
    cJSON_ArrayForEach(item, layers)
    {
        if (read_layer(item, &specs[i], e) < 0) {
            err_wrap(e, "layers[%d]", i);
            return NULL;
        }
        i++;
    }
    uint64_t seed = (uint64_t)json_int_or(config, "seed", MODEL_SEED);
    model *m = model_new(specs, (size_t)n, seed, e);
    if (m && compile(m, config, e) < 0) {
        model_free(m);
        return NULL;
    }
    return m;
}
