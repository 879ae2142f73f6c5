// SPDX-License-Identifier: MIT
// Why an object does not go on: the sentence, what it was seen by, and the next step, from objects,
// events and logs as Kubernetes 1.34, Spark operator 2.4 and Spark 3.5 write them.
#include "base/clock.h"
#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/state/need.h"
#include "k8s/client/text/cause.h"
#include "k8s/client/why/why.h"
#include "tests/support/tap.h"

static int64_t now(void)
{
    int64_t t = 0;
    clock_parse_rfc3339("2026-01-02T04:00:00Z", &t, NULL);
    return t;
}

// facts: {object, pods, events, pulls, nodes, log, operators} as YAML. Parts: words of each text;
// NULL: it is empty.
static void check_why(const char *facts, const char *what, const char *seen, const char *next)
{
    AUTO_JSON *all = tap_yaml(facts);
    struct why w;
    bool found = why_of(&(struct why_facts){.object = json_get(all, "object"),
                            .pods = json_get(all, "pods"),
                            .events = json_get(all, "events"),
                            .pulls = json_get(all, "pulls"),
                            .nodes = json_get(all, "nodes"),
                            .log = json_str(all, "log"),
                            .operators = json_get(all, "operators")},
        now(), &w);
    CHECK_INT(found, what != NULL);
    CHECK_STR(buf_cstr(&w.what), what ? what : "");
    CHECK_STR(buf_cstr(&w.seen), seen ? seen : "");
    CHECK(next ? strstr(buf_cstr(&w.next), next) != NULL : w.next.len == 0);
    why_done(&w);
}

#define RUNNING_APP                                                                                \
    "object: {kind: SparkApplication, apiVersion: sparkoperator.k8s.io/v1beta2, spec: {executor: " \
    "{instances: 2}}, status: {applicationState: {state: RUNNING}}}\n"
#define DRIVER                                                                                     \
    "- {kind: Pod, metadata: {name: m-driver, labels: {spark-role: driver}}, spec: {containers: "  \
    "[{name: d}]}, status: {phase: Running, startTime: '2026-01-02T03:50:00Z', "                   \
    "containerStatuses: [{name: d, ready: true, state: {running: {}}}]}}\n"
#define EXECUTOR(name, status)                                                                     \
    "- {kind: Pod, metadata: {name: " name ", labels: {spark-role: executor}}, spec: "             \
    "{containers: [{name: e, resources: {limits: {memory: 1408Mi}}}]}, status: " status "}\n"
#define RUNS "{phase: Running, containerStatuses: [{name: e, ready: true, state: {running: {}}}]}"

TEST(a_program_that_its_image_lacks)
{
    const char *missing =
        cause_remedy("runc create failed: exec: \"sh\": executable file not found "
                     "in $PATH");
    CHECK(missing && strstr(missing, "the image has no such program"));
    CHECK(strstr(cause_remedy("failed to resolve image: team/none:1: not found"), "push or make"));
}

TEST(a_pod_that_no_node_takes)
{
    check_why("object: {kind: Pod, metadata: {name: p}, spec: {containers: [{name: c}]}, status: "
              "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', reason: "
              "Unschedulable, message: '0/1 nodes are available: 1 Insufficient cpu. no new claims "
              "to deallocate, preemption: 0/1 nodes are available: 1 No preemption victims found "
              "for incoming pod.'}]}}",
        "pod p waits for a node: 0/1 nodes are available: 1 Insufficient cpu",
        "pod p: PodScheduled is False", "coreRequest");
}

// As the node lifecycle controller of 1.34 leaves a node whose kubelet was killed.
#define NODE(name, ready, taints)                                                                  \
    "- {kind: Node, metadata: {name: " name "}, spec: {taints: [" taints "]}, status: "            \
    "{conditions: [" ready "]}}\n"
