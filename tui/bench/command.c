// SPDX-License-Identifier: MIT
#include "tui/bench/command.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"
#include "tui/bench/desk.h"
#include "tui/bench/loss.h"
#include "tui/bench/structure.h"
#include "tui/bench/views.h"

#include <ctype.h>
#include <string.h>

// A name on the command line is relative to the shell's folder.
static char *absolute(const char *name)
{
    err e = {0};
    AUTO_FREE char *here = path_absolute(".", &e);
    return path_join(here, name);
}

static void write_file(bench *b, const char *name, bool force, bool leave)
{
    AUTO_FREE char *path = *name ? absolute(name) : NULL;
    save_document(b, path, force, leave);
}

static void do_write(bench *b, const char *name, bool force)
{
    write_file(b, name, force, false);
}

static void do_write_quit(bench *b, const char *name, bool force)
{
    write_file(b, name, force, true);
}

static void do_exit(bench *b, const char *name, bool force)
{
    if (b->saved && !b->edited_at)
        leave_now(b, false);
    else
        write_file(b, name, force, true);
}

static void do_quit(bench *b, const char *name, bool force)
{
    if (force && !b->read_only && (!b->saved || b->edited_at))
        reload_document(b, true);
    else
        leave_or_ask(b);
}

static void do_reload(bench *b, const char *name, bool force)
{
    if (force || (b->saved && !b->edited_at))
        reload_document(b, false);
    else
        bench_complain(b, "there are unsaved changes: :e! loses them");
}

static void do_stop(bench *b, const char *name, bool force)
{
    if (!force && !b->read_only && (!b->saved || b->edited_at))
        bench_complain(b, "there are unsaved changes: :w saves, :stop! loses them");
    else if (force || loss_agreed(b, ACT_STOP, NULL))
        leave_now(b, true);
}

static void do_help(bench *b, const char *words, bool force)
{
    help_push(b, words);
}

static void do_messages(bench *b, const char *words, bool force)
{
    page_push_peek(b, 0, "Messages", b->said.len ? buf_cstr(&b->said) : "none yet\n");
    bench_act(b, ACT_ROW_LAST);
}

static void show_help(bench *b)
{
    help_push(b, "");
}

static void request(bench *b, const char *action, const char *words)
{
    if (b->top && b->top->ops->request)
        b->top->ops->request(b->top, action, words);
    else
        bench_complain(b, "%s works on a row of a table: O opens one", action);
}

static void do_scale(bench *b, const char *words, bool force)
{
    request(b, "scale", words);
}

static void do_label(bench *b, const char *words, bool force)
{
    request(b, "label", words);
}

static void do_annotate(bench *b, const char *words, bool force)
{
    request(b, "annotate", words);
}

static void do_explain(bench *b, const char *words, bool force)
{
    request(b, "explain", words);
}

static void do_rollout(bench *b, const char *words, bool force)
{
    static const char *const verbs[][2] = {
        {"history", "history"}, {"undo", "undo"}, {"restart", "restart"}};
    size_t n = strcspn(words, " ");
    const char *rest = words + n + strspn(words + n, " ");
    if (str_starts(rest, "--to-revision="))
        rest += strlen("--to-revision=");
    for (size_t i = 0; i < ARRAY_LEN(verbs); i++)
        if (strlen(verbs[i][0]) == n && memcmp(verbs[i][0], words, n) == 0) {
            request(b, verbs[i][1], rest);
            return;
        }
    bench_complain(b, "rollout history, rollout undo, rollout undo 3, rollout restart");
}

static void do_set(bench *b, const char *words, bool force)
{
    if (str_starts(words, "image "))
        request(b, "set-image", words + strlen("image "));
    else
        bench_complain(b, "set image CONTAINER=IMAGE changes the image of the row's containers");
}

