// SPDX-License-Identifier: MIT
#include "trainer/fit.h"

#include "base/mem.h"
#include "trainer/data/order.h"
#include "trainer/feed.h"
#include "trainer/nn/blame.h"
#include "trainer/nn/plan/objective.h"
#include "trainer/nn/train.h"
#include "trainer/show.h"
#include "trainer/sums.h"

#include <math.h>
#include <string.h>

enum { BATCH_DEFAULT = 32, PREDICT_BATCH = 256, PREDICT_WIDE = 32, EPOCH_MOST = 1 << 28 };

static int check_stop(const atomic_bool *stop, err *e)
{
    if (stop && atomic_load_explicit(stop, memory_order_relaxed))
        return err_set(e, ERR_CANCELLED, "interrupted");
    return 0;
}

static void close_feed(feed **f)
{
    feed_close(*f);
}

#define AUTO_FEED CLEANUP(close_feed)

// Opens a feed if the data needs one.
static int open_feed(feed **f, const model *m, const model_data *data, const uint32_t *order,
    size_t n, size_t size, size_t steps, err *e)
{
    if (n && feed_is_needed(m, data))
        *f = feed_open(m, data, order, n, size, steps, e);
    return *f || !n || !feed_is_needed(m, data) ? 0 : -1;
}

// Runs the rows [from, to) through `test` in batches.
static int test_rows(model *m, const model_data *data, size_t size, const atomic_bool *stop,
    show *lines, struct sums *sums, err *e)
{
    size_t n = tensor_rows(data->x), steps = 0;
    AUTO_FREE uint32_t *rows = mem_array(n + 1, sizeof *rows);
    AUTO_FEED feed *made = NULL;
    order_plain(rows, n);
    if (open_feed(&made, m, data, rows, n, size, (n + size - 1) / size, e) < 0)
        return -1;
    for (size_t from = 0; from < n; from += size) {
        batch_result r;
        model_data here = *data;
        batch b = {.rows = made ? rows : rows + from, .n = n - from < size ? n - from : size};
        if (check_stop(stop, e) < 0 || (made && feed_next(made, &here, &b.n, e) < 0) ||
            sums_run(model_test_batch, m, &here, &b, sums, &r, e) < 0)
            return -1;
        if (lines && lines->verbose == 1) {
            AUTO_LOGS l = {0};
            sums_log(sums, m, "", &l);
            show_step(lines, ++steps, &l);
        }
    }
    return 0;
}

struct fitting {
    model *m;
    const fit_spec *spec;
    model_data train, val;
    size_t batch, steps, rows; // number of rows in an epoch
    uint32_t *order, *plain;   // order: the rows of an epoch; plain: 0, 1, …
    bool goes_on;              // an epoch has not all rows, but begins where the last one ended
    uint32_t *pass;            // for that: the order of all rows
    feed *made;                // NULL: the rows are in memory
    int epoch;
    int64_t first; // number of the first epoch's order
    bool ends;     // a callback asked to end the training
};

// Calls a callback if there is one. If it returns 1, the training ends later; if -1, at once.
#define CALL(f, name, ...)                                                                         \
    ((f)->spec->callbacks.name                                                                     \
            ? answer(f, (f)->spec->callbacks.name((f)->spec->callbacks.ctx, __VA_ARGS__))          \
            : 0)

static int answer(struct fitting *f, int status)
{
    f->ends |= status > 0;
    return status < 0 ? -1 : 0;
}

// After this call all ranks that train together end, or none does.
static int agree(struct fitting *f, err *e)
{
    return CALL(f, agree, f->ends, e);
}

static batch batch_of(const struct fitting *f, size_t i)
{
    size_t left = f->rows - i * f->batch;
    return (batch){.rows = f->order + i * f->batch, .n = left < f->batch ? left : f->batch};
}

// Appends why the batch's loss is not finite.
static void blame(const struct fitting *f, const model_data *data, const batch *b, buf *out)
{
    const fit_callbacks *c = &f->spec->callbacks;
    if (!blame_batch(f->m, data, b, out) && c->follows)
        c->follows(c->ctx);
}

// Nothing can be learnt with this loss, so it ends the training, unless a callback does (Keras's
// TerminateOnNaN).
static int not_finite(
    struct fitting *f, size_t step, const model_data *data, const batch *b, double loss, err *e)
{
    AUTO_BUF where = {0};
    blame(f, data, b, &where);
    return err_set(e, ERR_FAILED, "the loss is %s at step %zu of epoch %d: %s",
        isnan(loss) ? "nan" : "infinite", step + 1, f->epoch + 1, buf_cstr(&where));
}

