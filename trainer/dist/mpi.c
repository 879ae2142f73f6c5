// SPDX-License-Identifier: MIT
// The plug-in for MPI: the only file that includes mpi.h.
// Every operation is started without blocking and then tested. MPI's own waits spin, and where
// ranks outnumber cores, a spinning rank keeps the rank that it waits for off the core: a 0.1 ms
// allreduce took 40 ms. So we yield the core between two tests, and sleep when the operation takes
// long.
#include "base/clock.h"
#include "base/mem.h"
#include "trainer/dist/comm.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <math.h>
#include <mpi.h>
#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

enum { YIELD_NS = 5000 * 1000, SLEEP_NS = 200 * 1000, CLOCK_EVERY = 32 };

static MPI_Comm gradients; // a communicator for averages; made by mpi_init
static MPI_Op extremes[2]; // minimum and maximum of floats; made by mpi_init

static bool has_failed; // an operation
static struct {
    int64_t interval;
    void (*slow)(void *ctx, int64_t waited); // called when an operation is slow; NULL: nothing
    void *ctx;
} watcher;

static int check(int code, const char *what, err *e)
{
    if (code == MPI_SUCCESS)
        return 0;
    char text[MPI_MAX_ERROR_STRING];
    int n = 0;
    has_failed = true;
    MPI_Error_string(code, text, &n);
    return err_set(e, ERR_FAILED, "MPI %s: %.*s", what, n, text);
}

static int wait_for(MPI_Request *request, const char *what, err *e)
{
    int64_t start = 0, told = 0;
    bool slow = false;
    for (unsigned tries = 0;; tries++) {
        int done = 0;
        if (check(MPI_Test(request, &done, MPI_STATUS_IGNORE), what, e))
            return -1;
        if (done)
            return 0;
        if (tries % CLOCK_EVERY == 0) {
            int64_t now = clock_mono();
            start = start ? start : now;
            slow = now - start > YIELD_NS;
            told = told ? told : now;
            if (watcher.slow && now - told > watcher.interval) {
                watcher.slow(watcher.ctx, now - start);
                told = now;
            }
        }
        if (slow)
            nanosleep(&(struct timespec){.tv_nsec = SLEEP_NS}, NULL);
        else
            sched_yield();
    }
}

static bool is_abstract(int fd)
{
    struct sockaddr_un name;
    socklen_t n = sizeof name;
    int type = 0;
    socklen_t type_n = sizeof type;
    return getsockname(fd, (struct sockaddr *)&name, &n) == 0 && name.sun_family == AF_UNIX &&
           n > offsetof(struct sockaddr_un, sun_path) && !name.sun_path[0] &&
           getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &type_n) == 0 && type == SOCK_DGRAM;
}

