// SPDX-License-Identifier: MIT
// Parameter groups: weights that follow the optimizer at a pace of their own, or not at all. With
// several groups that name a weight, each sets what it has; the later one counts.
//
//   learning_rate_multiplier k:  lr ← k·lr for these weights, in a schedule, too
//   weight_decay d:              w ← w - lr·d·w instead of the optimizer's own
//   trainable false:             they keep their values, and count in no norm of gradients. A whole
//                                layer that is frozen computes as it does after training:
//                                BatchNormalization with its moving statistics (Keras 3)
#pragma once
#include "base/err.h"

#include <stdbool.h>
#include <stddef.h>

struct graph; // trainer/nn/graph/graph.h

// Names what it is for; the model has a copy.
typedef struct param_group {
    const char *weights; // "dense", "dense/kernel", with fnmatch's *, ? and […]; without a slash
                         // whole layers
    double rate;         // learning_rate_multiplier; NAN: not set
    double decay;        // weight_decay; NAN: not set
    int trainable;       // 0, 1; -1: not set
} param_group;

#define PARAM_GROUP(pattern)                                                                       \
    (param_group)                                                                                  \
    {                                                                                              \
        .weights = (pattern), .rate = NAN, .decay = NAN, .trainable = -1                           \
    }

// Checks the numbers. Errors name the group.
int param_groups_check(const param_group *groups, size_t n, err *e);
// Sets rate, decay and frozen of the graph's nodes and parameters, from their layers and these
// groups. -1, and nothing changes, when one names no weight: the error lists the names.
int param_groups_apply(struct graph *g, const param_group *groups, size_t n, err *e);
// Has any trained parameter a rate or a decay of its own, or is it frozen?
bool param_groups_differ(const struct graph *g);

param_group *param_groups_copy(const param_group *groups, size_t n);
void param_groups_free(param_group *groups, size_t n);
