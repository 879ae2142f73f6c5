// SPDX-License-Identifier: MIT
// How models look in Lua, shared by the files that train them and that make them. Private to
// script/worker.
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

// Fields of a table of options, by name; other kinds of values raise "WHAT: 'field' must be …".
int64_t opt_int_field(
    lua_State *L, int table, const char *what, const char *field, int64_t otherwise);
double opt_number_field(
    lua_State *L, int table, const char *what, const char *field, double otherwise);
bool opt_bool_field(lua_State *L, int table, const char *what, const char *field, bool otherwise);
// Borrowed from the table; NULL when it is not there.
const char *opt_string_field(lua_State *L, int table, const char *what, const char *field);
// Raises when the table has another name than these ("a b c").
void check_field_names(lua_State *L, int table, const char *what, const char *names);
