// SPDX-License-Identifier: MIT
// The layers of a model as plain values, with Keras's names, and as text. A layer_spec owns
// nothing; models copy them, and own what their copies point at. What a layer alone can be told,
// its words and its gradients are in its operation's file, in nn/op/.
#pragma once
#include "base/err.h"
#include "trainer/cpu/activation.h"
#include "trainer/declared/attribute.h"
#include "trainer/nn/layer/initializer.h"

#include <stddef.h>

typedef enum layer_kind {
#define LAYER(name, id, file) LAYER_##name,
#include "trainer/nn/layer/layers.def"
#undef LAYER
    LAYER_KIND_COUNT
} layer_kind;

enum { LAYER_NAME_SIZE = 48, LAYER_WEIGHTS = 4 };

// What is said of one weight of a layer: `kernel_initializer`, `kernel_regularizer`.
typedef struct weight_spec {
    initializer start;
    double l1, l2; // l1·Σ |W| + l2·Σ W² is added to the loss of each batch
} weight_spec;

enum { REGULARIZERS = 3 };

// The regularizers that it can have: L1, L2, L1L2.
const declaration *regularizer_declaration(size_t i);

typedef struct layer_spec {
    layer_kind kind;
    char name[LAYER_NAME_SIZE]; // "": named by Keras's rule: dense, dense_1, …
    const void *own; // what this kind can be told, a struct of its operation (op/layers.h
                     // has those that others make or look at); NULL: the defaults
    row_shape in;    // a row of the input, where the first layer tells it
    bool frozen;     // trainable = false
    bool half;       // dtype = "mixed_bfloat16": see nn/fuse.h
    size_t remat;    // computed anew in backward if a row of its output has so many
                     // numbers; 0: never. See nn/flow_anew.c
    weight_spec weight[LAYER_WEIGHTS]; // in the order of op.weight
    size_t shares;      // 1 + the layer whose weights it uses: another call of it; 0: its
                        // own
    const size_t *from; // the layers whose outputs it takes, by number; all are less
    size_t froms;       // than its own. 0: takes the output of the layer before it
} layer_spec;

// "Dense(128)", "Flatten(28, 28)", "Dropout(0.2)".
void layer_text(const layer_spec *spec, buf *out);
const char *layer_kind_name(layer_kind kind); // "Dense"
const char *layer_kind_id(layer_kind kind);   // "dense"
// Finds it by name; errors list the known names. "none" is linear.
int layer_kind_parse(const char *text, layer_kind *kind, err *e);
int activation_parse(const char *text, activation *a, err *e);
// Its function, where it can be told one; else linear.
activation layer_activation(const layer_spec *l);
// The function as an attribute.
extern const char *const activation_names[];
int activation_choice(const char *text, int *value, err *e);
#define ATTRIBUTE_OF_ACTIVATION(of)                                                                \
    {                                                                                              \
        .name = "activation", .type = ATTRIBUTE_CHOICE, .offset = offsetof(of, activation),        \
        .choices = activation_names, .parse = activation_choice,                                   \
        .meaning = "The function that is applied at the end: a name."                              \
    }
const char *activation_name(activation a);
// Can f'(z) be computed from f(z)?
bool activation_is_of_output(activation a);
size_t shape_size(const row_shape *s); // the numbers in it; SIZE_MAX when they are too many
