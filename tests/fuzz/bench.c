// SPDX-License-Identifier: MIT
// The whole workbench without terminal and socket, used at random. The input is a kernel's
// messages, one on each line; some fields are changed at random. Between the lines there are bound
// keys, other keys, pastes and new sizes, and a kernel that answers late, or refuses. After each
// step the screen is drawn, and must be one that a terminal can show.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "base/text/utf8.h"
#include "script/journal/file/spool.h"
#include "tests/fuzz/fuzz.h"
#include "tests/fuzz/random.h"
#include "tui/bench/view.h"
#include "tui/term/term.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// Requests that wait for an answer, and events: this replaces script/protocol/client.c.
struct request {
    cJSON *message;
    void (*reply)(void *arg, const cJSON *reply);
    void *arg;
};
struct client {
    struct request *requests;
    size_t n;
};

struct storm {
    uint64_t random;
    bench *bench;
    term *term;
    grid *grid;
    client kernel;
    int64_t seq, rev;
    const char *folder;
};

void client_send(client *c, cJSON *message)
{
    cJSON_Delete(message);
}

void client_hello(client *c, int64_t from, bool owner, bool person, const cJSON *more)
{
}
void client_hello_looking(client *c)
{
}

void client_request(
    client *c, cJSON *message, void (*reply)(void *arg, const cJSON *reply), void *arg)
{
    c->requests = mem_resize(c->requests, c->n + 1, sizeof *c->requests);
    c->requests[c->n++] = (struct request){message, reply, arg};
}

static const char *const words[] = {"", "x",
    "漢字 e\xcc\x81 \xf0\x9f\x91\xa9\xe2\x80\x8d\xf0\x9f\x91\xa7",
    "\xf0\x9f\x87\xa9\xf0\x9f\x87\xaa", "\x1b[2J\x1b]0;title\x07", "a\tb\r\nc\x7f\x01", "\xcc\x81",
    "local t = { [1] = \"two\" } -- three\n\n\nfor", "\xe2\x80\xae right to left",
    "………………………………………………………………………………………………………………………………………………………………………………"};

static const char *any_words(struct storm *s)
{
    return words[random_below(&s->random, ARRAY_LEN(words))];
}

static void say(struct storm *s, cJSON *event)
{
    json_set_int(event, "seq", ++s->seq);
    bench_message(s->bench, message_type_of(event), event);
    cJSON_Delete(event);
}

// The events that a kernel sends to everybody after carrying out a request.
static void change(struct storm *s, const cJSON *request)
{
    static const char *const copied[] = {"cell", "after", "source", "marker", "path"};
    cJSON *edited = message_new(MESSAGE_edited);
    json_set_str(edited, "change", json_str(request, "type"));
    json_set_int(edited, "rev", s->rev);
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        json_set_str(edited, copied[i], json_str(request, copied[i]));
    if (!json_get(edited, "cell")) {
        AUTO_FREE char *id = str_fmt("new%d", (int)s->rev);
        json_set_str(edited, "cell", id);
    }
    say(s, edited);
}

static bool is_change(const cJSON *request)
{
    message_type t = message_type_of(request);
    return t == MESSAGE_edit || t == MESSAGE_insert || t == MESSAGE_move || t == MESSAGE_delete ||
           t == MESSAGE_save;
}

// A reply with all fields that any request may read.
static cJSON *reply_to(struct storm *s, bool ok)
{
    cJSON *reply = message_new(MESSAGE_reply);
    AUTO_FREE char *id = str_fmt("new%d", (int)s->rev);
    json_set_bool(reply, "ok", ok);
    json_set_int(reply, "rev", s->rev);
    if (!ok) {
        json_set_str(json_object_at(reply, "error"), "message", any_words(s));
        return reply;
    }
    json_set_str(reply, "cell", id);
    json_set_int(reply, "display", (int64_t)random_below(&s->random, 5));
    json_set_str(reply, "title", any_words(s));
    json_set_str(reply, "text", any_words(s));
    json_set_str(json_object_at(reply, "data"), "text/plain", any_words(s));
    json_set_int(reply, "start", (int64_t)random_below(&s->random, 9));
    json_set_int(reply, "end", (int64_t)random_below(&s->random, 9));
    for (uint64_t left = random_below(&s->random, 30); left > 0; left--)
        cJSON_AddItemToArray(json_array_at(reply, "matches"), cJSON_CreateString(any_words(s)));
    return reply;
}

