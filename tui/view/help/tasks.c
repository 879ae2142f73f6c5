// SPDX-License-Identifier: MIT
// "<run>" in a sentence stands for the keys of that action where it works first, "<logs@table>" for
// those in the view of this name. An action that has lost its keys is named as after ":".
#include "tui/view/help/tasks.h"

#include "base/mem.h"
#include "base/str.h"
#include "tui/bench/command.h"
#include "tui/bench/desk.h"
#include "tui/view/help/places.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

enum { NAME = 40 };

static const struct task {
    const char *title, *text;
    enum action does;
    const char *line;
} tasks[] = {
    {"Run a cell",
        "<run> runs the cell, <run-advance> runs it and goes to the next, <run-insert> runs it and "
        "inserts one below.",
        .does = ACT_RUN},
    {"Run many cells",
        "<run-all> runs all cells, <run-above> those above, <run-below> this one and those below, "
        "<run-section> its section. <run-stale> runs only those that do not hold any more, [3~].",
        .does = ACT_RUN_STALE},
    {"Interrupt what runs, restart the kernel",
        "<interrupt> interrupts what runs; variables stay. <restart> starts the kernel anew, "
        "without them. You are asked before something is lost.",
        .does = ACT_INTERRUPT},
    {"Answer a question",
        "A cell that asks has [?] in its title. <answer> opens its question again after "
        "<back@question> has put it off.",
        .does = ACT_ANSWER},
    {"Edit a cell",
        "<edit> goes into the cell and <command> comes back among cells. <tab> completes a name, "
        "<inspect> tells what it is, <undo> takes back. <editor> opens the cell in your $EDITOR.",
        .does = ACT_EDIT},
    {"Insert, move, delete and bring back cells",
        "<insert-above> and <insert-below> insert a cell, <move-up> and <move-down> move it, "
        "<merge> merges, <delete-cell> deletes, <undo-cell> takes any of it back.",
        .does = ACT_INSERT_BELOW},
    {"Make a cell a text, a heading or a file",
        "<to-markdown> makes it a text, <heading-1> a heading, <to-code> code. <properties> opens "
        "all that it is as a form: title, kind, file, effects, tags.",
        .does = ACT_PROPERTIES},
    {"Find one's way",
        "<outline> lists headings and titles with what is the matter with them. <jump-back> goes "
        "back to where you were; <set-mark> gives a cell a letter and <go-mark> returns to it.",
        .does = ACT_OUTLINE},
    {"Find the cell that runs or failed",
        "<go-running> goes to what runs and follows it, <go-failed> to the next cell that failed.",
        .does = ACT_GO_FAILED},
    {"Search and replace",
        "<search> searches titles, sources and outputs, <search-next> goes on. :s and :%s replace, "
        "in the selected cells and in all.",
        .does = ACT_SEARCH},
    {"See all of an output",
        "<open-output> opens it on the full screen, <view-next@output> goes round what else the "
        "cell has left. There <search@output> searches and <filter@output> filters lines.",
        .does = ACT_OPEN_OUTPUT},
    {"Read a table",
        "<open-output> opens it. <filter@table> filters rows, <sort> sorts, <column-hide> hides a "
        "column, <frequency> counts its values, <save-csv> writes what is shown to a file.",
        .does = ACT_OPEN_OUTPUT},
    {"Look at the cluster",
        ":pods, or any other kind, opens a live table; :ns and :ctx choose where it looks. "
        "<describe@table> describes a row, <yaml@table> shows it as YAML, <tree@table> what "
        "belongs to it.",
        .line = "pods"},
    {"Learn why something does not go on",
        "<why@table> on a row of a table tells the cause, what shows it and the next step.",
        .line = "pods"},
    {"Read logs",
        "<logs@table> on a row opens its log; <mark-row@table> marks rows, whose logs are merged "
        "by time. There <log-previous@output> turns to the containers before, and "
        "<save-lines@output> writes the lines to a file. :logs takes kubectl's options.",
        .line = "pods"},
    {"Change or delete an object",
        "<edit-object@table> edits the row in $EDITOR, <restart-object@table> starts its pods "
        "anew, <delete-object@table> deletes it; :scale, :label, :set and :rollout change it. Each "
        "asks first and says what it will do.",
        .line = "pods"},
    {"Open a shell in a pod, forward ports",
        "<shell@table> opens a shell in the pod of the row, <forward@table> forwards its ports; "
        ":forwards lists those that are.",
        .line = "pods"},
    {"See who holds the GPUs",
        ":gpus shows the nodes, what pods have asked of them and who holds their GPUs.",
        .line = "gpus"},
    {"Watch a training",
        "Progress, loss and accuracy stand below the cell. <open-output> shows the curves on the "
        "full screen: <point-next> reads values, <zoom-in> enlarges, <log-scale> changes the "
        "scale, <metric> shows one metric alone.",
        .does = ACT_OPEN_OUTPUT},
    {"Move a training to pods",
        "Try it here first: hvd.run(fn, { np = 2 }). Then give the same call on = k8s.jobs { image "
        "= … } (or jobset, mpijob, trainjob, sparkapp): it makes the pods, follows their log and "
        "brings back the results."},
    {"Compare runs",
        "<runs> lists the runs of this notebook. There <mark-run> marks one and <compare> compares "
        "it with the one at the cursor: parameters, metrics, sources, curves.",
        .does = ACT_RUNS},
    {"Look at a run that has ended",
        "<runs> and <open@runs> open it read-only. Then <earlier> and <later> go through its "
        "outputs, <cell-earlier> and <cell-later> from cell to cell, :at 14:03 to a time.",
        .does = ACT_RUNS},
    {"Save",
        "<save> saves, :w NAME under another name. :difference shows how the file differs from "
        "what is here.",
        .does = ACT_SAVE},
    {"Leave and come back",
        "<quit> leaves; the kernel, its variables and what runs stay. Open the notebook again, or "
        "type firesteel attach, to come back. :stop ends the kernel, too.",
        .does = ACT_QUIT},
    {"When something is wrong",
        "<go-failed> goes to the next cell that failed. :messages shows the last messages whole, "
        "firesteel doctor looks at this machine and the cluster.",
        .line = "messages"},
    {"Know what a function does",
        "<inspect> tells it where the cursor stands in a cell, <tab> completes. Here "
        "<filter@help> and the beginning of a name (k8s.cr) find it, <open@help> shows what it "
        "is."},
    {"Work with a screen reader",
        "firesteel --linear NOTEBOOK tells in sentences what happens and takes commands as lines: "
        "nothing is drawn. The setting linear, or FIRESTEEL_LINEAR=1, makes it the usual."},
    {"Change keys, colours and habits",
        ":config opens your settings in $EDITOR, each with what it means. What you save counts at "
        "once.",
        .line = "config"},
};

