// SPDX-License-Identifier: MIT
// spark.submit: runs the real spark-submit, here (local), on a standalone cluster (spark://) or on
// Kubernetes (k8s://).
//
//   spark-submit ─ stdout, stderr ─┐                 ┌─ all of it → a folded log below the cell
//   driver's pod ─ its log ────────┴─ spark_lines ───┼─ WARN, ERROR, the program's own → output
//   (cluster mode)                                   ├─ Keras's lines → progress, metrics
//                                                    └─ ids of application and driver
//
// An interrupt ends spark-submit, and then what it started elsewhere: the driver's pod with its
// executors, the driver of a standalone cluster.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/cause.h"
#include "script/api/core/process.h"
#include "script/api/spark/command.h"
#include "script/api/spark/files.h"
#include "script/api/spark/inside.h"
#include "script/api/spark/k8s.h"
#include "script/api/spark/output.h"
#include "script/api/spark/standalone.h"
#include "script/kernel/effects/binding.h"

#include <string.h>

enum {
    PROPERTIES_MAX = 1 << 20,
    GRACE_MS = 4000
}; // Spark's shutdown hooks tell master and executors
#define LOOK_EVERY (10 * CLOCK_SEC)
#define LOOK_OWN   (CLOCK_SEC / 2)
#define KILL_IN    (30 * CLOCK_SEC)

struct submission {
    call *call;
    const cJSON *args;
    const char *app;
    char *master;
    bool own;                             // on a cluster of spark.standalone
    bool elsewhere, on_k8s, cluster_mode; // cluster_mode: the driver runs there, too
    struct spark_k8s k8s;
    struct spark_output output;
    struct spark_inside inside;
};

// ---- while it runs

static void on_output(void *arg, int fd, const char *bytes, size_t n)
{
    struct submission *s = arg;
    spark_output_bytes(&s->output, fd == 2 ? SPARK_STDERR : SPARK_STDOUT, bytes, n);
}

static void on_driver(void *arg, const char *text, size_t n)
{
    struct submission *s = arg;
    spark_output_line(&s->output, text, n);
}

static void on_spark_line(void *arg, const char *text, size_t n)
{
    struct submission *s = arg;
    spark_inside_line(&s->inside, text, n);
}

static bool look(void *arg)
{
    struct submission *s = arg;
    spark_k8s_look(&s->k8s);
    return true;
}

// ---- begin and end

static bool waits_for_end(const cJSON *conf)
{
    const cJSON *waits = json_get(conf, "spark.kubernetes.submission.waitAppCompletion");
    return !(cJSON_IsFalse(waits) || str_eq(cJSON_GetStringValue(waits), "false"));
}

static int check_mode(struct submission *s, const char *mode, err *e)
{
    if (mode && !str_eq(mode, "client") && !str_eq(mode, "cluster"))
        return err_set(
            e, ERR_USAGE, "spark.submit: deploy_mode is \"client\" or \"cluster\", not %s", mode);
    if (s->cluster_mode && !s->elsewhere)
        return err_set(e, ERR_USAGE,
            "spark.submit: the master %s has no cluster mode: its driver is here", s->master);
    if (s->cluster_mode && str_starts(s->master, "spark://") &&
        (str_ends(s->app, ".py") || str_ends(s->app, ".R")))
        return err_set(e, ERR_USAGE,
            "spark.submit: a standalone cluster runs no drivers in Python: leave deploy_mode out, "
            "and the driver runs here");
    return 0;
}

// conf: the cell's settings, to which ours are added.
static int open_submission(struct submission *s, cJSON *conf, err *e)
{
    const char *mode = json_str(s->args, "deploy_mode");
    s->cluster_mode = str_eq(mode, "cluster");
    s->on_k8s = str_eq(s->master, "k8s") || str_starts(s->master, "k8s://");
    if (check_mode(s, mode, e) < 0)
        return -1;
    s->own = !s->elsewhere && str_starts(s->master, "spark://"); // one of this run's own
    if (s->own)
        return standalone_settings(s->call, s->master, json_get(s->args, "env"), conf, e);
    if (!s->on_k8s) {
        if (s->elsewhere && s->cluster_mode &&
            !json_get(conf, "spark.standalone.submit.waitAppCompletion"))
            json_set_str(conf, "spark.standalone.submit.waitAppCompletion", "true");
        return 0;
    }
    AUTO_FREE char *stem = path_basename(json_str_or(s->args, "name", s->app));
    char *dot = strrchr(stem, '.');
    if (dot && dot > stem)
        *dot = '\0';
    if (spark_k8s_open(&s->k8s, s->call, s->master, conf, stem, s->cluster_mode, e) < 0)
        return -1;
    free(s->master);
    s->master = spark_k8s_master(&s->k8s);
    s->k8s.line = on_driver;
    s->k8s.arg = s;
    spark_k8s_settings(&s->k8s, conf);
    if (s->cluster_mode)
        s->output.driver = mem_strdup(s->k8s.driver);
    return 0;
}

