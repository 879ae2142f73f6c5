// SPDX-License-Identifier: MIT
// What Spark's REST API and event logs say, of Spark 3.5 and 4.0, as tests/spark/record.py recorded
// them of a program that skews, spills and fails.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/sparkui/eventlog.h"
#include "script/api/sparkui/rest.h"
#include "script/api/sparkui/tables.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const versions[] = {"3.5", "4.0"};
enum { ASKS_MOST = 80 };

static char *file_of(const char *version, const char *name)
{
    return str_fmt("%s/tests/spark/%s/%s", getenv("FIRESTEEL_SOURCE"), version, name);
}

static cJSON *answers_of(const char *version, const char *name)
{
    AUTO_FREE char *path = file_of(version, name);
    AUTO_BUF text = {0};
    CHECK_INT(path_read(path, &text, 64 << 20, NULL), 0);
    cJSON *answers = json_parse(text.data, text.len, NULL);
    CHECK(cJSON_IsObject(answers));
    return answers;
}

// Asks a recorded driver until all is known, or so many times; returns how many requests it took.
static int ask(struct spark_rest *r, const cJSON *answers, int most)
{
    int n = 0;
    for (; n < most && !spark_rest_is_whole(r); n++) {
        AUTO_BUF path = {0};
        spark_rest_next(r, &path);
        const cJSON *answer = json_get(answers, buf_cstr(&path));
        if (answer)
            spark_rest_take(r, answer);
        else
            spark_rest_refused(r, 404);
    }
    return n;
}

static bool mentions(const cJSON *findings, const char *words)
{
    const cJSON *finding;
    cJSON_ArrayForEach(finding, findings)
    {
        if (strstr(json_str_or(finding, "what", ""), words))
            return true;
    }
    return false;
}

static struct spark_limits low_limits(void)
{
    AUTO_JSON *given = tap_yaml("{skew_seconds: 1, spill: 1000000}");
    return spark_limits_of(given);
}

// What both sources tell of the same program.
static void check_all(const struct spark_state *s)
{
    struct spark_limits limits = low_limits();
    AUTO_JSON *findings = spark_findings(s, &limits);
    CHECK_STR(s->name, "inside");
    CHECK(mentions(findings, "stage 1: one task of 40 took "));
    CHECK(mentions(findings, " times the median ("));
    CHECK(mentions(findings, "): skew by key, it read "));
    CHECK(mentions(findings, "executors spilled "));
    CHECK(mentions(
        findings, ": 1 task failed and ran again: ValueError: the file part-2 is being written"));
    CHECK(mentions(findings, " failed: 4 tasks failed: ValueError: bad record 17"));
    AUTO_JSON *all = spark_json(s, findings, 0);
    size_t failed = 0;
    const cJSON *job, *query;
    cJSON_ArrayForEach(job, json_get(all, "jobs")) failed +=
        str_eq(json_str(job, "state"), "failed");
    CHECK_INT(failed, 2);
    failed = 0;
    cJSON_ArrayForEach(query, json_get(all, "queries")) failed +=
        str_eq(json_str(query, "state"), "failed");
    CHECK_INT(failed, 1);
    const cJSON *executor = cJSON_GetArrayItem(json_get(all, "executors"), 0);
    CHECK_STR(json_str(executor, "id"), "driver");
    CHECK_INT(json_int_or(executor, "cores", 0), 2);
    CHECK(json_int_or(executor, "spilled", 0) > 1000000);
    CHECK(json_int_or(executor, "peak_heap", 0) > 1000000);
    CHECK(json_int_or(executor, "shuffle_read", 0) > 1000000);
}

TEST(an_event_log_tells_all)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        struct spark_state s = {0};
        AUTO_FREE char *path = file_of(versions[i], "events.jsonl");
        CHECK_INT(spark_event_file(&s, path, NULL, NULL, NULL, NULL), 0);
        CHECK(s.ended > s.begun && s.begun > 0);
        CHECK(str_starts(s.version, versions[i]));
        check_all(&s);
        spark_state_done(&s);
    }
}

