// SPDX-License-Identifier: MIT
// dpkg keeps a list of each package's files, a line each. Where /lib is a link to /usr/lib, it may
// know a file by either name.
#include "k8s/image/programs/license.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#define LISTS "/var/lib/dpkg/info"

enum { LIMIT = 64 << 20, TEXT_LIMIT = 4 << 20 };

// The names that a file may have: itself, and its target if it is a link; each with /usr and
// without.
static char **names_of(const char *file)
{
    AUTO_FREE char *target = realpath(file, NULL);
    const char *const both[] = {file, target ? target : file};
    char **names = NULL;
    for (size_t i = 0; i < ARRAY_LEN(both); i++) {
        bool usr = str_starts(both[i], "/usr/");
        AUTO_FREE char *other = usr ? mem_strdup(both[i] + 4) : str_fmt("/usr%s", both[i]);
        names = strv_add(strv_add(names, both[i]), other);
    }
    return names;
}

static bool has_line(const buf *list, const char *line)
{
    AUTO_FREE char *whole = str_fmt("\n%s\n", line);
    return memmem(list->data, list->len, whole, strlen(whole)) != NULL;
}

static bool lists_any(const buf *list, char *const *names)
{
    for (; *names; names++)
        if (has_line(list, *names))
            return true;
    return false;
}

// "libc6:amd64.list" is libc6's.
static char *package_of(const char *list)
{
    return mem_strndup(list,
        strcspn(list, ":") < strlen(list) ? strcspn(list, ":") : strlen(list) - strlen(".list"));
}

static void look_in(const char *list, char **const *names, size_t n, char **packages)
{
    AUTO_FREE char *path = path_join(LISTS, list);
    AUTO_BUF text = {0};
    buf_char(&text, '\n');
    if (!str_ends(list, ".list") || path_read(path, &text, LIMIT, NULL))
        return;
    for (size_t i = 0; i < n; i++)
        if (!packages[i] && lists_any(&text, names[i]))
            packages[i] = package_of(list);
}

void license_packages(const char *const *files, size_t n, char **packages)
{
    char ***names = mem_array(n + 1, sizeof *names);
    for (size_t i = 0; i < n; i++) {
        names[i] = names_of(files[i]);
        packages[i] = NULL;
    }
    DIR *d = opendir(LISTS);
    for (struct dirent *entry; d && (entry = readdir(d));)
        look_in(entry->d_name, names, n, packages);
    if (d)
        closedir(d);
    for (size_t i = 0; i < n; i++)
        strv_free(names[i]);
    free(names);
}

int license_text(const char *package, buf *out)
{
    AUTO_FREE char *path = str_fmt("/usr/share/doc/%s/copyright", package);
    return path_read(path, out, TEXT_LIMIT, NULL);
}
