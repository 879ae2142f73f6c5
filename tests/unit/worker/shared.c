// SPDX-License-Identifier: MIT
// Ranks that share memory: as processes, as in a job, and as threads, whose races a sanitizer sees.
#include "trainer/dist/shared.h"

#include "base/clock.h"
#include "base/mem.h"
#include "tests/support/tap.h"
#include "trainer/dist/reduce.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { RANKS_MOST = 16, TEXT = 200 };

// What a rank does. It returns 0 when all was as it should be.
typedef int (*work_fn)(shared *s, int rank, err *e);

struct said {
    int result;
    char text[TEXT];
};

struct rank_thread {
    pthread_t thread;
    int fd, rank;
    work_fn work;
    struct said *said;
};

static void run_rank(int fd, int rank, work_fn work, struct said *said)
{
    err e = {0};
    shared *s = shared_open(fd, &e);
    said->result = !s || shared_join(s, rank, &e) ? -1 : work(s, rank, &e);
    snprintf(said->text, TEXT, "%.*s", TEXT - 1, e.text);
    shared_close(s);
}

static void *run_thread(void *arg)
{
    struct rank_thread *t = arg;
    run_rank(t->fd, t->rank, t->work, t->said);
    return NULL;
}

static int made(int ranks)
{
    err e;
    int fd = shared_make(ranks, &e);
    CHECK_OK(fd >= 0, e);
    return fd;
}

static void in_threads(int ranks, work_fn work)
{
    int fd = made(ranks);
    struct said said[RANKS_MOST] = {0};
    struct rank_thread t[RANKS_MOST];
    for (int r = 0; r < ranks; r++) {
        t[r] = (struct rank_thread){.fd = fd, .rank = r, .work = work, .said = &said[r]};
        CHECK_INT(pthread_create(&t[r].thread, NULL, run_thread, &t[r]), 0);
    }
    for (int r = 0; r < ranks; r++)
        pthread_join(t[r].thread, NULL);
    close(fd);
    for (int r = 0; r < ranks; r++)
        if (said[r].result)
            tap_fail(__FILE__, __LINE__, "thread %d of %d: %d: %s", r, ranks, said[r].result,
                said[r].text);
}

// What each process said; a rank that was killed has said nothing (result 1).
static void processes(int ranks, work_fn work, struct said out[RANKS_MOST])
{
    int fd = made(ranks);
    size_t size = RANKS_MOST * sizeof *out;
    struct said *said = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(said != MAP_FAILED);
    pid_t pid[RANKS_MOST];
    fflush(NULL);
    for (int r = 0; r < ranks; r++) {
        said[r].result = 1;
        if ((pid[r] = fork()) == 0) {
            run_rank(fd, r, work, &said[r]);
            _exit(0);
        }
    }
    close(fd);
    for (int r = 0; r < ranks; r++)
        waitpid(pid[r], NULL, 0);
    memcpy(out, said, size);
    munmap(said, size);
}

static void in_processes(int ranks, work_fn work)
{
    struct said said[RANKS_MOST];
    processes(ranks, work, said);
    for (int r = 0; r < ranks; r++)
        if (said[r].result)
            tap_fail(__FILE__, __LINE__, "process %d of %d: %d: %s", r, ranks, said[r].result,
                said[r].text);
}

static void both(int ranks, work_fn work)
{
    in_processes(ranks, work);
    in_threads(ranks, work);
}

// A number that all ranks can compute; its sums depend on their order.
static float given(int rank, size_t i)
{
    return (float)((int)(i * 2654435761u >> 7) % 1000 - 500) * (0.37f + (float)rank) / 97;
}

// Written out from the header of reduce.h.
static float sum_of(int ranks, size_t i)
{
    float v[8];
    for (int r = 0; r < ranks; r++)
        v[r] = given(r, i);
    switch (ranks) {
    case 2:
        return v[0] + v[1];
    case 3:
        return (v[0] + v[1]) + v[2];
    case 4:
        return (v[0] + v[1]) + (v[2] + v[3]);
    case 5:
        return ((v[0] + v[1]) + v[2]) + (v[3] + v[4]);
    case 6:
        return ((v[0] + v[1]) + (v[2] + v[3])) + (v[4] + v[5]);
    case 7:
        return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + v[6]);
    default:
        return ((v[0] + v[1]) + (v[2] + v[3])) + ((v[4] + v[5]) + (v[6] + v[7]));
    }
}

