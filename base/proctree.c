// SPDX-License-Identifier: MIT
#include "base/proctree.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/path.h"
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

// A process's name stands in brackets and may hold anything. One that ends meanwhile is left out.
static void add(proctree *t, pid_t pid)
{
    AUTO_BUF stat = {0}, memory = {0};
    int parent;
    long resident, shared;
    if (read_file(pid, "stat", &stat) < 0 || read_file(pid, "statm", &memory) < 0)
        return;
    const char *rest = strrchr(buf_cstr(&stat), ')');
    if (!rest || sscanf(rest + 1, " %*c %d", &parent) != 1 ||
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

// The number in a file, if it is smaller than the one before; "max" is none.
static int64_t lower(const char *path, int64_t than)
{
    AUTO_BUF text = {0};
    int64_t value;
    if (path_read(path, &text, LIMIT, NULL) < 0)
        return than;
    AUTO_FREE char *word = str_trim(buf_cstr(&text), text.len);
    return str_to_int(word, &value) && value > 0 && value < than ? value : than;
}

// Each group above this process's may have a limit of its own.
static int64_t lower_by_groups(const char *root, const char *file, char *group, int64_t than)
{
    for (;;) {
        AUTO_FREE char *path = str_fmt("%s%s/%s", root, group, file);
        than = lower(path, than);
        char *slash = strrchr(group, '/');
        if (!slash)
            return than;
        *slash = '\0';
    }
}

int64_t proctree_limit(void)
{
    int64_t limit = (int64_t)sysconf(_SC_PHYS_PAGES) * sysconf(_SC_PAGESIZE);
    AUTO_BUF groups = {0};
    if (path_read("/proc/self/cgroup", &groups, LIMIT, NULL) < 0)
        return limit;
    char **lines = strv_split(buf_cstr(&groups), '\n');
    for (char **line = lines; *line; line++) {
        char *of_memory = strstr(*line, ":memory:");
        if (str_starts(*line, "0::/"))
            limit = lower_by_groups("/sys/fs/cgroup", "memory.max", *line + 3, limit);
        else if (of_memory)
            limit = lower_by_groups("/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                of_memory + strlen(":memory:"), limit);
    }
    strv_free(lines);
    return limit;
}
