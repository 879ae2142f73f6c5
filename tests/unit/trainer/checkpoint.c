// SPDX-License-Identifier: MIT
#include "trainer/files/checkpoint.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "tests/support/tap.h"
#include "trainer/files/safetensors.h"
#include "trainer/fit.h"
#include "trainer/nn/layer/operation.h"

#include <stdlib.h>
#include <string.h>

enum { N = 40 };

static const layer_spec layers[] = {
    {.kind = LAYER_FLATTEN, .own = &(shape_layer){.dims = 2, .size = {2, 3}}},
    {.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = 70, .activation = ACTIVATION_RELU},
        .name = "hidden"},
    {.kind = LAYER_DROPOUT, .own = &(dropout_layer){.rate = 0.25f}},
    {.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = 3, .activation = ACTIVATION_SOFTMAX, .no_bias = true}}};

static tensor *x, *y;

static void make_data(void)
{
    err e;
    x = tensor_new(TENSOR_F32, 3, (size_t[]){N, 2, 3}, &e);
    y = tensor_new(TENSOR_I64, 1, (size_t[]){N}, &e);
    for (size_t i = 0; i < N; i++) {
        tensor_set(x, i * 6 + i % 5, 1, &e);
        tensor_set(y, i, (double)(i % 3), &e);
    }
}

static void free_data(void)
{
    tensor_free(x);
    tensor_free(y);
}

static void train(model *m, int from, int to)
{
    err e;
    fit_spec fit = {.x = x, .y = y, .batch_size = 16, .initial_epoch = from, .epochs = to};
    CHECK_OK(model_fit(m, &fit, NULL, &e) == 0, e);
}

static model *new_model_with(optimizer_kind kind, double momentum)
{
    err e;
    model *m = model_new(layers, 4, 11, &e);
    compile_spec c = {.optimizer = optimizer_default(kind), .metrics = METRIC(ACCURACY)};
    c.optimizer.momentum = momentum;
    CHECK_OK(m && model_compile(m, &c, &e) == 0, e);
    return m;
}

static model *new_model(optimizer_kind kind)
{
    return new_model_with(kind, 0.5);
}

static buf encode(const model *m, bool optimizer)
{
    err e;
    buf b = {0};
    CHECK_OK(checkpoint_encode(m, (checkpoint_options){.optimizer = optimizer}, &b, &e) == 0, e);
    return b;
}

static void check_equal(model *a, model *b)
{
    size_t n, other;
    float *wa = model_weight_values(a, &n), *wb = model_weight_values(b, &other);
    CHECK_INT(n, other);
    CHECK(memcmp(wa, wb, n * sizeof *wa) == 0);
}

static void check_resume(optimizer_kind kind)
{
    err e;
    make_data();
    model *m = new_model(kind);
    train(m, 0, 2);
    buf bytes = encode(m, true);
    model *again = checkpoint_decode(bytes.data, bytes.len, &e);
    CHECK_OK(again, e);
    check_equal(m, again);
    CHECK_INT(model_steps(again), model_steps(m));
    train(m, 2, 4);
    train(again, 2, 4);
    check_equal(m, again);
    buf_clear(&bytes);
    CHECK_OK(checkpoint_encode(m, (checkpoint_options){.optimizer = true}, &bytes, &e) == 0, e);
    model_free(again);
    again = checkpoint_decode(bytes.data, bytes.len, &e);
    CHECK_OK(again, e);
    train(m, 0, 2); // the order of rows goes on without initial_epoch, too
    train(again, 0, 2);
    check_equal(m, again);
    buf_done(&bytes);
    model_free(m);
    model_free(again);
    free_data();
}

TEST(training_goes_on_as_if_never_saved)
{
    check_resume(OPTIMIZER_ADAM);
    check_resume(OPTIMIZER_SGD);
    check_resume(OPTIMIZER_ADAMW);
    check_resume(OPTIMIZER_RMSPROP);
    check_resume(OPTIMIZER_ADAGRAD);
}

