// SPDX-License-Identifier: MIT
#include "tui/edit/action.h"

#include "base/mem.h"
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

// Actions come in groups; a group ends where the next one begins.
static const struct {
    enum action first;
    const char *title;
} groups[] = {
    {ACT_RUN, "Running"},
    {ACT_EDIT, "Modes and moving"},
    {ACT_INSERT_ABOVE, "Cells"},
    {ACT_OUTLINE, "Finding your way"},
    {ACT_INSERT_NEWLINE, "Editing text"},
    {ACT_SAVE, "The program"},
    {ACT_BACK, "Rows and pages"},
    {ACT_RUNS, "Runs"},
    {ACT_CHART, "Charts of metrics"},
    {ACT_EARLIER, "Through the time of a run"},
    {ACT_PIN, "Rows and pages"},
};

const char *action_group(enum action a)
{
    const char *title = "";
    for (size_t i = 0; i < ARRAY_LEN(groups) && a >= groups[i].first; i++)
        title = groups[i].title;
    return title;
}

bool action_ends(enum action a)
{
    static const enum action ending[] = {ACT_RUN_ALL, ACT_INTERRUPT, ACT_RESTART, ACT_STOP,
        ACT_SUSPEND, ACT_QUIT, ACT_SAVE_QUIT, ACT_KEEP_QUIT, ACT_DISCARD_QUIT, ACT_OVERWRITE,
        ACT_RELOAD, ACT_CUT, ACT_DELETE_CELL, ACT_CLEAR_OUTPUT, ACT_CLEAR_ALL, ACT_DELETE_BACK,
        ACT_DELETE_FORWARD, ACT_DELETE_WORD_BACK, ACT_DELETE_WORD_FORWARD, ACT_KILL_LINE,
        ACT_KILL_LINE_BACK, ACT_CUT_TEXT, ACT_RESTART_OBJECT, ACT_DELETE_OBJECT, ACT_REMOVE_RUN};
    for (size_t i = 0; i < ARRAY_LEN(ending); i++)
        if (ending[i] == a)
            return true;
    return false;
}
