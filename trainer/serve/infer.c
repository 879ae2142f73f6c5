// SPDX-License-Identifier: MIT
#include "trainer/serve/infer.h"

#include "base/json/json.h"
#include "base/mem.h"
#include "base/str.h"
#include "trainer/fit.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum {
    INPUTS_MAX = 16,
    ANSWER_MOST = 4 << 20, // numbers: some 64 MiB of text
    STOP_EACH = 64 << 10,  // bytes written between two checks of stop
};

static void put_string(buf *out, const char *text)
{
    AUTO_JSON *j = cJSON_CreateString(text);
    json_print(out, j);
}

// Inputs and outputs of a graph are named after its layers; a plain sequence of layers has "input".
static const char *input_name(const model *m, size_t i)
{
    size_t n = 0;
    const size_t *layers = model_input_layers(m, &n);
    return i < n ? model_layer(m, layers[i])->name : "input";
}

static const char *output_name(const model *m, size_t i)
{
    return model_output_layer(m, i)->name;
}

static void put_port(buf *out, const char *name, const char *type, row_shape shape)
{
    buf_str(out, "{\"name\":");
    put_string(out, name);
    buf_fmt(out, ",\"datatype\":\"%s\",\"shape\":[-1", type);
    for (int i = 0; i < shape.dims; i++)
        buf_fmt(out, ",%zu", shape.size[i]);
    buf_str(out, "]}");
}

void infer_metadata(const model *m, const char *name, buf *out)
{
    buf_str(out, "{\"name\":");
    put_string(out, name);
    buf_str(out, ",\"versions\":[\"1\"],\"platform\":\"firesteel\",\"inputs\":[");
    for (size_t i = 0; i < model_input_count(m); i++) {
        buf_str(out, i ? "," : "");
        put_port(out, input_name(m, i), model_input_has_indices(m, i) ? "INT64" : "FP32",
            model_input_shape(m, i));
    }
    buf_str(out, "],\"outputs\":[");
    for (size_t i = 0; i < model_output_count(m); i++) {
        buf_str(out, i ? "," : "");
        put_port(out, output_name(m, i), "FP32", model_output_shape(m, i));
    }
    buf_str(out, "]}");
}

typedef const char *(*name_fn)(const model *m, size_t i);

// The number of the input or output that an item of a request names; -1 with e.
static long find_name(
    const model *m, const cJSON *item, const char *what, name_fn name_of, size_t n, err *e)
{
    AUTO_BUF known = {0};
    const char *name = json_str(item, "name");
    for (size_t i = 0; i < n; i++) {
        if (str_eq(name, name_of(m, i)))
            return (long)i;
        buf_fmt(&known, "%s%s", i ? ", " : "", name_of(m, i));
    }
    return name ? err_set(e, ERR_INVALID, "the model has no %s %s; it has %s", what, name,
                      buf_cstr(&known))
                : err_set(e, ERR_INVALID, "an %s has no name; the model has %s", what,
                      buf_cstr(&known));
}

// The inputs in the model's order.
static int find_inputs(
    const model *m, const cJSON *list, const cJSON *inputs[INPUTS_MAX], size_t n, err *e)
{
    for (const cJSON *j = list->child; j; j = j->next) {
        long i = find_name(m, j, "input", input_name, n, e);
        if (i < 0)
            return -1;
        if (inputs[i])
            return err_set(e, ERR_INVALID, "input %s is given twice", input_name(m, (size_t)i));
        inputs[i] = j;
    }
    return 0;
}

