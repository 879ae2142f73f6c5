// SPDX-License-Identifier: MIT
#include "base/os/git.h"

#include "base/mem.h"
#include "base/os/path.h"
#include "base/str.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    SMALL = 4096,       // bytes of HEAD, of a ref, of the file .git
    PACKED = 64 << 20,  // bytes of packed-refs
    LINKS_MAX = 5,      // the longest chain of refs that name one another
    FOLDERS_MAX = 1000, // how many parent folders are searched
};

// The text of a regular file without trailing blanks; NULL: no such file. Does not wait on a pipe
// that somebody put there.
static char *read_text(const char *folder, const char *name, size_t limit)
{
    AUTO_FREE char *path = path_join(folder, name);
    struct stat st;
    AUTO_FD fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    AUTO_BUF text = {0};
    if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
        fd_read_all(fd, &text, limit, NULL) < 0)
        return NULL;
    return str_trim(buf_cstr(&text), strlen(buf_cstr(&text)));
}

static bool is_hash(const char *text)
{
    size_t n = strspn(text, "0123456789abcdef");
    return (n == 40 || n == 64) && !text[n];
}

// The line "HASH NAME" of packed-refs.
static char *find_packed(const char *common, const char *name)
{
    AUTO_FREE char *text = read_text(common, "packed-refs", PACKED);
    size_t n = strlen(name);
    for (const char *line = text; line && *line;) {
        size_t length = strcspn(line, "\n"), hash = strcspn(line, " \n");
        if (length == hash + 1 + n && memcmp(line + hash + 1, name, n) == 0)
            return mem_strndup(line, hash);
        line += length + (line[length] == '\n');
    }
    return NULL;
}

// What a ref says: a hash, or "ref: NAME". NULL: there is none.
static char *read_ref(const struct git_head *head, const char *name)
{
    char *text = read_text(head->dir, name, SMALL);
    if (!text && !str_eq(head->dir, head->common))
        text = read_text(head->common, name, SMALL);
    return text ? text : find_packed(head->common, name);
}

static int follow_head(struct git_head *head, err *e)
{
    AUTO_FREE char *text = read_text(head->dir, "HEAD", SMALL);
    for (int links = 0; text && str_starts(text, "ref:"); links++) {
        char *name = str_trim(text + 4, strlen(text + 4));
        if (links == 0 && str_starts(name, "refs/heads/"))
            head->branch = mem_strdup(name + strlen("refs/heads/"));
        bool safe = links < LINKS_MAX && str_starts(name, "refs/") && path_is_below(name);
        free(text);
        text = safe ? read_ref(head, name) : NULL;
        free(name);
        if (!safe)
            return err_set(e, ERR_INVALID, "%s/HEAD leads to no branch", head->dir);
        if (!text)
            return str_eq(head->branch, ".invalid") // left there by reftable for older programs
                       ? err_set(e, ERR_INVALID, "%s keeps its refs as a reftable", head->dir)
                       : 0;
    }
    if (!text || !is_hash(text))
        return err_set(e, ERR_INVALID, "%s/HEAD names no commit", head->dir);
    snprintf(head->commit, sizeof head->commit, "%s", text);
    return 0;
}

// The path that a text holds, relative to a folder; NULL: it holds none.
static char *path_in(const char *folder, const char *text)
{
    return text && *text && !strchr(text, '\n') ? path_join(folder, text) : NULL;
}

// The git folder of a working tree; NULL: the folder is not a working tree.
static char *git_folder(const char *tree)
{
    AUTO_FREE char *dot = path_join(tree, ".git");
    struct stat st;
    if (stat(dot, &st) < 0)
        return NULL;
    if (S_ISDIR(st.st_mode))
        return STEAL(dot);
    AUTO_FREE char *text = read_text(tree, ".git", SMALL);
    const char *named = text && str_starts(text, "gitdir:") ? text + strlen("gitdir:") : "";
    return path_in(tree, named + strspn(named, " \t"));
}

// The nearest working tree at or above a folder.
static bool find_tree(const char *folder, struct git_head *head)
{
    AUTO_FREE char *at = mem_strdup(folder);
    for (int i = 0; i < FOLDERS_MAX; i++) {
        head->dir = git_folder(at);
        if (head->dir) {
            head->tree = STEAL(at);
            return true;
        }
        if (str_eq(at, "/"))
            return false;
        char *above = path_dirname(at);
        free(at);
        at = above;
    }
    return false;
}

int git_head_read(const char *folder, struct git_head *head, err *e)
{
    *head = (struct git_head){0};
    AUTO_FREE char *from = path_absolute(folder, e);
    if (!from)
        return -1;
    if (!find_tree(from, head))
        return err_set(e, ERR_NOT_FOUND, "%s is in no git repository", folder);
    AUTO_FREE char *common = read_text(head->dir, "commondir", SMALL);
    head->common = path_in(head->dir, common);
    if (!head->common)
        head->common = mem_strdup(head->dir);
    return follow_head(head, e);
}

void git_head_done(struct git_head *head)
{
    free(head->tree);
    free(head->dir);
    free(head->common);
    free(head->branch);
    *head = (struct git_head){0};
}
