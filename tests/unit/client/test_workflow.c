// SPDX-License-Identifier: MIT
// Steps of a Workflow that Argo has compressed: read as those that it has not; what is no gzip, no
// JSON or without an end is an error, and leaves the object as it was.
#include "base/str.h"
#include "k8s/client/state/workflow.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>
#include <zlib.h>

// status.compressedNodes of a text, in a new object.
static cJSON *packed(const char *text, size_t n)
{
    AUTO_BUF gzip = {0}, base64 = {0};
    z_stream s = {0};
    deflateInit2(&s, 9, Z_DEFLATED, 16 + MAX_WBITS, 8, Z_DEFAULT_STRATEGY);
    buf_reserve(&gzip, deflateBound(&s, n));
    s.next_in = (Bytef *)text;
    s.avail_in = (uInt)n;
    s.next_out = (Bytef *)gzip.data;
    s.avail_out = (uInt)deflateBound(&s, n);
    CHECK_INT(deflate(&s, Z_FINISH), Z_STREAM_END);
    base64_encode(&base64, gzip.data, s.total_out);
    deflateEnd(&s);
    cJSON *object = cJSON_CreateObject();
    json_set_str(object, "apiVersion", "argoproj.io/v1alpha1");
    json_set_str(json_object_at(object, "metadata"), "name", "nightly");
    json_set_str(json_object_at(object, "status"), "compressedNodes", buf_cstr(&base64));
    return object;
}

TEST(steps_are_unpacked)
{
    const char *text = "{\"a\":{\"phase\":\"Running\"},\"b\":{\"phase\":\"Pending\"}}";
    AUTO_JSON *object = packed(text, strlen(text));
    err e = {0};
    CHECK_INT(workflow_unpack(object, &e), 0);
    CHECK_STR(json_path_str(object, "status.nodes.b.phase"), "Pending");
    CHECK(!json_path(object, "status.compressedNodes"));
    CHECK_INT(workflow_unpack(object, &e), 0); // nothing to do
}

TEST(only_argos_objects_are_unpacked)
{
    err e = {0};
    AUTO_JSON *object = packed("{}", 2);
    json_set_str(object, "apiVersion", "example.com/v1");
    CHECK_INT(workflow_unpack(object, &e), 0);
    CHECK(json_path(object, "status.compressedNodes"));
    cJSON_DeleteItemFromObjectCaseSensitive(object, "apiVersion");
    CHECK_INT(workflow_unpack(object, &e), 0);
    CHECK(json_path(object, "status.nodes"));
}

static void check_bad(cJSON *object, const char *why)
{
    err e = {0};
    AUTO_JSON *before = cJSON_Duplicate(object, true);
    CHECK_INT(workflow_unpack(object, &e), -1);
    CHECK(strstr(e.text, why));
    CHECK(json_equal(object, before));
    cJSON_Delete(object);
}

TEST(what_is_damaged_is_an_error)
{
    const char *text = "{\"a\":{\"phase\":\"Running\"}}";
    cJSON *cut = packed(text, strlen(text));
    char *base64 = cJSON_GetStringValue(json_path(cut, "status.compressedNodes"));
    base64[strlen(base64) / 8 * 4] = '\0';
    check_bad(cut, "nightly, which has its steps, is no gzip");
    cJSON *words = packed(text, strlen(text));
    json_set_str((cJSON *)json_get(words, "status"), "compressedNodes", "no base64!");
    check_bad(words, "is no gzip in base64");
    check_bad(packed("[1,2]", 5), "holds no object");
    check_bad(packed("{\"a\":", 5), "status.compressedNodes: ");
}

TEST(what_never_ends_is_an_error)
{
    size_t n = (32 << 20) + 1;
    char *zeros = calloc(1, n);
    check_bad(packed(zeros, n), "is no gzip");
    free(zeros);
}

int main(void)
{
    return tap_run();
}
