// SPDX-License-Identifier: MIT
#include "trainer/nn/config.h"

#include "base/mem.h"
#include "trainer/nn/layer/op.h"

#include <math.h>
#include <string.h>

enum { LAYERS_MAX = 1000 };

// {"kernel_initializer": {"type": "HeNormal"}, "kernel_regularizer": {"l1": 0, "l2": 0.01}}
static void write_weights(const layer_spec *l, const op *own, cJSON *j)
{
    AUTO_BUF key = {0};
    for (size_t i = 0; i < LAYER_WEIGHTS && own->weight[i].option; i++) {
        const weight_spec *w = &l->weight[i];
        buf_clear(&key);
        buf_fmt(&key, "%s_initializer", own->weight[i].option);
        if (w->start.kind != INITIALIZER_DEFAULT)
            json_set(j, buf_cstr(&key), initializer_json(&w->start));
        if (!(w->l1 > 0) && !(w->l2 > 0))
            continue;
        cJSON *regularizer = cJSON_CreateObject();
        json_set(regularizer, "l1", cJSON_CreateNumber(w->l1));
        json_set(regularizer, "l2", cJSON_CreateNumber(w->l2));
        buf_clear(&key);
        buf_fmt(&key, "%s_regularizer", own->weight[i].option);
        json_set(j, buf_cstr(&key), regularizer);
    }
}

static cJSON *layer_json(const layer_spec *l)
{
    cJSON *j = cJSON_CreateObject();
    const op *own = op_of(l->kind);
    json_set_str(j, "type", layer_kind_name(l->kind));
    json_set_str(j, "name", l->name);
    if (l->own)
        declaration_write(&own->is, l->own, j);
    write_weights(l, own, j);
    if (l->in.dims)
        json_write_sizes(j, "input_shape", l->in.size, (size_t)l->in.dims);
    if (l->frozen)
        json_set_bool(j, "trainable", false);
    if (l->remat)
        json_set(j, "remat", cJSON_CreateNumber((double)l->remat));
    if (l->half)
        json_set_str(j, "dtype", "mixed_bfloat16");
    if (l->shares)
        json_set_int(j, "shares", (int64_t)l->shares);
    if (l->froms)
        json_write_sizes(j, "from", l->from, l->froms);
    return j;
}

static cJSON *schedule_json(const schedule *s)
{
    cJSON *j = cJSON_CreateObject();
    json_set_str(j, "type", schedule_name(s->kind));
    declaration_write(schedule_declaration(s->kind), s, j);
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
    declaration_write(optimizer_declaration(o->kind), o, j);
    if (o->schedule.kind != SCHEDULE_NONE)
        json_set(j, "schedule", schedule_json(&o->schedule));
    return j;
}

static cJSON *groups_json(const param_group *groups, size_t n)
{
    cJSON *list = cJSON_CreateArray();
    for (size_t i = 0; i < n; i++) {
        const param_group *p = &groups[i];
        cJSON *j = cJSON_CreateObject();
        json_set_str(j, "weights", p->weights);
        if (!isnan(p->rate))
            json_set(j, "learning_rate_multiplier", cJSON_CreateNumber(p->rate));
        if (!isnan(p->decay))
            json_set(j, "weight_decay", cJSON_CreateNumber(p->decay));
        if (p->trainable >= 0)
            json_set_bool(j, "trainable", p->trainable);
        cJSON_AddItemToArray(list, j);
    }
    return list;
}

// What an output is trained by.
static void write_head(cJSON *j, const compile_spec *c)
{
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
    if (c->loss_weight > 0)
        json_set(j, "loss_weight", cJSON_CreateNumber(c->loss_weight));
}

