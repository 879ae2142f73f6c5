// SPDX-License-Identifier: MIT
// Objects as people see them: states, columns of pods, tables, descriptions; and the paths and
// merges below them.
#include "base/clock.h"
#include "base/json/tabletext.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/describe/describe.h"
#include "k8s/client/describe/describeparts.h"
#include "k8s/client/logs/logs.h"
#include "k8s/client/logs/merge.h"
#include "k8s/client/logs/place.h"
#include "k8s/client/state/rollout.h"
#include "k8s/client/state/sick.h"
#include "k8s/client/state/state.h"
#include "k8s/client/text/frames.h"
#include "k8s/client/text/jsonpath.h"
#include "k8s/client/text/tabs.h"
#include "k8s/client/watch/listing.h"
#include "k8s/client/watch/table.h"
#include "k8s/client/watch/wait.h"
#include "k8s/manifest/manifest.h"
#include "k8s/manifest/restricted.h"
#include "tests/support/tap.h"

#include <inttypes.h>
#include <time.h>

static const char *const now_text = "2026-01-02T04:00:00Z";

static int64_t now(void)
{
    int64_t t = 0;
    clock_parse_rfc3339(now_text, &t, NULL);
    return t;
}

// Each as kubectl 1.34 prints it.
TEST(pods_read_as_kubectl_shows_them)
{
    static const struct {
        const char *pod, *columns;
    } cases[] = {
        {"{spec: {containers: [{name: a}]}, status: {phase: Pending}}", "0/1 Pending 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Pending, containerStatuses: [{name: a, "
         "state: {waiting: {reason: ContainerCreating}}}]}}",
            "0/1 ContainerCreating 0"},
        {"{spec: {containers: [{name: a}, {name: b}]}, status: {phase: Running, containerStatuses: "
         "[{name: a, ready: true, state: {running: {}}}, {name: b, ready: true, restartCount: 2, "
         "state: "
         "{running: {}}, lastState: {terminated: {finishedAt: '2026-01-02T03:55:00Z'}}}]}}",
            "2/2 Running 2 (5m ago)"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Succeeded, containerStatuses: [{name: "
         "a, "
         "state: {terminated: {exitCode: 0, reason: Completed}}}]}}",
            "0/1 Completed 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Failed, containerStatuses: [{name: a, "
         "state: "
         "{terminated: {exitCode: 3}}}]}}",
            "0/1 ExitCode:3 0"},
        {"{spec: {containers: [{name: a}]}, status: {phase: Failed, containerStatuses: [{name: a, "
         "state: "
         "{terminated: {exitCode: 137, signal: 9}}}]}}",
            "0/1 Signal:9 0"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: i}, {name: j}]}, status: "
         "{phase: "
         "Pending, initContainerStatuses: [{name: i, state: {terminated: {exitCode: 0}}}, {name: "
         "j, "
         "state: {running: {}}}]}}",
            "0/1 Init:1/2 0"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: i}]}, status: {phase: Pending, "
         "initContainerStatuses: [{name: i, state: {terminated: {exitCode: 1, reason: Error}}}]}}",
            "0/1 Init:Error 0"},
        {"{spec: {containers: [{name: a}], initContainers: [{name: s, restartPolicy: Always}]}, "
         "status: "
         "{phase: Running, conditions: [{type: Initialized, status: 'True'}], "
         "initContainerStatuses: "
         "[{name: s, started: true, ready: true, state: {running: {}}}], containerStatuses: "
         "[{name: a, "
         "ready: true, state: {running: {}}}]}}",
            "2/2 Running 0"},
        {"{metadata: {deletionTimestamp: x}, spec: {containers: [{name: a}]}, status: {phase: "
         "Running}}",
            "0/1 Terminating 0"},
        {"{metadata: {deletionTimestamp: x}, spec: {containers: [{name: a}]}, status: {phase: "
         "Running, "
         "reason: NodeLost}}",
            "0/1 Unknown 0"},
        {"{spec: {containers: [{name: a}, {name: b}]}, status: {phase: Running, conditions: "
         "[{type: Ready, "
         "status: 'False'}], containerStatuses: [{name: a, state: {terminated: {exitCode: 0, "
         "reason: "
         "Completed}}}, {name: b, ready: true, state: {running: {}}}]}}",
            "1/2 NotReady 0"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *pod = tap_yaml(cases[i].pod);
        struct pod_row row;
        pod_row(pod, &row);
        AUTO_BUF ago = {0};
        if (row.restarts && row.last_restart) {
            buf_str(&ago, " (");
            duration_age(&ago, now() - row.last_restart);
            buf_str(&ago, " ago)");
        }
        AUTO_FREE char *got =
            str_fmt("%s %s %d%s", row.ready, row.status, row.restarts, buf_cstr(&ago));
        CHECK_STR(got, cases[i].columns);
    }
}

