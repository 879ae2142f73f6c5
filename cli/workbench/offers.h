// SPDX-License-Identifier: MIT
// A list of everything that can be opened: running kernels, the notebooks of a folder, the recipes
// of firesteel.
#pragma once
#include "cli/kernels.h"
#include "tui/view/pick.h"

enum offer_kind { OFFER_KERNEL, OFFER_NOTEBOOK, OFFER_RECIPE, OFFER_TOUR, OFFER_BLANK };
struct offer {
    enum offer_kind kind;
    const struct kernel *kernel; // for a KERNEL; borrowed
    char *path;                  // for a NOTEBOOK or RECIPE
    char *notebook, *folder, *age;
    char *about, *detail; // a short and a long description; NULL: none
    int64_t when;         // wall ns: started or changed
    bool here;            // in this folder
    bool follows;         // a BLANK: listed after notebooks
};
struct offers {
    struct offer *list;
    size_t n;
};

// Each function adds to the list, which stays sorted: kernels of the folder `cwd`, notebooks,
// recipes, a blank one (after notebooks, if there are any), other kernels; the newest first.
void offers_kernels(struct offers *o, const struct kernels *k, const char *cwd);
// *.ipynb, and *.lua with a cell marker, except those that a kernel in the list has open.
void offers_notebooks(struct offers *o, const char *folder);
void offers_recipes(struct offers *o, struct cli *cli);
void offers_tour(struct offers *o, struct cli *cli); // the tour, if it is installed
// A notebook of this folder that does not exist yet.
void offers_blank(struct offers *o, const char *folder);
void offers_done(struct offers *o);
// Rows for pick_push, valid as long as the offers are. New.
struct pick_row *offers_rows(const struct offers *o);

// The folder of the recipes, with the ready cells and the tour; new. NULL: it is not installed.
char *recipes_folder(struct cli *cli);
// The path of a recipe, found by its name or a part of it ("10-mnist", "mnist"). New.
char *recipe_find(struct cli *cli, const char *name, err *e);
// Copies a recipe to a path that must not exist yet, with the usual modes of a new file.
int recipe_copy(const char *recipe, const char *path, err *e);