TEST(a_driver_tells_all_in_few_requests)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        AUTO_JSON *answers = answers_of(versions[i], "ended.json");
        struct spark_state s = {0};
        struct spark_rest r;
        spark_rest_init(&r, &s);
        int n = ask(&r, answers, ASKS_MOST);
        CHECK(spark_rest_is_whole(&r));
        CHECK(n < 25);
        CHECK(str_starts(s.version, versions[i]));
        check_all(&s);
        spark_state_done(&s);
    }
}

// Wall ms at which the recorded task was launched.
static int64_t launched(const cJSON *answers)
{
    const cJSON *answer;
    cJSON_ArrayForEach(answer, answers)
    {
        const char *at = json_str(cJSON_GetArrayItem(answer, 0), "launchTime");
        AUTO_FREE char *text = at ? str_fmt("%.*sZ", (int)strlen(at) - 3, at) : NULL;
        int64_t ns = 0;
        if (text && clock_parse_rfc3339(text, &ns, NULL) == 0)
            return ns / CLOCK_MS;
    }
    return 0;
}

TEST(a_task_that_still_runs_is_told_of)
{
    for (size_t i = 0; i < ARRAY_LEN(versions); i++) {
        AUTO_JSON *answers = answers_of(versions[i], "runs.json");
        struct spark_limits limits = low_limits();
        struct spark_state s = {0};
        struct spark_rest r;
        spark_rest_init(&r, &s);
        ask(&r, answers, ASKS_MOST);
        for (int more = 0; more < 12; more++) { // it knows all, and goes on
            AUTO_BUF path = {0};
            spark_rest_next(&r, &path);
            r.now_ms = launched(answers) + 10000;
            const cJSON *answer = json_get(answers, buf_cstr(&path));
            if (answer)
                spark_rest_take(&r, answer);
        }
        AUTO_JSON *findings = spark_findings(&s, &limits);
        CHECK(mentions(findings, "stage 1: one task of 40 runs for more than "));
        AUTO_JSON *bundle = spark_bundle(&s, SPARK_TABLE_STAGES, findings, NULL, s.begun);
        const char *text = json_str_or(bundle, "text/plain", "");
        CHECK(strstr(text, "Spark inside: 0 of 1 job ended, 1 task run on 2 cores") != NULL);
        CHECK(strstr(text, "39/40") != NULL);
        spark_state_done(&s);
    }
}

// Then the next answers tell how it ended.
TEST(a_stage_that_is_not_active_any_more_is_asked_for)
{
    AUTO_JSON *runs = answers_of("3.5", "runs.json"), *ended = answers_of("3.5", "ended.json");
    struct spark_state s = {0};
    struct spark_rest r;
    spark_rest_init(&r, &s);
    ask(&r, runs, ASKS_MOST);
    CHECK_INT(spark_stage_at(&s, 1, 0)->is, SPARK_ACTIVE);
    for (int i = 0; i < ASKS_MOST; i++) {
        AUTO_BUF path = {0};
        spark_rest_next(&r, &path);
        const cJSON *answer = json_get(ended, buf_cstr(&path));
        if (answer)
            spark_rest_take(&r, answer);
        else
            spark_rest_refused(&r, 404);
    }
    CHECK_INT(spark_stage_at(&s, 1, 0)->is, SPARK_COMPLETE);
    CHECK(spark_stage_at(&s, 1, 0)->settled);
    check_all(&s);
    spark_state_done(&s);
}

// The names in an answer lead nowhere else on the server.
TEST(an_application_s_id_is_escaped)
{
    AUTO_JSON *apps = tap_yaml("[{id: '../../../secrets?x='}]");
    AUTO_BUF path = {0};
    struct spark_state s = {0};
    struct spark_rest r;
    spark_rest_init(&r, &s);
    spark_rest_next(&r, &path);
    spark_rest_take(&r, apps);
    buf_clear(&path);
    spark_rest_next(&r, &path);
    CHECK_STR(buf_cstr(&path), "/applications/..%2F..%2F..%2Fsecrets%3Fx%3D/stages");
    spark_state_done(&s);
}