TEST(states_and_ends_of_kinds)
{
    static const struct {
        const char *object, *state;
        enum outcome outcome;
        const char *cause;
    } cases[] = {
        {"{kind: SparkApplication, status: {applicationState: {state: RUNNING}}}", "RUNNING",
            OUTCOME_OPEN, NULL},
        {"{kind: SparkApplication}", "", OUTCOME_OPEN, NULL},
        {"{kind: SparkApplication, status: {applicationState: {state: COMPLETED}}}", "COMPLETED",
            OUTCOME_GOOD, NULL},
        {"{kind: SparkApplication, status: {applicationState: {state: FAILED, errorMessage: why}}}",
            "FAILED", OUTCOME_BAD, "why"},
        {"{kind: SparkApplication, status: {applicationState: {state: SUBMISSION_FAILED}}}",
            "SUBMISSION_FAILED", OUTCOME_OPEN, NULL},
        {"{kind: Job, status: {active: 1}}", "Running", OUTCOME_OPEN, NULL},
        {"{kind: Job, status: {conditions: [{type: Failed, status: 'True', message: too many}]}}",
            "Failed", OUTCOME_BAD, "too many"},
        {"{kind: MPIJob, status: {conditions: [{type: Created, status: 'True'}, {type: Running, "
         "status: "
         "'False'}, {type: Succeeded, status: 'True'}]}}",
            "Succeeded", OUTCOME_GOOD, NULL},
        {"{kind: Pod, status: {phase: Failed, containerStatuses: [{state: {terminated: {exitCode: "
         "1, "
         "reason: OOMKilled}}}]}}",
            "Failed", OUTCOME_BAD, "OOMKilled"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *o = tap_yaml(cases[i].object);
        struct state s = state_of(o);
        CHECK_STR(s.text, cases[i].state);
        CHECK_INT(s.outcome, cases[i].outcome);
        CHECK_STR(s.cause, cases[i].cause);
    }
}

TEST(who_is_further_has_been_there)
{
    AUTO_JSON *done =
        tap_yaml("{kind: SparkApplication, status: {applicationState: {state: COMPLETED}}}");
    AUTO_JSON *failed =
        tap_yaml("{kind: SparkApplication, status: {applicationState: {state: FAILED}}}");
    AUTO_JSON *ready =
        tap_yaml("{kind: Thing, status: {conditions: [{type: Available, status: 'True'}]}}");
    CHECK(state_reached(done, "RUNNING"));
    CHECK(state_reached(done, "completed"));
    CHECK(!state_reached(failed, "RUNNING"));
    CHECK(!state_reached(failed, "COMPLETED"));
    CHECK(state_reached(ready, "Available"));
}

// Each sentence is what `kubectl rollout status` waits for there.
TEST(a_rollout_is_over_when_the_newest_spec_is_everywhere)
{
    static const struct {
        const char *object, *state, *words;
    } cases[] = {
        // The condition is still that of the spec before.
        {"{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 1}, status: "
         "{observedGeneration: 1, replicas: 1, updatedReplicas: 1, availableReplicas: 1, "
         "conditions: [{type: Available, status: 'True'}]}}",
            "Progressing", "the change of its spec has not been seen yet"},
        {"{kind: Deployment, metadata: {generation: 2}, spec: {replicas: 3}, status: "
         "{observedGeneration: 2, replicas: 4, updatedReplicas: 1, availableReplicas: 3}}",
            "Progressing", "1 of 3 new replicas have been updated"},
        {"{kind: Deployment, spec: {replicas: 3}, status: {replicas: 4, updatedReplicas: 3, "
         "availableReplicas: 4}}",
            "Progressing", "1 old replicas have not ended yet"},
        {"{kind: Deployment, spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3, "
         "availableReplicas: 2}}",
            "Progressing", "2 of 3 updated replicas are available"},
        {"{kind: Deployment, spec: {replicas: 3}, status: {replicas: 3, updatedReplicas: 3, "
         "availableReplicas: 3}}",
            "Available", ""},
        {"{kind: DaemonSet, status: {desiredNumberScheduled: 2, updatedNumberScheduled: 2, "
         "numberAvailable: 1}}",
            "Progressing", "1 of 2 updated pods are available"},
        {"{kind: DaemonSet, status: {desiredNumberScheduled: 2, updatedNumberScheduled: 2, "
         "numberAvailable: 2}}",
            "Available", ""},
        {"{kind: StatefulSet, spec: {replicas: 2}, status: {readyReplicas: 1}}", "Progressing",
            "1 of 2 pods are ready"},
        {"{kind: StatefulSet, spec: {replicas: 2, updateStrategy: {rollingUpdate: {partition: "
         "1}}}, status: {readyReplicas: 2, updatedReplicas: 1, currentRevision: a, "
         "updateRevision: b}}",
            "Available", ""},
        {"{kind: StatefulSet, spec: {replicas: 2}, status: {readyReplicas: 2, updatedReplicas: 1, "
         "currentRevision: a, updateRevision: b}}",
            "Progressing", "1 of 2 pods have been updated"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *o = tap_yaml(cases[i].object);
        AUTO_BUF words = {0};
        rollout_of(o, &words);
        CHECK_STR(buf_cstr(&words), cases[i].words);
        CHECK_STR(state_of(o).text, cases[i].state);
        CHECK_INT(state_reached(o, "available"), str_eq(cases[i].state, "Available"));
    }
    AUTO_JSON *stuck =
        tap_yaml("{kind: Deployment, status: {conditions: [{type: Progressing, status: "
                 "'False', reason: ProgressDeadlineExceeded, message: timed out}]}}");
    struct state s = state_of(stuck);
    CHECK_INT(s.outcome, OUTCOME_BAD);
    CHECK_STR(s.cause, "timed out");
}

TEST(a_state_that_a_kind_does_not_have_is_known)
{
    AUTO_JSON *job = tap_yaml("{kind: Job, status: {conditions: [{type: Odd, status: 'False'}]}}");
    AUTO_JSON *pod = tap_yaml("{kind: Pod, status: {phase: Pending}}");
    AUTO_JSON *other = tap_yaml("{kind: Widget}");
    CHECK(!state_exists(job, "COMPLETED"));
    CHECK(state_exists(job, "complete"));
    CHECK(state_exists(job, "Failed"));
    CHECK(state_exists(job, "odd"));
    AUTO_FREE char *names = state_names(job);
    CHECK(strstr(names, "Complete") != NULL);
    CHECK(state_exists(pod, "CrashLoopBackOff") && state_exists(pod, "completed"));
    CHECK(state_exists(pod, "Init:0/2") && state_exists(pod, "ContainersReady"));
    CHECK(!state_exists(pod, "Runing") && !state_exists(pod, "Parked"));
    AUTO_FREE char *near = state_nearest(pod, "Runing"), *none = state_nearest(pod, "Parked");
    CHECK_STR(near, "Running");
    CHECK(!none && state_may_be_another(pod) && !state_may_be_another(job));
    CHECK(state_exists(other, "Anything"));
    CHECK(!state_is_known(other));
}

TEST(a_pod_that_is_over_has_reached_the_word_that_kubectl_shows)
{
    AUTO_JSON *done = tap_yaml("{kind: Pod, status: {phase: Succeeded, containerStatuses: [{name: "
                               "a, state: {terminated: {exitCode: 0, reason: Completed}}}]}}");
    CHECK(state_reached(done, "Completed") && state_reached(done, "Succeeded"));
    CHECK(state_reached(done, "Running") && state_reached(done, "ContainerCreating"));
    CHECK(!state_reached(done, "Error"));
}

TEST(of_what_has_ended_some_words_are_in_vain)
{
    static const char failed[] =
        "{kind: Job, status: {conditions: [{type: Failed, status: 'True'}]}}";
    static const char complete[] =
        "{kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}";
    static const char runs[] = "{kind: Job, status: {active: 1}}";
    static const char stuck[] = "{kind: Deployment, status: {conditions: [{type: Progressing, "
                                "status: 'False', reason: ProgressDeadlineExceeded}]}}";
    static const char other[] =
        "{kind: Widget, status: {conditions: [{type: Complete, status: 'True'}]}}";
    static const struct {
        const char *object, *words;
        bool in_vain;
    } cases[] = {
        {failed, "condition=Complete", true},
        {failed, "condition=complete=true", true},
        {failed, "condition=Suspended=False", false},
        {failed, "jsonpath={.status.succeeded}=1", true},
        {failed, "jsonpath={.metadata.labels.seen}=yes", false},
        {failed, "delete", false},
        {complete, "condition=Failed", true},
        {complete, "jsonpath={.status.failed}=1", false},
        {runs, "condition=Complete", false},
        {runs, "jsonpath={.status.succeeded}=1", false},
        {stuck, "condition=Available", false},
        {other, "condition=Ready", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *o = tap_yaml(cases[i].object);
        CHECK_INT(wait_is_in_vain(cases[i].words, o), cases[i].in_vain);
    }
}

TEST(tables_are_printed_as_kubectl_does)
{
    AUTO_JSON *server =
        tap_yaml("{columnDefinitions: [{name: Name}, {name: Status}, {name: IP, "
                 "priority: 1}, {name: Age}], rows: "
                 "[{cells: [a-long-name, Running, 10.0.0.1, 5s], object: {metadata: "
                 "{uid: u}}}, {cells: [b, null, "
                 "x, 12]}]}");
    AUTO_JSON *table = table_from_server(server, "", "Thing", false, false, 0);
    AUTO_BUF text = {0};
    tabletext_print(table, 0, &text);
    CHECK_STR(buf_cstr(&text), "NAME          STATUS    AGE\n"
                               "a-long-name   Running   5s\n"
                               "b                       12\n");
    CHECK_STR(json_path_str(table, "rows[0].uid"), "u");
    CHECK(tabletext_is_wide(json_path(table, "columns[2]")));
    AUTO_JSON *wide = table_from_server(server, "", "Thing", true, true, 0);
    CHECK_INT(cJSON_GetArraySize(json_get(wide, "columns")), 5);
    CHECK(!tabletext_is_wide(json_path(wide, "columns[3]")));
}

TEST(descriptions_read_as_kubectl_s)
{
    AUTO_JSON *app = tap_yaml(
        "{apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication, metadata: {name: "
        "mnist, namespace: default, uid: u-1, labels: {a: b, c: d}}, spec: {sparkVersion: "
        "3.5.7, arguments: [x, y], driver: {cores: 1, coreLimit: 1200m}}, status: {}}");
    AUTO_JSON *events = tap_yaml(
        "[{type: Normal, reason: Submitted, count: 3, firstTimestamp: "
        "'2026-01-02T03:50:00Z', lastTimestamp: '2026-01-02T03:59:55Z', source: {component: "
        "spark}, message: it was}]");
    AUTO_BUF text = {0};
    describe(&text, app, &(struct describe_more){.events = events}, now());
    CHECK_STR(buf_cstr(&text), "Name:         mnist\n"
                               "Namespace:    default\n"
                               "Labels:       a=b\n"
                               "              c=d\n"
                               "Annotations:  <none>\n"
                               "API Version:  sparkoperator.k8s.io/v1beta2\n"
                               "Kind:         SparkApplication\n"
                               "Metadata:\n"
                               "  UID:  u-1\n"
                               "Spec:\n"
                               "  Arguments:\n"
                               "    x\n"
                               "    y\n"
                               "  Driver:\n"
                               "    Core Limit:   1200m\n"
                               "    Cores:        1\n"
                               "  Spark Version:  3.5.7\n"
                               "Status:\n"
                               "Events:\n"
                               "  Type    Reason     Age               From   Message\n"
                               "  ----    ------     ----              ----   -------\n"
                               "  Normal  Submitted  5s (x3 over 10m)  spark  it was\n");
}

TEST(resources_are_described_below_what_has_them)
{
    AUTO_JSON *pod = tap_yaml(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, namespace: default}, spec: {resources: "
        "{requests: {cpu: 2}}, containers: [{name: c, image: i, resources: {limits: {cpu: 1, "
        "nvidia.com/gpu: 4}}}]}}");
    AUTO_BUF text = {0};
    describe(&text, pod, &(struct describe_more){0}, now());
    CHECK_HAS(
        buf_cstr(&text), "\n    Limits:\n      cpu:             1\n      nvidia.com/gpu:  4\n");
    CHECK_HAS(buf_cstr(&text), "\n  Requests:\n    cpu:  2\n");
}

TEST(what_is_wrong_with_a_pod_is_said_first)
{
    AUTO_JSON *pod = tap_yaml(
        "{apiVersion: v1, kind: Pod, metadata: {name: crash, namespace: default, ownerReferences: "
        "[{kind: Job, name: train}]}, spec: {nodeName: n1, containers: [{name: side}, {name: "
        "main}]}, status: {phase: Running, podIP: 10.0.0.7, hostIPs: [{ip: 10.0.0.1}], conditions: "
        "[{type: Initialized, status: 'True', lastTransitionTime: '2026-01-02T03:00:00Z'}, {type: "
        "Ready, status: 'False', reason: ContainersNotReady, lastTransitionTime: "
        "'2026-01-02T03:55:00Z', message: 'containers with unready status: [main]'}], "
        "containerStatuses: [{name: side, ready: true, image: s, state: {running: {startedAt: "
        "'2026-01-02T03:30:00Z'}}}, {name: main, restartCount: 4, image: m, state: {waiting: "
        "{reason: CrashLoopBackOff}}, lastState: {terminated: {exitCode: 137, reason: OOMKilled, "
        "finishedAt: '2026-01-02T03:58:00Z'}}}]}}");
    AUTO_JSON *events = tap_yaml(
        "[{type: Warning, reason: BackOff, lastTimestamp: '2026-01-02T03:59:55Z', message: "
        "\"again\\nand again\"}, {type: Normal, reason: Pulled, lastTimestamp: "
        "'2026-01-02T03:59:59Z'}]");
    AUTO_BUF text = {0};
    describe(&text, pod, &(struct describe_more){.events = events}, now());
    char *name = strstr(buf_cstr(&text), "\nName:");
    CHECK(name);
    CHECK_HAS(name, "    State:          Waiting\n      Reason:       CrashLoopBackOff\n"
                    "    Last State:     Terminated\n      Reason:       OOMKilled\n"
                    "      Exit Code:    137\n");
    *name = '\0';
    CHECK_STR(buf_cstr(&text),
        "Status:       CrashLoopBackOff\n"
        "Why:          exit 137 OOMKilled\n"
        "Last warning: BackOff, 5s ago: again\n"
        "Containers:\n"
        "  NAME   STATE                       READY   RESTARTS   LAST END\n"
        "  main   waiting: CrashLoopBackOff   no      4          exit 137 OOMKilled, 2m ago\n"
        "  side   running for 30m             yes     0\n"
        "Not as it should be:\n"
        "  TYPE    STATUS   SINCE   REASON               MESSAGE\n"
        "  Ready   False    5m      ContainersNotReady   containers with unready status: "
        "[main]\n");
}

TEST(tolerations_are_in_the_order_of_their_keys)
{
    AUTO_JSON *list = tap_yaml(
        "[{key: b, operator: Exists, effect: NoSchedule}, {operator: Exists}, {key: a, value: "
        "x}, {key: b, value: y, tolerationSeconds: 30}]");
    AUTO_BUF text = {0};
    describe_tolerations(&text, "Tolerations", list);
    CHECK_STR(buf_cstr(&text),
        "Tolerations:\top=Exists\n\ta=x\n\tb:NoSchedule op=Exists\n\tb=y for 30s\n");
}

TEST(columns_are_as_wide_as_their_cells)
{
    AUTO_BUF out = {0};
    tabs_align(&out, "Name:\tx\nLong name:\ty\nList:\n  a:\t1\n  bcd:\t\t2\n\tthree\n\nend");
    CHECK_STR(buf_cstr(&out), "Name:       x\nLong name:  y\nList:\n  a:    1\n  bcd:    2\n"
                              "        three\n\nend\n");
    buf_clear(&out);
    tabs_align(&out, "\xc3\xa9\t1\nab\t2\n");
    CHECK_STR(buf_cstr(&out), "\xc3\xa9   1\nab  2\n");
}

TEST(what_a_variable_is_set_to)
{
    AUTO_JSON *pod = tap_yaml(
        "{apiVersion: v1, kind: Pod, metadata: {name: p, labels: {zone: z1}}, spec: {containers: "
        "[{name: c, ports: [{containerPort: 80, protocol: TCP, name: web}], resources: {limits: "
        "{memory: 1536Mi}}, env: [{name: ZONE, valueFrom: {fieldRef: {apiVersion: v1, fieldPath: "
        "\"metadata.labels['zone']\"}}}, {name: GIB, valueFrom: {resourceFieldRef: {resource: "
        "limits.memory, divisor: 1Gi}}}, {name: CPU, valueFrom: {resourceFieldRef: {resource: "
        "limits.cpu}}}, {name: KEY, valueFrom: {secretKeyRef: {name: s, key: k}}}]}]}}");
    AUTO_BUF text = {0};
    describe(&text, pod, NULL, now());
    CHECK_HAS(buf_cstr(&text), "80/TCP (web)\n");
    CHECK_HAS(buf_cstr(&text), "ZONE:      z1 (v1:metadata.labels['zone'])\n");
    CHECK_HAS(buf_cstr(&text), "GIB:       2 (limits.memory)\n");
    CHECK_HAS(buf_cstr(&text), "CPU:       node allocatable (limits.cpu)\n");
    CHECK_HAS(buf_cstr(&text), "KEY:       <set to the key 'k' in secret 's'>  Optional: false\n");
}

TEST(what_is_no_object_is_described_as_nothing)
{
    static const char *const texts[] = {"[1, {\"a\": 2}]", "{\"metadata\": [1, {}], \"spec\": {}}",
        "{\"metadata\": {\"labels\": [\"a\"], \"annotations\": [[]]}}", "3"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        AUTO_BUF text = {0};
        AUTO_JSON *object = json_parse(texts[i], strlen(texts[i]), NULL);
        describe(&text, object, NULL, now());
        CHECK_HAS(buf_cstr(&text), "Name:");
    }
}

TEST(secrets_are_described_by_their_size)
{
    AUTO_JSON *secret =
        tap_yaml("{kind: Secret, metadata: {name: s}, data: {password: aHVudGVyMg==}}");
    AUTO_BUF text = {0};
    describe(&text, secret, NULL, now());
    CHECK_HAS(buf_cstr(&text), "password:  7 bytes");
    CHECK(!strstr(buf_cstr(&text), "aHVudGVyMg") && !strstr(buf_cstr(&text), "hunter2"));
}

TEST(conditions_have_the_time_when_they_were_last_looked_at)
{
    AUTO_JSON *node = tap_yaml(
        "{kind: Node, apiVersion: v1, metadata: {name: n}, status: {conditions: [{type: Ready, "
        "status: 'True', lastHeartbeatTime: '2026-01-02T03:59:30Z', "
        "lastTransitionTime: '2026-01-02T03:00:00Z', reason: Up}]}}");
    AUTO_JSON *claim =
        tap_yaml("{kind: PersistentVolumeClaim, apiVersion: v1, metadata: {name: c, namespace: d}, "
                 "status: {conditions: [{type: Resizing, status: 'True', lastProbeTime: "
                 "'2026-01-02T03:59:30Z'}]}}");
    AUTO_BUF text = {0};
    describe(&text, node, NULL, now());
    CHECK_HAS(buf_cstr(&text), "LastHeartbeatTime ");
    CHECK_HAS(buf_cstr(&text), "  ----------------- ");
    CHECK_HAS(buf_cstr(&text), "02 Jan 2026 03:59:30 +0000");
    buf_clear(&text);
    describe(&text, claim, NULL, now());
    CHECK_HAS(buf_cstr(&text), "LastProbeTime ");
    CHECK_HAS(buf_cstr(&text), "  ------------- ");
    CHECK_HAS(buf_cstr(&text), "02 Jan 2026 03:59:30 +0000");
}

TEST(jsonpaths_lead_where_kubectl_s_do)
{
    AUTO_JSON *o =
        tap_yaml("{a: {b: [1, {c: x}], 'd.e/f': v, t: true}, s: [{type: Ready, status: "
                 "'True', n: 3}, {type: 'a]b', status: 'False', n: 10}, {kind: other}]}");
    static const struct {
        const char *path, *value;
        int is;
    } cases[] = {
        {"{.a.b[0]}", "1", 1},
        {"{.a.b[-1].c}", "x", 1},
        {".a.b[*].c", "x", 1},
        {"a.t", "true", 1},
        {"{.a['d.e/f']}", "v", 1},
        {"{['a'].t}", "true", 1},
        {"{.a.d\\.e/f}", "v", 1},
        {"{.a.nothing.more}", "x", 0},
        {"{.a.b[7]}", NULL, 0},
        {"{.a.b}", NULL, 1},
        {"{.a.b[?(@.c)]}", "{\"c\":\"x\"}", 1},
        {"{.s[?(@.type==\"Ready\")].status}", "True", 1},
        {"{.s[?(@.type == 'Ready')].status}", "False", 0},
        {"{.s[?(@.type=='a]b')].status}", "False", 1},
        {"{.s[?(@.type!='Ready')].status}", "False", 1},
        {"{.s[?(@.n>3)].type}", "a]b", 1},
        {"{.s[?(@.n>=3)].type}", "Ready", 1},
        {"{.s[?(@.n<3)].type}", NULL, 0},
        {"{.s[?(@.n<=3)].type}", "a]b", 0},
        {"{.s[?(@.n=='3')].type}", NULL, 0},
        {"{.s[?(@.kind)].kind}", "other", 1},
        {"{.s[?(@.gone)]}", NULL, 0},
        {"{.s[0:1].type}", "a]b", 0},
        {"{.s[1:].type}", "a]b", 1},
        {"{.s[-2:-1].type}", "a]b", 1},
        {"{.s[::2].kind}", "other", 1},
        {"{.s[0,2].kind}", "other", 1},
        {"{.a['t','d.e/f']}", "v", 1},
        {"{..c}", "x", 1},
        {"{.a..c}", "x", 1},
        {"{.s..status}", "False", 1},
        {"{.a.*[0]}", "1", 1},
        {"{.a[}", NULL, -1},
        {"{.a.b[x]}", NULL, -1},
        {"{.s[?(@.type==Ready)].status}", NULL, -1},
        {"{.s[1:2:0]}", NULL, -1},
    };
    err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        if (jsonpath_is(o, cases[i].path, cases[i].value, &e) != cases[i].is)
            tap_fail(__FILE__, __LINE__, "%s", cases[i].path);
}

static void add_merged(void *arg, const struct merge_line *line)
{
    buf_fmt(arg, "%d%.*s ", line->source, (int)line->n, line->text);
}

static void put_line(merge *m, int source, int64_t stamp, const char *text, int64_t now)
{
    struct merge_line line = {.stamp = stamp, .text = text, .n = strlen(text)};
    merge_put(m, source, &line, now);
}

TEST(lines_are_merged_by_time_when_all_have_spoken)
{
    AUTO_BUF out = {0};
    merge *m = merge_new(0, add_merged, &out);
    int a = merge_add(m), b = merge_add(m);
    put_line(m, a, 10, "x", 0);
    put_line(m, a, 30, "z", 0);
    CHECK_INT(merge_tick(m, 1000), 0);
    CHECK_STR(buf_cstr(&out), "");
    put_line(m, b, 20, "y", 1000);
    merge_tick(m, 1000);
    CHECK_STR(buf_cstr(&out), "0x 1y ");
    merge_end(m, b);
    merge_tick(m, 1000);
    CHECK_STR(buf_cstr(&out), "0x 1y 0z ");
    merge_free(m);
}

TEST(a_quiet_source_holds_the_others_up_for_the_window_only)
{
    AUTO_BUF out = {0};
    merge *m = merge_new(500, add_merged, &out);
    int a = merge_add(m), b = merge_add(m);
    put_line(m, a, 20, "y", 100);
    CHECK_INT(merge_tick(m, 200), 600);
    put_line(m, b, 10, "x", 300);
    CHECK_INT(merge_tick(m, 300), 600); // x is out at once: both have spoken; y waits for b again
    CHECK_STR(buf_cstr(&out), "1x ");
    CHECK_INT(merge_tick(m, 600), 0);
    CHECK_STR(buf_cstr(&out), "1x 0y ");
    CHECK_INT(merge_held(m, a), 0);
    merge_free(m);
}

TEST(lines_without_text_take_memory_that_is_counted)
{
    enum { LINES = 1000 };
    AUTO_BUF out = {0};
    merge *m = merge_new(0, add_merged, &out);
    int a = merge_add(m), silent = merge_add(m);
    for (int i = 0; i < LINES; i++)
        put_line(m, a, i, "", 0);
    CHECK(merge_held(m, a) >= LINES * sizeof(int64_t));
    merge_end(m, silent);
    merge_tick(m, 1);
    CHECK_INT(merge_held(m, a), 0);
    merge_free(m);
}

struct seen {
    int64_t newest[3], count[3];
    int64_t last;
    size_t wrong;
};

// Of each source its numbers in order, and among the sources the stamps.
static void look_at(void *arg, const struct merge_line *line)
{
    struct seen *s = arg;
    int64_t number = strtoll(line->text, NULL, 10);
    s->wrong += number != s->newest[line->source] + 1 || line->stamp < s->last ||
                line->kind != (int)(number % 3) || line->n != 200;
    s->newest[line->source] = number;
    s->last = line->stamp;
    s->count[line->source]++;
}

TEST(many_lines_of_three_sources_keep_their_order)
{
    enum { LINES = 3000 };
    struct seen seen = {0};
    merge *m = merge_new(0, look_at, &seen);
    for (int i = 0; i < 3; i++)
        merge_add(m);
    char text[201];
    for (int64_t n = 1; n <= LINES; n++) {
        snprintf(text, sizeof text, "%-200" PRId64, n);
        for (int i = 0; i < 3; i++) // stamps of runs of lines: 1 1 1 2 2 2, 1 1 2 2, 1 2 3
            merge_put(m, i,
                &(struct merge_line){
                    .kind = (int)(n % 3), .stamp = n / (3 - i), .text = text, .n = 200},
                0);
        if (n % 500 == 0)
            merge_tick(m, 1);
    }
    for (int i = 0; i < 3; i++)
        merge_end(m, i);
    merge_tick(m, 2);
    for (int i = 0; i < 3; i++) {
        CHECK_INT(seen.count[i], LINES);
        CHECK(merge_is_empty(m, i) && merge_held(m, i) == 0);
    }
    CHECK_INT((int64_t)seen.wrong, 0);
    merge_free(m);
}

static int add_frame(void *arg, const char *text, size_t n)
{
    buf_fmt(arg, "[%.*s]", (int)n, text);
    return 0;
}

// Line i of a log in which a thousand lines have one stamp, and one in ten comes a little late.
static enum place_verdict take(struct place *p, int i)
{
    char text[20];
    int n = snprintf(text, sizeof text, "line %d", i);
    int64_t stamp = 100 * CLOCK_SEC + i / 1000 * (20 * CLOCK_MS) - (i % 10 == 3) * 1000;
    return place_take(p, stamp, text, (size_t)n);
}

static int count(struct place *p, enum place_verdict verdict, int from, int to)
{
    int n = 0;
    for (int i = from; i < to; i++)
        n += take(p, i) == verdict;
    return n;
}

TEST(a_log_goes_on_where_it_was_wherever_that_is)
{
    struct place p = {0};
    CHECK_INT(count(&p, PLACE_NEW, 0, 50000), 50000);
    place_again(&p);
    CHECK_INT(count(&p, PLACE_TOLD, 0, 50000), 50000); // all are of one second
    CHECK_INT(count(&p, PLACE_NEW, 50000, 50010), 10);
    place_again(&p); // cut in the middle of what comes again
    CHECK_INT(count(&p, PLACE_TOLD, 20000, 50005), 30005);
    place_again(&p);
    CHECK_INT(count(&p, PLACE_TOLD, 49000, 50010), 1010); // rotated: fewer come again
    CHECK_INT(count(&p, PLACE_NEW, 50010, 50020), 10);
    place_again(&p);
    CHECK_INT(take(&p, 80000), PLACE_GAP);
    CHECK_INT(count(&p, PLACE_NEW, 80001, 80005), 4);
    place_done(&p);
}

TEST(a_log_that_began_in_the_middle_goes_on_there)
{
    struct place p = {0};
    CHECK_INT(count(&p, PLACE_NEW, 90, 100), 10);
    place_again(&p);
    CHECK_INT(count(&p, PLACE_TOLD, 0, 100), 100);
    CHECK_INT(count(&p, PLACE_NEW, 100, 110), 10);
    place_reset(&p); // another file
    CHECK_INT(count(&p, PLACE_NEW, 0, 10), 10);
    place_done(&p);
}

TEST(frames_come_whole_however_they_are_cut)
{
    const char *text = "one\r\n\ntwo\nthree";
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        struct frames f = {0};
        AUTO_BUF out = {0};
        CHECK_INT(frames_feed(&f, text, cut, add_frame, &out, NULL), 0);
        CHECK_INT(frames_feed(&f, text + cut, strlen(text) - cut, add_frame, &out, NULL), 0);
        frames_end(&f, add_frame, &out);
        CHECK_STR(buf_cstr(&out), "[one][two][three]");
        frames_done(&f);
    }
    struct frames f = {.limit = 4};
    err e = {0};
    CHECK_INT(frames_feed(&f, "12345", 5, add_frame, NULL, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    frames_done(&f);
}

struct piece_reader {
    struct frames frames;
    buf out;
};

static int add_piece(void *arg, const char *text, size_t n)
{
    struct piece_reader *r = arg;
    buf_fmt(&r->out, "%.*s%s", (int)n, text, r->frames.ended ? "|" : "+");
    return 0;
}

TEST(the_last_piece_of_a_long_line_is_known_as_its_end)
{
    const char *text = "abcd\r\nabcdefgh\nabcdefgh\r\nabcd\rx\nabcde\rx\nz\nabcdefgh";
    for (size_t cut = 0; cut <= strlen(text); cut++) {
        struct piece_reader r = {.frames = {.limit = 4, .split = true}};
        CHECK_INT(frames_feed(&r.frames, text, cut, add_piece, &r, NULL), 0);
        CHECK_INT(frames_feed(&r.frames, text + cut, strlen(text) - cut, add_piece, &r, NULL), 0);
        frames_end(&r.frames, add_piece, &r);
        CHECK_STR(buf_cstr(&r.out), "abcd|abcd+efgh|abcd+efgh|abcd+\rx|abcd+e\rx|z|abcd+efgh|");
        frames_done(&r.frames);
        buf_done(&r.out);
    }
}

TEST(stamps_are_taken_off_lines)
{
    int64_t stamp = 0;
    size_t text;
    const char *line = "1970-01-01T00:00:01.000000007Z hello";
    CHECK(log_stamp(line, strlen(line), &stamp, &text));
    CHECK_INT(stamp, 1000000007);
    CHECK_STR(line + text, "hello");
    CHECK(log_stamp("1970-01-01T00:00:01+00:00 x", 27, &stamp, &text));
    CHECK(!log_stamp("no stamp here at all, only words", 32, &stamp, &text));
    CHECK_INT(text, 0);
}

TEST(manifests_are_flattened_and_checked)
{
#define LONG "abcdefghijklmnopqrstuvwxyzabcdefghijklmnopqrstuvwxyzabcdefgh"
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n---\nmetadata: {}",
            "m: document 2 has no apiVersion"},
        {"apiVersion: v1\nkind: Pod", "m (Pod) has no metadata.name"},
        {"a: [1", "m: line "},
        {"", "m: there is no object in it"},
        {"just text", "m is no object"},
        {"apiVersion: batch/v1\nkind: CronJob\nmetadata: {name: " LONG "}",
            "m (CronJob): metadata.name has 60 characters, and 52 are the most: its jobs have it"},
        {"apiVersion: batch/v1\nkind: Job\nmetadata: {generateName: " LONG "}",
            "m (Job): metadata.generateName has 65 characters, and 63 are the most"},
        {"apiVersion: a/v1\nkind: X\nmetadata: {name: a, labels: {l: " LONG "abcd}}",
            "m (X): metadata.labels: the value of the label l has 64 characters, and 63 are the "
            "most"},
        {"apiVersion: a/v1\nkind: X\nmetadata: {name: a}\nspec: {parts: [{template: {metadata: "
         "{labels: {" LONG "abcd: x}}}}]}",
            "m (X): spec.parts.template.metadata.labels: the label " LONG "abcd has 64"},
    };
    err e = {0};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        CHECK(!manifest_parse("m", cases[i].text, strlen(cases[i].text), &e));
        CHECK_HAS(e.text, cases[i].error);
    }
    // of another group's kind of that name nothing is known
    static const char other[] =
        "apiVersion: batch.acme.io/v1\nkind: CronJob\nmetadata: {name: " LONG "}";
    AUTO_JSON *taken = manifest_parse("m", other, strlen(other), &e);
    CHECK(taken);
    const char *list =
        "apiVersion: v1\nkind: List\nitems:\n- {apiVersion: v1, kind: A, metadata: {name: a}}\n"
        "- {apiVersion: v1, kind: B, metadata: {generateName: b-}}\n---\n---\n"
        "{apiVersion: v1, kind: C, metadata: {name: c}}\n";
    AUTO_JSON *objects = manifest_parse("m", list, strlen(list), &e);
    CHECK_OK(objects, e);
    CHECK_INT(cJSON_GetArraySize(objects), 3);
    const char *typed =
        "{\"apiVersion\":\"v1\",\"kind\":\"ConfigMapList\",\"items\":[{\"metadata\":"
        "{\"name\":\"a\"}}]}\n{\"apiVersion\":\"v1\",\"kind\":\"Secret\",\"metadata\":"
        "{\"name\":\"b\"}}\n";
    AUTO_JSON *both = manifest_parse("m", typed, strlen(typed), &e);
    CHECK_OK(both, e);
    CHECK_STR(json_path_str(both, "[0].kind"), "ConfigMap");
    CHECK_STR(json_path_str(both, "[0].apiVersion"), "v1");
    CHECK_STR(json_path_str(both, "[1].kind"), "Secret");
}

TEST(objects_are_marked_as_the_run_s)
{
    AUTO_JSON *app = tap_yaml(
        "{kind: SparkApplication, metadata: {name: a, labels: {firesteel/run: mine}}, spec: "
        "{driver: {}, executor: {labels: {x: y}}}}");
    manifest_label(app, "run 1/2", true);
    CHECK_STR(json_str(json_path(app, "metadata.labels"), LABEL_RUN), "mine");
    CHECK_STR(json_str(json_path(app, "metadata.labels"), LABEL_MANAGED_BY), "firesteel");
    CHECK_STR(json_str(json_path(app, "spec.driver.labels"), LABEL_RUN), "run-1-2");
    CHECK_STR(json_str(json_path(app, "spec.executor.labels"), "x"), "y");
    AUTO_FREE char *value = manifest_label_value("--a b--");
    CHECK_STR(value, "a-b");
}

TEST(pods_fit_a_restricted_namespace)
{
    AUTO_JSON *job =
        tap_yaml("{kind: Job, spec: {template: {spec: {securityContext: {runAsUser: 0}, "
                 "containers: [{name: a, "
                 "securityContext: {runAsUser: 0, capabilities: {add: [NET_BIND_SERVICE]}}}], "
                 "initContainers: [{name: i}]}}}}");
    manifest_restrict(job);
    AUTO_JSON *fits =
        tap_yaml("{kind: Job, spec: {template: {spec: {securityContext: {runAsUser: 1000, "
                 "runAsNonRoot: true, "
                 "fsGroup: 1000, seccompProfile: {type: RuntimeDefault}}, containers: [{name: a, "
                 "securityContext: {capabilities: {add: [NET_BIND_SERVICE], drop: [ALL]}, "
                 "allowPrivilegeEscalation: false}}], initContainers: [{name: i, securityContext: "
                 "{capabilities: {drop: [ALL]}, allowPrivilegeEscalation: false}}]}}}}");
    CHECK(cJSON_Compare(job, fits, true));
    AUTO_JSON *app = tap_yaml("{kind: SparkApplication, spec: {driver: {podSecurityContext: "
                              "{runAsUser: 7}}, executor: {cores: 1}}}");
    manifest_restrict(app);
    CHECK_STR(
        json_path_str(app, "spec.driver.podSecurityContext.seccompProfile.type"), "RuntimeDefault");
    CHECK(json_int_or(json_path(app, "spec.driver.podSecurityContext"), "fsGroup", 0) == 7);
    CHECK(json_int_or(json_path(app, "spec.executor.podSecurityContext"), "runAsUser", 0) == 185);
}

// The entries of a server's row, an hour after it was printed.
static void check_later(const char *kind, const char *definition, const char *object,
    const char *cell, const char *later)
{
    AUTO_BUF table = {0}, text = {0};
    buf_fmt(&table,
        "{columnDefinitions: [{name: Name}, %s], rows: [{cells: [a, '%s'], object: %s}]}",
        definition, cell, object);
    AUTO_JSON *server = tap_yaml(buf_cstr(&table));
    AUTO_JSON *made = table_from_server(server, "", kind, false, false, now());
    tabletext_entry(json_path(made, "rows[0].cells[1]"), now() + 3600 * CLOCK_SEC, &text);
    CHECK_STR(buf_cstr(&text), later);
}

TEST(ages_are_counted_from_time_stamps)
{
    // what the object says: 04:00:00 is now
    check_later("Job", "{name: Age, type: string}",
        "{metadata: {creationTimestamp: '2026-01-02T03:04:05Z'}}", "55m", "115m");
    check_later("Event", "{name: Last Seen, type: string}",
        "{lastTimestamp: '2026-01-02T03:59:50Z'}", "10s", "60m");
    check_later("Event", "{name: Last Seen, type: string}",
        "{eventTime: '2026-01-02T03:59:50.000000Z'}", "10s", "60m");
    check_later("Pod", "{name: Restarts, type: string}",
        "{kind: Pod, status: {containerStatuses: [{restartCount: 3, lastState: {terminated: "
        "{finishedAt: '2026-01-02T03:59:00Z'}}}]}}",
        "3 (60s ago)", "3 (61m ago)");
    check_later("Job", "{name: Duration, type: string}",
        "{kind: Job, status: {startTime: '2026-01-02T03:59:00Z'}}", "60s", "61m");
    // what only the server's word is known of is counted back from when it came
    check_later("Thing", "{name: Last Run, type: date}", "{}", "2m10s", "62m");
    check_later("Thing", "{name: Tries, type: string}", "{}", "7 (5m ago)", "7 (65m ago)");
    check_later("Thing", "{name: Age, type: date}", "{}", "1h1m", "121m");
    // what is over, unknown, or no age at all stays as it is
    check_later("Job", "{name: Duration, type: string}",
        "{kind: Job, status: {startTime: '2026-01-02T03:59:00Z', completionTime: "
        "'2026-01-02T03:59:09Z'}}",
        "9s", "9s");
    check_later("Thing", "{name: Age, type: string}", "{}", "<unknown>", "<unknown>");
    check_later("Thing", "{name: Timeout, type: string}", "{}", "5m", "5m");
    check_later("Thing", "{name: Age, type: date}", "{}", "-5m", "-5m");
}

TEST(what_is_wrong_is_ranked_and_says_why)
{
    static const struct {
        const char *object;
        enum sickness sick;
        const char *why;
    } cases[] = {
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Running, "
         "containerStatuses: [{ready: true, state: {running: {}}}]}}",
            SICK_NOT, ""},
        {"{kind: Pod, status: {phase: Succeeded}}", SICK_NOT, ""},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Running, "
         "containerStatuses: [{state: {waiting: {reason: CrashLoopBackOff, message: back-off}}, "
         "lastState: {terminated: {exitCode: 137, reason: OOMKilled}}}]}}",
            SICK_CRASHING, "exit 137 OOMKilled"},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Pending, "
         "containerStatuses: [{state: {waiting: {reason: ImagePullBackOff, message: 'no such "
         "image'}}}]}}",
            SICK_IMAGE, "no such image"},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Pending, conditions: "
         "[{type: PodScheduled, status: 'False', message: '0/1 nodes are available'}]}}",
            SICK_PENDING, "0/1 nodes are available"},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Pending, "
         "containerStatuses: [{state: {waiting: {reason: ContainerCreating}}}]}}",
            SICK_NOT_READY, ""},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Failed, "
         "containerStatuses: [{state: {terminated: {exitCode: 3, reason: Error}}}]}}",
            SICK_FAILED, "exit 3 Error"},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Failed, reason: Evicted, "
         "message: 'the node was low on memory'}}",
            SICK_FAILED, "the node was low on memory"},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Running, "
         "containerStatuses: [{ready: true, restartCount: 1, state: {running: {}}, lastState: "
         "{terminated: {exitCode: 1, signal: 9, finishedAt: '2026-01-02T03:55:00Z'}}}]}}",
            SICK_RESTARTED, "signal 9"},
        {"{kind: Pod, spec: {containers: [{name: a}]}, status: {phase: Running, "
         "containerStatuses: [{ready: true, restartCount: 1, state: {running: {}}, lastState: "
         "{terminated: {exitCode: 1, finishedAt: '2026-01-02T02:00:00Z'}}}]}}",
            SICK_NOT, ""},
        {"{kind: Node, status: {conditions: [{type: Ready, status: Unknown, message: 'Kubelet "
         "stopped posting node status.'}]}}",
            SICK_CRASHING, "Kubelet stopped posting node status."},
        {"{kind: Job, status: {conditions: [{type: Failed, status: 'True', message: too many}]}}",
            SICK_FAILED, "too many"},
        {"{kind: Deployment, spec: {replicas: 3}, status: {replicas: 3, readyReplicas: 2}}",
            SICK_NOT_READY, ""},
        {"{kind: Event, type: Warning}", SICK_FAILED, ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *o = tap_yaml(cases[i].object);
        AUTO_BUF why = {0};
        CHECK_INT(object_sick(o, now(), &why), cases[i].sick);
        CHECK_STR(buf_cstr(&why), cases[i].why);
    }
    CHECK(SICK_CRASHING > SICK_IMAGE && SICK_IMAGE > SICK_PENDING && SICK_PENDING > SICK_NOT_READY);
}

