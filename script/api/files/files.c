// SPDX-License-Identifier: MIT
// Files and folders of this machine, for fs. What changes them is a local effect; what only looks
// is none. Relative names are below the working folder.
#include "base/clock.h"
#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"
#include "script/api/files/digested.h"

#include <dirent.h>
#include <errno.h>
#include <fnmatch.h>
#include <pthread.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { FOUND_MAX = 1000000 }; // names of one glob

static const char *path_of(const cJSON *args)
{
    return json_str_or(args, "path", "");
}

static char *place_of(call *c, const cJSON *args)
{
    return path_join(call_cwd(c), path_of(args));
}

// fs.stat: {type, size, modified, mode}, or null.

static const char *type_name(mode_t mode)
{
    return S_ISREG(mode) ? "file" : S_ISDIR(mode) ? "folder" : S_ISLNK(mode) ? "link" : "other";
}

static int stat_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FREE char *path = place_of(c, args);
    struct stat st;
    if (stat(path, &st) < 0 && lstat(path, &st) < 0) { // a link to nothing is a link
        bool absent = errno == ENOENT || errno == ENOTDIR;
        return absent ? 0 : err_errno(e, errno, "fs.stat %s", path_of(args));
    }
    *result = cJSON_CreateObject();
    json_set_str(*result, "type", type_name(st.st_mode));
    json_set_int(*result, "size", st.st_size);
    json_set(*result, "modified",
        cJSON_CreateNumber((double)st.st_mtim.tv_sec + (double)st.st_mtim.tv_nsec / CLOCK_SEC));
    AUTO_FREE char *mode = str_fmt("%04o", st.st_mode & 07777);
    json_set_str(*result, "mode", mode);
    return 0;
}

// fs.sha256

int files_digest(
    call *c, const char *name, const char *path, int64_t *size, char hex[SHA256_HEX], err *e)
{
    struct work w;
    struct stat st = {0};
    AUTO_FREE char *what = str_fmt("read %s", name);
    stat(path, &st);
    call_work(c, &w, what, WORK_BYTES, NULL);
    work_phase(&w, "hashing", WORK_BYTES, st.st_size);
    int status = sha256_read(path, &(struct work_watch){&w, call_goes_on, c}, size, hex, e);
    call_work_end(c, &w);
    return status;
}

static int digest_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FREE char *path = place_of(c, args);
    char hex[SHA256_HEX];
    int64_t size;
    if (files_digest(c, path_of(args), path, &size, hex, e))
        return err_wrap(e, "fs.sha256 %s", path_of(args));
    *result = cJSON_CreateString(hex);
    return 0;
}

// fs.glob: "data/**/*.csv", part by part; names that begin with a dot need one in the pattern.

struct search {
    call *c;
    cJSON *found;
    int n;
};

static int find_parts(struct search *s, const char *below, const char *pattern, err *e);

static bool is_folder(call *c, const char *name, bool links)
{
    AUTO_FREE char *path = path_join(call_cwd(c), *name ? name : ".");
    struct stat st;
    return (links ? stat(path, &st) : lstat(path, &st)) == 0 && S_ISDIR(st.st_mode);
}

// Joins the folder `below` and a name; new. `below` is "" for a relative pattern and "/" for an
// absolute one, so the names that are found are as the pattern is.
static char *joined(const char *below, const char *name)
{
    return *below ? path_join(below, name) : mem_strdup(name);
}

static int take(struct search *s, const char *name, const char *rest, err *e)
{
    if (*rest)
        return is_folder(s->c, name, true) ? find_parts(s, name, rest, e) : 0;
    if (++s->n > FOUND_MAX)
        return err_set(e, ERR_LIMIT, "fs.glob finds more than %d names", FOUND_MAX);
    cJSON_AddItemToArray(s->found, cJSON_CreateString(name));
    return 0;
}

// Each entry of the folder `below` that matches `part` goes to find the rest. With "**" in front,
// each folder is searched for the whole pattern again; links are not followed then.
static int each_entry(
    struct search *s, const char *below, const char *part, const char *rest, err *e)
{
    AUTO_FREE char *path = path_join(call_cwd(s->c), *below ? below : ".");
    bool deep = str_eq(part, "**");
    DIR *dir = opendir(path);
    if (!dir) // what cannot be read has no names
        return 0;
    int status = 0;
    for (struct dirent *entry; status == 0 && (entry = readdir(dir));) {
        const char *name = entry->d_name;
        if (str_eq(name, ".") || str_eq(name, "..") || !utf8_valid(name, strlen(name)))
            continue;
        AUTO_FREE char *full = joined(below, name);
        if (!call_goes_on(s->c))
            status = err_set(e, ERR_CANCELLED, "interrupted");
        else if (deep && *name != '.' && is_folder(s->c, full, false))
            status = each_entry(s, full, part, rest, e) || find_parts(s, full, rest, e) ? -1 : 0;
        else if (!deep && fnmatch(part, name, FNM_PERIOD) == 0)
            status = take(s, full, rest, e);
    }
    closedir(dir);
    return status;
}

