// SPDX-License-Identifier: MIT
// Input and output of the server: selectors, tables, protobuf, unknown fields, kinds of CRDs.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/api/objects/alias.h"
#include "k8s/sandbox/api/objects/schema.h"
#include "k8s/sandbox/api/objects/selector.h"
#include "k8s/sandbox/api/objects/status.h"
#include "k8s/sandbox/api/objects/validate.h"
#include "k8s/sandbox/api/print/protobuf.h"
#include "k8s/sandbox/api/print/table.h"
#include "tests/support/tap.h"

#include <stdlib.h>

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

TEST(label_selectors)
{
    AUTO_JSON *o = parse("{'metadata': {'labels': {'app': 'web', 'tier': 'x', 'a/b.c': ''}}}");
    static const struct {
        const char *text;
        bool matches;
    } cases[] = {
        {"", true},
        {"app=web", true},
        {"app==web", true},
        {"app = web , tier=x", true},
        {"app!=web", false},
        {"other!=web", true},
        {"app in (db, web)", true},
        {"app notin (db,web)", false},
        {"other notin (a)", true},
        {"tier", true},
        {"!tier", false},
        {"! other,app", true},
        {"a/b.c=", true},
        {"app in (db),tier", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        selector *s = selector_parse_labels(cases[i].text, &e);
        CHECK_OK(e.code == ERR_NONE, e);
        if (selector_matches(s, o) != cases[i].matches)
            tap_fail(__FILE__, __LINE__, "%s", cases[i].text);
        selector_free(s);
    }
    static const char *const bad[] = {"=", "a=b,", "a in", "a in (b", "a b", "(a)", "a=b c=d"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        err e = {0};
        CHECK(!selector_parse_labels(bad[i], &e));
        if (e.code != ERR_INVALID)
            tap_fail(__FILE__, __LINE__, "accepted: %s", bad[i]);
    }
}

TEST(field_selectors)
{
    err e = {0};
    AUTO_JSON *o =
        parse("{'metadata': {'name': 'p'}, 'status': {'phase': 'Running'}, 'spec': {'hostNetwork': "
              "true}}");
    selector *s = selector_parse_fields(
        KIND(PODS), "status.phase=Running,metadata.name!=q,spec.nodeName=", &e);
    CHECK(s && selector_matches(s, o));
    selector_free(s);
    s = selector_parse_fields(KIND(PODS), "spec.hostNetwork=true", &e);
    CHECK(s && selector_matches(s, o));
    selector_free(s);
    CHECK(!selector_parse_fields(KIND(CONFIGMAPS), "status.phase=Running", &e));
    CHECK_STR(e.text, "\"status.phase\" is not a known field selector: only \"metadata.name\", "
                      "\"metadata.namespace\"");
}

static void check_row(const struct kind *k, const char *object, const char *want)
{
    int64_t now = 0;
    AUTO_JSON *o = parse(object);
    clock_parse_rfc3339("2026-01-01T01:00:00Z", &now, NULL);
    AUTO_JSON *row = table_cells(k, o, now), *columns = table_columns(k);
    AUTO_BUF b = {0};
    CHECK_INT(cJSON_GetArraySize(row), cJSON_GetArraySize(columns));
    const cJSON *cell;
    cJSON_ArrayForEach(cell, row)
    {
        AUTO_FREE char *text =
            cJSON_IsString(cell) ? mem_strdup(cell->valuestring) : json_to_str(cell);
        buf_fmt(&b, "%s%s", b.len ? "|" : "", text);
    }
    CHECK_STR(buf_cstr(&b), want);
}

#define BORN "'creationTimestamp': '2026-01-01T00:58:30Z'"

TEST(rows_of_pods)
{
    check_row(KIND(PODS),
        "{'metadata': {'name': 'p', " BORN
        "}, 'spec': {'containers': [{'name': 'a'}, {'name': 'b'}]}, 'status': "
        "{'phase': 'Running', 'podIP': '127.0.0.1', 'containerStatuses': [{'name': 'a', 'ready': "
        "true, "
        "'restartCount': 1, 'state': {'running': {}}, 'lastState': {'terminated': {'finishedAt': "
        "'2026-01-01T00:50:00Z'}}}, {'name': 'b', 'ready': false, 'restartCount': 2, 'state': "
        "{'terminated': "
        "{'exitCode': 3}}}]}}",
        "p|1/2|ExitCode:3|3 (10m ago)|90s|127.0.0.1|<none>|<none>|<none>");
    check_row(KIND(PODS),
        "{'metadata': {'name': 'p', 'deletionTimestamp': 'x', " BORN
        "}, 'spec': {'containers': [{'name': "
        "'a'}], 'initContainers': [{'name': 'i'}, {'name': 'j'}]}, 'status': {'phase': 'Pending'}}",
        "p|0/1|Terminating|0|90s|<none>|<none>|<none>|<none>");
    check_row(KIND(PODS),
        "{'metadata': {'name': 'p', " BORN
        "}, 'spec': {'containers': [{'name': 'a'}], 'initContainers': "
        "[{'name': 'i'}, {'name': 'j'}]}, 'status': {'phase': 'Pending', 'initContainerStatuses': "
        "[{'name': "
        "'i', 'state': {'terminated': {'exitCode': 0}}}, {'name': 'j', 'state': {'running': "
        "{}}}]}}",
        "p|0/1|Init:1/2|0|90s|<none>|<none>|<none>|<none>");
    check_row(KIND(PODS),
        "{'metadata': {'name': 'p', " BORN
        "}, 'spec': {'containers': [{'name': 'a'}, {'name': 'b'}]}, 'status': "
        "{'phase': 'Running', 'conditions': [{'type': 'Ready', 'status': 'False'}], "
        "'containerStatuses': [{'name': "
        "'a', 'ready': false, 'state': {'terminated': {'exitCode': 0, 'reason': 'Completed'}}}, "
        "{'name': 'b', "
        "'ready': true, 'state': {'running': {}}}]}}",
        "p|1/2|NotReady|0|90s|<none>|<none>|<none>|<none>");
}

TEST(rows_of_other_kinds)
{
    check_row(KIND(JOBS),
        "{'metadata': {'name': 'j', " BORN
        "}, 'spec': {'completions': 3, 'template': {'spec': {'containers': "
        "[{'name': 'a', 'image': 'i'}, {'name': 'b', 'image': 'k'}]}}, 'selector': {'matchLabels': "
        "{'z': '1', "
        "'a': '2'}}}, 'status': {'succeeded': 1, 'startTime': '2026-01-01T00:59:00Z'}}",
        "j|Running|1/3|60s|90s|a,b|i,k|a=2,z=1");
    check_row(KIND(SERVICES),
        "{'metadata': {'name': 's', " BORN
        "}, 'spec': {'type': 'ClusterIP', 'clusterIP': '10.96.0.1', 'ports': "
        "[{'port': 80, 'protocol': 'TCP'}, {'port': 53, 'nodePort': 30053, 'protocol': 'UDP'}]}}",
        "s|ClusterIP|10.96.0.1|<none>|80/TCP,53:30053/UDP|90s|<none>");
    check_row(KIND(EVENTS),
        "{'metadata': {'name': 'e'}, 'involvedObject': {'kind': 'Pod', 'name': 'p'}, 'type': "
        "'Normal', 'reason': "
        "'R', 'message': ' m ', 'count': 2, 'firstTimestamp': '2026-01-01T00:00:00Z', "
        "'lastTimestamp': "
        "'2026-01-01T00:59:50Z', 'source': {'component': 'kubelet', 'host': 'n'}}",
        "10s|Normal|R|pod/p||kubelet, n|m|60m|2|e");
    check_row(KIND(SPARKAPPLICATIONS),
        "{'metadata': {'name': 'a', " BORN
        "}, 'spec': {}, 'status': {'applicationState': {'state': 'RUNNING'}, "
        "'executionAttempts': 1, 'lastSubmissionAttemptTime': '2026-01-01T00:59:00Z', "
        "'terminationTime': null}}",
        "a|null|RUNNING|1|2026-01-01T00:59:00Z|<no value>|90s");
}

TEST(printer_paths)
{
    AUTO_JSON *o = parse(
        "{'a': {'b.c': [{'d': 1}, {'d': 2}]}, 'l': [{'type': 'X', 's': 'no'}, {'type': 'Ready', "
        "'s': 'yes'}]}");
    CHECK_INT(table_jsonpath(o, ".a.b\\.c[1].d")->valueint, 2);
    CHECK_INT(table_jsonpath(o, ".a['b.c'][0].d")->valueint, 1);
    CHECK_STR(table_jsonpath(o, ".l[?(@.type==\"Ready\")].s")->valuestring, "yes");
    CHECK(!table_jsonpath(o, ".a.x.y"));
    CHECK(!table_jsonpath(o, ".l[9]"));
    CHECK(!table_jsonpath(o, ".l[?(@.type"));
}

// Written with the field numbers of k8s.io/api's generated.proto.
TEST(protobuf_requests)
{
    static const char bytes[] = "k8s\0"
                                "\x0a\x0f\x0a\x02v1\x12\x09"
                                "ConfigMap"
                                "\x12\x1f"
                                "\x0a\x0d\x0a\x01"
                                "a"
                                "\x12\x00\x1a\x02ns"
                                "\x42\x00"
                                "\x12\x00"
                                "\x12\x06\x0a\x01x\x12\x01"
                                "1"
                                "\x1a\x06\x0a\x01"
                                "b\x12\x01\xff";
    err e = {0};
    AUTO_JSON *o = protobuf_decode(schema_of(KIND(CONFIGMAPS)), bytes, sizeof bytes - 1, &e);
    CHECK_OK(o, e);
    AUTO_FREE char *text = json_to_str(o);
    CHECK_STR(text,
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMap\",\"metadata\":{\"name\":\"a\",\"namespace\":"
        "\"ns\"},\"data\":{\"x\":\"1\"},\"binaryData\":{\"b\":\"/w==\"}}");
    for (size_t n = 0; n < sizeof bytes - 1; n++) { // cut anywhere: an answer or an error, no harm
        AUTO_FREE char *part = mem_dup(bytes, n + 1);
        cJSON_Delete(protobuf_decode(schema_of(KIND(CONFIGMAPS)), part, n, &e));
    }
}

TEST(unknown_fields_are_found)
{
    struct schema_report report;
    AUTO_JSON *o = parse(
        "{'kind': 'Pod', 'metadata': {'labels': {'any': 'x'}, 'nam': 'p'}, 'spec': {'containers': "
        "[{'name': 'c', 'imag': 'i', 'ports': [{'containerPort': '80'}], 'stdin': null}], "
        "'terminationGracePeriodSeconds': 1.5, 'volumes': [{'name': 'v', 'emptyDir': {}}]}}");
    schema_check(schema_of(KIND(PODS)), o, true, &report);
    CHECK_INT(strv_len(report.unknown), 2);
    CHECK_STR(report.unknown[0], "metadata.nam");
    CHECK_STR(report.unknown[1], "spec.containers[0].imag");
    CHECK_INT(cJSON_GetArraySize(report.mistyped), 2);
    CHECK_STR(
        json_path_str(report.mistyped, "[0].field"), "spec.containers[0].ports[0].containerPort");
    CHECK(!json_path(o, "spec.containers[0].imag") && !json_path(o, "spec.containers[0].stdin"));
    schema_report_done(&report);
}

TEST(every_built_in_kind_has_its_fields)
{
    for (size_t i = 0; i < KIND_COUNT; i++)
        if (&kind_builtin[i] != KIND(CRDS) && !schema_of(&kind_builtin[i]))
            tap_fail(__FILE__, __LINE__, "%s", kind_builtin[i].resource);
}

TEST(events_have_two_names)
{
    AUTO_JSON *o = parse(
        "{'apiVersion': 'v1', 'kind': 'Event', 'message': 'm', 'involvedObject': {'name': 'p'}, "
        "'count': 2}");
    cJSON *newer = alias_present(KIND(NEWEVENTS), o);
    CHECK_STR(json_str(newer, "apiVersion"), "events.k8s.io/v1");
    CHECK_STR(json_str(newer, "note"), "m");
    CHECK_INT(json_int_or(newer, "deprecatedCount", 0), 2);
    AUTO_JSON *back = alias_accept(KIND(NEWEVENTS), newer);
    CHECK(json_equal(back, o));
}

TEST(names)
{
    static const struct {
        const char *name;
        bool pod, service, namespace;
    } cases[] = {
        {"a", true, true, true},
        {"a.b-c", true, false, false},
        {"1a", true, false, true},
        {"-a", false, false, false},
        {"A", false, false, false},
        {"a..b", false, false, false},
        {"a_b", false, false, false},
        {"", false, false, false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        const struct kind *const kinds_[] = {KIND(LEASES), KIND(SERVICES), KIND(NAMESPACES)};
        const bool fine[] = {cases[i].pod, cases[i].service, cases[i].namespace};
        for (size_t j = 0; j < 3; j++) {
            AUTO_JSON *o = parse("{'metadata': {}, 'spec': {'clusterIP': 'None'}}"), *causes = NULL;
            json_set_str(json_object_at(o, "metadata"), "name", cases[i].name);
            validate(kinds_[j], o, NULL, &causes);
            if (!causes != fine[j])
                tap_fail(__FILE__, __LINE__, "%s %s", kinds_[j]->resource, cases[i].name);
        }
    }
}

TEST(finalizers_are_named_with_their_domain)
{
    AUTO_JSON *causes = NULL;
    AUTO_JSON *o = parse(
        "{'metadata': {'name': 'x', 'finalizers': ['foregroundDeletion', 'a.io/b', 'plain']}}");
    validate(KIND(CONFIGMAPS), o, NULL, &causes);
    CHECK_INT(cJSON_GetArraySize(causes), 1);
    CHECK_STR(json_path_str(causes, "[0].field"), "metadata.finalizers[2]");
    CHECK_HAS(json_path_str(causes, "[0].message"),
        "name is neither a standard finalizer name nor is it fully qualified");
}

TEST(a_spark_application_has_a_mode_that_there_is)
{
    static const char text[] = "{'metadata': {'name': 'x'}, 'spec': {'type': 'Python', 'mode': "
                               "'%s', 'sparkVersion': '3.5.7', 'mainApplicationFile': 'a.py', "
                               "'driver': {}, 'executor': {}}}";
    for (int good = 0; good < 2; good++) {
        AUTO_JSON *causes = NULL;
        AUTO_FREE char *app = str_fmt(text, good ? "cluster" : "clutser");
        AUTO_JSON *o = parse(app);
        validate(KIND(SPARKAPPLICATIONS), o, NULL, &causes);
        CHECK_INT(cJSON_GetArraySize(causes), !good);
        if (!good)
            CHECK_STR(json_path_str(causes, "[0].field"), "spec.mode");
    }
}

TEST(statuses)
{
    AUTO_JSON *causes = NULL;
    causes_add(&causes, "FieldValueRequired", "spec.a", "Required value");
    causes_add(&causes, "FieldValueInvalid", "spec.b", "Invalid value: %d", 3);
    AUTO_JSON *s = status_invalid(KIND(JOBS), "j", STEAL(causes));
    CHECK_STR(json_str(s, "message"),
        "Job.batch \"j\" is invalid: [spec.a: Required value, spec.b: Invalid value: 3]");
    CHECK_STR(json_path_str(s, "details.kind"), "Job");
    CHECK_STR(json_path_str(s, "details.causes[1].field"), "spec.b");
    CHECK_INT(json_int_or(s, "code", 0), 422);
    err e = {.code = ERR_EXISTS};
    CHECK_INT(status_code(&e), 409);
    CHECK_STR(status_reason(&e), "AlreadyExists");
}

TEST(definitions_make_kinds)
{
    err e = {0};
    kinds *ks = kinds_new();
    AUTO_JSON *crd = parse(
        "{'spec': {'group': 'x.io', 'scope': 'Cluster', 'names': {'plural': 'ws', 'singular': 'w', "
        "'kind': 'W', 'shortNames': ['a', 'b']}, 'versions': [{'name': 'v1', 'served': true}, "
        "{'name': 'v0', 'served': false}]}}");
    CHECK_OK(kinds_add_crd(ks, crd, &e) == 0, e);
    const struct kind *k = kinds_find(ks, "x.io", "v1", "ws");
    CHECK(k && !kinds_find(ks, "x.io", "v0", "ws"));
    CHECK_STR(k->short_names, "a,b");
    CHECK(!(k->flags & KIND_NAMESPACED));
    CHECK_OK(kinds_add_crd(ks, crd, &e) == 0, e);
    CHECK(kinds_find(ks, "x.io", "v1", "ws") == k);
    kinds_remove_crd(ks, crd);
    CHECK(!kinds_find(ks, "x.io", "v1", "ws"));
    AUTO_JSON *bad = parse("{'spec': {}}");
    CHECK(kinds_add_crd(ks, bad, &e) != 0);
    CHECK(kinds_find(ks, "batch", "v1", "jobs") == KIND(JOBS));
    kinds_free(ks);
}

TEST(a_time_that_is_missing_or_none_has_no_age)
{
    static const struct {
        const char *time, *age;
    } cases[] = {{NULL, "<unknown>"}, {"yesterday", "<unknown>"}, {"1970-01-01T00:00:05Z", "5s"},
        {"1970-01-01T00:01:00Z", "0s"}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = {0};
        table_duration(&out, cases[i].time, 10 * CLOCK_SEC);
        CHECK_STR(buf_cstr(&out), cases[i].age);
    }
}

int main(void)
{
    return tap_run();
}
