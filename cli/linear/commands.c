// SPDX-License-Identifier: MIT
// The lines that can be typed in the linear mode.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "cli/linear/linear_private.h"
#include "cli/say.h"
#include "cli/terminal/editor.h"
#include "script/journal/text.h"

#include <stdio.h>
#include <string.h>

enum { LOOK_MS = 600 };

static const notebook *document(const linear *l)
{
    return fold_notebook(l->fold);
}

// The cell of a number that was typed; false after saying what is wrong.
static bool cell_of(linear *l, const char *words, size_t *at)
{
    int64_t number;
    size_t n = notebook_count(document(l));
    bool there = str_to_int(words, &number) && number >= 1 && (size_t)number <= n;
    if (there)
        *at = (size_t)number - 1;
    else
        linear_wrong(l, "which cell? 1 to %zu", n);
    return there;
}

static void name_of(linear *l, size_t at, buf *out)
{
    const cell *c = notebook_cell(document(l), at);
    buf_fmt(out, "cell %zu%s%s", at + 1, c->title ? " " : "", c->title ? c->title : "");
}

static void on_executed(void *arg, const cJSON *reply)
{
    linear *l = arg;
    l->busy = l->busy || json_bool_or(reply, "ok", false); // the kernel's own word follows
}

static void execute(linear *l, size_t from, size_t to)
{
    bool code = false;
    cJSON *m = message_new(MESSAGE_execute), *ids = json_array_at(m, "cells");
    for (size_t i = from; i < to; i++)
        if (notebook_cell(document(l), i)->kind == CELL_CODE) {
            cJSON_AddItemToArray(ids, cJSON_CreateString(notebook_cell(document(l), i)->id));
            code = true;
        }
    if (code) {
        linear_ask(l, m, on_executed);
        return;
    }
    cJSON_Delete(m);
    linear_wrong(l, "that is a text: it does not run");
}

static void do_run(linear *l, const char *words)
{
    size_t at;
    if (cell_of(l, words, &at))
        execute(l, at, at + 1);
}

static void do_run_all(linear *l, const char *words)
{
    execute(l, 0, notebook_count(document(l)));
}

static void do_list(linear *l, const char *words)
{
    const notebook *nb = document(l);
    for (size_t i = 0; i < notebook_count(nb); i++) {
        AUTO_BUF name = {0};
        const cell *c = notebook_cell(nb, i);
        const struct run_cell *r = fold_cell_by_id(l->fold, c->id, NULL);
        name_of(l, i, &name);
        bool code = c->kind == CELL_CODE;
        linear_say(l, "%s: %s", buf_cstr(&name),
            !code                          ? "text"
            : !r || r->state == STATE_IDLE ? "has not run"
                                           : cell_state_name(r->state));
    }
}

static void do_show(linear *l, const char *words)
{
    size_t at;
    if (!cell_of(l, words, &at))
        return;
    const cell *c = notebook_cell(document(l), at);
    const struct run_cell *r = fold_cell_by_id(l->fold, c->id, NULL);
    AUTO_BUF name = {0};
    name_of(l, at, &name);
    linear_say(l, "%s, its text:\n%s", buf_cstr(&name), c->source);
    for (size_t k = 0; r && k < r->n_outputs; k++) {
        AUTO_BUF text = {0};
        if (output_text(&r->outputs[k], l->spools, 0, &text, NULL) == 0 && text.len)
            linear_say(l, "output %zu of %zu:\n%s", k + 1, r->n_outputs, buf_cstr(&text));
    }
}

static void on_changed(void *arg, const cJSON *reply)
{
    linear *l = arg;
    if (!json_bool_or(reply, "ok", false))
        return;
    l->wanted = json_int_or(reply, "rev", 0); // its event follows
    l->saved = false;
    linear_say(l, "done; the notebook is not saved yet");
}

// How long a text is without line breaks at its end, which editors add.
static size_t without_newlines(const char *text, size_t n)
{
    while (n && text[n - 1] == '\n')
        n--;
    return n;
}

