// SPDX-License-Identifier: MIT
#include "base/json/json.h"
#include "script/journal/runs/lineage.h"
#include "script/journal/runs/runs.h"

cJSON *lineage_read(const char *folder, err *e)
{
    runs_list *list = runs_list_open(folder, e);
    cJSON *runs = list ? cJSON_CreateArray() : NULL;
    for (size_t i = 0; list && i < runs_list_count(list); i++) {
        cJSON *one = runs_list_lineage(list, i);
        if (one)
            cJSON_AddItemToArray(runs, one);
    }
    runs_list_close(list);
    return runs;
}
