// SPDX-License-Identifier: MIT
// Models as Lua sees them, for the files that make and train models. Private to script/worker.
#pragma once
#include "script/worker/state.h"

struct lua_model {
    model *m; // NULL when closed
    bool stop_training;
};

struct lua_model *check_lua_model(lua_State *L, int arg);

// Methods of models: model:fit{…}, evaluate, predict (training.c).
int model_fit_method(lua_State *L);
int model_evaluate_method(lua_State *L);
int model_predict_method(lua_State *L);
// Functions of the module: nn.Sequential, and what nn.Model calls (layers.c).
int lua_sequential(lua_State *L);
int lua_graph(lua_State *L);
