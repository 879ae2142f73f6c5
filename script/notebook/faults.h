// SPDX-License-Identifier: MIT
// What keeps a notebook from being run, found before anything is: another language, two cells of
// one id, wrong options, unknown magics, Lua that does not compile. A list that owns its texts.
#pragma once
#include "script/notebook/notebook.h"

struct fault {
    long cell; // index; -1: the notebook itself
    int line;  // of the cell's source, 1-based; 0: its marker
    char *text;
    size_t from, to;    // bytes of that line; both 0: all of it
    bool warning;       // it keeps nothing from running
    const char *source; // who found it: "notebook", "lua", "kubernetes", …
};
struct faults {
    struct fault *list;
    size_t n;
};

void faults_done(struct faults *f);
void faults_add(struct faults *f, long at, int line, const char *text);
// The same with all that is known; its text is copied, its source is not.
void faults_note(struct faults *f, const struct fault *one);
// Adds findings as script/api/language/language.h has them.
void faults_add_findings(struct faults *f, const notebook *nb, const cJSON *findings);
// A fault as a client and `check -o json` get it: {"line", "from", "to", "severity", "text",
// "source"}; new.
cJSON *faults_json(const struct fault *f);
void faults_take(struct faults *f, struct faults *others); // adds the others, which are then none
// Adds what the document alone tells, in the order of its cells.
void faults_find(const notebook *nb, struct faults *f);
void faults_sort(struct faults *f); // by cell and line
// "PATH:12: cell 2 (Deploy): TEXT", as compilers write it, with a newline; of an .ipynb, which
// has no lines, "PATH: cell 2 (Deploy), line 3: TEXT".
void faults_print(const struct fault *f, const notebook *nb, const char *path, buf *out);
// The same without a path and a newline, inside another message: "line 12: TEXT", of an .ipynb
// "cell 2 (Deploy): TEXT".
void faults_say(const struct fault *f, const notebook *nb, buf *out);
