// SPDX-License-Identifier: MIT
#include "cli/print/print.h"

#include "base/clock.h"
#include "base/data/digest.h"
#include "base/data/hashmap.h"
#include "base/json/rowset.h"
#include "base/mem.h"
#include "base/str.h"
#include "cli/print/print_private.h"
#include "cli/print/print_stream.h"
#include "script/journal/file/spool.h"
#include "script/journal/text.h"

#include <stdio.h>
#include <string.h>

struct printer {
    struct cli *cli;
    const fold *fold;
    char *spool_dir;
    print_stream *pending; // output that may still change
    char *pending_of;      // "cell stream branch" it belongs to
    char *branch;          // the branch of the cell whose lines come, printed before each line;
                           // NULL: none
    char *shown;           // the cell whose title was printed last
    bool spoken;           // whole sentences, for who listens
    cJSON *held;           // then: newest rows of live tables, {display: {uid: row}}
    int64_t progressed;    // then: mono ns when progress was told last
    bool drawn;            // is a line on the terminal that will be redrawn?
    hashmap *rows;         // digests of what was printed last of live rows, by "display/uid"
};

printer *printer_new(struct cli *cli, const fold *f)
{
    printer *p = mem_alloc(sizeof *p);
    p->cli = cli;
    p->fold = f;
    p->rows = hashmap_new();
    p->pending = print_stream_new();
    return p;
}

void printer_free(printer *p)
{
    if (!p)
        return;
    free(p->spool_dir);
    free(p->pending_of);
    free(p->branch);
    free(p->shown);
    print_stream_free(p->pending);
    hashmap_free(p->rows);
    cJSON_Delete(p->held);
    free(p);
}

void printer_speak(printer *p)
{
    p->spoken = true;
    p->held = cJSON_CreateObject();
}

void printer_spools(printer *p, const char *dir)
{
    free(p->spool_dir);
    p->spool_dir = mem_strdup(dir);
}

void printer_clear(printer *p)
{
    if (!p->drawn)
        return;
    say_redraw(stdout);
    p->drawn = false;
}

// Shows a line that the next output replaces; only on a terminal.
static void draw(printer *p, const char *text, size_t n)
{
    if (!p->cli->out_tty)
        return;
    size_t room = (size_t)p->cli->width - 5, used = 0, columns = 0;
    while (used < n && text[used] != '\n' && columns < room) {
        size_t len = utf8_len(text + used, n - used);
        used += len ? len : 1;
        columns++;
    }
    say_redraw(stdout);
    say(stdout, "    ");
    say_text(p->cli, stdout, text, used);
    fflush(stdout);
    p->drawn = true;
}

// Text of a branch of a cell: each line begins with the branch's name.
static void put_branch(printer *p, const char *text, size_t n)
{
    AUTO_BUF named = {0};
    for (const char *end; p->branch && n > 0; n -= (size_t)(end - text), text = end) {
        end = memchr(text, '\n', n);
        end = end ? end + 1 : text + n;
        buf_fmt(&named, "%s | ", p->branch);
        buf_add(&named, text, (size_t)(end - text));
    }
    if (p->branch)
        put_lines(p->cli, named.data, named.len, TONE_PLAIN);
    else
        put_lines(p->cli, text, n, TONE_PLAIN);
}

static void put_line(void *arg, const char *text, size_t n)
{
    printer *p = arg;
    printer_clear(p);
    put_branch(p, text, n);
}

static void end_pending(printer *p)
{
    printer_clear(p);
    print_stream_end(p->pending, put_line, p);
}

// Prints whole lines. The rest waits; a terminal shows it meanwhile.
static void put_output(printer *p, const char *text, size_t n)
{
    AUTO_BUF open = {0};
    print_stream_feed(p->pending, text, n, put_line, p);
    print_stream_open(p->pending, &open);
    if (open.len)
        draw(p, open.data, open.len);
}

static void put_spooled(printer *p, const cJSON *event)
{
    uint64_t from = (uint64_t)json_int_or(event, "from", 0),
             to = (uint64_t)json_int_or(event, "to", 0);
    spool *s = p->spool_dir ? spool_open(p->spool_dir, json_str(event, "spool"), NULL) : NULL;
    while (s && from < to) {
        AUTO_BUF bytes = {0};
        uint64_t stop = to - from > 1 << 18 ? from + (1 << 18) : to;
        if (spool_read(s, from, stop, &bytes, NULL) < 0 || !bytes.len)
            break;
        put_output(p, bytes.data, bytes.len);
        from += bytes.len;
    }
    spool_close(s);
}

