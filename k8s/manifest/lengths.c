// SPDX-License-Identifier: MIT
// Names and labels that a server takes, and that are too long for what its controllers make of
// them: then nothing is made, and the reason stands in an event, or in a log of the controller.
#include "base/mem.h"
#include "base/str.h"
#include "k8s/manifest/manifest.h"

#include <string.h>

enum { LABEL_MOST = 63, PREFIX_MOST = 253, NAME_MOST = 253, GENERATED = 5 };

// The longest name of a kind of a group, and what is made of it.
static const struct {
    const char *group, *kind;
    size_t most;
    const char *made;
} kinds[] = {
    {"batch", "Job", 63, "its pods have it as a label"},
    {"batch", "CronJob", 52, "its jobs have it with a time behind it"},
    {"apps", "StatefulSet", 52, "its pods have it with a hash behind it as a label"},
    {"", "Service", 63, "it is a name of DNS"},
    {"", "Namespace", 63, "it is a name of DNS"},
    {"sparkoperator.k8s.io", "SparkApplication", 63, "its pods have it as a label"},
    {"sparkoperator.k8s.io", "ScheduledSparkApplication", 43,
        "its applications have it with a time behind it"},
    {"kubeflow.org", "MPIJob", 54, "its job is called NAME-launcher"},
    {"kubeflow.org", "PyTorchJob", 54, "its pods and services are called NAME-worker-N"},
    {"kubeflow.org", "TFJob", 54, "its pods and services are called NAME-worker-N"},
    {"argoproj.io", "Workflow", 63, "its pods have it as a label"},
    {"argoproj.io", "CronWorkflow", 52, "its workflows have it with a time behind it"},
};

static int too_long(const char *path, size_t n, size_t most, const char *why, err *e)
{
    return err_set(
        e, ERR_INVALID, "%s has %zu characters, and %zu are the most: %s", path, n, most, why);
}

static int check_name(const cJSON *object, err *e)
{
    const cJSON *metadata = json_get(object, "metadata");
    const char *name = json_str(metadata, "name"), *kind = json_str(object, "kind");
    const char *path = name ? "metadata.name" : "metadata.generateName";
    const char *is = name ? name : json_str(metadata, "generateName");
    size_t n = is ? strlen(is) + (name ? 0 : GENERATED) : 0;
    const char *version = json_str_or(object, "apiVersion", ""), *slash = strchr(version, '/');
    AUTO_FREE char *group = mem_strndup(version, slash ? (size_t)(slash - version) : 0);
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_eq(kind, kinds[i].kind) && str_eq(group, kinds[i].group) && n > kinds[i].most)
            return too_long(path, n, kinds[i].most, kinds[i].made, e);
    return n > NAME_MOST ? too_long(path, n, NAME_MOST, "no name may be longer", e) : 0;
}

static int check_label(const cJSON *label, const char *path, err *e)
{
    const char *key = label->string, *slash = strrchr(key, '/'),
               *value = cJSON_GetStringValue(label);
    AUTO_FREE char *place = str_fmt("%s: the label %s", path, str_short(key, 80).text);
    size_t prefix = slash ? (size_t)(slash - key) : 0, name = strlen(slash ? slash + 1 : key);
    if (prefix > PREFIX_MOST)
        return too_long(place, prefix, PREFIX_MOST, "before the slash", e);
    if (name > LABEL_MOST)
        return too_long(place, name, LABEL_MOST, slash ? "behind the slash" : "in its name", e);
    if (value && strlen(value) > LABEL_MOST) {
        AUTO_FREE char *words = str_fmt("%s: the value of the label %s", path, key);
        return too_long(words, strlen(value), LABEL_MOST,
            "what is longer is an annotation, or a digest of it", e);
    }
    return 0;
}

// Labels anywhere: those of templates that are inside another kind's objects no server looks at.
static int check_labels(const cJSON *j, const char *path, err *e)
{
    for (const cJSON *item = j->child; item; item = item->next) {
        AUTO_FREE char *place = !item->string ? mem_strdup(path)
                                : *path       ? str_fmt("%s.%s", path, item->string)
                                              : mem_strdup(item->string);
        bool holder = j->string && str_eq(j->string, "metadata") && cJSON_IsObject(item);
        if (holder && str_eq(item->string, "labels")) {
            const cJSON *label;
            cJSON_ArrayForEach(label, item)
            {
                if (check_label(label, place, e) != 0)
                    return -1;
            }
        } else if (item->child && check_labels(item, place, e) != 0) {
            return -1;
        }
    }
    return 0;
}

int manifest_check_lengths(const cJSON *object, err *e)
{
    return check_name(object, e) != 0 ? -1 : check_labels(object, "", e);
}
