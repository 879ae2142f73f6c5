// SPDX-License-Identifier: MIT
#include "script/kernel/process/guard.h"

#include "base/clock.h"
#include "base/mem.h"
#include "base/os/owner.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    LEAVINGS_MAX = 256,
    FIRST_PAUSE_MS = 1, // before the first look at what is left; each pause is twice as long
    LAST_PAUSE_MS = 256,
    PATIENCE_MS = 5000, // for killed processes to end
    FOREIGN_MS = 1000,  // for processes that we may not kill
    SOON_MS = 200,
};

// Shared by kernel and guard: the kernel writes; the guard reads when the kernel has ended.
static struct shared {
    pid_t told; // the guard, when it wants to hear of guard_went_on; else 0
    char note[GUARD_NOTE_MAX];
    char journal[GUARD_NOTE_MAX];
    atomic_bool left[LEAVINGS_MAX]; // which entries of `left` count
    char leavings[LEAVINGS_MAX][PATH_MAX];
} * shared;

static pthread_mutex_t leavings_lock = PTHREAD_MUTEX_INITIALIZER; // of the kernel's threads

// Signals for the kernel, whoever gets them. The guard blocks these and SIGCHLD, and waits for
// them: none is lost between fork and the first wait, and no handler runs at a random place.
static const int passed_on[] = {SIGINT, SIGTERM, SIGHUP};

#define WENT_ON SIGUSR1 // from the kernel to the guard

static void block_signals(sigset_t *waited, sigset_t *before)
{
    signal(SIGCHLD, SIG_DFL); // a parent may leave it ignored; then children would leave no status
    sigemptyset(waited);
    sigaddset(waited, SIGCHLD);
    sigaddset(waited, WENT_ON);
    for (size_t i = 0; i < ARRAY_LEN(passed_on); i++)
        sigaddset(waited, passed_on[i]);
    sigprocmask(SIG_BLOCK, waited, before);
}

// Fields of /proc/PID/stat. The name in parentheses may contain anything, so reading starts after
// the last ')'.
struct process {
    char name[64];
    char state;
    pid_t parent;
};

static bool look_at(const char *pid, struct process *p)
{
    char path[64], text[512];
    snprintf(path, sizeof path, "/proc/%.20s/stat", pid);
    FILE *f = fopen(path, "re");
    if (!f)
        return false;
    size_t n = fread(text, 1, sizeof text - 1, f);
    fclose(f);
    text[n] = '\0';
    char *name = strchr(text, '('), *end = strrchr(text, ')');
    if (!name || !end || sscanf(end + 1, " %c %d", &p->state, &p->parent) != 2)
        return false;
    snprintf(p->name, sizeof p->name, "%.*s", (int)(end - name - 1), name + 1);
    return true;
}

static bool kill_child(pid_t pid, const struct process *p)
{
    return kill(pid, SIGKILL) == 0;
}

static bool name_child(pid_t pid, const struct process *p)
{
    if (p->state == 'Z')
        return false;
    fprintf(
        stderr, "firesteel: process %d (%s) could not be ended; it goes on\n", (int)pid, p->name);
    return true;
}

// Returns the number of children for which fn was true.
static int each_child(bool (*fn)(pid_t pid, const struct process *p))
{
    int n = 0;
    DIR *proc = opendir("/proc");
    pid_t self = getpid();
    struct process p;
    for (struct dirent *d; proc && (d = readdir(proc));)
        if (d->d_name[0] >= '1' && d->d_name[0] <= '9' && look_at(d->d_name, &p) &&
            p.parent == self)
            n += fn((pid_t)atoi(d->d_name), &p);
    if (proc)
        closedir(proc);
    return n;
}

// Returns false when none is left.
static bool reap(void)
{
    pid_t pid;
    while ((pid = waitpid(-1, NULL, WNOHANG)) > 0)
        ;
    return pid == 0;
}

// Kills all descendants. The children of a killed child become ours, so this repeats until there
// are none, or only those that we may not kill. Finding them means reading all of /proc.
static void end_descendants(void)
{
    if (!reap())
        return;
    int pause = FIRST_PAUSE_MS, patience = PATIENCE_MS;
    for (int waited = 0; waited < patience; waited += pause) {
        patience = each_child(kill_child) ? PATIENCE_MS : FOREIGN_MS;
        if (!reap())
            return;
        pause = pause < LAST_PAUSE_MS ? pause * 2 : pause;
        nanosleep(&(struct timespec){.tv_nsec = pause * 1000000L}, NULL);
    }
    each_child(name_child);
}

// What the guard does meanwhile, in a child: a mistake there must not end the guard, and signals do
// not wait for it.
struct meanwhile {
    const struct guard_end *end;
    bool wanted;
    pid_t child;               // 0: none
    int64_t began, not_before; // mono ns
};

static void meanwhile_start(struct meanwhile *m)
{
    pid_t self = getpid();
    m->wanted = false;
    m->began = clock_mono();
    pid_t child = fork();
    if (child == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() == self)
            m->end->meanwhile(m->end->arg);
        _exit(0);
    }
    m->child = child > 0 ? child : 0; // else the report at the end has it
}

