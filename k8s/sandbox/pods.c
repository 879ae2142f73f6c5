// SPDX-License-Identifier: MIT
#include "k8s/sandbox/pods.h"

#include "base/mem.h"
#include "k8s/sandbox/nodes/job.h"
#include "k8s/sandbox/nodes/kubelet.h"
#include "k8s/sandbox/spark/sparkapp.h"
#include "k8s/sandbox/spark/sparkschedule.h"

struct pods {
    kubelet *kubelet;
    jobs *jobs;
    sparkapps *sparkapps;
    sparkschedules *sparkschedules;
};

pods *pods_open(sandbox *s, const struct pods_options *o, err *e)
{
    pods *p = mem_alloc(sizeof *p);
    if (!(p->kubelet = kubelet_open(s, o, e))) {
        free(p);
        return NULL;
    }
    p->jobs = jobs_open(s);
    p->sparkapps = sparkapps_open(s, o);
    p->sparkschedules = sparkschedules_open(s);
    return p;
}

void pods_close(pods *p)
{
    if (!p)
        return;
    sparkschedules_close(p->sparkschedules);
    sparkapps_close(p->sparkapps);
    jobs_close(p->jobs);
    kubelet_close(p->kubelet);
    free(p);
}
