// SPDX-License-Identifier: MIT
// What scripts of others print while they train, as it was recorded of tqdm 4.67, Lightning 2.5,
// Keras 3 with PyTorch, and Python's print, json and logging (tests/unit/kernel/printed).
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/trainer/training.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>

static int said[3];

// The file's lines, as a launcher hands them over: a return ends one, too.
static training *hear(const char *name)
{
    AUTO_BUF text = {0};
    err e = {0};
    AUTO_FREE char *path =
        str_fmt("%s/tests/unit/kernel/printed/%s.txt", getenv("FIRESTEEL_SOURCE"), name);
    training *t = training_new();
    memset(said, 0, sizeof said);
    if (path_read(path, &text, 1 << 20, &e))
        tap_fail(__FILE__, __LINE__, "%s", e.text);
    const char *at = buf_cstr(&text);
    for (int i = 0; *at; i++) {
        size_t n = strcspn(at, "\r\n");
        said[training_read_script(t, at, n, i)]++;
        at += n + (at[n] != '\0');
    }
    return t;
}

// "1 loss 0.5 | 2 loss 0.25", names in the order in which they were told.
static void series(const training *t, buf *out)
{
    const cJSON *epoch, *m;
    cJSON_ArrayForEach(epoch, training_history(t))
    {
        buf_fmt(out, "%s%lld", out->len ? " | " : "", (long long)json_int_or(epoch, "epoch", -1));
        cJSON_ArrayForEach(m, json_get(epoch, "metrics"))
        {
            if (cJSON_IsString(m))
                buf_fmt(out, " %s %s", m->string, m->valuestring);
            else
                buf_fmt(out, " %s %g", m->string, m->valuedouble);
        }
    }
}

static void check(const char *name, const char *history, const char *metric, const char *value)
{
    AUTO_BUF got = {0};
    training *t = hear(name);
    series(t, &got);
    CHECK_STR(buf_cstr(&got), history);
    const cJSON *m = json_get(training_metrics(t), metric);
    AUTO_FREE char *text = m ? json_to_str(m) : mem_strdup("none");
    CHECK_STR(text, value);
    training_free(t);
}

TEST(names_with_numbers)
{
    check("pairs",
        "1 loss 0.5 lr 0.001 val_loss 0.55 val_acc 91 | 2 loss 0.3333 lr 0.001 val_loss 0.3667 "
        "val_acc 92",
        "test_f1", "\"nan\"");
    CHECK_INT(said[SAID_MORE], 7);
}

TEST(names_with_numbers_of_a_logger)
{
    check("logging", "1 train/loss 0.5 val/acc 0.91 | 2 train/loss 0.3333 val/acc 0.92", "val/acc",
        "0.92");
}

TEST(steps_where_no_epochs_are_told)
{
    check("steps", "50 loss 0.6667 | 100 loss 0.5 | 150 loss 0.4 | 200 loss 0.3333", "loss",
        "0.3333");
    training *t = hear("steps");
    AUTO_JSON *data = training_bundle(t);
    CHECK_STR(json_str(data, "text/plain"), "step 200 - loss: 0.3333");
    training_free(t);
}

TEST(objects_in_json)
{
    check("json", "1 loss 0.5 val_acc 0.91 | 2 loss 0.3333 val_acc 0.92", "test_accuracy", "0.97");
}

TEST(dicts_of_python)
{
    check("dict",
        "1 loss 0.5 grad_norm 1.5 learning_rate 5e-05 | 2 loss 0.3333 grad_norm 1.5 learning_rate "
        "5e-05 train_runtime 2.5 train_samples_per_second 80 train_loss 0.45",
        "train_loss", "0.45");
}

TEST(bars_of_tqdm)
{
    check("tqdm", "1 acc 0.475 loss 0.05 | 2 acc 0.475 loss 0.0476", "loss", "0.0476");
    CHECK_INT(said[SAID_MORE], 0); // bars pass: the display shows them
}

TEST(bars_and_table_of_lightning)
{
    check("lightning",
        "0 train_loss_step 0.391 val_loss 0.45 val_acc 0.872 train_loss_epoch 0.553 train_acc "
        "0.738 | 1 train_loss_step 0.308 val_loss 0.361 val_acc 0.95 train_loss_epoch 0.406 "
        "train_acc 0.913",
        "test_acc", "0.949999988079071");
}

TEST(bars_of_keras_with_pytorch)
{
    training *t = hear("keras");
    CHECK_INT(cJSON_GetArraySize(training_history(t)), 2);
    CHECK(json_get(training_metrics(t), "val_loss") != NULL);
    training_free(t);
}

TEST(ordinary_lines_tell_nothing)
{
    check("ordinary", "", "x", "none");
    CHECK_INT(said[SAID_MORE] + said[SAID_PASSING], 0);
    training *t = hear("ordinary");
    CHECK(!training_is_told(t));
    training_free(t);
}

// A program of ours, or Spark's log, is not searched for them.
TEST(they_are_read_of_scripts_alone)
{
    training *t = training_new();
    static const char line[] = "epoch=1 loss=0.5";
    CHECK_INT(training_read(t, line, strlen(line), 0), SAID_NOTHING);
    CHECK_INT(training_read_script(t, line, strlen(line), 0), SAID_MORE);
    static const char other[] = "[1]<stdout>:epoch=2 loss=0.4";
    CHECK_INT(training_read_script(t, other, strlen(other), 0), SAID_NOTHING);
    training_free(t);
}

int main(void)
{
    return tap_run();
}
