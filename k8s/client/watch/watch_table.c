// SPDX-License-Identifier: MIT
#include "k8s/client/watch/watch_table.h"

#include "base/str.h"

void watch_table_done(struct watch_table *t)
{
    cJSON_Delete(t->columns);
    *t = (struct watch_table){0};
}

bool watch_table_asks(const struct watch_table *t)
{
    return t->wanted && !t->refused;
}

static bool watch_table_is(const struct watch_table *t, const cJSON *answer)
{
    return t->wanted && str_eq(json_str(answer, "kind"), "Table");
}

static const cJSON *columns_of(const struct watch_table *t, const cJSON *answer)
{
    return watch_table_is(t, answer) ? json_get(answer, "columnDefinitions") : NULL;
}

bool watch_table_take(struct watch_table *t, const cJSON *list)
{
    const cJSON *columns = columns_of(t, list);
    if (!t->wanted || (t->told && json_equal(columns, t->columns)))
        return false;
    cJSON_Delete(t->columns);
    t->columns = columns ? cJSON_Duplicate(columns, true) : NULL;
    t->told = true;
    return true;
}

bool watch_table_changes(const struct watch_table *t, const cJSON *frame)
{
    const cJSON *columns = columns_of(t, frame);
    return columns && columns->child && !json_equal(columns, t->columns);
}

cJSON *watch_table_object(const struct watch_table *t, cJSON *answer, const cJSON **cells)
{
    const cJSON *rows = watch_table_is(t, answer) ? json_get(answer, "rows") : NULL;
    *cells = rows && rows->child ? json_get(rows->child, "cells") : NULL;
    return rows && rows->child ? (cJSON *)json_get(rows->child, "object") : answer;
}
