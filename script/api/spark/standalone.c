// SPDX-License-Identifier: MIT
// spark.standalone: processes that outlive their cell.
//
//   binding ── spawns ──> master: "Starting Spark master at …", "New state: ALIVE"
//           └─ spawns ──> each worker: "Successfully registered with master"
//   kernel's end, or spark.standalone.stop ──> their process groups are killed, the folder is
//   removed
//
// folder: conf/ (log4j2.properties), spark.conf (0600: the secret), work/ of the workers
#include "base/data/digest.h"
#include "base/mem.h"
#include "base/os/env.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/spark/command.h"
#include "script/api/spark/standalone_private.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

enum { WORKERS_MOST = 64, SECRET_BYTES = 24 };

// ---- a cluster

// Kills its processes and closes its display; on the loop's thread, or when that has ended.
static void cluster_end(struct cluster *s)
{
    display *shown = STEAL(s->shown);
    if (shown)
        display_close(shown, NULL);
    while (s->n > 0)
        standalone_daemon_free(s->daemons[--s->n]);
    if (s->folder)
        path_remove(s->folder, NULL);
}

static void cluster_free(struct cluster *s)
{
    cluster_end(s);
    free(s->daemons);
    free(s->folder);
    free(s->secret);
    free(s->master);
    free(s->page);
    free(s);
}

