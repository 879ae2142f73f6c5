// SPDX-License-Identifier: MIT
#include "trainer/sums.h"

#include "trainer/nn/plan/objective.h"

#include <stdio.h>

int sums_prepare(model *m, const evaluate_spec *spec, model_data *out, err *e)
{
    if ((model_input_count(m) > 1) != (spec->xs != NULL) ||
        (model_output_count(m) > 1) != (spec->ys != NULL))
        return err_set(e, ERR_USAGE,
            "the model has %zu input%s and %zu output%s: give it as many tensors",
            model_input_count(m), model_input_count(m) > 1 ? "s" : "", model_output_count(m),
            model_output_count(m) > 1 ? "s" : "");
    if (model_prepare_lists(m, spec->x, spec->y, spec->xs, spec->ys, out, e) < 0)
        return -1;
    out->weights = spec->weights;
    out->head_weights = spec->head_weights;
    return model_check_weights(m, out, e);
}

struct sums sums_begin(const watch *watches, size_t n)
{
    for (size_t i = 0; i < n; i++)
        watches[i].ops->reset(watches[i].ctx);
    return (struct sums){.watches = watches, .watch_n = n};
}

static void add(struct sums *s, const batch_result *r, size_t n)
{
    s->loss += r->loss_sum;
    for (size_t k = 0; k < HEADS_MAX; k++) {
        s->head_loss[k] += r->head_loss[k];
        for (size_t i = 0; i < METRIC_COUNT; i++) {
            s->metric[k][i].sum += r->head_metric[k][i].sum;
            s->metric[k][i].n += r->head_metric[k][i].n;
        }
    }
    s->rows += n;
}

_Static_assert(LAYER_NAME_SIZE + sizeof "val__root_mean_squared_percentage_error" < LOG_NAME_SIZE,
    "a log's name has room for all that it is made of");

// The metrics of output k: "val_accuracy", and with several outputs "val_sales_mae".
static void head_log(const struct sums *s, const model *m, size_t k, const char *prefix, logs *l)
{
    char name[LOG_NAME_SIZE];
    metric_set metrics = compile_head(model_compiled(m), k).metrics;
    for (metric i = 0; i < METRIC_COUNT; i++) {
        if (!(metrics & (metric_set)1 << i))
            continue;
        snprintf(name, sizeof name, "%s%s", prefix, metric_name(i));
        logs_set(l, name, metric_value(i, s->metric[k][metric_formula(i)]));
    }
}

void sums_log(const struct sums *s, const model *m, const char *prefix, logs *l)
{
    char name[LOG_NAME_SIZE];
    double rows = (double)s->rows;
    size_t heads = model_output_count(m);
    snprintf(name, sizeof name, "%sloss", prefix);
    logs_set(l, name, s->loss / rows);
    for (size_t k = 0; k < heads; k++) {
        AUTO_BUF whose = {0};
        buf_str(&whose, prefix);
        if (heads > 1) {
            buf_fmt(&whose, "%s_", model_output_layer(m, k)->name);
            snprintf(name, sizeof name, "%sloss", buf_cstr(&whose));
            logs_set(l, name, s->head_loss[k] / rows);
        }
        head_log(s, m, k, buf_cstr(&whose), l);
    }
    for (size_t i = 0; i < s->watch_n; i++) {
        const watch *w = &s->watches[i];
        AUTO_BUF full = {0};
        buf_str(&full, prefix);
        if (heads > 1)
            buf_fmt(&full, "%s_", model_output_layer(m, w->output)->name);
        buf_str(&full, w->name);
        logs_set(l, buf_cstr(&full), w->ops->value(w->ctx));
    }
}

// Passes a batch's targets and outputs to all watches of output k.
static int show_batch(
    const struct sums *s, const tensor *y, const batch *b, size_t k, const tensor *p, err *e)
{
    int status = 0;
    tensor *rows = objective_targets(y, b->rows, b->n, p, e);
    for (size_t i = 0; rows && status == 0 && i < s->watch_n; i++)
        if (s->watches[i].output == k)
            status = s->watches[i].ops->add(s->watches[i].ctx, rows, p, e);
    tensor_free(rows);
    return rows ? status : -1;
}

// Room for the outputs that are watched.
static int make_outputs(const model *m, const struct sums *s, batch *b, tensor **p, err *e)
{
    for (size_t i = 0; i < s->watch_n; i++) {
        size_t k = s->watches[i].output;
        row_shape out = model_output_shape(m, k);
        if (!p[k] && !(p[k] = objective_outputs(b->n, &out, e)))
            return -1;
        b->outputs[k] = p[k]->data;
    }
    return 0;
}

int sums_run(batch_fn run, model *m, const model_data *data, batch *b, struct sums *s,
    batch_result *r, err *e)
{
    tensor *p[HEADS_MAX] = {0};
    int status = make_outputs(m, s, b, p, e);
    status = status == 0 ? run(m, data, b, r, e) : -1;
    if (status == 0)
        add(s, r, b->n);
    for (size_t k = 0; k < HEADS_MAX; k++) {
        if (status == 0 && p[k])
            status = show_batch(s, data->ys ? data->ys[k] : data->y, b, k, p[k], e);
        tensor_free(p[k]);
    }
    return status;
}