const char *task_nth(size_t i)
{
    return i < ARRAY_LEN(tasks) ? tasks[i].title : NULL;
}

static enum action action_of(const char *name)
{
    for (enum action a = 1; a < ACTION_COUNT; a++)
        if (str_eq(name, action_name(a)))
            return a;
    return ACT_NONE;
}

// Reads "<logs@table>"; returns its length, 0 if something else stands there.
static size_t reference(const char *at, char name[NAME], char place[NAME])
{
    size_t n = strcspn(at, ">");
    *name = *place = '\0';
    if (*at != '<' || !at[n] || n > NAME)
        return 0;
    sscanf(at, "<%39[a-z0-9-]@%39[a-z]>", name, place);
    return n + 1;
}

static void add_keys(const bench *b, const char *name, const char *place, buf *out)
{
    char keys[NAME];
    help_keys_of(b, *place ? place : NULL, action_of(name), keys, sizeof keys);
    buf_fmt(out, "%s%s", *keys ? "" : ":", *keys ? keys : name);
}

void task_text(const bench *b, size_t i, buf *out)
{
    char name[NAME], place[NAME];
    for (const char *at = tasks[i].text; *at;) {
        size_t n = reference(at, name, place);
        if (n)
            add_keys(b, name, place, out);
        else
            buf_char(out, *at);
        at += n ? n : 1;
    }
}

enum action task_does(size_t i, const char **line)
{
    *line = tasks[i].line;
    return tasks[i].does;
}

static bool check_line(const char *at, buf *why)
{
    size_t n = *at == '%';
    while (islower((unsigned char)at[n]))
        n++;
    AUTO_FREE char *line = mem_strndup(at, n);
    bool known = !n || command_help(line) || action_of(line) != ACT_NONE || str_eq(line, "pods");
    if (!known)
        buf_fmt(why, ":%s is no line", line);
    return known;
}

bool task_check(size_t i, buf *why)
{
    char name[NAME], place[NAME], keys[NAME];
    for (const char *at = tasks[i].text; *at; at++) {
        if (*at == ':' && (at == tasks[i].text || at[-1] == ' ') && !check_line(at + 1, why))
            return false;
        if (*at != '<' || !reference(at, name, place))
            continue;
        enum action a = action_of(name);
        help_keys_of(NULL, *place ? place : NULL, a, keys, sizeof keys);
        if (a == ACT_NONE || !*keys) {
            buf_fmt(
                why, "\"%s\": %s has no keys in %s", tasks[i].title, name, *place ? place : "any");
            return false;
        }
    }
    return !tasks[i].line || check_line(tasks[i].line, why);
}