// After the last step no further one would notice that its update failed, so its batch is computed
// once more.
static int check_last(struct fitting *f, err *e)
{
    batch b = batch_of(f, f->steps - 1);
    batch_result r;
    model_data data = f->train;
    AUTO_FEED feed *made = NULL;
    if (open_feed(&made, f->m, &f->train, b.rows, b.n, b.n, 1, e) < 0)
        return -1;
    if (made)
        b.rows = f->plain;
    if ((made && feed_next(made, &data, &b.n, e) < 0) ||
        model_test_batch(f->m, &data, &b, &r, e) < 0)
        return -1;
    if (isfinite(r.loss_sum))
        return 0;
    AUTO_BUF where = {0};
    blame(f, &data, &b, &where);
    return err_set(e, ERR_FAILED, "the loss is %s after the last step: %s",
        isnan(r.loss_sum) ? "nan" : "infinite", buf_cstr(&where));
}

static int train_batch(struct fitting *f, size_t i, struct sums *sums, show *lines, err *e)
{
    batch b = batch_of(f, i);
    size_t left = f->rows - i * f->batch - b.n;
    b.next = left < f->batch ? left : f->batch;
    batch_result r;
    model_data data = f->train;
    if (f->made)
        b.rows = f->plain, b.next = 0;
    if (check_stop(f->spec->stop, e) < 0 || CALL(f, train_batch_begin, i, e) < 0 ||
        (f->made && feed_next(f->made, &data, &b.n, e) < 0) ||
        sums_run(model_train_batch, f->m, &data, &b, sums, &r, e) < 0)
        return -1;
    const fit_callbacks *c = &f->spec->callbacks;
    bool tells = c->progress && c->progress_is_due(c->ctx);
    if (c->train_batch_end || tells || f->spec->verbose == 1) {
        AUTO_LOGS l = {0};
        sums_log(sums, f->m, "", &l);
        show_step(lines, i + 1, &l);
        if (tells)
            c->progress(c->ctx, i, &l);
        if (CALL(f, train_batch_end, i, &l, e) < 0)
            return -1;
    }
    if (!isfinite(r.loss_sum) && !f->ends)
        return not_finite(f, i, &data, &b, r.loss_sum, e);
    return c->agree_batches ? agree(f, e) : 0;
}

static int validate(struct fitting *f, logs *l, err *e)
{
    if (!f->val.x)
        return 0;
    struct sums sums = sums_begin(f->spec->watches, f->spec->watch_n);
    size_t size = f->spec->val_batch_size ? f->spec->val_batch_size : f->batch;
    if (test_rows(f->m, &f->val, size, f->spec->stop, NULL, &sums, e) < 0)
        return -1;
    sums_log(&sums, f->m, "val_", l);
    return 0;
}

// Takes the logs over.
static void remember(history *h, int epoch, logs *l)
{
    h->epoch = mem_resize(h->epoch, h->n + 1, sizeof *h->epoch);
    h->epochs = mem_resize(h->epochs, h->n + 1, sizeof *h->epochs);
    h->epoch[h->n] = epoch;
    h->epochs[h->n++] = *l;
    *l = (logs){0};
}

static int train_steps(struct fitting *f, struct sums *sums, show *lines, err *e)
{
    AUTO_FEED feed *made = NULL;
    if (open_feed(&made, f->m, &f->train, f->order, f->rows, f->batch, f->steps, e) < 0)
        return -1;
    f->made = made;
    int status = 0;
    model_share_updates(f->m, !f->spec->whole_state);
    for (size_t i = 0; i < f->steps && !f->ends && status == 0; i++)
        status = train_batch(f, i, sums, lines, e);
    model_share_updates(f->m, false);
    return status < 0 ? -1 : model_gather(f->m, e);
}

static void order_all(const struct fitting *f, uint32_t *order, uint64_t number)
{
    const fit_spec *spec = f->spec;
    size_t n = tensor_rows(f->train.x);
    if (spec->no_shuffle)
        order_plain(order, n);
    else
        order_shuffle(order, n, spec->seed ? spec->seed : model_seed(f->m), number);
}

// The rows of the epoch of this number: all, or those that follow the epochs before it, as if the
// data was repeated without end, in a different order each time.
static void order_epoch(const struct fitting *f, uint64_t number)
{
    if (!f->goes_on)
        return order_all(f, f->order, number);
    size_t n = tensor_rows(f->train.x), take;
    uint64_t at = number * f->rows;
    for (size_t done = 0; done < f->rows; done += take, at += take) {
        size_t from = (size_t)(at % n);
        order_all(f, f->pass, at / n);
        take = n - from < f->rows - done ? n - from : f->rows - done;
        memcpy(f->order + done, f->pass + from, take * sizeof *f->order);
    }
}

