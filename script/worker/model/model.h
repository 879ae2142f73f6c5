// SPDX-License-Identifier: MIT
// Models as Lua sees them, for the files that make and train models. Private to script/worker.
#pragma once
#include "script/worker/core/state.h"

// A layer that other models may have, too (sharing.h).
struct model_part {
    struct shared *of;
    size_t layer; // its number in the model
};

struct lua_model {
    model *m; // NULL when closed
    bool stop_training;
    bool busy; // fit or train_on_batch runs
    int uses;  // so many of its methods run that call functions of Lua
    struct model_part *part;
    size_t parts;
};

struct lua_model *check_lua_model(lua_State *L, int arg);

// Methods of models: model:fit{…}, evaluate, predict (training.c).
int model_fit_method(lua_State *L);
// core.looks_not(method, stops): this method of a callback does not look at the optimizer's state,
// so ranks may each keep a share of it when it is called after a batch. Unless `stops`, it does not
// end the training either, and ranks need not agree about that.
int mark_looks_not(lua_State *L);
int model_evaluate_method(lua_State *L);
int model_predict_method(lua_State *L);
// Methods for custom training loops (loop.c): three of the model, and optimizer:apply.
int model_train_on_batch_method(lua_State *L);
int model_test_on_batch_method(lua_State *L);
int model_gradients_method(lua_State *L);
int optimizer_apply(lua_State *L);
// Pushes the model's optimizer: the object that it was compiled with, or one that is like it.
void push_optimizer(lua_State *L, int index);
// The loss on top of the stack, which is popped: a name, an object such as nn.Huber{ delta = 2 },
// or a function of targets and outputs, which the list at `kept` keeps.
void take_loss(lua_State *L, const char *what, bool from_logits, int kept, head_spec *h);
// Pushes what a field of the table has for output k of the model at 1: item k of a list, or what is
// under the output's name. What is neither counts for each output.
void push_of_output(lua_State *L, int table, const char *name, size_t k);
// The same of `loss`, where an output without one is an error of the method `what`.
void push_loss_of_output(lua_State *L, int table, const char *what, size_t k);
// A function of targets and outputs as a loss; pushes what has to be kept as long as it is used.
const own_loss *push_own_loss(lua_State *L, int function);
int take_own_loss_runner(lua_State *L); // gradient.lua hands over what computes it
// Pushes the logs as a table, or returns their values one by one, and frees them.
int return_logs(lua_State *L, logs *l, bool as_table);
// User values of a model.
enum { MODEL_WATCHES = 1, MODEL_OPTIMIZER, MODEL_LOSSES };
// Functions of the module: nn.Sequential, and what nn.Model calls (layers.c).
int lua_sequential(lua_State *L);
int lua_graph(lua_State *L);
int lua_check_layer(lua_State *L);
int lua_classes(lua_State *L);
