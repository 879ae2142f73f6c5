// SPDX-License-Identifier: MIT
#include "script/api/spark/inside.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/k8s/cluster.h"
#include "script/api/sparkui/eventlog.h"
#include "script/api/sparkui/tables.h"

#include <dirent.h>
#include <string.h>

enum { CHUNK = 256 << 10, KEPT = 64 << 20 }; // more of an event log is read, but not kept

// ---- settings

static bool is_off(const cJSON *conf, const char *name)
{
    const cJSON *value = json_get(conf, name);
    return cJSON_IsFalse(value) || str_eq(cJSON_GetStringValue(value), "false");
}

static bool keeps_its_own(const cJSON *conf, const char *defaults)
{
    const cJSON *setting;
    cJSON_ArrayForEach(setting, conf)
    {
        if (str_starts(setting->string, "spark.eventLog."))
            return true;
    }
    return defaults && strstr(defaults, "spark.eventLog.");
}

static void add_settings(const struct spark_inside *i, cJSON *conf)
{
    AUTO_FREE char *folder = str_fmt("file://%s", i->folder);
    json_set_str(conf, "spark.eventLog.enabled", "true");
    json_set_str(conf, "spark.eventLog.dir", folder);
    json_set_str(conf, "spark.eventLog.compress", "false");
    json_set_str(conf, "spark.eventLog.rolling.enabled", "false");
    json_set_str(conf, "spark.eventLog.logStageExecutorMetrics", "true");
}

int spark_inside_open(struct spark_inside *i, call *c, const cJSON *args, cJSON *conf,
    const char *defaults, bool here, err *e)
{
    const cJSON *ui = json_get(args, "ui");
    *i = (struct spark_inside){.call = c,
        .wanted = !cJSON_IsFalse(ui),
        .limits = spark_limits_of(ui),
        .every_ms = (int)json_int_or(ui, "every", SPARK_UI_EVERY_MS)};
    if (!i->wanted)
        return 0;
    if (!is_off(conf, "spark.ui.enabled") && !(i->http = bind_http(c, e)))
        return -1;
    if (!here || keeps_its_own(conf, defaults))
        return 0;
    i->folder = call_temp(c, "events", env_get(call_env(c), "TMPDIR"), e);
    if (!i->folder)
        return -1;
    add_settings(i, conf);
    return 0;
}

void spark_inside_pod(struct spark_inside *i, client *c, const char *ns, const char *pod)
{
    i->client = c;
    i->ns = ns;
    i->pod = pod;
}

// ---- while it runs

static display *show(void *arg, cJSON *data)
{
    const struct spark_inside *i = arg;
    return call_display(i->call, data, true);
}

static void refused(void *arg, const err *why)
{
    const struct spark_inside *i = arg;
    AUTO_FREE char *line = str_fmt("what Spark does inside is not shown: %s\n", why->text);
    call_output(i->call, "stderr", line, strlen(line));
}

static void open_live(struct spark_inside *i, int port)
{
    AUTO_FREE char *url =
        i->client ? NULL : str_fmt("http://%s:%d", i->host ? i->host : "127.0.0.1", port);
    i->live =
        spark_live_open(call_loop(i->call), &(struct spark_live_spec){.source = {.http = i->http,
                                                                          .url = url,
                                                                          .client = i->client,
                                                                          .ns = i->ns,
                                                                          .pod = i->pod,
                                                                          .port = port},
                                                .limits = i->limits,
                                                .every_ms = i->every_ms,
                                                .show = show,
                                                .refused = refused,
                                                .arg = i});
}

// The text between two others in a line, new; NULL: it is not there.
static char *between(const char *line, size_t n, const char *before, const char *after)
{
    const char *from = memmem(line, n, before, strlen(before));
    from = from ? from + strlen(before) : NULL;
    const char *to = from ? memmem(from, (size_t)(line + n - from), after, strlen(after)) : NULL;
    return to ? mem_strndup(from, (size_t)(to - from)) : NULL;
}

// "INFO JettyUtils: Start Jetty 127.0.0.1:4040 for SparkUI", then
// "INFO Utils: Successfully started service 'SparkUI' on port 4040."
void spark_inside_line(struct spark_inside *i, const char *text, size_t n)
{
    int64_t port = 0;
    if (!i->wanted || i->live || (!i->http && !i->client) || !memmem(text, n, "SparkUI", 7))
        return;
    char *address = between(text, n, "Start Jetty ", " for SparkUI");
    char *colon = address ? strrchr(address, ':') : NULL;
    if (colon) {
        *colon = '\0';
        free(i->host);
        i->host = str_eq(address, "0.0.0.0") ? NULL : mem_strdup(address);
    }
    free(address);
    AUTO_FREE char *digits = between(text, n, "started service 'SparkUI' on port ", ".");
    if (digits && str_to_int(digits, &port) && port > 0 && port < 65536)
        open_live(i, (int)port);
}

