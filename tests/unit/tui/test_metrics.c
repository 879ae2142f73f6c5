// SPDX-License-Identifier: MIT
// The chart of metrics over journals that are written here: runs are followed while they are
// written, what a new value costs, how much memory a value takes. FIRESTEEL_POINTS=100000 measures
// with so many values in each of ten runs.
#include "base/mem.h"
#include "base/str.h"
#include "script/journal/runs/beside.h"
#include "tests/support/tap.h"
#include "tui/bench/views.h"

#include <fcntl.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { RUNS = 10 };

// This replaces script/protocol/client.c: nobody answers.
struct client {
    int unused;
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
    cJSON_Delete(message);
}

static void nothing(void *arg)
{
}
static void quit(void *arg, bool stop)
{
}
static int start_kernel(void *arg, const char *words, size_t n, const char *run, err *e)
{
    return err_set(e, ERR_UNAVAILABLE, "none starts");
}
static int edit_file(void *arg, const char *path, err *e)
{
    return 0;
}
static cJSON *written_picture;
static int picture_of_plot(void *arg, const char *path, const cJSON *plot, err *e)
{
    written_picture = cJSON_Duplicate(plot, true);
    return 0;
}
static const struct bench_ops ops = {.quit = quit,
    .suspend = nothing,
    .redraw = nothing,
    .start = start_kernel,
    .edit_file = edit_file,
    .picture = picture_of_plot,
    .changed = nothing};

struct stage {
    bench *bench;
    grid *grid;
    const char *folder;
    FILE *journals[RUNS];
    char *names[RUNS + 1];
    size_t steps[RUNS];
};

static void add_point(struct stage *s, int run, const char *metric, double value)
{
    size_t step = ++s->steps[run];
    fprintf(s->journals[run],
        "{\"type\":\"recorded\",\"cell\":\"a\",\"kind\":\"metric\",\"name\":\"%s\",\"value\":%.6g,"
        "\"step\":%zu,\"seq\":%zu,\"wall\":\"2026-01-02T03:04:05.000006Z\",\"mono\":%zu}\n",
        metric, value, step, step + 1, step * 1000);
}

static void begin_run(struct stage *s, int run, const char *parameters)
{
    AUTO_FREE char *path = str_fmt("%s/.firesteel/%s.jsonl", s->folder, s->names[run]);
    s->journals[run] = fopen(path, "w");
    fchmod(fileno(s->journals[run]), 0600);
    fprintf(s->journals[run],
        "{\"type\":\"run\",\"format\":1,\"run\":\"%s\",\"headless\":true,\"notebook\":\"-- %%%% A "
        "id=\\\"a\\\"\\n\",\"host\":\"here\",\"parameters\":%s,\"seq\":1,\"wall\":"
        "\"2026-01-02T03:04:05Z\",\"mono\":1}\n",
        s->names[run], parameters);
    flock(fileno(s->journals[run]), LOCK_EX); // as its kernel does
}

static struct stage set_up(int runs, int w, int h)
{
    struct stage s = {.folder = tap_dir(), .grid = grid_new(w, h)};
    s.bench = bench_new(&(struct bench_about){.no_ask = true}, &ops, NULL);
    AUTO_FREE char *folder = str_fmt("%s/.firesteel", s.folder);
    mkdir(folder, 0700);
    for (int i = 0; i < runs; i++) {
        s.names[i] = str_fmt("train-20260102-03040%d-%04x", i, i + 1);
        AUTO_FREE char *parameters = str_fmt("{\"lr\":%g}", (i + 1) / 100.0);
        begin_run(&s, i, parameters);
    }
    return s;
}

static void flush_all(struct stage *s)
{
    for (int i = 0; i < RUNS; i++)
        if (s->journals[i])
            fflush(s->journals[i]);
}

static void draw(struct stage *s)
{
    flush_all(s);
    bench_redraw(s->bench);
    bench_draw(s->bench, s->grid);
}

// Draws until all that is written is read, however slow the machine is.
static void draw_all(struct stage *s)
{
    enum { MOST = 1000 };
    draw(s);
    for (int i = 0; i < MOST && bench_wait_ms(s->bench) >= 0 && bench_wait_ms(s->bench) <= 1; i++)
        draw(s);
}