TEST(answers_of_another_form_change_nothing)
{
    static const char *const texts[] = {"{}", "[]", "null", "7", "[7, null, {}]", "[[]]", "'x'",
        "[{stageId: x}, {jobId: {}}, {id: 3}]", "{stageId: -1}"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_JSON *answer = tap_yaml(texts[i]);
        for (int ask_ = 0; ask_ <= SPARK_ASK_SQL; ask_++) {
            struct spark_state s = {0};
            struct spark_rest r;
            spark_rest_init(&r, &s);
            r.asked = (enum spark_ask)ask_;
            r.stage = 1;
            spark_rest_take(&r, answer);
            CHECK_INT(s.n_jobs, 0);
            spark_state_done(&s);
        }
    }
}

static const char begins[] =
    "{\"Event\":\"SparkListenerLogStart\",\"Spark Version\":\"3.5.7\"}\n"
    "{\"Event\":\"SparkListenerTaskEnd\",\"Stage ID\":1}\n"
    "{\"Event\":\"SparkListenerJobStart\",\"Job ID\":0,\"Stage Infos\":[{\"Stage ID\":0,";

TEST(a_log_that_is_cut_off_and_one_in_parts_are_read)
{
    char folder[] = "/tmp/sparkui-XXXXXX";
    CHECK(mkdtemp(folder) != NULL);
    static const struct {
        const char *name, *text;
    } parts[] = {{"appstatus_app-1.inprogress", "x"}, {"events_1_app-1", begins},
        {"events_10_app-1", "{\"Event\":\"SparkListenerApplicationEnd\",\"Timestamp\":9}\n"},
        {"events_2_app-1",
            "{\"Event\":\"SparkListenerApplicationStart\",\"App Name\":\"a\",\"Timestamp\":5}\n"}};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        AUTO_FREE char *path = path_join(folder, parts[i].name);
        CHECK_INT(path_write(path, parts[i].text, strlen(parts[i].text), 0600, NULL), 0);
    }
    struct spark_state s = {0};
    CHECK_INT(spark_event_file(&s, folder, NULL, NULL, NULL, NULL), 0);
    CHECK_STR(s.version, "3.5.7");
    CHECK_INT(s.ended, 9);
    CHECK_INT(s.n_jobs, 0);
    spark_state_done(&s);
    path_remove(folder, NULL);
}

