// SPDX-License-Identifier: MIT
#include "base/mem.h"
#include "script/journal/fold/fold.h"
#include "script/journal/runs/cost.h"
#include "tests/support/tap.h"

#include <string.h>

enum { NOW = 2 * 3600 };

static cJSON *parsed(const char *text)
{
    err e = {0};
    cJSON *j = json_parse(text, strlen(text), &e);
    CHECK_OK(j, e);
    return j;
}

static void check_use(const char *pods, const char *expected)
{
    AUTO_JSON *all = parsed(pods);
    AUTO_JSON *cost = cost_of(all, NOW);
    CHECK_STR(json_str_or(cost, "pod_use", ""), expected);
}

#define POD(cpu, memory, peak)                                                                     \
    "{\"p\": {\"since\": 0, \"until\": 60, \"cpu\": " cpu ", \"memory\": " memory peak "}}"
#define PEAK(cpu, memory) ", \"peak\": {\"cpu\": " cpu ", \"memory\": " memory "}"

TEST(what_was_asked_for_and_used_is_a_sentence)
{
    check_use(POD("2000", "2147483648", PEAK("400", "629145600")),
        "asked for 2 CPU and 2 GiB, used 0.4 and 600 MiB: half would do");
    check_use(POD("2000", "2147483648", PEAK("300", "209715200")),
        "asked for 2 CPU and 2 GiB, used 0.3 and 200 MiB: a quarter would do");
    check_use(POD("2000", "2147483648", PEAK("1900", "209715200")),
        "asked for 2 CPU and 2 GiB, used 1.9 and 200 MiB: a quarter of the memory would do");
    check_use(POD("1000", "1073741824", PEAK("450", "1000000000")),
        "asked for 1 CPU and 1 GiB, used 0.45 and 954 MiB");
    check_use(POD("1000", "1073741824", PEAK("100", "1288490189")),
        "asked for 1 CPU and 1 GiB, used 0.1 and 1.2 GiB: more memory than it asked for, so its "
        "node "
        "may evict it");
    check_use(POD("1000", "0", PEAK("20", "1048576")),
        "asked for 1 CPU, used 0.02 and 1 MiB: a quarter would do");
    check_use(POD("0", "1073741824", PEAK("20", "1048576")),
        "asked for 1 GiB, used 0.02 CPU and 1 MiB: a quarter would do");
    check_use(POD("0", "0", PEAK("1500", "1048576")), "asked for nothing, used 1.5 CPU and 1 MiB");
    check_use(POD("100", "0", ""), "asked for 0.1 CPU; what it used was not measured");
}

TEST(of_a_short_pod_nothing_is_advised)
{
    check_use("{\"p\": {\"since\": 10, \"until\": 20, \"cpu\": 1000" PEAK("1", "1048576") "}}",
        "asked for 1 CPU, used 0.001 and 1 MiB");
}

// Two at a time, of three.
static const char three[] =
    "{\"a\": {\"role\": \"driver\", \"since\": 0, \"until\": 3600, \"cpu\": 1000, \"memory\": "
    "1073741824" PEAK(
        "900", "1000000000") "},"
                             "\"b\": {\"role\": \"executor\", \"since\": 0, \"until\": 1800, "
                             "\"cpu\": 500, \"devices\": {\"nvidia.com/gpu\": 2, \"a.b/disk\": 4}},"
                             "\"c\": {\"role\": \"executor\", \"since\": 1800, \"cpu\": 500" PEAK(
                                 "450", "1048576") "}}";

TEST(pods_that_ran_together_are_added_up)
{
    AUTO_JSON *pods = parsed(three);
    AUTO_JSON *cost = cost_of(pods, NOW);
    AUTO_BUF text = {0};
    CHECK_INT(json_int_or(cost, "pod_count", 0), 3);
    CHECK_NEAR(json_get(cost, "asked_cpu")->valuedouble, 1.5, 0);
    CHECK_NEAR(json_get(cost, "peak_cpu")->valuedouble, 1.35, 1e-9);
    CHECK_NEAR(json_get(cost, "cpu_hours")->valuedouble, 1 + 0.25 + 0.75, 1e-5);
    CHECK_NEAR(json_get(cost, "gpu_hours")->valuedouble, 1, 1e-9);
    cost_print(pods, NOW, &text);
    CHECK_HAS(buf_cstr(&text), "  1 driver: asked for 1 CPU and 1 GiB, used 0.9 and 954 MiB\n");
    CHECK_HAS(buf_cstr(&text), "  2 executors: each asked for 0.5 CPU, used 0.45 and 1 MiB\n");
    CHECK_HAS(buf_cstr(&text), "  2 CPU hours, 1 GiB hours, 1 GPU hours\n");
}

TEST(without_pods_there_is_no_cost)
{
    AUTO_BUF text = {0};
    AUTO_JSON *none = parsed("{}");
    CHECK(!cost_of(none, NOW));
    CHECK(!cost_of(NULL, NOW));
    cost_print(none, NOW, &text);
    CHECK_INT(text.len, 0);
}

// The last record of a pod counts, and it is of no cell.
TEST(pods_are_recorded_of_the_run)
{
    static const char *const events[] = {"{\"type\": \"recorded\", \"cell\": \"\", \"kind\": "
                                         "\"pod\", \"name\": \"u\", \"value\": {\"since\": 1}}",
        "{\"type\": \"recorded\", \"cell\": \"\", \"kind\": \"pod\", \"name\": \"u\", \"value\": "
        "{\"since\": 1, \"until\": 2}}"};
    fold *f = fold_new();
    for (size_t i = 0; i < ARRAY_LEN(events); i++) {
        err e = {0};
        AUTO_JSON *event = parsed(events[i]);
        json_set_int(event, "seq", (int64_t)i + 1);
        CHECK_OK(fold_event(f, event, &e) == 0, e);
    }
    AUTO_JSON *results = fold_results(f);
    AUTO_FREE char *pods = json_to_str(json_get(results, "pods"));
    CHECK_STR(pods, "{\"u\":{\"since\":1,\"until\":2}}");
    fold_free(f);
}

int main(void)
{
    return tap_run();
}