// Plain SGD has nothing but its steps, which a schedule follows.
TEST(steps_of_plain_sgd_are_restored)
{
    err e;
    make_data();
    model *m = new_model_with(OPTIMIZER_SGD, 0), *again = new_model_with(OPTIMIZER_SGD, 0);
    train(m, 0, 2);
    buf whole = encode(m, true), weights = encode(m, false);
    CHECK_OK(checkpoint_restore(again, weights.data, weights.len, &e) == 0, e);
    CHECK_INT(model_steps(again), 0);
    CHECK_OK(checkpoint_restore(again, whole.data, whole.len, &e) == 0, e);
    CHECK(model_steps(m) > 0);
    CHECK_INT(model_steps(again), model_steps(m));
    model *adam = new_model(OPTIMIZER_ADAM);
    buf other = encode(adam, true);
    model_set_steps(again, 5);
    CHECK_OK(checkpoint_restore(again, other.data, other.len, &e) == 0, e);
    CHECK_INT(model_steps(again), 5); // they would count another optimizer's
    buf_done(&whole), buf_done(&weights), buf_done(&other);
    model_free(m), model_free(again), model_free(adam);
    free_data();
}

// A model made anew goes on from the file's weights, moments and steps; without the moments in the
// file there are no steps either.
TEST(steps_go_with_the_optimizers_state)
{
    err e;
    make_data();
    model *m = new_model(OPTIMIZER_ADAM), *again = new_model(OPTIMIZER_ADAM);
    train(m, 0, 2);
    buf whole = encode(m, true), weights = encode(m, false);
    CHECK_OK(checkpoint_restore(again, whole.data, whole.len, &e) == 0, e);
    CHECK(model_steps(m) > 0);
    CHECK_INT(model_steps(again), model_steps(m));
    model_set_epochs(again, model_epochs(m));
    train(m, 2, 3);
    train(again, 2, 3);
    check_equal(m, again);
    int64_t steps = model_steps(again);
    CHECK_OK(checkpoint_restore(again, weights.data, weights.len, &e) == 0, e);
    CHECK_INT(model_steps(again), steps); // it keeps its own state
    model *fresh = checkpoint_decode(weights.data, weights.len, &e);
    CHECK_OK(fresh, e);
    CHECK_INT(model_steps(fresh), 0);
    buf_done(&whole);
    buf_done(&weights);
    model_free(m), model_free(again), model_free(fresh);
    free_data();
}

// Adam still moves the weights of an input that is 0 from now on. Inputs that were never seen are
// skipped; that must not ignore the moments of a restored optimizer.
TEST(an_input_that_fell_silent_still_moves)
{
    err e;
    make_data();
    model *m = new_model(OPTIMIZER_ADAM);
    train(m, 0, 2);
    buf bytes = encode(m, true);
    model *again = checkpoint_decode(bytes.data, bytes.len, &e);
    CHECK_OK(again, e);
    for (size_t i = 0; i < N; i++)
        tensor_set(x, i * 6 + 4, 0, &e);
    train(m, 2, 4);
    train(again, 2, 4);
    check_equal(m, again);
    buf_done(&bytes);
    model_free(m);
    model_free(again);
    free_data();
}

TEST(the_configuration_comes_back)
{
    err e;
    model *m = new_model(OPTIMIZER_SGD);
    buf bytes = encode(m, false);
    model *again = checkpoint_decode(bytes.data, bytes.len, &e);
    CHECK_OK(again, e);
    CHECK_INT(model_layer_count(again), 4);
    CHECK_STR(model_layer(again, 1)->name, "hidden");
    const dense_layer *hidden = model_layer(again, 1)->own, *last = model_layer(again, 3)->own;
    const dropout_layer *dropout = model_layer(again, 2)->own;
    CHECK_INT(hidden->units, 70);
    CHECK_INT(hidden->activation, ACTIVATION_RELU);
    CHECK_NEAR((double)dropout->rate, 0.25, 0);
    CHECK(last->no_bias);
    CHECK_INT(model_seed(again), 11);
    CHECK_NEAR(model_momentum(again), 0.5, 0);
    CHECK_INT(model_compiled(again)->loss, LOSS_SPARSE_CATEGORICAL_CROSSENTROPY);
    CHECK_INT(model_compiled(again)->metrics, METRIC(ACCURACY));
    buf_done(&bytes);
    model_free(m);
    model_free(again);
}