cJSON *config_of(const model *m)
{
    cJSON *j = cJSON_CreateObject(), *layers = json_array_at(j, "layers");
    for (size_t i = 0; i < model_layer_count(m); i++)
        cJSON_AddItemToArray(layers, layer_json(model_layer(m, i)));
    size_t inputs, outputs;
    const size_t *input = model_input_layers(m, &inputs),
                 *output = model_output_layers(m, &outputs);
    if (inputs) {
        json_write_sizes(j, "inputs", input, inputs);
        json_write_sizes(j, "outputs", output, outputs);
    }
    json_set(j, "seed", json_new_int((int64_t)model_seed(m)));
    if (model_is_named(m))
        json_set_str(j, "name", model_name(m));
    const compile_spec *c = model_compiled(m);
    if (!c)
        return j;
    json_set_int(j, "steps", model_steps(m));
    json_set_int(j, "epochs", model_epochs(m));
    bool own = model_has_own_loss(m); // without a loss: whoever reads it compiles it again
    if (!own)
        write_head(j, c);
    cJSON *more = model_output_count(m) > 1 && !own ? json_array_at(j, "more") : NULL;
    for (size_t k = 1; more && k < model_output_count(m); k++) {
        compile_spec head = compile_head(c, k);
        cJSON *item = cJSON_CreateObject();
        write_head(item, &head);
        cJSON_AddItemToArray(more, item);
    }
    json_set(j, "optimizer", optimizer_json(&c->optimizer));
    if (c->group_count)
        json_set(j, "groups", groups_json(c->groups, c->group_count));
    return j;
}

static double number_or(const cJSON *j, const char *key, double otherwise)
{
    const cJSON *n = json_get(j, key);
    return cJSON_IsNumber(n) ? n->valuedouble : otherwise;
}

// A list of numbers of layers, new; its length in *n, -1 with e.
static size_t *read_numbers(const cJSON *j, const char *key, size_t *n, err *e)
{
    const cJSON *list = json_get(j, key);
    int most = cJSON_GetArraySize(list);
    *n = 0;
    if (!cJSON_IsArray(list))
        return NULL;
    size_t *numbers = mem_array((size_t)most + 1, sizeof *numbers);
    int got = json_read_sizes(j, key, numbers, most, true, e);
    if (got >= 0) {
        *n = (size_t)got;
        return numbers;
    }
    free(numbers);
    *n = SIZE_MAX;
    return NULL;
}

