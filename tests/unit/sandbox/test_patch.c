// SPDX-License-Identifier: MIT
// Patches, sets of fields, and server-side apply.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/fieldset.h"
#include "k8s/sandbox/api/objects/managed.h"
#include "k8s/sandbox/api/objects/patch.h"
#include "tests/support/tap.h"

#include <stdlib.h>

// JSON in these tests is written with ' for ".
static cJSON *parse(const char *text)
{
    err e = {0};
    AUTO_FREE char *copy = mem_strdup(text);
    for (char *p = copy; *p; p++)
        *p = *p == '\'' ? '"' : *p;
    cJSON *o = json_parse(copy, strlen(copy), &e);
    CHECK_OK(o, e);
    return o;
}

static void check_json(cJSON *got, const char *want)
{
    AUTO_BUF a = {0}, b = {0};
    AUTO_JSON *wanted = parse(want);
    json_print_canonical(&a, got);
    json_print_canonical(&b, wanted);
    cJSON_Delete(got);
    CHECK_STR(buf_cstr(&a), buf_cstr(&b));
}

static void check_merge(const char *object, const char *patch, const char *want)
{
    AUTO_JSON *o = parse(object), *p = parse(patch);
    check_json(patch_merge(o, p), want);
}

// The examples of RFC 7386, appendix A, that are objects.
TEST(merge_patch)
{
    check_merge("{'a': 'b'}", "{'a': 'c'}", "{'a': 'c'}");
    check_merge("{'a': 'b'}", "{'b': 'c'}", "{'a': 'b', 'b': 'c'}");
    check_merge("{'a': 'b', 'b': 'c'}", "{'a': null}", "{'b': 'c'}");
    check_merge("{'a': ['b']}", "{'a': 'c'}", "{'a': 'c'}");
    check_merge("{'a': {'b': 'c'}}", "{'a': {'b': 'd', 'c': null}}", "{'a': {'b': 'd'}}");
    check_merge("{'a': [{'b': 'c'}]}", "{'a': [1]}", "{'a': [1]}");
    check_merge("{'e': null}", "{'a': 1}", "{'e': null, 'a': 1}");
    check_merge("{}", "{'a': {'bb': {'ccc': null}}}", "{'a': {'bb': {}}}");
}

static cJSON *json_patched(const char *object, const char *patch, err *e)
{
    AUTO_JSON *o = parse(object), *p = parse(patch);
    return patch_json(o, p, e);
}

