// SPDX-License-Identifier: MIT
#include "k8s/client/state.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/container.h"
#include "k8s/client/rollout.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

// Where a kind keeps its state, and which words mean the end. All other kinds have conditions.
//  X(kind, path of the word, path of the cause, words of success, words of failure)
#define STATE_KINDS(X)                                                                             \
    X("SparkApplication", "status.applicationState.state", "status.applicationState.errorMessage", \
        "COMPLETED", "FAILED")                                                                     \
    X("Pod", "status.phase", "status.message", "Succeeded", "Failed")                              \
    X("Workflow", "status.phase", "status.message", "Succeeded", "Failed,Error")                   \
    X("Namespace", "status.phase", "status.message", "", "")                                       \
    X("PersistentVolumeClaim", "status.phase", "status.message", "", "Lost")

static const struct kind_state {
    const char *kind, *path, *cause, *good, *bad;
} kinds[] = {
#define X(kind, path, cause, good, bad) {kind, path, cause, good, bad},
    STATE_KINDS(X)
#undef X
};

// The states up to success, in order: an object in a later state has passed the earlier ones.
static const char *const ways[][5] = {
    {"SUBMITTED", "RUNNING", "SUCCEEDING", "COMPLETED", NULL},
    {"Pending", "ContainerCreating", "Running", "Succeeded", NULL},
    {"Created", "Running", "Succeeded", NULL},
    {"Running", "Complete", NULL},
};

static bool is_pod(const cJSON *object)
{
    return str_eq(json_str(object, "kind"), "Pod");
}

static const struct kind_state *kind_state(const cJSON *object)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(json_str(object, "kind"), kinds[i].kind))
            return &kinds[i];
    return NULL;
}

static bool in_list(const char *word, const char *list)
{
    char **words = strv_split(list, ',');
    bool found = false;
    for (char **w = words; *w; w++)
        found = found || (**w && str_eq(*w, word));
    strv_free(words);
    return found;
}

static const cJSON *true_condition(const cJSON *object, const char *type)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(object, "status.conditions"))
    {
        if (str_eq(json_str(c, "status"), "True") &&
            strcasecmp(json_str_or(c, "type", ""), type) == 0)
            return c;
    }
    return NULL;
}

// Jobs, MPIJobs, TrainJobs …: takes the most important condition.
static struct state from_conditions(const cJSON *object)
{
    static const struct {
        const char *type;
        enum outcome outcome;
    } order[] = {{"Failed", OUTCOME_BAD}, {"Complete", OUTCOME_GOOD}, {"Succeeded", OUTCOME_GOOD},
        {"Suspended", OUTCOME_OPEN}, {"Restarting", OUTCOME_OPEN}, {"Running", OUTCOME_OPEN},
        {"Available", OUTCOME_OPEN}, {"Ready", OUTCOME_OPEN}, {"Created", OUTCOME_OPEN}};
    struct state s = {0};
    for (size_t i = 0; i < ARRAY_LEN(order); i++) {
        const cJSON *c = true_condition(object, order[i].type);
        if (!c)
            continue;
        str_fit(s.text, sizeof s.text, order[i].type);
        s.outcome = order[i].outcome;
        s.cause = s.outcome == OUTCOME_BAD ? json_str(c, "message") : NULL;
        return s;
    }
    const char *phase = json_path_str(object, "status.phase");
    if (!phase)
        phase = json_int_or(json_get(object, "status"), "active", 0) > 0 ? "Running" : "";
    str_fit(s.text, sizeof s.text, phase);
    return s;
}

static bool ended_badly(const cJSON *status)
{
    return json_int_or(json_path(status, "state.terminated"), "exitCode", 0) != 0;
}

// The cause from the first container that ended badly: the pod's own status.message is usually
// empty.
static const char *pod_cause(const cJSON *pod)
{
    const cJSON *ended = json_path(container_first(pod, ended_badly), "state.terminated");
    const char *message = json_str(ended, "message");
    return message && *message ? message : json_str(ended, "reason");
}

// "Available" once its newest spec is rolled out, "Progressing" until then.
static struct state from_rollout(const cJSON *object, enum rollout rollout)
{
    struct state s = {0};
    str_fit(s.text, sizeof s.text, rollout == ROLLOUT_DONE ? "Available" : "Progressing");
    if (rollout == ROLLOUT_STUCK) {
        s.outcome = OUTCOME_BAD;
        s.cause = rollout_cause(object);
    }
    return s;
}

struct state state_of(const cJSON *object)
{
    const struct kind_state *k = kind_state(object);
    enum rollout rollout = rollout_of(object, NULL);
    if (rollout)
        return from_rollout(object, rollout);
    if (!k)
        return from_conditions(object);
    struct state s = {0};
    const char *word = json_path_str(object, k->path);
    str_fit(s.text, sizeof s.text, word ? word : "");
    s.outcome = in_list(s.text, k->good)  ? OUTCOME_GOOD
                : in_list(s.text, k->bad) ? OUTCOME_BAD
                                          : OUTCOME_OPEN;
    const char *cause = json_path_str(object, k->cause);
    s.cause = s.outcome != OUTCOME_BAD ? NULL : cause && *cause ? cause : pod_cause(object);
    if (is_pod(object) && s.outcome == OUTCOME_OPEN) {
        struct pod_row row;
        pod_row(object, &row);
        str_fit(s.text, sizeof s.text, row.status);
    }
    return s;
}