#define READY "{type: Ready, status: 'True', lastTransitionTime: '2026-01-01T00:00:00Z'}"
#define SILENT                                                                                     \
    "{type: Ready, status: Unknown, reason: NodeStatusUnknown, message: 'Kubelet stopped posting " \
    "node status.', lastTransitionTime: '2026-01-02T03:59:15Z'}"
#define UNREACHABLE                                                                                \
    "{key: node.kubernetes.io/unreachable, effect: NoSchedule}, {key: "                            \
    "node.kubernetes.io/unreachable, effect: NoExecute}"
#define ON_NODE1                                                                                   \
    "{kind: Pod, metadata: {name: p, uid: u}, spec: {nodeName: node1, containers: [{name: c}]}, "  \
    "status: {phase: Running, conditions: [{type: Ready, status: 'False'}], containerStatuses: "   \
    "[{name: c, state: {running: {}}}]}}\n"
#define UNPLACED(words)                                                                            \
    "object: {kind: Pod, metadata: {name: p}, spec: {tolerations: [{key: "                         \
    "node.kubernetes.io/unreachable, operator: Exists, effect: NoExecute}, {key: mine, value: a}]" \
    ", containers: [{name: c}]}, status: {phase: Pending, conditions: [{type: PodScheduled, "      \
    "status: 'False', message: '0/2 nodes are available: " words                                   \
    ". no new claims to deallocate, preemption: 0/2'}]}}\n"

TEST(a_node_that_is_dead)
{
    static const char what[] = "pod p is on node node1, which is not ready (Kubelet stopped "
                               "posting node status)",
                      seen[] = "node node1: Ready is Unknown for 45s";
    check_why("object: " ON_NODE1 "nodes:\n" NODE("node1", SILENT, UNREACHABLE), what, seen,
        "look at the node: k8s.describe(\"nodes/node1\")");
    check_why("object: {kind: Job, status: {active: 1}}\npods:\n- " ON_NODE1
              "nodes:\n" NODE("node2", READY, "") NODE("node1", SILENT, UNREACHABLE),
        what, seen, "no toleration helps");
    check_why("object: {kind: Node, metadata: {name: node1}, status: {conditions: [" SILENT "]}}",
        "node node1 is not ready (Kubelet stopped posting node status)", seen, "look at the node");
    // Who may not read nodes has the controller's warning.
    check_why("object: " ON_NODE1 "events: [{type: Warning, reason: NodeNotReady, involvedObject: "
              "{kind: Pod, name: p, uid: u}, lastTimestamp: '2026-01-02T03:58:00Z'}]",
        "pod p is on node node1, which is not ready",
        "event NodeNotReady of Pod p for 2m; the node itself cannot be read", "look at the node");
    check_why("object: " ON_NODE1 "nodes:\n" NODE("node1", READY, ""), NULL, NULL, NULL);
}

