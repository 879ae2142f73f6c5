// SPDX-License-Identifier: MIT
#include "script/api/spark/output.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"

#include <string.h>

#define SHOW_EVERY (CLOCK_SEC / 10)

int spark_output_open(struct spark_output *o, call *c, const char *title, err *e)
{
    o->call = c;
    o->training = training_new();
    o->shown.most = KEPT_DATA;
    o->streams[SPARK_STDERR].apart = true;
    o->log = call_log(c, title, true, e);
    return o->log ? 0 : -1;
}

static void show_training(struct spark_output *o, bool passing)
{
    int64_t now = clock_mono();
    if (!training_is_told(o->training) || (passing && now - o->at < SHOW_EVERY))
        return;
    o->at = now;
    cJSON *data = training_bundle(o->training);
    if (o->progress)
        display_replace(o->progress, data);
    else
        o->progress = call_display(o->call, data, true);
}

static void say(struct spark_output *o, const char *what, const char *id)
{
    AUTO_FREE char *line = str_fmt("%s %s on %s\n", what, id, o->master);
    call_output(o->call, "stdout", line, strlen(line));
    kept_add(&o->shown, line, strlen(line));
}

// "… INFO ClientEndpoint: State of driver driver-… is FINISHED, exiting spark-submit JVM."
static void note_state(struct spark_output *o, const char *text, size_t n)
{
    static const char of[] = "State of driver ", mark[] = " is ";
    const char *about = memmem(text, n, of, strlen(of));
    const char *is = about ? memmem(about, (size_t)(text + n - about), mark, strlen(mark)) : NULL;
    if (!is)
        return;
    is += strlen(mark);
    size_t length = 0;
    while (is + length < text + n && is[length] >= 'A' && is[length] <= 'Z')
        length++;
    free(o->state);
    o->state = mem_strndup(is, length);
}

static void note_ids(struct spark_output *o, const char *text, size_t n)
{
    if (!o->id && (o->id = spark_application_id(text, n)))
        say(o, "application", o->id);
    if (!o->standalone)
        return;
    if (!o->driver && (o->driver = spark_driver_id(text, n)))
        say(o, "driver", o->driver);
    note_state(o, text, n);
}

static size_t without_end(const struct spark_line *line)
{
    size_t n = line->n;
    while (n && (line->text[n - 1] == '\n' || line->text[n - 1] == '\r'))
        n--;
    return n;
}

static void on_line(struct spark_output *o, const struct spark_line *line, const char *stream)
{
    enum training_said said = SAID_NOTHING;
    display_text(o->log, line->text, line->n);
    if (o->over)
        return;
    if (line->spark_s && o->spark_line)
        o->spark_line(o->arg, line->text, line->n);
    if (line->spark_s)
        note_ids(o, line->text, line->n);
    else
        said = training_read(
            o->training, line->text, without_end(line), (double)clock_mono() / (double)CLOCK_SEC);
    if (said != SAID_NOTHING)
        show_training(o, said == SAID_PASSING);
    if (said == SAID_PASSING || (line->folded && !o->everything))
        return;
    call_output(o->call, stream, line->text, line->n);
    kept_add(&o->shown, line->text, line->n);
}

static void on_stdout(void *arg, const struct spark_line *line)
{
    on_line(arg, line, "stdout");
}

static void on_stderr(void *arg, const struct spark_line *line)
{
    on_line(arg, line, "stderr");
}

static spark_line_fn *const handlers[] = {
    [SPARK_STDOUT] = on_stdout, [SPARK_STDERR] = on_stderr, [SPARK_DRIVER] = on_stdout};

void spark_output_bytes(struct spark_output *o, enum spark_stream from, const char *bytes, size_t n)
{
    spark_lines_feed(&o->streams[from], bytes, n, handlers[from], o);
}

void spark_output_line(struct spark_output *o, const char *text, size_t n)
{
    kept_add(&o->driver_log, text, n);
    kept_add(&o->driver_log, "\n", 1);
    spark_output_bytes(o, SPARK_DRIVER, text, n);
    spark_output_bytes(o, SPARK_DRIVER, "\n", 1);
}

void spark_output_end(struct spark_output *o)
{
    for (size_t i = 0; i < SPARK_STREAMS; i++)
        spark_lines_end(&o->streams[i], handlers[i], o);
}

void spark_output_close(struct spark_output *o)
{
    AUTO_BUF rest = {0};
    if (o->progress)
        display_close(o->progress, training_bundle(o->training));
    if (o->log)
        display_close(o->log, NULL);
    for (size_t i = 0; i < SPARK_STREAMS; i++)
        spark_lines_done(&o->streams[i]);
    kept_take(&o->shown, &rest);
    kept_take(&o->driver_log, &rest);
    training_free(o->training);
    free(o->id);
    free(o->driver);
    free(o->state);
}