// ---- the end

struct keeping {
    struct spark_inside *inside;
    display *log;
    buf chunk;
    size_t kept;
};

static void feed(loop_pending *pending, void *arg)
{
    struct keeping *k = arg;
    display_text(k->log, k->chunk.data, k->chunk.len);
    buf_clear(&k->chunk);
    loop_call_finish(pending);
}

static void cannot_cancel(loop_pending *pending, void *arg)
{
}

static void hand_over(struct keeping *k)
{
    static const struct loop_call_ops ops = {.start = feed, .cancel = cannot_cancel};
    if (k->chunk.len)
        loop_call(call_loop(k->inside->call), NULL, &ops, k, 0, NULL);
}

static void keep_line(void *arg, const char *text, size_t n)
{
    struct keeping *k = arg;
    k->kept += n;
    if (!k->log || k->kept > KEPT)
        return;
    buf_add(&k->chunk, text, n);
    if (k->chunk.len >= CHUNK)
        hand_over(k);
}

static void close_log(loop_pending *pending, void *arg)
{
    struct keeping *k = arg;
    if (k->kept > KEPT)
        display_note(k->log, "its rest is not kept: it has more than 64 MiB");
    k->inside->file = display_file(k->log);
    display_close(k->log, NULL);
    loop_call_finish(pending);
}

static void end_log(struct keeping *k)
{
    static const struct loop_call_ops ops = {.start = close_log, .cancel = cannot_cancel};
    if (!k->log)
        return;
    hand_over(k);
    loop_call(call_loop(k->inside->call), NULL, &ops, k, 0, NULL);
}

// The only file in the folder: the application's id, with ".inprogress" if it was killed.
static char *find_log(const char *folder)
{
    DIR *d = opendir(folder);
    char *found = NULL;
    for (const struct dirent *f; d && !found && (f = readdir(d));)
        if (*f->d_name != '.')
            found = path_join(folder, f->d_name);
    if (d)
        closedir(d);
    return found;
}

static bool read_log(struct spark_inside *i, struct spark_state *state)
{
    AUTO_FREE char *path = i->folder ? find_log(i->folder) : NULL;
    struct keeping k = {.inside = i};
    if (!path)
        return false;
    k.log = call_log(i->call, "event log of Spark", true, NULL);
    bool done = spark_event_file(state, path, NULL, keep_line, &k, NULL) == 0;
    end_log(&k);
    buf_done(&k.chunk);
    return done;
}

struct ending {
    struct spark_inside *inside;
    const struct spark_state *state; // of the event log; NULL: there is none
};

static void end_live(loop_pending *pending, void *arg)
{
    const struct ending *end = arg;
    struct spark_inside *i = end->inside;
    if (!i->live && end->state && end->state->n_jobs) // it was too short to be looked at
        i->live = spark_live_open(
            call_loop(i->call), &(struct spark_live_spec){
                                    .source.url = "", .limits = i->limits, .show = show, .arg = i});
    if (i->live) {
        spark_live_end(i->live, end->state, NULL);
        const struct spark_state *last = end->state ? end->state : spark_live_state(i->live);
        i->findings = i->findings ? i->findings : spark_findings(last, &i->limits);
    }
    spark_live_free(STEAL(i->live));
    loop_call_finish(pending);
}

void spark_inside_end(struct spark_inside *i)
{
    static const struct loop_call_ops ops = {.start = end_live, .cancel = cannot_cancel};
    struct spark_state state = {0};
    if (!i->wanted)
        return;
    bool read = read_log(i, &state);
    if (read && !state.ended)
        spark_state_end(&state, clock_wall() / CLOCK_MS);
    loop_call(call_loop(i->call), NULL, &ops, &(struct ending){i, read ? &state : NULL}, 0, NULL);
    spark_state_done(&state);
}

void spark_inside_done(struct spark_inside *i)
{
    static const struct loop_call_ops ops = {.start = end_live, .cancel = cannot_cancel};
    if (i->live)
        loop_call(call_loop(i->call), NULL, &ops, &(struct ending){i, NULL}, 0, NULL);
    if (i->folder)
        call_drop_temp(i->call, i->folder);
    cJSON_Delete(i->findings);
    free(i->folder);
    free(i->host);
    free(i->file);
}