// The requested outputs, in their order; all, unless the request names some.
static int read_outputs(
    const model *m, const cJSON *request, size_t asked[HEADS_MAX], size_t *n, err *e)
{
    const cJSON *list = json_get(request, "outputs");
    size_t all = model_output_count(m);
    bool taken[HEADS_MAX] = {0};
    *n = 0;
    if (list && !cJSON_IsNull(list) && !cJSON_IsArray(list))
        return err_set(e, ERR_INVALID, "outputs is a list of {\"name\": …}");
    for (const cJSON *j = list ? list->child : NULL; j; j = j->next) {
        long i = find_name(m, j, "output", output_name, all, e);
        if (i < 0)
            return -1;
        if (taken[i])
            return err_set(
                e, ERR_INVALID, "output %s is asked for twice", output_name(m, (size_t)i));
        taken[i] = true;
        asked[(*n)++] = (size_t)i;
    }
    for (size_t i = 0; !*n && i < all; i++)
        asked[i] = i;
    *n = *n ? *n : all;
    return 0;
}

static int read_inputs(const model *m, body *b, tensor **xs, err *e)
{
    ERR_GUARD(e);
    const cJSON *list = json_get(body_frame(b), "inputs");
    size_t wanted = model_input_count(m),
           got = cJSON_IsArray(list) ? (size_t)cJSON_GetArraySize(list) : 0;
    const cJSON *inputs[INPUTS_MAX] = {0};
    if (got != wanted || wanted > INPUTS_MAX)
        return err_set(e, ERR_INVALID, "the model has %zu inputs, the request %zu", wanted, got);
    if (find_inputs(m, list, inputs, wanted, e) < 0)
        return -1;
    for (size_t i = 0; i < wanted; i++) {
        xs[i] = body_take_tensor(b, inputs[i], e);
        if (!xs[i])
            return -1;
        if (model_check_input(m, i, xs[i], e) < 0 || model_check_values(m, i, xs[i], e) < 0) {
            e->code = ERR_INVALID;
            return wanted > 1 ? err_wrap(e, "input %s", input_name(m, i)) : -1;
        }
        if (xs[i]->shape[0] != xs[0]->shape[0])
            return err_set(e, ERR_INVALID, "its inputs have different numbers of rows");
    }
    return 0;
}

// A small request can need more than all memory: a row of one number may have many outputs.
static int check_answer(const model *m, size_t rows, err *e)
{
    size_t each = 0, all;
    for (size_t i = 0; i < model_output_count(m); i++) {
        row_shape row = model_output_shape(m, i);
        if (__builtin_add_overflow(each, shape_size(&row), &each))
            each = SIZE_MAX;
    }
    if (__builtin_mul_overflow(rows, each, &all) || all > ANSWER_MOST)
        return err_set(e, ERR_INVALID,
            "%zu rows with %zu outputs each: an answer has up to %d numbers; ask with fewer rows",
            rows, each, ANSWER_MOST);
    return 0;
}

static int check_id(const cJSON *id, err *e)
{
    if (!id || cJSON_IsString(id) || cJSON_IsNull(id))
        return 0;
    return err_set(e, ERR_INVALID, "id is a string");
}

// Numbers from *at on, until out has `most` bytes.
static void put_numbers(buf *out, const tensor *t, size_t *at, size_t most)
{
    const float *values = t->data;
    char digits[32];
    for (size_t n = tensor_count(t); *at < n && out->len < most; ++*at) {
        float value = values[*at];
        int length = isfinite(value) ? snprintf(digits, sizeof digits, "%.9g", (double)value) : 0;
        if (*at)
            buf_char(out, ',');
        if (length)
            buf_add(out, digits, (size_t)length);
        else
            buf_str(out, "null"); // JSON has no other word for it
    }
}

// What a request contains besides its inputs.
struct wanted {
    char *id; // as JSON; NULL: none
    size_t output[HEADS_MAX], outputs;
};

struct infer_request {
    const model *m;
    struct wanted wanted;
    size_t rows;
    tensor *xs[INPUTS_MAX], *ys[HEADS_MAX];
    // What is written of the answer: outputs, and numbers of the next one.
    size_t written, at;
    bool begun, begun_output;
};

