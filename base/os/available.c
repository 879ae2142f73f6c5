// SPDX-License-Identifier: MIT
#include "base/os/available.h"

#include "base/buf.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_FROM = 64 << 20 }; // below this, checking costs as much as filling the memory

// The number after `key` at the start of a line in a small file of the kernel; key "": the first
// number of the file. SIZE_MAX: no number there ("max").
static size_t number_in(const char *path, const char *key)
{
    AUTO_BUF text = {0};
    if (path_read(path, &text, 1 << 20, NULL) < 0)
        return SIZE_MAX;
    size_t n = strlen(key);
    for (const char *line = buf_cstr(&text); line; line = strchr(line, '\n')) {
        line += *line == '\n';
        char *end;
        if (strncmp(line, key, n) != 0 || line[n] == '-')
            continue;
        unsigned long long value = strtoull(line + n, &end, 10);
        return end == line + n || value >= SIZE_MAX ? SIZE_MAX : (size_t)value;
    }
    return SIZE_MAX;
}

struct names {
    const char *controller; // in /proc/self/cgroup
    const char *folder, *limit, *used, *cache;
};

static const struct names versions[] = {
    {"0::", "sys/fs/cgroup", "memory.max", "memory.current", "inactive_file "},
    {":memory:", "sys/fs/cgroup/memory", "memory.limit_in_bytes", "memory.usage_in_bytes",
        "total_inactive_file "},
};

static size_t free_in(const char *folder, const struct names *v)
{
    AUTO_FREE char *limit = path_join(folder, v->limit), *used = path_join(folder, v->used),
                   *stat = path_join(folder, "memory.stat");
    size_t most = number_in(limit, ""), now = number_in(used, ""),
           cache = number_in(stat, v->cache);
    if (most == SIZE_MAX || now == SIZE_MAX)
        return SIZE_MAX;
    now -= cache == SIZE_MAX ? 0 : cache < now ? cache : now;
    return most > now ? most - now : 0;
}

static size_t most_in(const char *folder, const struct names *v)
{
    AUTO_FREE char *limit = path_join(folder, v->limit);
    return number_in(limit, "");
}

static size_t least(size_t a, size_t b)
{
    return a < b ? a : b;
}

// Looks at the process's group and at every one above it. A container may see only its own group,
// as the root.
static size_t in_groups(const char *root, const char *groups, const struct names *v,
    size_t (*in_folder)(const char *folder, const struct names *v))
{
    const char *found = strstr(groups, v->controller);
    if (!found)
        return SIZE_MAX;
    const char *name = found + strlen(v->controller);
    AUTO_FREE char *group = mem_strndup(name, strcspn(name, "\n"));
    AUTO_FREE char *top = path_join(root, v->folder);
    size_t result = in_folder(top, v);
    while (group[0] == '/' && group[1]) {
        AUTO_FREE char *folder = path_join(top, group + 1);
        result = least(result, in_folder(folder, v));
        *strrchr(group, '/') = 0;
    }
    return result;
}

// The smaller of the machine's number and the groups'.
static size_t least_of_all(const char *root, const char *key,
    size_t (*in_folder)(const char *folder, const struct names *v))
{
    AUTO_FREE char *machine = path_join(root, "proc/meminfo"),
                   *file = path_join(root, "proc/self/cgroup");
    AUTO_BUF groups = {0};
    size_t kib = number_in(machine, key);
    size_t result = kib > SIZE_MAX / 1024 ? SIZE_MAX : kib * 1024;
    if (path_read(file, &groups, 1 << 20, NULL) < 0)
        return result;
    for (size_t i = 0; i < ARRAY_LEN(versions); i++)
        result = least(result, in_groups(root, buf_cstr(&groups), &versions[i], in_folder));
    return result;
}

size_t memory_available(const char *root)
{
    return least_of_all(root, "MemAvailable:", free_in);
}

size_t memory_most(const char *root)
{
    return least_of_all(root, "MemTotal:", most_in);
}

static void size_text(size_t bytes, buf *out)
{
    double mib = (double)bytes / (1 << 20);
    buf_fmt(out, mib < 1024 ? "%.0f MiB" : "%.1f GiB", mib < 1024 ? mib : mib / 1024);
}

int memory_check(size_t bytes, const char *what, err *e)
{
    size_t free = bytes < LOOK_FROM ? SIZE_MAX : memory_available("/");
    if (bytes <= free)
        return 0;
    AUTO_BUF wanted = {0}, there = {0};
    size_text(bytes, &wanted);
    size_text(free, &there);
    return err_set(e, ERR_LIMIT, "%s need %s of memory, but only %s are free here", what,
        buf_cstr(&wanted), buf_cstr(&there));
}