TEST(files_are_replaced_as_a_whole)
{
    err e;
    char *path = path_join(tap_dir(), "c.safetensors");
    model *m = new_model(OPTIMIZER_ADAM);
    CHECK_OK(checkpoint_write(m, path, (checkpoint_options){0}, &e) == 0, e);
    CHECK_OK(checkpoint_write(m, path, (checkpoint_options){0}, &e) == 0, e);
    model *again = checkpoint_read(path, &e);
    CHECK_OK(again, e);
    check_equal(m, again);
    char *nowhere = path_join(tap_dir(), "no/such/folder/c");
    CHECK(checkpoint_write(m, nowhere, (checkpoint_options){0}, &e) < 0);
    CHECK_HAS(e.text, "writing the checkpoint");
    CHECK(!checkpoint_read(nowhere, &e));
    CHECK_INT(e.code, ERR_NOT_FOUND);
    free(path), free(nowhere);
    model_free(m);
    model_free(again);
}

TEST(weights_go_into_a_model_of_the_same_layers_only)
{
    err e;
    size_t n;
    model *m = new_model(OPTIMIZER_ADAM), *other = model_new(layers, 4, 99, &e);
    buf bytes = encode(m, true);
    CHECK_OK(checkpoint_restore(other, bytes.data, bytes.len, &e) == 0, e);
    check_equal(m, other);
    layer_spec changed[4];
    memcpy(changed, layers, sizeof layers);
    changed[1].own = &(dense_layer){.units = 71, .activation = ACTIVATION_RELU};
    model *wide = model_new(changed, 4, 1, &e);
    CHECK(checkpoint_restore(wide, bytes.data, bytes.len, &e) < 0);
    CHECK_STR(e.text, "hidden/kernel expects shape (6, 71), got (6, 70)");
    memcpy(changed, layers, sizeof layers);
    changed[3].own = &(dense_layer){.units = 4, .activation = ACTIVATION_SOFTMAX, .no_bias = true};
    model *late = model_new(changed, 4, 1, &e);
    float kept = *model_weight_values(late, &n);
    CHECK(checkpoint_restore(late, bytes.data, bytes.len, &e) < 0);
    CHECK_STR(e.text, "dense/kernel expects shape (70, 4), got (70, 3)");
    CHECK(*model_weight_values(late, &n) == kept); // nothing was changed before all was checked
    model *unbuilt = model_new(changed + 1, 1, 1, &e);
    CHECK(checkpoint_restore(unbuilt, bytes.data, bytes.len, &e) < 0);
    CHECK(checkpoint_encode(unbuilt, (checkpoint_options){0}, &bytes, &e) < 0);
    CHECK_HAS(e.text, "no weights yet");
    buf_done(&bytes);
    model_free(m), model_free(other), model_free(wide), model_free(late), model_free(unbuilt);
}

TEST(numbers_that_are_not_finite_are_refused)
{
    err e;
    size_t n, slots;
    model *m = new_model(OPTIMIZER_ADAM), *other = model_new(layers, 4, 99, &e);
    float *w = model_weight_values(m, &n), *v = model_slot_values(m, &slots);
    CHECK_INT(slots, 2 * n);
    for (int i = 0; i < 2; i++) {
        float *at = i ? &v[n] : &w[0], kept = *at;
        *at = i ? INFINITY : -NAN;
        buf bytes = encode(m, true);
        *at = kept;
        CHECK(!checkpoint_decode(bytes.data, bytes.len, &e));
        CHECK_STR(e.text, i ? "optimizer/v: hidden/kernel holds inf at index 0"
                            : "hidden/kernel holds nan at index 0");
        float before = *model_weight_values(other, &n);
        CHECK(i == 1 || checkpoint_restore(other, bytes.data, bytes.len, &e) < 0);
        CHECK(*model_weight_values(other, &n) == before);
        buf_done(&bytes);
    }
    model_free(m), model_free(other);
}