static int train_epoch(struct fitting *f, int epoch, int epochs, history *out, err *e)
{
    const fit_spec *spec = f->spec;
    struct sums sums = sums_begin(spec->watches, spec->watch_n);
    AUTO_LOGS l = {0};
    f->epoch = epoch;
    if (CALL(f, epoch_begin, epoch, e) < 0 || agree(f, e) < 0)
        return -1;
    show lines = show_begin(spec->sink, spec->verbose, f->steps);
    show_epoch(&lines, epoch, epochs);
    uint64_t number = (uint64_t)(f->first + (epoch - spec->initial_epoch));
    order_epoch(f, number);
    if (train_steps(f, &sums, &lines, e) < 0)
        return -1;
    model_set_epochs(f->m, (int64_t)number + 1);
    sums_log(&sums, f->m, "", &l);
    if (validate(f, &l, e) < 0 || CALL(f, epoch_end, epoch, &l, e) < 0)
        return -1;
    show_end(&lines, &l);
    if (out)
        remember(out, epoch, &l);
    return 0;
}

static size_t steps_of_all(const fit_spec *spec)
{
    size_t size = spec->batch_size ? spec->batch_size : BATCH_DEFAULT;
    return (tensor_rows(spec->x) + size - 1) / size;
}

size_t fit_steps(const fit_spec *spec)
{
    return spec->steps_per_epoch ? spec->steps_per_epoch : steps_of_all(spec);
}

static int train_epochs(struct fitting *f, history *out, err *e)
{
    const fit_callbacks *c = &f->spec->callbacks;
    int epochs = f->spec->epochs;
    if (c->train_begin && answer(f, c->train_begin(c->ctx, e)) < 0)
        return -1;
    int epoch = f->spec->initial_epoch;
    for (; epoch < epochs; epoch++) {
        if (agree(f, e) < 0)
            return -1;
        if (f->ends)
            break;
        if (train_epoch(f, epoch, epochs, out, e) < 0)
            return -1;
    }
    // A rank whose own last step was not finite has ended with its error and does not come here.
    // The others, whose weights it has spoilt, wait for it and do not report first.
    if (f->spec->initial_epoch < epochs && epoch == epochs && agree(f, e) < 0)
        return -1;
    if (f->spec->initial_epoch < epochs && !f->ends && check_last(f, e) < 0)
        return -1;
    return c->train_end ? answer(f, c->train_end(c->ctx, e)) : 0;
}

// How many steps and rows an epoch has.
static int size_epoch(struct fitting *f, err *e)
{
    size_t n = tensor_rows(f->spec->x);
    f->batch = f->spec->batch_size ? f->spec->batch_size : BATCH_DEFAULT;
    f->batch = f->batch > n ? n : f->batch;
    f->steps = fit_steps(f->spec);
    f->goes_on = f->steps != steps_of_all(f->spec);
    if (f->goes_on && f->steps > EPOCH_MOST / f->batch)
        return err_set(e, ERR_USAGE,
            "steps_per_epoch = %zu is too many: an epoch has at most %d rows", f->steps,
            EPOCH_MOST);
    f->rows = f->goes_on ? f->steps * f->batch : n;
    return 0;
}

int model_fit(model *m, const fit_spec *spec, history *out, err *e)
{
    struct fitting f = {.m = m, .spec = spec};
    if (out)
        *out = (history){0};
    if (spec->epochs < 0 || spec->initial_epoch < 0)
        return err_set(e, ERR_USAGE, "epochs must be 0 or more");
    if (!spec->val_x != !spec->val_y)
        return err_set(e, ERR_USAGE, "validation data needs both x and y");
    evaluate_spec t = {.x = spec->x,
        .y = spec->y,
        .weights = spec->weights,
        .xs = spec->xs,
        .ys = spec->ys,
        .head_weights = spec->head_weights};
    evaluate_spec v = {.x = spec->val_x,
        .y = spec->val_y,
        .weights = spec->val_weights,
        .xs = spec->val_xs,
        .ys = spec->val_ys,
        .head_weights = spec->val_head_weights};
    if (sums_prepare(m, &t, &f.train, e) < 0)
        return -1;
    if (spec->val_x && sums_prepare(m, &v, &f.val, e) < 0)
        return err_wrap(e, "validation data");
    if (size_epoch(&f, e) < 0)
        return -1;
    size_t n = tensor_rows(spec->x);
    AUTO_FREE uint32_t *order = mem_array(f.rows, sizeof *order);
    AUTO_FREE uint32_t *pass = f.goes_on ? mem_array(n, sizeof *pass) : NULL;
    AUTO_FREE uint32_t *plain = mem_array(f.batch + 1, sizeof *plain);
    f.pass = pass;
    order_plain(plain, f.batch);
    f.order = order;
    f.plain = plain;
    f.first = model_epochs(m) > spec->initial_epoch ? model_epochs(m) : spec->initial_epoch;
    return train_epochs(&f, out, e);
}