// For shared memory UCX (1.13, uct_mm_iface_create_signal_fd) binds sockets to abstract addresses,
// to be woken through them. We never sleep in UCX, and any user may send to an abstract address. So
// each is replaced by a socket without an address.
static void drop_abstract_sockets(void)
{
    DIR *fds = opendir("/proc/self/fd");
    for (struct dirent *entry; fds && (entry = readdir(fds));) {
        int fd = atoi(entry->d_name);
        if (!is_abstract(fd))
            continue;
        int nameless = socket(AF_UNIX, SOCK_DGRAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
        if (nameless < 0 || dup3(nameless, fd, O_CLOEXEC) < 0)
            close(fd);
        if (nameless >= 0)
            close(nameless);
    }
    if (fds)
        closedir(fds);
}

static int start_mpi(void)
{
    int level = 0;
    mode_t mask = umask(077); // also for shared memory
    int code = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    umask(mask);
    drop_abstract_sockets();
    unsetenv("PMI_FD"); // MPI programs started by the rank are not part of this job
    unsetenv("PMI_RANK");
    unsetenv("PMI_SIZE");
    return code;
}

// As in reduce.c: nan wins, whichever rank has it. What MPI_MIN and MPI_MAX do with nan is
// undefined.
#define EXTREME(name, sign)                                                                        \
    static void name(void *in, void *inout, int *n, MPI_Datatype *type)                            \
    {                                                                                              \
        for (int i = 0; *type == MPI_FLOAT && i < *n; i++) {                                       \
            float a = ((float *)in)[i], *b = (float *)inout + i;                                   \
            *b = isnan(a) || a sign * b ? a : *b;                                                  \
        }                                                                                          \
        for (int i = 0; *type == MPI_DOUBLE && i < *n; i++) {                                      \
            double a = ((double *)in)[i], *b = (double *)inout + i;                                \
            *b = isnan(a) || a sign * b ? a : *b;                                                  \
        }                                                                                          \
    }
EXTREME(smallest, <)
EXTREME(largest, >)

static int make_extremes(err *e)
{
    return check(MPI_Op_create(smallest, 1, &extremes[0]), "start", e) ||
                   check(MPI_Op_create(largest, 1, &extremes[1]), "start", e)
               ? -1
               : 0;
}

static int mpi_init(err *e)
{
    int done = 0;
    MPI_Initialized(&done);
    if (done)
        return 0;
    if (check(start_mpi(), "start", e))
        return -1;
    // Makes MPI return errors as codes instead of ending the process. Communicators made from this
    // one inherit that.
    MPI_Request request;
    return check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "start", e) ||
                   check(MPI_Comm_idup(MPI_COMM_WORLD, &gradients, &request), "start", e) ||
                   wait_for(&request, "start", e)
               ? -1
               : make_extremes(e);
}

static int mpi_rank(void)
{
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    return rank;
}

static int mpi_size(void)
{
    int size = 1;
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    return size;
}

// MPI counts with int: longer arrays are sent in pieces.
static int piece(size_t left)
{
    const size_t most = INT_MAX / 16;
    return (int)(left < most ? left : most);
}

// Sums become averages.
static void scale(float *values, size_t n)
{
    float by = 1.0f / (float)mpi_size();
    for (size_t i = 0; i < n; i++)
        values[i] *= by;
}

static int mpi_allreduce(void *values, size_t n, comm_type type, comm_op op, err *e)
{
    static const MPI_Op ops[] = {[COMM_SUM] = MPI_SUM,
        [COMM_MIN] = MPI_MIN,
        [COMM_MAX] = MPI_MAX,
        [COMM_PRODUCT] = MPI_PROD,
        [COMM_AVERAGE] = MPI_SUM};
    static const struct {
        MPI_Datatype type;
        size_t size;
    } types[] = {
        [COMM_F32] = {MPI_FLOAT, 4}, [COMM_F64] = {MPI_DOUBLE, 8}, [COMM_I64] = {MPI_INT64_T, 8}};
    bool floats = type != COMM_I64;
    MPI_Op how = floats && op == COMM_MIN   ? extremes[0]
                 : floats && op == COMM_MAX ? extremes[1]
                                            : ops[op];
    for (char *at = values; n > 0;) {
        MPI_Request request;
        int count = piece(n);
        if (check(MPI_Iallreduce(
                      MPI_IN_PLACE, at, count, types[type].type, how, MPI_COMM_WORLD, &request),
                "allreduce", e) ||
            wait_for(&request, "allreduce", e))
            return -1;
        if (op == COMM_AVERAGE)
            scale((float *)at, (size_t)count);
        at += (size_t)count * types[type].size;
        n -= (size_t)count;
    }
    return 0;
}

// The averages in progress, in their order, those of one step.
static struct {
    struct average {
        MPI_Request request;
        float *values;
        int n;
    } * average;
    size_t n, done, room;
} under_way;

static struct average *new_average(void)
{
    if (under_way.n == under_way.room) {
        under_way.room = under_way.room ? 2 * under_way.room : 16;
        under_way.average =
            mem_resize(under_way.average, under_way.room, sizeof *under_way.average);
    }
    return &under_way.average[under_way.n++];
}

