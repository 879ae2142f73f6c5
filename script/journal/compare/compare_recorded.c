// SPDX-License-Identifier: MIT
// What a run has reported, under names that are the same in two runs: "loss" of the run itself,
// "loss of Trials: wide" of a branch of a cell, which is compared with the same branch only.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/compare/compare.h"

#include <stdint.h>

// The title of a cell; for run b, that of its partner.
static char *title_of(const struct paired *p, const fold *f, const char *id)
{
    size_t k, i = 0;
    const notebook *nb = fold_notebook(f), *nb_a = fold_notebook(p->a);
    if (!notebook_find(nb, id, &k))
        return mem_strdup(id);
    while (f != p->a && i < notebook_count(nb_a) && p->partner[i] != k)
        i++;
    return f != p->a && i < notebook_count(nb_a) ? notebook_cell_title(nb_a, i)
                                                 : notebook_cell_title(nb, k);
}

static void add(cJSON *recorded, const char *name, const char *id, const cJSON *entry)
{
    cJSON *copy = cJSON_Duplicate(entry, true);
    json_set_str(copy, "cell", id);
    json_set(recorded, name, copy);
}

cJSON *compare_recorded(const struct paired *p, const fold *f, const char *list)
{
    AUTO_JSON *results = fold_results(f);
    AUTO_JSON *branches = fold_branches(f);
    cJSON *recorded = cJSON_CreateObject();
    const cJSON *entry, *of_cell, *branch;
    cJSON_ArrayForEach(entry, json_get(results, list))
    {
        struct teller teller = fold_teller(f, list, entry->string);
        if (!teller.branch || fold_is_child(f))
            add(recorded, entry->string, teller.cell, entry);
    }
    cJSON_ArrayForEach(of_cell, branches)
    {
        AUTO_FREE char *title = title_of(p, f, of_cell->string);
        cJSON_ArrayForEach(branch, of_cell)
        {
            AUTO_FREE char *where = compare_branch_title(title, branch->string);
            cJSON_ArrayForEach(entry, json_get(branch, list))
            {
                AUTO_FREE char *name = str_fmt("%s of %s", entry->string, where);
                add(recorded, name, of_cell->string, entry);
            }
        }
    }
    return recorded;
}
