// SPDX-License-Identifier: MIT
// notebook-convert [--rewrite | --edit] FROM TO: loads and saves a notebook; with --rewrite every
// cell is written anew, as after an edit; with --edit the last cell has a line more.
// notebook-convert --plan FILE: prints the plans of its cells.
#include "base/mem.h"
#include "base/str.h"
#include "script/notebook/notebook.h"
#include "script/notebook/plan.h"

#include <stdio.h>

static void rewrite(notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++) {
        AUTO_FREE char *source = mem_strdup(notebook_cell(nb, i)->source);
        notebook_replace(nb, i, "something else");
        notebook_replace(nb, i, source);
    }
}

static void edit(notebook *nb)
{
    size_t last = notebook_count(nb) - 1;
    AUTO_FREE char *source = str_fmt("%s\nmore", notebook_cell(nb, last)->source);
    notebook_replace(nb, last, source);
}

static int print_plans(const notebook *nb)
{
    for (size_t i = 0; i < notebook_count(nb); i++) {
        struct plan p;
        err e = {0};
        if (plan_cell(nb, notebook_cell(nb, i), &p, &e) < 0) {
            fprintf(stderr, "cell %zu: %s\n", i, e.text);
            return 1;
        }
        if (p.kind != PLAN_NOTHING)
            printf("== %d %s %s\n%s", p.kind, p.path ? p.path : "", p.capture ? p.capture : "",
                p.text);
        plan_done(&p);
    }
    return 0;
}

int main(int argc, char **argv)
{
    err e = {0};
    bool option = argc > 1 && argv[1][0] == '-', plans = option && str_eq(argv[1], "--plan");
    if (argc != 3 + option - plans) {
        fprintf(stderr, "usage: notebook-convert [--rewrite | --edit] FROM TO | --plan FILE\n");
        return 2;
    }
    notebook *nb = notebook_load(argv[1 + option], &e);
    int code = 1;
    if (nb && plans) {
        code = print_plans(nb);
    } else if (nb) {
        if (option && str_eq(argv[1], "--edit"))
            edit(nb);
        else if (option)
            rewrite(nb);
        code = notebook_save(nb, argv[2 + option], &e) < 0;
    }
    if (e.code)
        fprintf(stderr, "%s\n", e.text);
    notebook_free(nb);
    return code;
}