TEST(every_truncation_is_refused)
{
    err e;
    model *m = new_model(OPTIMIZER_ADAM);
    buf bytes = encode(m, false);
    for (size_t n = 0; n < bytes.len; n += n < 1500 ? 1 : 97) {
        char *part = malloc(n + 1); // exactly as long, so that a sanitizer sees a read too far
        memcpy(part, bytes.data, n);
        CHECK(!checkpoint_decode(part, n, &e));
        CHECK_INT(e.code, ERR_CORRUPT);
        free(part);
    }
    buf_done(&bytes);
    model_free(m);
}

static void container(buf *out, const char *header, size_t data)
{
    size_t n = strlen(header);
    buf_clear(out);
    for (int i = 0; i < 8; i++)
        buf_char(out, (char)(n >> (8 * i) & 0xff));
    buf_str(out, header);
    for (size_t i = 0; i < data; i++)
        buf_char(out, 0);
}

TEST(bad_containers_are_named)
{
    static const struct {
        const char *header;
        size_t data;
        const char *message;
    } cases[] = {
        {"", 0, "the header is no JSON object"},
        {"[]", 0, "the header is no JSON object"},
        {"{\"a\": ", 0, "the safetensors header"},
        {"{\"a\": 1}", 0, "tensor \"a\" has the dtype \"\", which is not read"},
        {"{\"a\":{\"dtype\":\"F31\",\"shape\":[1],\"data_offsets\":[0,4]}}", 4,
            "tensor \"a\" has the dtype \"F31\", which is not read"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[-1],\"data_offsets\":[0,4]}}", 4, "has a bad shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[4294967296,4294967296],\"data_offsets\":[0,4]}}", 4,
            "has a bad shape"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,0]}}", 4, "bad offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0]}}", 4, "bad offsets"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,4]}}", 4,
            "has 4 bytes, its shape needs 8"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[2],\"data_offsets\":[0,8]}}", 4,
            "truncated: tensor \"a\""},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}", 8,
            "overlaps another or leaves a hole"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"b\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}",
            4, "overlaps another"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]}}", 5,
            "1 bytes after the last tensor"},
        {"{\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[0,4]},"
         "\"a\":{\"dtype\":\"F32\",\"shape\":[1],\"data_offsets\":[4,8]}}",
            8, "there are two tensors \"a\""},
    };
    buf b = {0};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        err e = {0};
        safetensors s;
        container(&b, cases[i].header, cases[i].data);
        CHECK(safetensors_open(&s, b.data, b.len, &e) < 0);
        CHECK_INT(e.code, ERR_CORRUPT);
        CHECK_HAS(e.text, cases[i].message);
    }
    buf_done(&b);
}

