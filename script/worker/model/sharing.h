// SPDX-License-Identifier: MIT
// Layers that several models have: their weights are the same ones, as in Keras. Each model keeps
// weights of its own in one run, so a model that is used takes those of the model that was used
// last. Private to script/worker.
#pragma once
#include "script/worker/model/model.h"

// For a layer object at `index` that is layer number `layer` of the model that is made: notes it in
// the list at `list`.
void note_layer(lua_State *L, int list, int index, size_t layer);
// The model on top of the stack has the layers of the list; it takes the weights that those have
// already. Raises when they do not fit.
void join_layers(lua_State *L, int list);
// Before the model is used: takes what other models have made of its layers.
void share_layers(lua_State *L, struct lua_model *box);
// Before it is changed while another one is trained: that is an error.
void check_shared(lua_State *L, const struct lua_model *box, const char *what);
// Before it is compiled: a layer object's `trainable` may have been set since the model was made.
void follow_trainable(lua_State *L, struct lua_model *box);
// When it is closed: the others get its weights, if there are any.
void leave_layers(lua_State *L, struct lua_model *box);