static int read_weights(const cJSON *j, const op *own, layer_spec *l, err *e)
{
    AUTO_BUF key = {0};
    for (size_t i = 0; i < LAYER_WEIGHTS && own->weight[i].option; i++) {
        weight_spec *w = &l->weight[i];
        buf_clear(&key);
        buf_fmt(&key, "%s_initializer", own->weight[i].option);
        const cJSON *start = json_get(j, buf_cstr(&key));
        if (start && initializer_read(start, &w->start, e) < 0)
            return err_wrap(e, "%s", buf_cstr(&key));
        buf_clear(&key);
        buf_fmt(&key, "%s_regularizer", own->weight[i].option);
        const cJSON *regularizer = json_get(j, buf_cstr(&key));
        if (regularizer && (json_read_number(regularizer, "l1", 0, &w->l1, e) < 0 ||
                               json_read_number(regularizer, "l2", 0, &w->l2, e) < 0))
            return err_wrap(e, "%s", buf_cstr(&key));
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
    const op *what = op_of(l->kind);
    void *own = what->is.size ? mem_alloc(what->is.size) : NULL;
    l->own = own;
    if ((own && declaration_read(&what->is, own, j, e) < 0) || read_weights(j, what, l, e) < 0 ||
        (what->read_older && what->read_older(l, own, j, e) < 0))
        return -1;
    l->in.dims = json_read_sizes(j, "input_shape", l->in.size, TENSOR_MAX_DIMS, false, e);
    if (l->in.dims < 0)
        return -1;
    l->frozen = !json_bool_or(j, "trainable", true);
    l->half = strcmp(json_str_or(j, "dtype", ""), "mixed_bfloat16") == 0;
    l->shares = json_size(j, "shares");
    l->remat = json_size(j, "remat");
    l->from = read_numbers(j, "from", &l->froms, e);
    return l->froms == SIZE_MAX ? -1 : 0;
}

static int read_schedule(const cJSON *j, schedule *s, err *e)
{
    schedule_kind kind;
    const cJSON *item;
    size_t boundaries = 0;
    if (!j)
        return 0;
    if (schedule_parse(json_str_or(j, "type", ""), &kind, e) < 0 ||
        declaration_read(schedule_declaration(kind), s, j, e) < 0)
        return -1;
    s->kind = kind;
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
    if (declaration_read(optimizer_declaration(kind), o, j, e) < 0)
        return -1;
    o->kind = kind;
    return read_schedule(json_get(j, "schedule"), &o->schedule, e);
}

// The names stay in the JSON.
static param_group *read_groups(const cJSON *list, size_t *n)
{
    const cJSON *item;
    param_group *groups = mem_array((size_t)cJSON_GetArraySize(list) + 1, sizeof *groups);
    *n = 0;
    cJSON_ArrayForEach(item, list)
    {
        const cJSON *trainable = json_get(item, "trainable");
        groups[(*n)++] = (param_group){.weights = json_str_or(item, "weights", ""),
            .rate = number_or(item, "learning_rate_multiplier", NAN),
            .decay = number_or(item, "weight_decay", NAN),
            .trainable = cJSON_IsBool(trainable) ? cJSON_IsTrue(trainable) : -1};
    }
    return groups;
}

static int read_head(const cJSON *j, head_spec *h, err *e)
{
    const cJSON *item;
    *h = (head_spec){.from_logits = json_bool_or(j, "from_logits", false),
        .label_smoothing = number_or(j, "label_smoothing", 0),
        .delta = number_or(j, "delta", 0),
        .loss_weight = number_or(j, "loss_weight", 0)};
    cJSON_ArrayForEach(item, json_get(j, "metrics"))
    {
        metric known;
        if (metric_parse(cJSON_IsString(item) ? item->valuestring : "", &known, e) < 0)
            return -1;
        h->metrics |= (metric_set)1 << known;
    }
    return loss_parse(json_str_or(j, "loss", ""), &h->loss, e);
}

static int compile(model *m, const cJSON *config, err *e)
{
    head_spec first;
    if (!json_str(config, "loss"))
        return 0;
    if (read_head(config, &first, e) < 0)
        return -1;
    compile_spec c = {.loss = first.loss,
        .from_logits = first.from_logits,
        .label_smoothing = first.label_smoothing,
        .delta = first.delta,
        .metrics = first.metrics,
        .loss_weight = first.loss_weight};
    const cJSON *more = json_get(config, "more");
    for (int k = 0; k + 1 < (int)model_output_count(m); k++)
        if (read_head(cJSON_GetArrayItem(more, k), &c.more[k], e) < 0)
            return -1;
    AUTO_FREE param_group *groups = read_groups(json_get(config, "groups"), &c.group_count);
    c.groups = groups;
    if (read_optimizer(json_get(config, "optimizer"), &c.optimizer, e) < 0 ||
        model_compile(m, &c, e) < 0)
        return -1;
    int64_t steps = json_int_or(config, "steps", 0), epochs = json_int_or(config, "epochs", 0);
    model_set_steps(m, steps < 0 ? 0 : steps);
    model_set_epochs(m, epochs < 0 ? 0 : epochs);
    return 0;
}

// Reads the layers and how they are connected, and makes the model of them.
static model *read_model(const cJSON *config, layer_spec *specs, size_t n, size_t most, err *e)
{
    const cJSON *item;
    int i = 0;
    graph_spec spec = {.layers = specs, .n = n, .most = most};
    cJSON_ArrayForEach(item, json_get(config, "layers"))
    {
        if (read_layer(item, &specs[i], e) < 0) {
            err_wrap(e, "layers[%d]", i);
            return NULL;
        }
        i++;
    }
    AUTO_FREE size_t *inputs = read_numbers(config, "inputs", &spec.input_count, e);
    AUTO_FREE size_t *outputs = read_numbers(config, "outputs", &spec.output_count, e);
    if (spec.input_count == SIZE_MAX || spec.output_count == SIZE_MAX)
        return NULL;
    spec.inputs = inputs;
    spec.outputs = outputs;
    spec.seed = (uint64_t)json_int_or(config, "seed", MODEL_SEED);
    spec.name = json_str_or(config, "name", NULL);
    return model_new_graph(&spec, e);
}

model *config_model(const cJSON *config, size_t most, err *e)
{
    const cJSON *layers = json_get(config, "layers");
    int n = cJSON_GetArraySize(layers);
    if (!cJSON_IsArray(layers) || n < 1 || n > LAYERS_MAX) {
        err_set(e, ERR_INVALID, "the configuration has no list \"layers\"");
        return NULL;
    }
    AUTO_FREE layer_spec *specs = mem_array((size_t)n, sizeof *specs);
    model *m = read_model(config, specs, (size_t)n, most, e);
    for (int i = 0; i < n; i++) {
        free((void *)specs[i].from);
        void *own = (void *)(uintptr_t)specs[i].own;
        if (own)
            declaration_done(&op_of(specs[i].kind)->is, own);
        free(own);
    }
    if (m && compile(m, config, e) < 0) {
        model_free(m);
        return NULL;
    }
    return m;
}
