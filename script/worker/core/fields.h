// SPDX-License-Identifier: MIT
// Tables of options: fields by name and type, with errors that say what was expected. Private to
// script/worker.
#pragma once
#include <lauxlib.h>
#include <lua.h>
#include <stdbool.h>
#include <stdint.h>

// The field's value, or `otherwise` when it is missing. A value of another kind raises
// "WHAT: 'field' must be …".
int64_t opt_int_field(
    lua_State *L, int table, const char *what, const char *field, int64_t otherwise);
int opt_int32_field(lua_State *L, int table, const char *what, const char *field, int otherwise);
double opt_number_field(
    lua_State *L, int table, const char *what, const char *field, double otherwise);
bool opt_bool_field(lua_State *L, int table, const char *what, const char *field, bool otherwise);
// Borrowed from the table; NULL when it is missing.
const char *opt_string_field(lua_State *L, int table, const char *what, const char *field);
// Replaces the options at index `at`, a table or nothing, by a table that has all of them by name.
// `names` lists all ("a b c"); those of `places`, often none, may be given by their place, in this
// order. Raises at what is neither, and at an option that is given twice.
void take_options(lua_State *L, int at, const char *what, const char *places, const char *names);
// For tables whose items are no options, or which the caller checks: raises when the table has
// another key that is not listed.
void check_field_names(lua_State *L, int table, const char *what, const char *names);
