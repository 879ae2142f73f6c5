// SPDX-License-Identifier: MIT
//
// An operation takes one or more rounds; a long one has many. In a round each rank
//
//   1  writes what it gives into one half of its room, and the operation's sign beside it;
//   2  comes: it is counted, the last one sets the word `all`, and its own word becomes the
//      number of this round;
//   3  waits for all (or only for the root), and reads.
//
// The next round uses the other half. A rank reuses a half only after every rank has entered the
// next round. By then all have finished reading it.
#include "trainer/dist/shared.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/follow.h"
#include "base/os/path.h"
#include "trainer/dist/reduce.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/futex.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    CACHE_LINE = 64,
    PAGE = 4096,
    HALVES = 2,
    COUNTS = 4, // more than the number of rounds that ranks can be apart
    RANKS_MOST = 4096,
    LOAN = 4, // borrowed memory: so many times the size of half a room
    ROOM_LEAST = 1 << 16,
    ROOM_MOST = 1 << 20,
    ROOMS_MOST = 8 << 20, // for all ranks together, unless each would get less than the least
    FEW_BYTES = 1 << 16,  // for all ranks: up to this size each rank adds up everything, which
                          // saves a wait
    FEW_RANKS = 2 // with so many ranks at most, too: sharing the work would not save reading
};

// A wait within a step is rarely longer than the spin. A sleeping rank checks from time to time
// whether the others still live.
static const int64_t SPIN = 50 * CLOCK_MS / 1000, LOOK = CLOCK_SEC / 4;
enum { CLOCK_EVERY = 64 };

// A number that only grows, modulo 2³², and that others wait for. While `sleepers` is 0, changing
// it needs no system call.
struct word {
    _Alignas(CACHE_LINE) _Atomic uint32_t value;
    _Atomic uint32_t sleepers;
};

struct member {
    struct word round;     // the last round that it has entered
    uint64_t sign[HALVES]; // sign of the operation whose values are there
    bool lent[HALVES];     // in an update: the gradients are in the borrowed memory
};

struct channel_head {
    struct word all; // the last round that all ranks have entered
    _Alignas(CACHE_LINE) _Atomic uint32_t count[COUNTS];
    struct member member[];
};

struct layout {
    uint32_t ranks, room;   // bytes of half a room
    uint64_t channel, size; // bytes of a channel, of all
    uint64_t loans;         // where they begin
};

struct head {
    struct layout layout;
    _Atomic int32_t pid[]; // 0: it has not joined yet
};

// This rank's view of a channel.
struct view {
    struct channel_head *head;
    char *rooms;
    uint32_t round, before; // the current round; the first round of the exchange before it
    unsigned half;
};

struct shared {
    struct head *head;
    struct view view[SHARED_CHANNELS];
    int rank, ranks;
    size_t room;
    bool spins;
    bool failed;
    bool borrowed;           // this rank uses its memory for gradients
    int64_t since, reported; // for the operation in progress: when it first slept, and last
                             // reported that
    int64_t interval;
    void (*slow)(void *ctx, int64_t waited); // called when an operation is slow; NULL: nothing
    void *ctx;
};

static size_t rounded(size_t n)
{
    return (n + PAGE - 1) / PAGE * PAGE;
}

static size_t room_of(int ranks)
{
    size_t room = ROOM_MOST;
    while (room > ROOM_LEAST && room * (size_t)ranks > ROOMS_MOST)
        room /= 2;
    return room;
}

static size_t head_size(int ranks)
{
    return rounded(sizeof(struct head) + (size_t)ranks * sizeof(int32_t));
}

static size_t words_size(int ranks)
{
    return rounded(sizeof(struct channel_head) + (size_t)ranks * sizeof(struct member));
}

static struct layout layout_of(int ranks)
{
    struct layout l = {.ranks = (uint32_t)ranks, .room = (uint32_t)room_of(ranks)};
    l.channel = words_size(ranks) + (size_t)ranks * HALVES * l.room;
    l.loans = head_size(ranks) + SHARED_CHANNELS * l.channel;
    l.size = l.loans + (size_t)ranks * LOAN * l.room;
    return l;
}