static int take_entry(void *arg, cJSON *entry)
{
    buf *text = arg;
    json_print(text, entry);
    buf_char(text, '\n');
    cJSON_Delete(entry);
    return 0;
}

// What a listing makes of a text that comes in pieces of n bytes: its entries, a line each, and the
// frame around them; or its error.
static char *read_list(enum listing_form form, const char *text, size_t n)
{
    AUTO_BUF out = {0};
    err e = {0};
    listing *l = listing_new(form, 0, take_entry, &out);
    size_t whole = strlen(text);
    int result = 0;
    for (size_t i = 0; i < whole && result == 0; i += n)
        result = listing_feed(l, text + i, i + n < whole ? n : whole - i, &e);
    AUTO_JSON *frame = result == 0 ? listing_end(l, &e) : NULL;
    if (frame)
        json_print(&out, frame);
    else
        buf_fmt(&out, "error: %s", e.text);
    listing_free(l);
    return buf_take(&out);
}

static void check_list(enum listing_form form, const char *text, const char *want)
{
    for (size_t n = 1; n <= 64; n++) {
        AUTO_FREE char *got = read_list(form, text, n);
        CHECK_STR(got, want);
    }
}

TEST(a_list_is_read_entry_by_entry)
{
    check_list(LISTING_WHOLE,
        "{\"a\":[1,{\"rows\":[2]}], \"rows\" : [ {\"x\":\"]}\\\\\\\"\"} , [1,[2]],3 ,\"s\" "
        "],\"z\":[{}]}",
        "{\"x\":\"]}\\\\\\\"\"}\n[1,[2]]\n3\n\"s\"\n{\"a\":[1,{\"rows\":[2]}],\"rows\":[],\"z\":[{}"
        "]}");
    check_list(LISTING_WHOLE, "{\"items\":[]}", "{\"items\":[]}");
    check_list(LISTING_WHOLE, "{\"items\":[{\"rows\":[1]}],\"rows\":[2]}",
        "{\"rows\":[1]}\n{\"items\":[],\"rows\":[2]}"); // the first of the two has the entries
    check_list(LISTING_WHOLE, "{\"items\":null}", "{\"items\":null}");
    check_list(LISTING_WHOLE, "{\"items\":[{\"a\":1},{\"a\":",
        "{\"a\":1}\nerror: not JSON: line 1, column 11: the text ends too early");
    check_list(LISTING_WHOLE, "{\"items\":[{]}",
        "error: not JSON: line 1, column 3: the text ends too early");
}

