// SPDX-License-Identifier: MIT
// ray.ranks: the text of ray_ranks.py, for pods of RayJobs.
#include "script/api/bindings.h"
#include "script/embed.h"

extern const struct lua_source ray_sources[];

static int ranks(call *c, const cJSON *args, cJSON **result, err *e)
{
    *result = cJSON_CreateString(ray_sources[0].text);
    return 0;
}

const struct binding ray_bindings[] = {
    {.name = "ray.ranks", .effect = EFFECT_PURE, .start = ranks},
    {0},
};