void infer_put_tensor_head(
    buf *out, const char *name, const char *type, int dims, const size_t *shape)
{
    buf_str(out, "{\"name\":");
    put_string(out, name);
    buf_fmt(out, ",\"datatype\":\"%s\",\"shape\":[", type);
    for (int d = 0; d < dims; d++)
        buf_fmt(out, d ? ",%zu" : "%zu", shape[d]);
    buf_str(out, "],\"data\":[");
}

int infer_put_tensor(buf *out, const char *name, const tensor *t, const atomic_bool *stop, err *e)
{
    infer_put_tensor_head(out, name, "FP32", t->dims, t->shape);
    for (size_t at = 0, n = tensor_count(t); at < n;) {
        if (stop && atomic_load(stop))
            return err_set(e, ERR_CANCELLED, "stopped");
        put_numbers(out, t, &at, out->len + STOP_EACH);
    }
    buf_str(out, "]}");
    return 0;
}

void infer_put_head(buf *out, const char *name, const char *id)
{
    buf_str(out, "{\"model_name\":");
    put_string(out, name);
    buf_str(out, ",\"model_version\":\"1\"");
    if (id)
        buf_fmt(out, ",\"id\":%s", id);
    buf_str(out, ",\"outputs\":[");
}

// Returns whether the output is written to its end.
static bool write_output(infer_request *q, size_t most, buf *out)
{
    size_t i = q->wanted.output[q->written];
    const tensor *y = q->ys[i];
    if (!q->begun_output) {
        buf_str(out, q->written ? "," : "");
        infer_put_tensor_head(out, output_name(q->m, i), "FP32", y->dims, y->shape);
    }
    q->begun_output = true;
    put_numbers(out, y, &q->at, most);
    if (q->at < tensor_count(y))
        return false;
    buf_str(out, "]}");
    q->at = 0;
    q->begun_output = false;
    return true;
}

bool infer_write(infer_request *q, const char *name, size_t most, buf *out)
{
    size_t until = most < SIZE_MAX - out->len ? out->len + most : SIZE_MAX;
    if (!q->begun)
        infer_put_head(out, name, q->wanted.id);
    q->begun = true;
    while (q->written < q->wanted.outputs) {
        if (out->len >= until || !write_output(q, until, out))
            return true;
        q->written++;
    }
    buf_str(out, "]}");
    return false;
}

size_t infer_numbers(const infer_request *q)
{
    size_t n = 0;
    for (size_t k = 0; k < q->wanted.outputs; k++)
        n += tensor_count(q->ys[q->wanted.output[k]]);
    return n;
}

char *infer_id(const cJSON *request, err *e)
{
    const cJSON *id = json_get(request, "id");
    if (check_id(id, e) < 0)
        return NULL;
    return cJSON_IsString(id) ? json_to_str(id) : mem_strdup("");
}

void infer_free(infer_request *q)
{
    if (!q)
        return;
    for (size_t i = 0; i < INPUTS_MAX; i++)
        tensor_free(q->xs[i]);
    for (size_t i = 0; i < HEADS_MAX; i++)
        tensor_free(q->ys[i]);
    free(q->wanted.id);
    free(q);
}

infer_request *infer_read(const model *m, body *b, err *e)
{
    ERR_GUARD(e);
    const cJSON *request = body_frame(b);
    err_clear(e);
    infer_request *q = mem_alloc(sizeof *q);
    q->m = m;
    AUTO_FREE char *id = infer_id(request, e);
    if (id && *id)
        q->wanted.id = STEAL(id);
    if (!e->code && read_outputs(m, request, q->wanted.output, &q->wanted.outputs, e) == 0 &&
        read_inputs(m, b, q->xs, e) == 0 && check_answer(m, tensor_rows(q->xs[0]), e) == 0) {
        q->rows = tensor_rows(q->xs[0]);
        return q;
    }
    infer_free(q);
    return NULL;
}

size_t infer_rows(const infer_request *q)
{
    return q->rows;
}