// No rank may shrink what the others have mapped.
static int seal_size(int fd, size_t size)
{
    return ftruncate(fd, (off_t)size) ||
                   fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)
               ? -1
               : 0;
}

int shared_make(int ranks, err *e)
{
    struct layout l = layout_of(ranks);
    int fd = fd_memory("firesteel-ranks");
    if (fd >= 0 && seal_size(fd, l.size) == 0 && pwrite(fd, &l, sizeof l, 0) == sizeof l)
        return fd;
    if (errno == EFBIG) // the file size limit applies to this file, too
        err_set(e, ERR_LIMIT, "memory for %d ranks takes %zu MiB, more than ulimit -f allows",
            ranks, (size_t)(l.size >> 20));
    else
        err_errno(e, errno, "memory for %d ranks", ranks);
    if (fd >= 0)
        close(fd);
    return -1;
}

static struct head *map(int fd, err *e)
{
    struct stat st;
    struct layout l = {0};
    bool whole = fstat(fd, &st) == 0 && pread(fd, &l, sizeof l, 0) == sizeof l && l.ranks >= 1 &&
                 l.ranks <= RANKS_MOST;
    struct layout want = layout_of(whole ? (int)l.ranks : 1);
    if (!whole || memcmp(&l, &want, sizeof l) || l.size != (uint64_t)st.st_size) {
        err_set(e, ERR_INVALID, "the memory of the ranks is not what this version makes");
        return NULL;
    }
    void *at = mmap(NULL, l.size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED) {
        err_errno(e, errno, "cannot map %zu MiB of shared memory", (size_t)(l.size >> 20));
        return NULL;
    }
    madvise(at, l.size, MADV_DONTFORK); // children of a rank have no part in it
    return at;
}

shared *shared_open(int fd, err *e)
{
    struct head *head = map(fd, e);
    if (!head)
        return NULL;
    shared *s = mem_alloc(sizeof *s);
    *s = (shared){
        .head = head, .ranks = (int)head->layout.ranks, .room = head->layout.room, .rank = -1};
    char *at = (char *)head + head_size(s->ranks);
    for (int i = 0; i < SHARED_CHANNELS; i++, at += head->layout.channel)
        s->view[i] =
            (struct view){.head = (struct channel_head *)at, .rooms = at + words_size(s->ranks)};
    return s;
}

void shared_close(shared *s)
{
    if (!s)
        return;
    munmap(s->head, s->head->layout.size);
    free(s);
}

int shared_join(shared *s, int rank, err *e)
{
    cpu_set_t cores;
    if (rank < 0 || rank >= s->ranks)
        return err_set(e, ERR_INVALID, "the shared memory is for %d ranks, and this is rank %d",
            s->ranks, rank);
    s->rank = rank;
    s->spins = sched_getaffinity(0, sizeof cores, &cores) == 0 && CPU_COUNT(&cores) >= s->ranks;
    atomic_store(&s->head->pid[rank], (int32_t)getpid());
    return 0;
}

int shared_rank(const shared *s)
{
    return s->rank;
}

int shared_ranks(const shared *s)
{
    return s->ranks;
}

void shared_watch(shared *s, int64_t interval, void (*slow)(void *ctx, int64_t waited), void *ctx)
{
    s->interval = interval;
    s->slow = slow;
    s->ctx = ctx;
}

static void relax(void)
{
#ifdef __SSE2__
    _mm_pause();
#else
    atomic_signal_fence(memory_order_seq_cst);
#endif
}

static bool reached(const struct word *w, uint32_t round)
{
    return (int32_t)(atomic_load_explicit(&w->value, memory_order_acquire) - round) >= 0;
}

// The word belongs to several processes, so the futex is not private.
static void word_set(struct word *w, uint32_t round)
{
    atomic_store(&w->value, round);
    if (atomic_load(&w->sleepers))
        syscall(SYS_futex, &w->value, FUTEX_WAKE, INT_MAX, NULL, NULL, 0);
}

// Sleeps until the word changes, at most for LOOK.
static void word_sleep(struct word *w, uint32_t round)
{
    const struct timespec most = {.tv_nsec = LOOK};
    atomic_fetch_add(&w->sleepers, 1);
    uint32_t now = atomic_load(&w->value);
    if ((int32_t)(now - round) < 0)
        syscall(SYS_futex, &w->value, FUTEX_WAIT, now, &most, NULL, 0);
    atomic_fetch_sub(&w->sleepers, 1);
}

