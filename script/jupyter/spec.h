// SPDX-License-Identifier: MIT
// Kernelspecs: which Jupyter kernels this machine has, and how they are started. A kernelspec is a
// folder with a kernel.json, KERNELS/NAME. The caller owns what it gets.
//
// Folders are looked through in this order; in each of them a kernel's folder is kernels/NAME:
//   $JUPYTER_PATH, the virtual environment ($VIRTUAL_ENV or $CONDA_PREFIX; else .venv, venv in the
//   working folder or beside the notebook), $JUPYTER_DATA_DIR or ~/.local/share/jupyter,
//   /usr/local/share/jupyter, /usr/share/jupyter
#pragma once
#include "base/err.h"
#include "base/json/json.h"

#include <stdbool.h>

// Where to look: a plain value that borrows all it points to.
struct spec_places {
    const char *const *env;         // JUPYTER_PATH, VIRTUAL_ENV, HOME, PATH, …
    const char *cwd, *notebook_dir; // NULL: not there
    const char *const *system;      // NULL-terminated; NULL: those of every machine
};

struct spec {
    char *name;      // of its folder: "python3"
    char *title;     // "Python 3 (ipykernel)"
    char *language;  // "python"
    char *path;      // of its folder
    char **argv;     // with "{connection_file}"; a bare "python" is that of its environment
    char **env;      // what it adds, "NAME=VALUE"
    char *bin;       // of the virtual environment whose it is: goes before PATH; NULL: none
    char *prefix;    // and that environment
    bool by_message; // interrupts are messages, else signals
    bool is_xeus;    // its name begins as those of kernels that are made with XEUS (bridge.h)
};
void spec_done(struct spec *s);
bool spec_is_python(const struct spec *s);

// Calls fn for each kernel that can be read, in the order of the folders.
void spec_each(
    const struct spec_places *places, void (*fn)(void *arg, const struct spec *s), void *arg);
// Where a user's own kernelspecs are, and the active virtual environment; new, NULL: there is none.
char *spec_user_folder(const char *const *env);
char *spec_environment(const struct spec_places *places);

// Finds a kernel: by its name; or, without one or when `name` is only a wish, by its language.
// Languages are compared without case; of several, the one of the first folder counts, and there
// python3, ir, bash and the like before others. Errors: ERR_NOT_FOUND names those that are here,
// and the command that installs one; ERR_INVALID: its kernel.json cannot be read.
int spec_find(const struct spec_places *places, const char *name, bool wish, const char *language,
    struct spec *out, err *e);