TEST(a_list_that_is_shown_leaves_out_what_is_never_shown)
{
    check_list(LISTING_SHOWN,
        "{\"rows\":[{\"cells\":[\"a\"],\"object\":{\"metadata\":{\"name\":\"a\",\"managedFields\":"
        "[{\"f\":{\"x\":\"]\"}}],\"uid\":\"u\",\"annotations\" : {\"k\":\"v\"}},\"spec\":"
        "{\"containers\":[{\"imageID\":\"x\\\\\"},{\"name\":\"c\" , \"env\":[] , \"labels\":{} },"
        "{\"volumes\":[1],\"a\":1}],\"env\":[\"b\"]}}}]}",
        "{\"cells\":[\"a\"],\"object\":{\"metadata\":{\"name\":\"a\",\"uid\":\"u\"},\"spec\":"
        "{\"containers\":[{},{\"name\":\"c\"},{\"a\":1}]}}}\n{\"rows\":[]}");
}

static int refuse(void *arg, cJSON *entry)
{
    cJSON_Delete(entry);
    return 7;
}

TEST(a_listing_tells_its_head_and_its_limits)
{
    static const char text[] = "{\"kind\":\"Table\",\"columnDefinitions\":[{\"name\":\"Name\"}],"
                               "\"rows\":[{\"cells\":[]}]}";
    err e = {0};
    listing *l = listing_new(LISTING_WHOLE, 5, refuse, NULL);
    CHECK(!listing_head(l));
    CHECK_INT(listing_feed(l, text, sizeof text - 1, &e), -1);
    CHECK_INT(e.code, ERR_LIMIT);
    AUTO_JSON *head = listing_head(l);
    CHECK_STR(json_path_str(head, "columnDefinitions[0].name"), "Name");
    listing_free(l);
    l = listing_new(LISTING_WHOLE, 0, refuse, NULL);
    CHECK_INT(listing_feed(l, text, sizeof text - 1, &e), 7);
    listing_free(l);
}

