// SPDX-License-Identifier: MIT
// Which lines of spark-submit are shown, and the ids in them.
#include "base/mem.h"
#include "script/api/spark/lines.h"
#include "tests/support/tap.h"

#define AT "26/11/22 08:00:00 "

static void keep(void *arg, const struct spark_line *line)
{
    if (!line->folded)
        buf_add(arg, line->text, line->n);
}

// In pieces of so many bytes, whichever they are, the same lines are shown.
static void check_shown_of(bool apart, const char *text, const char *want)
{
    for (size_t piece = 1; piece <= strlen(text); piece++) {
        struct spark_lines s = {.apart = apart};
        AUTO_BUF shown = {0};
        for (size_t at = 0; at < strlen(text); at += piece) {
            size_t n = strlen(text) - at < piece ? strlen(text) - at : piece;
            spark_lines_feed(&s, text + at, n, keep, &shown);
        }
        spark_lines_end(&s, keep, &shown);
        spark_lines_done(&s);
        CHECK_STR(buf_cstr(&shown), want);
    }
}

static void check_shown(const char *text, const char *want)
{
    check_shown_of(false, text, want);
}

TEST(information_is_folded)
{
    check_shown(AT "INFO SparkContext: Running Spark\n" AT "WARN Utils: x\nsum 45\n" AT
                   "DEBUG A: b\n" AT
                   "ERROR Executor: Exception\njava.io.IOException: y\n\tat a.b(C)\n"
                   "\t... 5 more\nend",
        AT "WARN Utils: x\nsum 45\n" AT "ERROR Executor: Exception\njava.io.IOException: y\nend");
}

TEST(a_record_of_several_lines_is_folded_whole)
{
    check_shown(AT
        "INFO LoggingPodStatusWatcherImpl: State changed: \n\t pod name: x\n\n\n\t phase: y\n"
        "\nmine\n\ta table\n",
        "\nmine\n\ta table\n");
}

TEST(a_plan_in_a_record_is_folded_where_the_program_prints_elsewhere)
{
    const char *text =
        AT "INFO DAGScheduler: Submitting (MapPartitionsRDD[22]\n +- Scan csv\n  total: 1\n" AT
           "WARN A: b\n +- Scan\n";
    check_shown_of(true, text, AT "WARN A: b\n +- Scan\n");
    check_shown(text, " +- Scan csv\n  total: 1\n" AT "WARN A: b\n +- Scan\n");
}

TEST(plans_and_blocks_begin_otherwise)
{
    const char *text =
        AT "INFO DAGScheduler: Submitting 1 missing tasks from ShuffleMapStage 5 (*(1) Project "
           "[day#17]\n"
           "+- *(1) Filter (day#17 <= 674)\n   +- FileScan csv\n MapPartitionsRDD[22] at rdd)\n" AT
           "INFO ContextCleaner: cached blocks:\n[rdd_22_0]\n:- Scan\n:  +- Scan\n[1, 2]\n- 3\n";
    check_shown_of(true, text, "[1, 2]\n- 3\n");
}

TEST(a_program_s_lines_stay_as_they_are)
{
    check_shown("\ta\n\n 50%\r100%\rdone\r\n26/11/22 is a day\n",
        "\ta\n\n 50%\r100%\rdone\r\n26/11/22 is a day\n");
}

TEST(a_line_without_end_comes_in_pieces)
{
    struct spark_lines s = {0};
    AUTO_BUF shown = {0};
    char part[1000];
    memset(part, 'x', sizeof part);
    for (int i = 0; i < 1000; i++)
        spark_lines_feed(&s, part, sizeof part, keep, &shown);
    CHECK(s.rest.len < 100000);
    spark_lines_end(&s, keep, &shown);
    spark_lines_done(&s);
    CHECK_INT(shown.len, 1000 * 1000);
}

TEST(ids_are_found)
{
    static const struct {
        const char *line, *application, *driver;
    } cases[] = {
        {AT "INFO StandaloneSchedulerBackend: Connected to Spark cluster with app ID "
            "app-20261122080000-0001\n",
            "app-20261122080000-0001", NULL},
        {"\t labels: spark-app-name -> x, spark-app-selector -> "
         "spark-06f360d3d8b9411b8e37a3df10836721, spark-role -> driver\n",
            "spark-06f360d3d8b9411b8e37a3df10836721", NULL},
        {AT "INFO YarnClientImpl: Submitted application application_1700000000000_0042\n",
            "application_1700000000000_0042", NULL},
        {AT "INFO ClientEndpoint: Driver successfully submitted as driver-20261122080000-0002\n",
            NULL, "driver-20261122080000-0002"},
        {AT "INFO ShutdownHookManager: Deleting directory "
            "/tmp/spark-925256f9-20b4-49bd-ac8f-7b1c4b3a3bc0\n",
            NULL, NULL},
        {AT "INFO X: my-app-1-2 app-1 spark-x app--1 driver-\n", NULL, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        size_t n = strlen(cases[i].line);
        AUTO_FREE char *application = spark_application_id(cases[i].line, n);
        AUTO_FREE char *driver = spark_driver_id(cases[i].line, n);
        CHECK_STR(application, cases[i].application);
        CHECK_STR(driver, cases[i].driver);
    }
}

int main(void)
{
    return tap_run();
}