static bool spin(const shared *s, const struct word *w, uint32_t round)
{
    int64_t until = 0;
    for (unsigned tries = 0; s->spins; tries++) {
        if (reached(w, round))
            return true;
        if (tries % CLOCK_EVERY == CLOCK_EVERY - 1) {
            int64_t now = clock_mono();
            until = until ? until : now + SPIN;
            if (now > until)
                break;
        }
        relax();
    }
    return reached(w, round);
}

// Finds a rank that has not entered the round and never will. only: one rank, -1: any.
static int look_for_lost(shared *s, const struct view *v, int only, const char *what, err *e)
{
    for (int r = 0; r < s->ranks; r++) {
        struct word *w = &v->head->member[r].round;
        if ((only >= 0 && r != only) || reached(w, v->round) ||
            !process_has_ended(atomic_load(&s->head->pid[r])) || reached(w, v->round))
            continue;
        s->failed = true;
        return err_set(e, ERR_UNAVAILABLE,
            "%s: rank %d has ended, so the others wait for it in vain", what, r);
    }
    return 0;
}

static void tell_slow(shared *s, int64_t now)
{
    if (!s->slow || now - s->reported <= s->interval)
        return;
    s->slow(s->ctx, now - s->since);
    s->reported = now;
}

// Waits until the shared counter w has reached `round`. Fails if rank `only` (-1: any rank) has
// died meanwhile.
static int wait_for(
    shared *s, struct view *v, struct word *w, uint32_t round, int only, const char *what, err *e)
{
    if (reached(w, round) || spin(s, w, round))
        return 0;
    if (!s->since)
        s->since = s->reported = clock_mono();
    while (!reached(w, round)) {
        word_sleep(w, round);
        int64_t now = clock_mono();
        if (reached(w, round))
            break;
        tell_slow(s, now);
        if (now - s->since >= LOOK && look_for_lost(s, v, only, what, e))
            return -1;
    }
    return 0;
}

static int wait_for_all(shared *s, struct view *v, uint32_t round, const char *what, err *e)
{
    return wait_for(s, v, &v->head->all, round, -1, what, e);
}

// Sets the own word last. A rank that is killed before it has not arrived, so the others find that
// it is lost; a rank whose word is set has been counted.
static void come(shared *s, struct view *v)
{
    v->round++;
    _Atomic uint32_t *count = &v->head->count[v->round % COUNTS];
    if (atomic_fetch_add(count, 1) + 1 == (uint32_t)s->ranks) {
        atomic_store(count, 0);
        word_set(&v->head->all, v->round);
    }
    word_set(&v->head->member[s->rank].round, v->round);
}

static float *loan_of_rank(const shared *s, int rank)
{
    return (float *)((char *)s->head + s->head->layout.loans + (size_t)rank * LOAN * s->room);
}

float *shared_lend(shared *s, size_t n)
{
    if (s->rank < 0 || s->borrowed || n > LOAN * s->room / sizeof(float))
        return NULL;
    float *loan = loan_of_rank(s, s->rank);
    memset(loan, 0, n * sizeof *loan);
    s->borrowed = true;
    return loan;
}

void shared_take_back(shared *s)
{
    s->borrowed = false;
}

static char *room_of_rank(const shared *s, const struct view *v, int rank)
{
    return v->rooms + ((size_t)rank * HALVES + v->half) * s->room;
}

// The operation as a number that must be the same on all ranks: its kind, what distinguishes it,
// and its size.
enum kind { ALLREDUCE = 1, BROADCAST, ALLGATHER, BARRIER, UPDATE };

static uint64_t sign_of(enum kind kind, unsigned detail, size_t n)
{
    return (uint64_t)kind << 60 | (uint64_t)detail << 48 | (n & 0xffffffffffff);
}

static const char *const names[] = {[ALLREDUCE] = "allreduce",
    [BROADCAST] = "broadcast",
    [ALLGATHER] = "allgather",
    [BARRIER] = "barrier",
    [UPDATE] = "update"};

