// SPDX-License-Identifier: MIT
// A request for predictions in KServe's protocol, asked of a row of layers and of a graph with two
// inputs. Either there is an answer, and it is JSON, or an error that blames the request.
#include "trainer/serve/infer.h"
#include "base/json/json.h"
#include "base/str.h"
#include "tests/fuzz/fuzz.h"

#include <stdlib.h>

static const layer_spec row[] = {
    {.kind = LAYER_DENSE, .own = &(dense_layer){.units = 2}, .name = "dense"}};
static const layer_spec graph[] = {
    {.kind = LAYER_INPUT, .own = &(shape_layer){.dims = 1, .size = {1}}, .name = "left"},
    {.kind = LAYER_INPUT, .own = &(shape_layer){.dims = 2, .size = {2, 2}}, .name = "right"},
    {.kind = LAYER_FLATTEN, .name = "flat", .from = (const size_t[]){1}, .froms = 1},
    {.kind = LAYER_CONCATENATE, .name = "both", .from = (const size_t[]){0, 2}, .froms = 2},
    {.kind = LAYER_DENSE,
        .own = &(dense_layer){.units = 3},
        .name = "sum",
        .from = (const size_t[]){3},
        .froms = 1},
};

static model *compiled(model *m)
{
    err e = {0};
    compile_spec spec = {
        .optimizer = optimizer_default(OPTIMIZER_SGD), .loss = LOSS_MEAN_SQUARED_ERROR};
    if (!m || model_compile(m, &spec, &e) < 0)
        abort();
    return m;
}

static model *make_row(void)
{
    err e = {0};
    model *m = model_new(row, 1, MODEL_SEED, &e);
    return m && model_build(m, 1, (const size_t[]){2}, &e) == 0 ? compiled(m) : compiled(NULL);
}

static model *make_graph(void)
{
    err e = {0};
    return compiled(model_new_graph(&(graph_spec){.layers = graph,
                                        .n = sizeof graph / sizeof *graph,
                                        .inputs = (const size_t[]){0, 1},
                                        .input_count = 2,
                                        .outputs = (const size_t[]){4},
                                        .output_count = 1,
                                        .seed = MODEL_SEED},
        &e));
}

// In pieces it is the same request.
static void ask_in_pieces(const model *m, const char *text, size_t n, bool good)
{
    err e = {0};
    body *b = body_new();
    int status = 0;
    for (size_t at = 0, piece = 1; at < n && status == 0; at += piece, piece = 1 + at % 7)
        status = body_feed(b, text + at, piece < n - at ? piece : n - at, &e);
    infer_request *q = status == 0 && body_end(b, &e) == 0 ? infer_read(m, b, &e) : NULL;
    if (good != (q != NULL) || (!q && e.code != ERR_INVALID))
        abort();
    infer_free(q);
    body_free(b);
}

static void ask(model *m, const char *text, size_t n)
{
    err e = {0};
    AUTO_BUF out = {0};
    bool good = infer(m, "a \"model\"", text, n, NULL, &out, &e) == 0;
    ask_in_pieces(m, text, n, good);
    if (!good) {
        if (e.code != ERR_INVALID || !*e.text)
            abort();
        return;
    }
    AUTO_JSON *answer = json_parse(out.data, out.len, &e);
    const cJSON *outputs = json_get(answer, "outputs");
    if (!str_eq(json_str(answer, "model_name"), "a \"model\"") || cJSON_GetArraySize(outputs) != 1)
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    static model *models[2]; // making them anew for each input would be most of the work
    if (!models[0]) {
        models[0] = make_row();
        models[1] = make_graph();
    }
    for (int i = 0; i < 2; i++)
        ask(models[i], (const char *)data, n);
    return 0;
}