// Examples of RFC 6902, appendix A, and pointers of RFC 6901.
TEST(json_patch)
{
    static const struct {
        const char *object, *patch, *want;
    } cases[] = {
        {"{'foo': 'bar'}", "[{'op': 'add', 'path': '/baz', 'value': 'qux'}]",
            "{'baz': 'qux', 'foo': 'bar'}"},
        {"{'foo': ['bar', 'baz']}", "[{'op': 'add', 'path': '/foo/1', 'value': 'qux'}]",
            "{'foo': ['bar', 'qux', 'baz']}"},
        {"{'foo': ['bar']}", "[{'op': 'add', 'path': '/foo/-', 'value': ['abc']}]",
            "{'foo': ['bar', ['abc']]}"},
        {"{'foo': ['bar', 'qux', 'baz']}", "[{'op': 'remove', 'path': '/foo/1'}]",
            "{'foo': ['bar', 'baz']}"},
        {"{'a': [1, 2]}", "[{'op': 'replace', 'path': '/a/0', 'value': 3}]", "{'a': [3, 2]}"},
        {"{'foo': {'bar': 'baz', 'waldo': 'fred'}, 'qux': {}}",
            "[{'op': 'move', 'from': '/foo/waldo', 'path': '/qux/thud'}]",
            "{'foo': {'bar': 'baz'}, 'qux': {'thud': 'fred'}}"},
        {"{'a': {'b': 1}}", "[{'op': 'copy', 'from': '/a', 'path': '/c'}]",
            "{'a': {'b': 1}, 'c': {'b': 1}}"},
        {"{'a/b': 1, 'm~n': 2}",
            "[{'op': 'test', 'path': '/a~1b', 'value': 1}, {'op': 'remove', 'path': '/m~0n'}]",
            "{'a/b': 1}"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        cJSON *got = json_patched(cases[i].object, cases[i].patch, &e);
        CHECK_OK(got, e);
        check_json(got, cases[i].want);
    }
}

TEST(json_patch_refuses)
{
    static const struct {
        const char *patch;
        err_code code;
        const char *says;
    } cases[] = {
        {"[{'op': 'remove', 'path': '/x'}]", ERR_INVALID, "doc is missing path: /x"},
        {"[{'op': 'replace', 'path': '/a/5', 'value': 1}]", ERR_INVALID, "missing path: /a/5"},
        {"[{'op': 'add', 'path': '/a/9', 'value': 1}]", ERR_INVALID, "missing path: /a/9"},
        {"[{'op': 'add', 'path': '/a/01', 'value': 1}]", ERR_INVALID, "missing path: /a/01"},
        {"[{'op': 'test', 'path': '/a/0', 'value': 7}]", ERR_INVALID, "testing value /a/0 failed"},
        {"[{'op': 'jump', 'path': '/a'}]", ERR_INVALID, "unexpected operation: jump"},
        {"[{'op': 'add', 'path': '/b'}]", ERR_USAGE, "without path, value or from"},
        {"{'a': 1}", ERR_USAGE, "a JSON patch is a list"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        AUTO_JSON *got = json_patched("{'a': [1, 2]}", cases[i].patch, &e);
        CHECK(!got);
        CHECK_INT(e.code, cases[i].code);
        CHECK_HAS(e.text, cases[i].says);
    }
}

static void check_strategic(const char *spec, const char *patch, const char *want)
{
    err e = {0};
    AUTO_JSON *o = cJSON_CreateObject(), *p = cJSON_CreateObject();
    json_set(o, "spec", parse(spec));
    json_set(p, "spec", parse(patch));
    AUTO_JSON *got = patch_strategic(KIND(PODS), o, p, &e);
    CHECK_OK(got, e);
    check_json(cJSON_DetachItemFromObjectCaseSensitive(got, "spec"), want);
}

TEST(strategic_merge_patch)
{
    const char *two = "{'containers': [{'name': 'a', 'image': '1'}, {'name': 'b', 'image': '2'}]}";
    check_strategic(two, "{'containers': [{'name': 'b', 'image': '3'}]}",
        "{'containers': [{'name': 'a', 'image': '1'}, {'name': 'b', 'image': '3'}]}");
    check_strategic(two, "{'containers': [{'name': 'c', 'image': '3'}]}",
        "{'containers': [{'name': 'a', 'image': '1'}, {'name': 'b', 'image': '2'}, {'name': 'c', "
        "'image': '3'}]}");
    check_strategic(two, "{'containers': [{'$patch': 'delete', 'name': 'a'}]}",
        "{'containers': [{'name': 'b', 'image': '2'}]}");
    check_strategic(two, "{'containers': [{'name': 'x'}, {'$patch': 'replace'}]}",
        "{'containers': [{'name': 'x'}]}");
    check_strategic(two,
        "{'$setElementOrder/containers': [{'name': 'c'}, {'name': 'a'}], 'containers': [{'name': "
        "'c'}]}",
        "{'containers': [{'name': 'c'}, {'name': 'a', 'image': '1'}, {'name': 'b', 'image': "
        "'2'}]}");
    check_strategic("{'nodeSelector': {'a': '1', 'b': '2'}}", "{'nodeSelector': {'a': null}}",
        "{'nodeSelector': {'b': '2'}}");
    check_strategic("{'nodeSelector': {'a': '1'}}",
        "{'nodeSelector': {'$patch': 'replace', 'b': '2'}}", "{'nodeSelector': {'b': '2'}}");
    check_strategic("{'containers': [{'name': 'a', 'args': ['x', 'y']}]}",
        "{'containers': [{'name': 'a', 'args': ['z']}]}",
        "{'containers': [{'name': 'a', 'args': ['z']}]}"); // an atomic list
    check_strategic("{'volumes': [{'name': 'v', 'emptyDir': {}}]}",
        "{'volumes': [{'$retainKeys': ['name', 'hostPath'], 'name': 'v', 'hostPath': {'path': "
        "'/'}}]}",
        "{'volumes': [{'name': 'v', 'hostPath': {'path': '/'}}]}");
}

TEST(strategic_merge_patch_reorders)
{
    check_strategic("{'containers': [{'name': 'a'}, {'name': 's'}, {'name': 'b'}]}",
        "{'$setElementOrder/containers': [{'name': 'b'}, {'name': 'a'}, {'name': 'gone'}]}",
        "{'containers': [{'name': 's'}, {'name': 'b'}, {'name': 'a'}]}");
}

TEST(strategic_merge_patch_needs_its_keys)
{
    err e = {0};
    AUTO_JSON *o = parse("{'spec': {'containers': [{'name': 'a'}]}}");
    AUTO_JSON *p = parse("{'spec': {'containers': [{'image': 'x'}]}}");
    CHECK(!patch_strategic(KIND(PODS), o, p, &e));
    CHECK_HAS(e.text, "does not contain declared merge key: name");
}

static cJSON *fields(const char *object)
{
    AUTO_JSON *o = parse(object);
    return fieldset_changed(schema_of(KIND(PODS)), NULL, o);
}

TEST(sets_of_fields)
{
    check_json(fields("{'metadata': {'labels': {'a': 'b'}}, 'spec': {'containers': [{'name': 'c', "
                      "'args': ['x']}]}}"),
        "{'f:metadata': {'f:labels': {'f:a': {}}}, 'f:spec': {'f:containers': "
        "{'k:{\\'name\\':\\'c\\'}': "
        "{'.': {}, 'f:name': {}, 'f:args': {}}}}}");
    check_json(
        fields("{'spec': {'nodeSelector': {}}}"), "{'f:spec': {'f:nodeSelector': {'.': {}}}}");
    AUTO_JSON *a = parse("{'f:x': {'f:y': {}, 'f:z': {}}, 'f:w': {}}");
    AUTO_JSON *b = parse("{'f:x': {'f:y': {}}, 'f:v': {}}");
    check_json(fieldset_minus(a, b), "{'f:x': {'f:z': {}}, 'f:w': {}}");
    check_json(fieldset_common(a, b), "{'f:x': {'f:y': {}}}");
    check_json(fieldset_union(a, b), "{'f:x': {'f:y': {}, 'f:z': {}}, 'f:w': {}, 'f:v': {}}");
}

static cJSON *apply(
    const cJSON *old, const char *manager, const char *config, bool force, cJSON **conflicts)
{
    AUTO_JSON *c = parse(config);
    return managed_apply(
        KIND(CONFIGMAPS), old, c, (struct managed_writer){manager, "", 1}, force, conflicts);
}

TEST(apply_owns_what_it_applied)
{
    AUTO_JSON *conflicts = NULL;
    AUTO_JSON *one = apply(NULL, "me", "{'data': {'a': '1', 'b': '1'}}", false, &conflicts);
    AUTO_JSON *none = apply(one, "you", "{'data': {'a': '2'}}", false, &conflicts);
    CHECK(!none && cJSON_GetArraySize(conflicts) == 1);
    AUTO_FREE char *text = managed_conflict_text(conflicts);
    CHECK_STR(text, "Apply failed with 1 conflict: conflict with \"me\": .data.a");
    cJSON_Delete(STEAL(conflicts));
    AUTO_JSON *same = apply(one, "you", "{'data': {'a': '1'}}", false, &conflicts);
    CHECK(same && !conflicts); // the same value is shared
    AUTO_JSON *forced = apply(same, "you", "{'data': {'a': '2'}}", true, &conflicts);
    AUTO_JSON *less = apply(forced, "me", "{'data': {}}", false, &conflicts);
    CHECK(less && !conflicts);
    check_json(cJSON_Duplicate(json_get(less, "data"), true), "{'a': '2'}"); // b was only mine
}

TEST(many_conflicts_are_listed)
{
    AUTO_JSON *conflicts = NULL;
    AUTO_JSON *one = apply(NULL, "me", "{'data': {'a': '1', 'b': '1'}}", false, &conflicts);
    AUTO_JSON *none = apply(one, "you", "{'data': {'a': '2', 'b': '2'}}", false, &conflicts);
    CHECK(!none);
    AUTO_FREE char *text = managed_conflict_text(conflicts);
    CHECK_STR(text, "Apply failed with 2 conflicts: conflicts with \"me\":\n- .data.a\n- .data.b");
}

TEST(updates_take_fields_over)
{
    AUTO_JSON *conflicts = NULL;
    AUTO_JSON *one = apply(NULL, "me", "{'data': {'a': '1', 'b': '1'}}", false, &conflicts);
    AUTO_JSON *two = cJSON_Duplicate(one, true);
    json_set_str(json_object_at(two, "data"), "a", "2");
    managed_update(KIND(CONFIGMAPS), one, two, (struct managed_writer){"editor", "", 2});
    const cJSON *list = json_path(two, "metadata.managedFields");
    CHECK_INT(cJSON_GetArraySize(list), 2);
    check_json(cJSON_Duplicate(json_path(two, "metadata.managedFields[0].fieldsV1"), true),
        "{'f:data': {'f:b': {}}}");
    check_json(cJSON_Duplicate(json_path(two, "metadata.managedFields[1].fieldsV1"), true),
        "{'f:data': {'f:a': {}}}");
    for (int i = 0; i < 2; i++) {
        const cJSON *entry = cJSON_GetArrayItem(list, i);
        CHECK_STR(json_str(entry, "manager"), i ? "editor" : "me");
        CHECK_STR(json_str(entry, "operation"), i ? "Update" : "Apply");
        CHECK_STR(json_str(entry, "apiVersion"), "v1");
        CHECK_STR(json_str(entry, "fieldsType"), "FieldsV1");
        CHECK(json_str(entry, "time"));
    }
}

int main(void)
{
    return tap_run();
}
