// SPDX-License-Identifier: MIT
// What is wrong with the texts of cells in other languages than Lua, as one types them: YAML and
// manifests of Kubernetes, Dockerfiles, bash, Python. No text is run. Shared by the bindings
// (language.c) and by `firesteel check`.
//
// A finding: {"cell", "line" (from 1, in the cell's source), "from", "to" (bytes in that line; both
// 0: all of it), "severity": "error" or "warning", "text", "source": "kubernetes"}
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdint.h>

struct language_text {
    const char *cell;     // its id
    const char *language; // "yaml", "dockerfile", "bash", "python"; others are not checked
    const char *text;
    int skipped; // lines of the cell before the text
    bool fills;  // ${…} in it is filled in by Lua
    bool magics; // Python as a kernel takes it: with %magics and !commands
};

// Who knows the kinds of Kubernetes. Borrowed until the next call. NULL: *absent tells whether
// there is surely no such kind.
typedef const cJSON *language_kind(
    void *arg, const char *api_version, const char *kind, bool *absent);
struct language_world {
    language_kind *kind; // NULL: nobody
    void *arg;
    // For programs that check: their environment (NULL: this process's), and until when
    // (clock_mono() ns) they may take.
    const char *const *env;
    int64_t deadline;
};

// Adds the findings of all texts to the list.
void language_check(
    const struct language_text *texts, size_t n, const struct language_world *w, cJSON *found);

// The same of texts as JSON: [{"cell", "language", "text", "skipped", "fills", "magics"}].
void language_check_all(const cJSON *list, const struct language_world *w, cJSON *found);

// The place of a finding in the text.
struct language_place {
    size_t line;     // from 0
    size_t from, to; // bytes; both 0: the whole line
};
enum language_severity { LANGUAGE_ERROR, LANGUAGE_WARNING };
struct language_finding {
    struct language_place at;
    enum language_severity severity;
    const char *source;
};
void language_add(cJSON *found, const struct language_text *t, const struct language_finding *f,
    const char *fmt, ...) __attribute__((format(printf, 4, 5)));

// A language each.
void language_manifest(const struct language_text *t, const struct language_world *w, cJSON *found);
void language_dockerfile(const struct language_text *t, cJSON *found);
void language_bash(const struct language_text *t, const struct language_world *w, cJSON *found);
// All texts in Python at once, by one program.
void language_python(
    const struct language_text *texts, size_t n, const struct language_world *w, cJSON *found);

// The text in which what is filled in later (${…} if `fills`, {{…}}) is a word that YAML accepts,
// in as many bytes; a line that has nothing else is a comment. *partial: there is such a line. New.
char *language_masked(const char *text, bool fills, bool *partial);
bool language_is_masked(const char *text); // does it have such a word in it?
// The beginning of a line, counted from 0; the end of the text when it has fewer.
const char *language_line(const char *text, size_t line);
// The bytes of so many characters of a line of the text.
size_t language_bytes(const char *text, size_t line, size_t characters);

// Runs a program with this input to its end. Its standard output (at most 1 MiB) is added to `out`,
// its standard error to `said`. Returns its exit code, -1 when
// it is not there, takes too long, or was killed.
int language_program(const char *const *argv, const char *input, size_t n,
    const struct language_world *w, buf *out, buf *said);
