// SPDX-License-Identifier: MIT
#include "cli/places.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

#if defined __x86_64__
#define LOADER "ld-linux-x86-64.so.2"
#elif defined __aarch64__
#define LOADER "ld-linux-aarch64.so.1"
#else
#define LOADER "ld.so" // there are no bundles for other machines (base/start/start.h)
#endif

char *place_own(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return mem_strdup(".");
    path[n] = '\0';
    return path_dirname(path);
}

// The prefix below which this program is now: /opt/x for /opt/x/bin and /opt/x/libexec/firesteel.
// New; NULL: it is in neither, as in a build folder.
static char *place_prefix(void)
{
    static const char *const folders[] = {BINDIR, LIBEXECDIR};
    AUTO_FREE char *own = place_own();
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        const char *below = str_starts(folders[i], PREFIX) ? folders[i] + strlen(PREFIX) : NULL;
        if (below && str_ends(own, below))
            return mem_strndup(own, strlen(own) - strlen(below));
    }
    return NULL;
}

char *place_installed(const char *configured)
{
    AUTO_FREE char *prefix = str_starts(configured, PREFIX) ? place_prefix() : NULL;
    if (!prefix)
        return mem_strdup(configured);
    AUTO_FREE char *moved = str_fmt("%s%s", prefix, configured + strlen(PREFIX));
    return path_exists(moved) ? STEAL(moved) : mem_strdup(configured);
}

char *place_program(const char *name)
{
    const char *const folders[] = {NULL, LIBEXECDIR, BINDIR}; // NULL: where this program is
    for (size_t i = 0; i < ARRAY_LEN(folders); i++) {
        AUTO_FREE char *folder = folders[i] ? place_installed(folders[i]) : place_own();
        AUTO_FREE char *program = path_join(folder, name);
        if (access(program, X_OK) == 0)
            return STEAL(program);
    }
    return NULL;
}

char *place_beside_loader(const char *name)
{
    AUTO_FREE char *prefix = place_prefix();
    if (!prefix)
        return NULL;
    AUTO_FREE char *libraries = path_join(prefix, "lib");
    AUTO_FREE char *loader = path_join(libraries, LOADER);
    AUTO_FREE char *path = path_join(libraries, name);
    return path_exists(loader) && path_exists(path) ? STEAL(path) : NULL;
}

bool place_takes(const char *folder)
{
    AUTO_FREE char *at = mem_strdup(folder);
    while (!path_exists(at)) { // the nearest existing parent must be writable
        char *above = path_dirname(at);
        free(at);
        at = above;
    }
    return path_is_dir(at) && access(at, W_OK | X_OK) == 0;
}

char *place_in_path(const char *path, const char *name)
{
    char **dirs = strv_split(path ? path : "/usr/local/bin:/usr/bin:/bin", ':'), *found = NULL;
    for (size_t i = 0; dirs[i] && !found; i++) {
        AUTO_FREE char *file = path_join(dirs[i], name);
        if (*dirs[i] == '/' && access(file, X_OK) == 0)
            found = STEAL(file);
    }
    strv_free(dirs);
    return found;
}

char **place_bwrap(const char *path)
{
    AUTO_FREE char *usual = place_in_path(path, "bwrap"), *libexec = place_installed(LIBEXECDIR),
                   *ours = path_join(libexec, "bwrap"), *loader = place_beside_loader(LOADER);
    if (usual)
        return strv_add(NULL, usual);
    if (!loader || access(ours, X_OK) != 0)
        return NULL;
    AUTO_FREE char *libraries = path_dirname(loader);
    return strv_dup((const char *const[]){loader, "--library-path", libraries, ours, NULL});
}