static const char *screen(struct stage *s)
{
    static buf all;
    buf_clear(&all);
    for (int y = 0; y < grid_area(s->grid).h; y++) {
        grid_row_text(s->grid, y, &all);
        buf_char(&all, '\n');
    }
    return buf_cstr(&all);
}

static void press(struct stage *s, const char *keys)
{
    for (size_t used; *keys; keys += used + (keys[used] == ' '))
        bench_key(s->bench, key_parse(keys, strlen(keys), &used));
    draw_all(s);
}

static void tear_down(struct stage *s)
{
    bench_free(s->bench);
    grid_free(s->grid);
    for (int i = 0; i < RUNS; i++) {
        if (s->journals[i])
            fclose(s->journals[i]);
        free(s->names[i]);
    }
}

TEST(curves_grow_while_their_runs_are_written)
{
    struct stage s = set_up(2, 80, 24);
    for (int i = 1; i <= 10; i++) {
        add_point(&s, 0, "loss", 10.0 / i);
        add_point(&s, 1, "loss", 20.0 / i);
    }
    flush_all(&s);
    metrics_push(s.bench, s.folder, s.names);
    draw_all(&s);
    CHECK_HAS(screen(&s), "loss  2 runs");
    CHECK_HAS(screen(&s), "lr=0.01 1");
    CHECK_HAS(screen(&s), "lr=0.02 2");
    int wait = bench_wait_ms(s.bench);
    CHECK(wait > 0 && wait <= 500); // they are written: it looks again
    add_point(&s, 0, "loss", 0.25);
    add_point(&s, 1, "loss", 0.125);
    draw_all(&s);
    CHECK_HAS(screen(&s), "lr=0.01 0.25");
    CHECK_HAS(screen(&s), "lr=0.02 0.125");
    press(&s, "Left Left");
    CHECK_HAS(screen(&s), "at step 10");
    CHECK_HAS(screen(&s), "lr=0.01 1");
    press(&s, "Esc +");
    CHECK_HAS(screen(&s), "enlarged");
    for (int i = 0; i < 20; i++)
        add_point(&s, 0, "loss", 0.5);
    draw_all(&s);
    draw_all(&s);
    CHECK_HAS(screen(&s), " 30 "); // it goes along
    press(&s, "Esc");
    flock(fileno(s.journals[0]), LOCK_UN);
    flock(fileno(s.journals[1]), LOCK_UN);
    draw_all(&s);
    draw_all(&s);
    CHECK(bench_wait_ms(s.bench) == -1); // nobody writes any more: nothing is looked at
    tear_down(&s);
}

TEST(metrics_and_runs_are_chosen)
{
    struct stage s = set_up(2, 100, 30);
    for (int run = 0; run < 2; run++)
        for (int i = 1; i <= 10; i++) {
            add_point(&s, run, "loss", 1.0 / i);
            add_point(&s, run, "accuracy", 1 - 1.0 / i);
            add_point(&s, run, "speed", 3000);
        }
    flush_all(&s);
    metrics_push(s.bench, s.folder, s.names);
    draw_all(&s);
    CHECK_HAS(screen(&s), " loss  2 runs");
    press(&s, "m");
    CHECK_HAS(screen(&s), " accuracy  2 runs");
    press(&s, "M");
    CHECK_HAS(screen(&s), "* speed");
    press(&s, "/ a c c Enter =");
    press(&s, "Enter");
    CHECK_HAS(screen(&s), "accuracy");
    CHECK(!strstr(screen(&s), "loss"));
    press(&s, "R");
    CHECK_HAS(screen(&s), "* lr=0.01");
    press(&s, "Space Enter");
    CHECK_HAS(screen(&s), "1 of 2 runs");
    press(&s, "o");
    press(&s, "M *");
    press(&s, "Enter");
    CHECK_HAS(screen(&s), "loss accuracy speed");
    tear_down(&s);
}