#define REQUEST(name)                                                                              \
    static void do_##name(bench *b, const char *words, bool force)                                 \
    {                                                                                              \
        request(b, #name, words);                                                                  \
    }
REQUEST(resume)
REQUEST(cordon)
REQUEST(uncordon)
REQUEST(drain)
REQUEST(trigger)
REQUEST(forward)
REQUEST(who)

static void do_pause(bench *b, const char *words, bool force)
{
    request(b, "suspend", words); // ":suspend" is Ctrl-Z
}

static void do_forwards(bench *b, const char *words, bool force)
{
    desk_forwards(b);
}

static void do_logs(bench *b, const char *words, bool force)
{
    request(b, "logs", words);
}

static void do_namespace(bench *b, const char *words, bool force)
{
    if (*words)
        desk_use_namespace(b, words);
    else
        desk_open(b, "namespaces");
}

static void do_context(bench *b, const char *words, bool force)
{
    if (*words)
        desk_use_context(b, words);
    else
        desk_contexts(b);
}

static void do_insert(bench *b, const char *name, bool force)
{
    if (b->top->ops != &notebook_view_ops)
        bench_complain(b, "ready cells are inserted among cells: q goes back there");
    else if (*name)
        inserting_insert(b, notebook_place(b->top), name);
    else
        prompt_push(b, PROMPT_PALETTE, INSERTING);
}

static void do_sandbox(bench *b, const char *words, bool force)
{
    if (*words && !str_eq(words, "processes"))
        bench_complain(b, "sandbox, or sandbox processes");
    else
        remote_sandbox(b, *words != '\0');
}

static void do_gpus(bench *b, const char *words, bool force)
{
    desk_gpus(b);
}

static void do_variables(bench *b, const char *words, bool force)
{
    variables_open(b);
}

static void replace(bench *b, const char *words, bool all)
{
    if (b->top->ops == &notebook_view_ops)
        notebook_substitute(b->top, words, all);
    else
        bench_complain(b, "s/old/new/ works among cells and in a cell: q goes back there");
}

static void do_replace(bench *b, const char *words, bool force)
{
    replace(b, words, false);
}

static void do_replace_all(bench *b, const char *words, bool force)
{
    replace(b, words, true);
}

static void do_rename(bench *b, const char *words, bool force)
{
    if (b->top->ops == &notebook_view_ops)
        notebook_rename(b->top, words);
    else
        bench_complain(b, "rename works in a cell: q goes back there");
}

static void do_config(bench *b, const char *words, bool force)
{
    err e = {0};
    if (!b->ops->configure)
        bench_complain(b, "the settings cannot be edited here");
    else if (b->ops->configure(b->arg, &e) < 0)
        bench_complain(b, "%s", e.text);
}

int bench_view_file(bench *b, const char *path, err *e)
{
    return file_push(b, path, true, e);
}

static void do_view(bench *b, const char *words, bool force)
{
    err e = {0};
    if (!*words)
        bench_complain(b, "view which file? view data.csv");
    else if (file_push(b, words, false, &e) < 0)
        bench_complain(b, "%s", e.text);
}

static void do_at(bench *b, const char *words, bool force)
{
    replaying_go(b, words);
}

static const struct command {
    const char *name;
    bool takes_name;
    void (*run)(bench *b, const char *name, bool force);
    const char *help;
    bool always; // also before a notebook is open
} commands[] = {
    {"w", true, do_write,
        "save; w NAME: under another name; w!: over what is there, or is read-only"},
    {"wq", true, do_write_quit, "save and leave"},
    {"x", true, do_exit, "save what is unsaved and leave"},
    {"q", false, do_quit, "leave; q!: and lose what is unsaved", true},
    {"quit", false, do_quit, "leave", true},
    {"e", false, do_reload, "read the file again; e!: and lose what is unsaved"},
    {"stop", false, do_stop, "stop the kernel and leave"},
    {"h", true, do_help, "h logs: all help with that word; h: keys and lines that work here", true},
    {"help", true, do_help, "the same", true},
    {"messages", false, do_messages, "what the last row has said, whole", true},
    {"config", false, do_config, "your settings in $EDITOR: keys, aliases, colours", true},
    {"view", true, do_view, "view data.csv: a table in a file (.csv, .tsv, .jsonl)", true},
    {"s", true, do_replace,
        "s/old/new/: in the selected cells, or in this line while editing; g: all places of a "
        "line, c: asks each time"},
    {"%s", true, do_replace_all, "%s/old/new/: the same in all cells"},
    {"rename", true, do_rename,
        "rename NEW: the name at the cursor, in all cells of its language; each place is asked"},
    {"at", true, do_at,
        "at 14:03, at 2m30s from its beginning, at 50%: a run that has ended, then"},
    {"scale", true, do_scale, "scale 3: so many replicas of what the row stands for"},
    {"label", true, do_label, "label tier=gpu old-: sets one, removes another"},
    {"annotate", true, do_annotate, "annotate note=some text; annotate note-"},
    {"rollout", true, do_rollout,
        "rollout history; rollout undo, rollout undo 3: back to a revision; rollout restart"},
    {"set", true, do_set, "set image CONTAINER=IMAGE: in the row's pods"},
    {"trigger", false, do_trigger, "a Job of the CronJob, now"},
    {"pause", false, do_pause, "the CronJob, Job or schedule starts nothing until resume"},
    {"resume", false, do_resume, "it goes on"},
    {"cordon", false, do_cordon, "nothing new comes to the node"},
    {"uncordon", false, do_uncordon, "pods may come to the node again"},
    {"drain", true, do_drain,
        "drain --ignore-daemonsets --delete-emptydir-data --force --grace-period=SECONDS"},
    {"forward", true, do_forward,
        "forward 8080:80 :9090 --address=IP: to the pod or Service; alone: all ports it declares"},
    {"forwards", false, do_forwards, "the ports that are forwarded: to stop and open them"},
    {"who", true, do_who, "who may do what to the object; who delete: only that"},
    {"logs", true, do_logs, "logs --since=15m --tail=100 -c NAME --previous --timestamps"},
    {"ns", true, do_namespace,
        "ns NAME: tables are from that namespace (-A: from all); ns: the list of them"},
    {"ctx", true, do_context, "ctx NAME: tables are from that cluster; ctx: the list of contexts"},
    {"insert", true, do_insert,
        "ready cells: insert s1, a whole training job; insert deploy; insert: the list of them"},
    {"sandbox", true, do_sandbox,
        "a private sandbox, where all cells go from then on; sandbox processes: pods without "
        "images"},
    {"gpus", false, do_gpus, "the nodes, what pods have asked of them, and who holds their GPUs"},
    {"vars", false, do_variables,
        "the variables of cells, of Lua and of Python: type, size, value, the cell that set them"},
    {"explain", true, do_explain, "the fields of its kind; explain spec.template: one of them"},
};

static bool is_replace(const struct command *c)
{
    return c->run == do_replace || c->run == do_replace_all;
}

static const char to_cell[] = "go to that cell";

struct line {
    const struct command *command;
    size_t number; // number of a cell, 0: none
    const char *rest;
    bool force;
};

static bool parse(const char *words, struct line *out)
{
    *out = (struct line){0};
    size_t n = strspn(words, "0123456789");
    int64_t number;
    if (n && !words[n] && str_to_int(words, &number)) {
        out->number = number < 1 ? 1 : (size_t)number;
        return true;
    }
    n = *words == '%';
    while (isalpha((unsigned char)words[n]))
        n++;
    for (size_t i = 0; i < ARRAY_LEN(commands) && !out->command; i++)
        if (strlen(commands[i].name) == n && memcmp(commands[i].name, words, n) == 0)
            out->command = &commands[i];
    if (!out->command)
        return false;
    out->force = words[n] == '!';
    n += out->force;
    out->rest = words + n + strspn(words + n, " ");
    bool follows =
        words[n] == ' ' || (is_replace(out->command) && ispunct((unsigned char)words[n]));
    return !*out->rest || (out->command->takes_name && follows);
}

const char *command_help(const char *words)
{
    struct line line;
    if (!parse(words, &line))
        return NULL;
    return line.command ? line.command->help : to_cell;
}

bool command_takes_words(size_t i)
{
    return i < ARRAY_LEN(commands) && commands[i].takes_name;
}

const char *command_nth(size_t i, const char **help)
{
    static const struct command others[] = {{"12", .help = to_cell}, {"pods", .help = desk_help}};
    const struct command *c = i < ARRAY_LEN(commands) ? &commands[i] : NULL;
    if (!c && i < ARRAY_LEN(commands) + ARRAY_LEN(others))
        c = &others[i - ARRAY_LEN(commands)];
    if (c)
        *help = c->help;
    return c ? c->name : NULL;
}

bool command_offers(const bench *b, size_t i)
{
    return *b->state || (i < ARRAY_LEN(commands) && commands[i].always);
}

bool command_is_own(const bench *b, const char *words)
{
    struct line line;
    return !parse(words, &line) && settings_command(b->settings, words);
}

void own_command(bench *b, const char *name)
{
    request(b, "command", name);
}

bool command_run(bench *b, const char *words)
{
    struct line line;
    bool is_command = parse(words, &line);
    if (!is_command && command_is_own(b, words)) {
        own_command(b, words);
        return true;
    }
    if (!is_command && desk_line(b, words) == DESK_NO)
        return false;
    if (!is_command) {
        desk_open(b, words);
    } else if (line.command) {
        AUTO_FREE char *name = str_trim(line.rest, strlen(line.rest));
        line.command->run(b, name, line.force);
    } else if (b->n_slots) {
        bench_select(b, b->slots[(line.number < b->n_slots ? line.number : b->n_slots) - 1]->id);
    }
    return true;
}

static void run_all(bench *b)
{
    if (loss_agreed(b, ACT_RUN_ALL, NULL))
        remote_execute(b, 0, b->n_slots);
}

static void restart(bench *b)
{
    if (loss_agreed(b, ACT_RESTART, NULL))
        remote_restart(b);
}

static void run_stale(bench *b)
{
    if (remote_execute_stale(b) == 0)
        bench_say(b, "no cell is stale");
}

static void clear_all(bench *b)
{
    if (loss_agreed(b, ACT_CLEAR_ALL, NULL))
        remote_clear(b, 0, b->n_slots);
}

static void palette(bench *b)
{
    prompt_push(b, PROMPT_PALETTE, "");
}

static void save(bench *b)
{
    save_document(b, NULL, false, false);
}

static void save_as(bench *b)
{
    prompt_push(b, PROMPT_PALETTE, "w ");
}

static void overwrite(bench *b)
{
    save_document(b, NULL, true, false);
}

static void reload(bench *b)
{
    do_reload(b, "", false);
}

static void save_quit(bench *b)
{
    save_document(b, NULL, false, true);
}

static void discard_quit(bench *b)
{
    do_quit(b, "", true);
}

static void keep_quit(bench *b)
{
    remote_flush(b);
    leave_now(b, false);
}

static void stop(bench *b)
{
    do_stop(b, "", false);
}

static const struct {
    enum action action;
    void (*run)(bench *b);
    bool always; // also before a notebook is open
} anywhere[] = {
    {ACT_RUN_ALL, run_all, false},
    {ACT_RUN_STALE, run_stale, false},
    {ACT_INTERRUPT, remote_interrupt, false},
    {ACT_RESTART, restart, false},
    {ACT_CLEAR_ALL, clear_all, false},
    {ACT_PALETTE, palette, true},
    {ACT_SAVE, save, false},
    {ACT_SAVE_AS, save_as, false},
    {ACT_OVERWRITE, overwrite, false},
    {ACT_DIFFERENCE, show_difference, false},
    {ACT_RELOAD, reload, false},
    {ACT_HELP, show_help, true},
    {ACT_RUNS, runs_push, false},
    {ACT_CHART, metrics_push_own, false},
    {ACT_QUIT, leave_or_ask, true},
    {ACT_SAVE_QUIT, save_quit, false},
    {ACT_DISCARD_QUIT, discard_quit, false},
    {ACT_KEEP_QUIT, keep_quit, false},
    {ACT_STOP, stop, false},
};

bool command_is_early(const bench *b, enum action a)
{
    for (size_t i = 0; i < ARRAY_LEN(anywhere); i++)
        if (anywhere[i].action == a)
            return !anywhere[i].always && !*b->state;
    return a == ACT_ANSWER && !*b->state;
}

bool command_does(const bench *b, enum action a)
{
    for (size_t i = 0; i < ARRAY_LEN(anywhere); i++)
        if (anywhere[i].action == a)
            return !command_is_early(b, a);
    if (a >= ACT_EARLIER && a <= ACT_TIME_LAST)
        return bench_replays(b);
    return a == ACT_REDRAW || a == ACT_SUSPEND || a == ACT_BACK || a == ACT_CLOSE ||
           a == ACT_MOUSE || (a == ACT_ANSWER && !command_is_early(b, a));
}

bool command_act(bench *b, enum action a)
{
    for (size_t i = 0; i < ARRAY_LEN(anywhere); i++) {
        if (anywhere[i].action != a)
            continue;
        anywhere[i].run(b);
        return true;
    }
    return false;
}
