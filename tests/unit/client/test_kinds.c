// SPDX-License-Identifier: MIT
// The table of kinds: states as operators write them, kinds of one name in two groups, pods and
// their roles, and what a person adds in a file.
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/state/need.h"
#include "k8s/client/state/state.h"
#include "tests/support/tap.h"

#include <stdlib.h>
#include <string.h>

#define RAY               "apiVersion: ray.io/v1, kind: RayJob"
#define RAYCLUSTER        "apiVersion: ray.io/v1, kind: RayCluster"
#define RAYSERVICE        "apiVersion: ray.io/v1, kind: RayService"
#define JOBSET            "apiVersion: jobset.x-k8s.io/v1alpha2, kind: JobSet"
#define TRAIN             "apiVersion: trainer.kubeflow.org/v1alpha1, kind: TrainJob"
#define VOLCANO           "apiVersion: batch.volcano.sh/v1alpha1, kind: Job"
#define JOB               "apiVersion: batch/v1, kind: Job"
#define TORCH             "apiVersion: kubeflow.org/v1, kind: PyTorchJob"
#define APACHE            "apiVersion: spark.apache.org/v1, kind: SparkApplication"
#define KUBEFLOW          "apiVersion: sparkoperator.k8s.io/v1beta2, kind: SparkApplication"
#define KSERVE            "apiVersion: serving.kserve.io/v1beta1, kind: InferenceService"
#define WORKLOAD          "apiVersion: kueue.x-k8s.io/v1beta2, kind: Workload"
#define QUEUE             "apiVersion: kueue.x-k8s.io/v1beta2, kind: ClusterQueue"
#define OTHER             "apiVersion: acme.io/v1, kind: Thing"
#define IS(type, more)    "status: {conditions: [{type: " type ", status: 'True'" more "}]}"
#define ISNOT(type, more) "status: {conditions: [{type: " type ", status: 'False'" more "}]}"