// Live views of earlier cells continue: the cell's title is printed again before their output.
static void show_title(printer *p, const char *id, bool starts)
{
    if (!starts && str_eq(id, p->shown))
        return;
    end_pending(p);
    const struct run_cell *c = fold_cell_by_id(p->fold, id, NULL);
    bool runs = c && c->state == STATE_RUNNING;
    if (p->spoken)
        print_spoken(p->cli, p->fold, id, starts ? "running" : runs ? "goes on" : "is live");
    else
        print_title(p->cli, p->fold, id);
    if (!p->spoken)
        say(stdout, "%s\n", c && !runs ? " (live)" : "");
    free(p->shown);
    p->shown = mem_strdup(id);
}

static void on_stream(printer *p, const cJSON *event)
{
    const char *branch = json_str(event, "branch");
    AUTO_FREE char *of = str_fmt("%s %s %s", json_str_or(event, "cell", ""),
        json_str_or(event, "name", ""), branch ? branch : "");
    if (!str_eq(of, p->pending_of)) {
        end_pending(p);
        free(p->pending_of);
        p->pending_of = STEAL(of);
        free(p->branch);
        p->branch = mem_strdup(branch);
    }
    show_title(p, json_str_or(event, "cell", ""), false);
    const char *text = json_str(event, "text");
    if (json_str(event, "spool"))
        put_spooled(p, event);
    else if (text)
        put_output(p, text, strlen(text));
}

// "cell 3 Train: failed after 2.1s: error: no such file".
static void speak_end(printer *p, const struct run_cell *c)
{
    AUTO_BUF how = {0};
    const struct output *last = c->n_outputs ? &c->outputs[c->n_outputs - 1] : NULL;
    buf_str(&how, cell_state_name(c->state));
    if (c->mono_end - c->mono_start >= CLOCK_MS) {
        buf_str(&how, " after ");
        duration_format(&how, c->mono_end - c->mono_start);
    }
    if (c->state == STATE_FAILED && last && last->kind == OUTPUT_ERROR)
        buf_fmt(&how, ": %s: %s", last->name, last->text ? last->text : "");
    print_spoken(p->cli, p->fold, c->id, buf_cstr(&how));
}

static void on_state(printer *p, const cJSON *event)
{
    const char *id = json_str_or(event, "cell", "");
    const struct run_cell *c = fold_cell_by_id(p->fold, id, NULL);
    if (c && c->started && c->state == STATE_IDLE) {
        end_pending(p);
        put_left_out(p->cli, p->fold, c);
        return;
    }
    if (!c || (c->state != STATE_RUNNING && !c->ended) || !c->started)
        return;
    end_pending(p);
    if (c->state == STATE_RUNNING) {
        show_title(p, id, true);
    } else if (c->state != STATE_QUEUED && c->state != STATE_STALE) {
        if (p->spoken)
            speak_end(p, c);
        else
            put_state(p->cli, c);
    }
}

static const char *progress_text(const struct output *o)
{
    return json_get(o->data, "application/vnd.firesteel.progress+json")
               ? json_str(o->data, "text/plain")
               : NULL;
}

// Prints text under this key if it is new; false: it was printed already.
static bool is_news(printer *p, const struct output *o, const char *key, const char *text)
{
    AUTO_FREE char *whole = str_fmt("%lld/%s", (long long)o->id, key);
    size_t was, digest;
    uint8_t bytes[SHA256_SIZE];
    sha256 h;
    sha256_init(&h);
    sha256_update(&h, text, strlen(text));
    sha256_final(&h, bytes);
    memcpy(&digest, bytes, sizeof digest);
    if (hashmap_get(p->rows, whole, strlen(whole), &was) && was == digest)
        return false;
    hashmap_set(p->rows, whole, strlen(whole), digest);
    return true;
}

static void forget_news(printer *p, const struct output *o, const char *key)
{
    AUTO_FREE char *whole = str_fmt("%lld/%s", (long long)o->id, key);
    hashmap_remove(p->rows, whole, strlen(whole));
}

static void put_row(printer *p, const struct output *o, const struct row_look *look,
    const char *below, const cJSON *row)
{
    AUTO_BUF news = {0}, text = {0};
    if (json_str(row, "news"))
        buf_str(&news, json_str(row, "news"));
    else
        row_text(look, row, false, &news);
    const char *uid = json_str_or(row, "uid", "");
    bool is_new = is_news(p, o, uid, buf_cstr(&news));
    if (json_bool_or(row, "deleted", false)) // a removed row needs no memory
        forget_news(p, o, uid);
    if (!is_new || !news.len)
        return;
    row_text(look, row, true, &text);
    show_title(p, below, false);
    end_pending(p);
    if (look->heading && is_news(p, o, "columns", ""))
        put_lines(p->cli, look->heading, strlen(look->heading), TONE_DIM);
    put_lines(p->cli, text.data, text.len, TONE_PLAIN);
}