// The text of the cell's own file of settings, if it has one: it may set what we would.
static void add_properties(const struct submission *s, buf *out)
{
    const cJSON *word;
    cJSON_ArrayForEach(word, json_get(s->args, "options"))
    {
        if (!str_eq(cJSON_GetStringValue(word), "--properties-file") || !cJSON_IsString(word->next))
            continue;
        AUTO_FREE char *path = path_join(call_cwd(s->call), word->next->valuestring);
        path_read(path, out, PROPERTIES_MAX, NULL);
    }
}

// After the settings are there: what is shown of the inside adds its own.
static int open_inside(struct submission *s, cJSON *conf, err *e)
{
    AUTO_BUF defaults = {0};
    bool pod = s->on_k8s && s->cluster_mode, here = !s->cluster_mode;
    spark_defaults(call_env(s->call), &defaults);
    add_properties(s, &defaults);
    if (spark_inside_open(&s->inside, s->call, s->args, conf, buf_cstr(&defaults), here, e) < 0)
        return -1;
    if (pod)
        spark_inside_pod(&s->inside, s->k8s.pods.client, s->k8s.ns, s->k8s.driver);
    s->output.spark_line = here || pod ? on_spark_line : NULL;
    s->output.arg = s;
    return 0;
}

// Once nothing but spark-submit itself can refuse: what was announced counts as begun.
static int announce(struct submission *s, err *e)
{
    AUTO_JSON *made = cJSON_CreateObject();
    if (s->on_k8s)
        return spark_k8s_announce(&s->k8s, e);
    json_set_str(made, "master", s->master);
    return s->elsewhere ? call_ledger_partial(s->call, made, e) : 0;
}

static void close_submission(struct submission *s)
{
    spark_inside_done(&s->inside);
    if (s->on_k8s)
        spark_k8s_done(&s->k8s);
    spark_output_close(&s->output);
    free(s->master);
}

// ---- an interrupt

// spark-submit knows no word for this: the class that sent the driver there takes it back.
static void kill_standalone(struct submission *s, const struct spark_command *command)
{
    AUTO_FREE char *folder = path_dirname(command->program);
    AUTO_FREE char *program = path_join(folder, "spark-class");
    const char *argv[] = {
        program, "org.apache.spark.deploy.Client", "kill", s->master, s->output.driver, NULL};
    struct process_result r;
    struct process_spec spec = {.argv = argv,
        .env = (const char *const *)command->env,
        .cwd = call_cwd(s->call),
        .quiet = true,
        .within = KILL_IN};
    err why = {0};
    bool sent = process_run(s->call, &spec, &r, &why) == 0 && r.code == 0;
    buf_done(&r.output);
    AUTO_FREE char *line = sent ? str_fmt("killed the driver %s\n", s->output.driver)
                                : str_fmt("the driver %s cannot be killed: %s\n", s->output.driver,
                                      why.code ? why.text : "spark-class failed");
    call_output(s->call, "stderr", line, strlen(line));
}

static void kill_pods(struct submission *s)
{
    err why = {0};
    int n = spark_k8s_kill(&s->k8s, &why);
    AUTO_FREE char *line =
        n < 0 ? str_fmt("its pods cannot be deleted: %s; firesteel clean does it later\n", why.text)
              : str_fmt("deleted %d %s of the application\n", n, n == 1 ? "pod" : "pods");
    if (n != 0)
        call_output(s->call, "stderr", line, strlen(line));
    AUTO_JSON *nothing = cJSON_CreateNull();
    if (n >= 0)
        call_ledger_partial(s->call, nothing, NULL);
}

// A driver here takes its executors along when it ends: on Kubernetes its pods are looked at, a
// standalone master ends what has lost its driver. Then nothing is left for clean: of a program
// that has failed or was ended nothing at all, else its result.
static void settle_executors(struct submission *s, bool failed)
{
    AUTO_JSON *nothing = cJSON_CreateNull();
    if (!s->elsewhere || s->cluster_mode || (s->on_k8s && !spark_k8s_is_gone(&s->k8s)))
        return;
    if (failed)
        call_ledger_partial(s->call, nothing, NULL);
    else
        call_ledger_tidied(s->call);
}

static void kill_application(struct submission *s, const struct spark_command *command)
{
    s->output.over = true;
    if (s->on_k8s)
        kill_pods(s);
    else if (s->cluster_mode && s->output.driver)
        kill_standalone(s, command);
    else
        settle_executors(s, true);
}

