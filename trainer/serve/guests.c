// SPDX-License-Identifier: MIT
#include "trainer/serve/guests.h"

#include "base/clock.h"
#include "base/mem.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    LINGERERS = 64, // more are closed at once
    LINGER_SECONDS = 10,
    READ_BYTES = 64 << 10,
    READS_EACH = 16, // the most pieces read from one lingerer before the others have their turn
    TICK_MS = 100,
    SLOW_SECONDS = 5,
    RELIEVE_MS = 50,
    SPARE = 16, // one of so many is shown out before there is no room at all
};

struct guest {
    int fd;
    enum guest_phase phase;
    int64_t since;
    size_t held;
    bool shown_out;
    void *held_up;          // suspended by the caller, which must resume it before its library can
                            // notice
    guest *next, *previous; // of its phase, or of those that were disconnected
};

struct list {
    guest *first, *last; // those in one phase, the longest first
};

struct lingerer {
    int fd;
    int64_t until;
};

struct guests {
    struct guests_options options;
    pthread_mutex_t lock;
    pthread_t thread;
    int wake;
    bool ending;
    // The number of connections, and how many of them were shut down but not yet closed by the
    // library.
    size_t count, out, held, leaving_held;
    int64_t relieved; // when memory was short
    uint64_t shown_out;
    struct list of[GUEST_PHASES], leaving;
    size_t lingering;
    struct lingerer lingerer[LINGERERS];
};

static struct list *list_of(guests *g, const guest *who)
{
    return who->shown_out ? &g->leaving : &g->of[who->phase];
}

static void unlink_guest(guests *g, guest *who)
{
    struct list *l = list_of(g, who);
    *(who->previous ? &who->previous->next : &l->first) = who->next;
    *(who->next ? &who->next->previous : &l->last) = who->previous;
    who->next = who->previous = NULL;
}

static void append(guests *g, guest *who)
{
    struct list *l = list_of(g, who);
    who->previous = l->last;
    *(l->last ? &l->last->next : &l->first) = who;
    l->last = who;
}

static void show_out(guests *g, guest *who)
{
    unlink_guest(g, who);
    who->shown_out = true;
    append(g, who);
    g->out++;
    g->leaving_held += who->held;
    g->shown_out++;
    shutdown(who->fd, SHUT_RDWR);
    if (who->held_up)
        g->options.let_go(g->options.arg, who->held_up);
}

static void show_out_late(guests *g)
{
    int64_t now = clock_mono();
    for (size_t phase = 0; phase < GUEST_PHASES; phase++) {
        int64_t most = g->options.ns[phase];
        for (guest *who; most && (who = g->of[phase].first) && now - who->since >= most;)
            show_out(g, who);
    }
}

// The connection that has waited longest. One that never sent a request gets a quarter of the time
// of one that has; one in the middle of a request or an answer gets half.
static guest *find_slowest(const guests *g)
{
    static const int64_t weight[GUEST_PHASES] = {
        [GUEST_NEW] = 4, [GUEST_KEPT] = 1, [GUEST_SENDS] = 2, [GUEST_READS] = 2};
    int64_t now = clock_mono(), most = -1;
    guest *slowest = NULL;
    for (size_t phase = 0; phase < GUEST_PHASES; phase++) {
        guest *who = g->of[phase].first;
        int64_t waited = who && weight[phase] ? (now - who->since) * weight[phase] : -1;
        slowest = waited > most ? who : slowest;
        most = waited > most ? waited : most;
    }
    return slowest;
}

static void make_room(guests *g)
{
    size_t room = g->options.most - g->options.most / SPARE - 1;
    for (guest *who; g->count - g->out > room && (who = find_slowest(g));)
        show_out(g, who);
}

// Memory is short: disconnects, among those that have been sending or reading for some seconds, the
// slowest that hold more than the average, until an eighth is freed. Younger ones stay: otherwise a
// client that reconnects at once would make us read the same again without end.
static void relieve(guests *g)
{
    static const enum guest_phase slow[] = {GUEST_SENDS, GUEST_READS};
    size_t fair = (g->held - g->leaving_held) / (g->count - g->out), freed = 0;
    int64_t now = clock_mono();
    if (now - g->relieved < RELIEVE_MS * CLOCK_MS)
        return;
    g->relieved = now;
    for (size_t i = 0; i < ARRAY_LEN(slow); i++)
        for (guest *who = g->of[slow[i]].first, *next; who; who = next) {
            next = who->next;
            if (now - who->since < SLOW_SECONDS * CLOCK_SEC || freed >= g->options.held / 8)
                break;
            if (who->held <= fair)
                continue;
            freed += who->held;
            show_out(g, who);
        }
}

// Lingerers.

// Discards the bytes that arrive. Returns whether there may be more.
static bool drain(int fd)
{
    static char nothing[READ_BYTES]; // only this thread writes there, and nobody reads it
    for (int i = 0; i < READS_EACH; i++) {
        ssize_t n = recv(fd, nothing, sizeof nothing, MSG_DONTWAIT);
        if (n <= 0)
            return n < 0;
    }
    return true;
}

static void end_lingerer(guests *g, size_t i)
{
    close(g->lingerer[i].fd);
    g->lingerer[i] = g->lingerer[--g->lingering];
}

static bool is_gone(const struct pollfd *at)
{
    return (at->revents & (POLLERR | POLLHUP | POLLNVAL)) || (at->revents && !drain(at->fd));
}