static void *make_clusters(call *c, err *e)
{
    struct clusters *all = mem_alloc(sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    pthread_cond_init(&all->changed, NULL);
    return all;
}

static void drop_clusters(void *arg)
{
    struct clusters *all = arg;
    for (struct cluster *s = all->first, *next; s; s = next) {
        next = s->next;
        cluster_free(s);
    }
    pthread_mutex_destroy(&all->lock);
    pthread_cond_destroy(&all->changed);
    free(all);
}

static struct clusters *clusters_of(call *c)
{
    return call_shared(c, "spark.standalone", make_clusters, drop_clusters, NULL);
}

static void end_now(loop_pending *pending, void *arg)
{
    cluster_end(arg);
    loop_call_finish(pending);
}

static void ends_soon(loop_pending *pending, void *arg)
{
}

// Of one that nobody else can find: it is not in the list, or ends.
static void end_cluster(call *c, struct cluster *s)
{
    static const struct loop_call_ops ops = {.start = end_now, .cancel = ends_soon};
    loop_call(call_loop(c), NULL, &ops, s, 0, &(err){0});
    call_drop_temp(c, s->folder);
}

// The run ends: what it shows is closed before its processes are ended.
static void close_shown(void *arg)
{
    struct cluster *s = arg;
    display *shown = STEAL(s->shown);
    if (shown)
        display_close(shown, NULL);
}

struct showing {
    call *call;
    struct cluster *cluster;
};

// On the loop's thread: whoever dies from now on is told there.
static void show_now(loop_pending *pending, void *arg)
{
    struct showing *s = arg;
    s->cluster->shown = call_display(s->call, standalone_picture(s->cluster, ""), true);
    display_on_drain(s->cluster->shown, close_shown, s->cluster, false);
    display_on_end(s->cluster->shown, close_shown, NULL, s->cluster);
    loop_call_finish(pending);
}

static void show(call *c, struct cluster *s)
{
    static const struct loop_call_ops ops = {.start = show_now, .cancel = ends_soon};
    loop_call(call_loop(c), NULL, &ops, &(struct showing){c, s}, 0, &(err){0});
}

static int make_folder(call *c, struct cluster *s, const char *const *env, err *e)
{
    static const char logging[] =
        "rootLogger.level = info\nrootLogger.appenderRef.stdout.ref = console\n"
        "appender.console.type = Console\nappender.console.name = console\n"
        "appender.console.target = SYSTEM_ERR\nappender.console.layout.type = PatternLayout\n"
        "appender.console.layout.pattern = %p %c{1}: %m%n%ex\n";
    AUTO_BUF text = {0};
    s->folder = call_temp(c, "standalone", env_get(env, "TMPDIR"), e);
    AUTO_FREE char *conf = s->folder ? path_join(s->folder, "conf") : NULL;
    AUTO_FREE char *log = conf ? path_join(conf, "log4j2.properties") : NULL;
    AUTO_FREE char *file = s->folder ? path_join(s->folder, "spark.conf") : NULL;
    if (!s->folder || path_make_dirs(conf, 0700, e) < 0 ||
        path_write(log, logging, sizeof logging - 1, 0600, e) < 0)
        return -1;
    buf_fmt(&text,
        "spark.authenticate=true\nspark.authenticate.secret=%s\nspark.ui.killEnabled=false\n"
        "spark.master.rest.enabled=false\n",
        s->secret);
    return path_write(file, text.data, text.len, 0600, e);
}

// Their environment: that of cells, with our folder, on the loopback interface alone.
static char **environment(call *c, const struct cluster *s, const char *program)
{
    AUTO_FREE char *conf = path_join(s->folder, "conf"), *work = path_join(s->folder, "work");
    char **env = spark_use_venv(strv_dup(call_env(c)), program);
    env = env_set(env, "SPARK_CONF_DIR", conf);
    env = env_set(env, "SPARK_WORKER_DIR", work);
    env = env_set(env, "SPARK_LOCAL_IP", "127.0.0.1");
    env = env_set(env, "SPARK_DAEMON_JAVA_OPTS", "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC");
    if (!env_get((const char *const *)env, "SPARK_DAEMON_MEMORY"))
        env = env_set(env, "SPARK_DAEMON_MEMORY", "512m");
    return env;
}

// The rest of a line after a text; new.
static char *after(const char *line, const char *text)
{
    const char *at = strstr(line, text);
    at = at ? at + strlen(text) : "";
    return mem_strndup(at, strcspn(at, " \r\n"));
}

static int start_master(
    call *c, struct cluster *s, struct starting *how, const char *program, const char *port, err *e)
{
    AUTO_FREE char *file = path_join(s->folder, "spark.conf");
    const char *argv[] = {program, "org.apache.spark.deploy.master.Master", "--host", "127.0.0.1",
        "--port", port, "--webui-port", "0", "--properties-file", file, NULL};
    static const char at[] = "Starting Spark master at ";
    how->argv = argv;
    if (standalone_daemon(c, s, how, at, "master", e) < 0)
        return -1;
    s->master = after(how->daemon->said, at);
    return 0;
}

static int start_worker(call *c, struct cluster *s, struct starting *how, const char *program,
    const cJSON *args, size_t i, err *e)
{
    AUTO_FREE char *file = path_join(s->folder, "spark.conf"),
                   *cores = str_fmt("%lld", (long long)json_int_or(args, "cores", 1)),
                   *what = str_fmt("worker %zu", i + 1);
    const char *argv[] = {program, "org.apache.spark.deploy.worker.Worker", "--host", "127.0.0.1",
        "--webui-port", "0", "--cores", cores, "--memory", json_str_or(args, "memory", "1g"),
        "--properties-file", file, s->master, NULL};
    how->argv = argv;
    return standalone_daemon(c, s, how, "Successfully registered with master", what, e);
}

static int start_all(call *c, struct cluster *s, const cJSON *args, const char *port, err *e)
{
    char secret[2 * SECRET_BYTES + 1];
    AUTO_FREE char *submit = spark_program(c, e), *folder = submit ? path_dirname(submit) : NULL;
    AUTO_FREE char *program = folder ? path_join(folder, "spark-class") : NULL;
    random_hex(secret, SECRET_BYTES);
    s->secret = mem_strdup(secret);
    call_secret(c, s->secret);
    if (!program || make_folder(c, s, call_env(c), e) < 0)
        return -1;
    char **env = environment(c, s, submit);
    struct starting how = {.env = (const char *const *)env, .cwd = s->folder};
    int done = start_master(c, s, &how, program, port, e);
    for (int64_t i = 0; done == 0 && i < json_int_or(args, "workers", 1); i++)
        done = start_worker(c, s, &how, program, args, (size_t)i, e);
    strv_free(env);
    return done;
}

// port: of the master, "0": any.
static int begin(call *c, const cJSON *args, const char *port, cJSON **result, err *e)
{
    struct clusters *all = clusters_of(c);
    struct cluster *s = mem_alloc(sizeof *s);
    s->all = all;
    if (start_all(c, s, args, port, e) < 0) {
        end_cluster(c, s);
        cluster_free(s);
        return -1;
    }
    show(c, s);
    pthread_mutex_lock(&all->lock);
    s->next = all->first;
    all->first = s;
    pthread_mutex_unlock(&all->lock);
    *result = cJSON_CreateObject();
    json_set_str(*result, "master", s->master);
    json_set(*result, "workers", cJSON_Duplicate(json_get(args, "workers"), true));
    json_set(*result, "cores", cJSON_Duplicate(json_get(args, "cores"), true));
    json_set(*result, "memory", cJSON_Duplicate(json_get(args, "memory"), true));
    return 0;
}

static int standalone_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    int64_t workers = json_int_or(args, "workers", 1);
    if (workers < 1 || workers > WORKERS_MOST)
        return err_set(
            e, ERR_USAGE, "spark.standalone: workers is a number from 1 to %d", WORKERS_MOST);
    return begin(c, args, "0", result, e);
}

