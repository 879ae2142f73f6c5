// SPDX-License-Identifier: MIT
#include "trainer/dist/comm.h"

#include <dlfcn.h>
#include <string.h>

static int single_init(err *e)
{
    return 0;
}

static int single_rank(void)
{
    return 0;
}

static int single_size(void)
{
    return 1;
}

static int single_allreduce(void *values, size_t n, comm_type type, comm_op op, err *e)
{
    return 0;
}

static int single_broadcast(void *bytes, size_t n, int root, err *e)
{
    return 0;
}

static int single_allgather(const void *mine, void *all, const size_t *counts, err *e)
{
    memcpy(all, mine, counts[0]);
    return 0;
}

static int single_barrier(err *e)
{
    return 0;
}

static int single_average_gradients(float *values, size_t n, err *e)
{
    return 0;
}

static void single_watch(int64_t interval, void (*slow)(void *ctx, int64_t waited), void *ctx)
{
}

const struct comm_ops *comm_single(void)
{
    static const struct comm_ops ops = {
        .version = COMM_VERSION,
        .init = single_init,
        .rank = single_rank,
        .size = single_size,
        .allreduce = single_allreduce,
        .broadcast = single_broadcast,
        .allgather = single_allgather,
        .barrier = single_barrier,
        .average_gradients = single_average_gradients,
        .watch = single_watch,
    };
    return &ops;
}

const struct comm_ops *comm_load(const char *path, err *e)
{
    // RTLD_LOCAL: the symbols of MPI's libraries (hwloc, UCX) must not mix with ours.
    void *plugin = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    if (!plugin) {
        err_set(e, ERR_NOT_FOUND,
            "ranks that do not share memory need MPI (Debian: apt install libmpich12; a bundle: "
            "its archive -mpi), which "
            "cannot "
            "be loaded: %s",
            dlerror());
        return NULL;
    }
    const struct comm_ops *ops = dlsym(plugin, "firesteel_comm");
    if (!ops || ops->version != COMM_VERSION) {
        err_set(e, ERR_INVALID, "%s is not the MPI plug-in of this version of firesteel", path);
        dlclose(plugin);
        return NULL;
    }
    return ops; // MPI cannot be unloaded, so the plug-in stays loaded
}
