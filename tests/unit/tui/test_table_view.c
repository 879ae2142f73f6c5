// SPDX-License-Identifier: MIT
// A live table in the whole bench; the kernel is a list of messages: thousands of rows, ten updates
// a second, a cursor that stays with its row.
#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "tui/bench/views.h"

#include <string.h>

enum { ROWS = 5000, UPDATES = 200, DISPLAY = 7 };

// This replaces script/protocol/client.c: it has the last request, and the answer to it.
struct client {
    cJSON *request;
    void (*reply)(void *arg, const cJSON *reply);
    void *arg;
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

static void forget(client *c)
{
    if (c->reply)
        c->reply(c->arg, NULL);
    cJSON_Delete(c->request);
    *c = (client){0};
}

void client_request(
    client *c, cJSON *message, void (*reply)(void *arg, const cJSON *reply), void *arg)
{
    forget(c);
    *c = (client){message, reply, arg};
}

static void nothing(void *arg)
{
}

static void quit(void *arg, bool stop)
{
}

static int start_kernel(void *arg, const char *words_, size_t n, const char *run, err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "none starts");
}

static int edit_file(void *arg, const char *path, err *e)
{
    return 0;
}

static const struct bench_ops ops = {.quit = quit,
    .suspend = nothing,
    .redraw = nothing,
    .start = start_kernel,
    .edit_file = edit_file,
    .changed = nothing};

struct stage {
    bench *bench;
    grid *grid;
    client kernel;
    int64_t seq;
};

static void say(struct stage *s, message_type type, const char *fmt, ...)
{
    AUTO_BUF words = {0};
    va_list args;
    va_start(args, fmt);
    buf_vfmt(&words, fmt, args);
    va_end(args);
    cJSON *m = json_parse(words.data, words.len, NULL);
    json_set_str(m, "type", message_type_name(type));
    if (message_direction_of(type) == MESSAGE_EVENT && s->seq >= 0)
        json_set_int(m, "seq", ++s->seq);
    bench_message(s->bench, type, m);
    cJSON_Delete(m);
}

static void draw(struct stage *s)
{
    bench_draw(s->bench, s->grid);
}

static const char *row(struct stage *s, int y)
{
    static buf words;
    buf_clear(&words);
    grid_row_text(s->grid, y, &words);
    return buf_cstr(&words);
}

static void press(struct stage *s, const char *keys)
{
    for (size_t used; *keys; keys += used + (keys[used] == ' '))
        bench_key(s->bench, key_parse(keys, strlen(keys), &used));
    draw(s);
}

static void add_pod(buf *out, int i, const char *status)
{
    buf_fmt(out,
        "{\"uid\":\"u%d\",\"name\":\"pod-%04d\",\"created\":\"2026-01-01T00:00:00Z\","
        "\"cells\":[\"pod-%04d\",\"1/1\",\"%s\",\"0\",\"1s\"]}",
        i, i, i, status);
}

static void say_run(struct stage *s)
{
    say(s, MESSAGE_run,
        "{\"format\":1,\"run\":\"a\",\"notebook\":\"-- %%%% A\\nx = 1\\n\",\"cells\":[\"one\"],"
        "\"cwd\":\"/"
        "x\",\"host\":\"h\",\"pid\":1,\"versions\":{},\"salt\":\"\",\"headless\":false}");
}

static void say_table(struct stage *s, int n)
{
    AUTO_BUF rows = {0};
    for (int i = 0; i < n; i++) {
        buf_str(&rows, i ? "," : "");
        add_pod(&rows, i, "Running");
    }
    say(s, MESSAGE_display,
        "{\"cell\":\"one\",\"id\":%d,\"live\":true,\"data\":{\"text/plain\":\"\","
        "\"application/vnd.firesteel.pods+json\":{\"columns\":[\"NAME\",\"READY\",\"STATUS\","
        "\"RESTARTS\",\"AGE\"],\"actions\":[\"describe\",\"logs\"],\"rows\":[%s]}}"
        "}",
        DISPLAY, buf_cstr(&rows));
}

