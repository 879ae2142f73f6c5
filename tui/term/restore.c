// SPDX-License-Identifier: MIT
#include "tui/term/restore.h"

#include "base/mem.h"

#include <signal.h>
#include <stdatomic.h>
#include <string.h>
#include <unistd.h>

static struct {
    char bytes[RESTORE_SIZE];
    size_t n;
    int fd;
    struct termios modes;
} saved;
static atomic_int armed; // handlers read `saved` only while this is 1

static const int signals[] = {
    SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTERM, SIGHUP, SIGINT, SIGQUIT};
enum { SIGNALS = sizeof signals / sizeof signals[0] };

// After a stack overflow a handler cannot run on the same stack.
static char other_stack[16 * 1024];

void restore_now(void)
{
    if (atomic_exchange(&armed, 0) != 1)
        return;
    // write(2) and tcsetattr(3) are async-signal-safe. Their results do not matter any more.
    ssize_t written = write(saved.fd, saved.bytes, saved.n);
    (void)written;
    tcsetattr(saved.fd, TCSANOW, &saved.modes);
}

static void die(int signum)
{
    restore_now();
    raise(signum); // SA_RESETHAND has restored the default, which acts when this handler returns
}

static void handle(struct sigaction *act)
{
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction old;
        sigaction(signals[i], NULL, &old);
        // Ignored signals stay ignored (nohup); sanitizers keep their own reports of crashes; an
        // existing handler for TERM or HUP is kept, too.
        if (old.sa_handler == SIG_DFL && !(old.sa_flags & SA_SIGINFO))
            sigaction(signals[i], act, NULL);
    }
}

void restore_arm(int fd, const char *bytes, size_t n, const struct termios *modes)
{
    atomic_store(&armed, 0);
    saved.n = n < RESTORE_SIZE ? n : RESTORE_SIZE;
    memcpy(saved.bytes, bytes, saved.n);
    saved.fd = fd;
    saved.modes = *modes;
    stack_t stack = {.ss_sp = other_stack, .ss_size = sizeof other_stack};
    stack_t old = {.ss_flags = SS_DISABLE};
    if (sizeof other_stack >= (size_t)sysconf(_SC_MINSIGSTKSZ) && sigaltstack(NULL, &old) == 0 &&
        old.ss_flags & SS_DISABLE)
        sigaltstack(&stack, NULL);
    struct sigaction act = {.sa_handler = die, .sa_flags = (int)SA_RESETHAND | SA_ONSTACK};
    sigemptyset(&act.sa_mask);
    handle(&act);
    mem_when_out(restore_now);
    atomic_store(&armed, 1);
}

void restore_disarm(void)
{
    atomic_store(&armed, 0);
    mem_when_out(NULL);
    for (int i = 0; i < SIGNALS; i++) {
        struct sigaction now;
        sigaction(signals[i], NULL, &now);
        if (now.sa_handler == die)
            signal(signals[i], SIG_DFL);
    }
}