// The person's editor on the cell's text, in a file of its own. NULL: nothing has changed, or it is
// said what went wrong.
static char *edited(linear *l, const char *source)
{
    err e = {0};
    struct owner_temp folder;
    AUTO_BUF text = {0};
    const char *tmp = cli_getenv(l->cli, "TMPDIR");
    AUTO_FREE char *runtime = cli_runtime_dir(l->cli, &e);
    if (!runtime || owner_temp_make(&folder, runtime, tmp ? tmp : "/tmp", "firesteel-", &e) < 0) {
        linear_wrong(l, "%s", e.text);
        return NULL;
    }
    AUTO_FREE char *file = path_join(folder.path, "cell.lua");
    bool done = path_write(file, source, strlen(source), 0600, &e) == 0 &&
                editor_run(l->cli, file, &e) == 0 && path_read(file, &text, 16 << 20, &e) == 0;
    owner_temp_remove(&folder);
    size_t n = without_newlines(source, strlen(source));
    text.len = without_newlines(buf_cstr(&text), text.len);
    bool same = text.len == n && memcmp(buf_cstr(&text), source, n) == 0;
    if (!done)
        linear_wrong(l, "%s", e.text);
    else if (same)
        linear_say(l, "nothing was changed");
    return done && !same ? mem_strndup(buf_cstr(&text), text.len) : NULL;
}

static void do_edit(linear *l, const char *words)
{
    size_t at;
    if (!cell_of(l, words, &at))
        return;
    const cell *c = notebook_cell(document(l), at);
    AUTO_FREE char *id = mem_strdup(c->id), *text = edited(l, c->source);
    if (!text)
        return;
    cJSON *m = message_new(MESSAGE_edit);
    json_set_int(m, "rev", l->rev);
    json_set_str(m, "cell", id);
    json_set_str(m, "source", text);
    linear_ask(l, m, on_changed);
}

// "new", "new print(1)": a cell at the end.
static void do_new(linear *l, const char *words)
{
    size_t n = notebook_count(document(l));
    cJSON *m = message_new(MESSAGE_insert);
    json_set_int(m, "rev", l->rev);
    json_set_str(m, "after", n ? notebook_cell(document(l), n - 1)->id : NULL);
    json_set_str(m, "source", words);
    linear_say(l, "cell %zu is new: edit %zu opens it in your editor", n + 1, n + 1);
    linear_ask(l, m, on_changed);
}

static void do_delete(linear *l, const char *words)
{
    size_t at;
    if (!cell_of(l, words, &at))
        return;
    cJSON *m = message_new(MESSAGE_delete);
    json_set_int(m, "rev", l->rev);
    json_set_str(m, "cell", notebook_cell(document(l), at)->id);
    linear_ask(l, m, on_changed);
}

static void on_saved(void *arg, const cJSON *reply)
{
    linear *l = arg;
    if (!json_bool_or(reply, "ok", false))
        return;
    l->saved = true;
    linear_say(l, "saved");
}

static void do_save(linear *l, const char *words)
{
    err e = {0};
    AUTO_FREE char *path = *words ? path_absolute(words, &e) : NULL;
    cJSON *m = message_new(MESSAGE_save);
    json_set_int(m, "rev", INT64_C(1) << 53); // saves any revision
    json_set_str(m, "path", path);
    linear_ask(l, m, on_saved);
}

static void do_interrupt(linear *l, const char *words)
{
    linear_ask(l, message_new(MESSAGE_interrupt), linear_done);
}

static void do_quit(linear *l, const char *words)
{
    linear_leave(l, false);
}

static void do_stop(linear *l, const char *words)
{
    if (!l->saved && !str_eq(words, "!"))
        linear_wrong(l, "there are unsaved changes: save saves them, stop ! loses them");
    else
        linear_leave(l, true);
}

void linear_tell_question(linear *l)
{
    const cJSON *q = l->asks->child, *one;
    AUTO_BUF words = {0};
    if (!q)
        return;
    buf_fmt(&words, "question: %s", json_str_or(q, "question", ""));
    cJSON_ArrayForEach(one, json_get(json_get(q, "effect"), "objects"))
    {
        buf_fmt(&words, "%s %s",
            one == json_get(json_get(q, "effect"), "objects")->child ? "" : ",",
            cJSON_IsString(one) ? one->valuestring : "");
    }
    const cJSON *choices = json_get(q, "choices");
    linear_hide(l, json_bool_or(q, "secret", false));
    buf_str(&words, choices ? "\nType one of:" : "\nType the answer.");
    cJSON_ArrayForEach(one, choices)
    {
        buf_fmt(&words, "%s %s", one == choices->child ? "" : ",",
            cJSON_IsString(one) ? one->valuestring : "");
    }
    linear_say(l, "%s", buf_cstr(&words));
}

