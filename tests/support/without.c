// SPDX-License-Identifier: MIT
// Runs a program, and all that it starts, as on a system that lacks calls: `without openat2 ENOSYS
// PROGRAM WORD…`, `without after-5.4 ENOSYS …`. ENOSYS is what an older Linux answers, EPERM a
// filter that is older than the call.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

// Since Linux 5.1 a new call has the same number on all machines, behind those of the calls before.
static const struct {
    const char *name;
    unsigned first, last;
} calls[] = {
    {"openat2", SYS_openat2, SYS_openat2},
    {"after-4.18", SYS_pidfd_send_signal, ~0u},
    {"after-5.4", SYS_close_range, ~0u},
};

static int filter(unsigned first, unsigned last, unsigned number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, first, 0, 2),
        BPF_JUMP(BPF_JMP | BPF_JGT | BPF_K, last, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int argc, char **argv)
{
    size_t i = 0, n = sizeof calls / sizeof *calls;
    while (argc > 3 && i < n && strcmp(argv[1], calls[i].name) != 0)
        i++;
    if (argc < 4 || i == n) {
        fprintf(
            stderr, "usage: without openat2|after-4.18|after-5.4 ENOSYS|EPERM PROGRAM [WORD…]\n");
        return 2;
    }
    if (filter(calls[i].first, calls[i].last, strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOSYS))
        perror("without: cannot set a filter");
    else if (execvp(argv[3], argv + 3))
        perror(argv[3]);
    return 1;
}