static const char *name_of(uint64_t sign)
{
    uint64_t kind = sign >> 60;
    return kind >= ALLREDUCE && kind <= UPDATE ? names[kind] : "nothing";
}

// Before the first exchange of an operation.
static int begin(shared *s, err *e)
{
    s->since = 0;
    return s->failed ? err_set(e, ERR_UNAVAILABLE,
                           "the ranks can exchange nothing more, since an operation has failed")
                     : 0;
}

// Begins an exchange: afterwards this rank may write into its room.
static int open_room(shared *s, struct view *v, uint64_t sign, err *e)
{
    if (wait_for_all(s, v, v->before, name_of(sign), e))
        return -1;
    v->half = !v->half;
    v->before = v->round + 1;
    v->head->member[s->rank].sign[v->half] = sign;
    return 0;
}

static int differ(shared *s, const struct view *v, int rank, uint64_t mine, err *e)
{
    uint64_t theirs = v->head->member[rank].sign[v->half], n = 0xffffffffffff;
    s->failed = true;
    return err_set(e, ERR_INVALID,
        "the ranks make different calls: rank %d is in %s of %llu, but rank %d in %s of %llu",
        s->rank, name_of(mine), (unsigned long long)(mine & n), rank, name_of(theirs),
        (unsigned long long)(theirs & n));
}

// Ends the writing: the others may read; when it returns, this rank may read what they have
// written.
static int close_room(shared *s, struct view *v, uint64_t sign, err *e)
{
    come(s, v);
    if (wait_for_all(s, v, v->round, name_of(sign), e))
        return -1;
    for (int r = 0; r < s->ranks; r++)
        if (v->head->member[r].sign[v->half] != sign)
            return differ(s, v, r, sign, e);
    return 0;
}

// Where rank r's share of n values begins. Shares are whole cache lines, so that no two ranks write
// to one line.
static size_t share(const shared *s, int r, size_t n, size_t size)
{
    size_t line = CACHE_LINE / size;
    return r == s->ranks ? n : n / (size_t)s->ranks * (size_t)r / line * line;
}

// Rooms have all values: each rank adds up its share of them in its own room, then reads the
// others' shares.
static int add_shares(shared *s, struct view *v, char *values, size_t n, const void *const *from,
    comm_type type, comm_op op, err *e)
{
    size_t size = reduce_size(type), mine = share(s, s->rank, n, size);
    const void **at = mem_array((size_t)s->ranks, sizeof *at);
    for (int r = 0; r < s->ranks; r++)
        at[r] = (const char *)from[r] + mine * size;
    reduce_values(room_of_rank(s, v, s->rank) + mine * size, at, s->ranks,
        share(s, s->rank + 1, n, size) - mine, type, op);
    free(at);
    come(s, v);
    if (wait_for_all(s, v, v->round, names[ALLREDUCE], e))
        return -1;
    for (int r = 0; r < s->ranks; r++) {
        size_t first = share(s, r, n, size), last = share(s, r + 1, n, size);
        memcpy(values + first * size, (const char *)from[r] + first * size, (last - first) * size);
    }
    return 0;
}

static int reduce_piece(shared *s, struct view *v, char *values, size_t n, comm_type type,
    comm_op op, const void **from, err *e)
{
    size_t bytes = n * reduce_size(type);
    uint64_t sign = sign_of(ALLREDUCE, (unsigned)type << 4 | (unsigned)op, n);
    if (open_room(s, v, sign, e))
        return -1;
    memcpy(room_of_rank(s, v, s->rank), values, bytes);
    if (close_room(s, v, sign, e))
        return -1;
    for (int r = 0; r < s->ranks; r++)
        from[r] = room_of_rank(s, v, r);
    if (bytes * (size_t)s->ranks > FEW_BYTES && s->ranks > FEW_RANKS)
        return add_shares(s, v, values, n, from, type, op, e);
    from[s->rank] = values; // closer in the cache than the room
    reduce_values(values, from, s->ranks, n, type, op);
    return 0;
}

