// SPDX-License-Identifier: MIT
// The pod and the container that a call means which goes into one (exec, attach, port-forward, cp):
// the pod itself, or one that runs of a Deployment, a Service, a Job and so on, as kubectl takes
// it.
#pragma once
#include "script/api/k8s/k8s.h"

struct pod_choice {
    struct target target;              // of what was named
    cJSON *object;                     // what was named
    cJSON *pod;                        // the pod: the same object, or another
    const char *name, *ns, *container; // borrowed from these
};
// {"kind", "name", "container"}. Says on the call's stderr which container it took when none is
// named and there are several. Errors: no such pod or container, a pod that has ended, none that
// runs.
int k8s_pod_of(call *c, const cJSON *args, struct pod_choice *out, err *e);
// The same of an object that was read already (taken; NULL: an error that is set), without a call.
// note: gets a line when a container was chosen among several.
int k8s_pod_choose(const struct target *t, cJSON *object, const char *container, buf *note,
    struct pod_choice *out, err *e);
void k8s_pod_done(struct pod_choice *p);
// The object if it is a pod, in any state, else a pod of it that runs; new.
cJSON *k8s_pod_for(struct target *t, const cJSON *object, err *e);
// containers.c. The containers of a pod as a table; each row stands for its pod.
int k8s_show_containers(call *c, const char *context, const cJSON *pod, cJSON **result);
// Does the server have this subresource of pods, "exec" or "portforward"? -1: it has none, which a
// person is told before they are asked.
int k8s_pods_can(struct target *t, const char *sub, err *e);
// For messages: "pod web-0 in namespace default"; new.
char *k8s_pod_text(const struct pod_choice *p);

// forward.c. A port as people write it: "8080:80", "8080" (both), ":80" and "0:80" (a free one
// here), "http", "8080:http"; of a Service its own, and where that leads. *here 0: a free one.
int k8s_pod_port(const struct pod_choice *p, const char *word, int *here, int *remote, err *e);
