// SPDX-License-Identifier: MIT
// The table of operations on shared memory. As with MPI, a process takes part in one job only.
#include "trainer/dist/shared.h"

static struct {
    shared *memory;
    int rank;
    bool joined, failed;
} job;

static int noted(int result)
{
    job.failed |= result != 0;
    return result;
}

// All ranks are there when it returns.
static int memory_init(err *e)
{
    if (job.joined)
        return 0;
    if (shared_join(job.memory, job.rank, e))
        return -1;
    job.joined = true;
    return noted(shared_barrier(job.memory, SHARED_COMPARED, e));
}

static int memory_rank(void)
{
    return shared_rank(job.memory);
}

static int memory_size(void)
{
    return shared_ranks(job.memory);
}

static int memory_allreduce(void *values, size_t n, comm_type type, comm_op op, err *e)
{
    return noted(shared_allreduce(job.memory, SHARED_COMPARED, values, n, type, op, e));
}

static int memory_broadcast(void *bytes, size_t n, int root, err *e)
{
    return noted(shared_broadcast(job.memory, SHARED_COMPARED, bytes, n, root, e));
}

static int memory_allgather(const void *mine, void *all, const size_t *counts, err *e)
{
    return noted(shared_allgather(job.memory, SHARED_COMPARED, mine, all, counts, e));
}

static int memory_barrier(err *e)
{
    return noted(shared_barrier(job.memory, SHARED_COMPARED, e));
}

static int memory_average_gradients(float *values, size_t n, err *e)
{
    return noted(
        shared_allreduce(job.memory, SHARED_GRADIENTS, values, n, COMM_F32, COMM_AVERAGE, e));
}

static int memory_update_shares(float *gradients, float *weights, size_t n, size_t block,
    void (*update)(void *ctx, size_t from, size_t to), void *ctx, err *e)
{
    return noted(
        shared_update(job.memory, SHARED_GRADIENTS, gradients, weights, n, block, update, ctx, e));
}

static int memory_gather_shares(float *values, size_t n, err *e)
{
    return noted(shared_gather_shares(job.memory, SHARED_GRADIENTS, values, n, e));
}

static float *memory_lend(size_t n)
{
    return shared_lend(job.memory, n);
}

static void memory_take_back(void)
{
    shared_take_back(job.memory);
}

static void memory_watch(int64_t interval, void (*slow)(void *ctx, int64_t waited), void *ctx)
{
    shared_watch(job.memory, interval, slow, ctx);
}

static bool memory_failed(void)
{
    return job.failed;
}

const struct comm_ops *comm_shared(shared *s, int rank)
{
    static const struct comm_ops ops = {
        .version = COMM_VERSION,
        .name = "SHM",
        .init = memory_init,
        .rank = memory_rank,
        .size = memory_size,
        .allreduce = memory_allreduce,
        .broadcast = memory_broadcast,
        .allgather = memory_allgather,
        .barrier = memory_barrier,
        .average_gradients = memory_average_gradients,
        .update_shares = memory_update_shares,
        .gather_shares = memory_gather_shares,
        .lend = memory_lend,
        .take_back = memory_take_back,
        .watch = memory_watch,
        .failed = memory_failed,
    };
    job.memory = s;
    job.rank = rank;
    return &ops;
}
