// SPDX-License-Identifier: MIT
#include "script/api/k8s/training.h"

#include "base/clock.h"
#include "base/mem.h"
#include "k8s/client/logs/tail.h"
#include "script/api/trainer/training.h"

// If a log has so many bytes without a training event, it is not a trainer's.
enum { UNMARKED_MAX = 8 << 20 };

struct job_training {
    display *beside, *shown;
    tail *tail;
    training *training;
    struct pods_of pods;
    char *ns;
    size_t unmarked;
};

static void stop(job_training *t)
{
    tail_close(STEAL(t->tail));
    if (t->shown)
        display_close(STEAL(t->shown), training_bundle(t->training));
}

static void on_end(void *arg)
{
    stop(arg);
}

static void show(job_training *t)
{
    cJSON *data = training_bundle(t->training);
    if (t->shown) {
        display_replace(t->shown, data);
        return;
    }
    t->shown = display_beside(t->beside, data);
    display_on_end(t->shown, on_end, NULL, t);
    tail_finish(t->tail); // this is the pod; the training ends with its log
}

static void on_line(void *arg, enum log_kind kind, const char *text, size_t n)
{
    job_training *t = arg;
    double now = (double)clock_mono() / (double)CLOCK_SEC;
    if (training_read(t->training, text, n, now) != SAID_NOTHING) {
        if (training_is_told(t->training))
            show(t);
        return;
    }
    t->unmarked += n;
    if (!t->shown && t->unmarked > UNMARKED_MAX)
        tail_close(STEAL(t->tail));
}

static void on_done(void *arg, const err *e)
{
    job_training *t = arg;
    t->tail = NULL;
    stop(t);
}

static const struct tail_ops callbacks = {.line = on_line, .done = on_done};

job_training *job_training_open(client *c, display *beside, const char *ns, struct pods_of *pods)
{
    job_training *t = mem_alloc(sizeof *t);
    *t = (job_training){
        .beside = beside, .training = training_new(), .pods = *pods, .ns = mem_strdup(ns)};
    *pods = (struct pods_of){0};
    t->tail = tail_open(c,
        &(struct tail_spec){
            .ns = t->ns, .pod = t->pods.pod, .labels = t->pods.labels, .follow = true, .tail = -1},
        &callbacks, t, NULL);
    return t;
}

void job_training_close(job_training *t)
{
    if (!t)
        return;
    stop(t);
    training_free(t->training);
    k8s_pods_done(&t->pods);
    free(t->ns);
    free(t);
}