// With the lock, but for the reading.
static void look_at_lingerers(guests *g, const struct pollfd *at, size_t n)
{
    bool gone[LINGERERS];
    int64_t now = clock_mono();
    pthread_mutex_unlock(&g->lock);
    for (size_t i = 0; i < n; i++)
        gone[i] = is_gone(&at[i]);
    pthread_mutex_lock(&g->lock);
    for (size_t i = n; i-- > 0;)
        if (gone[i] || now >= g->lingerer[i].until)
            end_lingerer(g, i);
}

static bool may_be_late(const guests *g)
{
    for (size_t phase = 0; phase < GUEST_PHASES; phase++)
        if (g->options.ns[phase] && g->of[phase].first)
            return true;
    return false;
}

// Only this thread shortens the list of lingerers; others append to it.
static void *usher(void *arg)
{
    guests *g = arg;
    struct pollfd at[LINGERERS + 1];
    pthread_mutex_lock(&g->lock);
    while (!g->ending) {
        size_t n = g->lingering;
        for (size_t i = 0; i < n; i++)
            at[i] = (struct pollfd){.fd = g->lingerer[i].fd, .events = POLLIN};
        at[n] = (struct pollfd){.fd = g->wake, .events = POLLIN};
        int timeout = n || may_be_late(g) ? TICK_MS : -1;
        pthread_mutex_unlock(&g->lock);
        poll(at, n + 1, timeout);
        g->options.tick(g->options.arg);
        uint64_t times;
        if (at[n].revents && read(g->wake, &times, sizeof times) < 0)
            at[n].revents = 0;
        pthread_mutex_lock(&g->lock);
        look_at_lingerers(g, at, n);
        show_out_late(g);
    }
    while (g->lingering)
        end_lingerer(g, g->lingering - 1);
    pthread_mutex_unlock(&g->lock);
    return NULL;
}

static void wake(const guests *g)
{
    uint64_t once = 1;
    ssize_t written = write(g->wake, &once, sizeof once);
    (void)written; // the pipe is full of wake-ups: that is enough
}

static void free_parts(guests *g)
{
    if (g->wake >= 0)
        close(g->wake);
    pthread_mutex_destroy(&g->lock);
    free(g);
}

guests *guests_new(const struct guests_options *o, err *e)
{
    guests *g = mem_alloc(sizeof *g);
    g->options = *o;
    g->lock = (pthread_mutex_t)PTHREAD_MUTEX_INITIALIZER;
    g->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int failed = g->wake < 0 ? errno : pthread_create(&g->thread, NULL, usher, g);
    if (!failed)
        return g;
    err_start(e, failed, "cannot start a thread");
    free_parts(g);
    return NULL;
}

void guests_free(guests *g)
{
    if (!g)
        return;
    pthread_mutex_lock(&g->lock);
    g->ending = true;
    pthread_mutex_unlock(&g->lock);
    wake(g);
    pthread_join(g->thread, NULL);
    free_parts(g);
}

size_t guests_count(guests *g)
{
    pthread_mutex_lock(&g->lock);
    size_t n = g->count;
    pthread_mutex_unlock(&g->lock);
    return n;
}

uint64_t guests_shown_out(guests *g)
{
    pthread_mutex_lock(&g->lock);
    uint64_t n = g->shown_out;
    pthread_mutex_unlock(&g->lock);
    return n;
}

guest *guest_enter(guests *g, int fd)
{
    guest *who = mem_alloc(sizeof *who);
    *who = (guest){.fd = fd, .phase = GUEST_NEW, .since = clock_mono()};
    pthread_mutex_lock(&g->lock);
    bool asleep = !may_be_late(g);
    append(g, who);
    g->count++;
    make_room(g);
    pthread_mutex_unlock(&g->lock);
    if (asleep)
        wake(g);
    return who;
}

static bool has_more(int fd)
{
    char c;
    return recv(fd, &c, 1, MSG_PEEK | MSG_DONTWAIT) > 0;
}

// The library closes the socket; a second descriptor keeps the connection.
static void linger(guests *g, int fd)
{
    int same = g->lingering < LINGERERS && !g->ending ? dup(fd) : -1;
    if (same < 0)
        return;
    shutdown(same, SHUT_WR);
    g->lingerer[g->lingering++] =
        (struct lingerer){same, clock_mono() + LINGER_SECONDS * CLOCK_SEC};
}

void guest_leave(guests *g, guest *who, bool lingers)
{
    pthread_mutex_lock(&g->lock);
    unlink_guest(g, who);
    g->count--;
    g->out -= who->shown_out;
    g->held -= who->held;
    g->leaving_held -= who->shown_out ? who->held : 0;
    lingers = (lingers || has_more(who->fd)) && !who->shown_out;
    if (lingers)
        linger(g, who->fd);
    pthread_mutex_unlock(&g->lock);
    if (lingers)
        wake(g);
    free(who);
}

void guest_turn_to(guests *g, guest *who, enum guest_phase phase)
{
    pthread_mutex_lock(&g->lock);
    bool asleep = !may_be_late(g);
    unlink_guest(g, who);
    who->phase = phase;
    who->since = clock_mono();
    append(g, who);
    pthread_mutex_unlock(&g->lock);
    if (asleep && g->options.ns[phase])
        wake(g);
}

void guest_hold_up(guests *g, guest *who, void *what)
{
    pthread_mutex_lock(&g->lock);
    who->held_up = what;
    if (what && who->shown_out)
        g->options.let_go(g->options.arg, what);
    pthread_mutex_unlock(&g->lock);
}

void guest_hold(guests *g, guest *who, size_t bytes)
{
    pthread_mutex_lock(&g->lock);
    g->held += bytes - who->held;
    g->leaving_held += who->shown_out ? bytes - who->held : 0;
    who->held = bytes;
    bool much = g->held - g->leaving_held > g->options.held;
    if (much)
        relieve(g);
    pthread_mutex_unlock(&g->lock);
}
