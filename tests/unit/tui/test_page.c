// SPDX-License-Identifier: MIT
// The full screen by events and keys, without a kernel: a cluster's log, a description, YAML.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/file/spool.h"
#include "tests/support/tap.h"
#include "tui/bench/views.h"
#include "tui/syntax/syntax.h"

// Nobody answers.
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
    cJSON_Delete(message);
}

struct desk {
    bench *bench;
    grid *grid;
    spool *spool;
    int64_t seq;
};

static cJSON *message(const char *fmt, va_list args)
{
    err e = {0};
    AUTO_BUF words = {0};
    buf_vfmt(&words, fmt, args);
    cJSON *m = json_parse(words.data, words.len, &e);
    CHECK_OK(m, e);
    return m;
}

// A kernel's introduction, and an event of its run.
static void say(struct desk *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    AUTO_JSON *m = message(fmt, args);
    va_end(args);
    bench_message(d->bench, message_type_of(m), m);
}

static void event(struct desk *d, const char *fmt, ...)
{
    va_list args;
    va_start(args, fmt);
    AUTO_JSON *m = message(fmt, args);
    va_end(args);
    json_set_int(m, "seq", ++d->seq);
    bench_message(d->bench, message_type_of(m), m);
}

static void desk_open(struct desk *d)
{
    static const struct bench_ops ops = {0};
    err e = {0};
    *d = (struct desk){.grid = grid_new(60, 12)};
    d->bench = bench_new(&(struct bench_about){0}, &ops, NULL);
    say(d,
        "{\"type\":\"welcome\",\"run\":\"r\",\"journal\":\"%s.jsonl\",\"state\":\"idle\",\"seq\":"
        "0}",
        tap_dir());
    say(d, "{\"type\":\"document\",\"rev\":1,\"saved\":true,\"path\":\"page.lua\",\"text\":\"-- "
           "%%%% Pods\\nx\\n\","
           "\"cells\":[{\"id\":\"a\",\"kind\":\"code\",\"title\":\"Pods\",\"source\":\"x\","
           "\"marker\":\"Pods\"}]}");
    d->spool = spool_create(tap_dir(), "log-1", &e);
    CHECK_OK(d->spool, e);
}

static void desk_close(struct desk *d)
{
    spool_close(d->spool);
    bench_free(d->bench);
    grid_free(d->grid);
}

// A row, after a filter has gone through everything.
static const char *row(struct desk *d, int y)
{
    static buf shown;
    do {
        buf_clear(&shown);
        bench_redraw(d->bench);
        bench_draw(d->bench, d->grid);
        grid_row_text(d->grid, 0, &shown);
    } while (strstr(buf_cstr(&shown), "  look")); // the rest may be cut
    buf_clear(&shown);
    grid_row_text(d->grid, y, &shown);
    return buf_cstr(&shown);
}

static void press(struct desk *d, const char *names)
{
    size_t n;
    for (const char *at = names; *at; at += n + strspn(at + n, " "))
        bench_key(d->bench, key_parse(at, strcspn(at, " "), &n));
    row(d, 0);
}

static void grow(struct desk *d, int from, int to)
{
    err e = {0};
    for (int i = from; i < to; i++) {
        AUTO_FREE char *words = str_fmt("2026-01-01 line %d\n", i);
        CHECK_OK(spool_append(d->spool, words, strlen(words), i, &e) == 0, e);
    }
}

static void log_event(struct desk *d, const char *type, const char *note, bool closed)
{
    event(d,
        "{\"type\":\"%s\",\"cell\":\"a\",\"id\":7,\"live\":true,\"closed\":%s,\"data\":{"
        "\"text/plain\":\"…\",\"application/vnd.firesteel.log+json\":{\"title\":\"Log of mnist-1\","
        "\"spool\":\"log-1\",\"from\":0,\"to\":%llu%s}}}",
        type, closed ? "true" : "false", (unsigned long long)spool_size(d->spool), note);
}