static int mpi_begin_average(float *values, size_t n, err *e)
{
    for (int count; n > 0; values += count, n -= (size_t)count) {
        count = piece(n);
        struct average *a = new_average();
        *a = (struct average){.values = values, .n = count};
        if (check(MPI_Iallreduce(
                      MPI_IN_PLACE, values, count, MPI_FLOAT, MPI_SUM, gradients, &a->request),
                "allreduce", e))
            return -1;
    }
    return 0;
}

static int mpi_progress_average(err *e)
{
    while (under_way.done < under_way.n) {
        struct average *a = &under_way.average[under_way.done];
        int done = 0;
        if (check(MPI_Test(&a->request, &done, MPI_STATUS_IGNORE), "allreduce", e))
            return -1;
        if (!done)
            break;
        scale(a->values, (size_t)a->n);
        under_way.done++;
    }
    return 0;
}

static int mpi_finish_average(err *e)
{
    for (; under_way.done < under_way.n; under_way.done++) {
        struct average *a = &under_way.average[under_way.done];
        if (wait_for(&a->request, "allreduce", e))
            return -1;
        scale(a->values, (size_t)a->n);
    }
    under_way.n = under_way.done = 0;
    return 0;
}

static int mpi_average_gradients(float *values, size_t n, err *e)
{
    return mpi_begin_average(values, n, e) || mpi_finish_average(e) ? -1 : 0;
}

static void mpi_watch(int64_t interval, void (*slow)(void *ctx, int64_t waited), void *ctx)
{
    watcher.interval = interval;
    watcher.slow = slow;
    watcher.ctx = ctx;
}

static int mpi_broadcast(void *bytes, size_t n, int root, err *e)
{
    for (char *at = bytes; n > 0;) {
        MPI_Request request;
        int count = piece(n);
        if (check(
                MPI_Ibcast(at, count, MPI_BYTE, root, MPI_COMM_WORLD, &request), "broadcast", e) ||
            wait_for(&request, "broadcast", e))
            return -1;
        at += count;
        n -= (size_t)count;
    }
    return 0;
}

static int mpi_allgather(const void *mine, void *all, const size_t *counts, err *e)
{
    // One broadcast for each rank: the sizes differ, and may exceed MPI's int.
    int rank = mpi_rank(), size = mpi_size();
    char *at = all;
    for (int r = 0; r < size; at += counts[r], r++) {
        if (r == rank && counts[r])
            __builtin_memcpy(at, mine, counts[r]);
        if (mpi_broadcast(at, counts[r], r, e))
            return -1;
    }
    return 0;
}

static int mpi_barrier(err *e)
{
    MPI_Request request;
    return check(MPI_Ibarrier(MPI_COMM_WORLD, &request), "barrier", e) ||
                   wait_for(&request, "barrier", e)
               ? -1
               : 0;
}

// "MPICH Version: 4.0.2" or "Open MPI v4.1.4, package: …": the first line, without tabs.
static const char *mpi_library(void)
{
    static char name[MPI_MAX_LIBRARY_VERSION_STRING];
    int n;
    if (!*name && MPI_Get_library_version(name, &n) == MPI_SUCCESS)
        name[strcspn(name, "\n")] = '\0';
    for (char *c = name; *c; c++)
        if (*c == '\t')
            *c = ' ';
    return name;
}

extern const struct comm_ops firesteel_comm;
static bool mpi_failed(void)
{
    return has_failed;
}

const struct comm_ops firesteel_comm = {
    .version = COMM_VERSION,
    .name = "MPI",
    .init = mpi_init,
    .rank = mpi_rank,
    .size = mpi_size,
    .allreduce = mpi_allreduce,
    .broadcast = mpi_broadcast,
    .allgather = mpi_allgather,
    .barrier = mpi_barrier,
    .failed = mpi_failed,
    .average_gradients = mpi_average_gradients,
    .begin_average = mpi_begin_average,
    .progress_average = mpi_progress_average,
    .finish_average = mpi_finish_average,
    .watch = mpi_watch,
    .library = mpi_library,
};