TEST(a_chart_is_written_as_a_picture_and_as_values)
{
    struct stage s = set_up(2, 80, 24);
    for (int i = 1; i <= 10; i++)
        add_point(&s, 0, "loss", 1.0 / i);
    add_point(&s, 1, "loss", 0.5);
    flush_all(&s);
    metrics_push(s.bench, s.folder, s.names);
    draw_all(&s);
    press(&s, "P");
    CHECK_INT(cJSON_GetArraySize(json_get(written_picture, "series")), 2);
    CHECK_STR(json_str(written_picture, "x_label"), "step");
    cJSON_Delete(written_picture);
    press(&s, "W");
    CHECK_HAS(screen(&s), "11 values written to loss-");
    tear_down(&s);
}

TEST(a_table_marks_the_best_and_follows)
{
    struct stage s = set_up(3, 80, 24);
    for (int run = 0; run < 3; run++)
        for (int i = 1; i <= 3; i++)
            add_point(&s, run, "loss", (run + 1.0) / i);
    flush_all(&s);
    beside_push(s.bench, s.folder, s.names);
    draw_all(&s);
    draw_all(&s);
    CHECK_HAS(screen(&s), "3 runs");
    CHECK_HAS(screen(&s), "0.333333*");
    add_point(&s, 2, "loss", 0.001);
    draw_all(&s);
    CHECK_HAS(screen(&s), "0.001*");
    CHECK(!strstr(screen(&s), "0.333333*"));
    press(&s, "Right Right Right Right B");
    CHECK_HAS(screen(&s), "the largest is the best");
    tear_down(&s);
}

TEST(which_values_are_the_best_is_told_by_names)
{
    static const struct {
        const char *name;
        enum metric_best best;
    } cases[] = {{"loss", METRIC_LEAST}, {"val_loss", METRIC_LEAST}, {"eval/loss", METRIC_LEAST},
        {"accuracy", METRIC_GREATEST}, {"val_acc", METRIC_GREATEST}, {"f1", METRIC_GREATEST},
        {"macro-F1", METRIC_GREATEST}, {"rmse", METRIC_LEAST}, {"lr", METRIC_UNKNOWN},
        {"images_per_second", METRIC_UNKNOWN}, {"accuracy_loss", METRIC_LEAST},
        {"mapping", METRIC_UNKNOWN}, {"", METRIC_UNKNOWN}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CHECK_INT(metric_best_of(cases[i].name), cases[i].best);
}

// Of processor time: other programs run, too.
static double ms_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

// Cost of a look at it per new value must not grow with what is there.
TEST(a_new_value_costs_little_beside_many)
{
    const char *wish = getenv("FIRESTEEL_POINTS");
    size_t n = wish ? strtoul(wish, NULL, 10) : 5000;
    struct stage s = set_up(RUNS, 120, 40);
    for (int run = 0; run < RUNS; run++)
        for (size_t i = 0; i < n; i++)
            add_point(&s, run, "loss", i == n / 2 ? 99 : (run + 1.0) / (double)(i + 1));
    flush_all(&s);
    size_t before = mallinfo2().uordblks + mallinfo2().hblkhd;
    double began = ms_now();
    metrics_push(s.bench, s.folder, s.names);
    draw(&s);
    double first = ms_now() - began;
    while (bench_wait_ms(s.bench) == 1 || bench_wait_ms(s.bench) == 0)
        draw(&s);
    double opened = ms_now() - began;
    size_t after = mallinfo2().uordblks + mallinfo2().hblkhd;
    CHECK_HAS(screen(&s), "loss  10 runs");
    began = ms_now();
    enum { NEW = 50 };
    for (int i = 0; i < NEW; i++) {
        add_point(&s, i % RUNS, "loss", 0.5);
        draw(&s);
    }
    double each = (ms_now() - began) / NEW;
    began = ms_now();
    press(&s, "+");
    double zoomed = ms_now() - began;
    began = ms_now();
    press(&s, "s");
    double smoothed = ms_now() - began;
    began = ms_now();
    press(&s, "Left");
    printf("# %d runs of %zu values: first screen %.0f ms, all read %.0f ms, %.1f bytes a value; a "
           "new "
           "value %.2f ms, zoom %.1f ms, smoothing %.1f ms, cursor %.1f ms (of the processor)\n",
        RUNS, n, first, opened, (double)(after - before) / (double)(RUNS * n), each, zoomed,
        smoothed, ms_now() - began);
    CHECK(TAP_SANITIZED || each < 25);
    tear_down(&s);
}

int main(void)
{
    return tap_run();
}
