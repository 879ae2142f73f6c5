// SPDX-License-Identifier: MIT
#include "tests/unit/tui/played.h"

#include "base/mem.h"
#include "base/str.h"
#include "script/protocol/message.h"
#include "tests/support/tap.h"
#include "tui/bench/views.h"

#include <string.h>

struct played played;

void client_send(client *c, cJSON *message)
{
    cJSON_AddItemToArray(played.asked, message);
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
    AUTO_JSON *done = cJSON_Parse("{\"ok\": true}");
    json_set_int(done, "rev", played.rev);
    cJSON_AddItemToArray(played.asked, message);
    reply(arg, done);
}

static void quit(void *arg, bool stop)
{
    played.quits++;
    played.stops += stop;
}

static void suspend(void *arg)
{
    played.suspends++;
}

static void nothing(void *arg)
{
}

int asked(const char *type)
{
    int n = 0;
    const cJSON *m;
    cJSON_ArrayForEach(m, played.asked)
    {
        n += str_eq(json_str(m, "type"), type);
    }
    return n;
}

const cJSON *last_asked(void)
{
    return cJSON_GetArrayItem(played.asked, cJSON_GetArraySize(played.asked) - 1);
}

void tell(bench *b, const char *event)
{
    AUTO_JSON *m = cJSON_Parse(event);
    message_type type = message_type_of(m);
    if (type != MESSAGE_welcome && !str_eq(json_str(m, "type"), "document"))
        json_set_int(m, "seq", ++played.seq);
    bench_message(b, type, m);
}

bench *open_bench_of(const struct bench_about *about, const char *words)
{
    static const struct bench_ops ops = {
        .quit = quit, .suspend = suspend, .changed = nothing, .redraw = nothing};
    static char kernel;
    cJSON_Delete(played.asked);
    memset(&played, 0, sizeof played);
    played.asked = cJSON_CreateArray();
    bench *b = bench_new(about, &ops, NULL);
    bench_connect(b, (client *)&kernel, true);
    tell(b, "{\"type\": \"welcome\", \"run\": \"r\", \"journal\": \"/nowhere/.firesteel/r.jsonl\","
            "\"state\": \"idle\", \"seq\": 1}");
    AUTO_JSON *run = cJSON_Parse("{\"type\": \"run\", \"run\": \"r\", \"format\": 1}");
    json_set_str(run, "notebook", words);
    AUTO_FREE char *said = cJSON_PrintUnformatted(run);
    tell(b, said);
    tell(b, "{\"type\": \"document\", \"rev\": 0, \"saved\": true, \"path\": \"/nowhere/n.lua\"}");
    return b;
}

bench *open_bench_with(const struct bench_about *about)
{
    return open_bench_of(about, "-- %% One id=\"a\"\nx = 1\n\n-- %% Two id=\"b\"\ny = 2\n");
}

bench *open_bench(void)
{
    return open_bench_with(&(struct bench_about){0});
}

void press(bench *b, const char *names)
{
    for (const char *at = names; *at; at += strspn(at, " ")) {
        size_t n;
        key k = key_parse(at, strcspn(at, " "), &n);
        CHECK(k);
        bench_key(b, k);
        at += strcspn(at, " ");
    }
}

void type(bench *b, const char *words)
{
    for (; *words; words++)
        bench_key(b, (key)(unsigned char)*words);
}

const char *row(bench *b, int y)
{
    static buf words;
    grid *g = grid_new(90, 24);
    bench_redraw(b);
    bench_draw(b, g);
    buf_clear(&words);
    grid_row_text(g, y < 0 ? 24 + y : y, &words);
    grid_free(g);
    return buf_cstr(&words);
}

bool on_top(bench *b, const struct view_ops *ops)
{
    return bench_top(b)->ops == ops;
}

void line(bench *b, const char *words)
{
    press(b, ":");
    type(b, words);
    press(b, "Enter");
}

bool screen_has(bench *b, const char *words)
{
    for (int y = 0; y < 24; y++)
        if (strstr(row(b, y), words))
            return true;
    return false;
}