int shared_allreduce(shared *s, enum shared_channel channel, void *values, size_t n, comm_type type,
    comm_op op, err *e)
{
    size_t size = reduce_size(type), most = s->room / size;
    if (begin(s, e))
        return -1;
    const void **from = mem_array((size_t)s->ranks, sizeof *from);
    int result = 0;
    for (size_t at = 0, piece; at < n && result == 0; at += piece) {
        piece = n - at < most ? n - at : most;
        result = reduce_piece(
            s, &s->view[channel], (char *)values + at * size, piece, type, op, from, e);
    }
    free(from);
    return result;
}

// Only the root writes, so the others wait only for it.
static int broadcast_piece(
    shared *s, struct view *v, char *bytes, size_t n, int root, uint64_t sign, err *e)
{
    struct member *from = &v->head->member[root];
    if (open_room(s, v, sign, e))
        return -1;
    if (s->rank == root)
        memcpy(room_of_rank(s, v, root), bytes, n);
    come(s, v);
    if (s->rank == root)
        return 0;
    if (wait_for(s, v, &from->round, v->round, root, name_of(sign), e))
        return -1;
    if (from->sign[v->half] != sign)
        return differ(s, v, root, sign, e);
    memcpy(bytes, room_of_rank(s, v, root), n);
    return 0;
}

int shared_broadcast(
    shared *s, enum shared_channel channel, void *bytes, size_t n, int root, err *e)
{
    uint64_t sign = sign_of(BROADCAST, (unsigned)root, n);
    int result = begin(s, e);
    for (size_t at = 0, piece; at < n && result == 0; at += piece) {
        piece = n - at < s->room ? n - at : s->room;
        result = broadcast_piece(s, &s->view[channel], (char *)bytes + at, piece, root, sign, e);
    }
    return result;
}

// A piece of the rank's own values, from `at` on.
static size_t piece_of(const shared *s, size_t count, size_t at)
{
    size_t left = count > at ? count - at : 0;
    return left < s->room ? left : s->room;
}

static int gather_piece(shared *s, struct view *v, const char *mine, char *all,
    const size_t *counts, size_t at, uint64_t sign, err *e)
{
    if (open_room(s, v, sign, e))
        return -1;
    size_t given = piece_of(s, counts[s->rank], at);
    if (given)
        memcpy(room_of_rank(s, v, s->rank), mine + at, given);
    if (close_room(s, v, sign, e))
        return -1;
    for (int r = 0; r < s->ranks; all += counts[r++]) {
        size_t n = piece_of(s, counts[r], at);
        if (n)
            memcpy(all + at, room_of_rank(s, v, r), n);
    }
    return 0;
}

int shared_allgather(shared *s, enum shared_channel channel, const void *mine, void *all,
    const size_t *counts, err *e)
{
    size_t most = 0, total = 0;
    int result = begin(s, e);
    for (int r = 0; r < s->ranks; r++) {
        most = counts[r] > most ? counts[r] : most;
        total += counts[r];
    }
    uint64_t sign = sign_of(ALLGATHER, 0, total);
    for (size_t at = 0; at < most && result == 0; at += s->room)
        result = gather_piece(s, &s->view[channel], mine, all, counts, at, sign, e);
    return result;
}

int shared_barrier(shared *s, enum shared_channel channel, err *e)
{
    uint64_t sign = sign_of(BARRIER, 0, 0);
    struct view *v = &s->view[channel];
    return begin(s, e) || open_room(s, v, sign, e) || close_room(s, v, sign, e) ? -1 : 0;
}

size_t shared_share(const shared *s, int rank, size_t n)
{
    return share(s, rank, n, sizeof(float));
}

// A round of a shared update: `most` numbers of each rank's share, from `at` on. A room has space
// for `most` numbers for each share.
struct slice {
    float *gradients, *weights;
    size_t n, at, most;
    size_t block; // numbers that are read, updated and written together
};

static size_t slice_from(const shared *s, const struct slice *c, int rank)
{
    size_t from = shared_share(s, rank, c->n) + c->at, end = shared_share(s, rank + 1, c->n);
    return from < end ? from : end;
}

static size_t slice_to(const shared *s, const struct slice *c, int rank)
{
    size_t to = shared_share(s, rank, c->n) + c->at + c->most;
    size_t end = shared_share(s, rank + 1, c->n);
    return to < end ? to : end;
}