// A line while a question is open answers it. "interrupt", "quit" and "stop" stay commands.
static bool answers(linear *l, const char *line)
{
    const cJSON *q = l->asks->child, *choices = json_get(q, "choices"), *one;
    const char *value = choices ? NULL : line;
    if (!q || str_eq(line, "interrupt") || str_eq(line, "quit") || str_starts(line, "stop"))
        return false;
    cJSON_ArrayForEach(one, choices)
    {
        if (*line && str_starts(one->valuestring, line)) {
            value = one->valuestring;
            break;
        }
    }
    if (!value) {
        if (*line)
            linear_wrong(l, "\"%s\" is no answer", line);
        linear_tell_question(l);
        return true;
    }
    cJSON *m = message_new(MESSAGE_answer);
    json_set_int(m, "ask", json_int_or(q, "ask", 0));
    json_set_str(m, "value", value);
    cJSON_DeleteItemFromArray(l->asks, 0);
    linear_hide(l, false);
    linear_ask(l, m, linear_done);
    return true;
}

static void stop_peek(linear *l)
{
    if (l->peek.display) {
        cJSON *m = message_new(MESSAGE_act);
        json_set_int(m, "display", l->peek.display);
        json_set_str(m, "action", "stop");
        linear_ask(l, m, linear_done);
    }
    l->peek.display = 0;
    l->peek.looks = 0;
    cJSON_Delete(STEAL(l->peek.table));
    cJSON_Delete(STEAL(l->peek.rows));
    free(STEAL(l->peek.action));
    free(STEAL(l->peek.kind));
}

static void tell_table(linear *l)
{
    AUTO_BUF text = {0};
    const cJSON *rows = l->peek.rows, *row;
    int n = cJSON_GetArraySize(rows);
    buf_fmt(&text, "table %s, %d row%s", l->peek.kind, n, n == 1 ? "" : "s");
    cJSON_ArrayForEach(row, rows)
    {
        AUTO_BUF one = {0};
        speak_cells(json_get(l->peek.table, "columns"), json_get(row, "cells"), &one);
        buf_fmt(&text, "\n%s", buf_cstr(&one));
    }
    linear_say(l, "%s", buf_cstr(&text));
}

// What an action on a row has answered: a text.
static void on_acted(void *arg, const cJSON *reply)
{
    linear *l = arg;
    const char *text = json_str(reply, "text"), *nothing = json_str(reply, "nothing");
    const char *shown = json_str(json_get(reply, "result"), "shown");
    if (text || nothing || shown)
        linear_say(l, "%s", text ? text : nothing ? nothing : shown);
    else if (json_bool_or(reply, "ok", false))
        linear_say(l, "done");
    stop_peek(l);
}

// Rows come a moment after their table.
void linear_peeked(linear *l)
{
    enum { LOOKS = 3 };
    const cJSON *first = l->peek.rows ? l->peek.rows->child : NULL;
    if (!first && ++l->peek.looks < LOOKS) {
        loop_timer_start(l->peeked, LOOK_MS, 0);
    } else if (!l->peek.action) {
        tell_table(l);
        stop_peek(l);
    } else if (!first) {
        linear_wrong(l, "there is no such object");
        stop_peek(l);
    } else {
        cJSON *m = message_new(MESSAGE_act);
        json_set_int(m, "display", l->peek.display);
        json_set_str(m, "action", l->peek.action);
        json_set_str(m, "row", first->string);
        linear_ask(l, m, on_acted);
    }
}

static void on_table(void *arg, const cJSON *reply)
{
    linear *l = arg;
    l->peek.display = json_int_or(reply, "display", 0);
    if (l->peek.display)
        loop_timer_start(l->peeked, LOOK_MS, 0);
    else
        stop_peek(l);
}

// A table of a kind; action: what is done with the row of this name.
static void look(linear *l, const char *kind, const char *name, const char *action, bool all)
{
    cJSON *m = message_new(MESSAGE_act), *with = json_object_at(m, "with");
    stop_peek(l);
    json_set_int(m, "display", 0);
    json_set_str(m, "action", "table");
    json_set_str(with, "kind", kind);
    l->peek.kind = mem_strdup(kind);
    if (all)
        json_set_bool(with, "all_namespaces", true);
    if (name) {
        AUTO_FREE char *selector = str_fmt("metadata.name=%s", name);
        json_set_str(with, "field_selector", selector);
    }
    l->peek.action = action ? mem_strdup(action) : NULL;
    linear_ask(l, m, on_table);
}