// The processor's time that a listing takes for a text in pieces of n bytes: the least of three.
static double cost_of(const char *text, size_t n)
{
    double least = 1e9;
    for (int i = 0; i < 3; i++) {
        clock_t began = clock();
        free(read_list(LISTING_WHOLE, text, n));
        double took = (double)(clock() - began) / CLOCKS_PER_SEC;
        least = took < least ? took : least;
    }
    return least;
}

// However much of it comes at once, each byte of a string is looked at once.
TEST(a_string_of_backslashes_is_read_in_linear_time)
{
    enum { SIZE = 1 << 20 };
    AUTO_BUF text = {0};
    buf_str(&text, "{\"items\":[{\"data\":\"");
    for (int i = 0; i < SIZE / 2; i++)
        buf_str(&text, "\\\\");
    buf_str(&text, "\"}]}");
    CHECK(cost_of(buf_cstr(&text), text.len) < 8 * cost_of(buf_cstr(&text), 1 << 10));
}

TEST(words_say_what_is_wrong)
{
    static const struct {
        const char *kind, *ready, *status;
        enum sickness want;
    } cases[] = {{"Pod", "1/1", "Running", SICK_NOT}, {"Pod", "0/1", "Running", SICK_NOT_READY},
        {"Pod", "0/1", "Completed", SICK_NOT}, {"Pod", "0/1", "Pending", SICK_PENDING},
        {"Pod", "0/1", "CrashLoopBackOff", SICK_CRASHING},
        {"Pod", "0/1", "Init:CrashLoopBackOff", SICK_CRASHING},
        {"Pod", "0/1", "ErrImagePull", SICK_IMAGE}, {"Pod", "0/1", "ImagePullBackOff", SICK_IMAGE},
        {"Pod", "0/1", "CreateContainerConfigError", SICK_IMAGE},
        {"Pod", "0/1", "Error", SICK_FAILED}, {"Pod", "0/1", "OOMKilled", SICK_FAILED},
        {"Pod", "10/9", "Running", SICK_NOT}, {"Deployment", "1/3", "", SICK_NOT_READY},
        {"Deployment", "3/3", "", SICK_NOT}, {"Node", "", "NotReady", SICK_CRASHING},
        {"Node", "", "Ready", SICK_NOT}, {"SparkApplication", "", "FAILED", SICK_FAILED},
        {"Namespace", "", "Active", SICK_NOT}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++)
        CHECK_INT(words_sick(cases[i].kind, cases[i].ready, cases[i].status), cases[i].want);
}

