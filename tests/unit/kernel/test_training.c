// SPDX-License-Identifier: MIT
// A trainer's reports, as a progress display and as marked lines of a log.
#include "base/mem.h"
#include "script/bind/training.h"
#include "tests/support/tap.h"

static const char kind[] = "application/vnd.firesteel.progress+json";

static bool tell(training *t, const char *text)
{
    AUTO_JSON *event = json_parse(text, strlen(text), NULL);
    return training_event(t, event);
}

TEST(an_evaluation_stands_beside_the_epochs)
{
    training *t = training_new();
    CHECK(tell(t, "{\"event\":\"progress\",\"epoch\":1,\"epochs\":2,\"first\":1,\"step\":3,"
                  "\"steps\":10,\"elapsed\":1.5,\"metrics\":{\"loss\":0.9}}"));
    CHECK(tell(t, "{\"event\":\"epoch\",\"epoch\":1,\"epochs\":2,\"metrics\":{\"loss\":0.5}}"));
    CHECK(tell(t, "{\"event\":\"evaluate\",\"metrics\":{\"loss\":0.7}}"));
    CHECK(!tell(t, "{\"event\":\"something\"}"));
    AUTO_JSON *data = training_bundle(t);
    const cJSON *p = json_get(data, kind);
    CHECK_STR(json_str(data, "text/plain"),
        "epoch 1/2 - 10/10 - loss: 0.5000 - evaluated - loss: 0.7000");
    CHECK_NEAR(json_path(p, "metrics.loss")->valuedouble, 0.5, 1e-9);
    CHECK_NEAR(json_path(p, "evaluated.loss")->valuedouble, 0.7, 1e-9);
    CHECK_NEAR(json_path(p, "elapsed")->valuedouble, 1.5, 1e-9);
    CHECK_INT(json_int_or(p, "done", 0), 10);
    CHECK_NEAR(json_get(training_metrics(t), "loss")->valuedouble, 0.7, 1e-9); // the last of all
    training_free(t);
}

TEST(a_long_history_is_told_in_part)
{
    training *t = training_new();
    for (int i = 1; i <= 1000; i++) {
        AUTO_BUF event = {0};
        buf_fmt(&event, "{\"event\":\"epoch\",\"epoch\":%d,\"epochs\":1000,\"metrics\":{}}", i);
        CHECK(tell(t, buf_cstr(&event)));
    }
    AUTO_JSON *data = training_bundle(t);
    const cJSON *history = json_get(json_get(data, kind), "history");
    int n = cJSON_GetArraySize(history);
    CHECK(n > 200 && n <= 301);
    CHECK_INT(json_int_or(cJSON_GetArrayItem(history, 0), "epoch", 0), 1);
    CHECK_INT(json_int_or(cJSON_GetArrayItem(history, n - 1), "epoch", 0), 1000);
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 1000);
    training_free(t);
}

TEST(marked_lines_are_events_and_others_are_not)
{
    static const struct {
        const char *line;
        bool marked;
    } lines[] = {{"@firesteel {\"event\":\"epoch\"}", true},
        {"driver | @firesteel {\"event\":\"epoch\"}", true},
        {"he said @firesteel {\"event\":\"epoch\"}", false}, {"@firesteel {\"event\":", false},
        {"@firesteel {\"other\":1}", false}, {"@firesteel", false}, {"", false}};
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        AUTO_JSON *event = training_line(lines[i].line, strlen(lines[i].line));
        CHECK_INT(event != NULL, lines[i].marked);
    }
}

int main(void)
{
    return tap_run();
}