// A notebook of one cell; its display has all the rows, on the full screen.
static void open_stage(struct stage *s)
{
    *s = (struct stage){.grid = grid_new(80, 24), .seq = -1};
    s->bench = bench_new(&(struct bench_about){.temporary = "/tmp"}, &ops, s);
    bench_connect(s->bench, &s->kernel, true);
    say(s, MESSAGE_welcome,
        "{\"version\":1,\"run\":\"a\",\"pid\":1,\"cwd\":\"/x\",\"journal\":\"/x/a.jsonl\","
        "\"state\":\"idle\",\"headless\":false,\"seq\":1}");
    say(s, MESSAGE_document,
        "{\"rev\":1,\"saved\":true,\"text\":\"-- %%%% A\\nx = 1\\n\",\"cells\":[{\"id\":\"one\","
        "\"kind\":\"code\",\"title\":\"A\",\"source\":\"x = 1\",\"marker\":\"A\",\"line\":1}]}");
    s->seq = 0;
    say_run(s);
    say_table(s, ROWS);
    draw(s);
    press(s, "O");
}

static void close_stage(struct stage *s)
{
    forget(&s->kernel);
    bench_free(s->bench);
    grid_free(s->grid);
}

static void update(struct stage *s, int i, const char *status)
{
    AUTO_BUF rows = {0};
    add_pod(&rows, i, status);
    say(s, MESSAGE_update, "{\"id\":%d,\"rows\":[%s]}", DISPLAY, buf_cstr(&rows));
}

TEST(a_frame_costs_what_is_seen)
{
    struct stage s;
    open_stage(&s);
    CHECK_HAS(row(&s, 0), "pods  5000 rows");
    press(&s, "s S g");
    CHECK_HAS(row(&s, 2), "pod-4999");
    int64_t start = clock_mono(), worst = 0;
    for (int i = 0; i < UPDATES; i++) {
        int64_t before = clock_mono();
        update(&s, (i * 37) % ROWS, i % 2 ? "Failed" : "Running");
        draw(&s);
        worst = clock_mono() - before > worst ? clock_mono() - before : worst;
    }
    double mean = (double)(clock_mono() - start) / (double)CLOCK_MS / UPDATES;
    printf("# %.2f ms a change and its picture, %.2f at worst\n", mean,
        (double)worst / (double)CLOCK_MS);
    CHECK(mean < 5);
    close_stage(&s);
}

TEST(the_cursor_stays_with_its_row)
{
    struct stage s;
    open_stage(&s);
    press(&s, "/");
    press(&s, "p o d - 0 0 0 Enter s j j j");
    CHECK_HAS(row(&s, 0), "/pod-000  10 of 5000");
    CHECK_HAS(row(&s, 5), "pod-0003");
    say(&s, MESSAGE_update, "{\"id\":%d,\"rows\":[{\"uid\":\"u1\",\"deleted\":true}]}", DISPLAY);
    draw(&s);
    CHECK_HAS(row(&s, 4), "pod-0003");
    press(&s, "d");
    CHECK_STR(json_str(s.kernel.request, "action"), "describe");
    CHECK_STR(json_str(s.kernel.request, "row"), "u3");
    CHECK_INT(json_int_or(s.kernel.request, "display", 0), DISPLAY);
    press(&s, "y");
    CHECK_HAS(row(&s, 23), "this table has no yaml");
    close_stage(&s);
}

TEST(a_table_of_a_cell_keeps_its_namespace)
{
    struct stage s;
    open_stage(&s);
    press(&s, "a");
    CHECK_HAS(row(&s, 23), "only tables of the desk (:pods) change their namespace");
    CHECK_HAS(row(&s, 2), "pod-0000");
    close_stage(&s);
}

// The connection was lost, and the run goes on: what was missed is in the table at once.
TEST(a_table_has_what_came_while_nobody_was_connected)
{
    struct stage s;
    open_stage(&s);
    s.seq = -1;
    say(&s, MESSAGE_welcome,
        "{\"version\":1,\"run\":\"a\",\"pid\":1,\"cwd\":\"/x\",\"journal\":\"/x/a.jsonl\","
        "\"state\":\"idle\",\"headless\":false,\"seq\":3}");
    s.seq = 0;
    say_run(&s);
    say_table(&s, 2);
    update(&s, 1, "Evicted");
    draw(&s);
    CHECK_HAS(row(&s, 0), "pods  2 rows");
    CHECK_HAS(row(&s, 3), "Evicted");
    close_stage(&s);
}

TEST(an_answer_that_comes_late_does_not_come_up)
{
    struct stage s;
    open_stage(&s);
    press(&s, "d q");
    AUTO_JSON *reply = json_parse("{\"ok\":true,\"text\":\"Name: x\",\"title\":\"x\"}", 41, NULL);
    s.kernel.reply(s.kernel.arg, reply);
    s.kernel.reply = NULL;
    draw(&s);
    CHECK_HAS(row(&s, 0), "A");
    CHECK(strstr(row(&s, 0), "Name: x") == NULL);
    close_stage(&s);
}

int main(void)
{
    return tap_run();
}
