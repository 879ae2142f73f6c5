// SPDX-License-Identifier: MIT
// Runs a program, and all that it starts, as on a system that lacks a call: `without openat2 ENOSYS
// PROGRAM WORD…`. ENOSYS is what an older Linux answers, EPERM a filter that is older than the
// call.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

static int filter(unsigned call, unsigned number)
{
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, call, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | number),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog all = {sizeof rules / sizeof *rules, rules};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &all);
}

int main(int argc, char **argv)
{
    if (argc < 4 || strcmp(argv[1], "openat2") != 0) {
        fprintf(stderr, "usage: without openat2 ENOSYS|EPERM PROGRAM [WORD…]\n");
        return 2;
    }
    if (filter(SYS_openat2, strcmp(argv[2], "EPERM") == 0 ? EPERM : ENOSYS))
        perror("without: cannot set a filter");
    else if (execvp(argv[3], argv + 3))
        perror(argv[3]);
    return 1;
}
