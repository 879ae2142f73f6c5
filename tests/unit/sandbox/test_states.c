// SPDX-License-Identifier: MIT
// The sandbox plays operators and shares no code with the client, so it has their states a second
// time. Here they are held against the client's table of kinds.
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/state.h"
#include "k8s/sandbox/spark/sparkstate.h"
#include "tests/support/tap.h"

#include "base/str.h"

static cJSON *app_in(const char *word)
{
    cJSON *app = cJSON_CreateObject();
    json_set_str(app, "apiVersion", "sparkoperator.k8s.io/v1beta2");
    json_set_str(app, "kind", "SparkApplication");
    json_set_str(json_object_at(json_object_at(app, "status"), "applicationState"), "state", word);
    return app;
}

TEST(states_of_applications_are_those_of_the_table)
{
    for (int s = SPARK_SUBMITTED; s <= SPARK_UNKNOWN; s++) {
        const char *word = spark_state_text((enum spark_state)s);
        AUTO_JSON *app = app_in(word), *other = app_in("");
        struct state told = state_of(app);
        CHECK_STR(told.text, word);
        CHECK_INT(told.outcome != OUTCOME_OPEN, spark_is_terminal((enum spark_state)s));
        CHECK(state_exists(other, word)); // one may wait for it
    }
    AUTO_JSON *done = app_in(spark_state_text(SPARK_COMPLETED));
    CHECK_INT(state_of(done).outcome, OUTCOME_GOOD);
}

int main(void)
{
    return tap_run();
}
