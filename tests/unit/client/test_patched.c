// SPDX-License-Identifier: MIT
// Which fields of the answer a patch has set: of each kind of patch, in maps and in lists.
#include "k8s/manifest/patched.h"
#include "tests/support/tap.h"

#include <string.h>

static const char pod[] =
    "{\"metadata\":{\"finalizers\":[\"a\",\"b\"],\"labels\":{\"x.org/tier\":\"1\"}},"
    "\"spec\":{\"strategy\":{\"type\":\"Recreate\"},\"tolerations\":[{\"key\":\"a\"},{\"key\":"
    "\"b\"}],"
    "\"containers\":[{\"name\":\"side\"},{\"name\":\"main\",\"image\":\"i\","
    "\"env\":[{\"name\":\"A\",\"value\":\"1\"},{\"name\":\"B\",\"value\":\"2\"}],"
    "\"envFrom\":[{\"prefix\":\"p\"}],"
    "\"ports\":[{\"name\":\"web\",\"containerPort\":80},{\"name\":\"web\",\"containerPort\":81}],"
    "\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/a\"},"
    "{\"name\":\"data\",\"mountPath\":\"/b\"}]}]}}";

static void check_fields(const char *type, const char *patch, const char *expected)
{
    AUTO_JSON *made = json_parse(pod, strlen(pod), NULL);
    AUTO_JSON *p = json_parse(patch, strlen(patch), NULL);
    AUTO_JSON *fields = patched_fields(type, p, made);
    AUTO_BUF text = {0};
    const cJSON *field;
    CHECK(made && p);
    cJSON_ArrayForEach(field, fields)
    {
        buf_fmt(&text, "%s%s", text.len ? " " : "", field->valuestring);
    }
    CHECK_STR(buf_cstr(&text), expected);
}

// A strategic patch of the container "main".
static void check_main(const char *members, const char *expected)
{
    AUTO_BUF patch = {0};
    buf_fmt(&patch, "{\"spec\":{\"containers\":[{\"name\":\"main\",%s}]}}", members);
    check_fields("strategic", buf_cstr(&patch), expected);
}

#define MAIN "/spec/containers/1"

TEST(a_merge_patch_sets_its_leaves_and_whole_lists)
{
    check_fields("merge", "{\"metadata\":{\"labels\":{\"x.org/tier\":\"1\",\"old\":null}}}",
        "/metadata/labels/x.org~1tier /metadata/labels/old");
    check_fields("merge", "{\"spec\":{\"containers\":[{\"name\":\"main\"}]}}", "/spec/containers");
}

TEST(items_of_a_strategic_patch_are_found_by_their_key)
{
    check_main("\"image\":\"i\"", MAIN "/name " MAIN "/image");
    check_main("\"env\":[{\"name\":\"B\",\"value\":\"2\"}]",
        MAIN "/name " MAIN "/env/1/name " MAIN "/env/1/value");
    check_main("\"volumeMounts\":[{\"name\":\"data\",\"mountPath\":\"/b\"}]",
        MAIN "/name " MAIN "/volumeMounts/1/name " MAIN "/volumeMounts/1/mountPath");
    check_main("\"ports\":[{\"name\":\"web\",\"containerPort\":81}]",
        MAIN "/name " MAIN "/ports/1/name " MAIN "/ports/1/containerPort");
}

TEST(a_list_counts_as_a_whole_where_items_are_not_known)
{
    check_main("\"envFrom\":[{\"prefix\":\"p\"}]", MAIN "/name " MAIN "/envFrom");
    check_main("\"env\":[{\"name\":\"C\",\"$patch\":\"delete\"}]", MAIN "/name " MAIN "/env");
    check_main("\"env\":[{\"$patch\":\"replace\"},{\"name\":\"A\"}]", MAIN "/name " MAIN "/env");
    check_main("\"env\":[]", MAIN "/name " MAIN "/env");
    check_fields(
        "strategic", "{\"spec\":{\"tolerations\":[{\"key\":\"a\"}]}}", "/spec/tolerations");
    check_fields("strategic", "{\"metadata\":{\"finalizers\":[\"b\"]}}", "/metadata/finalizers");
}

TEST(directives_of_a_strategic_patch_name_what_they_change)
{
    check_fields("strategic",
        "{\"spec\":{\"strategy\":{\"$retainKeys\":[\"type\"],\"type\":\"Recreate\"}}}",
        "/spec/strategy");
    check_fields(
        "strategic", "{\"metadata\":{\"labels\":{\"$patch\":\"delete\"}}}", "/metadata/labels");
    check_fields("strategic", "{\"metadata\":{\"$deleteFromPrimitiveList/finalizers\":[\"c\"]}}",
        "/metadata/finalizers");
    check_fields(
        "strategic", "{\"spec\":{\"$setElementOrder/containers\":[{\"name\":\"side\"}]}}", "");
}

TEST(a_json_patch_sets_places_and_lists_whose_items_move)
{
    check_fields("json",
        "[{\"op\":\"test\",\"path\":\"/spec\"},"
        "{\"op\":\"replace\",\"path\":\"/spec/containers/1/env/0/value\",\"value\":\"1\"},"
        "{\"op\":\"replace\",\"path\":\"/spec/containers/1/env/0\",\"value\":{}}]",
        MAIN "/env/0/value " MAIN "/env/0");
    check_fields(
        "json", "[{\"op\":\"remove\",\"path\":\"/spec/containers/1/env/0\"}]", MAIN "/env");
    check_fields("json", "[{\"op\":\"add\",\"path\":\"/metadata/finalizers/-\",\"value\":\"b\"}]",
        "/metadata/finalizers");
    check_fields("json",
        "[{\"op\":\"move\",\"from\":\"/metadata/labels/a\",\"path\":\"/metadata/labels/b\"}]",
        "/metadata/labels/b /metadata/labels/a");
}

int main(void)
{
    return tap_run();
}
