// SPDX-License-Identifier: MIT
// The plan of a cell's execution: Lua to run, a file to write, a template to fill, a script for
// bash, or a text for a Jupyter kernel, which gets it as it stands. For all others IPython's magics
// end here: the kernel gets plain text. The plan owns its strings.
//
// In Lua, every magic line becomes Lua on the same line, so that line numbers stay right:
//   %env K=V          firesteel.magic.env("K", "V")           V with $NAME and {expr} filled in
//   %env K            firesteel.magic.env("K")                displays it;  %env alone: all
//   !cmd              firesteel.magic.system("cmd")           streams; a non-zero exit raises
//   x = !cmd          x = firesteel.magic.getoutput("cmd")    a list of lines
//   NAME? and ?NAME   help "NAME"
// In cmd and V, {expr} becomes `.. tostring(expr) ..` (when it reads as a Lua expression), and
// $NAME becomes `.. firesteel.magic.var("NAME", NAME) ..`: the value of a Lua variable, or "$NAME",
// left to the shell (env: the environment), where there is none. $$ and {{ }} are literal.
#pragma once
#include "script/notebook/notebook.h"

#include <stdbool.h>

enum plan_kind {
    PLAN_NOTHING,  // text: nothing to do
    PLAN_LUA,      // run `text`
    PLAN_FILE,     // write `text` to `path`
    PLAN_TEMPLATE, // fill in `text` and write it to `path`
    PLAN_BASH,     // run `text` with bash
    PLAN_KERNEL,   // run `text` with a Jupyter kernel
};

struct plan {
    enum plan_kind kind;
    char *text;     // always ends with a newline, unless it is empty
    char *path;     // as written; NULL unless FILE or TEMPLATE
    char *path_lua; // Lua expression that gives the path, when it has $NAME or {expr} in it, else
                    // NULL
    bool append;    // %%writefile -a
    char *capture;  // variable for the output; "" discards it; NULL: not captured
    char **inputs, **outputs; // files of BASH, NULL-terminated; NULL: not declared
    char *language;           // for syntax: "lua", "yaml", …; of KERNEL
    char *kernel;             // of KERNEL: its name; NULL: whichever has the language
    bool wish;                // another one with the language will do, too
    int line;                 // after an error: its line in the cell's source, 0: the marker
    int skipped;              // lines of the cell before the first line of text (a %%magic line)
};

// Makes the plan; nb NULL: of a cell in a notebook in Lua. ERR_USAGE, with the line in out->line:
// "unknown magic %%foo; …"; plan_done is then not needed.
int plan_cell(const notebook *nb, const cell *c, struct plan *out, err *e);
// The same whatever is wrong with the cell's options, unless these are c->options.unclear.
int plan_text(const notebook *nb, const cell *c, struct plan *out, err *e);
void plan_done(struct plan *p);