TEST(a_log_is_followed_where_it_is_spooled)
{
    struct desk d;
    desk_open(&d);
    grow(&d, 0, 5);
    log_event(&d, "display", "", false);
    CHECK_HAS(row(&d, 2), "Log of mnist-1"); // below its cell, too
    CHECK_HAS(row(&d, 7), "line 4");
    page_push_display(d.bench, 7);
    CHECK_HAS(row(&d, 0), "Log of mnist-1  1–5 of 5 lines");
    CHECK_HAS(row(&d, 0), "following");
    CHECK_STR(row(&d, 1), "2026-01-01 line 0");
    grow(&d, 5, 5000);
    CHECK_HAS(row(&d, 0), "of 5 lines"); // what no event has told is not there yet
    log_event(&d, "update", "", false);
    CHECK_HAS(row(&d, 0), "4991–5000 of 5000 lines");
    CHECK_STR(row(&d, 10), "2026-01-01 line 4999");
    press(&d, "&");
    bench_paste(d.bench, "line 77", 7);
    press(&d, "Enter g");
    CHECK_HAS(row(&d, 0), "1–10 of 11 lines with “line 77”, of 5000");
    CHECK_STR(row(&d, 1), "2026-01-01 line 77");
    grow(&d, 77000, 77002);
    log_event(&d, "update", ",\"note\":\"the pod is gone\"", true);
    CHECK_HAS(row(&d, 0), "of 13 lines with");
    press(&d, "G");
    CHECK_STR(row(&d, 10), "2026-01-01 line 77001");
    press(&d, "Esc G");
    CHECK_STR(row(&d, 10), "the pod is gone");
    press(&d, "q");
    CHECK_HAS(row(&d, 0), "Pods");
    desk_close(&d);
}

TEST(a_display_that_goes_leaves_an_empty_page)
{
    struct desk d;
    desk_open(&d);
    grow(&d, 0, 50);
    log_event(&d, "display", "", false);
    page_push_display(d.bench, 7);
    CHECK_HAS(row(&d, 0), "of 50 lines");
    event(&d, "{\"type\":\"state\",\"cell\":\"a\",\"state\":\"running\",\"count\":2}");
    CHECK_HAS(row(&d, 0), "no line");
    CHECK_HAS(row(&d, 1), "nothing yet");
    press(&d, "j G n PgUp L w");
    desk_close(&d);
}

TEST(of_many_displays_the_one_that_changes_is_read_anew)
{
    enum { MANY = 3000 };
    struct desk d;
    desk_open(&d);
    for (int i = 0; i < MANY; i++)
        event(&d,
            "{\"type\":\"display\",\"cell\":\"a\",\"id\":%d,\"data\":{\"text/plain\":\"thing "
            "%d\"}}",
            i + 10, i);
    page_push(d.bench, 0);
    CHECK_HAS(row(&d, 0), "of 3000 lines");
    press(&d, "G");
    CHECK_STR(row(&d, 10), "thing 2999");
    event(&d, "{\"type\":\"update\",\"id\":3008,\"data\":{\"text/plain\":\"two\\nlines\"}}");
    CHECK_HAS(row(&d, 0), "of 3001 lines");
    press(&d, "G");
    CHECK_STR(row(&d, 8), "two");
    press(&d, "&");
    bench_paste(d.bench, "thing 29", 8);
    press(&d, "Enter");
    CHECK_HAS(row(&d, 0), "of 110 lines with");
    event(&d, "{\"type\":\"update\",\"id\":3008,\"data\":{\"text/plain\":\"thing 29 again\"}}");
    CHECK_HAS(row(&d, 0), "of 111 lines with");
    desk_close(&d);
}

TEST(yaml_has_colours_and_other_texts_none)
{
    struct desk d;
    desk_open(&d);
    page_push_peek(d.bench, 0, "Pod a", "apiVersion: v1\nkind: Pod # one\x1b[31m\nspec: {}");
    CHECK_HAS(row(&d, 0), "Pod a  1–3 of 3 lines");
    CHECK_STR(row(&d, 1), "apiVersion: v1");
    CHECK_STR(row(&d, 2), "kind: Pod # one");
    style name = syntax_style(CLASS_KEY), note = syntax_style(CLASS_COMMENT);
    CHECK(style_equal(grid_at(d.grid, 0, 2)->style, name));
    CHECK(style_equal(grid_at(d.grid, 12, 2)->style, note));
    page_push_peek(d.bench, 0, "Describe", "Name: a\nEvents: none");
    CHECK_STR(row(&d, 2), "Events: none");
    CHECK(style_equal(grid_at(d.grid, 0, 2)->style, (style){0}));
    desk_close(&d);
}

int main(void)
{
    return tap_run();
}