void fit_history_done(history *h)
{
    for (size_t i = 0; i < h->n; i++)
        logs_done(&h->epochs[i]);
    free(h->epoch);
    free(h->epochs);
    *h = (history){0};
}

int model_evaluate(model *m, const evaluate_spec *spec, logs *out, err *e)
{
    model_data data;
    struct sums sums = sums_begin(spec->watches, spec->watch_n);
    size_t size = spec->batch_size ? spec->batch_size : BATCH_DEFAULT;
    *out = (logs){0};
    if (sums_prepare(m, spec, &data, e) < 0)
        return -1;
    size_t n = tensor_rows(spec->x);
    show lines = show_begin(spec->sink, spec->verbose, (n + size - 1) / size);
    if (test_rows(m, &data, size < n ? size : n, spec->stop, &lines, &sums, e) < 0)
        return -1;
    sums_log(&sums, m, "", out);
    show_end(&lines, out);
    return 0;
}

// Rows that are made on demand, and networks for pictures, need memory for each row of a batch.
static size_t predict_size(const model *m, const model_data *data, size_t wanted)
{
    bool made = feed_is_needed(m, data) && !data->x->mapped;
    bool wide = made || data->x->dims > 3;
    return wanted ? wanted : wide ? PREDICT_WIDE : PREDICT_BATCH;
}

static int predict_batches(model *m, const model_data *data, size_t wanted, tensor *const *out,
    const atomic_bool *stop, err *e)
{
    size_t n = tensor_rows(data->x), heads = model_output_count(m);
    size_t size = predict_size(m, data, wanted);
    AUTO_FREE uint32_t *rows = mem_array(n + 1, sizeof *rows);
    AUTO_FEED feed *made = NULL;
    float *at[HEADS_MAX];
    order_plain(rows, n);
    if (open_feed(&made, m, data, rows, n, size, (n + size - 1) / size, e) < 0)
        return -1;
    for (size_t from = 0; from < n; from += size) {
        model_data here = *data;
        batch b = {.rows = made ? rows : rows + from, .n = n - from < size ? n - from : size};
        for (size_t k = 0; k < heads; k++)
            at[k] = (float *)out[k]->data + from * tensor_row_size(out[k]);
        if (check_stop(stop, e) < 0 || (made && feed_next(made, &here, &b.n, e) < 0) ||
            model_predict_all(m, &here, &b, at, e) < 0)
            return -1;
    }
    return 0;
}

// The largest input and output of an operation, twice, for results that are kept meanwhile.
size_t model_predict_bytes(const model *m)
{
    size_t rows = model_input_shape(m, 0).dims > 2 ? PREDICT_WIDE : PREDICT_BATCH;
    return 2 * rows * model_widest_row(m) * sizeof(float);
}

int model_predict_list(
    model *m, const tensor *const *xs, tensor **out, const atomic_bool *stop, err *e)
{
    return model_predict_batches(m, xs, 0, out, stop, e);
}

int model_predict_batches(model *m, const tensor *const *xs, size_t batch_size, tensor **out,
    const atomic_bool *stop, err *e)
{
    model_data data;
    size_t heads = model_output_count(m);
    if (model_prepare_all(m, xs, NULL, &data, e) < 0)
        return -1;
    memset(out, 0, heads * sizeof *out);
    int status = 0;
    for (size_t k = 0; k < heads && status == 0; k++) {
        row_shape row = model_output_shape(m, k);
        out[k] = objective_outputs(tensor_rows(xs[0]), &row, e);
        status = out[k] ? 0 : -1;
    }
    status = status == 0 ? predict_batches(m, &data, batch_size, out, stop, e) : -1;
    for (size_t k = 0; k < heads && status < 0; k++) {
        tensor_free(out[k]);
        out[k] = NULL;
    }
    return status;
}

tensor *model_predict(model *m, const tensor *x, const atomic_bool *stop, err *e)
{
    tensor *out[HEADS_MAX];
    if (model_input_count(m) > 1) {
        err_set(e, ERR_USAGE, "the model has %zu inputs: give it a list", model_input_count(m));
        return NULL;
    }
    if (model_predict_list(m, &x, out, stop, e) < 0)
        return NULL;
    for (size_t k = 1; k < model_output_count(m); k++)
        tensor_free(out[k]);
    return out[0];
}