// ---- the end

static void take_state(struct submission *s, const char *state)
{
    free(s->output.state);
    s->output.state = mem_strdup(state);
}

// How the driver's pod ended. code: its exit code, when that can be read.
static void judge_pod(struct submission *s, const cJSON *pod, int *code)
{
    const char *phase = json_path_str(pod, "status.phase");
    const cJSON *exit_code =
        json_path(pod, "status.containerStatuses[0].state.terminated.exitCode");
    if (!s->output.id)
        s->output.id =
            mem_strdup(json_str(json_path(pod, "metadata.labels"), "spark-app-selector"));
    if (cJSON_IsNumber(exit_code))
        *code = exit_code->valueint;
    else if (str_eq(phase, "Failed") && *code == 0)
        *code = 1;
    take_state(s, str_eq(phase, "Succeeded") ? "COMPLETED"
                  : str_eq(phase, "Failed")  ? "FAILED"
                  : phase                    ? phase
                                             : "UNKNOWN");
}

// Waits for the rest of the driver's log, and looks at how it ended.
static int end_on_k8s(struct submission *s, struct process_result *r, err *e)
{
    if (spark_k8s_wait(&s->k8s, e) < 0)
        return -1;
    if (s->k8s.tail_error.code) {
        AUTO_FREE char *line =
            str_fmt("the driver's log cannot be read: %s\n", s->k8s.tail_error.text);
        call_output(s->call, "stderr", line, strlen(line));
    }
    AUTO_JSON *pod = spark_k8s_driver(&s->k8s);
    if (pod)
        judge_pod(s, pod, &r->code);
    return 0;
}

// The line that says why it failed: out of the driver's log, else of what spark-submit said.
static char *cause_of(struct submission *s, const struct process_result *r)
{
    AUTO_BUF log = {0}, cause = {0};
    kept_take(&s->output.driver_log, &log);
    spark_cause(log.len ? buf_cstr(&log) : buf_cstr(&r->output), &cause);
    return cause.len ? buf_take(&cause) : NULL;
}

static int check_exit(struct submission *s, const struct process_result *r, const char *why, err *e)
{
    const char *remedy = why ? cause_remedy(why) : NULL;
    if (r->code == 0 || !json_bool_or(s->args, "check", true))
        return 0;
    if (r->signal)
        return err_set(e, ERR_FAILED, "%s was ended by signal %d (%s)", s->app, r->signal,
            strsignal(r->signal));
    return err_set(e, ERR_FAILED, "%s exited with %d%s%s%s%s", s->app, r->code,
        why ? ": " : " (its output says why)", why ? str_short(why, 700).text : "",
        remedy ? "; next: " : "", remedy ? remedy : "");
}

// files: those of program and inputs; taken.
static cJSON *result_of(
    struct submission *s, const struct process_result *r, const char *why, cJSON *files)
{
    AUTO_BUF output = {0};
    cJSON *result = cJSON_CreateObject();
    uint64_t left_out = kept_take(&s->output.shown, &output);
    json_set_int(result, "code", r->code);
    if (r->signal)
        json_set_int(result, "signal", r->signal);
    json_set_str(result, "state",
        s->output.state ? s->output.state
        : r->code == 0  ? "COMPLETED"
                        : "FAILED");
    json_set_str(result, "cause", r->code == 0 ? NULL : why);
    json_set_str(result, "master", s->master);
    json_set_str(result, "id", s->output.id);
    json_set_str(result, "driver", s->output.driver);
    call_said(result, "output", buf_cstr(&output), left_out);
    json_set(result, "metrics", cJSON_Duplicate(training_metrics(s->output.training), true));
    json_set(result, "history", cJSON_Duplicate(training_history(s->output.training), true));
    json_set(
        result, "findings", s->inside.findings ? STEAL(s->inside.findings) : cJSON_CreateArray());
    json_set_str(result, "eventlog", s->inside.file);
    process_hash_files(s->call, files, call_cwd(s->call), json_get(s->args, "outputs"));
    json_set(result, "files", files);
    if (s->on_k8s) { // so that it is found again
        json_set_str(result, "namespace", s->k8s.ns);
        const cJSON *cluster = client_identity(s->k8s.pods.client, &s->k8s.pods.patience, NULL);
        json_set(result, "cluster", cJSON_Duplicate(cluster, true));
    }
    return result;
}

// Spark would wait for a cluster that is gone.
static bool look_at_cluster(void *arg)
{
    const struct submission *s = arg;
    return standalone_check(s->call, s->master, NULL) == 0;
}