TEST(of_a_pod_that_ends_the_object_is_wanted)
{
    AUTO_JSON *columns =
        tap_yaml("[{name: Name}, {name: Ready}, {name: Status}, {name: Restarts}]");
    struct table_form form = {.definitions = columns, .kind = "Pod"};
    static const struct {
        const char *cells;
        bool want;
    } cases[] = {{"[a, 0/1, Terminating, 0]", true}, {"[a, 1/1, Running, 0]", false},
        {"[a, 0/1, Completed, 0]", false}, {"[a, 0/1, Running, 0]", true}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_JSON *cells = tap_yaml(cases[i].cells);
        CHECK(table_wants_object(&form, cells, now()) == cases[i].want);
    }
}

TEST(endpoints_that_cannot_be_read_are_not_none)
{
    AUTO_JSON *service =
        tap_yaml("{apiVersion: v1, kind: Service, metadata: {name: web, namespace: "
                 "default}, spec: {ports: [{port: 80, targetPort: 80}]}}");
    AUTO_JSON *ingress = tap_yaml(
        "{apiVersion: networking.k8s.io/v1, kind: Ingress, metadata: {name: in, namespace: "
        "default}, spec: {defaultBackend: {service: {name: web, port: {number: 80}}}}}");
    AUTO_JSON *none = cJSON_CreateArray();
    AUTO_JSON *services = cJSON_CreateArray();
    cJSON_AddItemReferenceToArray(services, service);
    AUTO_BUF barred = {0};
    AUTO_BUF read = {0};
    describe(&barred, service, &(struct describe_more){0}, now());
    describe(&barred, ingress, &(struct describe_more){.also = services}, now());
    CHECK_HAS(buf_cstr(&barred), "  <error: the endpoint slices cannot be read>\n");
    CHECK_HAS(buf_cstr(&barred), "web:80 (<error: the endpoint slices cannot be read>)\n");
    describe(&read, service, &(struct describe_more){.related = none}, now());
    describe(&read, ingress, &(struct describe_more){.related = none, .also = services}, now());
    CHECK(!strstr(buf_cstr(&read), "<error"));
    CHECK_HAS(buf_cstr(&read), "web:80 (<none>)\n");
}

