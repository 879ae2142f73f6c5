// SPDX-License-Identifier: MIT
// Graphs for tests, written as lists of layers, and tensors of numbers.
#pragma once
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/nn/config.h"
#include "trainer/nn/train.h"

#define FROM(...)                                                                                  \
    .from = (const size_t[]){__VA_ARGS__}, .froms = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t)
#define INPUT(...)                                                                                 \
    {                                                                                              \
        .kind = LAYER_INPUT, .own = &(shape_layer)                                                 \
        {                                                                                          \
            .dims = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), .size = { __VA_ARGS__ }      \
        }                                                                                          \
    }
#define NUMBERS(...)                                                                               \
    {                                                                                              \
        .n = sizeof((size_t[]){__VA_ARGS__}) / sizeof(size_t), .item = { __VA_ARGS__ }             \
    }

enum { TEST_LAYERS = 16, TEST_ENDS = 4 };

struct test_graph {
    layer_spec layers[TEST_LAYERS];
    struct {
        size_t n, item[TEST_ENDS];
    } in, out;
    // A whole configuration (nn/config.h), with ' for ", instead of all of these: of layers whose
    // structs are in their own files.
    const char *config;
};

// The layers that are set come first: the others have no name, no inputs and no attributes.
static inline size_t test_layers(const struct test_graph *g)
{
    size_t n = TEST_LAYERS;
    static const layer_spec none;
    while (n > 0 && memcmp(&g->layers[n - 1], &none, sizeof none) == 0)
        n--;
    return n;
}

static inline model *test_model_of(const char *config, err *e)
{
    AUTO_BUF text = {0};
    for (; *config; config++)
        buf_char(&text, *config == '\'' ? '"' : *config);
    AUTO_JSON *tree = json_parse(text.data, text.len, e);
    return tree ? config_model(tree, 0, e) : NULL;
}

static inline model *test_model(const struct test_graph *g, const compile_spec *c)
{
    err e = {0};
    model *m = g->config ? test_model_of(g->config, &e)
                         : model_new_graph(&(graph_spec){.layers = g->layers,
                                               .n = test_layers(g),
                                               .inputs = g->in.item,
                                               .input_count = g->in.n,
                                               .outputs = g->out.item,
                                               .output_count = g->out.n,
                                               .seed = 5},
                               &e);
    CHECK_OK(m, e);
    CHECK_OK(model_compile(m, c, &e) == 0, e);
    return m;
}

// sin(a + b·i) for the i-th number.
static inline tensor *test_tensor(size_t rows, const row_shape *row, double a, double b)
{
    err e;
    size_t shape[TENSOR_MAX_DIMS] = {rows};
    memcpy(shape + 1, row->size, (size_t)row->dims * sizeof *shape);
    tensor *t = tensor_new(TENSOR_F32, row->dims + 1, shape, &e);
    for (size_t i = 0; i < tensor_count(t); i++)
        tensor_set(t, i, sin(a + b * (double)i), &e);
    return t;
}