// Keeps the newest state of each row until printer_tell.
static void hold_rows(printer *p, const struct output *o, const cJSON *rows)
{
    AUTO_FREE char *id = str_fmt("%lld", (long long)o->id);
    const cJSON *row;
    cJSON_ArrayForEach(row, rows)
    {
        cJSON *all = json_object_at(p->held, id);
        const char *uid = json_str_or(row, "uid", "");
        cJSON_DeleteItemFromObjectCaseSensitive(all, uid);
        json_set(all, uid, cJSON_Duplicate(row, true));
    }
}

static void put_rows(printer *p, const struct output *o, const char *below, const cJSON *rows)
{
    if (p->spoken && o->live) {
        hold_rows(p, o, rows);
        return;
    }
    const cJSON *row;
    CLEANUP(row_look_done) struct row_look look = row_look(table_of(o));
    cJSON_ArrayForEach(row, rows)
    {
        put_row(p, o, &look, below, row);
    }
}

// The cell above a display; "" if none.
static const char *cell_of(const printer *p, int64_t display)
{
    for (size_t i = 0; i < fold_count(p->fold); i++) {
        const struct run_cell *c = fold_cell(p->fold, i);
        for (size_t k = 0; k < c->n_outputs; k++)
            if (c->outputs[k].kind == OUTPUT_DISPLAY && c->outputs[k].id == display)
                return c->id;
    }
    return "";
}

// A row whose words are new, as a sentence.
static void speak_row(printer *p, const struct output *o, const cJSON *row)
{
    AUTO_BUF text = {0}, news = {0};
    speak_cells(json_get(table_of(o), "columns"), json_get(row, "cells"), &text);
    buf_str(&news, json_str_or(row, "news", buf_cstr(&text)));
    bool gone = json_bool_or(row, "deleted", false);
    bool is_new = is_news(p, o, json_str_or(row, "uid", ""), buf_cstr(&news));
    if (gone)
        forget_news(p, o, json_str_or(row, "uid", ""));
    if (is_new || gone)
        say(stdout, "%s%s\n", gone ? "gone: " : "", buf_cstr(&text));
}

void printer_tell(printer *p)
{
    const cJSON *table, *row;
    AUTO_JSON *held = STEAL(p->held);
    p->held = cJSON_CreateObject();
    cJSON_ArrayForEach(table, held)
    {
        int64_t id;
        const struct output *o = str_to_int(table->string, &id) ? fold_display(p->fold, id) : NULL;
        if (!o || !table_of(o))
            continue;
        show_title(p, cell_of(p, o->id), false);
        end_pending(p);
        cJSON_ArrayForEach(row, table)
        {
            speak_row(p, o, row);
        }
    }
}

bool printer_holds(const printer *p)
{
    return p->held && p->held->child;
}

// Prints changed notes on a live table: how old it is, and that it has more rows. How many more
// changes often, so that is printed only at the end.
static void put_table_notes(printer *p, const struct output *o, const cJSON *table)
{
    const char *note = json_str_or(table, "note", "");
    AUTO_FREE char *reason = mem_strdup(strchr(note, ':') ? strchr(note, ':') + 1 : note);
    if (is_news(p, o, "note", reason) && *note) {
        end_pending(p);
        put_lines(p->cli, note, strlen(note), TONE_WARN);
    }
    bool more = json_int_or(table, "more", 0) > 0;
    if (is_news(p, o, "more", more ? "more" : "") && more) {
        AUTO_BUF text = {0};
        rowset_say_more(json_int_or(table, "more", 0), &text);
        end_pending(p);
        put_lines(p->cli, text.data, text.len, TONE_WARN);
    }
}

// Prints a live table: only its new or changed rows, and a changed note on its age. Uses the rows
// of the event, since the fold keeps only some.
static void put_table(printer *p, const struct output *o, const char *below, const cJSON *event)
{
    const cJSON *part;
    cJSON_ArrayForEach(part, json_get(event, "data"))
    {
        put_rows(p, o, below, json_get(part, "rows"));
    }
    put_table_notes(p, o, table_of(o));
}

// Now and then.
static void speak_progress(printer *p, const char *below, const char *words)
{
    enum { EVERY = 5 };
    int64_t now = clock_mono();
    if (p->progressed && now - p->progressed < EVERY * CLOCK_SEC)
        return;
    p->progressed = now;
    show_title(p, below, false);
    put_line(p, words, strlen(words));
    say(stdout, words[0] && words[strlen(words) - 1] == '\n' ? "" : "\n");
}