static int find_parts(struct search *s, const char *below, const char *pattern, err *e)
{
    size_t n = strcspn(pattern, "/");
    AUTO_FREE char *part = mem_strndup(pattern, n);
    const char *rest = pattern + n + strspn(pattern + n, "/");
    if (str_eq(part, "**")) {
        const char *whole = *rest ? rest : "*";
        return each_entry(s, below, part, whole, e) || find_parts(s, below, whole, e) ? -1 : 0;
    }
    if (strpbrk(part, "*?["))
        return each_entry(s, below, part, rest, e);
    AUTO_FREE char *name = joined(below, part), *path = path_join(call_cwd(s->c), name);
    struct stat st;
    return lstat(path, &st) == 0 ? take(s, name, rest, e) : 0;
}

static int glob_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    const char *pattern = json_str_or(args, "pattern", "");
    struct search s = {.c = c, .found = cJSON_CreateArray()};
    bool rooted = *pattern == '/';
    pattern += strspn(pattern, "/");
    if (*pattern && find_parts(&s, rooted ? "/" : "", pattern, e)) {
        cJSON_Delete(s.found);
        return -1;
    }
    *result = s.found;
    return 0;
}

// fs.mkdir

static int mkdir_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FREE char *path = place_of(c, args);
    if (path_make_dirs(path, 0777, e) < 0)
        return err_wrap(e, "fs.mkdir %s", path_of(args));
    return 0;
}

static int mkdir_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    AUTO_FREE char *path = place_of(c, args);
    return path_is_dir(path) ? VERDICT_YES : VERDICT_NO;
}

static void mkdir_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("make the folder %s", path_of(args));
}

// fs.remove

static bool is_empty(const char *path)
{
    DIR *dir = opendir(path);
    int n = 0;
    while (dir && n < 3 && readdir(dir))
        n++;
    if (dir)
        closedir(dir);
    return n < 3;
}

static int remove_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FREE char *path = place_of(c, args);
    struct stat st;
    bool there = lstat(path, &st) == 0;
    AUTO_FREE char *name = path_basename(path_of(args));
    if (!*name || str_eq(name, "/") || str_eq(name, ".") || str_eq(name, ".."))
        return err_set(e, ERR_USAGE, "fs.remove needs a name, not \"%s\"", path_of(args));
    if (there && S_ISDIR(st.st_mode) && !json_bool_or(args, "recursive", false) && !is_empty(path))
        return err_set(e, ERR_USAGE,
            "fs.remove %s: the folder is not empty (recursive = true removes what is in it)",
            path_of(args));
    *result = cJSON_CreateBool(there);
    return path_remove(path, e) < 0 ? err_wrap(e, "fs.remove %s", path_of(args)) : 0;
}

// What stands there after a removal that is recorded was made later.
static int remove_verify(call *c, const cJSON *args, const cJSON *recorded, cJSON **result, err *e)
{
    AUTO_FREE char *path = place_of(c, args);
    return recorded || !path_exists(path) ? VERDICT_YES : VERDICT_NO;
}

static void remove_describe(call *c, const cJSON *args, struct about *about)
{
    about->what = str_fmt("remove %s", path_of(args));
}

// fs.temp: folders that go with the kernel.

static int temp_start(call *c, const cJSON *args, cJSON **result, err *e)
{
    AUTO_FREE char *path = call_temp(c, "temp", json_str(args, "parent"), e);
    *result = path ? cJSON_CreateString(path) : NULL;
    return path ? 0 : -1;
}

const struct binding files_bindings[] = {
    {.name = "fs.stat", .effect = EFFECT_PURE, .start = stat_start},
    {.name = "fs.sha256", .effect = EFFECT_PURE, .start = digest_start},
    {.name = "fs.glob", .effect = EFFECT_PURE, .start = glob_start},
    {.name = "fs.mkdir",
        .effect = EFFECT_LOCAL,
        .start = mkdir_start,
        .verify = mkdir_verify,
        .describe = mkdir_describe},
    {.name = "fs.remove",
        .effect = EFFECT_LOCAL,
        .start = remove_start,
        .verify = remove_verify,
        .describe = remove_describe},
    {.name = "fs.temp", .effect = EFFECT_PURE, .start = temp_start},
    {0},
};