TEST(the_order_depends_on_the_ranks_alone)
{
    enum { N = 1300 };
    static float from[8][N], out[N];
    const void *at[8];
    for (int r = 0; r < 8; r++) {
        at[r] = from[r];
        for (size_t i = 0; i < N; i++)
            from[r][i] = given(r, i);
    }
    for (int ranks = 2; ranks <= 8; ranks++) {
        reduce_values(out, at, ranks, N, COMM_F32, COMM_SUM);
        for (size_t i = 0; i < N; i++)
            CHECK(out[i] == sum_of(ranks, i));
    }
    // also where the sum takes the place of a rank's values
    reduce_values(from[4], at, 5, N, COMM_F32, COMM_SUM);
    for (size_t i = 0; i < N; i++)
        CHECK(from[4][i] == sum_of(5, i));
}

static int add_floats(shared *s, int rank, err *e)
{
    static const size_t sizes[] = {1, 3, 777, 8192, 101770, 700001};
    int ranks = shared_ranks(s);
    for (size_t k = 0; k < 2 * ARRAY_LEN(sizes); k++) {
        size_t n = sizes[k / 2];
        comm_op op = k % 2 ? COMM_AVERAGE : COMM_SUM;
        float by = op == COMM_AVERAGE ? 1.0f / (float)ranks : 1;
        AUTO_FREE float *v = mem_array(n, sizeof *v);
        for (size_t i = 0; i < n; i++)
            v[i] = given(rank, i);
        if (shared_allreduce(s, SHARED_GRADIENTS, v, n, COMM_F32, op, e))
            return -1;
        for (size_t i = 0; i < n; i++)
            if (v[i] != sum_of(ranks, i) * by)
                return err_set(e, ERR_FAILED, "%zu of %zu: %g, not %g", i, n, (double)v[i],
                    (double)(sum_of(ranks, i) * by));
    }
    return 0;
}

TEST(sums_and_averages_of_any_size_have_the_same_bits_everywhere)
{
    for (int ranks = 2; ranks <= 8; ranks += ranks > 4 ? 3 : 1)
        in_processes(ranks, add_floats);
    in_threads(3, add_floats);
}

static int reduce_all(shared *s, int rank, err *e)
{
    int ranks = shared_ranks(s);
    int64_t i[][2] = {{rank + 1, -rank}, {rank + 1, -rank}, {rank + 1, -rank}, {rank + 1, 2}};
    double d[] = {rank + 0.5, rank + 0.5, rank + 0.5, 0.5};
    static const comm_op ops[] = {COMM_SUM, COMM_MIN, COMM_MAX, COMM_PRODUCT};
    for (int k = 0; k < 4; k++)
        if (shared_allreduce(s, SHARED_COMPARED, i[k], 2, COMM_I64, ops[k], e) ||
            shared_allreduce(s, SHARED_COMPARED, &d[k], 1, COMM_F64, ops[k], e))
            return -1;
    bool right = ranks == 4 && i[0][0] == 10 && i[0][1] == -6 && i[1][0] == 1 && i[1][1] == -3 &&
                 i[2][0] == 4 && i[2][1] == 0 && i[3][0] == 24 && i[3][1] == 16 && d[0] == 8 &&
                 d[1] == 0.5 && d[2] == 3.5 && d[3] == 0.0625;
    return right ? 0 : err_set(e, ERR_FAILED, "a reduction is wrong");
}

TEST(all_operations_and_types_reduce)
{
    both(4, reduce_all);
}

struct updated {
    const float *gradients;
    float *weights, *moments;
    size_t least, most, block, n;
    bool is_wrong;
};

// Needs the mean, and what this rank alone keeps.
static void update_piece(void *ctx, size_t from, size_t to)
{
    struct updated *u = ctx;
    u->is_wrong |= from < u->least || to > u->most || to - from > u->block;
    u->n += to - from;
    for (size_t i = from; i < to; i++) {
        u->moments[i] = u->moments[i] / 2 + u->gradients[i];
        u->weights[i] -= u->moments[i];
    }
}