size_t infer_held(const infer_request *q)
{
    size_t n = 0;
    for (size_t i = 0; i < INPUTS_MAX; i++)
        n += q->xs[i] ? tensor_count(q->xs[i]) : 0;
    for (size_t i = 0; i < model_output_count(q->m); i++) {
        row_shape row = model_output_shape(q->m, i);
        n += q->rows * shape_size(&row);
    }
    return n * sizeof(float);
}

bool infer_fits(const infer_request *a, const infer_request *b)
{
    if (a->m != b->m)
        return false;
    for (size_t i = 0; i < model_input_count(a->m); i++) {
        const tensor *x = a->xs[i], *y = b->xs[i];
        if (x->dims != y->dims ||
            memcmp(x->shape + 1, y->shape + 1, (size_t)(x->dims - 1) * sizeof *x->shape) != 0)
            return false;
    }
    return true;
}

// Input i of all requests, one below the other.
static tensor *stack(infer_request *const *all, size_t n, size_t i, size_t rows, err *e)
{
    size_t shape[TENSOR_MAX_DIMS], at = 0;
    const tensor *first = all[0]->xs[i];
    memcpy(shape, first->shape, sizeof shape);
    shape[0] = rows;
    tensor *t = tensor_new(TENSOR_F32, first->dims, shape, e);
    for (size_t k = 0; t && k < n; k++) {
        size_t count = tensor_count(all[k]->xs[i]);
        memcpy((float *)t->data + at, all[k]->xs[i]->data, count * sizeof(float));
        at += count;
    }
    return t;
}

static int share_out(infer_request *const *all, size_t n, size_t heads, tensor *const *ys, err *e)
{
    size_t from = 0;
    for (size_t k = 0; k < n; k++) {
        size_t to = from + infer_rows(all[k]);
        for (size_t i = 0; i < heads; i++)
            if (!(all[k]->ys[i] = tensor_slice(ys[i], (int64_t)from, (int64_t)to, e)))
                return -1;
        from = to;
    }
    return 0;
}

static int run_stacked(
    model *m, infer_request *const *all, size_t n, size_t rows, const atomic_bool *stop, err *e)
{
    tensor *xs[INPUTS_MAX] = {0}, *ys[HEADS_MAX] = {0};
    int status = 0;
    for (size_t i = 0; i < model_input_count(m) && status == 0; i++)
        status = (xs[i] = stack(all, n, i, rows, e)) ? 0 : -1;
    if (status == 0)
        status = model_predict_list(m, (const tensor *const *)xs, ys, stop, e);
    if (status == 0)
        status = share_out(all, n, model_output_count(m), ys, e);
    for (size_t i = 0; i < INPUTS_MAX; i++)
        tensor_free(xs[i]);
    for (size_t i = 0; i < HEADS_MAX; i++)
        tensor_free(ys[i]);
    return status;
}

static void drop_inputs(infer_request *q)
{
    for (size_t i = 0; i < INPUTS_MAX; i++) {
        tensor_free(q->xs[i]);
        q->xs[i] = NULL;
    }
}

int infer_run(model *m, infer_request *const *all, size_t n, const atomic_bool *stop, err *e)
{
    size_t rows = 0;
    for (size_t k = 0; k < n; k++)
        rows += infer_rows(all[k]);
    int status =
        n > 1 ? run_stacked(m, all, n, rows, stop, e)
              : model_predict_list(m, (const tensor *const *)all[0]->xs, all[0]->ys, stop, e);
    for (size_t k = 0; k < n && status == 0; k++)
        drop_inputs(all[k]);
    return status;
}

int infer(model *m, const char *name, const char *text, size_t n, const atomic_bool *stop, buf *out,
    err *e)
{
    body *b = body_new();
    infer_request *q =
        body_feed(b, text, n, e) == 0 && body_end(b, e) == 0 ? infer_read(m, b, e) : NULL;
    int status = q ? infer_run(m, &q, 1, stop, e) : -1;
    if (status == 0)
        infer_write(q, name, SIZE_MAX, out);
    body_free(b);
    infer_free(q);
    return status;
}