TEST(what_is_no_event_log_is_an_error)
{
    static const char zstd[] = "\x28\xb5\x2f\xfd....";
    static const struct {
        const char *text, *why;
    } cases[] = {{"a text\n", "no event log of Spark"}, {"", "no event log of Spark"},
        {zstd, "is compressed: `zstd -d` makes it readable"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char path[] = "/tmp/sparkui-XXXXXX";
        struct spark_state s = {0};
        err why = {0};
        close(mkstemp(path));
        CHECK_INT(path_write(path, cases[i].text, strlen(cases[i].text), 0600, NULL), 0);
        CHECK_INT(spark_event_file(&s, path, NULL, NULL, NULL, &why), -1);
        CHECK(strstr(why.text, cases[i].why) != NULL);
        unlink(path);
        spark_state_done(&s);
    }
}

static bool not_once(void *arg)
{
    return false;
}

TEST(reading_a_log_ends_when_it_is_interrupted)
{
    struct spark_state s = {0};
    err why = {0};
    AUTO_FREE char *path = file_of("3.5", "events.jsonl");
    CHECK_INT(spark_event_file(&s, path, not_once, NULL, NULL, &why), -1);
    CHECK_INT(why.code, ERR_CANCELLED);
    spark_state_done(&s);
}

// Records that are thousands are bounded, and the youngest stay.
TEST(a_long_application_is_bounded)
{
    struct spark_state s = {0};
    for (int i = 0; i < SPARK_KEPT + 100; i++) {
        AUTO_FREE char *line =
            str_fmt("{\"Event\":\"SparkListenerStageSubmitted\",\"Stage Info\":{\"Stage ID\":%d,"
                    "\"Stage Name\":\"s\",\"Number of Tasks\":2}}",
                i);
        spark_event_line(&s, line, strlen(line));
    }
    CHECK_INT(s.n_stages, SPARK_KEPT);
    CHECK_INT(s.stages[0].id, 100);
    AUTO_JSON *table = spark_table_of(&s, SPARK_TABLE_STAGES, NULL, 0);
    CHECK_STR(json_str(cJSON_GetArrayItem(json_get(table, "rows"), 0), "name"), "2099");
    CHECK_INT(json_int_or(table, "more", 0), SPARK_KEPT - 200);
    spark_state_done(&s);
}

TEST(limits_decide_what_is_a_finding)
{
    struct spark_state s = {0};
    AUTO_FREE char *path = file_of("3.5", "events.jsonl");
    CHECK_INT(spark_event_file(&s, path, NULL, NULL, NULL, NULL), 0);
    static const struct {
        const char *limits, *words;
        bool found;
    } cases[] = {{"{}", "skew by key", true}, {"{skew: 1000}", "skew by key", false},
        {"{skew_seconds: 3600}", "skew by key", false}, {"{}", "executors spilled", false},
        {"{spill: 1000}", "executors spilled", true}, {"{}", "ran again", true},
        {"{failed_tasks: 2}", "ran again", false},
        {"{gc: 0, gc_seconds: 0}", "garbage collection took", true},
        {"{}", "garbage collection", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *given = tap_yaml(cases[i].limits);
        struct spark_limits limits = spark_limits_of(given);
        AUTO_JSON *findings = spark_findings(&s, &limits);
        CHECK_INT(mentions(findings, cases[i].words), cases[i].found);
    }
    spark_state_done(&s);
}

// A slow node and a frequent key look alike until one sees what was read.
TEST(a_task_that_read_no_more_is_no_skew_by_key)
{
    struct spark_limits limits = spark_limits_of(NULL);
    struct spark_state s = {0};
    struct spark_stage *g = spark_stage_at(&s, 3, 0);
    g->is = SPARK_COMPLETE;
    g->tasks = 200;
    g->spread = (struct spark_spread){.median_ms = 1000,
        .max_ms = 14000,
        .median_read = 100,
        .max_read = 120,
        .slowest_read = 110,
        .shuffle = true};
    AUTO_JSON *same = spark_findings(&s, &limits);
    CHECK_STR(json_str(cJSON_GetArrayItem(same, 0), "what"),
        "stage 3: one task of 200 took 14 times the median (14.0s, not 1.0s); it read no more "
        "than others");
    g->spread.max_read = g->spread.slowest_read = 3 << 20;
    AUTO_JSON *key = spark_findings(&s, &limits);
    CHECK_STR(json_str(cJSON_GetArrayItem(key, 0), "what"),
        "stage 3: one task of 200 took 14 times the median (14.0s, not 1.0s): skew by key, it "
        "read 3.0 MiB and the median 100 B");
    g->spread.shuffle = false;
    AUTO_JSON *input = spark_findings(&s, &limits);
    CHECK(mentions(input, "skew of the input"));
    spark_state_done(&s);
}

TEST(lost_executors_are_told_and_released_ones_are_not)
{
    static const struct {
        const char *why;
        bool lost;
    } cases[] = {{"Command exited with code 137", true},
        {"The executor with id 1 exited with exit code 137(SIGKILL, possible container OOM).",
            true},
        {"Executor killed by driver: idle", false}, {"worker lost", true},
        {"Driver requested executor to exit", false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct spark_limits limits = spark_limits_of(NULL);
        struct spark_state s = {0};
        AUTO_FREE char *line = str_fmt("{\"Event\":\"SparkListenerExecutorRemoved\",\"Executor "
                                       "ID\":\"1\",\"Removed Reason\":\"%s\"}",
            cases[i].why);
        spark_event_line(&s, line, strlen(line));
        AUTO_JSON *findings = spark_findings(&s, &limits);
        CHECK_INT(mentions(findings, "executor 1 was lost: "), cases[i].lost);
        spark_state_done(&s);
    }
}

int main(void)
{
    return tap_run();
}
