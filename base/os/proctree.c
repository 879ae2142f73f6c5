// SPDX-License-Identifier: MIT
#include "base/os/proctree.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <ctype.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LIMIT = 64 << 10 };

struct one {
    pid_t pid, parent;
    int64_t memory;
};
struct proctree {
    struct one *list;
    size_t n;
};

static int read_file(pid_t pid, const char *name, buf *out)
{
    AUTO_FREE char *path = str_fmt("/proc/%d/%s", (int)pid, name);
    return path_read(path, out, LIMIT, NULL);
}

// The process's name stands in parentheses and may hold anything, parentheses too.
const char *process_fields(pid_t pid, buf *text)
{
    const char *name_end = read_file(pid, "stat", text) < 0 ? NULL : strrchr(buf_cstr(text), ')');
    return name_end && name_end[1] == ' ' ? name_end + 2 : NULL;
}

// A process that ends meanwhile is left out.
static void add(proctree *t, pid_t pid)
{
    AUTO_BUF stat = {0}, memory = {0};
    int parent;
    long resident, shared;
    const char *fields = process_fields(pid, &stat);
    if (!fields || read_file(pid, "statm", &memory) < 0 || sscanf(fields, "%*c %d", &parent) != 1 ||
        sscanf(buf_cstr(&memory), "%*s %ld %ld", &resident, &shared) != 2)
        return;
    t->list = mem_resize(t->list, t->n + 1, sizeof *t->list);
    t->list[t->n++] = (struct one){pid, parent, (resident - shared) * sysconf(_SC_PAGESIZE)};
}

proctree *proctree_read(void)
{
    proctree *t = mem_alloc(sizeof *t);
    *t = (proctree){0};
    DIR *d = opendir("/proc");
    for (struct dirent *entry; d && (entry = readdir(d));)
        if (isdigit((unsigned char)entry->d_name[0]))
            add(t, (pid_t)atoi(entry->d_name));
    if (d)
        closedir(d);
    return t;
}

void proctree_free(proctree *t)
{
    if (t)
        free(t->list);
    free(t);
}

int64_t proctree_memory(const proctree *t, pid_t pid)
{
    int64_t sum = 0;
    for (size_t i = 0; i < t->n; i++) {
        if (t->list[i].pid == pid)
            sum += t->list[i].memory;
        else if (t->list[i].parent == pid)
            sum += proctree_memory(t, t->list[i].pid);
    }
    return sum;
}

pid_t proctree_parent(const proctree *t, pid_t pid)
{
    for (size_t i = 0; i < t->n; i++)
        if (t->list[i].pid == pid)
            return t->list[i].parent;
    return 0;
}