// "why pods/x"
static void act_on(linear *l, const char *action, const char *words)
{
    const char *slash = strchr(words, '/');
    AUTO_FREE char *kind = slash ? mem_strndup(words, (size_t)(slash - words)) : NULL;
    if (slash && slash[1])
        look(l, kind, slash + 1, action, false);
    else
        linear_wrong(l, "%s of what? %s pods/NAME", action, action);
}

static void do_why(linear *l, const char *words)
{
    act_on(l, "why", words);
}

static void do_describe(linear *l, const char *words)
{
    act_on(l, "describe", words);
}

static void do_yaml(linear *l, const char *words)
{
    act_on(l, "yaml", words);
}

static void on_variables(void *arg, const cJSON *reply)
{
    linear *l = arg;
    bool any = false;
    const cJSON *one;
    cJSON_ArrayForEach(one, json_get(reply, "variables"))
    {
        const char *shape = json_str_or(one, "shape", "");
        if (json_bool_or(one, "hidden", false))
            continue;
        any = true;
        linear_say(l, "%s, %s%s%s: %s", json_str_or(one, "name", "?"),
            json_str_or(one, "type", "?"), *shape ? " of " : "", shape,
            json_str_or(one, "preview", ""));
    }
    if (!any)
        linear_say(l, "no cell has set a variable");
    cJSON_ArrayForEach(one, json_get(reply, "notes"))
    {
        linear_say(l, "%s: %s", json_str_or(one, "of", "?"), json_str_or(one, "why", "?"));
    }
}

static void do_vars(linear *l, const char *words)
{
    linear_ask(l, message_new(MESSAGE_variables), on_variables);
}

static void do_help(linear *l, const char *words);

static const struct command {
    const char *name, *help;
    void (*run)(linear *l, const char *words);
    bool alone; // works without words
} commands[] = {
    {"help", "help: these commands; help run: one of them", do_help, true},
    {"list", "the cells, and how each is", do_list, true},
    {"show", "show 3: the text of cell 3, and what it has left", do_show, false},
    {"run", "run 3: run cell 3", do_run, false},
    {"run-all", "run all cells", do_run_all, true},
    {"interrupt", "interrupt what runs, as C-c does", do_interrupt, true},
    {"edit", "edit 3: cell 3 in your $EDITOR", do_edit, false},
    {"new", "new: an empty cell at the end; new print(1): with this text", do_new, true},
    {"delete", "delete 3: delete cell 3", do_delete, false},
    {"save", "save the notebook; save NAME: under another name", do_save, true},
    {"vars", "the variables that cells have set", do_vars, true},
    {"why", "why pods/NAME: why it does not go on", do_why, false},
    {"describe", "describe pods/NAME", do_describe, false},
    {"yaml", "yaml pods/NAME", do_yaml, false},
    {"quit", "leave; the kernel goes on", do_quit, true},
    {"stop", "stop the kernel and leave; stop !: and lose what is unsaved", do_stop, true},
};

static void do_help(linear *l, const char *words)
{
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (!*words || str_starts(commands[i].name, words) || strcasestr(commands[i].help, words))
            linear_say(l, "%s: %s", commands[i].name, commands[i].help);
    if (!*words)
        linear_say(l, "pods, jobs or any other kind: a table of them, once; -A: of all namespaces");
}

void linear_command(linear *l, const char *line)
{
    size_t n = strcspn(line, " ");
    AUTO_FREE char *name = mem_strndup(line, n);
    const char *words = line + n + strspn(line + n, " ");
    if ((l->asks->child && answers(l, line)) || !*line || *line == '#')
        return;
    for (size_t i = 0; i < ARRAY_LEN(commands); i++)
        if (str_eq(commands[i].name, name)) {
            if (*words || commands[i].alone)
                commands[i].run(l, words);
            else
                linear_wrong(l, "%s", commands[i].help);
            return;
        }
    if (!*words || str_eq(words, "-A"))
        look(l, name, NULL, NULL, *words);
    else
        linear_wrong(l, "there is no command %s: help lists them", name);
}
