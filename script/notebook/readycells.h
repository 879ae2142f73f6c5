// SPDX-License-Identifier: MIT
// The gallery: ready cells that a person inserts by a name. Each is a file of a folder, which is
// read when it is needed, and owns nothing else:
//
//   FOLDER/cells/lua/15-deploy.lua      in a notebook in Lua: `deploy`; numbers order the list
//   FOLDER/cells/python/15-deploy.py    in one in Python
//
// A file begins with comments: what the cells do; `after: NAMES`, of the cells that make what these
// use; `cells: NAMES`, other cells instead of own ones, or `cells: RECIPE: TITLE`, a cell of
// FOLDER/RECIPE; in Python `lua: NAME`, those of that name, as cells in Lua. Else below an empty
// line follow its own cells.
#pragma once
#include "base/buf.h"
#include "script/notebook/notebook.h"

struct readycells_entry {
    char *name, *about, *path;
    char **after; // NULL-terminated, or NULL
    char *cells;  // what "cells:" says, or NULL
    char *lua;    // and "lua:"
};
struct readycells {
    struct readycells_entry *list;
    size_t n;
    char *folder;
};

// What there is for a notebook in this language (notebook_language: NULL is Lua), in order; nothing
// where there is nothing for it.
void readycells_read(struct readycells *g, const char *folder, const char *language);
void readycells_done(struct readycells *g);
const struct readycells_entry *readycells_find(
    const struct readycells *g, const char *name); // or NULL
// Appends the notebooks with the cells of an entry, in order, to a list that ends with NULL; new.
// Errors: a name or a title that is not there, a file that cannot be read.
int readycells_of(
    const struct readycells *g, const struct readycells_entry *entry, notebook ***parts, err *e);
void readycells_free(notebook **parts); // NULL is fine
// The names that a cell gives a value in lines of its own (`epochs = 5`): in Lua and in Python.
// NULL-terminated, new; NULL: none.
char **readycells_names(const char *source);