static int share_updates(shared *s, int rank, err *e)
{
    static const size_t sizes[] = {16, 160, 101776, 700016, 0};
    int ranks = shared_ranks(s);
    float by = 1.0f / (float)ranks;
    for (size_t k = 0; k < 2 * ARRAY_LEN(sizes); k++) {
        size_t n = sizes[k / 2], block = k % 2 ? 4096 : n;
        AUTO_FREE float *own = mem_array(n + 1, sizeof *own), *w = mem_array(n + 1, sizeof *w);
        // Now and then, and not on all ranks, gradients are where they need not be copied.
        float *loan = (k + (size_t)rank) % 3 ? shared_lend(s, n) : NULL, *g = loan ? loan : own;
        AUTO_FREE float *m = mem_array(n + 1, sizeof *m);
        struct updated u = {.gradients = g, .weights = w, .moments = m, .block = block};
        u.least = shared_share(s, rank, n);
        u.most = shared_share(s, rank + 1, n);
        for (size_t i = 0; i < n; i++)
            w[i] = m[i] = (float)i;
        for (int step = 1; step <= 2; step++) {
            for (size_t i = 0; i < n; i++)
                g[i] = given(rank, i) * (float)step;
            if (shared_update(s, SHARED_GRADIENTS, g, w, n, block, update_piece, &u, e))
                return -1;
        }
        if (u.is_wrong || u.n != 2 * (u.most - u.least))
            return err_set(e, ERR_FAILED, "updates of %zu numbers are not this rank's", n);
        if (shared_gather_shares(s, SHARED_GRADIENTS, m, n, e))
            return -1;
        for (size_t i = 0; i < n; i++) {
            float first = (float)i / 2 + sum_of(ranks, i) * by;
            float next = first / 2 + 2 * sum_of(ranks, i) * by;
            if (m[i] != next || w[i] != (float)i - first - next)
                return err_set(e, ERR_FAILED, "%zu of %zu: %g and %g, not %g and %g", i, n,
                    (double)m[i], (double)w[i], (double)next, (double)((float)i - first - next));
        }
        if (loan && shared_lend(s, 1))
            return err_set(e, ERR_FAILED, "what is lent is lent again");
        if (loan)
            shared_take_back(s);
    }
    float *most = shared_lend(s, 1 << 20);
    bool clean = most && most[0] == 0 && most[(1 << 20) - 1] == 0;
    shared_take_back(s);
    if ((!clean && ranks <= 8) || shared_lend(s, 1 << 26))
        return err_set(e, ERR_FAILED, "a loan is not zeros, or more than there is");
    return 0;
}

TEST(shared_updates_have_the_bits_of_whole_ones)
{
    for (int ranks = TAP_SANITIZED ? 3 : 2; ranks <= (TAP_SANITIZED ? 3 : 8);
         ranks += ranks > 4 ? 3 : 1)
        in_processes(ranks, share_updates);
    in_threads(3, share_updates);
}

static unsigned char byte_of(int rank, size_t i)
{
    return (unsigned char)(i * 31 + (size_t)rank * 7 + (i >> 16));
}

static int send_bytes(shared *s, int rank, err *e)
{
    static const size_t sizes[] = {1, 100, 70000, 6 << 20};
    int ranks = shared_ranks(s);
    for (size_t k = 0; k < ARRAY_LEN(sizes); k++) {
        for (int root = 0; root < ranks; root++) {
            size_t n = sizes[k];
            unsigned char *bytes = mem_array(n, 1);
            for (size_t i = 0; rank == root && i < n; i++)
                bytes[i] = byte_of(root, i);
            int result = shared_broadcast(s, SHARED_COMPARED, bytes, n, root, e);
            for (size_t i = 0; result == 0 && i < n; i++)
                if (bytes[i] != byte_of(root, i))
                    result = err_set(e, ERR_FAILED, "byte %zu of %zu from %d", i, n, root);
            free(bytes);
            if (result)
                return -1;
        }
    }
    return 0;
}

TEST(broadcasts_of_any_size_and_root_arrive)
{
    both(3, send_bytes);
}

static int gather_bytes(shared *s, int rank, err *e)
{
    int ranks = shared_ranks(s), result = 0;
    for (size_t round = 0; round < 4 && result == 0; round++) {
        size_t counts[RANKS_MOST], total = 0, at = 0;
        for (int r = 0; r < ranks; r++) // rank 1 gives nothing
            total += counts[r] = r == 1 ? 0 : round == 3 ? (size_t)(r + 1) * 900001 : 5 * round + 1;
        unsigned char *mine = mem_array(counts[rank] + 1, 1), *all = mem_array(total, 1);
        for (size_t i = 0; i < counts[rank]; i++)
            mine[i] = byte_of(rank, i);
        result = shared_allgather(s, SHARED_GRADIENTS, mine, all, counts, e);
        for (int r = 0; r < ranks; at += counts[r++])
            for (size_t i = 0; result == 0 && i < counts[r]; i++)
                if (all[at + i] != byte_of(r, i))
                    result = err_set(e, ERR_FAILED, "byte %zu of rank %d", i, r);
        free(mine);
        free(all);
    }
    return result;
}