static int run(struct submission *s, const struct spark_command *command, bool follows,
    struct process_result *r, err *e)
{
    struct process_spec spec = {.argv = (const char *const *)command->words,
        .env = (const char *const *)command->env,
        .cwd = call_cwd(s->call),
        .output = on_output,
        .grace_ms = GRACE_MS,
        .meanwhile = s->on_k8s ? look
                     : s->own  ? look_at_cluster
                               : NULL,
        .every = s->own ? LOOK_OWN : LOOK_EVERY,
        .arg = s};
    if (follows)
        spark_k8s_follow(&s->k8s);
    int done = process_run(s->call, &spec, r, e);
    if (done == 0 && s->own && r->code != 0 && standalone_check(s->call, s->master, e) < 0)
        done = -1; // why it has failed
    if (done == 0 && follows)
        done = end_on_k8s(s, r, e);
    if (done < 0)
        kill_application(s, command);
    spark_output_end(&s->output);
    spark_inside_end(&s->inside);
    return done;
}

static int submit(call *c, const cJSON *args, bool elsewhere, cJSON **result, err *e)
{
    struct submission s = {.call = c,
        .args = args,
        .app = json_str_or(args, "app", ""),
        .master = mem_strdup(json_str_or(args, "master", "local[*]")),
        .elsewhere = elsewhere,
        .output.everything = json_bool_or(args, "info", false)};
    struct spark_command command = {0};
    struct process_result r = {0};
    AUTO_JSON *given = json_get(args, "conf") ? cJSON_Duplicate(json_get(args, "conf"), true)
                                              : cJSON_CreateObject();
    AUTO_JSON *files = spark_files(c, args); // hash before running: somebody may edit them
    AUTO_FREE char *title = str_fmt("spark-submit %s", s.app), *why = NULL;
    int done = open_submission(&s, given, e);
    if (done == 0)
        done = open_inside(&s, given, e);
    if (done == 0)
        done = spark_command(
            c, args, s.master, given, elsewhere, s.on_k8s && s.cluster_mode, &command, e);
    s.output.master = s.master;
    s.output.standalone = s.cluster_mode && !s.on_k8s;
    if (done == 0)
        done = spark_output_open(&s.output, c, title, e);
    if (done == 0)
        done = announce(&s, e);
    if (done == 0)
        done = run(&s, &command, s.cluster_mode && s.on_k8s && waits_for_end(given), &r, e);
    if (done == 0 && r.code != 0)
        why = cause_of(&s, &r);
    if (done == 0) {
        done = check_exit(&s, &r, why, e);
        settle_executors(&s, done < 0);
    }
    if (done == 0)
        *result = result_of(&s, &r, why, STEAL(files));
    spark_command_done(c, &command);
    buf_done(&r.output);
    close_submission(&s);
    return done;
}

static int submit_here(call *c, const cJSON *args, cJSON **result, err *e)
{
    return submit(c, args, false, result, e);
}

static int submit_elsewhere(call *c, const cJSON *args, cJSON **result, err *e)
{
    return submit(c, args, true, result, e);
}

static int verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    int verdict = process_verify(c, call_cwd(c), recorded, false);
    if (verdict == VERDICT_YES)
        cJSON_Delete(spark_files(c, args)); // the cell has them as inputs, as when it ran
    return verdict;
}

static void describe(call *c, const cJSON *args, struct about *about)
{
    const char *app = json_str_or(args, "app", "a program");
    const char *master = json_str_or(args, "master", "local[*]");
    about->object = str_fmt("Spark application %s", json_str_or(args, "name", app));
    if (!str_starts(master, "k8s")) {
        about->what = str_fmt("submit %s to %s", app, master);
        about->context = mem_strdup(master);
        return;
    }
    client *k = bind_client(c, NULL);
    const kubeconfig *config = k ? client_config(k) : NULL;
    const char *given = json_str(json_get(args, "conf"), "spark.kubernetes.namespace");
    const char *ns = given ? given : config ? config->namespace_ : "default";
    about->namespace_ = mem_strdup(ns);
    about->context = mem_strdup(config ? config->context : NULL);
    about->what = str_fmt("submit %s to namespace %s%s%s", app, ns, config ? " of context " : "",
        config && config->context ? config->context : "");
}

const struct binding spark_bindings[] = {
    {.name = "spark.local",
        .effect = EFFECT_LOCAL,
        .said = said_output,
        .start = submit_here,
        .verify = verify,
        .describe = describe},
    {.name = "spark.submit",
        .effect = EFFECT_CLUSTER,
        .said = said_output,
        .announces = true,
        .start = submit_elsewhere,
        .verify = verify,
        .find = spark_k8s_find,
        .undo = spark_k8s_undo,
        .describe = describe},
    {0},
};
