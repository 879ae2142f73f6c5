// SPDX-License-Identifier: MIT
// A trainer's reports, as a progress display and as marked lines of a log.
#include "base/mem.h"
#include "script/api/trainer/training.h"
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
    for (int i = 0; i < 50; i++) // who looks now and then misses none
        CHECK_INT(json_int_or(cJSON_GetArrayItem(history, n - 1 - i), "epoch", 0), 1000 - i);
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

// Lines of a program that trains, as TensorFlow 2.12 (Keras 2), Keras 3 and Horovod print them.
struct said {
    const char *line;
    enum training_said said;
};

static training *hear(const struct said *lines, size_t n)
{
    training *t = training_new();
    for (size_t i = 0; i < n; i++) {
        enum training_said said =
            training_read(t, lines[i].line, strlen(lines[i].line), 10 + (double)i);
        if (said != lines[i].said)
            tap_fail(__FILE__, __LINE__, "%s: %d", lines[i].line, said);
    }
    return t;
}

static double metric(const cJSON *of, const char *name)
{
    const cJSON *number = json_get(of, name);
    return number ? number->valuedouble : -1;
}

static double past(const training *t, int epoch, const char *name)
{
    return metric(json_get(cJSON_GetArrayItem(training_history(t), epoch), "metrics"), name);
}

// Our trainer prints an epoch for people, too, behind the event that has all of its digits.
TEST(what_is_told_by_marked_lines_is_not_read_again)
{
    static const char event[] =
        "@firesteel "
        "{\"event\":\"epoch\",\"epoch\":1,\"epochs\":1,\"metrics\":{\"loss\":0.36029831}}";
    static const char *const lines[] = {event, "Epoch 1/1", "600/600 - 2s - loss: 0.3603"};
    training *t = training_new();
    CHECK_INT(training_read(t, lines[0], strlen(lines[0]), 10), SAID_PASSING);
    CHECK_INT(training_read(t, lines[1], strlen(lines[1]), 11), SAID_NOTHING);
    CHECK_INT(training_read(t, lines[2], strlen(lines[2]), 12), SAID_NOTHING);
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 1);
    CHECK_NEAR(metric(training_metrics(t), "loss"), 0.36029831, 0);
    training_free(t);
}

TEST(keras_2_with_a_bar)
{
    static const struct said lines[] = {
        {"Downloading data", SAID_NOTHING},
        {"Epoch 1/2", SAID_MORE},
        {"  1/600 [..............................] - ETA: 5:10 - loss: 2.4 - accuracy: 0.1",
            SAID_PASSING},
        {"300/600 [=============>................] - ETA: 1s - loss: 0.9 - accuracy: 0.5",
            SAID_PASSING},
        {"600/600 [==============================] - ETA: 0s - loss: 0.5 - accuracy: 0.8",
            SAID_PASSING},
        {"600/600 [==============================] - 2s 3ms/step - loss: 0.4 - accuracy: 0.9 - "
         "val_loss: 0.2 - val_accuracy: 0.95 - lr: 0.0010",
            SAID_MORE},
        {"Epoch 2: finished gradual learning rate warmup to 0.002.", SAID_NOTHING},
        {"Epoch 2/2", SAID_MORE},
        {"600/600 [==============================] - 2s 3ms/step - loss: 3.0e-1 - accuracy: 0.92",
            SAID_MORE},
        {" 1/313 [..............................] - ETA: 3s", SAID_PASSING},
        {"313/313 [==============================] - 0s 1ms/step - loss: 0.25 - accuracy: 0.93",
            SAID_MORE},
        {"1/1 [==============================] - 0s 52ms/step", SAID_NOTHING},
        {"600/600 of them are done", SAID_NOTHING},
        {"12/24 - it is noon", SAID_NOTHING},
    };
    training *t = hear(lines, ARRAY_LEN(lines));
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 2);
    CHECK_NEAR(past(t, 0, "val_accuracy"), 0.95, 1e-9);
    CHECK_NEAR(past(t, 0, "lr"), 0.001, 1e-9);
    CHECK_NEAR(past(t, 1, "loss"), 0.3, 1e-9);
    CHECK_NEAR(metric(training_metrics(t), "loss"), 0.25, 1e-9);
    AUTO_JSON *data = training_bundle(t);
    const cJSON *p = json_get(data, kind);
    CHECK_INT(json_int_or(p, "epoch", 0), 2);
    CHECK_INT(json_int_or(p, "total", 0), 600);
    CHECK_NEAR(json_get(p, "elapsed")->valuedouble, 7, 1e-9); // from the first epoch on
    training_free(t);
}