TEST(rows_alone_make_a_table)
{
    AUTO_JSON *list =
        tap_yaml("{kind: Table, columnDefinitions: [{name: Name}, {name: Ready}, {name: "
                 "Status}, {name: Age}, {name: IP, "
                 "priority: 1}], rows: [[a, 0/1, Pending, 5m, 10.0.0.1], [b, 1/1, "
                 "\"Running\\nfor long\", 7d, null]]}");
    AUTO_JSON *table = table_of_cells(list, "Pod", false, false);
    AUTO_FREE char *rows = json_to_str(json_get(table, "rows"));
    CHECK_STR(rows,
        "[{\"uid\":\"a\",\"name\":\"a\",\"sick\":4,\"cells\":[\"a\",\"0/"
        "1\",\"Pending\",\"5m\",\"10.0.0.1\"]},"
        "{\"uid\":\"b\",\"name\":\"b\",\"cells\":[\"b\",\"1/1\",\"Running\",\"7d\",\"\"]}]");
    AUTO_JSON *of_all =
        tap_yaml("{columnDefinitions: [{name: Name}], rows: [[here, a], [there, a]]}");
    AUTO_JSON *spaces = table_of_cells(of_all, "ConfigMap", false, true);
    AUTO_FREE char *text = json_to_str(spaces);
    CHECK_STR(text,
        "{\"columns\":[\"NAMESPACE\",\"NAME\"],\"rows\":[{\"uid\":\"here/a\",\"name\":\"a\","
        "\"namespace\":\"here\",\"cells\":[\"here\",\"a\"]},{\"uid\":\"there/a\",\"name\":\"a\","
        "\"namespace\":\"there\",\"cells\":[\"there\",\"a\"]}],\"keep\":[\"NAME\"]}");
}

int main(void)
{
    return tap_run();
}
