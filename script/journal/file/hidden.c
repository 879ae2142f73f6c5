// SPDX-License-Identifier: MIT
#include "script/journal/file/hidden.h"

#include "base/mem.h"
#include "base/os/folder.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define HIDDEN ".firesteel"

int hidden_make(const char *folder, err *e)
{
    static const char text[] = "# Runs of firesteel: journals and what they spooled.\n*\n";
    int dir = folder_open(folder, HIDDEN, true, e);
    if (dir < 0)
        return -1;
    // If two processes do this at once, the second finds the first one's file, or writes the same.
    AUTO_FD ignore = folder_file(dir, ".gitignore", O_WRONLY | O_CREAT | O_EXCL, 0644);
    if (ignore < 0 && errno == EEXIST)
        return dir;
    if (ignore < 0)
        err_errno(e, errno, "cannot make %s/%s/.gitignore", folder, HIDDEN);
    else if (fd_write_all(ignore, text, sizeof text - 1, e) == 0)
        return dir;
    else
        err_wrap(e, "%s/%s/.gitignore", folder, HIDDEN);
    if (ignore >= 0)
        unlinkat(dir, ".gitignore", 0); // otherwise half a file would stay
    close(dir);
    return -1;
}

int hidden_look(const char *folder, err *e)
{
    return folder_open(folder, HIDDEN, false, e);
}

// The last part of a path that is named .firesteel; NULL: there is none.
static const char *find_hidden(const char *folder)
{
    size_t n = strlen(HIDDEN);
    const char *found = NULL;
    for (const char *at = folder; (at = strstr(at, HIDDEN)); at++)
        if ((at == folder || at[-1] == '/') && (at[n] == '/' || !at[n]))
            found = at;
    return found;
}

int hidden_folder_of(const char *path, bool make, err *e)
{
    AUTO_FREE char *folder = path_dirname(path);
    const char *below = find_hidden(folder);
    AUTO_FREE char *root = below ? mem_strndup(folder, (size_t)(below - folder)) : NULL;
    return below ? folder_open(root, below, make, e) : folder_open_path(folder, 1, make, e);
}

int hidden_open(const char *path, int flags, mode_t mode, err *e)
{
    AUTO_FD dir = hidden_folder_of(path, false, e);
    AUTO_FREE char *name = path_basename(path);
    if (dir < 0)
        return -1;
    int fd = folder_file(dir, name, flags, mode);
    return fd < 0 ? err_errno(e, errno, "cannot open %s", path) : fd;
}