static void on_display(printer *p, const cJSON *event)
{
    const struct output *o = fold_display(p->fold, json_int_or(event, "id", -1));
    if (!o)
        return;
    const char *progress = progress_text(o), *below = cell_of(p, o->id);
    if (progress && o->live && p->spoken) {
        speak_progress(p, below, progress);
        return;
    }
    if (progress && o->live) {
        draw(p, progress, strlen(progress));
        return;
    }
    if (progress && !p->cli->out_tty)
        return; // its end adds nothing to the output
    if (json_get(o->data, "application/vnd.firesteel.log+json"))
        return; // people who watch the run can read it
    if (o->live && table_of(o)) {
        put_table(p, o, below, event);
        return;
    }
    AUTO_BUF text = {0};
    output_text(o, p->spool_dir, 0, &text, NULL);
    if (!text.len)
        return;
    show_title(p, below, false);
    end_pending(p);
    free(p->branch);
    p->branch = mem_strdup(o->branch);
    free(STEAL(p->pending_of));
    put_branch(p, text.data, text.len);
}

static void on_update(printer *p, const cJSON *event)
{
    const struct output *o = fold_display(p->fold, json_int_or(event, "id", -1));
    if (!o)
        return;
    const char *below = cell_of(p, o->id);
    put_rows(p, o, below, json_get(event, "rows"));
    if (json_get(event, "data") && table_of(o))
        put_table(p, o, below, event);
    else if (json_get(event, "table") && table_of(o))
        put_table_notes(p, o, table_of(o));
    else if (json_get(event, "data"))
        on_display(p, event);
}

static void on_error(printer *p, const cJSON *event)
{
    const struct run_cell *c = fold_cell_by_id(p->fold, json_str_or(event, "cell", ""), NULL);
    end_pending(p);
    if (p->spoken)
        return; // the cell's end says it
    if (c && c->n_outputs && c->outputs[c->n_outputs - 1].kind == OUTPUT_ERROR)
        put_error(p->cli, &c->outputs[c->n_outputs - 1]);
}

static void put_note(printer *p, enum tone t, const char *about, const char *text)
{
    end_pending(p);
    AUTO_BUF line = {0};
    buf_fmt(&line, "%s: %s", about, text);
    put_lines(p->cli, line.data, line.len, t);
}

static void put_drift(printer *p, const cJSON *event)
{
    AUTO_BUF text = {0};
    const cJSON *field;
    buf_str(&text, json_str_or(event, "message", ""));
    buf_str(&text, " has been changed since:");
    cJSON_ArrayForEach(field, json_get(event, "fields"))
    {
        buf_fmt(&text, " %s", cJSON_IsString(field) ? field->valuestring : "");
    }
    if (json_bool_or(event, "accepted", false))
        buf_str(&text, " (accepted)");
    put_note(p, TONE_WARN, "drift", buf_cstr(&text));
}

// Announces effects that reach beyond this machine when they begin, and what a resume removes.
static void on_ledger(printer *p, const cJSON *event)
{
    const char *effect = json_str(event, "effect"), *what = json_str(event, "what");
    const char *phase = json_str_or(event, "phase", ""), *message = json_str(event, "message");
    if (str_eq(phase, "intent") && what && !str_eq(effect, "local"))
        put_note(p, TONE_DIM, effect, what);
    else if (str_eq(phase, "removing") && message)
        put_note(p, TONE_WARN, "removing what the run made before", message);
    else if (str_eq(phase, "drift"))
        put_drift(p, event);
}

static void on_resumed(printer *p, const cJSON *event)
{
    if (json_str(event, "message"))
        put_note(p, TONE_DIM, "resumed", json_str(event, "message"));
}

static void on_kernel(printer *p, const cJSON *event)
{
    const char *state = json_str(event, "state"), *message = json_str(event, "message");
    if (!message && !str_eq(state, "wedged"))
        return;
    end_pending(p);
    AUTO_BUF line = {0};
    buf_fmt(&line, "kernel: %s", message ? message : state);
    put_lines(p->cli, line.data, line.len, TONE_WARN);
}

void printer_event(printer *p, const cJSON *event)
{
    static const struct {
        const char *type;
        void (*print)(printer *p, const cJSON *event);
    } handlers[] = {{"stream", on_stream}, {"state", on_state}, {"display", on_display},
        {"update", on_update}, {"error", on_error}, {"ledger", on_ledger}, {"kernel", on_kernel},
        {"resumed", on_resumed}};
    for (size_t i = 0; i < ARRAY_LEN(handlers); i++)
        if (str_eq(json_str(event, "type"), handlers[i].type))
            handlers[i].print(p, event);
    if (str_eq(json_str(event, "type"), "end"))
        end_pending(p);
}