static void answer(struct storm *s)
{
    struct request r = s->kernel.requests[0];
    memmove(s->kernel.requests, s->kernel.requests + 1, --s->kernel.n * sizeof r);
    bool ok = random_below(&s->random, 6) != 0;
    s->rev += ok && is_change(r.message);
    AUTO_JSON *reply = reply_to(s, ok);
    r.reply(r.arg, reply);
    if (ok && is_change(r.message))
        change(s, r.message);
    cJSON_Delete(r.message);
}

// The connection is lost: there will be no answers.
static void forget(struct storm *s)
{
    while (s->kernel.n) {
        struct request r = s->kernel.requests[--s->kernel.n];
        r.reply(r.arg, NULL);
        cJSON_Delete(r.message);
    }
}

// A cell of the screen is a character with its width, or the second half of one.
static void check(const grid *g)
{
    rect all = grid_area(g);
    for (int y = 0; y < all.h; y++)
        for (int x = 0; x < all.w; x++) {
            const grid_cell *c = grid_at(g, x, y), *next = grid_at(g, x + 1, y);
            const grid_cell *before = grid_at(g, x - 1, y);
            bool tail = c->width == 0 && before && before->width == 2;
            bool whole = c->width == 1 || (c->width == 2 && next && next->width == 0);
            if (!tail && (!whole || point_width(c->points[0]) != c->width))
                abort();
        }
    int x, y;
    if (grid_cursor(g, &x, &y) && (x < 0 || y < 0))
        abort();
}

static void draw(struct storm *s)
{
    int w, h;
    term_size(s->term, &w, &h);
    rect now = grid_area(s->grid);
    if (now.w != w || now.h != h)
        grid_resize(s->grid, w, h);
    if (!bench_draw(s->bench, s->grid) || random_below(&s->random, 4))
        return; // checking each cell takes longer than drawing it
    check(s->grid);
    term_present(s->term, s->grid);
}

static void quit(void *arg, bool stop_kernel)
{
}

static void nothing(void *arg)
{
}

static int start_kernel(void *arg, const char *words_, size_t n, const char *run, err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "none starts");
}

static int edit_file(void *arg, const char *path, err *e)
{
    const char *written = any_words(arg);
    return random_below(&((struct storm *)arg)->random, 4) == 0
               ? err_set(e, ERR_FAILED, "the editor did not end well")
               : path_write(path, written, strlen(written), 0600, e);
}

static int copy(void *arg, const char *text, size_t n, err *e)
{
    return n % 2 ? 0 : err_set(e, ERR_FAILED, "there is no clipboard");
}

static bool mouse(void *arg, bool on)
{
    return on;
}

static void notify(void *arg, const char *title, const char *says)
{
}

static const struct bench_ops ops = {.quit = quit,
    .suspend = nothing,
    .redraw = nothing,
    .changed = nothing,
    .start = start_kernel,
    .edit_file = edit_file,
    .copy = copy,
    .mouse = mouse,
    .notify = notify};

// Presses a key sequence that is bound in the present view and mode.
static void press_bound(struct storm *s)
{
    const struct view_ops *at = bench_top(s->bench)->ops;
    const struct keymap *maps[] = {at->keys, at->more ? at->more : at->keys, &line_keys};
    const struct keymap *map = maps[random_below(&s->random, ARRAY_LEN(maps))];
    if (map->n)
        term_fake_type(s->term, map->bindings[random_below(&s->random, map->n)].keys);
}

static void move_hand(struct storm *s)
{
    static const char *const keys[] = {
        "a", "Z", "漢", "Space", "Enter", "Tab", "Esc", "C-g", "F7", "M-x", "9", "C-Up", "Insert"};
    static const int sizes[][2] = {{80, 24}, {40, 10}, {1, 1}, {10, 2}, {300, 100}, {11, 3}};
    uint64_t kind = random_below(&s->random, 20);
    if (kind < 14) {
        press_bound(s);
    } else if (kind < 17) {
        term_fake_type(s->term, keys[random_below(&s->random, ARRAY_LEN(keys))]);
    } else if (kind < 18) {
        term_fake_paste(s->term, any_words(s));
    } else if (kind < 19) {
        const int *size = sizes[random_below(&s->random, ARRAY_LEN(sizes))];
        term_fake_resize(s->term, size[0], size[1]);
    } else {
        bench_tick(s->bench);
    }
}

