// SPDX-License-Identifier: MIT
// What a driver of Spark answers, and its event log, with any bytes: whatever they say, records are
// bounded, and findings and tables are made of them without harm. The input: a byte, "e" for lines
// of an event log, else the question (modulo their number) that the bytes answer.
#include "base/mem.h"
#include "script/api/sparkui/eventlog.h"
#include "script/api/sparkui/rest.h"
#include "script/api/sparkui/tables.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

static void read_lines(struct spark_state *s, const char *text, size_t n)
{
    while (n) {
        const char *end = memchr(text, '\n', n);
        size_t length = end ? (size_t)(end - text) + 1 : n;
        spark_event_line(s, text, length);
        text += length;
        n -= length;
    }
}

// The same answer twice, as of a driver that is asked again; then what would be asked next.
static void read_answer(struct spark_state *s, uint8_t which, const char *text, size_t n)
{
    AUTO_JSON *answer = json_parse(text, n, NULL);
    struct spark_rest r;
    spark_rest_init(&r, s);
    for (int i = 0; answer && i < 2; i++) {
        r.asked = (enum spark_ask)(which % (SPARK_ASK_SQL + 1));
        r.now_ms = 1 << 30;
        spark_rest_take(&r, answer);
    }
    for (int i = 0; i < 20; i++) {
        AUTO_BUF path = {0};
        spark_rest_next(&r, &path);
        spark_rest_refused(&r, 404);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    struct spark_state s = {0};
    struct spark_limits limits = {0}; // all is a finding
    if (!n)
        return 0;
    if (*data == 'e')
        read_lines(&s, (const char *)data + 1, n - 1);
    else
        read_answer(&s, *data, (const char *)data + 1, n - 1);
    if (s.n_stages > SPARK_KEPT || s.n_jobs > SPARK_KEPT)
        abort();
    AUTO_JSON *findings = spark_findings(&s, &limits);
    AUTO_JSON *all = spark_json(&s, findings, 1);
    if (!cJSON_IsObject(all))
        abort();
    for (int i = 0; i < SPARK_TABLE_COUNT; i++) {
        AUTO_JSON *bundle = spark_bundle(&s, (enum spark_table)i, findings, NULL, 1);
        if (!json_str(bundle, "text/plain"))
            abort();
    }
    spark_state_done(&s);
    return 0;
}
