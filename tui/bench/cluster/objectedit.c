// SPDX-License-Identifier: MIT
#include "tui/bench/cluster/objectedit.h"

#include "base/mem.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"
#include "tui/bench/bench_private.h"

#include <string.h>

// An edit under way: between two replies it belongs to the one that is waited for.
struct editing_object {
    int64_t display;
    char *row, *name; // name: of the file
    cJSON *base;      // the object as it was when its text was made
    char *words;      // what was typed last; NULL: nothing yet
    char *why;        // what was wrong with that; NULL: nothing
};

static void editing_free(struct editing_object *o)
{
    free(o->row);
    free(o->name);
    cJSON_Delete(o->base);
    free(o->words);
    free(o->why);
    free(o);
}

static void set(char **field, const char *value)
{
    char *copy = mem_strdup(value);
    free(*field);
    *field = copy;
}

// kubectl's words; below them what was wrong, each line a comment.
static void add_header(const char *why, buf *out)
{
    buf_str(out,
        "# Please edit the object below. Lines beginning with a '#' will be ignored,\n"
        "# and an empty file will abort the edit. If an error occurs while saving this file will "
        "be\n# reopened with the relevant failures.\n#\n");
    for (const char *line = why; line && *line;) {
        size_t n = strcspn(line, "\n");
        buf_fmt(out, "# %.*s\n", (int)n, line);
        line += n + (line[n] == '\n');
    }
    buf_str(out, why ? "#\n" : "");
}

// Without the lines that begin with '#'; new.
static char *without_comments(const char *words)
{
    AUTO_BUF out = {0};
    while (*words) {
        size_t n = strcspn(words, "\n");
        n += words[n] == '\n';
        if (*words != '#')
            buf_add(&out, words, n);
        words += n;
    }
    return mem_strdup(buf_cstr(&out));
}

static bool is_blank(const char *words)
{
    return !words[strspn(words, " \t\r\n")];
}

// Has the person edit the text; new. NULL: an error, which was shown.
static char *in_editor(bench *b, const struct editing_object *o, const char *words)
{
    err e = {0};
    AUTO_BUF file = {0}, back = {0};
    char *edited = NULL;
    struct owner_temp temp;
    bool made = owner_temp_make(&temp, b->runtime, b->temporary, "firesteel-", &e) == 0;
    AUTO_FREE char *path = made ? str_fmt("%s/%s.yaml", temp.path, o->name) : NULL;
    add_header(o->why, &file);
    buf_str(&file, words);
    if (path && path_write(path, file.data, file.len, 0600, &e) == 0 &&
        b->ops->edit_file(b->arg, path, &e) == 0 && path_read(path, &back, 0, &e) == 0)
        edited = without_comments(buf_cstr(&back));
    else
        bench_complain(b, "%s", e.text);
    owner_temp_remove(&temp);
    return edited;
}

static void ask(bench *b, struct editing_object *o, const char *action,
    void (*done)(bench *b, void *arg, const cJSON *reply))
{
    cJSON *m = message_new(MESSAGE_act), *with = json_object_at(m, "with");
    json_set_int(m, "display", o->display);
    json_set_str(m, "action", action);
    json_set_str(m, "row", o->row);
    if (o->words) {
        json_set(with, "base", cJSON_Duplicate(o->base, true));
        json_set_str(m, "words", o->words);
    }
    if (b->client) {
        remote_ask(b, m, done, o);
        return;
    }
    cJSON_Delete(m);
    bench_complain(b, "the kernel has gone");
    editing_free(o);
}

static void on_text(bench *b, void *arg, const cJSON *reply);
static void on_edited(bench *b, void *arg, const cJSON *reply);

// What came from the editor goes to the server, unless there is nothing in it.
static void let_edit(bench *b, struct editing_object *o, const char *words)
{
    AUTO_FREE char *edited = in_editor(b, o, words);
    bool same = edited && str_eq(edited, words);
    if (edited && !same && !is_blank(edited)) {
        set(&o->words, edited);
        bench_say(b, "what the server says of %s …", o->name);
        ask(b, o, "edit", on_edited);
        return;
    }
    if (edited && same && o->why)
        bench_complain(b, "not changed: %s", o->why);
    else if (edited)
        bench_say(
            b, "%s", same ? "nothing was changed" : "nothing was changed: the file was empty");
    editing_free(o);
}

static const char *refusal(const cJSON *reply, const char **code)
{
    const cJSON *error = json_get(reply, "error");
    *code = json_str_or(error, "code", "unavailable");
    return json_bool_or(reply, "ok", false) ? NULL
                                            : json_str_or(error, "message", "the kernel has gone");
}

static void on_text(bench *b, void *arg, const cJSON *reply)
{
    struct editing_object *o = arg;
    const char *code, *why = refusal(reply, &code);
    const cJSON *found = json_get(reply, "result");
    if (why || !json_str(found, "text")) {
        bench_complain(b, "%s", why ? why : "the kernel has no text of it");
        editing_free(o);
        return;
    }
    bench_hush(b);
    cJSON_Delete(o->base);
    o->base = cJSON_Duplicate(json_get(found, "base"), true);
    set(&o->name, json_str_or(found, "name", "object"));
    let_edit(b, o, json_str(found, "text"));
}

// What was typed is on top of the newest state then.
static void on_changed_meanwhile(bench *b, struct editing_object *o)
{
    set(&o->why,
        "the object has changed meanwhile: this is its newest state with your changes on top");
    ask(b, o, "edit-text", on_text);
}

// These a person can do something about in the text.
static bool is_of_text(const char *code)
{
    static const char *const codes[] = {"invalid", "usage"};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        if (str_eq(code, codes[i]))
            return true;
    return false;
}

static void on_edited(bench *b, void *arg, const cJSON *reply)
{
    struct editing_object *o = arg;
    const char *code, *why = refusal(reply, &code);
    if (why && str_eq(code, "conflict")) {
        on_changed_meanwhile(b, o);
        return;
    }
    if (why && is_of_text(code)) {
        AUTO_FREE char *words = mem_strdup(o->words);
        set(&o->why, why);
        let_edit(b, o, words);
        return;
    }
    if (why)
        bench_complain(b, "not changed: %s", why);
    else
        bench_say(b, "%s", json_str_or(reply, "nothing", "changed"));
    editing_free(o);
}

void object_edit(bench *b, int64_t display, const char *row)
{
    if (!remote_ready(b, false))
        return;
    struct editing_object *o = mem_alloc(sizeof *o);
    *o = (struct editing_object){.display = display, .row = mem_strdup(row)};
    bench_say(b, "the text of it …");
    ask(b, o, "edit-text", on_text);
}