// It went with the kernel that had it. It is there again at the same address, so that what was done
// there still holds.
static int standalone_verify(
    call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    const char *master = recorded ? json_str(recorded, "master") : NULL;
    const char *colon = master ? strrchr(master, ':') : NULL;
    err why = {0};
    if (!colon || begin(c, args, colon + 1, result, &why) < 0)
        return why.code == ERR_CANCELLED ? err_set(e, why.code, "%s", why.text) : VERDICT_NO;
    return VERDICT_YES;
}

// With the lock.
static struct cluster **find(struct clusters *all, const char *master)
{
    struct cluster **at = &all->first;
    while (*at && !str_eq((*at)->master, master))
        at = &(*at)->next;
    return at;
}

// The first one ends it; whoever comes meanwhile waits until it has gone.
static int standalone_stop(call *c, const cJSON *args, cJSON **result, err *e)
{
    struct clusters *all = clusters_of(c);
    const char *master = json_str(args, "master");
    pthread_mutex_lock(&all->lock);
    struct cluster *s = *find(all, master);
    bool first = s && !s->ending;
    if (first)
        s->ending = true;
    while (s && !first && *find(all, master) == s)
        pthread_cond_wait(&all->changed, &all->lock);
    pthread_mutex_unlock(&all->lock);
    *result = cJSON_CreateBool(first);
    if (!first)
        return 0;
    end_cluster(c, s);
    pthread_mutex_lock(&all->lock);
    struct cluster **at = find(all, master);
    *at = s->next;
    pthread_cond_broadcast(&all->changed);
    pthread_mutex_unlock(&all->lock);
    cluster_free(s);
    return 0;
}

// With the lock: can applications run there? -1: no, and why.
static int check_alive(struct cluster *s, const char *master, bool all_workers, err *e)
{
    size_t alive = 0;
    if (!s || s->ending)
        return err_set(e, ERR_USAGE,
            "spark.submit: %s is no master that this run has started, or it was stopped", master);
    for (size_t i = 1; i < s->n; i++)
        alive += !s->daemons[i]->ended;
    if (s->daemons[0]->ended)
        return err_set(e, ERR_FAILED, "spark.submit: the master %s has died", master);
    if (!alive || (all_workers && alive < s->n - 1))
        return err_set(e, ERR_FAILED, "spark.submit: %zu of the %zu workers of %s %s died",
            s->n - 1 - alive, s->n - 1, master, s->n - 1 - alive == 1 ? "has" : "have");
    return 0;
}

int standalone_check(call *c, const char *master, err *e)
{
    struct clusters *all = clusters_of(c);
    pthread_mutex_lock(&all->lock);
    int done = check_alive(*find(all, master), master, false, e);
    pthread_mutex_unlock(&all->lock);
    return done;
}

int standalone_settings(call *c, const char *master, const cJSON *env, cJSON *conf, err *e)
{
    struct clusters *all = clusters_of(c);
    const cJSON *v;
    pthread_mutex_lock(&all->lock);
    const struct cluster *s = *find(all, master);
    int done = check_alive(*find(all, master), master, true, e);
    if (done == 0)
        json_set_str(conf, "spark.authenticate.secret", s->secret);
    pthread_mutex_unlock(&all->lock);
    if (done < 0)
        return -1;
    json_set_str(conf, "spark.authenticate", "true");
    static const char *const here[] = {"spark.driver.host", "spark.driver.bindAddress"};
    for (size_t i = 0; i < ARRAY_LEN(here); i++)
        if (!json_get(conf, here[i]))
            json_set_str(conf, here[i], "127.0.0.1");
    cJSON_ArrayForEach(v, env)
    {
        AUTO_FREE char *name = str_fmt("spark.executorEnv.%s", v->string);
        if (!json_get(conf, name))
            json_set(conf, name, cJSON_Duplicate(v, true));
    }
    return 0;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    int64_t n = json_int_or(args, "workers", 1);
    about->object = mem_strdup("Spark standalone cluster");
    about->what = str_fmt(
        "start a Spark master and %lld worker%s on this machine", (long long)n, n == 1 ? "" : "s");
}

static void describe_stop(call *c, const cJSON *args, struct about *about)
{
    about->object = mem_strdup("Spark standalone cluster");
    about->what = str_fmt("stop the Spark cluster %s", json_str_or(args, "master", ""));
}

const struct binding standalone_bindings[] = {
    {.name = "spark.standalone",
        .effect = EFFECT_LOCAL,
        .start = standalone_start,
        .verify = standalone_verify,
        .describe = describe},
    {.name = "spark.standalone.stop",
        .effect = EFFECT_LOCAL,
        .start = standalone_stop,
        .describe = describe_stop},
    {0},
};
