// SPDX-License-Identifier: MIT
#include "k8s/client/why/claim.h"

#include "base/mem.h"
#include "base/str.h"
#include "k8s/client/kinds/known.h"
#include "k8s/client/text/cause.h"

#include <string.h>

#define DEFAULT_CLASS "storageclass.kubernetes.io/is-default-class"

static const cJSON *class_named(const cJSON *classes, const char *name)
{
    const cJSON *class;
    cJSON_ArrayForEach(class, classes)
    {
        if (str_eq(known_name(class), name))
            return class;
    }
    return NULL;
}

static void list_classes(const cJSON *classes, buf *out)
{
    const cJSON *class;
    cJSON_ArrayForEach(class, classes)
    {
        const cJSON *notes = json_path(class, "metadata.annotations");
        buf_fmt(out, "%s%s%s", class->prev->next ? ", " : "", known_name(class),
            str_eq(json_str(notes, DEFAULT_CLASS), "true") ? " (the default)" : "");
    }
}

// What the provisioner says, newest last.
static const cJSON *complaint(const cJSON *claim, const cJSON *events)
{
    const char *uid = json_path_str(claim, "metadata.uid");
    const cJSON *event, *found = NULL;
    cJSON_ArrayForEach(event, events)
    {
        if (uid && str_eq(json_path_str(event, "involvedObject.uid"), uid))
            found = event;
    }
    return found;
}

static void say_choice(const struct why_facts *f, buf *next)
{
    AUTO_BUF classes = {0};
    list_classes(f->classes, &classes);
    if (classes.len)
        buf_fmt(next, "set spec.storageClassName of a new claim to one that is there: %s",
            buf_cstr(&classes));
    else
        buf_str(next, "the cluster makes no volumes by itself: who runs it has to add a storage "
                      "class, or a PersistentVolume that fits (size, accessModes)");
}

static bool say_claim(const cJSON *claim, const struct why_facts *f, struct why *w)
{
    const char *class = json_path_str(claim, "spec.storageClassName");
    const char *volume = json_path_str(claim, "spec.volumeName");
    const char *phase = json_path_str(claim, "status.phase");
    const cJSON *known = class ? class_named(f->classes, class) : NULL;
    const cJSON *event = complaint(claim, f->events);
    bool lost = str_eq(phase, "Lost");
    if (!lost && !str_eq(phase, "Pending"))
        return false;
    buf_fmt(&w->what, "claim %s ", known_name(claim));
    buf_fmt(&w->seen, "claim %s is %s", known_name(claim), phase);
    if (lost) {
        buf_fmt(&w->what, "has lost its volume %s: what was on it is gone", volume ? volume : "");
        buf_str(&w->next, "make the claim anew; the data have to come from elsewhere");
    } else if (volume && *volume) {
        buf_fmt(&w->what, "waits for volume %s, which is not bound to it", volume);
        buf_fmt(&w->next, "k8s.describe(\"pv/%s\") tells whose it is", volume);
    } else if (!class) {
        buf_str(&w->what, "has no volume: it names no storage class, and no class is the default");
        say_choice(f, &w->next);
    } else if (!*class) {
        buf_str(&w->what,
            "has no volume: it wants one that is there (storage class \"\"), and none "
            "fits");
        buf_str(&w->next, "a PersistentVolume of its size and accessModes has to be made");
    } else if (f->classes && !known) {
        buf_fmt(&w->what, "has no volume: there is no storage class %s", class);
        say_choice(f, &w->next);
    } else if (event) {
        buf_str(&w->what, "has no volume: ");
        cause_line(json_str_or(event, "message", "its provisioner failed"), &w->what);
        buf_fmt(&w->seen, ", event %s", json_str_or(event, "reason", "?"));
        buf_fmt(&w->next, "its provisioner is %s: the message is its own",
            json_str_or(known, "provisioner", "that of its class"));
    } else if (str_eq(json_str(known, "volumeBindingMode"), "WaitForFirstConsumer")) {
        buf_clear(&w->what);
        buf_clear(&w->seen);
        return false; // a pod has to come first; that is no trouble
    } else {
        buf_fmt(&w->what, "has no volume yet: class %s has not made one", class);
        buf_fmt(&w->next, "its provisioner is %s: is it installed, and does it run?",
            json_str_or(known, "provisioner", "not known"));
    }
    return true;
}

bool whyclaim_say(const struct why_facts *f, struct why *w)
{
    const cJSON *claim;
    cJSON_ArrayForEach(claim, f->claims)
    {
        if (say_claim(claim, f, w))
            return true;
    }
    return false;
}