// The kernel's last words may still be on their way to the journal.
static void meanwhile_want(struct meanwhile *m)
{
    int64_t soon = clock_mono() + SOON_MS * CLOCK_MS;
    m->wanted = m->end && m->end->meanwhile;
    m->not_before = m->not_before > soon ? m->not_before : soon;
}

static void meanwhile_ended(struct meanwhile *m)
{
    int64_t now = clock_mono();
    m->child = 0;
    m->not_before = now + 9 * (now - m->began);
}

// Starts it if it is time. Returns the ns until then, -1: nothing is to be done.
static int64_t meanwhile_wait(struct meanwhile *m)
{
    if (!m->wanted || m->child)
        return -1;
    int64_t left = m->not_before - clock_mono();
    if (left > 0)
        return left;
    meanwhile_start(m);
    return -1;
}

// The next signal; 0: the time is over.
static int next_signal(const sigset_t *waited, int64_t ns)
{
    struct timespec time = {.tv_sec = ns / CLOCK_SEC, .tv_nsec = ns % CLOCK_SEC};
    int signum = ns < 0 ? sigwaitinfo(waited, NULL) : sigtimedwait(waited, NULL, &time);
    return signum < 0 ? 0 : signum;
}

// Reaps orphans and passes signals on while the kernel lives; returns the kernel's status. `asked`
// becomes the last signal.
static int wait_for_kernel(
    pid_t kernel, const sigset_t *waited, const struct guard_end *end, int *asked)
{
    struct meanwhile m = {.end = end};
    for (;;) {
        int status;
        pid_t pid;
        while ((pid = waitpid(-1, &status, WNOHANG)) > 0) {
            if (pid == kernel)
                return status;
            if (pid == m.child)
                meanwhile_ended(&m);
        }
        if (pid < 0 && errno == ECHILD)
            return W_EXITCODE(1, 0);
        int signum = next_signal(waited, meanwhile_wait(&m));
        if (signum == WENT_ON) {
            meanwhile_want(&m);
        } else if (signum && signum != SIGCHLD) {
            *asked = signum;
            kill(kernel, signum);
        }
    }
}

// An owner's file is registered before what it owns, so it is removed last.
static void remove_leavings(void)
{
    for (size_t i = LEAVINGS_MAX; i-- > 0;)
        if (atomic_exchange(&shared->left[i], false))
            path_remove(shared->leavings[i], NULL);
}

int guard_start(const char **note, const struct guard_end *end, err *e)
{
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED)
        return err_errno(e, errno, "cannot share memory with the guard");
    *note = shared->note;
    shared->told = end && end->meanwhile ? getpid() : 0;
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    sigset_t waited, before;
    block_signals(&waited, &before);
    for (;;) {
        pid_t self = getpid(), kernel = fork();
        if (kernel < 0)
            return err_start(e, errno, "cannot fork the kernel");
        if (kernel == 0) {
            // If the guard is killed, the kernel gets SIGTERM and ends in an orderly way.
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != self)
                _exit(1);
            sigprocmask(SIG_SETMASK, &before, NULL);
            return 0;
        }
        prctl(PR_SET_NAME, "firesteel-guard");
        int asked = 0, status = wait_for_kernel(kernel, &waited, end, &asked);
        end_descendants();
        remove_leavings();
        if (end && end->left && *shared->journal)
            end->left(shared->journal);
        *shared->journal = '\0';
        int code = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
        if (code == GUARD_RESTART && asked)
            code = 128 + asked; // it was about to restart when it got the signal: no new kernel
        if (code != GUARD_RESTART)
            _exit(end && end->fn ? end->fn(end->arg, code) : code);
    }
}

void guard_went_on(void)
{
    if (shared && shared->told && shared->told == getppid())
        kill(shared->told, WENT_ON);
}

void guard_leave_note(const char *text)
{
    snprintf(shared->note, sizeof shared->note, "%s", text);
}

void guard_name_journal(const char *path)
{
    if (shared && strlen(path) < sizeof shared->journal)
        strcpy(shared->journal, path);
}

void guard_remove_at_end(const char *path)
{
    if (!shared || strlen(path) >= sizeof *shared->leavings)
        return;
    pthread_mutex_lock(&leavings_lock);
    size_t i = 0;
    while (i < LEAVINGS_MAX && atomic_load(&shared->left[i]))
        i++;
    if (i < LEAVINGS_MAX) {
        strcpy(shared->leavings[i], path);
        atomic_store(&shared->left[i], true); // last: the guard may read the slot at any moment
                                              // after a kill
    }
    pthread_mutex_unlock(&leavings_lock);
}

static void forget(const char *path)
{
    for (size_t i = 0; i < LEAVINGS_MAX; i++)
        if (atomic_load(&shared->left[i]) && str_eq(shared->leavings[i], path))
            atomic_store(&shared->left[i], false);
}

void guard_removed(const char *path)
{
    if (!shared || path_exists(path))
        return;
    AUTO_FREE char *owner = owner_file(path);
    pthread_mutex_lock(&leavings_lock);
    forget(path);
    forget(owner);
    pthread_mutex_unlock(&leavings_lock);
}
