// SPDX-License-Identifier: MIT
// What a program prints under spark-submit, with any bytes in pieces of any size: no byte is lost
// or changed by the lines, what is folded does not depend on the pieces, and Keras's lines and the
// cause of a failure are read without harm. The input: a byte with the size of the pieces, the
// bytes.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/text/cause.h"
#include "script/api/spark/lines.h"
#include "script/api/trainer/training.h"
#include "tests/fuzz/fuzz.h"

#include <string.h>

struct heard {
    buf all, shown;
    training *training;
    int lines;
};

static void on_line(void *arg, const struct spark_line *line)
{
    struct heard *h = arg;
    buf_add(&h->all, line->text, line->n);
    if (!line->folded)
        buf_add(&h->shown, line->text, line->n);
    free(spark_application_id(line->text, line->n));
    free(spark_driver_id(line->text, line->n));
    if (h->training)
        training_read(h->training, line->text, line->n, h->lines++);
}

static void hear(struct heard *h, const char *bytes, size_t n, size_t piece)
{
    struct spark_lines s = {0};
    for (size_t at = 0; at < n; at += piece)
        spark_lines_feed(&s, bytes + at, n - at < piece ? n - at : piece, on_line, h);
    spark_lines_end(&s, on_line, h);
    spark_lines_done(&s);
    if (h->all.len != n || (n && memcmp(h->all.data, bytes, n) != 0))
        abort();
}

static void check_training(const struct heard *h)
{
    AUTO_JSON *data = training_bundle(h->training);
    if (cJSON_GetArraySize(training_history(h->training)) > h->lines ||
        !json_str(data, "text/plain"))
        abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n)
{
    const char *bytes = (const char *)data + (n > 0);
    size_t piece = n ? 1 + (size_t)data[0] : 1, rest = n ? n - 1 : 0;
    struct heard once = {.training = training_new()}, parts = {0};
    hear(&once, bytes, rest, rest ? rest : 1);
    hear(&parts, bytes, rest, piece);
    if (!str_eq(buf_cstr(&once.shown), buf_cstr(&parts.shown)))
        abort();
    check_training(&once);
    AUTO_BUF cause = {0};
    spark_cause(buf_cstr(&once.all), &cause);
    training_free(once.training);
    buf_done(&once.all);
    buf_done(&once.shown);
    buf_done(&parts.all);
    buf_done(&parts.shown);
    return 0;
}