TEST(states_of_every_kind)
{
    static const struct {
        const char *object, *state;
        enum outcome outcome;
        const char *cause;
    } cases[] = {
        {RAY ", status: {jobDeploymentStatus: Initializing}", "Initializing", OUTCOME_OPEN, NULL},
        {RAY ", status: {jobDeploymentStatus: Running, jobStatus: PENDING}", "PENDING",
            OUTCOME_OPEN, NULL},
        {RAY ", status: {jobDeploymentStatus: Complete, jobStatus: SUCCEEDED}", "SUCCEEDED",
            OUTCOME_GOOD, NULL},
        {RAY ", status: {jobStatus: FAILED, message: it broke}", "FAILED", OUTCOME_BAD, "it broke"},
        {RAY ", status: {jobDeploymentStatus: Failed, reason: DeadlineExceeded}", "Failed",
            OUTCOME_BAD, "DeadlineExceeded"},
        {RAY ", status: {jobDeploymentStatus: Retrying, jobStatus: FAILED}", "Retrying",
            OUTCOME_OPEN, NULL},
        {RAY ", status: {jobDeploymentStatus: Running, jobStatus: FAILED}", "FAILED", OUTCOME_OPEN,
            NULL}, // its submitter still prints; backoffLimit may try again
        {RAY ", status: {jobDeploymentStatus: Failed, jobStatus: FAILED, message: it broke}",
            "FAILED", OUTCOME_BAD, "it broke"},
        {RAY ", status: {jobDeploymentStatus: Suspended}", "Suspended", OUTCOME_OPEN, NULL},
        {RAYCLUSTER ", " IS("ReplicaFailure", ", message: exceeded quota"), "ReplicaFailure",
            OUTCOME_OPEN, NULL},
        {RAYSERVICE ", status: {conditions: [{type: Ready, status: 'False', reason: "
                    "InitializingTimeout, message: too slow}]}",
            "InitializingTimeout", OUTCOME_BAD, "too slow"},
        {RAYSERVICE
            ", status: {conditions: [{type: Ready, status: 'False', reason: Initializing}]}",
            "Initializing", OUTCOME_OPEN, NULL},
        {RAYSERVICE
            ", status: {serviceStatus: Running, conditions: [{type: Ready, status: 'True'}]}",
            "Running", OUTCOME_OPEN, NULL},
        {RAY ", status: {jobDeploymentStatus: Complete, jobStatus: STOPPED}", "STOPPED",
            OUTCOME_BAD, NULL},
        {JOBSET ", status: {replicatedJobsStatus: [{name: a, active: 0}, {name: b, active: 1}]}",
            "Running", OUTCOME_OPEN, NULL},
        {JOBSET ", " IS("Completed", ""), "Completed", OUTCOME_GOOD, NULL},
        {JOBSET ", " IS("Failed", ", message: jobset failed"), "Failed", OUTCOME_BAD,
            "jobset failed"},
        {TRAIN ", status: {jobsStatus: [{name: node, active: 1}], conditions: [{type: Suspended, "
               "status: 'False'}]}",
            "Running", OUTCOME_OPEN, NULL},
        {TRAIN ", " IS("Suspended", ""), "Suspended", OUTCOME_OPEN, NULL},
        {TRAIN ", " IS("Complete", ""), "Complete", OUTCOME_GOOD, NULL},
        {VOLCANO ", status: {state: {phase: Completed}}", "Completed", OUTCOME_GOOD, NULL},
        {VOLCANO ", status: {state: {phase: Aborted, message: by hand}}", "Aborted", OUTCOME_BAD,
            "by hand"},
        {VOLCANO ", status: {state: {phase: Pending}}", "Pending", OUTCOME_OPEN, NULL},
        {JOB ", status: {active: 1}", "Running", OUTCOME_OPEN, NULL},
        {TORCH ", " IS("Failed", ", message: a worker failed"), "Failed", OUTCOME_BAD,
            "a worker failed"},
        {KUBEFLOW ", status: {applicationState: {state: COMPLETED}}", "COMPLETED", OUTCOME_GOOD,
            NULL},
        {APACHE ", status: {currentState: {currentStateSummary: RunningHealthy}}", "RunningHealthy",
            OUTCOME_OPEN, NULL},
        {APACHE ", status: {currentState: {currentStateSummary: DriverEvicted, message: gone}}",
            "DriverEvicted", OUTCOME_BAD, "gone"},
        {APACHE ", spec: {applicationTolerations: {restartConfig: {restartPolicy: OnFailure}}}, "
                "status: {currentState: {currentStateSummary: Failed}}",
            "Failed", OUTCOME_OPEN, NULL},
        {APACHE ", status: {currentState: {currentStateSummary: ResourceReleased}, "
                "stateTransitionHistory: {'0': {currentStateSummary: Submitted}, '10': "
                "{currentStateSummary: ResourceReleased}, '9': {currentStateSummary: Succeeded}, "
                "'4': {currentStateSummary: Failed}}}",
            "Succeeded", OUTCOME_GOOD, NULL},
        {KSERVE ", " IS("Ready", ""), "Ready", OUTCOME_OPEN, NULL},
        {KSERVE ", status: {modelStatus: {transitionStatus: InvalidSpec, lastFailureInfo: "
                "{message: no such format}}}",
            "InvalidSpec", OUTCOME_BAD, "no such format"},
        {WORKLOAD ", " ISNOT("QuotaReserved", ", reason: Pending"), "Pending", OUTCOME_OPEN, NULL},
        {WORKLOAD ", " ISNOT("QuotaReserved", ", reason: Inadmissible"), "Inadmissible",
            OUTCOME_OPEN, NULL},
        {WORKLOAD ", " IS("Admitted", ""), "Admitted", OUTCOME_OPEN, NULL},
        {WORKLOAD ", " IS("Evicted", ", reason: Deactivated"), "Deactivated", OUTCOME_OPEN, NULL},
        {WORKLOAD ", " IS("Finished", ", reason: Succeeded"), "Finished", OUTCOME_GOOD, NULL},
        {WORKLOAD ", " IS("Finished", ", reason: Failed, message: job failed"), "Failed",
            OUTCOME_BAD, "job failed"},
        {QUEUE ", " ISNOT("Active", ", reason: Stopped"), "Inactive", OUTCOME_OPEN, NULL},
        {OTHER ", status: {phase: Succeeded}", "Succeeded", OUTCOME_GOOD, NULL},
        {OTHER ", status: {phase: Failed, message: so it is}", "Failed", OUTCOME_BAD, "so it is"},
        {OTHER ", status: {phase: Parked}", "Parked", OUTCOME_OPEN, NULL},
        {OTHER ", status: {state: {a: 1}}", "", OUTCOME_OPEN, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text = str_fmt("{%s}", cases[i].object);
        AUTO_JSON *object = tap_yaml(text);
        struct state s = state_of(object);
        CHECK_STR(s.text, cases[i].state);
        CHECK_INT(s.outcome, cases[i].outcome);
        CHECK_STR(s.cause ? s.cause : "", cases[i].cause ? cases[i].cause : "");
    }
}

TEST(states_that_are_waited_for)
{
    AUTO_JSON *pending =
        tap_yaml("{" RAY ", status: {jobDeploymentStatus: Running, jobStatus: PENDING}}");
    AUTO_JSON *done =
        tap_yaml("{" RAY ", status: {jobDeploymentStatus: Complete, jobStatus: SUCCEEDED}}");
    AUTO_JSON *volcano = tap_yaml("{" VOLCANO ", status: {state: {phase: Running}}}");
    AUTO_JSON *set = tap_yaml("{" JOBSET ", " IS("Completed", "") "}");
    CHECK(state_reached(pending, "Running") &&
          !state_reached(pending, "RUNNING")); // the cluster's, the job's
    CHECK(state_reached(done, "Complete") && state_reached(done, "SUCCEEDED"));
    CHECK(state_reached(done, "RUNNING") && state_reached(done, "succeeded"));
    CHECK(state_exists(volcano, "Completed") && !state_exists(volcano, "Complete"));
    CHECK(state_reached(volcano, "Pending") && !state_reached(volcano, "Completed"));
    CHECK(state_reached(set, "Running") && !state_exists(set, "Complete"));
    AUTO_FREE char *near = state_nearest(set, "Complete");
    CHECK_STR(near, "Completed");
}

TEST(pods_and_what_they_are)
{
    static const struct {
        const char *object, *pods;
    } cases[] = {
        {TRAIN ", metadata: {name: t}", "jobset.sigs.k8s.io/jobset-name=t"},
        {VOLCANO ", metadata: {name: v, namespace: n}",
            "volcano.sh/job-name=v,volcano.sh/job-namespace=n"},
        {JOB ", metadata: {name: j}", "batch.kubernetes.io/job-name=j"},
        {JOB ", metadata: {name: j}, spec: {selector: {matchLabels: {a: b}}}", "a=b"},
        {APACHE ", metadata: {name: s}", "spark-app-name=s"},
        {KUBEFLOW ", metadata: {name: s}", "sparkoperator.k8s.io/app-name=s"},
        {RAY ", metadata: {name: r}", NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text = str_fmt("{%s}", cases[i].object);
        AUTO_JSON *object = tap_yaml(text);
        AUTO_FREE char *pods = known_pods(object);
        CHECK_STR(pods ? pods : "", cases[i].pods ? cases[i].pods : "");
    }
    AUTO_JSON *head = tap_yaml("{kind: Pod, metadata: {labels: {ray.io/node-type: head}}}");
    AUTO_JSON *plain = tap_yaml("{kind: Pod, metadata: {labels: {component: etcd}}}");
    CHECK_STR(known_role(head), "head");
    CHECK(known_is_main(head) && !known_is_main(plain) && !known_role(plain));
}

#define TEMPLATE(cpu) "{spec: {containers: [{name: c, resources: {requests: {cpu: " cpu "}}}]}}"

TEST(what_they_ask_for)
{
    static const struct {
        const char *object;
        int64_t count, milli;
        const char *role;
    } cases[] = {
        {JOBSET
            ", spec: {replicatedJobs: [{name: a, replicas: 2, template: {spec: {parallelism: 3, "
            "template: " TEMPLATE("2") "}}}]}",
            6, 2000, "pod"},
        {TORCH
            ", spec: {pytorchReplicaSpecs: {Worker: {replicas: 4, template: " TEMPLATE("1") "}}}",
            4, 1000, "worker"},
        {VOLCANO ", spec: {tasks: [{replicas: 5, template: " TEMPLATE("100m") "}]}", 5, 100, "pod"},
        {RAY ", spec: {rayClusterSpec: {headGroupSpec: {template: " TEMPLATE("500m") "}}}", 1, 500,
            "head"},
    };
    struct need needs[NEEDS_MAX];
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        AUTO_FREE char *text = str_fmt("{%s}", cases[i].object);
        AUTO_JSON *object = tap_yaml(text);
        CHECK_INT(needs_of(object, needs), 1);
        CHECK_INT(needs[0].count, cases[i].count);
        CHECK_INT(needs[0].milli_cpu, cases[i].milli);
        CHECK_STR(needs[0].role, cases[i].role);
    }
    AUTO_JSON *two =
        tap_yaml("{" JOBSET ", spec: {replicatedJobs: [{template: {spec: {template: " TEMPLATE(
            "1") "}}}, {template: {spec: {template: " TEMPLATE("2") "}}}]}}");
    CHECK_INT(needs_of(two, needs), 2);
    AUTO_JSON *apache =
        tap_yaml("{" APACHE ", spec: {driver: {cores: 4}}}"); // not the other one's fields
    CHECK_INT(needs_of(apache, needs), 0);
}

static int add(const char *text, err *e)
{
    return known_add(text, strlen(text), "kinds.yaml", e);
}

TEST(a_person_adds_kinds)
{
    err e = {0};
    CHECK_INT(add("kinds:\n"
                  "  Experiment.acme.io:\n"
                  "    words: status.stage\n"
                  "    good: [Done]\n"
                  "    bad: Broken, Lost=!Healthy\n"
                  "    message: [status.note, status.reason]\n"
                  "    pods: acme.io/experiment={metadata.name}\n"
                  "    columns: {EPOCH: status.epoch, STATE: '@state'}\n"
                  "    endless: true\n"
                  "  Job.batch:\n"
                  "    columns: [TEAM=metadata.labels.team]\n",
                  &e),
        0);
    CHECK_STR(e.text, "");
    AUTO_JSON *lost =
        tap_yaml("{apiVersion: acme.io/v1, kind: Experiment, metadata: {name: x}, status: {stage: "
                 "Works, note: a wire, conditions: [{type: Healthy, status: 'False'}]}}");
    AUTO_JSON *job = tap_yaml("{" JOB ", metadata: {name: j}, " IS("Failed", "") "}");
    struct state s = state_of(lost);
    CHECK_STR(s.text, "Lost");
    CHECK_INT(s.outcome, OUTCOME_BAD);
    CHECK_STR(s.cause, "a wire");
    AUTO_FREE char *pods = known_pods(lost);
    CHECK_STR(pods, "acme.io/experiment=x");
    CHECK(!state_exists(lost, "Ready") && state_exists(lost, "Done"));
    CHECK_INT(state_of(job).outcome, OUTCOME_BAD); // what it does not name stays
    CHECK_STR(known_of(job)->columns, "TEAM=metadata.labels.team");
    known_forget();
    CHECK(!known_of(lost) && !known_of(job)->columns);
}

TEST(a_person_s_file_is_checked)
{
    static const struct {
        const char *text, *error;
    } cases[] = {
        {"kinds:\n  Thing.a.io:\n    god: [X]\n",
            "kinds.yaml:3: Thing.a.io: there is no field \"god\"; did you mean good"},
        {"kinds:\n  thing.a.io: {good: X}\n", "kinds.yaml:2: \"thing.a.io\" is no kind: write "
                                              "KIND.GROUP, as TrainJob.trainer.kubeflow.org"},
        {"kinds:\n  Thing.a.io:\n    words: .status.phase\n",
            "kinds.yaml:3: Thing.a.io: \".status.phase\" is no path: write names with dots "
            "between, as status.phase"},
        {"kinds:\n  Thing.a.io:\n    open: status.active>0\n",
            "kinds.yaml:3: Thing.a.io: \"status.active>0\" needs a name: write "
            "Running=status.active>0"},
        {"kinds:\n  Thing.a.io:\n    good: X\n    endless: often\n",
            "kinds.yaml:4: Thing.a.io: endless is true or false"},
        {"kinds:\n  Thing.a.io:\n    pods: app\n",
            "kinds.yaml:3: Thing.a.io: \"app\" is no label with a value: write "
            "acme.io/job={metadata.name}, or selector"},
        {"kinds:\n  Thing.a.io:\n    makes: jobs\n",
            "kinds.yaml:3: Thing.a.io: \"jobs\" is no resource with its group: write jobs.batch, "
            "as kubectl api-resources "
            "has them"},
        {"kinds:\n  Thing.a.io:\n",
            "kinds.yaml:2: Thing.a.io has no fields: write words, good, bad, pods, …"},
        {"things: 1\n",
            "kinds.yaml: one mapping \"kinds\" is expected, of which each key is KIND.GROUP"},
        {"kinds: {Thing.a.io: {good: [1]}}\n",
            "kinds.yaml:1: Thing.a.io: what is in good has to be texts"},
        {"kinds: [\n", "kinds.yaml: line 2, column 1: "},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        err e = {0};
        CHECK_INT(add(cases[i].text, &e), -1);
        CHECK(str_starts(e.text, cases[i].error));
        if (!str_starts(e.text, cases[i].error))
            CHECK_STR(e.text, cases[i].error);
    }
    known_forget();
}

TEST(the_page_names_every_kind)
{
    AUTO_FREE char *path = path_join(getenv("FIRESTEEL_SOURCE"), "doc/engines.md");
    AUTO_BUF page = {0};
    const struct known *row;
    CHECK_INT(path_read(path, &page, 1 << 20, NULL), 0);
    for (size_t i = 0; (row = known_at(i)); i++) {
        AUTO_FREE char *name =
            str_fmt("`%s%s%s`", row->kind, row->group ? "." : "", row->group ? row->group : "");
        CHECK_STR(strstr(buf_cstr(&page), name) ? name : "not in doc/engines.md", name);
    }
}

int main(void)
{
    return tap_run();
}