TEST(bytes_of_different_numbers_are_gathered)
{
    both(4, gather_bytes);
}

// Ranks come late in turn, so that buffers are used again while others have not read them.
static int mix(shared *s, int rank, err *e)
{
    int ranks = shared_ranks(s);
    for (int i = 0; i < 400; i++) {
        if (i % ranks == rank && i % 7 == 0)
            nanosleep(&(struct timespec){.tv_nsec = 200000}, NULL);
        int64_t mine = i * 100 + rank, root = i % ranks, got = root == rank ? mine : 0, sum = rank;
        int64_t all[RANKS_MOST];
        size_t counts[RANKS_MOST];
        for (int r = 0; r < ranks; r++)
            counts[r] = sizeof mine;
        if (shared_broadcast(s, SHARED_COMPARED, &got, sizeof got, (int)root, e) ||
            shared_broadcast(s, SHARED_COMPARED, &got, sizeof got, (int)(root + 1) % ranks, e) ||
            shared_allreduce(s, SHARED_GRADIENTS, &sum, 1, COMM_I64, COMM_SUM, e) ||
            shared_allgather(s, SHARED_COMPARED, &mine, all, counts, e) ||
            (i % 3 == 0 && shared_barrier(s, SHARED_COMPARED, e)))
            return -1;
        for (int r = 0; r < ranks; r++)
            if (all[r] != i * 100 + r)
                return err_set(
                    e, ERR_FAILED, "round %d: rank %d gave %lld", i, r, (long long)all[r]);
        if (got != i * 100 + root || sum != ranks * (ranks - 1) / 2)
            return err_set(
                e, ERR_FAILED, "round %d: %lld and %lld", i, (long long)got, (long long)sum);
    }
    return 0;
}

TEST(operations_follow_each_other_whoever_is_late)
{
    both(2, mix);
    both(5, mix);
    in_processes(8, mix);
}

static int pass_barriers(shared *s, int rank, err *e)
{
    for (int i = 0; i < 300; i++)
        if (shared_barrier(s, SHARED_COMPARED, e))
            return -1;
    return 0;
}

TEST(more_ranks_than_cores_pass_barriers)
{
    in_processes(RANKS_MOST, pass_barriers);
}

static int count_differently(shared *s, int rank, err *e)
{
    float values[16] = {0};
    bool wrong = rank == 2;
    int first =
        shared_allreduce(s, SHARED_GRADIENTS, values, wrong ? 11 : 10, COMM_F32, COMM_SUM, e);
    bool told =
        first && e->code == ERR_INVALID && strstr(e->text, "the ranks make different calls");
    // nothing may follow
    return told && shared_barrier(s, SHARED_COMPARED, e) && e->code == ERR_UNAVAILABLE ? 0 : -1;
}

static int call_differently(shared *s, int rank, err *e)
{
    size_t counts[RANKS_MOST] = {4, 4, 4};
    char mine[4] = {0}, all[12];
    int result = rank == 1 ? shared_barrier(s, SHARED_COMPARED, e)
                           : shared_allgather(s, SHARED_COMPARED, mine, all, counts, e);
    return result && strstr(e->text, "allgather of 12") && strstr(e->text, "barrier of 0") ? 0 : -1;
}

TEST(different_calls_are_an_error_on_every_rank)
{
    both(3, count_differently);
    both(3, call_differently);
}

static int die_in_the_middle(shared *s, int rank, err *e)
{
    enum { N = 300000 };
    float *values = mem_array(N, sizeof *values);
    int result = 0;
    for (int i = 0; i < 1000 && result == 0; i++) {
        if (rank == 2 && i == 20)
            kill(getpid(), SIGKILL);
        result = shared_allreduce(s, SHARED_GRADIENTS, values, N, COMM_F32, COMM_SUM, e);
    }
    free(values);
    return result;
}

