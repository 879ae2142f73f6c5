// SPDX-License-Identifier: MIT
#include "k8s/client/state/rollout.h"

#include "base/str.h"
#include "k8s/client/kinds/known.h"

static int64_t count(const cJSON *object, const char *key)
{
    return json_int_or(object, key, 0);
}

// Says "N of M WORDS" and goes on while there are fewer than there should be.
static bool fewer(int64_t n, int64_t of, const char *what, buf *words)
{
    if (n >= of)
        return false;
    if (words)
        buf_fmt(words, "%lld of %lld %s", (long long)n, (long long)of, what);
    return true;
}

static const cJSON *stuck(const cJSON *deployment)
{
    const cJSON *c;
    cJSON_ArrayForEach(c, json_path(deployment, "status.conditions"))
    {
        if (str_eq(json_str(c, "type"), "Progressing") &&
            str_eq(json_str(c, "reason"), "ProgressDeadlineExceeded"))
            return c;
    }
    return NULL;
}

static bool unseen(const cJSON *object, buf *words)
{
    int64_t wanted = count(json_get(object, "metadata"), "generation");
    if (count(json_get(object, "status"), "observedGeneration") >= wanted)
        return false;
    if (words)
        buf_str(words, "the change of its spec has not been seen yet");
    return true;
}

static enum rollout deployment(const cJSON *object, buf *words)
{
    const cJSON *status = json_get(object, "status");
    int64_t wanted = json_int_or(json_get(object, "spec"), "replicas", 1);
    int64_t all = count(status, "replicas"), updated = count(status, "updatedReplicas");
    if (unseen(object, words))
        return ROLLOUT_GOES_ON;
    if (stuck(object))
        return ROLLOUT_STUCK;
    if (fewer(updated, wanted, "new replicas have been updated", words))
        return ROLLOUT_GOES_ON;
    if (all > updated) {
        if (words)
            buf_fmt(words, "%lld old replicas have not ended yet", (long long)(all - updated));
        return ROLLOUT_GOES_ON;
    }
    return fewer(
               count(status, "availableReplicas"), updated, "updated replicas are available", words)
               ? ROLLOUT_GOES_ON
               : ROLLOUT_DONE;
}

static enum rollout daemons(const cJSON *object, buf *words)
{
    const cJSON *status = json_get(object, "status");
    int64_t wanted = count(status, "desiredNumberScheduled");
    bool goes_on =
        unseen(object, words) ||
        fewer(
            count(status, "updatedNumberScheduled"), wanted, "new pods have been updated", words) ||
        fewer(count(status, "numberAvailable"), wanted, "updated pods are available", words);
    return goes_on ? ROLLOUT_GOES_ON : ROLLOUT_DONE;
}

// Pods from the partition on are updated; with OnDelete, which nobody rolls out, none has to be.
static enum rollout stateful(const cJSON *object, buf *words)
{
    const cJSON *status = json_get(object, "status"), *spec = json_get(object, "spec");
    int64_t wanted = json_int_or(spec, "replicas", 1);
    int64_t kept = json_int_or(json_path(spec, "updateStrategy.rollingUpdate"), "partition", 0);
    bool by_hand = str_eq(json_path_str(spec, "updateStrategy.type"), "OnDelete");
    const char *current = json_str(status, "currentRevision"),
               *newest = json_str(status, "updateRevision");
    if (unseen(object, words) ||
        fewer(count(status, "readyReplicas"), wanted, "pods are ready", words))
        return ROLLOUT_GOES_ON;
    if (by_hand || str_eq(current, newest))
        return ROLLOUT_DONE;
    return fewer(count(status, "updatedReplicas"), wanted - kept, "pods have been updated", words)
               ? ROLLOUT_GOES_ON
           : kept ? ROLLOUT_DONE
                  : ROLLOUT_GOES_ON;
}

enum rollout rollout_of(const cJSON *object, buf *words)
{
    if (known_is(object, "apps", "Deployment"))
        return deployment(object, words);
    if (known_is(object, "apps", "DaemonSet"))
        return daemons(object, words);
    return known_is(object, "apps", "StatefulSet") ? stateful(object, words) : ROLLOUT_NONE;
}

const char *rollout_cause(const cJSON *object)
{
    return json_str(stuck(object), "message");
}