static void hear(struct storm *s)
{
    for (struct term_event ev; (ev = term_read(s->term)).kind != EVENT_NONE;) {
        if (ev.kind == EVENT_KEY)
            bench_key(s->bench, ev.key);
        else if (ev.kind == EVENT_PASTE)
            bench_paste(s->bench, ev.text, ev.n);
        while (s->kernel.n && random_below(&s->random, 4))
            answer(s);
        while (bench_go_on(s->bench))
            continue;
        draw(s);
    }
}

// Changes something in the message.
static void spoil(struct storm *s, cJSON *object)
{
    cJSON *at = object, *owner = NULL;
    for (int depth = 0; depth == 0 || (at->child && random_below(&s->random, 3)); depth++) {
        int n = cJSON_GetArraySize(at);
        if (n == 0)
            break;
        owner = at;
        at = cJSON_GetArrayItem(at, (int)random_below(&s->random, (uint64_t)n));
    }
    static const double numbers[] = {-1, 0, 1e300, 9007199254740992, 3, -0.5};
    uint64_t kind = random_below(&s->random, 6);
    cJSON *other = kind == 0   ? cJSON_CreateNull()
                   : kind == 1 ? cJSON_CreateArray()
                   : kind == 2 ? cJSON_CreateObject()
                   : kind == 3 ? cJSON_CreateBool(1)
                   : kind == 4
                       ? cJSON_CreateNumber(numbers[random_below(&s->random, ARRAY_LEN(numbers))])
                       : cJSON_CreateString(any_words(s));
    if (at->string && other)
        other->string = mem_strdup(at->string); // a member without a name is no JSON
    if (!owner || !cJSON_ReplaceItemViaPointer(owner, at, other))
        cJSON_Delete(other);
}

static void message(struct storm *s, const char *line, size_t n)
{
    AUTO_JSON *m = json_parse(line, n, NULL);
    if (!cJSON_IsObject(m))
        return;
    if (random_below(&s->random, 8) == 0)
        spoil(s, m);
    if (message_type_of(m) == MESSAGE_welcome) { // the folder of this process's spools
        AUTO_FREE char *journal = str_fmt("%s.jsonl", s->folder);
        json_set_str(m, "journal", journal);
        s->seq = json_int_or(m, "seq", 0);
    }
    bench_message(s->bench, message_type_of(m), m);
}

static void begin(struct storm *s)
{
    s->bench = bench_new(&(struct bench_about){.target = "kind/dev", .temporary = "/tmp"}, &ops, s);
    s->term = term_fake_open(80, 24);
    s->grid = grid_new(80, 24);
    bench_connect(s->bench, &s->kernel, true);
}

static void end(struct storm *s)
{
    forget(s);
    bench_free(s->bench);
    term_close(s->term);
    grid_free(s->grid);
    free(s->kernel.requests);
}

static char folder[] = "/tmp/firesteel-fuzz-XXXXXX";
static void remove_folder(void)
{
    path_remove(folder, NULL);
}

// The folder with the spools that messages refer to; made once.
static const char *spools(void)
{
    static const char lines[] = "one\n\x1b[31mred\x1b[0m \xe6\xbc\xa2\n\x1b[2Jthree\n";
    static bool made;
    err e = {0};
    if (made || !mkdtemp(folder))
        return folder;
    made = true;
    atexit(remove_folder);
    spool *all = spool_create(folder, "s", &e);
    for (int i = 0; all && i < 1000; i++)
        spool_append(all, lines, sizeof lines - 1, 1, &e);
    spool_close(all);
    return folder;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct storm s = {.random = random_of(data, n), .rev = 1, .folder = spools()};
    begin(&s);
    for (size_t at = 0; at < n;) {
        const char *line = (const char *)data + at, *newline = memchr(line, '\n', n - at);
        size_t len = newline ? (size_t)(newline - line) : n - at;
        at += len + 1;
        message(&s, line, len);
        draw(&s);
        for (uint64_t left = random_below(&s.random, 5); left > 0; left--)
            move_hand(&s);
        hear(&s);
        if (random_below(&s.random, 100) == 0) {
            forget(&s);
            bench_lost(s.bench, any_words(&s));
            bench_connect(s.bench, &s.kernel, true);
        }
    }
    end(&s);
    return 0;
}
