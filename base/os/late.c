// SPDX-License-Identifier: MIT
#include "base/os/late.h"

#include "base/mem.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int find_all(const struct late *l, void *library, void **found, err *e)
{
    for (size_t i = 0; i < l->n; i++) {
        found[i] = dlsym(library, l->names[i]);
        if (!found[i])
            return err_set(e, ERR_NOT_FOUND, "%s has no %s: it is too old", l->soname, l->names[i]);
    }
    return 0;
}

static int load(struct late *l, err *e)
{
    void *library = dlopen(l->soname, RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return err_set(e, ERR_NOT_FOUND, "%s (Debian: apt install %s) cannot be loaded: %s",
            l->soname, l->package, dlerror());
    AUTO_FREE void *found = mem_array(l->n, sizeof(void *));
    if (find_all(l, library, found, e) != 0) {
        dlclose(library);
        return -1;
    }
    memcpy(l->functions, found, l->n * sizeof(void *));
    return 0;
}

int late_load(struct late *l, err *e)
{
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    int status = l->functions[0] ? 0 : load(l, e);
    pthread_mutex_unlock(&lock);
    return status;
}

void late_must(struct late *l)
{
    err e = {0};
    if (late_load(l, &e) == 0)
        return;
    fprintf(stderr, "%s\n", e.text);
    abort();
}