TEST(keras_2_with_a_line_an_epoch_under_horovod)
{
    static const struct said lines[] = {
        {"[1,0]<stdout>:Epoch 1/5", SAID_MORE},
        {"[1,1]<stdout>:Epoch 3/5", SAID_NOTHING}, // of another rank
        {"[1,0]<stdout>:938/938 - 2s - loss: 0.3325 - accuracy: 0.9046 - val_loss: 0.1697 - "
         "val_accuracy: 0.9500 - lr: 0.0010 - 2s/epoch - 2ms/step",
            SAID_MORE},
        {"Sun Nov 22 11:00:00 2026[0]<stdout>:Epoch 2/5", SAID_MORE},
        {"Sun Nov 22 11:00:02 2026[0]<stdout>:938/938 - 2s - loss: 0.2 - accuracy: 0.94",
            SAID_MORE},
        {"313/313 - 0s - loss: 0.1697 - accuracy: 0.9500 - 254ms/epoch - 811us/step", SAID_MORE},
        {"mnist-driver | 313/313 - 0s - loss: 0.1 - accuracy: 0.96", SAID_MORE},
        {"Model prediction for index 100: 6", SAID_NOTHING},
    };
    training *t = hear(lines, ARRAY_LEN(lines));
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 2);
    CHECK_NEAR(past(t, 0, "val_accuracy"), 0.95, 1e-9);
    CHECK_NEAR(metric(training_metrics(t), "accuracy"), 0.96, 1e-9);
    training_free(t);
}

// A driver's log when horovod.spark.run is given stdout=sys.stdout: Spark's lines are between.
TEST(ranks_in_executors_are_read_from_the_driver_s_log)
{
    static const struct said lines[] = {
        {"[0]<stdout>:Epoch 1/2", SAID_MORE},
        {"[0]<stdout>:469/469 - 28s - loss: 0.3604 - accuracy: 0.9001 - val_loss: 0.1844 - "
         "val_accuracy: 0.9479 - lr: 0.0013 - 28s/epoch - 60ms/step",
            SAID_MORE},
        {"[1]<stderr>:WARNING:tensorflow:Callback method `on_train_batch_end` is slow compared to "
         "the batch time (batch time: 0.0273s vs `on_train_batch_end` time: 0.1166s).",
            SAID_NOTHING},
        {"[0]<stdout>:Epoch 2/2", SAID_MORE},
        {"[0]<stdout>:469/469 - 10s - loss: 0.1524 - accuracy: 0.9567 - val_loss: 0.1243 - "
         "val_accuracy: 0.9640 - lr: 0.0017 - 10s/epoch - 21ms/step",
            SAID_MORE},
        {"26/11/23 00:03:08 INFO TaskSetManager: Finished task 1.0 in stage 0.0 (TID 1) in 131785 "
         "ms on 127.0.0.1 (executor 1) (1/2)",
            SAID_NOTHING},
        {"313/313 - 3s - loss: 0.1243 - accuracy: 0.9640 - 3s/epoch - 9ms/step", SAID_MORE},
    };
    training *t = hear(lines, ARRAY_LEN(lines));
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 2);
    CHECK_NEAR(past(t, 1, "val_accuracy"), 0.964, 1e-9);
    training_free(t);
}

TEST(keras_announces_no_epoch_when_there_is_one)
{
    static const struct said lines[] = {
        {"[0]<stdout>:938/938 - 19s - loss: 0.2959 - accuracy: 0.9175 - val_loss: 0.1564 - "
         "val_accuracy: 0.9546 - lr: 0.0010 - 19s/epoch - 20ms/step",
            SAID_MORE},
        {"313/313 - 3s - loss: 0.1564 - accuracy: 0.9546 - 3s/epoch - 8ms/step", SAID_MORE},
    };
    training *t = hear(lines, ARRAY_LEN(lines));
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 1);
    CHECK_NEAR(past(t, 0, "accuracy"), 0.9175, 1e-9);
    CHECK_NEAR(metric(training_metrics(t), "accuracy"), 0.9546, 1e-9);
    training_free(t);
}

TEST(keras_3_tells_the_end_of_an_epoch_twice)
{
    static const struct said lines[] = {
        {"Epoch 1/1", SAID_MORE},
        {"\033[1m 1/10\033[0m \033[37m\xe2\x94\x81\xe2\x94\x81\033[0m \033[1m9s\033[0m 1s/step - "
         "accuracy: 0.1 - loss: 2.3",
            SAID_PASSING},
        {"\r\033[1m10/10\033[0m \033[32m\xe2\x94\x81\xe2\x94\x81\033[0m\033[37m\033[0m "
         "\033[1m1s\033[0m 9ms/step - accuracy: 0.8 - loss: 0.5\r",
            SAID_MORE},
        {"10/10 \xe2\x94\x81\xe2\x94\x81 1s 9ms/step - accuracy: 0.8 - loss: 0.5 - val_loss: 0.4",
            SAID_MORE},
        {"1/10 \xe2\x94\x81\xe2\x94\x81 0s 9ms/step - accuracy: 0.7 - loss: 0.7", SAID_PASSING},
        {"10/10 \xe2\x94\x81\xe2\x94\x81 0s 9ms/step - accuracy: 0.9 - loss: 0.3", SAID_MORE},
    };
    training *t = hear(lines, ARRAY_LEN(lines));
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 1);
    CHECK_NEAR(past(t, 0, "val_loss"), 0.4, 1e-9);
    CHECK_NEAR(metric(training_metrics(t), "accuracy"), 0.9, 1e-9);
    training_free(t);
}

int main(void)
{
    return tap_run();
}
