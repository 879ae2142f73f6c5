// SPDX-License-Identifier: MIT
#include "trainer/loop.h"

#include "base/mem.h"
#include "trainer/data/order.h"
#include "trainer/nn/blame.h"
#include "trainer/sums.h"

#include <math.h>

struct whole {
    model_data data;
    batch all;
    uint32_t *rows; // to free
};

static int prepare(model *m, const evaluate_spec *spec, struct whole *w, err *e)
{
    *w = (struct whole){0};
    if (sums_prepare(m, spec, &w->data, e) < 0)
        return -1;
    w->all.n = tensor_rows(spec->x);
    w->all.rows = w->rows = mem_array(w->all.n, sizeof *w->rows);
    order_plain(w->rows, w->all.n);
    return 0;
}

static int check_loss(
    const model *m, const evaluate_spec *spec, const struct whole *w, double loss, err *e)
{
    if (isfinite(loss))
        return 0;
    AUTO_BUF where = {0};
    bool own = blame_batch(m, &w->data, &w->all, &where);
    if (spec->follows)
        *spec->follows = !own;
    return err_set(
        e, ERR_FAILED, "the loss is %s: %s", isnan(loss) ? "nan" : "infinite", buf_cstr(&where));
}

static int run(batch_fn step, model *m, const evaluate_spec *spec, bool finite, logs *out, err *e)
{
    struct whole w;
    batch_result r;
    *out = (logs){0};
    if (prepare(m, spec, &w, e) < 0)
        return -1;
    struct sums sums = sums_begin(spec->watches, spec->watch_n);
    int status = sums_run(step, m, &w.data, &w.all, &sums, &r, e);
    if (status == 0 && finite)
        status = check_loss(m, spec, &w, r.loss_sum, e);
    if (status == 0)
        sums_log(&sums, m, "", out);
    free(w.rows);
    return status;
}

int model_train_on_batch(model *m, const evaluate_spec *spec, logs *out, err *e)
{
    return run(model_train_batch, m, spec, true, out, e);
}

int model_test_on_batch(model *m, const evaluate_spec *spec, logs *out, err *e)
{
    return run(model_test_batch, m, spec, false, out, e);
}

static int gradients(model *m, const evaluate_spec *spec, double *loss, err *e)
{
    struct whole w;
    batch_result r;
    if (prepare(m, spec, &w, e) < 0)
        return -1;
    int status = model_loop_gradient(m, &w.data, &w.all, &r, e);
    *loss = r.loss_sum / (double)w.all.n;
    if (status == 0)
        status = check_loss(m, spec, &w, r.loss_sum, e);
    free(w.rows);
    return status;
}

static void heads_of(const model *m, head_spec heads[HEADS_MAX])
{
    for (size_t k = 0; k < model_output_count(m); k++) {
        compile_spec s = compile_head(model_compiled(m), k);
        heads[k] = (head_spec){
            s.loss, s.own, s.from_logits, s.label_smoothing, s.delta, s.metrics, s.loss_weight};
    }
}

int model_gradients_on_batch(
    model *m, const evaluate_spec *spec, const head_spec *losses, double *loss, err *e)
{
    head_spec before[HEADS_MAX];
    if (!losses)
        return gradients(m, spec, loss, e);
    if (!model_compiled(m))
        return err_set(e, ERR_USAGE, "the model was not compiled: call compile first");
    heads_of(m, before);
    if (model_set_heads(m, losses, e) < 0)
        return -1;
    int status = gradients(m, spec, loss, e);
    err none;
    model_set_heads(m, before, &none); // they fitted before
    return status;
}