static int place(const char *const *way, const char *word)
{
    for (int i = 0; way[i]; i++)
        if (strcasecmp(way[i], word) == 0)
            return i;
    return -1;
}

// Of a pod that is over, the state is its phase: here the word that kubectl shows, "Completed".
static bool is_shown_as(const cJSON *object, const char *state)
{
    if (!is_pod(object))
        return false;
    struct pod_row row;
    pod_row(object, &row);
    return strcasecmp(row.status, state) == 0;
}

bool state_reached(const cJSON *object, const char *state)
{
    struct state s = state_of(object);
    const char *phase = json_path_str(object, "status.phase");
    if (rollout_of(object, NULL) && strcasecmp(state, "Available") == 0)
        return strcasecmp(s.text, state) == 0; // the condition is also that of an older spec
    if (strcasecmp(s.text, state) == 0 || (phase && strcasecmp(phase, state) == 0) ||
        true_condition(object, state) || is_shown_as(object, state))
        return true;
    for (size_t i = 0; i < ARRAY_LEN(ways); i++) {
        int wanted = place(ways[i], state), is = place(ways[i], s.text);
        if (wanted >= 0 && is > wanted)
            return true;
    }
    return false;
}

// What `kubectl get pods` shows: phases, reasons of waiting and ended containers (kubelet's and
// container runtimes'), reasons of pods; and the conditions of pods.
static const char pod_states[] =
    "Running, Pending, Succeeded, Failed, Unknown, Completed, Terminating, ContainerCreating, "
    "PodInitializing, CrashLoopBackOff, ImagePullBackOff, ErrImagePull, ErrImageNeverPull, "
    "InvalidImageName, ImageInspectError, RegistryUnavailable, SignatureValidationFailed, "
    "CreateContainerConfigError, CreateContainerError, RunContainerError, StartError, "
    "PreStartHookError, PostStartHookError, ContainerCannotRun, ContainerStatusUnknown, Error, "
    "OOMKilled, DeadlineExceeded, Evicted, NodeLost, NodeAffinity, NodeShutdown, Preempting, "
    "Shutdown, TopologyAffinityError, UnexpectedAdmissionError, SchedulingGated, NotReady, Ready, "
    "ContainersReady, PodScheduled, Initialized, PodReadyToStartContainers, DisruptionTarget, "
    "PodResizePending, PodResizeInProgress";
static const char *const pod_state_starts[] = {"Init:", "Signal:", "ExitCode:", "OutOf"};

static const struct {
    const char *kind, *states;
} known[] = {
    {"Pod", pod_states},
    {"SparkApplication",
        "NEW, SUBMITTED, PENDING_SUBMISSION, RUNNING, SUCCEEDING, COMPLETED, FAILING, FAILED, "
        "SUBMISSION_FAILED, PENDING_RERUN, INVALIDATING, SUSPENDING, SUSPENDED, RESUMING, UNKNOWN"},
    {"Job", "Running, Suspended, SuccessCriteriaMet, Complete, FailureTarget, Failed"},
    {"Workflow", "Pending, Running, Succeeded, Failed, Error"},
    {"MPIJob", "Created, Running, Restarting, Suspended, Succeeded, Failed"},
    {"Namespace", "Active, Terminating"},
    {"PersistentVolumeClaim", "Pending, Bound, Lost"},
    {"Deployment", "Available, Progressing, ReplicaFailure"},
    {"StatefulSet", "Available, Progressing"},
    {"DaemonSet", "Available, Progressing"},
};

const char *state_names(const cJSON *object)
{
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq(json_str(object, "kind"), known[i].kind))
            return known[i].states;
    return NULL;
}

bool state_may_be_another(const cJSON *object)
{
    return is_pod(object) || !state_names(object);
}

static bool starts_as_of_a_pod(const char *state)
{
    for (size_t i = 0; i < ARRAY_LEN(pod_state_starts); i++)
        if (strncasecmp(state, pod_state_starts[i], strlen(pod_state_starts[i])) == 0)
            return true;
    return false;
}

static char **words_of(const char *names)
{
    char **words = strv_split(names ? names : "", ',');
    for (char **w = words; *w; w++)
        memmove(*w, *w + strspn(*w, " "), strlen(*w + strspn(*w, " ")) + 1);
    return words;
}

bool state_exists(const cJSON *object, const char *state)
{
    const char *names = state_names(object);
    bool found =
        !names || state_reached(object, state) || (is_pod(object) && starts_as_of_a_pod(state));
    const cJSON *condition;
    cJSON_ArrayForEach(condition, json_path(object, "status.conditions"))
    {
        found = found || strcasecmp(json_str_or(condition, "type", ""), state) == 0;
    }
    char **words = words_of(names);
    for (char **w = words; *w && !found; w++)
        found = strcasecmp(*w, state) == 0;
    strv_free(words);
    return found;
}

char *state_nearest(const cJSON *object, const char *state)
{
    char **words = words_of(state_names(object));
    char *near = mem_strdup(str_nearest(state, (const char *const *)words));
    strv_free(words);
    return near;
}
