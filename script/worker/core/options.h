// SPDX-License-Identifier: MIT
// The options of model:fit and model:evaluate, read from their table. Tensors and watches that are
// made here lie on Lua's stack, so they live until the method returns. Private to script/worker.
#pragma once
#include "script/worker/core/state.h"

void read_fit_options(lua_State *L, int table, const worker *w, fit_spec *spec);
void read_evaluate_options(lua_State *L, int table, const worker *w, evaluate_spec *spec);
// Reads the arguments of a method for one batch: x at 2, y at 3, and at 4 a table of options or
// nothing. The options are sample_weight, class_weight (if the method trains), and those of
// `known`.
void read_batch_options(
    lua_State *L, const char *what, const char *known, bool trains, evaluate_spec *spec);
// The table of inputs at index `at` becomes a list, if its keys are the names of inputs.
void list_inputs(lua_State *L, int at, const model *m, const char *what);
// Pushes what holds the watches of the model at `index`, for one call: its AUCs and the
// functions it was compiled with.
void push_watches(lua_State *L, int index, const watch **list, size_t *n);
// For compile: reads the list of an output's metrics at index `given`. Names go to *set, all else
// to the end of `list`, for push_watches.
void read_metrics(lua_State *L, int given, int list, size_t output, metric_set *set);
// The schedule whose object is at this index, such as nn.CosineDecay{ 0.1, 1000 }.
schedule read_schedule(lua_State *L, int table);
// Pushes a table of the functions that the callback TensorBoard uses.
void push_event_functions(lua_State *L);
