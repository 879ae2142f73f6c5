// SPDX-License-Identifier: MIT
#include "trainer/cpu/pool.h"

#include "base/mem.h"

#include <limits.h>
#include <linux/futex.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <sys/syscall.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

// A spin of some 100 µs is longer than any wait within a step. With more threads than cores, the
// thread we wait for may need this very core, so nobody spins.
enum { CACHE_LINE = 64, THREADS_MAX = 256, SPINS = 4000 };

// A number whose change other threads wait for. While `sleepers` is 0, the waker needs no system
// call.
struct gate {
    _Alignas(CACHE_LINE) atomic_uint turn;
    atomic_uint sleepers;
};

struct pool {
    int threads;
    atomic_int spins;
    cpu_set_t allowed; // thread 0's cores
    int seen;          // the core that it was seen on, -1: not yet
    int home;          // the core where helpers must not run; -1: anywhere
    int running;       // threads in the current run
    void (*fn)(void *ctx, int thread);
    void *ctx;
    bool quit;
    struct gate start, barrier;
    _Alignas(CACHE_LINE) atomic_int arrived;
    pthread_t helper[THREADS_MAX];
};

struct helper {
    pool *pool;
    int thread;
};

static void futex(atomic_uint *word, int op, unsigned value)
{
    syscall(SYS_futex, word, op | FUTEX_PRIVATE_FLAG, value, NULL, NULL, 0);
}

static void relax(void)
{
#ifdef __SSE2__
    _mm_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static void gate_wait(struct gate *g, unsigned seen, atomic_int *spins)
{
    int most = atomic_load_explicit(spins, memory_order_relaxed);
    for (int i = 0; i < most; i++) {
        if (atomic_load_explicit(&g->turn, memory_order_acquire) != seen)
            return;
        relax();
    }
    atomic_fetch_add(&g->sleepers, 1);
    while (atomic_load(&g->turn) == seen)
        futex(&g->turn, FUTEX_WAIT, seen);
    atomic_fetch_sub(&g->sleepers, 1);
}

static void gate_open(struct gate *g)
{
    atomic_fetch_add(&g->turn, 1);
    if (atomic_load(&g->sleepers))
        futex(&g->turn, FUTEX_WAKE, INT_MAX);
}

// When weights no longer change, their Adam moments decay into denormals, which cost 100 times
// more. So denormals are flushed to zero (FTZ) and read as zero (DAZ).
static unsigned flush_denormals(void)
{
#ifdef __SSE2__
    unsigned before = _mm_getcsr();
    _mm_setcsr(before | 0x8040);
    return before;
#else
    return 0;
#endif
}

static void restore_float_mode(unsigned mode)
{
#ifdef __SSE2__
    _mm_setcsr(mode);
#endif
}

void pool_barrier(pool *p)
{
    int running = p->running; // a copy: after our arrival the next run may change it
    if (running == 1)
        return;
    unsigned seen = atomic_load_explicit(&p->barrier.turn, memory_order_acquire);
    if (atomic_fetch_add(&p->arrived, 1) + 1 < running) {
        gate_wait(&p->barrier, seen, &p->spins);
        return;
    }
    atomic_store_explicit(&p->arrived, 0, memory_order_relaxed);
    gate_open(&p->barrier);
}

// On a busy machine the scheduler tends to leave all threads on one core, where they wait for each
// other. So helpers are pinned to different cores, but not to thread 0's. Thread 0 is not pinned:
// the caller, and processes that it starts, may run anywhere. The caller's affinity counts: if
// somebody changes the affinity of all threads (taskset -a, a launcher), helpers obey. If there are
// too few cores, nobody is pinned.
//
//   cores   0 1 2 3 4 5 6 7      home 2, 3 helpers: the first may run on 0, 4 and 7, the second on
//           a b H c a b c a      1 and 5, the third on 3 and 6
static void leave_home(const pool *p, int helper)
{
    cpu_set_t mine;
    CPU_ZERO(&mine);
    for (int core = 0, i = 0; core < CPU_SETSIZE; core++)
        if (core != p->home && CPU_ISSET(core, &p->allowed) && i++ % (p->threads - 1) == helper - 1)
            CPU_SET(core, &mine);
    sched_setaffinity(0, sizeof mine, &mine); // a hint: failure does not matter
}

static void *help(void *arg)
{
    struct helper h = *(struct helper *)arg;
    int home = -1;
    free(arg);
    flush_denormals();
    for (unsigned turn = 0;; turn++) {
        gate_wait(&h.pool->start, turn, &h.pool->spins);
        if (h.pool->quit)
            return NULL;
        if (home != h.pool->home)
            leave_home(h.pool, h.thread);
        home = h.pool->home;
        h.pool->fn(h.pool->ctx, h.thread);
        pool_barrier(h.pool);
    }
}

static int cores_of(cpu_set_t *set)
{
    CPU_ZERO(set);
    if (sched_getaffinity(0, sizeof *set, set) < 0)
        return 1;
    return CPU_COUNT(set) > 0 ? CPU_COUNT(set) : 1;
}

// Are there cores enough for all threads?
static bool find_cores(pool *p, int threads)
{
    bool enough = cores_of(&p->allowed) >= threads;
    atomic_store_explicit(&p->spins, enough ? SPINS : 0, memory_order_relaxed);
    return enough;
}

// Called while helpers wait for their start. With too few cores, all stay where they are.
static void find_home(pool *p)
{
    int core = sched_getcpu();
    if (core != p->seen && find_cores(p, p->threads))
        p->home = core;
    p->seen = core;
}

void pool_run(pool *p, bool alone, void (*fn)(void *ctx, int thread), void *ctx)
{
    unsigned mode = flush_denormals();
    p->fn = fn;
    p->ctx = ctx;
    p->running = alone ? 1 : p->threads;
    if (p->running > 1) {
        find_home(p);
        gate_open(&p->start);
    }
    fn(ctx, 0);
    pool_barrier(p);
    restore_float_mode(mode);
}

int pool_cores(void)
{
    cpu_set_t set;
    return cores_of(&set);
}

pool *pool_new(int threads)
{
    pool *p = aligned_alloc(CACHE_LINE, (sizeof *p + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
    if (!p)
        mem_out(sizeof *p);
    int want = threads < 1 ? 1 : threads > THREADS_MAX ? THREADS_MAX : threads;
    *p = (pool){.threads = 1, .seen = -1, .home = -1};
    find_cores(p, want);
    while (p->threads < want) {
        struct helper *h = mem_alloc(sizeof *h);
        *h = (struct helper){p, p->threads};
        if (pthread_create(&p->helper[p->threads], NULL, help, h) != 0) {
            free(h);
            break;
        }
        p->threads++;
    }
    return p;
}

void pool_free(pool *p)
{
    if (!p)
        return;
    p->quit = true;
    gate_open(&p->start);
    for (int i = 1; i < p->threads; i++)
        pthread_join(p->helper[i], NULL);
    free(p);
}

int pool_threads(const pool *p)
{
    return p->threads;
}