TEST(taints_that_no_toleration_helps_against)
{
    static const char waits[] = "pod p waits for a node: 0/2 nodes are available: 2 node(s) had "
                                "untolerated taint(s)",
                      placed[] = "pod p: PodScheduled is False";
    static const struct {
        const char *nodes, *what, *seen, *next;
    } cases[] = {
        {NODE("node1", SILENT, UNREACHABLE),
            "; node node1 is not ready (Kubelet stopped posting node status)",
            "; node node1: Ready is Unknown for 45s", "no toleration helps"},
        {NODE("node1", READY, "{key: node.kubernetes.io/unschedulable, effect: NoSchedule}"),
            "; node node1 is closed to new pods",
            "; node node1: taint node.kubernetes.io/unschedulable:NoSchedule", "uncordon"},
        {NODE("n1", READY, "{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}")
                NODE("n2", READY, "{key: node.kubernetes.io/disk-pressure, effect: NoSchedule}"),
            "; node n1 and 1 other are short of memory, disk or processes",
            "; node n1: taint node.kubernetes.io/disk-pressure:NoSchedule", "free what it lacks"},
        {NODE("n1", READY, "{key: node.kubernetes.io/network-unavailable, effect: NoSchedule}"),
            "; node n1 is not set up yet",
            "; node n1: taint node.kubernetes.io/network-unavailable:NoSchedule", "wait"},
        {NODE("n1", READY, "{key: dedicated, value: gpu, effect: NoSchedule}") NODE("n2", READY,
             "{key: mine, value: a, effect: NoSchedule}, {key: x, effect: PreferNoSchedule}"),
            "; node n1 is reserved", "; node n1: taint dedicated=gpu:NoSchedule",
            "add a toleration of this taint if the work belongs there"},
        {NODE("n1", READY, "{key: dedicated, value: gpu, effect: NoSchedule}")
                NODE("n2", SILENT, UNREACHABLE),
            "; node n2 is not ready (Kubelet stopped posting node status); node n1 is reserved",
            "; node n2: Ready is Unknown for 45s; node n1: taint dedicated=gpu:NoSchedule",
            "look at the node: k8s.describe(\"nodes/n2\")"},
        {"- {kind: Node, metadata: {name: n1}, status: {conditions: [" READY "]}}", "", "",
            "one of node.kubernetes.io says that the node is down"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *facts =
            str_fmt(UNPLACED("2 node(s) had untolerated taint(s)") "nodes:\n%s", cases[i].nodes);
        AUTO_FREE char *what = str_fmt("%s%s", waits, cases[i].what);
        AUTO_FREE char *seen = str_fmt("%s%s", placed, cases[i].seen);
        check_why(facts, what, seen, cases[i].next);
    }
    // Without the right to read nodes; and as servers before 1.34 name the taint.
    check_why(UNPLACED("2 node(s) had untolerated taint(s)"), waits, placed,
        "goes when that is over; another one reserves the node");
    check_why(UNPLACED("2 node(s) had untolerated taint {node.kubernetes.io/unreachable: }"),
        "pod p waits for a node: 0/2 nodes are available: 2 node(s) had untolerated taint "
        "{node.kubernetes.io/unreachable: }",
        placed, "a toleration does not help");
    // The control plane is always reserved: it is the CPU that lacks.
    check_why(UNPLACED("1 Insufficient cpu, 1 node(s) had untolerated taint(s)") "nodes:\n" NODE(
                  "n1", READY, "{key: node-role.kubernetes.io/control-plane, effect: NoSchedule}"),
        "pod p waits for a node: 0/2 nodes are available: 1 Insufficient cpu, 1 node(s) had "
        "untolerated taint(s); node n1 is reserved",
        "pod p: PodScheduled is False; node n1: taint "
        "node-role.kubernetes.io/control-plane:NoSchedule",
        "ask for less CPU");
}

#define COMING                                                                                     \
    "- {kind: Pod, metadata: {name: m-driver, uid: u, labels: {spark-role: driver}}, spec: "       \
    "{nodeName: n, containers: [{name: c}]}, status: {phase: Pending, containerStatuses: [{name: " \
    "c, state: {waiting: {reason: ContainerCreating}}}]}}\n"
#define ABOUT_U "involvedObject: {kind: Pod, name: m-driver, uid: u}"

TEST(an_image_that_is_being_pulled)
{
    check_why("object: {kind: SparkApplication, status: {applicationState: {state: SUBMITTED}}}\n"
              "pods:\n" COMING "pulls:\n- {type: Normal, reason: Pulling, " ABOUT_U
              ", message: 'Pulling image \"r:5000/team/mnist@sha256:abc\"', lastTimestamp: "
              "'2026-01-02T03:57:16Z'}\n",
        "driver m-driver pulls its image r:5000/team/mnist@sha256:abc",
        "event Pulling of Pod m-driver, 2m44s ago", "wait");
    check_why("object: {kind: Job, status: {active: 1}}\npods:\n" COMING
              "events:\n- {type: Warning, reason: FailedScheduling, " ABOUT_U ", message: old}\n"
              "- {type: Warning, reason: FailedMount, " ABOUT_U
              ", message: 'MountVolume.SetUp failed for volume \"key\": secret \"key\" not "
              "found', eventTime: '2026-01-02T03:59:58Z'}\n",
        "driver m-driver does not start: MountVolume.SetUp failed for volume \"key\": secret "
        "\"key\" not found",
        "event FailedMount of Pod m-driver, 2s ago", "make it");
    check_why("object: {kind: Job, status: {active: 1}}\npods:\n" COMING
              "events:\n- {type: Warning, reason: FailedScheduling, " ABOUT_U ", message: old}\n",
        NULL, NULL, NULL);
    check_why("object: {kind: Job, status: {active: 1}}\npods:\n- " ON_NODE1
              "pulls:\n- {reason: Pulling, involvedObject: {uid: u}, message: 'Pulling image x'}\n",
        NULL, NULL, NULL); // it runs
}

TEST(a_driver_waits_for_its_executors)
{
    check_why(RUNNING_APP
        "pods:\n" DRIVER EXECUTOR("m-exec-1", RUNS) EXECUTOR("m-exec-2",
            "{phase: Pending, conditions: [{type: PodScheduled, status: 'False', message: '0/1 "
            "nodes are available: 1 Insufficient cpu. preemption: 0/1 nodes'}]}"),
        "the driver waits for executors: 1 of 2 run; executor m-exec-2 waits for a node: 0/1 nodes "
        "are available: 1 Insufficient cpu",
        "pod m-exec-2: PodScheduled is False", "coreRequest");
    // all run: nothing is wrong
    check_why(RUNNING_APP "pods:\n" DRIVER EXECUTOR("m-exec-1", RUNS) EXECUTOR("m-exec-2", RUNS),
        NULL, NULL, NULL);
    // the driver may not make them; only its log says so
    check_why(RUNNING_APP
        "pods:\n" DRIVER "log: |\n  26/01/02 03:59:00 INFO X: going\n"
        "  26/01/02 03:59:01 WARN ExecutorPodsSnapshotsStoreImpl: Exception when notifying\n"
        "  io.fabric8.kubernetes.client.KubernetesClientException: Failure executing: POST at: "
        "https://10.96.0.1:443/api/v1/namespaces/default/pods. Message: pods \"m-exec-1\" is "
        "forbidden: exceeded quota: small, requested: pods=1, used: pods=1, limited: pods=1. "
        "Received status: Status(apiVersion=v1, code=403).\n  \tat x.y.Z(Z.java:1)\n",
        "the driver waits for executors: 0 of 2 run; pods \"m-exec-1\" is forbidden: exceeded "
        "quota: small, requested: pods=1, used: pods=1, limited: pods=1",
        "the driver's log", "quota");
    // no cause is known, but it takes long
    check_why(RUNNING_APP "pods:\n" DRIVER, "the driver waits for executors: 0 of 2 run",
        "its pods", NULL);
}

TEST(images_that_cannot_be_had)
{
    static const struct {
        const char *reason, *message, *next;
    } cases[] = {
        {"ImagePullBackOff",
            "Back-off pulling image \"r:5000/x:1\": ErrImagePull: failed to pull and unpack image "
            "\"r:5000/x:1\": failed to resolve reference \"r:5000/x:1\": r:5000/x:1: not found",
            "push"},
        {"ErrImagePull",
            "failed to do request: Head \"https://r:5000/v2/x/manifests/1\": http: server gave "
            "HTTP response to HTTPS client",
            "the image is not there, or the nodes do not know that this registry speaks plain "
            "HTTP"},
        {"ErrImagePull",
            "failed to do request: tls: failed to verify certificate: x509: certificate signed by "
            "unknown authority",
            "CA"},
        {"ErrImagePull", "failed to authorize: 401 unauthorized: authentication required",
            "imagePullSecrets"},
        {"InvalidImageName", "Failed to apply default image tag \"X:\": invalid reference format",
            "name"},
        {"ErrImageNeverPull", "Container image \"x\" is not present with pull policy of Never",
            "IfNotPresent"},
        {"CreateContainerConfigError", "secret \"key\" not found", "make it"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *facts = str_fmt(
            "object: {kind: Job, status: {active: 1}}\npods:\n- {kind: Pod, metadata: "
            "{name: p}, spec: {containers: [{name: c}]}, status: {phase: Pending, "
            "containerStatuses: [{name: c, state: {waiting: {reason: %s, message: '%s'}}}]}}",
            cases[i].reason, cases[i].message);
        AUTO_FREE char *what =
            str_fmt("container c of pod p cannot start: %s: %s", cases[i].reason, cases[i].message);
        AUTO_FREE char *seen = str_fmt("pod p: its container waits (%s)", cases[i].reason);
        check_why(facts, what, seen, cases[i].next);
    }
}

TEST(containers_that_ended)
{
    check_why(RUNNING_APP
        "pods:\n" DRIVER EXECUTOR("m-exec-1", RUNS) EXECUTOR("m-exec-2",
            "{phase: Failed, containerStatuses: [{name: e, state: {terminated: {exitCode: 137, "
            "reason: OOMKilled}}}]}"),
        "the driver waits for executors: 1 of 2 run; container e of executor m-exec-2 was killed: "
        "it needed more memory than its limit of 1408Mi (OOMKilled)",
        "pod m-exec-2: its container's state", "memoryOverhead");
    check_why("object: {kind: Job, status: {active: 1}}\npods:\n- {kind: Pod, metadata: {name: p}, "
              "spec: {containers: [{name: c}]}, status: {phase: Running, containerStatuses: "
              "[{name: c, restartCount: 4, state: {waiting: {reason: CrashLoopBackOff}}, "
              "lastState: {terminated: {exitCode: 7, reason: Error}}}]}}",
        "container c of pod p exited with 7", "pod p: its container's state, 4 restarts",
        "k8s.logs(\"pods/p\", {container = \"c\", previous = true})");
}

TEST(what_keeps_pods_from_being_made)
{
    check_why(
        "object: {kind: Job, metadata: {name: j, uid: u}, status: {}}\npods: []\nevents:\n"
        "- {type: Warning, reason: FailedCreate, involvedObject: {kind: Job, name: j}, message: "
        "'Error creating: pods \"j-x\" is forbidden: error looking up service account default/no: "
        "serviceaccount \"no\" not found'}",
        "Error creating: pods \"j-x\" is forbidden: error looking up service account default/no: "
        "serviceaccount \"no\" not found",
        "event FailedCreate of Job j", "make the account");
    check_why("object: {kind: Deployment, spec: {replicas: 1}, status: {conditions: [{type: "
              "ReplicaFailure, status: 'True', reason: FailedCreate, message: 'pods \"d-1\" is "
              "forbidden: exceeded quota: q, requested: cpu=2, used: cpu=0, limited: cpu=1'}]}}",
        "pods \"d-1\" is forbidden: exceeded quota: q, requested: cpu=2, used: cpu=0, limited: "
        "cpu=1",
        "condition ReplicaFailure is True", "quota");
}

#define NEW_APP(age)                                                                               \
    "object: {kind: SparkApplication, apiVersion: sparkoperator.k8s.io/v1beta2, metadata: {name: " \
    "m, namespace: team, creationTimestamp: '" age "'}, spec: {}}\n"

TEST(operators_that_are_absent_or_look_elsewhere)
{
    check_why(NEW_APP("2026-01-02T03:59:30Z") "operators: []",
        "no operator has looked at it: it has no status",
        "its status is empty after 30.0s; no Deployment of an operator of it can be seen",
        "install the operator of sparkoperator.k8s.io, or let it watch namespace team");
    check_why(NEW_APP("2026-01-02T03:59:30Z") "operators: [{metadata: {name: op, namespace: "
                                              "spark}, spec: {template: {spec: "
                                              "{containers: [{args: [controller, start, "
                                              "'--namespaces=default,prod']}]}}}, status: "
                                              "{readyReplicas: 1}}]",
        "no operator has looked at it: it has no status",
        "its status is empty after 30.0s; Deployment op in namespace spark watches default,prod "
        "only",
        "let it watch namespace team (its option --namespaces; of its Helm chart "
        "spark.jobNamespaces)");
    check_why(NEW_APP("2026-01-02T03:59:58Z"), NULL, NULL, NULL); // just made
}

#define OPERATOR(part, ready)                                                                      \
    "{metadata: {name: " part ", namespace: spark}, spec: {template: {spec: {containers: [{args: " \
    "[" part ", start, '--namespaces=team']}]}}}, status: {readyReplicas: " ready "}}"

TEST(an_operator_that_watches_may_take_its_time)
{
    check_why(NEW_APP("2026-01-02T03:56:00Z") "operators: [" OPERATOR("controller", "1") "]",
        "the operator has not answered yet: it has no status",
        "its status is empty after 4m00s; Deployment controller in namespace spark is ready",
        "wait: it runs a spark-submit for each application");
    check_why(NEW_APP("2026-01-02T03:59:10Z") "operators: [" OPERATOR("controller", "1") "]", NULL,
        NULL, NULL); // it is about to submit
    check_why(NEW_APP("2026-01-02T03:54:00Z") "operators: [" OPERATOR("controller", "1") "]",
        "no operator has looked at it: it has no status",
        "its status is empty after 6m00s; Deployment controller in namespace spark is ready",
        "look at the operator's log");
    // The webhook starts no application, however ready it is.
    check_why(NEW_APP("2026-01-02T03:59:30Z") "operators: [" OPERATOR(
                  "controller", "0") ", " OPERATOR("webhook", "1") "]",
        "no operator has looked at it: it has no status",
        "its status is empty after 30.0s; Deployment controller in namespace spark is not ready",
        "let the operator become ready: kubectl describe deployment controller --namespace=spark");
}

TEST(a_submission_that_failed)
{
    check_why(
        "object:\n  kind: SparkApplication\n  status:\n    applicationState:\n      state: FAILED\n"
        "      errorMessage: |\n"
        "        failed to submit spark application: failed to run spark-submit: 26/01/02 03:59:00 "
        "INFO X: y\n"
        "        Exception in thread \"main\" io.fabric8.kubernetes.client."
        "KubernetesClientException: Failure executing: POST at: https://a/pods. Message: pods "
        "\"m-driver\" is forbidden: error looking up service account default/spark: "
        "serviceaccount \"spark\" not found. Received status: Status(x).\n"
        "        \tat a.b.C(C.java:1)\n",
        "pods \"m-driver\" is forbidden: error looking up service account default/spark: "
        "serviceaccount \"spark\" not found",
        "the SparkApplication's own words", "make the account");
}

#define LOST                                                                                       \
    "events:\n- {type: Warning, reason: SparkExecutorFailed, message: 'Executor m-exec-1 failed "  \
    "with ExitCode: 143, Reason: Error, Pod Message: ', involvedObject: {kind: SparkApplication}}"

TEST(an_executor_that_is_lost)
{
    check_why(RUNNING_APP "pods:\n" DRIVER EXECUTOR("m-exec-2", RUNS) EXECUTOR("m-exec-3", RUNS)
                  LOST,
        "Executor m-exec-1 failed with ExitCode: 143, Reason: Error", "event SparkExecutorFailed",
        "deleted or evicted");
    check_why(RUNNING_APP "pods:\n" DRIVER EXECUTOR("m-exec-2", RUNS) LOST,
        "the driver waits for executors: 1 of 2 run; Executor m-exec-1 failed with ExitCode: 143, "
        "Reason: Error",
        "event SparkExecutorFailed", "deleted or evicted");
}

TEST(the_line_that_names_the_cause)
{
    static const struct {
        const char *text, *cause;
    } cases[] = {
        {"Exception in thread \"main\" org.apache.spark.SparkException: Please specify "
         "spark.kubernetes.file.upload.path property.\n\tat org.apache.spark.X(Y.scala:1)\n",
            "SparkException: Please specify spark.kubernetes.file.upload.path property"},
        {"Exception in thread \"main\" java.lang.RuntimeException: x\n\tat a\nCaused by: "
         "java.net.UnknownHostException: k8s: Name or service not known\n\t... 5 more\n",
            "UnknownHostException: k8s: Name or service not known"},
        {"26/01/02 03:59:00 INFO A: b\nValueError: shapes differ\n26/01/02 03:59:01 INFO Shutdown: "
         "bye\n",
            "ValueError: shapes differ"},
        {"driver container failed with ExitCode: 1, Reason: Error",
            "driver container failed with ExitCode: 1, Reason: Error"},
        {"Traceback (most recent call last):\n  File \"/work/mnist.py\", line 3, in <module>\n    "
         "x()\n    ^^^\npyspark.errors.exceptions.captured.AnalysisException: [PATH_NOT_FOUND] x.\n"
         "\n26/01/02 03:59:01 INFO Shutdown: bye\n",
            "AnalysisException: [PATH_NOT_FOUND] x"},
        // A task that fails: Py4J passes on what the JVM says of the traceback in its worker.
        {"Traceback (most recent call last):\n  File \"t.py\", line "
         "6\npy4j.protocol.Py4JJavaError: "
         "An error occurred while calling o1.collect.\n: org.apache.spark.SparkException: Job "
         "aborted: org.apache.spark.api.python.PythonException: Traceback (most recent call "
         "last):\n  File \"t.py\", line 6, in <lambda>\n       ~^^~\nZeroDivisionError: integer "
         "division or modulo by zero\n\n\tat org.apache.spark.X(Y.scala:1)\n\nDriver stacktrace:\n"
         "\tat org.apache.spark.X(Y.scala:1)\nCaused by: "
         "org.apache.spark.api.python.PythonException: Traceback (most recent call last):\n  File "
         "\"t.py\", line 6, in <lambda>\nZeroDivisionError: integer division or modulo by zero\n\n"
         "\t... 1 more\n\n",
            "ZeroDivisionError: integer division or modulo by zero"},
        {"Traceback (most recent call last):\n  File \"t.py\", line "
         "6\npy4j.protocol.Py4JJavaError: "
         "An error occurred while calling o1.load.\n: java.lang.ClassNotFoundException: no.such."
         "Format\n\tat org.apache.spark.X(Y.scala:1)\n",
            "ClassNotFoundException: no.such.Format"},
        {"", ""},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = {0};
        spark_cause(cases[i].text, &out);
        CHECK_STR(buf_cstr(&out), cases[i].cause);
    }
}

#define RAY_FAILED                                                                                 \
    "Job entrypoint command failed with exit code 1, last available logs (truncated to 20,000 "    \
    "chars):\n"

TEST(the_cause_in_a_rayjobs_message)
{
    static const struct {
        const char *text, *cause;
    } cases[] = {
        {RAY_FAILED "squares\nTraceback (most recent call last):\n  File \"t.py\", line 3\n"
                    "ValueError: no such column\n",
            "ValueError: no such column (Job entrypoint command failed with exit code 1)"},
        {RAY_FAILED "step 1\nsh: 1: train: not found\n\n",
            "sh: 1: train: not found (Job entrypoint command failed with exit code 1)"},
        {RAY_FAILED, "Job entrypoint command failed with exit code 1"},
        {"The RayJob has passed the activeDeadlineSeconds.\nx",
            "The RayJob has passed the activeDeadlineSeconds"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_BUF out = {0};
        ray_cause(cases[i].text, &out);
        CHECK_STR(buf_cstr(&out), cases[i].cause);
    }
}

TEST(what_goes_well_has_no_why)
{
    check_why("object: {kind: Job, status: {conditions: [{type: Complete, status: 'True'}]}}", NULL,
        NULL, NULL);
    check_why("object: {kind: Pod, spec: {containers: [{name: c}]}, status: {phase: Pending, "
              "containerStatuses: [{name: c, state: {waiting: {reason: ContainerCreating}}}]}}",
        NULL, NULL, NULL);
    check_why("object: {kind: ConfigMap, apiVersion: v1}", NULL, NULL, NULL);
}

static void check_needs(const char *object, const char *wanted)
{
    AUTO_JSON *o = tap_yaml(object);
    struct need needs[NEEDS_MAX];
    AUTO_BUF text = {0};
    size_t n = needs_of(o, needs);
    for (size_t i = 0; i < n; i++)
        buf_fmt(&text, "%s%lld %s %lldm %lldMi %s %lld %s %s", i ? "; " : "",
            (long long)needs[i].count, needs[i].role, (long long)needs[i].milli_cpu,
            (long long)(needs[i].bytes >> 20), needs[i].device ? needs[i].device : "-",
            (long long)needs[i].devices, needs[i].account ? needs[i].account : "-",
            needs[i].webhook ? needs[i].webhook : "-");
    CHECK_STR(buf_cstr(&text), wanted);
}

TEST(what_objects_ask_for)
{
    check_needs("{kind: Pod, spec: {serviceAccountName: s, containers: [{resources: {requests: "
                "{cpu: 250m, memory: 64Mi}}}, {resources: {limits: {cpu: 1, memory: 1Gi, "
                "nvidia.com/gpu: 2}}}], initContainers: [{resources: {requests: {cpu: 2}}}]}}",
        "1 pod 2000m 1088Mi nvidia.com/gpu 2 s -");
    check_needs("{kind: Job, spec: {parallelism: 3, template: {spec: {containers: [{}]}}}}",
        "3 pod 0m 0Mi - 0 - -");
    check_needs("{kind: Deployment, spec: {replicas: 2, template: {spec: {containers: [{resources: "
                "{requests: {cpu: 1.5}}}]}}}}",
        "2 pod 1500m 0Mi - 0 - -");
    check_needs(
        "{kind: MPIJob, spec: {mpiReplicaSpecs: {Launcher: {template: {spec: {containers: "
        "[{}]}}}, Worker: {replicas: 4, template: {spec: {containers: [{resources: {limits: "
        "{cpu: 1}}}]}}}}}}",
        "1 launcher 0m 0Mi - 0 - -; 4 worker 1000m 0Mi - 0 - -");
    // Spark adds overhead to memory: 0.4 of it for Python, 0.1 for the JVM, at least 384 MiB
    check_needs(
        "{kind: SparkApplication, spec: {type: Python, driver: {cores: 1, memory: 1g, "
        "serviceAccount: spark}, executor: {instances: 2, cores: 2, coreRequest: 500m, memory: "
        "512m, gpu: {name: nvidia.com/gpu, quantity: 1}}}}",
        "1 driver 1000m 1433Mi - 0 spark -; 2 executor 500m 896Mi nvidia.com/gpu 1 - gpu");
    check_needs("{kind: SparkApplication, spec: {type: Scala, driver: {memory: 10g, env: []}, "
                "executor: {memory: 1g, memoryOverhead: 1g, gpu: {name: x, quantity: 0}}}}",
        "1 driver 1000m 11264Mi - 0 - env; 1 executor 1000m 2048Mi - 0 - -");
    check_needs("{kind: ConfigMap}", "");
}

int main(void)
{
    return tap_run();
}
