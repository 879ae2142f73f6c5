// SPDX-License-Identifier: MIT
#include "k8s/client/state/condition.h"

#include "base/clock.h"
#include "base/str.h"

const cJSON *condition_find(const cJSON *object, const char *type)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), type))
            return c;
    }
    return NULL;
}

void condition_age(buf *out, const char *since, int64_t now)
{
    int64_t at;
    if (since && clock_parse_rfc3339(since, &at, NULL) == 0 && at <= now) {
        buf_str(out, " for ");
        duration_age(out, now - at);
    }
}
