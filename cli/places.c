// SPDX-License-Identifier: MIT
#include "cli/places.h"

#include "base/mem.h"
#include "base/path.h"
#include "base/str.h"

#include <limits.h>
#include <string.h>
#include <unistd.h>

char *place_own(void)
{
    char path[PATH_MAX];
    ssize_t n = readlink("/proc/self/exe", path, sizeof path - 1);
    if (n <= 0)
        return mem_strdup(".");
    path[n] = '\0';
    return path_dirname(path);
}

// /usr/local/share/firesteel with the programs in /opt/x/bin and not in /usr/local/bin:
// /opt/x/share/firesteel.
char *place_installed(const char *configured)
{
    size_t n = strlen(PREFIX);
    AUTO_FREE char *own = place_own();
    const char *below = str_starts(BINDIR, PREFIX) ? &BINDIR[n] : NULL;
    if (!below || !str_ends(own, below) || !str_starts(configured, PREFIX))
        return mem_strdup(configured);
    AUTO_FREE char *moved =
        str_fmt("%.*s%s", (int)(strlen(own) - strlen(below)), own, configured + n);
    return path_exists(moved) ? STEAL(moved) : mem_strdup(configured);
}

bool place_takes(const char *folder)
{
    AUTO_FREE char *at = mem_strdup(folder);
    while (!path_exists(at)) { // the nearest one above that is there has to take it
        char *above = path_dirname(at);
        free(at);
        at = above;
    }
    return path_is_dir(at) && access(at, W_OK | X_OK) == 0;
}
