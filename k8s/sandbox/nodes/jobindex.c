// SPDX-License-Identifier: MIT
#include "k8s/sandbox/nodes/jobindex.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/sandbox/store/object.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_MOST = 50 }; // bytes of a Job's name in that of a pod, whose names have 63 at most

#define INDEX "batch.kubernetes.io/job-completion-index"

bool jobindex_is_indexed(const cJSON *job)
{
    return str_eq(json_path_str(job, "spec.completionMode"), "Indexed");
}

// "1,3-5": the numbers are ours, or those of somebody who wrote the status.
static void set_all(struct jobindex *x, const char *text)
{
    while (*text) {
        char *end;
        int64_t from = strtoll(text, &end, 10),
                to = *end == '-' ? strtoll(end + 1, &end, 10) : from;
        for (int64_t i = from < 0 ? 0 : from; i <= to && i < x->n; i++)
            x->states[i] = 'd';
        text = *end ? end + 1 : end;
    }
}

void jobindex_init(struct jobindex *x, const cJSON *job)
{
    int64_t n = json_int_or(json_get(job, "spec"), "completions", 1);
    x->n = n < 0 ? 0 : n > JOBINDEX_MOST ? JOBINDEX_MOST : n;
    x->states = mem_alloc((size_t)x->n + 1);
    memset(x->states, '.', (size_t)x->n);
    set_all(x, json_str_or(json_get(job, "status"), "completedIndexes", ""));
}

void jobindex_done(struct jobindex *x)
{
    free(x->states);
}

void jobindex_add(struct jobindex *x, const cJSON *pod)
{
    int64_t index;
    const char *text = object_annotation(pod, INDEX), *phase = json_path_str(pod, "status.phase");
    if (!text || !str_to_int(text, &index) || index < 0 || index >= x->n ||
        x->states[index] == 'd' || str_eq(phase, "Failed"))
        return;
    x->states[index] = str_eq(phase, "Succeeded") ? 'd' : 'a';
}

int64_t jobindex_succeeded(const struct jobindex *x)
{
    int64_t n = 0;
    for (int64_t i = 0; i < x->n; i++)
        n += x->states[i] == 'd';
    return n;
}

int64_t jobindex_take(struct jobindex *x)
{
    char *at = memchr(x->states, '.', (size_t)x->n);
    if (!at)
        return -1;
    *at = 'a';
    return at - x->states;
}

void jobindex_text(const struct jobindex *x, buf *out)
{
    for (int64_t i = 0; i < x->n; i++) {
        if (x->states[i] != 'd')
            continue;
        int64_t last = i;
        while (last + 1 < x->n && x->states[last + 1] == 'd')
            last++;
        buf_fmt(out, "%s%lld", out->len ? "," : "", (long long)i);
        if (last > i)
            buf_fmt(out, "%c%lld", last == i + 1 ? ',' : '-', (long long)last);
        i = last;
    }
}

static void add_variable(cJSON *containers)
{
    cJSON *container;
    cJSON_ArrayForEach(container, containers)
    {
        cJSON *entry = cJSON_CreateObject();
        json_set_str(entry, "name", "JOB_COMPLETION_INDEX");
        cJSON *ref = json_object_at(json_object_at(entry, "valueFrom"), "fieldRef");
        json_set_str(ref, "apiVersion", "v1");
        json_set_str(ref, "fieldPath", "metadata.labels['" INDEX "']");
        cJSON_AddItemToArray(json_array_at(container, "env"), entry);
    }
}

void jobindex_mark(cJSON *pod, const cJSON *job, int64_t index)
{
    cJSON *metadata = json_object_at(pod, "metadata"), *spec = json_object_at(pod, "spec");
    AUTO_FREE char *text = str_fmt("%lld", (long long)index);
    AUTO_FREE char *base = mem_strndup(object_name(job), NAME_MOST);
    AUTO_FREE char *host = str_fmt("%s-%s", base, text);
    AUTO_FREE char *prefix = str_fmt("%s-", host);
    const char *suffix = strrchr(json_str_or(metadata, "name", ""), '-');
    AUTO_FREE char *name = str_fmt("%s%s", host, suffix ? suffix : "");
    json_set_str(metadata, "name", name);
    json_set_str(metadata, "generateName", prefix);
    json_set_str(json_object_at(metadata, "annotations"), INDEX, text);
    object_set_label(pod, INDEX, text);
    if (!json_str(spec, "hostname"))
        json_set_str(spec, "hostname", host);
    add_variable((cJSON *)json_get(spec, "containers"));
    add_variable((cJSON *)json_get(spec, "initContainers"));
}