TEST(every_dtype_is_read)
{
    static const struct {
        const char *dtype;
        uint8_t bytes[16]; // two numbers, the lowest byte first
        size_t n;
        tensor_type type;
        double value[2];
    } cases[] = {
        {"BOOL", {1, 0}, 2, TENSOR_U8, {1, 0}},
        {"U8", {200, 7}, 2, TENSOR_U8, {200, 7}},
        {"I8", {0xff, 7}, 2, TENSOR_I64, {-1, 7}},
        {"I16", {0xfe, 0xff, 0, 1}, 4, TENSOR_I16, {-2, 256}},
        {"U16", {0xfe, 0xff, 0, 1}, 4, TENSOR_I64, {65534, 256}},
        {"I32", {0xfd, 0xff, 0xff, 0xff, 0, 0, 1}, 8, TENSOR_I32, {-3, 65536}},
        {"U32", {0xfd, 0xff, 0xff, 0xff, 0, 0, 1}, 8, TENSOR_I64, {4294967293, 65536}},
        {"I64", {0xfc, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 9}, 16, TENSOR_I64, {-4, 9}},
        {"U64", {5, 0, 0, 0, 0, 0, 0, 0, 9}, 16, TENSOR_I64, {5, 9}},
        {"F16", {0x00, 0x3e, 0x01, 0x80}, 4, TENSOR_F32, {1.5, -0x1p-24}},
        {"F8_E5M2", {0x3e, 0xc2}, 2, TENSOR_F32, {1.5, -3}},
        {"F8_E4M3", {0x3c, 0xfe}, 2, TENSOR_F32, {1.5, -448}},
        {"F8_E4M3", {0x01, 0x08}, 2, TENSOR_F32, {0x1p-9, 0x1p-6}},
        {"BF16", {0xc0, 0x3f, 0x49, 0xc0}, 4, TENSOR_F32, {1.5, -3.140625}},
        {"F32", {0, 0, 0xc0, 0x3f, 0, 0, 0, 0xc0}, 8, TENSOR_F32, {1.5, -2}},
        {"F64", {0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0, 0, 0, 0, 0, 0, 0, 0xc0}, 16, TENSOR_F32,
            {1.5, -2}},
    };
    buf b = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        safetensors s;
        AUTO_BUF header = {0};
        buf_fmt(&header, "{\"a\":{\"dtype\":\"%s\",\"shape\":[2],\"data_offsets\":[0,%zu]}}",
            cases[i].dtype, cases[i].n);
        container(&b, buf_cstr(&header), 0);
        buf_add(&b, cases[i].bytes, cases[i].n);
        CHECK_OK(safetensors_open(&s, b.data, b.len, &e) == 0, e);
        tensor *t = safetensors_get(&s, "a", &e);
        CHECK_OK(t, e);
        CHECK_INT(t->type, cases[i].type);
        for (size_t k = 0; k < 2; k++)
            CHECK_NEAR(tensor_at(t, k), cases[i].value[k], 0);
        tensor_free(t);
        safetensors_done(&s);
    }
    buf_done(&b);
}

// Files of earlier versions, kept as they were; what their models compute was computed from their
// numbers by NumPy.
TEST(a_checkpoint_of_an_earlier_version_is_loaded)
{
    err e;
    model *m = checkpoint_read(
        tap_source("tests/unit/trainer/files/checkpoint-2026-11-21.safetensors"), &e);
    CHECK_OK(m, e);
    CHECK_INT(model_steps(m), 7);
    CHECK_INT(model_slot_count(m), 2);
    CHECK_INT(model_compiled(m)->optimizer.kind, OPTIMIZER_ADAM);
    tensor *row = tensor_from(TENSOR_F32, 3, (size_t[]){1, 2, 2}, (float[]){1, 2, 3, 4}, &e);
    tensor *p = model_predict(m, row, NULL, &e);
    CHECK_OK(p, e);
    CHECK_NEAR(tensor_at(p, 0), 0.26894142, 1e-6);
    CHECK_NEAR(tensor_at(p, 1), 0.73105858, 1e-6);
    tensor_free(row), tensor_free(p);
    model_free(m);
}

static void check_config(const char *config, err_code code, const char *message)
{
    safetensors_writer w;
    buf b = {0};
    err e = {0};
    safetensors_begin(&w);
    safetensors_add_text(&w, "format", "firesteel");
    safetensors_add_text(&w, "config", config);
    safetensors_finish(&w, &b);
    CHECK(!checkpoint_decode(b.data, b.len, &e));
    CHECK_HAS(e.text, message);
    CHECK_INT(e.code, code);
    buf_done(&b);
}

