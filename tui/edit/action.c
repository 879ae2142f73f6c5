// SPDX-License-Identifier: MIT
#include "tui/edit/action.h"

#include "base/str.h"

static const struct {
    const char *name, *help;
} actions[ACTION_COUNT] = {[ACT_NONE] = {"", ""},
#define X(symbol, name, help) [ACT_##symbol] = {name, help},
    ACTIONS(X)
#undef X
};

const char *action_name(enum action a)
{
    return (unsigned)a < ACTION_COUNT ? actions[a].name : "";
}

const char *action_help(enum action a)
{
    return (unsigned)a < ACTION_COUNT ? actions[a].help : "";
}

enum action action_by_name(const char *name)
{
    for (int a = ACT_NONE + 1; a < ACTION_COUNT; a++)
        if (str_eq(name, actions[a].name))
            return (enum action)a;
    return ACT_NONE;
}