TEST(a_rank_that_was_killed_is_named_by_the_others)
{
    struct said said[RANKS_MOST];
    processes(4, die_in_the_middle, said);
    CHECK_INT(said[2].result, 1);
    for (int r = 0; r < 4; r++)
        if (r != 2) {
            CHECK_INT(said[r].result, -1);
            CHECK_STR(
                said[r].text, "allreduce: rank 2 has ended, so the others wait for it in vain");
        }
}

static bool dies_waking;

// This is called instead of the C library's.
long syscall(long number, ...)
{
    long (*real)(long, ...) = (long (*)(long, ...))dlsym(RTLD_NEXT, "syscall");
    long a[6];
    va_list args;
    va_start(args, number);
    for (size_t i = 0; i < ARRAY_LEN(a); i++)
        a[i] = va_arg(args, long);
    va_end(args);
    if (dies_waking && number == SYS_futex && (int)a[1] == FUTEX_WAKE)
        kill(getpid(), SIGKILL);
    return real(number, a[0], a[1], a[2], a[3], a[4], a[5]);
}

static int die_while_coming(shared *s, int rank, err *e)
{
    int value = rank == 2 ? 7 : 0;
    dies_waking = rank == 2;
    alarm(30); // who waits for ever says nothing
    if (rank == 2)
        nanosleep(&(struct timespec){.tv_nsec = 300000000}, NULL); // the others sleep then
    if (shared_broadcast(s, SHARED_COMPARED, &value, sizeof value, 2, e) || rank == 2)
        return -1;
    return value == 7 ? shared_barrier(s, SHARED_COMPARED, e) : err_set(e, ERR_FAILED, "%d", value);
}

// It has set its own word, on which others sleep, and gets no further.
TEST(a_rank_that_was_killed_while_it_came_is_named)
{
    struct said said[RANKS_MOST];
    processes(3, die_while_coming, said);
    CHECK_INT(said[2].result, 1);
    for (int r = 0; r < 2; r++) {
        CHECK_INT(said[r].result, -1);
        CHECK_STR(said[r].text, "barrier: rank 2 has ended, so the others wait for it in vain");
    }
}

static atomic_int told;

static void count_slow(void *ctx, int64_t waited)
{
    *(int64_t *)ctx = waited;
    atomic_fetch_add(&told, 1);
}

static int come_late(shared *s, int rank, err *e)
{
    int64_t waited = 0;
    struct rusage use;
    shared_watch(s, CLOCK_SEC / 10, count_slow, &waited);
    if (rank == 3)
        nanosleep(&(struct timespec){.tv_sec = 1}, NULL);
    if (shared_barrier(s, SHARED_GRADIENTS, e))
        return -1;
    getrusage(RUSAGE_SELF, &use);
    double cpu = (double)(use.ru_utime.tv_sec + use.ru_stime.tv_sec) +
                 (double)(use.ru_utime.tv_usec + use.ru_stime.tv_usec) / 1e6;
    if (rank == 3 ? atomic_load(&told) != 0 : atomic_load(&told) < 1 || waited < CLOCK_SEC / 10)
        return err_set(
            e, ERR_FAILED, "told %d times, after %lld ns", atomic_load(&told), (long long)waited);
    if (rank != 3 && use.ru_nvcsw < 2)
        return err_set(e, ERR_FAILED, "it has not slept");
    return cpu < 0.5 || TAP_SANITIZED ? 0 : err_set(e, ERR_FAILED, "%g s of processor time", cpu);
}

TEST(who_waits_says_so_and_sleeps)
{
    in_processes(4, come_late);
}

TEST(the_memory_keeps_its_size_and_is_checked)
{
    err e;
    int fd = made(3);
    CHECK(fcntl(fd, F_GETFD) & FD_CLOEXEC);
    CHECK_INT(ftruncate(fd, 0), -1);
    shared *s = shared_open(fd, &e);
    CHECK_OK(s, e);
    CHECK_INT(shared_ranks(s), 3);
    CHECK_INT(shared_join(s, 3, &e), -1);
    CHECK_HAS(e.text, "for 3 ranks, and this is rank 3");
    CHECK_OK(shared_join(s, 2, &e) == 0, e);
    shared_close(s);
    close(fd);
    int other = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    CHECK(!shared_open(other, &e));
    CHECK_HAS(e.text, "not what this version makes");
    close(other);
}

int main(void)
{
    return tap_run();
}