static float *slice_room(
    const shared *s, const struct view *v, const struct slice *c, int rank, int owner)
{
    return (float *)room_of_rank(s, v, rank) + (size_t)owner * c->most;
}

// Where a rank's gradients from `first` on are, for this rank's share.
static const float *gradients_of(
    const shared *s, const struct view *v, const struct slice *c, int rank, size_t first)
{
    if (rank == s->rank)
        return c->gradients + first;
    return v->head->member[rank].lent[v->half]
               ? loan_of_rank(s, rank) + first
               : slice_room(s, v, c, rank, s->rank) + (first - slice_from(s, c, s->rank));
}

// Takes this rank's gradients from where they are, and the others' from rooms or borrowed memory. A
// block's average is still in the first-level cache when its weights are updated, and the weights
// are when they are written out.
static void update_own(shared *s, struct view *v, const struct slice *c,
    void (*update)(void *ctx, size_t from, size_t to), void *ctx)
{
    size_t from = slice_from(s, c, s->rank), to = slice_to(s, c, s->rank);
    float *out = slice_room(s, v, c, s->rank, s->rank);
    const void **at = mem_array((size_t)s->ranks, sizeof *at);
    for (size_t done = from, n; done < to; done += n) {
        n = to - done < c->block ? to - done : c->block;
        for (int r = 0; r < s->ranks; r++)
            at[r] = gradients_of(s, v, c, r, done);
        reduce_values(c->gradients + done, at, s->ranks, n, COMM_F32, COMM_AVERAGE);
        update(ctx, done, done + n);
        memcpy(out + (done - from), c->weights + done, n * sizeof *out);
    }
    free(at);
}

static int update_slice(shared *s, struct view *v, const struct slice *c,
    void (*update)(void *ctx, size_t from, size_t to), void *ctx, err *e)
{
    uint64_t sign = sign_of(UPDATE, 0, c->n);
    if (open_room(s, v, sign, e))
        return -1;
    bool lent = v->head->member[s->rank].lent[v->half] = c->gradients == loan_of_rank(s, s->rank);
    for (int r = 0; r < s->ranks && !lent; r++) {
        size_t from = slice_from(s, c, r);
        if (r != s->rank)
            memcpy(slice_room(s, v, c, s->rank, r), c->gradients + from,
                (slice_to(s, c, r) - from) * sizeof(float));
    }
    if (close_room(s, v, sign, e))
        return -1;
    update_own(s, v, c, update, ctx);
    come(s, v);
    if (wait_for_all(s, v, v->round, names[UPDATE], e))
        return -1;
    for (int r = 0; r < s->ranks; r++) {
        size_t from = slice_from(s, c, r);
        if (r != s->rank)
            memcpy(c->weights + from, slice_room(s, v, c, r, r),
                (slice_to(s, c, r) - from) * sizeof(float));
    }
    return 0;
}

int shared_update(shared *s, enum shared_channel channel, float *gradients, float *weights,
    size_t n, size_t block, void (*update)(void *ctx, size_t from, size_t to), void *ctx, err *e)
{
    size_t line = CACHE_LINE / sizeof(float), longest = 0;
    struct slice c = {.gradients = gradients, .weights = weights, .n = n, .block = block};
    c.most = s->room / sizeof(float) / (size_t)s->ranks / line * line;
    for (int r = 0; r < s->ranks; r++) {
        size_t own = shared_share(s, r + 1, n) - shared_share(s, r, n);
        longest = own > longest ? own : longest;
    }
    int result = begin(s, e);
    for (; c.at < longest && result == 0; c.at += c.most)
        result = update_slice(s, &s->view[channel], &c, update, ctx, e);
    return result;
}

int shared_gather_shares(shared *s, enum shared_channel channel, float *values, size_t n, err *e)
{
    size_t *counts = mem_array((size_t)s->ranks, sizeof *counts);
    for (int r = 0; r < s->ranks; r++)
        counts[r] = (shared_share(s, r + 1, n) - shared_share(s, r, n)) * sizeof *values;
    int result =
        shared_allgather(s, channel, values + shared_share(s, s->rank, n), values, counts, e);
    free(counts);
    return result;
}