// Every table is whole, and what it writes of the defaults is what it reads.
static void check_declared(const declaration *d)
{
    err e = {0};
    bool whole = true;
    AUTO_JSON *file = cJSON_CreateObject(), *again = cJSON_CreateObject();
    AUTO_FREE void *own = mem_alloc(d->size + 1), *back = mem_alloc(d->size + 1);
    for (const attribute *a = attribute_next(d, NULL); a; a = attribute_next(d, a)) {
        CHECK(a->no_option || a->meaning);
        CHECK(a->type == ATTRIBUTE_LUA || a->offset < d->size);
        CHECK((a->type == ATTRIBUTE_CHOICE) == (a->choices != NULL));
        CHECK(!a->required || d->ask || d->checked_later);
        whole &= !a->required && a->type != ATTRIBUTE_NUMBERS; // there is a default of all
        whole &= strcmp(a->name, "strides") != 0;              // of pools it is their window
    }
    for (const char *at = d->places; at && *at; at += strspn(at, " ")) {
        AUTO_BUF name = {0};
        buf_add(&name, at, strcspn(at, " "));
        CHECK(attribute_find(d, buf_cstr(&name)) || strstr(buf_cstr(&name), "_initializer"));
        at += name.len;
    }
    CHECK(d->formula && d->source && (!d->about || d->example));
    declaration_defaults(d, own);
    declaration_write(d, own, file);
    if (whole) {
        CHECK_OK(declaration_read(d, back, file, &e) == 0, e);
        declaration_write(d, back, again);
        CHECK(json_equal(file, again));
    }
}

TEST(what_is_declared_is_whole)
{
    for (layer_kind k = 0; k < LAYER_KIND_COUNT; k++)
        check_declared(&op_of(k)->is);
    for (int k = 0; k < OPTIMIZER_COUNT; k++)
        check_declared(optimizer_declaration((optimizer_kind)k));
    for (int k = 1; k < SCHEDULE_COUNT; k++)
        check_declared(schedule_declaration((schedule_kind)k));
    for (int k = 1; k < INITIALIZER_COUNT; k++)
        check_declared(initializer_declaration((initializer_kind)k));
    for (int k = 0; k < LOSS_COUNT; k++)
        check_declared(loss_declaration((loss_kind)k));
}

TEST(bad_configurations_are_named)
{
    check_config("{", ERR_INVALID, "the checkpoint's configuration");
    check_config("{}", ERR_INVALID, "no list \"layers\"");
    check_config("{\"layers\": [{\"type\": \"LSTM\"}]}", ERR_USAGE,
        "layers[0]: unknown layer \"LSTM\" (known: InputLayer, Dense, Conv2D, ");
    check_config("{\"layers\": [{\"type\": \"Dense\", \"units\": 10}]}", ERR_INVALID,
        "does not tell the inputs");
    check_config("{\"layers\": [{\"type\": \"Embedding\", \"input_dim\": 16777216, \"output_dim\": "
                 "512, \"input_shape\": [1]}]}",
        ERR_CORRUPT, "need more weights than the file has");
    check_config("{\"layers\": [{\"type\": \"InputLayer\", \"shape\": [4]}, {\"type\": \"Add\", "
                 "\"from\": [0, 1]}], \"inputs\": [0], \"outputs\": [1]}",
        ERR_INVALID, "add takes layer 1, which does not come before it");
    check_config("{\"layers\": [{\"type\": \"InputLayer\", \"shape\": [4]}, {\"type\": \"Dense\", "
                 "\"units\": 2, \"from\": [0]}], \"inputs\": [0], \"outputs\": [7]}",
        ERR_INVALID, "output 0 is layer 7, which does not exist");
    check_config("{\"layers\": [{\"type\": \"Dense\", \"units\": 1000000, \"inputs\": 1000000}]}",
        ERR_CORRUPT, "need more weights than the file has");
}

TEST(another_programs_file_is_told_apart)
{
    safetensors_writer w;
    buf b = {0};
    err e;
    safetensors_begin(&w);
    safetensors_add_text(&w, "format", "pt");
    safetensors_finish(&w, &b);
    CHECK(!checkpoint_decode(b.data, b.len, &e));
    CHECK_HAS(e.text, "of another program");
    CHECK(!checkpoint_decode("PK\3\4 a zip file", 16, &e));
    CHECK_HAS(e.text, "not safetensors");
    buf_done(&b);
}

int main(void)
{
    return tap_run();
}
